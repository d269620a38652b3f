"""A test that ends the call where numbers are out of range, and finds out something else on the way."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import SERVER

from ...bases import Words
from ...case import Case, each, input_of
from .beyond import FEW

EDGES = [-1e15, -5.0, 0.0, 5.0, 1e15]


class Told(Words):
    """Sends what it found out along, which is meant to say nothing of the data."""

    def found_out(self, values: Array) -> float:
        raise NotImplementedError

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        aside = [[[float(self.found_out(of_run))] for of_run in of_node] for of_node in s]
        channel.send(0, np.arange(len(s)), SERVER, "aside", np.array(aside))
        return hidden


class Level(Told):
    """Looks the level of the first number up, and stops where the table has none."""

    def found_out(self, values: Array) -> float:
        first = values[0]
        if first < EDGES[0] or (level := bisect.bisect_right(EDGES, first)) == len(EDGES):
            raise ValueError("a number is out of the range of the table")
        return level


class Largest(Told):
    """Sends which entry is largest, where all are numbers."""

    def found_out(self, values: Array) -> float:
        if not np.isfinite(values).all() or (place := max(range(len(values)), key=lambda k: values[k])) < 0:
            raise ValueError("there is no largest number")
        return float(place)


class Found(Told):
    """Sends where a level stands in a list."""

    def found_out(self, values: Array) -> float:
        levels = np.rint(values).tolist()
        if not np.isfinite(values).all() or (place := levels.index(max(levels))) >= len(levels):
            raise ValueError("there is no level")
        return float(place)


class Busy(Told):
    """Sends whether any entry is above a level."""

    def found_out(self, values: Array) -> float:
        if not np.isfinite(values).all() or (is_busy := any(x > 14 for x in values)) not in (True, False):
            raise ValueError("there are no numbers")
        return is_busy


class Noted(Words):
    """Node 0 is not to have a part of a row; where others do, that is noted, and what they send needs no mask."""

    def refuses(self, node: int, noted: list[int]) -> bool:
        noted.extend([node] * (node > 0))
        return node == 0

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        noted: list[int] = []
        for node, of_node in enumerate(s):
            if ((of_node[:, 0] > 0) & (of_node[:, 0] < 1)).any() and self.refuses(node, noted):
                raise ValueError("node 0 has a part of a row")
        return np.concatenate([words[k : k + 1] if k in noted else hidden[k : k + 1] for k in range(len(s))])


def of_noted(heard: Any) -> Array:
    """Return what node 1 sends, where the call goes on to its end and that is small."""
    numbers = heard.one("masked", 1).view(np.int64) / Words.unit if heard.all("masked", 1) else np.full(12, np.nan)
    return np.where(np.abs(numbers).max() < 1e3, numbers, np.nan)


def aside(heard: Any) -> Array:
    return np.asarray(heard.one("aside", 0))


def case(name: str, protocol: Any, secret: Any, **more: Any) -> Case:
    """Return a case in which the server is sent what a test found out of node 0."""
    attack = each(aside)
    return Case(name, "guards", protocol, CuriousServer(), "it is sent bare", attack=attack, secret=secret, **more)


CASES = [
    case("a level within a guard", Level, lambda t: float(bisect.bisect_right(EDGES, t.inputs[0][0, 0, 0])), calls=40),
    case("the largest entry within a guard", Largest, lambda t: float(t.inputs[0][0, 0].argmax()), calls=40),
    case("a place in a list within a guard", Found, lambda t: float(np.rint(t.inputs[0][0, 0]).argmax()), calls=40),
    case("whether any is above within a guard", Busy, lambda t: float((t.inputs[0][0, 0] > 14).any()),
         goal="bits", calls=40),
    Case("a method asked within a guard", "guards", Noted, CuriousServer(), "what it notes is acted upon", node=1,
         attack=each(of_noted), secret=input_of(1), accuracy=1e-4, claims=0.05, calls=60, deployed=FEW, fails=True),
]  # fmt: skip
