"""The last arrays of a recorded run, as the public gets them: rows that stand in them, and copies of what one sent.

How it is got: What was sent last by who aggregates is taken for what is released. A row that is certain from the run's
other messages, or that a support vector machine has as it is (Cortes and Vapnik 1995), is looked for among its numbers,
and so are arrays that one participant sent.

What it assumes: That no other model is released. It is one run, in which the membership of a row cannot be tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from secmix._base.checks import Array

TRIED = (
    "rows that are certain from the messages, and support vectors, among the last arrays",
    "last arrays that are, number by number, what one participant sent",
)
OPEN = (
    "Whether the released model tells that a row was among the data: one run never shows that; a scenario with "
    'adversary = "public" runs the protocol with a row and without it.'
)


@dataclass(frozen=True)
class LastArrays:
    """Result of a recorded run that the public gets, as far as the recording has it."""

    what: str = ""  # the message and its arrays; empty where none was sent
    rows: tuple[str, ...] = ()  # rows that stand in them: whose, of how many numbers, and how they are known
    copies: tuple[str, ...] = ()  # arrays that are what one participant sent
    readable: bool = True  # whether anything could be looked for in them


def last_arrays(
    what: str,
    arrays: Mapping[str, Array],
    rows: Iterable[tuple[str, Array, float, str]],
    sent: Iterable[tuple[str, Array]],
) -> LastArrays:
    """Look for rows (whose, numbers, error, how) and for arrays that somebody sent among the last ``arrays``.

    >>> row, model = np.array([0.5, -2.0]), np.array([1.0, 2.0, 0.5, -2.0])
    >>> found = last_arrays("the last model", {"w": model}, [("a", row, 0.0, "it is a centre")], [("b", model)])
    >>> found.rows, found.copies
    (('a row of 2 numbers of a stands in w: it is a centre',), ('w is, number by number, what b sent',))
    """
    times: dict[str, int] = {}
    for whose, row, error, how in rows:
        for name, numbers in arrays.items():
            if _is_among(row, error, numbers):
                sentence = f"a row of {len(row)} numbers of {whose} stands in {name}: {how}"
                times[sentence] = times.get(sentence, 0) + 1
    counted = (f"{count} times {sentence}" if count > 1 else sentence for sentence, count in times.items())
    copies: dict[str, set[str]] = {}
    for sender, array in sent:
        for name, numbers in arrays.items():
            if len(array) > 1 and np.ptp(array) > 0 and np.array_equal(array, numbers):
                copies.setdefault(name, set()).add(sender)
    alone = (f"{name} is, number by number, what {min(who)} sent" for name, who in copies.items() if len(who) == 1)
    return LastArrays(what, tuple(counted), tuple(alone))


def in_words(title: str, arrays: Mapping[str, Sequence[float] | Array]) -> str:
    """Name a message and its arrays."""
    names = [f"{name} ({len(numbers)} number{'s' * (len(numbers) != 1)})" for name, numbers in arrays.items()]
    return f"{title}: {', '.join(names[:6])}{', ...' * (len(names) > 6)}"


def _is_among(row: Array, error: float, numbers: Array) -> bool:
    """Check whether a row of two numbers or more stands among ``numbers`` (p,), one number after the other."""
    if not 2 <= len(row) <= len(numbers) or numbers.dtype.kind not in "fiu":
        return False
    windows = sliding_window_view(np.asarray(numbers, dtype=np.float64), len(row))
    return bool(np.any(np.all(np.abs(windows - row) <= error, axis=1)))
