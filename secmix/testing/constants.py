"""The numbers that code names: a rule or a protocol that turns at some size or value has it from somewhere.

What special input a program waits for is mostly written in it (dictionaries of constants; Hypothesis tries them too).
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_MOST = 60  # numbers that are kept
_DEEP = 4  # calls within calls
_LIBRARIES = ("numpy", "scipy", "sklearn", "torch", "builtins", "typing")


def numbers_of(subject: Any) -> tuple[float, ...]:
    """Return the numbers in the code of a rule or a protocol, of what it calls in its own package, and its settings."""
    settings = list(getattr(subject, "keywords", getattr(subject, "__dict__", {})).values())
    found = dict.fromkeys(each for each in settings if isinstance(each, (int, float)))
    for function in _functions(subject):
        names = (*function.__code__.co_names, *function.__code__.co_freevars)
        own = inspect.getclosurevars(function) if names else None
        values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        values += [*own.globals.values(), *own.nonlocals.values()] if own else []
        for each in (*_constants(function.__code__), *values):
            found |= {
                number: None for number in (each if isinstance(each, (tuple, list)) else [each]) if _tried(number)
            }
    return tuple(map(float, found))[:_MOST]


def _tried(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and abs(value) < 1e300 and math.isfinite(value) and value not in (0, 1, -1, 0.5)


def _constants(code: CodeType) -> Iterator[Any]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _constants(constant)
        else:
            yield constant


def _functions(subject: Any) -> list[FunctionType]:
    """Return the functions of a rule or a protocol: itself, its methods, and those it names, of its own package."""
    package = str(getattr(subject, "__module__", "")).split(".")[0]
    found: dict[int, FunctionType] = {}

    def visit(value: Any, depth: int, *, closed: bool = False) -> None:
        value = getattr(inspect.unwrap(value), "__func__", value) if callable(value) else value
        if isinstance(value, functools.partial):
            return visit(value.func, depth)
        if not isinstance(value, FunctionType) or id(value) in found or depth > _DEEP:
            return None
        home = str(value.__module__).split(".")[0]
        if depth and home != package and (not closed or home in _LIBRARIES):
            return None
        found[id(value)] = value
        try:
            named = inspect.getclosurevars(value)
        except ValueError:  # a variable that is set later
            return None
        for other in named.globals.values():
            visit(other, depth + 1)
        for other in named.nonlocals.values():
            visit(other, depth + 1, closed=True)
        return None

    visit(subject, 0)
    if not isinstance(subject, (FunctionType, functools.partial)):
        for setting in getattr(subject, "__dict__", {}).values():
            visit(setting, 1, closed=True)
        for kind in type(subject).__mro__:
            for method in vars(kind).values() if kind.__module__.split(".")[0] not in _LIBRARIES else ():
                visit(getattr(method, "fget", method), 0)
    return list(found.values())
