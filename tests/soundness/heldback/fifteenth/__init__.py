"""Protocols of a fifteenth hand, who had read the kernel and looked for what it looks past: R are right, W wrong.

Of each class ``audited`` says before whom, as ``truth.py`` names adversaries, and which settings it has
of its own. The docstring of a wrong one says what leaks, to whom and when; it was written before the audit.
"""

from __future__ import annotations

from ..audited import cases_in
from . import aliases, casts, folds, fresh, journal, lengths, masks, more, numbers, pinned, right, rounds, sizes, slips

_FILES = (rounds, folds, fresh, aliases, sizes, casts, more, journal, pinned, masks, lengths, numbers, slips, right)
CASES = cases_in(_FILES)
