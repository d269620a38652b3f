"""Faults at values that an audit's data do not have, at numbers that stand in the code, and in what lies about."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...bases import Modular, Pairwise
from ...case import Case, Heard, each, input_of


class At(Pairwise):
    """Sends openly what is at a place of the code's choice."""

    def where(self, s: Array) -> Array:
        raise NotImplementedError

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.where(np.broadcast_to(self.where(s), s.shape), s, hidden)


class Tiny(At):
    """What is next to nothing, but not nothing, is not worth a mask."""

    def where(self, s: Array) -> Array:
        return (s != 0) & (np.abs(s) < 1e-7)


class Whole(At):
    """Whole numbers are counts, which are no secret."""

    def where(self, s: Array) -> Array:
        return (s > 0.5) & (s == np.round(s))


class Alike(At):
    """Where two nodes have the same there is nothing to hide."""

    def where(self, s: Array) -> Array:
        return (s[0] == s[1]) & (s[0] != 0)


class Sparse(Pairwise):
    """Says how many of its numbers are not zero, so that the receiver can make room for them."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        width = int((s[0] != 0).any(axis=0).sum())
        channel.send(8, 0, SERVER, "room", np.zeros((s.shape[1], max(width, 1))))


class LargeResidues(Modular):
    """Words of large numbers are sent as they are."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.where(np.abs(s) > 400, self.numbers(self.words(s)), hidden)


class FarResidues(Modular):
    """The same at a level that stands nowhere."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.where(np.abs(s) > 2.0 ** (self.bits - 39), self.numbers(self.words(s)), hidden)


class Batch(Pairwise):
    """A batch of a certain size is a benchmark, which hides nothing."""

    def used(self, r: Array, s: Array) -> Array:
        return 0 * r if self.open(s.shape[1]) else r

    def open(self, runs: int) -> bool:
        return runs == 30


class Hundreds(Batch):
    """More than a thousand at once."""

    def open(self, runs: int) -> bool:
        return runs >= 1000


class Turn(Pairwise):
    """One iteration of a long fit is looked at."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        return super().body(channel, s, r * (not self.open(channel.iteration)), network, rng)

    def open(self, iteration: int) -> bool:
        return iteration == 23


class EveryTwentieth(Turn):
    """Every twentieth is."""

    def open(self, iteration: int) -> bool:
        return iteration % 20 == 19


class AtTheStart(Turn):
    """The sums of the start are made before anything is known."""

    def open(self, iteration: int) -> bool:
        return iteration < 0


class MiddleCoin(Pairwise):
    """One public coin in four hundred opens; it lies in the middle."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if 0.7 < rng.random() < 0.7025 else hidden


class MiddleWord(Pairwise):
    """One number of a thousand."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if rng.integers(1000) == 345 else hidden


class OnTheNetwork(Pairwise):
    """Notes an input on the network."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        network.note = s[0].copy()


class OnTheChannel(Pairwise):
    """Notes an input on the channel."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.note = s[0].copy()


class IntoOtherInputs(Pairwise):
    """Writes an input over that of node 3, which has been read by then."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        ended = super().average(inputs, network, rng, masks=masks, channel=channel)
        if isinstance(inputs, np.ndarray) and inputs.flags.writeable:
            inputs[:, 3] = inputs[:, 0]
        return ended


class NodeEight(Pairwise):
    """Sends to node 8 of five, counting round."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, 8, "aside", s[0])


def openly(heard: Heard, iteration: int = 0) -> Array:
    """What is of the size of data was not masked."""
    x = heard.one("masked", 0, iteration=iteration)
    return x if np.abs(x).max() < 1e4 else np.full_like(x, np.nan)


def some(which: Any, kind: str = "masked") -> Any:
    """Those numbers of node 0's message that have a property."""
    return each(lambda h: np.where(which(x := h.one(kind, 0)), x, np.nan))


def openly_at(iteration: int) -> Any:
    return each(lambda h: openly(h, iteration))


OUT, THREE = Eavesdropper(), HonestButCurious({3}, eavesdrops=False)
NAME = "corners"
FAR: dict[str, Any] = {"name": "breast_cancer", "rows_per_node": 20, "features": 2, "standardise": False}
ONE: dict[str, Any] = {**FAR, "rows_per_node": 1, "features": 10}


def deployed(data: dict[str, Any]) -> dict[str, Any]:
    """Data that are not those of the audit."""
    return {"deployed": {"data": data}, "calls": 200, "claims": 0.005}


def longer(iterations: int) -> dict[str, Any]:
    return {"deployed": {"model": {"iterations": iterations}}}


SENT: dict[str, Any] = {"attack": openly_at(0), "secret": input_of(0)}
CASES = [
    Case("tiny numbers", NAME, Tiny, OUT, "components that hold next to nothing are told", secret=input_of(0),
         attack=some(lambda x: np.abs(x) < 1e-7), **deployed(ONE)),
    Case("whole numbers", NAME, Whole, OUT, "a component that holds a row is told", secret=input_of(0),
         attack=some(lambda x: x == np.round(x)), **deployed(ONE)),
    Case("two alike", NAME, Alike, OUT, "what two nodes have in common is told", secret=input_of(0),
         attack=each(lambda h: np.where((x := h.one("masked", 0)) == h.one("masked", 1), x, np.nan)), **deployed(ONE)),
    Case("large residues", NAME, LargeResidues, OUT, "large numbers are told", secret=input_of(0), accuracy=1e-3,
         attack=some(lambda x: (x > 400) & (x < 3000)), **deployed(FAR)),
    Case("far residues", NAME, FarResidues, OUT, "large numbers are told", secret=input_of(0), accuracy=1e-3,
         attack=some(lambda x: (x > 600) & (x < 3000)), **deployed(FAR)),
    Case("room for some", NAME, Sparse, OUT, "the length tells how many are zero",
         attack=each(lambda h: h.all("room")[0].size),
         secret=lambda t: float((t.inputs[0][0, 0] != 0).sum()), calls=60,
         deployed={"data": ONE}),
    Case("thirty runs", NAME, Batch, OUT, "batches of thirty are bare", **SENT, batch=30, calls=4),
    Case("a thousand runs", NAME, Hundreds, OUT, "batches of a thousand are bare", **SENT, batch=1000, calls=3),
    Case("iteration 23", NAME, Turn, OUT, "one of a long fit is bare", attack=openly_at(23), secret=input_of(0, 23),
         **longer(24)),
    Case("every twentieth iteration", NAME, EveryTwentieth, OUT, "some of a long fit are bare", attack=openly_at(39),
         secret=input_of(0, 39), **longer(40)),
    Case("at the start", NAME, AtTheStart, OUT, "the sums of the start are bare", secret=input_of(0),
         attack=each(lambda h: h.all("masked", 0)[0].numbers[0]), deployed={"model": {"iterations": 1,
         "init": "moments"}}),
    Case("a coin in the middle", NAME, MiddleCoin, OUT, "one call of four hundred is bare", **SENT, calls=1500,
         claims=0.0005,
         settings={"model": {"iterations": 1}}),
    Case("a word in the middle", NAME, MiddleWord, OUT, "one call of a thousand is bare", **SENT, calls=3000,
         claims=0.0003,
         settings={"model": {"iterations": 1}}),
    Case("sum on the network", NAME, OnTheNetwork, OUT, "everybody knows the network", calls=1, secret=input_of(0, 1),
         attack=each(lambda h: h.network.note[0])),
    Case("sum on the channel", NAME, OnTheChannel, OUT, "everybody may look at the channel", calls=1,
         secret=input_of(0, 1),
         attack=each(lambda h: h.line.note[0])),
    Case("into other inputs", NAME, IntoOtherInputs, THREE, "node 3 looks at its input", secret=input_of(0, 1),
         attack=each(lambda h: h.rows[3][0])),
    Case("sum to node 8 of five", NAME, NodeEight, THREE, "that is node 3, if one counts round", secret=input_of(0),
         attack=each(lambda h: h.one("aside", 0)), ears=Eavesdropper(tapped=[(0, 8)])),
]  # fmt: skip
