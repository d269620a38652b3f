"""Protocols of a fourteenth hand, who had read the kernel and looked for what it looks past: R are right, W wrong.

Of each class ``audited`` says before whom: the server, an eavesdropper, or nodes by number, and which settings it has
of its own; ``large`` are for the way that proofs of large protocols go, whatever their size.
"""

from __future__ import annotations

from ..audited import cases_in
from . import batches, columns, idioms, kinds, large, more, others, right, turns, weights

_FILES = (kinds, turns, large, weights, columns, batches, others, right, more, idioms)
CASES = cases_in(_FILES)
