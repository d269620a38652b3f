"""Sizes worth trying: numbers that code names, messages and colluders that a rule accepts, networks of a protocol.

What special input a program waits for is mostly written in it (dictionaries of constants; Hypothesis tries them too).
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, combinations
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from secmix.adversaries.search.oracle import quietly
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.transcript import Channel

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
_CONSTANTS = 60  # numbers of the code that are kept
_DEEP = 4  # calls within calls
_LIBRARIES = ("numpy", "scipy", "sklearn", "torch", "builtins", "typing")


def numbers_of(subject: Any) -> tuple[float, ...]:
    """Return the numbers in the code of a rule or a protocol, of what it calls in its own package, and its settings."""
    values = list(getattr(subject, "keywords", getattr(subject, "__dict__", {})).values())
    for function in _functions(subject):
        values += [*_constants(function.__code__), *(function.__defaults__ or ())]
        values += [*(function.__kwdefaults__ or {}).values(), *_named_by(function)[0], *_named_by(function)[1]]
    numbers = [number for each in values for number in (each if isinstance(each, (tuple, list)) else [each])]
    return tuple(map(float, dict.fromkeys(filter(_tried, numbers))))[:_CONSTANTS]


def _tried(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and abs(value) < 1e300 and math.isfinite(value) and value not in (0, 1, -1, 0.5)


def _constants(code: CodeType) -> Iterator[Any]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _constants(constant)
        else:
            yield constant


def _named_by(function: FunctionType) -> tuple[list[Any], list[Any]]:
    """Return the values of the global names of a function, and of the variables that it closes over."""
    try:
        named = inspect.getclosurevars(function)
    except ValueError:  # a variable that is set later
        return [], []
    return list(named.globals.values()), list(named.nonlocals.values())


def _functions(subject: Any) -> list[FunctionType]:
    """Return the functions of a rule or a protocol: itself, its methods, and those it names, of its own package."""
    package = str(getattr(subject, "__module__", "")).split(".")[0]
    found: dict[int, FunctionType] = {}

    def visit(value: Any, depth: int, *, closed: bool = False) -> None:
        while isinstance(value, (functools.partial, MethodType, staticmethod, classmethod)):
            value = value.func if isinstance(value, functools.partial) else value.__func__
        if not isinstance(value, FunctionType) or id(value) in found or depth > _DEEP:
            return
        home = str(value.__module__).split(".")[0]
        if depth and home != package and (not closed or home in _LIBRARIES):
            return
        found[id(value)] = value
        for closing, others in enumerate(_named_by(value)):
            for other in others:
                visit(other, depth + 1, closed=bool(closing))

    visit(subject, 0)
    if not isinstance(subject, (FunctionType, functools.partial)):
        own = [vars(kind) for kind in type(subject).__mro__ if kind.__module__.split(".")[0] not in _LIBRARIES]
        for setting in getattr(subject, "__dict__", {}).values():
            visit(setting, 1, closed=True)
        for method in chain.from_iterable(kind.values() for kind in own):
            visit(getattr(method, "fget", method), 0)
    return list(found.values())


def accepted(refusal: Refusal, f: int, n: int | None) -> list[tuple[int, int]]:
    """Return (n, f) that the rule accepts: the ``f`` given first of all, from the least n; then others."""
    if n is not None:
        why = refusal(n, f) if n > f else SecmixError("n must be above f")
        if why is not None:
            raise AssertionError(f"the rule refuses f = {f} with n = {n}; it said: {why}")
        return [(n, f)]
    refused = {count: refusal(count, f) for count in range(max(2 * f + 1, 2), max(MOST_MESSAGES, 6 * f + 12) + 1)}
    found = [(count, f) for count, error in refused.items() if error is None]
    if not found:
        last = list(refused.values())[-1]
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
            found.append((*many[-1], p or 3))
        if n is None and MOST_MESSAGES < count <= _MESSAGES and refusal(count, f) is None:
            found.append((count, f, p or 3))
        if p is None and MOST_ENTRIES < count <= _ENTRIES:
            found.append((*least, count))
        if p is None and MOST_ENTRIES < count <= _NUMBERS:
            found.append((*most, -(-count // most[0])))
    return found


Sized = tuple[Network, str, tuple[int, int] | None]
"""A network, its kind, and how many entries and runs; None for a few."""

_ROUND = (4, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256)
_LEAST, _LARGEST = (8, 3, 3), (40, 256, 64)  # nodes, entries and runs that are drawn
_NAMED_MOST = (60, 2000, 300)  # and that are tried where the code names them
_SENT = 2400  # numbers that a call sends: of more, a proof takes long
_SMALL = 5  # nodes, entries or runs that are not made fewer


def _ring(n: int, first: int = 0) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(first, n - 1)] + [(n - 1, first)]


_KINDS: dict[str, Callable[[int, np.random.Generator], Iterable[Any]]] = {
    "complete": lambda n, rng: combinations(range(n), 2),
    "star": lambda n, rng: [(0, i) for i in range(1, n)],
    "path": lambda n, rng: _ring(n)[:-1],
    "cycle": lambda n, rng: _ring(n),
    "wheel": lambda n, rng: [*_ring(n, 1), *((0, i) for i in range(1, n))],
    "tree": lambda n, rng: [(i, rng.integers(i)) for i in range(1, n)],
    "cycle with chords": lambda n, rng: [*_ring(n), *(rng.choice(n, 2, replace=False) for _ in range(n // 2))],
}
"""Edges of each kind of network of at least three nodes."""


def _of_kind(kind: str, n: int, rng: np.random.Generator) -> tuple[Network, str]:
    """Return a network and its kind: a tree where one of so few nodes is complete."""
    kind = "tree" if n <= {"cycle": 3, "wheel": 4}.get(kind, 0) else kind
    name = rng.permutation(n)
    return Network.from_edges(n, [(name[a], name[b]) for a, b in _KINDS[kind](n, rng)]), kind


def small_networks(given: Network | None, parts: int | None, rng: np.random.Generator) -> list[Sized]:
    """Draw networks, small ones first; those given, or as many nodes as have ``parts``, stand alone."""
    if given is not None:
        return [(given, "given", None)]
    if parts is not None:
        ring: list[Sized] = [(Network.cycle(parts), "cycle", None)] if parts > 2 else []
        return [(Network.complete(parts), "complete", None), *ring]
    found: list[Sized] = [(Network.complete(3), "complete", None), (Network.cycle(4), "cycle", None)]
    found.append((Network.complete(5), "complete", None))
    for least, most in ((4, 7), (5, 9), (9, 13)):
        n = int(rng.integers(least, most))
        found += [(*_of_kind(kind, n, rng), None) for kind in ("cycle with chords", "tree")]
    return found


def wide_networks(
    protocol: SumProtocol, given: Network | None, numbers: Iterable[int], count: int, rng: np.random.Generator
) -> list[Sized]:
    """Draw networks with many nodes, entries and runs, and take those that ``numbers`` of the protocol's code name.

    Where a call would send so much that a proof takes long, drawn ones are halved and named ones left out.
    """

    def network_of(place: int, n: int) -> tuple[Network, str]:
        return _of_kind(list(_KINDS)[place % 6], n, rng) if given is None else (given, "given")

    found: list[Sized] = []
    for place, size in enumerate([*_drawn(count, rng), *_named(numbers, 2 * count)]):
        network, kind = network_of(place, size[0])
        while _sent(protocol, network) * size[1] * size[2] > _SENT and max(size[given is not None :]) > _SMALL:
            if place >= count:  # half of it is another number
                break
            which = max((0, 1, 2) if given is None else (1, 2), key=size.__getitem__)
            size[which] = -(-size[which] // 2)
            network, kind = network_of(place, size[0])
        else:
            found.append((network, kind, (size[1], size[2])))
    return found


def _sent(protocol: SumProtocol, network: Network) -> int:
    """Count the numbers of a call with a single number a node."""
    channel, inputs = Channel(), np.ones((1, network.n, 1))
    with suppress(Exception):  # reported by the promises, if it is not a refusal
        quietly(lambda: protocol.average(inputs, network, np.random.default_rng(0), channel=channel))
    return sum(len(block.payload) for block in channel.transcript)


def _drawn(count: int, rng: np.random.Generator) -> list[list[int]]:
    """Draw [nodes, entries, runs], one of them large, the larger the seldomer, and round numbers among them."""
    found = []
    for place in range(count):
        size, which = [int(rng.integers(3, 6)), 1, 1], (place + place // 6) % 3
        size[which] = int(np.exp(rng.uniform(np.log(_LEAST[which]), np.log(_LARGEST[which] + 1))))
        if rng.random() < 0.5:
            size[which] = int(rng.choice([value for value in _ROUND if _LEAST[which] <= value <= _LARGEST[which]]))
        found.append(size)
    return found


def _named(numbers: Iterable[int], count: int) -> list[list[int]]:
    """Return [nodes, entries, runs] about numbers of the code, ``count`` at most."""
    found = []
    for value in sorted({number + step for number in numbers for step in (0, 1)}):
        at = ([value, 1, 1], [3, value, 1], [3, 1, value])
        found += [size for size, most, least in zip(at, _NAMED_MOST, (3, 2, 2), strict=True) if least <= value <= most]
    return found[:: -(-len(found) // count)] if found else found
