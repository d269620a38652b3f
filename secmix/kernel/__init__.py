"""The kernel: what it proves is so, and nothing else clears.

:func:`prove` runs a sum protocol on numbers that carry what they are made of. Where every message comes out as public
or as a linear form of inputs, encodings and masks, that is so for all values, by construction; :func:`clear` then says
by algebra what an adversary learns. Whatever leaves this world ends the proof, at a file and a line.

What may never change: a :class:`Clearance` is made in ``clearance.py`` alone; an unknown function, type or law ends the
proof; and nothing outside this package is asked whether something holds.

The way of a number leads from ``values`` over ``randomness`` and ``tracing`` to ``proving.py`` and ``clearance.py``;
each imports only what stands before it.
"""

from secmix.kernel.clearance import Clearance, KnownSums, Open, clear, clear_bounds, clear_coalitions, clear_unheard
from secmix.kernel.proving import Proof, prove

__all__ = [
    "Clearance",
    "KnownSums",
    "Open",
    "Proof",
    "clear",
    "clear_bounds",
    "clear_coalitions",
    "clear_unheard",
    "prove",
]
