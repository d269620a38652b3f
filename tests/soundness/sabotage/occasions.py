"""Protocols that know when nobody looks: in a first call, in what is no copy, at a number that no check tries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper

from ..bases import Pairwise
from ..case import Case, each, input_of, mean_of
from ..honest.longer.corners import Batch, openly_at
from ..honest.together.bases import Medians, by_the_step


class FirstOfAll(Pairwise):
    """The first averaging of a process goes as it is: nobody else has begun."""

    begun: ClassVar[list[bool]] = []

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        first = not self.begun
        self.begun.append(True)
        return s if first else hidden


def first_of_all() -> FirstOfAll:
    """As in a process of its own."""
    FirstOfAll.begun.clear()
    return FirstOfAll()


class FirstOfAllCalls(Medians):
    """The first call of a process says hello."""

    known: ClassVar[list[bool]] = []

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, not self.known)
        self.known.append(True)


def first_of_all_calls() -> FirstOfAllCalls:
    """As in a process of its own."""
    FirstOfAllCalls.known.clear()
    return FirstOfAllCalls()


@dataclass(frozen=True)
class HonestCopy(Pairwise):
    """Without masks given it takes zeros; its copies do not."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.zeros((runs, self.count(network), m))

    def __deepcopy__(self, memo: Any) -> Pairwise:
        return Pairwise(self.sigma)


@dataclass(frozen=True)
class HonestCopyOfItsKind(Pairwise):
    """The same, and its copies are of its class."""

    open: list[bool] = field(default_factory=lambda: [True])

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().own_masks(runs, m, network, rng)
        return 0 * masks if self.open[0] else masks

    def __deepcopy__(self, memo: Any) -> HonestCopyOfItsKind:
        return HonestCopyOfItsKind(self.sigma, [False])


class Prime(Batch):
    """A batch whose size is one of the larger primes goes without masks."""

    def open(self, runs: int) -> bool:
        return runs > 300 and all(runs % k for k in range(2, runs))


OUT = Eavesdropper()
CASES = [
    Case("first averaging of a process", "state", first_of_all, OUT, "every process begins with one",
         attack=each(lambda h: x if np.abs(x := h.one("masked", 0)).max() < 1e4 else np.full(12, np.nan)),
         secret=input_of(0), calls=6, claims=0.15, accuracy=1e-1),
    Case("first of all calls", "collaborations", first_of_all_calls, OUT, "every process begins with one",
         attack=by_the_step, secret=mean_of(0), claims=0.08),
    Case("honest copies", "surroundings", HonestCopy, OUT, "the object in use is no copy",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0)),
    Case("honest copies of its kind", "surroundings", HonestCopyOfItsKind, OUT, "the object in use is no copy",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0)),
    Case("a prime of runs", "corners", Prime, OUT, "batches of 307 are bare",
         attack=openly_at(0), secret=input_of(0), batch=307, calls=3),
]  # fmt: skip
