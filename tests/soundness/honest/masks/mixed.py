"""Linear images of independent draws that leave out what they should hide, or are not the same image in every call."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, Heard, each, input_of
from ...right.mixed import LastOfAll, ModularZeroSum, Table, UniformLessMean, ZeroSum


def at_node_0(network: Any) -> Array:
    """The direction in which masks of all lines add up at node 0."""
    first, second = network.edges.T
    towards = (first == 0) * 1.0 - (second == 0)
    return np.asarray(towards / np.linalg.norm(towards))


class LeavesOut(Pairwise):
    """A projection leaves out what node 0 adds."""

    left = 0.0

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks, towards = super().draw_masks(runs, m, network, rng), at_node_0(network)
        return masks - (1 - self.left) * np.einsum("i,j,rjm->rim", towards, towards, masks)


class LeavesLittle(LeavesOut):
    """Masks of a hundred, of which two thousandths are left where it matters."""

    left = 2e-3

    def __init__(self) -> None:
        super().__init__(sigma=1e2)


class LeavesNothingByFar(LeavesOut):
    """Large masks, of which a billionth is left."""

    left = 1e-9


class TwoCancel(LastOfAll):
    """Masks of the first two nodes cancel already."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = rng.normal(scale=self.sigma, size=(runs, network.n - 1, m))
        masks[:, 1] = -masks[:, 0]
        return np.concatenate([masks, -masks.sum(axis=1, keepdims=True)], axis=1)


class OverEntries(ZeroSum):
    """They add up to zero over the entries of a vector too."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return masks - masks.mean(axis=2, keepdims=True)


class OverRuns(ZeroSum):
    """And over the runs of a call, where it has several."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return masks - masks.mean(axis=0, keepdims=True) if runs > 1 else masks


class LongCalls(ZeroSum):
    """Calls of more than a hundred runs have one draw for all nodes, in shares that are public."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        if runs <= 100:
            return super().draw_masks(runs, m, network, rng)
        return rng.normal(scale=self.sigma, size=(runs, 1, m)) * np.array([1.0, -1.0, 2.0, -1.0, -1.0])[:, None]


class SmallByCoin(ZeroSum):
    """One call in twenty has small masks."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return masks * 1e-9 if rng.random() < 0.05 else masks


class UniformAndSmall(UniformLessMean):
    """Uniform draws that are no larger than what they hide."""

    def __init__(self) -> None:
        super().__init__(sigma=1e-3)


class RowAddsUp(Table):
    """What node 0 adds to its input is brought to zero, lest its number grow."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        n = network.n
        table = super().draw_masks(runs, m, network, rng).reshape(runs, n, n, m)
        table[:, 0, 1:] -= table[:, 0, 1:].mean(axis=1, keepdims=True)
        table[:, 1:, 0] = -table[:, 0, 1:]
        return table.reshape(runs, n * n, m)


class TellsWhatItDrew(ZeroSum):
    """The mean that was taken off is known to all, and so is the first draw."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        self.__dict__["_first"] = (masks := super().draw_masks(runs, m, network, rng))[:, 0]
        return masks

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        first = self.__dict__.get("_first", s[0])
        channel.send(8, 0, SERVER, "first", first if first.shape == s[0].shape else np.zeros_like(s[0]))


class ResiduesTwice(ModularZeroSum):
    """The first two residues are one."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        masks[:, 4] = np.mod(masks[:, 4] + masks[:, 1] - masks[:, 0], self.modulus)
        masks[:, 1] = masks[:, 0]
        return masks


class CoarseResidues(ModularZeroSum):
    """Residues of which ten digits are zero."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        words = rng.integers(0, self.words_in_all, size=(runs, network.n - 1, m)) & ~np.int64(1023)
        return np.concatenate([words, np.mod(-words.sum(axis=1, keepdims=True), self.words_in_all)], axis=1) * self.grid


class EvenResidues(ModularZeroSum):
    """Each mask twice; what is told in the end is a mean, which is no whole number."""

    def masked(self, fixed: Array, r: Array) -> Array:
        return fixed + 2 * r


def lowest(values: Array) -> Array:
    """The lowest digit of a word."""
    return np.asarray(np.mod(np.round(values * 2.0**20), 2))


def sent(heard: Heard, node: int) -> Array:
    """What a node sent."""
    return heard.one("masked", node)


def centred(values: Array) -> Array:
    """The residue nearest to zero, modulo 2^28."""
    return np.asarray(values - 2.0**28 * np.round(values / 2.0**28))


def when_small(heard: Heard) -> Array:
    """What is small was not masked."""
    x = sent(heard, 0)
    return x if np.abs(x).max() < 1e3 else np.full(12, np.nan)


NAME, OUT = "mixed masks", Eavesdropper()
FIRST = {"attack": each(lambda h: sent(h, 0)), "secret": input_of(0)}
CASES = [
    Case("a direction left out", NAME, LeavesOut, OUT, "masks cancel where node 0 adds them up", **FIRST),
    Case("a direction all but left out", NAME, LeavesLittle, CuriousServer(), "what is left is a tenth of the inputs",
         **FIRST, goal="share", calls=80),
    Case("a billionth left", NAME, LeavesNothingByFar, OUT, "what is left is a thousandth of the inputs", **FIRST,
         accuracy=1e-1),
    Case("two cancel", NAME, TwoCancel, OUT, "two messages add up to two inputs",
         attack=each(lambda h: sent(h, 0) + sent(h, 1)), secret=lambda t: t.inputs[0][0, :2].sum(axis=0)),
    Case("zero over entries", NAME, OverEntries, CuriousServer(), "the entries of a message add up to the input's",
         attack=each(lambda h: sent(h, 0).sum()), secret=lambda t: t.inputs[0][0, 0].sum()),
    Case("zero over runs", NAME, OverRuns, OUT, "messages of all runs add up to the inputs",
         attack=lambda heard: np.stack([h.many("masked", 0).sum(axis=0) for h in heard]),
         secret=lambda t: t.inputs[0][:, 0].sum(axis=0), batch=4),
    Case("long calls", NAME, LongCalls, OUT, "there the first two masks cancel",
         attack=lambda heard: np.stack([h.many("masked", 0)[0] + h.many("masked", 1)[0] for h in heard]),
         secret=lambda t: t.inputs[0][0, :2].sum(axis=0), calls=4, batch=101),
    Case("zero sum, small by coin", NAME, SmallByCoin, OUT, "small masks do not hide", attack=each(when_small),
         secret=input_of(0), calls=200, claims=0.01, accuracy=1e-2),
    Case("uniform less mean, small", NAME, UniformAndSmall, CuriousServer(), "small masks do not hide", **FIRST,
         accuracy=1e-1),
    Case("a row adds up to zero", NAME, RowAddsUp, OUT, "that of node 0", **FIRST),
    Case("tells what it drew", NAME, TellsWhatItDrew, CuriousServer(), "a mask that is told hides nothing",
         attack=each(lambda h: sent(h, 0) - h.one("first", 0)), secret=input_of(0)),
    Case("a residue twice", NAME, lambda: ResiduesTwice(), CuriousServer(), "two messages tell a difference",
         attack=each(lambda h: centred(sent(h, 0) - sent(h, 1))),
         secret=lambda t: t.inputs[0][0, 0] - t.inputs[0][0, 1], accuracy=1e-4),
    Case("even residues, a mean", NAME, lambda: EvenResidues(), CuriousServer(), "the lowest digit is bare",
         attack=each(lambda h: lowest(sent(h, 0))), secret=lambda t: lowest(t.inputs[0][0, 0]), goal="bits",
         calls=20),
    Case("coarse residues", NAME, lambda: CoarseResidues(), OUT, "ten digits are bare",
         attack=each(lambda h: np.mod(np.round(sent(h, 0) * 2.0**20), 1024)),
         secret=lambda t: np.mod(np.round(t.inputs[0][0, 0] * 2.0**20), 1024), accuracy=1e-2),
]  # fmt: skip
