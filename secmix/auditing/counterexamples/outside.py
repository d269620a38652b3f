"""Numbers that an outsider reads in what calls really print, log, write to files or send by sockets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.soundness.numbers_read import Place
from secmix.transcript import SERVER, Origin, watched

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
OUTSIDE = "(an outsider reads it)"
_MOST, _LONG = 1000, 100_000  # most pieces of a call, and most numbers of a piece


class Outlet(Origin):
    """An outlet as the origin of numbers: no message of a node."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self.kind} {OUTSIDE}"


@contextmanager
def written() -> Iterator[dict[Place, NDArray[Any]]]:
    """Collect the numbers in each piece of output meanwhile, (1, w), by outlet.

    >>> with written() as rows:
    ...     print("loss", 0.25)
    loss 0.25
    >>> [(str(origin), row.tolist()) for (origin, _), row in rows.items()]
    [('what is printed (an outsider reads it)', [[0.25]])]
    """
    rows: dict[Place, NDArray[Any]] = {}
    counts: dict[Origin, int] = {}

    def note(where: str, what: list[Any], leaves: bool) -> list[Any]:
        for piece in what if leaves and len(rows) < _MOST else ():
            numbers = numbers_in(piece)
            if len(numbers):
                origin = Outlet(0, -1, f"what is {where}", "plain", SERVER, ())
                counts[origin] = counts.get(origin, -1) + 1
                rows[origin, counts[origin]] = numbers[None, :_LONG]
        return what

    with watched(note):
        yield rows


def numbers_in(data: Any) -> Array:
    """Parse the numbers in text, or in bytes and memory as doubles; empty for anything else.

    >>> numbers_in("x = -1.5e3, y = 7").tolist(), numbers_in(np.array([0.1]).tobytes()).tolist()
    ([-1500.0, 7.0], [0.1])
    """
    if isinstance(data, np.ndarray) and data.dtype.kind in "biuf":
        return data.ravel().astype(float)
    if not isinstance(data, str):
        try:
            octets = bytes(memoryview(data))
        except (TypeError, ValueError):
            return np.empty(0)
        if not octets.isascii():
            return np.frombuffer(octets) if len(octets) % 8 == 0 else np.empty(0)
        data = octets.decode("ascii")
    return np.array([float(number) for number in _NUMBER.findall(data)])
