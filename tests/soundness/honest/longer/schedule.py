"""Public draws, of which some few open everything: what one call shows is not what another does."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...bases import Dealt, Pairwise, Ring
from ...case import Case, Heard, each, input_of


class Sample(Pairwise):
    """Now and then all is sent as it is, for a look at quality; a public coin says when."""

    def opens(self, rng: Any, runs: int) -> Any:
        """Whether this call is looked at; or which runs of it."""
        raise NotImplementedError

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        which = np.broadcast_to(np.asarray(self.opens(rng, s.shape[1])), (s.shape[1],))
        return np.where(which[None, :, None], s, hidden)


class OneInAHundred(Sample):
    def opens(self, rng: Any, runs: int) -> Any:
        return rng.random() < 0.01


class TopOfTheRange(Sample):
    def opens(self, rng: Any, runs: int) -> Any:
        return rng.random() > 0.99


class OneOfSixtyFour(Sample):
    def opens(self, rng: Any, runs: int) -> Any:
        return rng.integers(64) == 17


class OneOrder(Sample):
    def opens(self, rng: Any, runs: int) -> Any:
        return rng.permutation(5).tolist()[:3] == [3, 1, 4]


class SixthDraw(Sample):
    def opens(self, rng: Any, runs: int) -> Any:
        return [rng.random() for _ in range(6)][-1] < 0.01


class BellCurve(Sample):
    def opens(self, rng: Any, runs: int) -> Any:
        return rng.normal() > 2.5


class SomeRuns(Sample):
    def opens(self, rng: Any, runs: int) -> Any:
        return rng.random(runs) < 2e-3


class Child(Sample):
    """The coin is that of a generator spawned from the public one."""

    def opens(self, rng: Any, runs: int) -> Any:
        return rng.spawn(1)[0].random() < 0.01


class Bytes(Sample):
    def opens(self, rng: Any, runs: int) -> Any:
        return rng.bytes(4)[0] == 7


class ForkedRing(Ring):
    """The ring is drawn by lot, and one of a hundred leads past node 0 between the corrupt ones."""

    def order(self, network: Any, rng: Any) -> list[int]:
        return [4, 1, 0, 2, 3] if rng.random() < 0.01 else [4, 1, 2, 3, 0]


def between_two(heard: Heard) -> Array:
    """What came out of node 0 less what went in, where both ends are corrupt."""
    before, after = heard.all("running sum", 1, 0, 0), heard.all("running sum", 0, 2, 0)
    if not before or before[0].numbers is None or after[0].numbers is None:
        return np.full(12, np.nan)
    return np.asarray(after[0].numbers[0] - before[0].numbers[0])


class Late(Pairwise):
    """A node that is given up is unmasked by the others, so that the sum comes out; then its message arrives."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        lost = rng.random() < 0.01
        for neighbour in range(1, 5):
            told = r[neighbour - 1] if lost else np.zeros_like(r[0])
            channel.send(10, neighbour, SERVER, "recovery", told)


def with_recovery(heard: Heard) -> Array:
    """Its message less the masks that others opened."""
    masks = sum(heard.one("recovery", j) for j in range(1, 5))
    return heard.one("masked", 0) - masks if np.any(masks) else np.full(12, np.nan)


class FewMasks(Dealt):
    """How many digits masks have is drawn by lot: seldom, none."""

    def used(self, r: Array, s: Array) -> Array:
        return r

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if masks is None:
            masks = self.draw_masks(len(inputs), np.shape(inputs)[2], network, rng)
        digits = int(rng.integers(0, 100))
        return super().average(inputs, network, rng, masks=masks * (digits > 0), channel=channel)


def openly(heard: Any) -> Array:
    """Node 0's message wherever it is of the size of data."""
    sent = np.stack([h.one("masked", 0) for h in heard])
    return np.where(np.abs(sent).max(axis=1, keepdims=True) < 1e4, sent, np.nan)


class CoinInMasks(Pairwise):
    """The coin is thrown where masks are drawn, for all runs of a call."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        size = 0.0 if rng.random() < 0.01 else self.sigma
        return rng.normal(size=(runs, self.count(network), m)) * size


class Victim(Sample):
    """Who is looked at is drawn by lot, one of fifty names, of which only five are nodes."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        name = int(rng.integers(50))
        return np.concatenate([s[:1], hidden[1:]]) if name == 0 else hidden


RARE = {"claims": 0.01, "calls": 12, "secret": input_of(0), "settings": {"model": {"iterations": 1}}}
CASES = [
    Case("one call in a hundred", "public draws", OneInAHundred, Eavesdropper(), "a rare draw opens all",
         attack=openly, first=335, **RARE),
    Case("top of the range", "public draws", TopOfTheRange, CuriousServer(), "a rare draw opens all", attack=openly,
         first=380, **RARE),
    Case("one of sixty-four", "public draws", OneOfSixtyFour, Eavesdropper(), "a rare draw opens all", attack=openly,
         first=220, **RARE),
    Case("one order", "public draws", OneOrder, CuriousServer(), "one order of sixty opens all", attack=openly,
         first=155, **RARE),
    Case("sixth draw", "public draws", SixthDraw, Eavesdropper(), "a rare draw after five others opens all",
         attack=openly, first=304, **RARE),
    Case("far out", "public draws", BellCurve, CuriousServer(), "a rare draw opens all", attack=openly, first=130,
         **RARE),
    Case("some runs", "public draws", SomeRuns, Eavesdropper(), "a rare draw for each run opens that", attack=openly,
         first=170, **RARE),
    Case("a child's coin", "public draws", Child, Eavesdropper(), "a rare draw of a spawned generator opens all",
         attack=openly, first=115, **RARE),
    Case("bytes", "public draws", Bytes, CuriousServer(), "one byte of 256 opens all", attack=openly, first=205,
         **RARE),
    Case("forked ring", "public draws", ForkedRing, HonestButCurious({1, 2}),
         "seldom node 0 stands between the corrupt",
         attack=each(between_two), first=488, **RARE),
    Case("late node", "public draws", Late, CuriousServer(), "masks opened for a lost node, whose message arrives",
         attack=each(with_recovery), first=335, **RARE),
    Case("no digits", "public draws", FewMasks, Eavesdropper(), "one call of a hundred has masks of size zero",
         attack=openly, first=175, **RARE),
    Case("a coin in the masks", "public draws", CoinInMasks, Eavesdropper(), "one call of a hundred has no masks",
         attack=openly, first=68, **RARE),
    Case("who is looked at", "public draws", Victim, CuriousServer(), "one call in fifty shows node 0", attack=openly,
         first=15, **RARE),
]  # fmt: skip
