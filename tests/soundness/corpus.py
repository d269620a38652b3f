"""All cases."""

from __future__ import annotations

from .beyond import BEYOND
from .case import Case
from .right import longer as long_lived
from .right import mixed as mixtures
from .right import odd, published, styles
from .right import surroundings as habits
from .right import together as right_collaborations
from .wrong import (
    bits,
    calls,
    channel,
    collaborations,
    metadata,
    modular,
    powers,
    scale,
    schedule,
    seldom,
    state,
    surroundings,
    watched,
    word,
)
from .wrong.longer import corners, fits
from .wrong.masks import generator, mixed, structure, values
from .wrong.together import beside, handed
from .wrong.together import rows as collaborating

_WRONG = (
    values,
    structure,
    mixed,
    generator,
    state,
    scale,
    bits,
    calls,
    metadata,
    schedule,
    modular,
    powers,
    channel,
    word,
    collaborations,
    collaborating,
    handed,
    beside,
    surroundings,
    seldom,
    watched,
    fits,
    corners,
)
WRONG: list[Case] = [case for module in _WRONG for case in module.CASES]
RIGHT: list[Case] = [
    *published.CASES,
    *odd.CASES,
    *habits.CASES,
    *styles.CASES,
    *mixtures.CASES,
    *right_collaborations.CASES,
    *long_lived.CASES,
]
ALL: list[Case] = [*WRONG, *RIGHT]
"""All of which an audit must say the truth. ``BEYOND`` is what it cannot find."""

assert len({case.name for case in [*ALL, *BEYOND]}) == len(ALL) + len(BEYOND), "two cases have the same name"

__all__ = ["ALL", "BEYOND", "RIGHT", "WRONG"]
