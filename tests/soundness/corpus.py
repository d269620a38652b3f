"""All cases."""

from __future__ import annotations

from .case import Case
from .right import CASES as RIGHT
from .wrong import bits, calls, channel, collaborations, metadata, modular, powers, scale, schedule, state
from .wrong.masks import structure, values

_MODULES = (values, structure, state, scale, bits, calls, metadata, schedule, modular, powers, channel, collaborations)
WRONG: list[Case] = [case for module in _MODULES for case in module.CASES]
ALL: list[Case] = [*WRONG, *RIGHT]
"""Wrong ones first; no two have the same name."""

assert len({case.name for case in ALL}) == len(ALL), "two cases have the same name"
