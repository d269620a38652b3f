"""Protocols of a sixteenth hand, who had read the kernel and looked for what it looks past: R are right, W wrong.

Of each class ``audited`` says before whom, as ``truth.py`` names adversaries, and which settings it has
of its own. The docstring of a wrong one says what leaks, to whom and when; it was written before the audit.
"""

from __future__ import annotations

from ..audited import cases_in
from . import dealt, draws, folds, keys, lasting, right, seeded, state, tails, untold

CASES = cases_in((seeded, folds, draws, lasting, dealt, tails, untold, keys, state, right))
