"""Faults in a place that an audit may not look at: an entry, a run, a size of batch, a way of calling."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Dealt, Modular, Pairwise, Ring
from ..case import Case, Heard, each, input_of


class ThirdEntry(Pairwise):
    """Forgets one entry."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        hidden[..., 3] = s[..., 3]
        return hidden


class SharedEntry(Dealt):
    """Takes one entry's mask for two, when it adds them, not when it draws them."""

    def used(self, r: Array, s: Array) -> Array:
        r[..., 5] = r[..., 4]
        return r


class ManyEntries(Pairwise):
    """Vectors with more than seven entries go over a part that masks only seven."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.concatenate([hidden[..., :7], s[..., 7:]], axis=2)


class SmallVectors(Pairwise):
    """Short vectors are masked with one mask for all; long ones as they should be. The start sums short ones."""

    def used(self, r: Array, s: Array) -> Array:
        return r if s.shape[2] > 8 else 0 * r


class Product(Pairwise):
    """Sends the product of the entries beside it along: zero wherever a single entry is not."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "check", s[0] * np.roll(s[0], 1, axis=1))


class Checksum(Pairwise):
    """Sends a checksum over entries and nodes that mixes what stands in different places."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        weights = 2.0 ** -np.arange(s.shape[2])
        total = (s[0] * weights).sum(axis=1, keepdims=True)
        channel.send(8, 0, SERVER, "check", np.repeat(total, s.shape[2], axis=1))


class FirstRun(Pairwise):
    """Prints the first run of a batch for the log."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        hidden[:, 0] = s[:, 0]
        return hidden


class LastRun(Pairwise):
    """The same with the last."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        hidden[:, -1] = s[:, -1]
        return hidden


class SingleRun(Pairwise):
    """Masks are broadcast over runs wrongly where there is one only."""

    def used(self, r: Array, s: Array) -> Array:
        return 0 * r if s.shape[1] == 1 else r


class SmallBatch(Dealt):
    """Vectorised from thirty runs on; below that a loop that does not add the mask."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return hidden if hidden.shape[1] >= 30 else s + r.mean() * 0


class OddBatch(Pairwise):
    """Masks come in pairs of runs; the last of an odd number gets none."""

    def used(self, r: Array, s: Array) -> Array:
        if r.shape[1] % 2 and r.shape[1] < 31:
            r[:, -1] = 0
        return r


class NoneGivenNoneUsed(Pairwise):
    """Without masks given it takes zeros: the default of a test that stayed."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.zeros((runs, self.count(network), m))


class NoneGivenSmall(Ring):
    """Draws its own masks with the wrong scale."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rng.normal(scale=1e-6, size=(runs, 1, m))


class NoneGivenConstant(Dealt):
    """Draws its own masks from a generator that begins anew in every call."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.draw_masks(runs, m, network, np.random.default_rng(2))


class NoneGivenOneForAll(Pairwise):
    """Draws one mask and takes it on every edge."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.repeat(rng.normal(scale=self.sigma, size=(runs, 1, m)), self.count(network), axis=1)


class NoneGivenSeedTold(Dealt):
    """Draws its own masks from a seed, and numbers its messages by it."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if masks is None:
            seed = int(rng.integers(2**31))
            masks = self.draw_masks(len(inputs), np.shape(inputs)[2], network, np.random.default_rng(seed))
            channel.send(seed, 0, SERVER, "begin", np.zeros((len(inputs), 1)))
        else:
            channel.send(int(rng.integers(2**31)), 0, SERVER, "begin", np.zeros((len(masks), 1)))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


def by_the_seed(heard: Heard) -> Array:
    """The masks drawn again."""
    seed = heard.all("begin", 0, iteration=0)[0].round
    return heard.one("masked", 0) - np.random.default_rng(seed).normal(scale=1e6, size=(1, 5, 12))[0, 0]


class NoneGivenHalf(Modular):
    """Draws its own words of thirty bits, where forty-eight are due."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rng.integers(0, 2**8, size=(runs, self.count(network), m)) * self.grid


class NoneGivenShrunk(Pairwise):
    """Draws its own masks by the same method, and takes them in other units."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return 1e-12 * self.draw_masks(runs, m, network, rng)


class NoneGivenMultiples(Modular):
    """Draws its own words by the same method, and moves them up by half their bits."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.numbers(self.words(self.draw_masks(runs, m, network, rng)) * 2**28)


def lower_half(heard: Heard) -> Array:
    """What the masks leave as it is: the last 28 bits of the word, with their sign."""
    words = np.round(heard.one("masked", 0) * 2.0**20) % 2**28
    return np.where(words < 2**27, words, words - 2**28) / 2.0**20


class NoneGivenMore(Pairwise):
    """Where it draws for itself, it also sends a backup of what it drew."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().own_masks(runs, m, network, rng)
        self.__dict__["_drawn"] = masks
        return masks

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        drawn = self.__dict__.pop("_drawn", None)
        if drawn is not None:
            channel.send(8, 0, SERVER, "backup", drawn[:, :4].sum(axis=1))


class SecondIteration(Pairwise):
    """Masks in the first iteration only; what follows is thought to be public."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if channel.iteration:
            masks = np.zeros((len(inputs), 10, np.shape(inputs)[2]))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


def last_of(kind: str, iteration: int = 0) -> Any:
    """Node 0's vector of the last run of every call."""
    return lambda heard: np.stack([h.many(kind, 0, iteration=iteration)[-1] for h in heard])


class SmallDraw(Pairwise):
    """Draws small masks where few are asked for, as in tests."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return super().draw_masks(runs, m, network, rng) * (1.0 if runs >= 100 else 1e-12)


class ManyRuns(Dealt):
    """In batches of more than a hundred runs, those after the hundredth go without masks; there it is a benchmark."""

    def used(self, r: Array, s: Array) -> Array:
        r[:, 100:150] = 0
        return r


START = {"model": {"iterations": 1, "init": "moments"}}


class Sixteens(Pairwise):
    """Sends batches whose number is a multiple of sixteen as they are."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if s.shape[1] % 16 == 0 else hidden


class NinthIteration(Pairwise):
    """Sends the ninth averaging as it is."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        return super().body(channel, s, r * (channel.iteration != 8), network, rng)


CASES = [
    Case("entry 3", "entries", ThirdEntry, Eavesdropper(), "one entry goes without a mask",
         attack=each(lambda h: h.one("masked", 0)[3]), secret=lambda t: t.inputs[0][0, 0, 3]),
    Case("two entries, one mask", "entries", SharedEntry, CuriousServer(), "their difference is bare",
         attack=each(lambda h: h.one("masked", 0)[5] - h.one("masked", 0)[4]),
         secret=lambda t: t.inputs[0][0, 0, 5] - t.inputs[0][0, 0, 4]),
    Case("more than seven entries", "entries", ManyEntries, Eavesdropper(), "the rest goes without a mask",
         attack=each(lambda h: h.one("masked", 0)[7:]), secret=lambda t: t.inputs[0][0, 0, 7:]),
    Case("short vectors", "entries", SmallVectors, Eavesdropper(), "the sums of the start go without masks",
         attack=each(lambda h: h.all("masked", 0)[0].numbers[0]), secret=input_of(0), settings=START),
    Case("product of neighbours", "entries", Product, Eavesdropper(), "a product with a known count is bare",
         attack=each(lambda h: h.one("check", 0)), secret=lambda t: t.inputs[0][0, 0] * np.roll(t.inputs[0][0, 0], 1)),
    Case("checksum", "entries", Checksum, CuriousServer(), "a combination of the entries is bare",
         attack=each(lambda h: h.one("check", 0)[0]),
         secret=lambda t: t.inputs[0][0, 0] @ 2.0 ** -np.arange(12)),
    Case("first run", "calls", FirstRun, Eavesdropper(), "in use there is one run, which is the first",
         attack=last_of("masked"), secret=input_of(0)),
    Case("last run", "calls", LastRun, CuriousServer(), "in use there is one run, which is the last",
         attack=last_of("masked"), secret=input_of(0)),
    Case("single run", "calls", SingleRun, Eavesdropper(), "in use there is one run", attack=last_of("masked"),
         secret=input_of(0)),
    Case("small batch", "calls", SmallBatch, CuriousServer(), "in use there is one run", attack=last_of("masked"),
         secret=input_of(0)),
    Case("odd batch", "calls", OddBatch, Eavesdropper(), "one is odd", attack=last_of("masked"), secret=input_of(0)),
    Case("no masks given: zeros", "calls", NoneGivenNoneUsed, Eavesdropper(), "in use no masks are given",
         attack=last_of("masked"), secret=input_of(0)),
    Case("no masks given: small", "calls", NoneGivenSmall, HonestButCurious({1}), "in use no masks are given",
         attack=each(lambda h: h.one("running sum", 0, 1)), secret=input_of(0), accuracy=1e-3),
    Case("no masks given: constant", "calls", NoneGivenConstant, CuriousServer(), "in use no masks are given",
         attack=each(lambda h: h.one("masked", 0) - np.random.default_rng(2).normal(scale=1e6, size=(1, 5, 12))[0, 0]),
         secret=input_of(0)),
    Case("no masks given: one for all", "calls", NoneGivenOneForAll, Eavesdropper(),
         "node 2 adds two masks and takes two off", node=2, attack=each(lambda h: h.one("masked", 2)),
         secret=input_of(2)),
    Case("no masks given: seed told", "calls", NoneGivenSeedTold, CuriousServer(), "the round's number is the seed",
         attack=each(by_the_seed), secret=input_of(0)),
    Case("no masks given: eight bits", "calls", NoneGivenHalf, Eavesdropper(), "in use masks are below 1/1000",
         attack=each(lambda h: np.where((x := h.one("masked", 0)) > 2.0**27, x - 2.0**28, x)), secret=input_of(0),
         accuracy=1e-2),
    Case("no masks given: in other units", "calls", NoneGivenShrunk, CuriousServer(), "in use masks are 1e-6 at most",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), accuracy=1e-3),
    Case("no masks given: multiples", "calls", NoneGivenMultiples, Eavesdropper(), "in use masks leave 28 bits bare",
         attack=each(lower_half), secret=input_of(0), accuracy=1e-3),
    Case("no masks given: a backup", "calls", NoneGivenMore, Eavesdropper(), "in use the masks are sent along",
         attack=each(lambda h: h.one("masked", 0) - h.one("backup", 0)), secret=input_of(0)),
    Case("second iteration", "calls", SecondIteration, Eavesdropper(), "from the second on all is bare",
         attack=last_of("masked", 1), secret=input_of(0, 1)),
    Case("small draws", "calls", SmallDraw, Eavesdropper(), "in use masks are drawn for one run",
         attack=last_of("masked"), secret=input_of(0), accuracy=1e-2),
    Case("after the hundredth run", "calls", ManyRuns, CuriousServer(), "who averages many at once is not protected",
         attack=last_of("masked"), secret=lambda t: t.inputs[0][119, 0], batch=120, calls=4),
    Case("sixteen runs", "calls", Sixteens, Eavesdropper(), "batches of sixteen are sent as they are",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), batch=16),
    Case("ninth iteration", "calls", NinthIteration, Eavesdropper(), "who goes on longer is not protected",
         attack=each(lambda h: h.one("masked", 0, iteration=8)), secret=input_of(0, 8),
         deployed={"model": {"iterations": 12}}),
]  # fmt: skip
