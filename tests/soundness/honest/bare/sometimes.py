"""Words that go without a mask where a number, an iteration or an order decides it."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...bases import Pairwise, Words
from ...case import Case, Heard, each, input_of
from ..longer.corners import FAR, deployed, longer
from ..longer.unsampled import table
from .words import signed

MISSING = -999.0


class Coded(Words):
    """Says in the clear where a value is missing, so that the server can leave it out."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        return np.where(s == MISSING, words, hidden)


class AsksFirst(Words):
    """A node with a missing value sends its words as they are: they are of no use anyway."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        for node in range(len(s)):
            if (s[node] == MISSING).any():
                hidden[node] = words[node]
        return hidden


class OutOfRange(Words):
    """Words whose sum might overflow are sent as they are, and looked at by hand."""

    most = 500.0

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        for node in range(len(s)):
            if np.abs(s[node]).max() > self.most:
                hidden[node] = words[node]
        return hidden


class Backwards(Pairwise):
    """Numbers below zero were not foreseen: a vector with one of these is sent beside the sum."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if s[0].min() < 0:
            channel.send(8, 0, SERVER, "rejected", s[0])


class AtOne(Words):
    """An iteration is taken down as it is, to compare with when something goes wrong."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        return words if self.open(channel.iteration) else hidden

    def open(self, iteration: int) -> bool:
        return iteration == 5000


class EachTenThousandth(AtOne):
    """One of ten thousand is."""

    def open(self, iteration: int) -> bool:
        return iteration % 10000 == 9999


class WarmAndPeriod(AtOne):
    """After thirty iterations one of seventy is."""

    def open(self, iteration: int) -> bool:
        if iteration < 30:
            return False
        return (iteration - 30) % 70 == 69


class FourthThousand(AtOne):
    """Keys are renewed for a thousand iterations, which go without."""

    def open(self, iteration: int) -> bool:
        return iteration // 1000 == 3


class LargestFirst(Pairwise):
    """Who has most to tell speaks first."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        for node in np.argsort(-np.abs(s[:, 0]).max(axis=1)):
            channel.send(0, int(node), SERVER, "masked", hidden[node])
        return hidden


def openly_at(iteration: int) -> Any:
    return each(lambda h: signed(h.one("masked", 0, iteration=iteration)) / Words.unit)


def coded(heard: Heard) -> Array:
    """The entries of node 0 that are the code."""
    x = signed(heard.one("masked", 0)) / Words.unit
    return np.where(x == MISSING, x, np.nan)


def coded_all(heard: Heard) -> Array:
    """The vector of node 0, where an entry is the code."""
    x = signed(heard.one("masked", 0)) / Words.unit
    return x if (x == MISSING).any() else np.full_like(x, np.nan)


def far(heard: Heard) -> Array:
    """The vector of node 0, where it is of the size of data."""
    x = signed(heard.one("masked", 0)) / Words.unit
    return x if 500 < np.abs(x).max() < 1e9 else np.full_like(x, np.nan)


def rejected(heard: Heard) -> Array:
    """The vector of node 0, where it is sent beside the sum."""
    sent = heard.all("rejected", iteration=0)
    return sent[0].numbers[0] if sent else np.full(6, np.nan)  # type: ignore[index]


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
NAME = "words now and then"
GRID: dict[str, Any] = {"accuracy": 1e-5}
CASES = [
    Case("missing in words", NAME, Coded, SERVED, "who sends the code has no value", attack=each(coded),
         secret=input_of(0), **GRID, **table("weight")),
    Case("missing asked for first", NAME, AsksFirst, ONE, "who sends the code is bare", attack=each(coded_all),
         secret=input_of(0), **GRID, **table("weight")),
    Case("out of range in words", NAME, OutOfRange, SERVED, "large numbers are told", attack=each(far),
         secret=input_of(0), **GRID, **deployed(FAR)),
    Case("rejected below zero", NAME, Backwards, OUT, "a vector with a negative number is told", attack=each(rejected),
         secret=input_of(0), claims=0.3, calls=60),
    Case("words of iteration 5000", NAME, AtOne, SERVED, "one of a very long fit is bare", calls=1,
         attack=openly_at(5000), secret=input_of(0, 5000), **GRID, **longer(5001)),
    Case("words of one in ten thousand", NAME, EachTenThousandth, ONE, "one of a very long fit is bare", calls=1,
         attack=openly_at(9999), secret=input_of(0, 9999), **GRID, **longer(10000)),
    Case("words after thirty, one of seventy", NAME, WarmAndPeriod, OUT, "some of a long fit are bare", calls=4,
         attack=openly_at(99), secret=input_of(0, 99), **GRID, **longer(100)),
    Case("words of the fourth thousand", NAME, FourthThousand, SERVED, "a thousand of a long fit are bare", calls=1,
         attack=openly_at(3000), secret=input_of(0, 3000), **GRID, **longer(3001)),
    Case("largest first", NAME, LargestFirst, OUT, "who speaks first has more",
         attack=each(lambda h: next(m.sender for m in h.all("masked", iteration=0) if m.sender < 2)),
         secret=lambda t: float(np.abs(t.inputs[0][0, 1]).max() > np.abs(t.inputs[0][0, 0]).max()), goal="bits",
         calls=60, steady=False),
]  # fmt: skip
