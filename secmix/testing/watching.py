"""What a rule works with beside its messages: constants, stored arrays, the values of its own variables.

A rule that behaves otherwise for some number, size or direction must have it from somewhere.
What the code names, what it refers to and what its variables hold while it runs is tried as entries, sizes, numbers
of messages, ratios and directions (input-to-state correspondence: Aschermann, Schumilo, Blazytko, Gawlik, Holz 2019,
REDQUEEN, section III; dictionaries of constants are older). What a rule works out without keeping it in a variable is
not seen.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.search.oracle import Rule, quietly

_MOST = 60  # numbers, and directions, that are kept
_DEEP = 4  # calls within calls
_NARROW: dict[str, np.dtype[Any]] = {
    name: kind
    for kind in map(np.dtype, ("int8", "uint8", "int16", "uint16"))
    for name in (kind.name, kind.str, kind.str[1:], kind.char, *{"int8": ["byte"], "uint8": ["ubyte"],
                 "int16": ["short"], "uint16": ["ushort"]}[kind.name])
}  # fmt: skip
"""Types of few numbers, by what code calls them."""
_LIBRARIES = (
    "numpy",
    "scipy",
    "sklearn",
    "torch",
    "builtins",
    "typing",
)  # what a rule is handed is its own, but for what everybody has


@dataclass
class Seen:
    """Numbers and vectors that were met, each once, in the order in which they were met."""

    numbers: dict[float, None] = field(default_factory=dict)
    vectors: dict[bytes, Array] = field(default_factory=dict)
    most: int = _MOST

    def add(self, value: Any, depth: int = 0) -> None:
        """Keep ``value`` if it is a number or a vector, or what is in it if it holds some."""
        if depth > 3 or isinstance(value, (bool, str, bytes)) or value is None:
            return
        if isinstance(value, (int, float, np.integer, np.floating)):
            try:
                number = float(value)
            except OverflowError:
                return
            if math.isfinite(number) and number not in (0.0, 1.0, -1.0, 0.5) and len(self.numbers) < self.most:
                self.numbers.setdefault(number)
        elif isinstance(value, np.ndarray):
            if value.dtype.kind in "iu" and value.dtype.itemsize <= 2:
                self.add_limit_of(value.dtype)
            if value.dtype.kind in "fiu" and 0 < value.size <= 2000 and value.ndim <= 2:
                rows = np.atleast_2d(value).astype(np.float64)
                if value.size == 1:
                    self.add(float(rows[0, 0]))
                for row in rows[:3] if value.ndim == 2 else rows:
                    if np.isfinite(row).all() and row.any() and len(self.vectors) < self.most:
                        self.vectors.setdefault(row.tobytes(), row)
        elif isinstance(value, (list, tuple, set, frozenset)) and len(value) <= 2000:
            with contextlib.suppress(TypeError, ValueError):
                if len(value) > 1 and all(isinstance(v, (int, float)) for v in value):
                    self.add(np.array(list(value), dtype=np.float64), depth)
            for item in list(value)[:20]:
                self.add(item, depth + 1)
        elif isinstance(value, dict):
            for item in list(value.values())[:20]:
                self.add(item, depth + 1)

    def add_limit_of(self, kind: np.dtype[Any]) -> None:
        """Keep what numbers of a narrow type end at, and a little more: places and counts in it begin anew there."""
        most = int(np.iinfo(kind).max)
        for number in (most, most + 4):
            self.numbers.setdefault(float(number))


def constants_of(rule: Rule) -> Seen:
    """The numbers and arrays that a rule's code names or refers to."""
    seen = Seen()
    for function in _functions(rule):
        _of_code(function.__code__, seen)
        closed = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
        for value in (*closed, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            seen.add(value)
        for name in function.__code__.co_names:
            seen.add(function.__globals__.get(name))
        for name in _words(function.__code__):
            if (kind := _NARROW.get(name)) is not None:
                seen.add_limit_of(kind)
    if isinstance(rule, functools.partial):
        seen.add(list(rule.keywords.values()))
        seen.add(list(rule.args))
    elif not isinstance(rule, FunctionType):
        with contextlib.suppress(TypeError):
            seen.add(vars(rule))
    return seen


def _words(code: CodeType) -> Iterator[str]:
    """The names and the strings of a code."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _words(constant)
        elif isinstance(constant, str):
            yield constant


def words_of(rule: Rule) -> list[str]:
    """The names and the strings of a rule's code: among them what settings it may ask for."""
    return sorted({word for function in _functions(rule) for word in _words(function.__code__)})


def callers_asked(rule: Rule) -> list[str]:
    """By which names the rule's code looks at its callers, or at what else is loaded; empty where it does not."""
    found = set()
    for function in _functions(rule):
        words = set(_words(function.__code__))
        found |= words & {"_getframe", "currentframe", "_current_frames", "extract_stack", "getouterframes"}
        modules = {
            name for name in words if isinstance(function.__globals__.get(name), ModuleType) or name in sys.modules
        }
        found |= {"stack"} if "inspect" in modules and "stack" in words else set()
        found |= words & {"modules", "argv"} if "sys" in modules else set()
    return sorted(found)


def numbers_in(protocol: object) -> set[int]:
    """The whole numbers that a protocol's own code and settings name."""
    seen = Seen()
    for kind in type(protocol).__mro__:
        for method in vars(kind).values() if kind.__module__.split(".")[0] not in _LIBRARIES else ():
            method = getattr(method, "__func__", method)
            if isinstance(method, FunctionType):
                for number in constants_of(method).numbers:
                    seen.add(number)
    settings = getattr(protocol, "__dict__", {})
    seen.add(settings)
    for setting in settings.values():
        if isinstance(setting, FunctionType):
            for number in constants_of(setting).numbers:
                seen.add(number)
    return {int(number) for number in seen.numbers if number == int(number) and abs(number) < 1e9}


def has_code(rule: Rule) -> bool:
    """Whether any Python code of the rule can be read."""
    return any(True for _ in _functions(rule))


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _functions(rule: Any) -> Iterator[FunctionType]:
    """The functions that make up a rule: itself and those it names, of its own package."""
    package = str(getattr(inspect.unwrap(rule) if callable(rule) else rule, "__module__", "") or "").split(".")[0]
    found: dict[int, FunctionType] = {}

    def visit(value: Any, depth: int, closed: bool = False) -> None:
        if isinstance(value, functools.partial):
            return visit(value.func, depth)
        value = getattr(value, "__func__", value)
        if not isinstance(value, FunctionType):
            if depth == 0:  # an object that can be called: the methods of its class
                for method in vars(type(value)).values():
                    if isinstance(method, FunctionType):
                        visit(method, 1)
            return None
        home = str(value.__module__ or "").split(".")[0]
        own = not package or home == package or (closed and home not in _LIBRARIES)
        if id(value) in found or depth > _DEEP or (depth and not own):
            return None
        found[id(value)] = value
        for name in value.__code__.co_names:
            other = value.__globals__.get(name)
            if not isinstance(other, ModuleType):
                visit(other, depth + 1)
        for cell in value.__closure__ or ():
            if _filled(cell):
                visit(cell.cell_contents, depth + 1, closed=True)
        return None

    visit(rule, 0)
    return iter(list(found.values()))


def _of_code(code: CodeType, seen: Seen) -> None:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _of_code(constant, seen)
        else:
            seen.add(constant)


def seen_in(rule: Rule, n: int, f: int, p: int | None, seed: int) -> Seen:
    """What a rule's code and variables hold that does not come from the messages, with vectors of several lengths."""
    found = constants_of(rule)
    lengths = {1, 2, 3, 5, 10, 40, *(int(v) for v in found.numbers if 1 < v <= 2000 and v == int(v))}
    lengths |= {len(v) for v in found.vectors.values()}
    widths = [p] if p is not None else sorted(lengths)[:40]

    def calls(which: int) -> Callable[[], Any]:
        rng = np.random.default_rng([seed, which])
        sent = [np.sort(rng.standard_normal((n, width)), axis=0) for width in widths for _ in "ab"]

        def call() -> None:
            for i, messages in enumerate(sent):
                with contextlib.suppress(ValueError, TypeError):
                    rule(messages * (1.0 if i % 2 else 1e6), f=f)

        return lambda: quietly(call)

    seen = variables_of(rule, calls(1), calls(2))
    for value in (*seen.numbers, *seen.vectors.values()):
        found.add(value)
    return found


def variables_of(rule: Rule, calls: Callable[[], Any], others: Callable[[], Any]) -> Seen:
    """What the variables of the rule's functions hold in ``calls`` and in ``others`` alike, whatever the messages are.

    Both are called; they should give the rule different messages of the same shapes.
    """
    first, second = _watched(rule, calls), _watched(rule, others)
    return Seen(
        {number: None for number in first.numbers if number in second.numbers},
        {key: vector for key, vector in first.vectors.items() if key in second.vectors},
    )


def _watched(rule: Rule, calls: Callable[[], Any]) -> Seen:
    seen = Seen(most=5000)
    files = {function.__code__.co_filename for function in _functions(rule)}

    def note(frame: FrameType, event: str, result: Any) -> None:
        if event == "return" and frame.f_code.co_filename in files:
            for value in (*frame.f_locals.values(), result):
                seen.add(value)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        calls()
    finally:
        sys.setprofile(before)
    return seen
