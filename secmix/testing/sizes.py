"""Numbers of messages and f that a rule accepts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from secmix.errors import SecmixError

Refusal = Callable[[int, int], ValueError | None]
"""``refusal(n, f)``: why the rule takes no n messages with f, or None."""

MOST_MESSAGES, MOST_ENTRIES = 64, 2000
"""The usual sizes end here; those beyond are tried a few times each."""
BEYOND = (130, 260, 300, 5_000, 70_000, 200_000)
"""Where counts of one byte and of two begin anew, and what may be thought too much for the memory."""
_MESSAGES, _ENTRIES, _NUMBERS = 300, 70_000, 200_000  # the most of each that are tried
_LONG = 5000  # calls that a call makes; a rule that tries subsets makes them for few colluders, and no end for many
_STEPS = (4, 5, 6, 7, 8, 11, 15, 20, 31)
_NONE = (5, 8, 16, 40)  # messages of which none is to be withstood


def accepted(refusal: Refusal, f: int, n: int | None) -> list[tuple[int, int]]:
    """Return (n, f) that the rule accepts: the ``f`` given first of all, from the least n; then others."""
    if n is not None:
        why = refusal(n, f) if n > f else SecmixError("n must be above f")
        if why is not None:
            raise AssertionError(f"the rule refuses f = {f} with n = {n}; it said: {why}")
        return [(n, f)]
    last = None
    found: list[tuple[int, int]] = []
    for count in range(max(2 * f + 1, 2), max(MOST_MESSAGES, 6 * f + 12) + 1):
        error = refusal(count, f)
        if error is None:
            found.append((count, f))
        last = error or last
    if not found:
        raise AssertionError(f"the rule refuses f = {f} with every number of messages tried; it last said: {last}")
    others = [(count, 0) for count in _NONE if f and refusal(count, 0) is None]
    for count in sorted({*range(3, 17), *range(17, MOST_MESSAGES + 1, 3)}):
        # All that a few messages allow; of many, a few, lest a rule that tries subsets takes for ever.
        most = (count - 1) // 2 if count <= 12 else max(f, 3)
        fs = [g for g in range(1, min(most, (count - 1) // 2) + 1) if g != f]
        others += [(count, g) for g in fs if refusal(count, g) is None]
    others += [pair for count in (25, 40, MOST_MESSAGES) for pair in _many(refusal, count) if pair[1] > max(f, 3)]
    return found[:5] + sorted(found[5:] + others)


def _many(refusal: Refusal, n: int) -> list[tuple[int, int]]:
    """Return n with more and more colluders, up to the first that is refused or for which it makes many calls."""
    found = []
    for f in (*(step for step in _STEPS if 2 * step < n - 2), (n - 1) // 2):
        if 2 * f >= n or refusal(n, f) is not None or not _quick(refusal, n, f):
            break
        found.append((n, f))
    return found


class _Enough(BaseException):
    """No error of the rule: whoever looks for those does not see it."""


def _quick(refusal: Refusal, n: int, f: int) -> bool:
    """Say whether the rule makes few calls: their number is the same on every machine, their time is not."""
    made = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")
        if made > _LONG:
            raise _Enough  # ends the call, and this count with it

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        refusal(n, f)
    except _Enough:
        pass
    finally:
        sys.setprofile(before)
    return made <= _LONG


def beyond(
    counts: Iterable[int], refusal: Refusal, pairs: list[tuple[int, int]], f: int, n: int | None, p: int | None
) -> list[tuple[int, int, int]]:
    """Return (n, f, p) beyond the usual sizes, with each of ``counts`` as messages, as entries, as both together."""
    least, most = pairs[0], max((pair for pair in pairs if pair[1] == f), default=pairs[0])
    found: list[tuple[int, int, int]] = []
    for count in sorted(counts):
        if n is None and 12 < count <= _MESSAGES and (many := _many(refusal, count)):
            found.append((*many[-1], 3 if p is None else p))
        if n is None and MOST_MESSAGES < count <= _MESSAGES and refusal(count, f) is None:
            found.append((count, f, 3 if p is None else p))
        if p is None and MOST_ENTRIES < count <= _ENTRIES:
            found.append((*least, count))
        if p is None and MOST_ENTRIES < count <= _NUMBERS:
            found.append((*most, -(-count // most[0])))
    return found
