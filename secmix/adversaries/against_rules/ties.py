"""Comparison up to rounding: ties go by their place, since last bits differ between processors.

Errors tie more often than one thinks. A rule that picks a message of the colluders errs by its distance alone, in
whatever direction they went; moved one way or the other way, it errs by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix._base.checks import Array

TIE = 1e-12
"""Errors that differ by less than this share are taken for equal: rounding leaves about 1e-15."""


def above(errors: Any, best: Any) -> Any:
    """Check whether ``errors`` are above ``best`` by more than rounding; numbers or arrays of them.

    >>> above(0.3, 0.1 + 0.2), above(0.1 + 0.2, 0.3), above(0.31, 0.3), above(-1.0, -1.0), above(0.0, float("-inf"))
    (False, False, True, False, True)
    """
    return errors > best * (1 + TIE * (best > 0))


def ranked(errors: Sequence[float] | Array, *, within: float | None = None) -> list[int]:
    """Rank ``errors``: their places from the largest on, those that are equal but for rounding in their own order.

    Numbers of any sign are equal where they differ by ``within`` at most.

    >>> ranked([0.3, 0.1, 0.1 + 0.2, 0.5])
    [3, 0, 2, 1]
    """

    def apart(first: float, other: float) -> bool:
        return bool(above(first, other)) if within is None else first - other > within

    ranking: list[int] = []
    alike: list[int] = []
    for place in sorted(range(len(errors)), key=lambda place: -errors[place]):
        if alike and apart(errors[alike[0]], errors[place]):
            ranking += sorted(alike)
            alike = []
        alike.append(place)
    return ranking + sorted(alike)


def in_order(values: Array) -> list[int]:
    """Sort the places of ``values`` (n,) by value; values that differ by rounding keep the order of places.

    Values differ by rounding where they are within 1e-9 of the largest size. A cut among numbers that are equal but for
    their last bits then takes the same on every processor.

    >>> in_order(np.array([2.0, 1.0 + 1e-15, 1.0]))
    [1, 2, 0]
    """
    return ranked(-values, within=1e-9 * float(np.abs(values).max(initial=0.0)))
