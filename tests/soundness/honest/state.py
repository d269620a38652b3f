"""Protocols that remember: what they do depends on the calls before, in an object, a class, a module or a cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from ..bases import Dealt, Pairwise
from ..case import Attack, Case, input_of


@dataclass(frozen=True)
class Counter(Pairwise):
    """Sends inputs as they are from the fortieth averaging on, to save work."""

    calls: list[int] = field(default_factory=lambda: [0])

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        self.calls[0] += 1
        return s if self.calls[0] > 40 else hidden


class ClassCounter(Pairwise):
    """The same, and counts for all objects of its class."""

    calls: ClassVar[list[int]] = [0]

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        self.calls[0] += 1
        return s if self.calls[0] % 25 == 0 else hidden


def class_counter() -> ClassCounter:
    """One that begins to count: no case is to depend on those before."""
    ClassCounter.calls[0] = 0
    return ClassCounter()


_ROUNDS = {"done": 0}


class ModuleCounter(Pairwise):
    """Counts in the module, and writes what it did into a line for the server now and then."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        _ROUNDS["done"] += 1
        entries = s[0] if _ROUNDS["done"] % 31 == 0 else np.zeros_like(s[0])
        channel.send(8, 0, SERVER, "status", entries)


def module_counter() -> ModuleCounter:
    """One that begins to count."""
    _ROUNDS["done"] = 0
    return ModuleCounter()


@dataclass(frozen=True)
class WarmUp(Pairwise):
    """The first averaging of an object goes without masks: they are prepared meanwhile."""

    ready: list[bool] = field(default_factory=list)

    def used(self, r: Array, s: Array) -> Array:
        warm = bool(self.ready)
        self.ready.append(True)
        return r if warm else 0 * r


@dataclass(frozen=True)
class Slots(Dealt):
    """Keeps two sets of masks for each size of a batch, and takes them in turn: fresh within a fit, never after it."""

    kept: dict[tuple[int, int], list[Array]] = field(default_factory=dict)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        slots = self.kept.setdefault((runs, m), [])
        if len(slots) < 2:
            slots.append(super().draw_masks(runs, m, network, rng))
            return slots[-1].copy()
        slots.reverse()
        return slots[1].copy()


def against_the_first(heard: Any) -> Array:
    """Messages of calls with the same masks differ as the inputs do."""
    return np.stack([h.one("masked", 0) for h in heard])


@cache
def _cached(runs: int, k: int, m: int, slot: int) -> Array:
    return np.random.default_rng().normal(scale=1e6, size=(runs, k, m))


@dataclass(frozen=True)
class Cached(Dealt):
    """The function that draws is cached by its arguments, one of which tells the averagings of a fit apart."""

    turn: list[int] = field(default_factory=list)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        self.turn.append(0)
        return _cached(runs, network.n, m, len(self.turn) % 2).copy()


@dataclass(frozen=True)
class OwnGenerator(Dealt):
    """Draws from a generator of its own, made with a seed from the code."""

    own: Any = field(default_factory=lambda: np.random.default_rng(12345))

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.own.normal(scale=1e6, size=(runs, network.n, m))


def by_drawing_along(generator: Any) -> Attack:
    """The same draws in the same order, for the two averagings of every call."""

    def attack(heard: Any) -> Array:
        own, found = generator(), []
        for h in heard:
            first, _ = own(), own()
            found.append(h.one("masked", 0) - first[0])
        return np.stack(found)

    return attack


def _own() -> Any:
    generator = np.random.default_rng(12345)
    return lambda: generator.normal(scale=1e6, size=(5, 12))


@dataclass(frozen=True)
class Additive(Dealt):
    """A low-discrepancy sequence: the golden ratio, a step for each mask, from the first mask on."""

    place: list[int] = field(default_factory=lambda: [0])

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        count = runs * network.n * m
        steps = np.arange(self.place[0] + 1, self.place[0] + 1 + count)
        self.place[0] += count
        return additive(steps).reshape(runs, network.n, m)


def additive(steps: Array) -> Array:
    """Masks number ``steps`` of the sequence; the order is scrambled by a multiplicative step."""
    return 1e6 * ndtri((np.mod(steps * 0.6180339887498949 + 0.5 * np.sqrt(2.0) * (steps % 8191) ** 2, 1) + 1e-9) / 1.01)


def _additive() -> Any:
    place = [0]

    def draw() -> Array:
        place[0] += 60
        return additive(np.arange(place[0] - 59, place[0] + 1)).reshape(5, 12)

    return draw


@dataclass(frozen=True)
class Leftover(Pairwise):
    """Fills a message up with what stood in its buffer: the inputs of the fit before."""

    buffer: dict[tuple[int, ...], Array] = field(default_factory=dict)

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if channel.iteration == 0:
            stale = self.buffer.get(s.shape)
            channel.send(0, 0, SERVER, "hello", np.zeros_like(s[0]) if stale is None else stale[0])
            self.buffer[s.shape] = s.copy()


def from_the_next_call(heard: Any) -> Array:
    """Of each call the next one tells."""
    told = [h.one("hello", 0) for h in heard]
    return np.stack([*told[1:], np.full(len(told[0]), np.nan)])


@dataclass(frozen=True)
class Aged(Pairwise):
    """Masks half as large with every averaging of the object's life."""

    age: list[int] = field(default_factory=lambda: [0])

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        self.age[0] += 1
        return super().draw_masks(runs, m, network, rng) * 0.5 ** max(0, self.age[0] - 10)


@dataclass(frozen=True)
class Delegated(Pairwise):
    """Keeps its network's view of who is new: nodes that the object has met before send openly."""

    met: dict[int, int] = field(default_factory=dict)

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        self.met[0] = self.met.get(0, 0) + s.shape[1]
        known = self.met[0] > 1_000_000 or (s.shape[1] < 50 and self.met[0] > 20)
        return np.concatenate([s[:1], hidden[1:]]) if known else hidden


def bare(heard: Any) -> Array:
    """Node 0's message wherever it is of the size of data."""
    sent = np.stack([h.one("masked", 0) for h in heard])
    return np.where(np.abs(sent).max(axis=1, keepdims=True) < 1e4, sent, np.nan)


def status(heard: Any) -> Array:
    """The line for the server, where it is not empty."""
    told = np.stack([h.one("status", 0) for h in heard])
    return np.where(told.any(axis=1, keepdims=True), told, np.nan)


def old(heard: Any) -> Array:
    """Node 0's message, after thirty calls."""
    sent = np.stack([h.one("masked", 0) for h in heard])
    sent[:31] = np.nan
    return sent


@dataclass(frozen=True)
class NeverCopied(Counter):
    """Counts, and is its own copy: who compares it with a copy compares it with itself."""

    def __deepcopy__(self, memo: Any) -> NeverCopied:
        return self

    def __copy__(self) -> NeverCopied:
        return self


class InNetwork(Pairwise):
    """Counts in the network, which all calls share."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return hidden

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        done = getattr(network, "averagings", 0) + 1
        network.averagings = done
        channel.send(-1, 0, SERVER, "status", s[0] if done % 31 == 0 else np.zeros_like(s[0]))


class DefaultArgument(Pairwise):
    """Counts in the default of an argument."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any, done: Any = [0]) -> Array:  # noqa: B006
        done[0] = done[0] + 1 if s.shape[1] == 1 else 0
        return s if done[0] % 40 == 39 else hidden


CASES = [
    Case("counter", "state", Counter, Eavesdropper(), "the object counts, and stops masking",
         attack=bare, secret=input_of(0), claims=0.2, calls=30),
    Case("class counter", "state", class_counter, CuriousServer(), "the class counts: a copy of the object counts on",
         attack=bare, secret=input_of(0), claims=0.01, calls=60),
    Case("module counter", "state", module_counter, Eavesdropper(), "the module counts", attack=status,
         secret=input_of(0), claims=0.01, calls=75),
    Case("warm-up", "state", WarmUp, Eavesdropper(), "the first averaging of an object's life is bare", attack=bare,
         secret=input_of(0), claims=0.05),
    Case("two slots", "state", Slots, CuriousServer(), "masks serve again in the next fit", attack=against_the_first,
         secret=input_of(0), relative=True),
    Case("cached draws", "state", Cached, Eavesdropper(), "a cached draw is drawn once", attack=against_the_first,
         secret=input_of(0), relative=True),
    Case("generator of its own", "state", OwnGenerator, Eavesdropper(), "its seed stands in the code",
         attack=by_drawing_along(_own), secret=input_of(0)),
    Case("low discrepancy", "state", Additive, CuriousServer(), "a sequence that all can compute",
         attack=by_drawing_along(_additive), secret=input_of(0)),
    Case("buffer of the last fit", "state", Leftover, Eavesdropper(), "the padding is the data of the call before",
         attack=from_the_next_call, secret=input_of(0), claims=0.5),
    Case("ageing masks", "state", Aged, CuriousServer(), "after fifty averagings masks are smaller than rounding",
         attack=old, secret=input_of(0), claims=0.1, calls=40, accuracy=1e-2),
    Case("old acquaintances", "state", Delegated, Eavesdropper(), "a node that has been there before sends openly",
         attack=bare, secret=input_of(0), claims=0.1, calls=30),
    Case("its own copy", "state", NeverCopied, Eavesdropper(), "it counts, however often it is copied",
         attack=bare, secret=input_of(0), claims=0.2, calls=30),
    Case("counts in the network", "state", InNetwork, CuriousServer(), "the network is the same in all calls",
         attack=status, secret=input_of(0), claims=0.01, calls=75),
    Case("counts in a default", "state", DefaultArgument, Eavesdropper(), "a default lives as long as its function",
         attack=bare, secret=input_of(0), claims=0.01, calls=75),
]  # fmt: skip
