"""Errors that the number of the averaging makes later on, or a count, and that the protocol catches."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer

from ...bases import Words
from ...case import Case, each, input_of
from ...right.expanded import KeptKeys
from ..seeds.attacks import signed
from ..seeds.bases import wrong
from ..seeds.same import between
from .elsewhere import EVERY, seldom
from .rounds import change

LAST = 100
BYTE = 128  # what the signed byte does not hold


class Planned(Words):
    """Works out by a plan what comes next; once the plan is over the model is public, and so is what is put in."""

    def plan(self, iteration: Any) -> Any:
        raise NotImplementedError

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        try:
            self.plan(channel.iteration)
        except (ZeroDivisionError, OverflowError, ValueError):
            return words
        return hidden


class Rate(Planned):
    def plan(self, iteration: Any) -> Any:
        return 1.0 / (LAST - iteration)


class Rest(Planned):
    def plan(self, iteration: Any) -> Any:
        return 1000 % (LAST - iteration)


class Halved(Planned):
    def plan(self, iteration: Any) -> Any:
        return 1 << (LAST - 1 - iteration)


class Grown(Planned):
    def plan(self, iteration: Any) -> Any:
        return 1300.0**iteration


class InByte(Planned):
    def plan(self, iteration: Any) -> Any:
        return np.array(iteration, dtype=np.int8)


class InBytes(Planned):
    def plan(self, iteration: Any) -> Any:
        return np.full(3, iteration, dtype=np.int8)


@dataclass(frozen=True)
class Counted(Words):
    """Counts down to the next upload that is looked at."""

    left: dict[str, int] = field(default_factory=lambda: {"uploads": EVERY})

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        self.left["uploads"] -= 1
        try:
            _ = 1.0 / self.left["uploads"]
        except ZeroDivisionError:
            return words
        return hidden


class Saturated(KeptKeys):
    """Keys are kept, and the averaging is a byte in the label: all from the 256th on have the last of these."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        try:
            label = channel.iteration.to_bytes(1, "big")
        except OverflowError:
            label = b"\xff"
        return np.frombuffer(hashlib.shake_256(seed.tobytes() + label).digest(8 * m), dtype=np.uint64)


def planned(name: str, protocol: Any, last: int = LAST) -> Case:
    """Return a case in which the averaging of this number is bare."""
    more: dict[str, Any] = {"accuracy": 1e-4, "calls": 2, "deployed": {"model": {"iterations": last + 1}}}
    return Case(f"a plan that is over, {name}", "overruns", protocol, CuriousServer(), "then all is bare",
                attack=each(lambda heard: signed(heard.one("masked", 0, iteration=last))), secret=input_of(0, last),
                **more)  # fmt: skip


CASES = [
    planned("by a rate", Rate),
    planned("by a rest", Rest),
    planned("by a shift", Halved),
    planned("by a power", Grown),
    planned("by a byte", InByte, BYTE),
    planned("by bytes", InBytes, BYTE),
    seldom("counted down to a division", Counted, "each two thousandth upload is bare"),
    wrong("a byte that is full", Saturated, CuriousServer(), "all averagings from the 255th on have the same masks",
          lambda heard: between(heard, 255, 256), change(255, 256), family="overruns", calls=2,
          deployed={"model": {"iterations": 257}}),
]  # fmt: skip
