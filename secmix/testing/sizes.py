"""Sizes worth trying: numbers that code names, and the messages and colluders that a rule accepts.

What special input a program waits for is mostly written in it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from secmix.errors import SecmixError

Pair = tuple[int, int]
"""How many messages, and the f that the rule is set to."""
Refusal = Callable[[int, int], ValueError | None]
"""``refusal(n, f)``: why the rule takes no n messages with f, or None."""

MOST_MESSAGES, MOST_ENTRIES = 64, 2000
"""The usual sizes end here; those beyond are tried a few times each."""
WIDTHS = tuple(
    round(width)
    for low, high, count in ((1, 60, 42), (60, 400, 12), (400, MOST_ENTRIES, 6))
    for width in np.geomspace(low, high, count)
)
"""Numbers of entries as they are drawn, small ones more often."""
BEYOND = (130, 260, 300, 5_000, 70_000, 200_000)
"""Where counts of one byte and of two begin anew, and what may be thought too much for the memory."""
_MESSAGES, _ENTRIES, _NUMBERS = 300, 70_000, 200_000  # the most of each that are tried
_LONG = 5000  # calls that a call makes; a rule that tries subsets makes them for few colluders, and no end for many
_STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 11, 15, 20, 31)
_NONE = (5, 8, 16, 40)  # messages of which none is to be withstood
_CONSTANTS = 60  # numbers of the code that are kept
_DEEP = 6  # steps from the rule or protocol to a part of its code
_LIBRARIES = ("numpy", "scipy", "sklearn", "torch", "builtins", "typing")


def numbers_of(subject: Any) -> tuple[float, ...]:
    """Return the numbers in the code of a rule or a protocol, of what it calls in its own package, and its settings.

    Hypothesis collects constants too, but neither small ones nor those of tests and of settings, and mixes those of all
    that is imported; which sizes a rule takes for special is mostly a small number in a closure.
    """
    package = str(getattr(subject, "__module__", "")).split(".")[0]
    visited, numbers, ahead = set[int](), list[float](), [(subject, 0, True)]
    while ahead:
        value, depth, own = ahead.pop(0)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.append(float(value))
        elif id(value) not in visited and depth <= _DEEP:
            visited.add(id(value))
            ahead += [(other, depth + 1, closed) for other, closed in _parts(value, package, own=own)]
    tried = (number for number in numbers if abs(number) < 1e300 and number not in (0, 1, -1, 0.5))
    return tuple(dict.fromkeys(tried))[:_CONSTANTS]


def _parts(value: Any, package: str, *, own: bool) -> list[tuple[Any, bool]]:
    """Return the parts of a piece of code, each with whether it counts as that code in any package."""
    if isinstance(value, (tuple, list)):
        return [(other, own) for other in value]
    if isinstance(value, functools.partial):
        return [(value.func, own), *((other, True) for other in (*value.args, *value.keywords.values()))]
    if isinstance(value, (MethodType, staticmethod, classmethod)):
        return [(value.__func__, own)]
    if isinstance(value, property):
        return [(value.fget, own)]
    if isinstance(value, CodeType):
        return [(other, True) for other in value.co_consts]
    function = isinstance(value, FunctionType)
    home = str(getattr(value if function else type(value), "__module__", "")).split(".")[0]
    if home in _LIBRARIES or not (own or (function and home == package)):
        return []
    if not function:
        bases = [base for base in type(value).__mro__ if base.__module__.split(".")[0] not in _LIBRARIES]
        settings = [getattr(value, "__dict__", {}), *map(vars, bases)]
        return [(other, True) for setting in settings for other in setting.values()]
    kept = [value.__code__, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    parts = [(other, True) for other in kept]
    with suppress(ValueError):  # a variable that is set later
        named = inspect.getclosurevars(value)
        parts += [(other, True) for other in named.nonlocals.values()]
        parts += [(other, False) for other in named.globals.values()]
    return parts


def accepted(refusal: Refusal, f: int, n: int | None) -> list[Pair]:
    """Return (n, f) that the rule accepts: the ``f`` given first of all, from the least n; then others."""
    if n is not None:
        why = refusal(n, f) if n > f else SecmixError("n must be above f")
        if why is not None:
            raise AssertionError(f"the rule refuses f = {f} with n = {n}; it said: {why}")
        return [(n, f)]
    counts = range(max(2 * f + 1, 2), max(MOST_MESSAGES, 6 * f + 12) + 1)
    pairs = [(count, f) for count in counts if refusal(count, f) is None]
    if not pairs:
        why = refusal(counts[-1], f)
        raise AssertionError(f"the rule refuses f = {f} with every number of messages tried; it last said: {why}")
    others = [(count, 0) for count in _NONE if f and refusal(count, 0) is None]
    for count in (*range(3, 17), *range(17, MOST_MESSAGES, 3), MOST_MESSAGES):
        others += [pair for pair in _of(refusal, count) if pair[1] != f]
    return pairs[:5] + sorted(pairs[5:] + others)


def largest(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs whose f no smaller n allows."""
    frontier: list[Pair] = []
    for n, f in sorted(dict(sorted(pairs)).items()):
        if not frontier or f > frontier[-1][1]:
            frontier.append((n, f))
    return frontier


def _of(refusal: Refusal, n: int) -> list[Pair]:
    """Return n with more and more colluders, up to the first for which the rule makes many calls."""
    most, accepted_pairs = (n - 1) // 2, []
    for f in range(1, most + 1) if n <= 12 else sorted({*(step for step in _STEPS if step < most - 1), most}):
        if refusal(n, f) is None:
            if not _quick(refusal, n, f):
                break
            accepted_pairs.append((n, f))
    return accepted_pairs


class _Enough(BaseException):
    """No error of the rule: whoever looks for those does not see it."""


def _quick(refusal: Refusal, n: int, f: int) -> bool:
    """Say whether the rule makes few calls: their number is the same on every machine, their time is not."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")
        if calls > _LONG:
            raise _Enough  # ends the call, and this count with it

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        refusal(n, f)
    except _Enough:
        pass
    finally:
        sys.setprofile(before)
    return calls <= _LONG


def beyond(
    counts: Iterable[int], refusal: Refusal, pairs: Sequence[Pair], f: int, n: int | None, p: int | None
) -> list[tuple[Pair, int]]:
    """Return (n, f) and p beyond the usual sizes, with each of ``counts`` as messages, as entries, as both together."""
    least, most = pairs[0], max((pair for pair in pairs if pair[1] == f), default=pairs[0])
    sizes: list[tuple[Pair, int]] = []
    for count in sorted(counts):
        if n is None and 12 < count <= _MESSAGES and (many := _of(refusal, count)):
            sizes.append((many[-1], p or 3))
        if n is None and MOST_MESSAGES < count <= _MESSAGES and refusal(count, f) is None:
            sizes.append(((count, f), p or 3))
        if p is None and MOST_ENTRIES < count <= _ENTRIES:
            sizes.append((least, count))
        if p is None and MOST_ENTRIES < count <= _NUMBERS:
            sizes.append((most, -(-count // most[0])))
    return sizes
