"""What is equal but for rounding goes by its place: last bits differ between processors, and searches would with them.

Errors tie more often than one thinks. A rule that picks a message of the colluders errs by its distance alone, in
whatever direction they went; pushed one way and the other way, it errs by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secmix._base.checks import Array

TIE = 1e-12
"""Errors that differ by less than this share are taken for equal: rounding leaves about 1e-15."""


def above(errors: Any, best: Any) -> Any:
    """Whether ``errors`` are above ``best`` by more than rounding; numbers or arrays of them.

    Examples
    --------
    >>> above(0.3, 0.1 + 0.2), above(0.1 + 0.2, 0.3), above(0.31, 0.3), above(-1.0, -1.0), above(0.0, float("-inf"))
    (False, False, True, False, True)
    """
    return errors > best * (1 + TIE * (best > 0))


def ranked(errors: Sequence[float] | Array) -> list[int]:
    """The places of ``errors`` from the largest on, those that are equal but for rounding in their own order.

    Examples
    --------
    >>> ranked([0.3, 0.1, 0.1 + 0.2, 0.5])
    [3, 0, 2, 1]
    """
    places: list[int] = []
    alike: list[int] = []
    for place in sorted(range(len(errors)), key=lambda place: -errors[place]):
        if alike and above(errors[alike[0]], errors[place]):
            places += sorted(alike)
            alike = []
        alike.append(place)
    return places + sorted(alike)
