"""What is kept from call to call is compared in full; what cannot be compared is unlike everything."""

from __future__ import annotations

import functools
import io
import itertools
import random
import sys
import threading
from array import array
from collections import deque
from typing import Any

import numpy as np
import pytest
from unit.kernel import examples

from secmix import Network
from secmix.kernel.coins import Public
from secmix.kernel.kept import KEPT, kept
from secmix.kernel.trace import follow

NETWORK = Network.complete(3)
CALLS = 0


class Holder:
    def __init__(self, part: Any = None, count: int = 0) -> None:
        self.part, self.count = part, count


class Slotted:
    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Counter:
    """An object that is called, and counts."""

    def __init__(self) -> None:
        self.seen: dict[str, list[int]] = {"calls": [0]}

    def __call__(self) -> None:
        self.seen["calls"][0] += 1


def closure() -> Any:
    asked = 0

    def ask() -> None:
        nonlocal asked
        asked += 1

    return ask


def digest(holder: Any, varying: frozenset[str] | None = frozenset()) -> Any:
    return kept(holder, NETWORK, {}, set(), varying)


def deep(levels: int) -> Holder:
    holder = Holder()
    for _ in range(levels):
        holder = Holder(holder)
    return holder


def innermost(holder: Holder) -> Holder:
    while holder.part is not None:
        holder = holder.part
    return holder


LOCAL = threading.local()
CHANGES: dict[str, tuple[Any, Any]] = {
    "an attribute eight objects deep": (lambda: deep(8), lambda v: setattr(innermost(v), "count", 1)),
    "a callable": (Counter, lambda v: v()),
    "a closure": (closure, lambda v: v()),
    "slots": (Slotted, lambda v: setattr(v, "count", 1)),
    "a bound method": (lambda: Counter().__call__, lambda v: v()),
    "a partial": (lambda: functools.partial(Counter()), lambda v: v()),
    "a queue": (lambda: deque([1]), lambda v: v.append(2)),
    "a set": (lambda: {1}, lambda v: v.add(2)),
    "an array of numbers": (lambda: array("d", [1.0]), lambda v: v.append(2.0)),
    "text in memory": (io.StringIO, lambda v: v.write("x")),
    "a counter of itertools": (itertools.count, next),
    "its method": (lambda: itertools.count().__next__, lambda v: v()),
    "Python's generator": (lambda: random.Random(0), lambda v: v.random()),
    "NumPy's generator": (lambda: np.random.default_rng(0), lambda v: v.random()),
    "NumPy's generator of old": (lambda: np.random.RandomState(0), lambda v: v.rand()),
    "a thread's data": (lambda: LOCAL, lambda v: setattr(v, "calls", 1)),
    "an array": (lambda: np.zeros(3), lambda v: v.__setitem__(0, 1.0)),
    "a sign of zero": (lambda: [0.0], lambda v: v.__setitem__(0, -0.0)),
    "a cache": (lambda: functools.lru_cache(lambda x: x), lambda v: v(1)),
}


NOT_COMPARED = ("a counter of itertools", "its method") if sys.version_info >= (3, 14) else ()
"""From then on iterators cannot be copied."""


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_is_seen(name: str) -> None:
    make, change = CHANGES[name]
    holder = Holder(make())
    before, again = digest(holder).digest, digest(holder).digest
    assert before == again or name in NOT_COMPARED
    change(holder.part)
    assert digest(holder).digest != before


@pytest.mark.parametrize("make", [lambda: (x for x in [1]), lambda: memoryview(b"x")], ids=["generator", "memory"])
def test_what_cannot_be_compared_is_unlike_itself(make: Any) -> None:
    holder = Holder(make())
    assert digest(holder).digest != digest(holder).digest


def test_locks_and_loops_are_compared() -> None:
    holder = Holder(threading.Lock())
    holder.part = [holder.part, holder]
    assert digest(holder).digest == digest(holder).digest


@pytest.mark.parametrize("name", list(CHANGES)[:4])
def test_numbers_that_vary_may_be_any_and_are_what_they_were_afterwards(name: str) -> None:
    make, change = CHANGES[name]
    holder = Holder(make())
    before = digest(holder)
    change(holder.part)
    after = digest(holder)
    varying = frozenset(path for path, text in after.numbers.items() if before.numbers[path] != text)
    assert len(varying) == 1
    lent = digest(holder, varying)
    assert KEPT in digest(holder).numbers.values()
    assert lent.digest == digest(holder).digest
    digest(holder, None)
    assert digest(holder).digest == after.digest


class CountsForAll(examples.RingSum):
    """Counts its calls in this module, and is interrupted at a call, if it is told to be."""

    interrupted = False

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        global CALLS
        if self.interrupted and type(CALLS) is Public:
            raise KeyboardInterrupt
        CALLS += 1


def test_a_module_has_its_numbers_back_after_an_interrupt() -> None:
    inputs = [np.ones((1, 3, 2))] * 3
    varying = follow(CountsForAll(), NETWORK, inputs).varying
    assert any(path.endswith("CALLS") for path in varying)
    stopped = CountsForAll()
    stopped.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        follow(stopped, NETWORK, inputs, varying=varying)
    assert type(CALLS) is int
