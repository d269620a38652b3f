"""Numbers that stand in a protocol's code: where it may change what it does, and so where the checks look.

Code turns at numbers: at an iteration, at a size, at a level. Most of them are written somewhere in the class, in a
function beside it, in a default or in the object. Each is tried, with its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any

_MOST = 24  # numbers of a kind
_PLAIN = (int, float)


def numbers_of(protocol: Any) -> list[float]:
    """The finite numbers, without sign, in the code of a protocol's class and in the object, each once, in order.

    Examples
    --------
    >>> class Odd:
    ...     level = 0.25
    ...     def average(self, runs):
    ...         return runs > 40
    >>> numbers_of(Odd())
    [0.25, 40.0]
    """
    seen: set[int] = set()
    parts = [getattr(protocol, "__dict__", {}), *(_members(each) for each in type(protocol).__mro__[:-1])]
    found = {abs(float(x)) for part in parts for x in _of_value(part, seen, 5)}
    return sorted(x for x in found if math.isfinite(x))


def whole_numbers(protocol: Any, most: int = 2000, *, few: bool = False) -> list[int]:
    """Whole numbers among them up to ``most`` with the next ones, unless ``few`` with others that they point to too."""
    out: set[int] = set()
    for x in (int(x) for x in numbers_of(protocol) if x == int(x) and (4 if few else 1) < x <= most):
        out |= {x, x + 1} if few else {x - 1, x, x + 1, 2 * x - 1, 2 * x, _prime(x + 1)}
    return sorted(out)


def between(protocol: Any) -> list[float]:
    """Fractions between neighbouring ones in the code, and those that its whole numbers are of each other."""
    known = numbers_of(protocol)
    ends = sorted({0.0, 1.0, *(x for x in known if x < 1)})
    words = [x for x in known if x == int(x) and 1 < x < 2**40]
    parts = [(a + 0.5) / b for a, b in pairwise(words)] if words else []
    middles = [(a + b) / 2 for a, b in pairwise(ends)] if len(ends) > 2 else []
    return [*middles, *parts][:_MOST]


def levels(protocol: Any) -> list[float]:
    """The numbers themselves, a little less and more, twice as much, and what lies between neighbours."""
    known = [x for x in numbers_of(protocol) if 1e-12 < x < 1e12]
    out = [f * x for x in known for f in (1.0, 1 - 1e-6, 1 + 1e-6, 2.0)] + [
        math.sqrt(a * b) for a, b in pairwise(known)
    ]
    return list(dict.fromkeys(out))[: 10 * _MOST]


def _prime(least: int) -> int:
    return next(k for k in range(least, 2 * least + 2) if all(k % d for d in range(2, math.isqrt(k) + 1)))


def _of_value(value: Any, seen: set[int], depth: int) -> Iterator[float]:
    """Numbers in a value: a number, a container, a function with what it calls by name beside it."""
    if type(value) in _PLAIN:
        yield value
        return
    if id(value) in seen or depth < 0:
        return
    if isinstance(value, dict | list | tuple | set | frozenset):
        seen.add(id(value))
        parts = list(value.values()) if isinstance(value, dict) else list(value)
        for part in parts[:200]:
            yield from _of_value(part, seen, depth - 1)
        return
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if isinstance(value, property | cached_property):
        value = value.fget if isinstance(value, property) else value.func
    value = getattr(value, "__wrapped__", value)
    if isinstance(value, FunctionType) and id(value) not in seen:
        seen.add(id(value))
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not value]
        yield from _of_value([*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *cells], seen, depth)
        for code in _codes(value.__code__):
            yield from (x for x in _flat(code.co_consts) if type(x) in _PLAIN)
            own = value.__globals__
            for name in code.co_names:
                part = own.get(name)
                mine = type(part) in _PLAIN or getattr(part, "__module__", None) == value.__module__
                if mine or isinstance(part, dict | list | tuple):
                    yield from _of_value(part, seen, depth - 1)
    elif isinstance(value, type) and depth > 1:
        seen.add(id(value))
        for member in _members(value).values():
            yield from _of_value(member, seen, depth - 2)


def _members(kind: type) -> dict[str, Any]:
    """What a class holds, without the line on which it stands, which Python 3.13 notes there."""
    return {name: member for name, member in vars(kind).items() if name != "__firstlineno__"}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | frozenset):
            yield from _flat(value)
        else:
            yield value
