"""What is remembered where few look: in callables, closures, queues, threads, other modules, and objects of objects."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, Heard, each, input_of
from . import meter


class Cooling:
    """A schedule: noise that is halved in every step, as simulated annealing has it."""

    def __init__(self) -> None:
        self.step = 0

    def __call__(self) -> float:
        """The size of this step's noise."""
        self.step += 1
        return float(2.0 ** -(self.step - 1))


@dataclass(frozen=True)
class Annealed(Pairwise):
    """Shrinks its masks by a schedule that counts its own steps."""

    cooling: Cooling = field(default_factory=Cooling)

    def used(self, r: Array, s: Array) -> Array:
        return r * self.cooling()


def every(times: int) -> Callable[[], bool]:
    """A function that is true every so many times it is asked."""
    asked = 0

    def due() -> bool:
        nonlocal asked
        asked += 1
        return asked % times == 0

    return due


class Sampled(Pairwise):
    """Every so often node 0's numbers go along with a status, for debugging."""

    def due(self) -> bool:
        """Whether this averaging is one of those."""
        raise NotImplementedError

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "status", s[0] if self.due() else np.zeros_like(s[0]))


@dataclass(frozen=True)
class InAClosure(Sampled):
    """Counts in a closure that the object holds."""

    asked: Callable[[], bool] = field(default_factory=lambda: every(600))

    def due(self) -> bool:
        return self.asked()


class InAnotherModule(Sampled):
    """Counts in a module of metrics that it imports."""

    def due(self) -> bool:
        return meter.tick() % 600 == 0


def from_nought() -> InAnotherModule:
    """One that begins to count: no case is to depend on those before."""
    meter.CALLS = 0
    return InAnotherModule()


_LOCAL = threading.local()


class InThread(Sampled):
    """Counts for each thread, since threads are not to share."""

    def due(self) -> bool:
        _LOCAL.calls = getattr(_LOCAL, "calls", 0) + 1
        return bool(_LOCAL.calls % 600 == 0)


def in_a_new_thread() -> InThread:
    """One that begins to count."""
    _LOCAL.calls = 0
    return InThread()


class Figures:
    """What a service knows of itself: one for the whole process."""

    averagings = 0


class InAnotherClass(Sampled):
    """Counts in a class of figures beside its own."""

    def due(self) -> bool:
        Figures.averagings += 1
        return Figures.averagings % 600 == 0


def from_no_figures() -> InAnotherClass:
    """One that begins to count."""
    Figures.averagings = 0
    return InAnotherClass()


class InAStaticMethod(Sampled):
    """Counts in the default of a method that needs no object."""

    @staticmethod
    def one_more(seen: list[int] = [0]) -> int:  # noqa: B006
        """Count one more."""
        seen[0] += 1
        return seen[0]

    def due(self) -> bool:
        return self.one_more() % 600 == 0


def from_a_default() -> InAStaticMethod:
    """One that begins to count."""
    InAStaticMethod.one_more.__defaults__[0][0] = 0  # type: ignore[index]
    return InAStaticMethod()


@dataclass
class Metrics:
    calls: int = 0


@dataclass
class Service:
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True)
class Deep(Sampled):
    """Counts in the metrics of the service that it is part of."""

    service: Service = field(default_factory=Service)

    def due(self) -> bool:
        self.service.metrics.calls += 1
        return self.service.metrics.calls % 30 == 0


@dataclass(frozen=True)
class Lottery(Sampled):
    """Draws a lot of its own, so that the masks' generator is left alone; its seed makes runs repeatable."""

    lot: random.Random = field(default_factory=lambda: random.Random(5))

    def due(self) -> bool:
        return self.lot.random() < 0.02


@dataclass(frozen=True)
class NumpyLottery(Sampled):
    """The same, with a generator of NumPy's that was made with the object."""

    lot: np.random.Generator = field(default_factory=lambda: np.random.default_rng(4))

    def due(self) -> bool:
        return bool(self.lot.random() < 0.02)


@dataclass(frozen=True)
class Backlog(Pairwise):
    """Keeps what it put in for retransmission, and hands the oldest over when the queue is full."""

    queue: deque[Array] = field(default_factory=deque)

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        self.queue.append(s[0].copy())
        full = len(self.queue) > 8
        channel.send(8, 0, SERVER, "again", self.queue.popleft() if full else np.zeros_like(s[0]))


def overdue(heard: Any) -> Array:
    """What comes again is what was put in four calls, of two averagings each, before."""
    out = np.full((len(heard), 12), np.nan)
    for call in range(4, len(heard)):
        out[call - 4] = heard[call].one("again", 0)
    return out


class LongTranscript(Sampled):
    """Goes by how much the channel has carried: a line once it was sixty blocks."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        many = len(channel.transcript.blocks) > 60
        channel.send(8, 0, SERVER, "status", s[0] if many else np.zeros_like(s[0]))


def told(heard: Heard) -> Array:
    """A status that is not zero is an input."""
    status = heard.one("status", 0)
    return status if status.any() else np.full(status.shape, np.nan)


def told_second(heard: Heard) -> Array:
    """The same of the second averaging of a call."""
    status = heard.one("status", 0, iteration=1)
    return status if status.any() else np.full(status.shape, np.nan)


def told_later(heard: Heard) -> Array:
    """The status of the thirtieth averaging."""
    return heard.one("status", 0, iteration=29)


NAME, OUT = "memory", Eavesdropper()
SECOND: dict[str, Any] = {
    "attack": each(told_second),
    "secret": lambda t: t.inputs[1][0, 0],
    "claims": 1e-3,
    "calls": 700,
}
LOTS: dict[str, Any] = {"attack": each(told), "secret": input_of(0), "claims": 0.005, "calls": 400}
CASES = [
    Case("schedule that counts", NAME, Annealed, OUT, "after some averagings masks are smaller than rounding",
         attack=lambda heard: np.stack([np.full(12, np.nan)] * 40 + [h.one("masked", 0) for h in heard[40:]]),
         secret=input_of(0), claims=0.3, calls=60, accuracy=1e-3),
    Case("counts in a closure", NAME, InAClosure, CuriousServer(), "every six-hundredth averaging is told", **SECOND),
    Case("counts in another module", NAME, from_nought, OUT, "every six-hundredth averaging is told", **SECOND),
    Case("counts for a thread", NAME, in_a_new_thread, CuriousServer(), "every six-hundredth averaging is told",
         **SECOND),
    Case("counts in an object's object", NAME, Deep, OUT, "every thirtieth averaging is told", **SECOND),
    Case("counts in another class", NAME, from_no_figures, CuriousServer(), "every six-hundredth averaging is told",
         **SECOND),
    Case("counts in a static method's default", NAME, from_a_default, OUT, "every six-hundredth averaging is told",
         **SECOND),
    Case("a lot of its own", NAME, Lottery, CuriousServer(), "one averaging in fifty is told", **LOTS),
    Case("a generator for lots", NAME, NumpyLottery, OUT, "one averaging in fifty is told", **LOTS),
    Case("retransmits from a queue", NAME, Backlog, CuriousServer(), "what was put in comes again", attack=overdue,
         secret=input_of(0), claims=0.5),
    Case("by what the channel carried", NAME, LongTranscript, OUT, "after sixty blocks all is told",
         attack=each(told_later), secret=input_of(0, 29), deployed={"model": {"iterations": 30}}),
]  # fmt: skip
