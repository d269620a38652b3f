"""Front ends that differ from node to node: the sum is then mostly one node's."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import SERVER

from ..case import Case, Heard, each, input_of
from ..right.front_ends import Words


class BoundsOfTheirOwn(Words):
    """Every node clips at a bound of its own: all but the first clip nearly everything away."""

    BOUNDS = np.array([2.0**20, *4 * [2.0**-4]])[:, None, None]

    def encode(self, s: Array) -> Array:
        words: Array = np.rint(np.clip(s, -self.BOUNDS, self.BOUNDS) * self.unit).astype(np.int64).astype(self.word)
        return words


class UnitsOfTheirOwn(Words):
    """Every node counts in a unit of its own: the first in grams, the others in kilograms."""

    UNITS = np.array([1000.0, *4 * [1.0]])[:, None, None]

    def encode(self, s: Array) -> Array:
        return super().encode(np.clip(s, -self.bound, self.bound) * self.UNITS / 1000.0)


class OthersWait(Words):
    """In the trial phase only the first node sends numbers; the others send noughts, to have the service tested."""

    def encode(self, s: Array) -> Array:
        words: Array = super().encode(s)
        return np.concatenate([words[:1], 0 * words[1:]])


def total(heard: Heard) -> Array:
    """The mean, times the number of nodes."""
    return 5 * heard.one("average", SERVER, 0)


def _case(name: str, made: Any, accuracy: Any) -> Case:
    why = "the sum is mostly that of the first node"
    return Case(name, "front ends", made, CuriousServer(), why, attack=each(total), secret=input_of(0), **accuracy)


CASES = [
    _case("clipped at bounds of their own", BoundsOfTheirOwn, {"goal": "share", "calls": 80}),
    _case("counted in units of their own", UnitsOfTheirOwn, {"goal": "share", "calls": 80}),
    _case("the others send noughts", OthersWait, {"goal": "share", "calls": 80}),
]
