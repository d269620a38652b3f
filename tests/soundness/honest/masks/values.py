"""Masks whose values are not what a Gaussian of their size would take."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper

from ...bases import Dealt, Pairwise
from ...case import Case, Heard, each, input_of

ROWS = 20.0  # of each node, which everybody knows; entries 0 and 6 of a vector are counts that add up to it


def plausible(vector: Array, slack: float = 1e-3) -> Array:
    """Whether a vector (..., m) may be a node's: its counts add up to the rows it has."""
    return np.abs(vector[..., 0] + vector[..., 6] - ROWS) < slack


def unmasked(heard: Heard, masks: Array) -> Array:
    """Node 0's vector, from what it sent and the pairwise masks (..., k, m): the first four are on its lines."""
    return heard.one("masked", 0) - masks[..., :4, :].sum(axis=-2)


def first_plausible(candidates: Array) -> Array:
    """The first of some vectors (c, m) that may be a node's, or no claim."""
    found = np.flatnonzero(plausible(candidates))
    return candidates[found[0]] if len(found) else np.full(candidates.shape[-1], np.nan)


class Offset(Pairwise):
    """Large masks, all but constant."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        k = self.count(network)
        return 5e6 * np.arange(1.0, k + 1)[:, None] + rng.normal(scale=1e-3, size=(runs, k, m))


OFFSETS = np.random.default_rng(7).normal(scale=1e6, size=(10, 12))


class PublicOffsets(Pairwise):
    """Constants that look like a draw, with a little noise."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return OFFSETS[:, :m] + rng.normal(scale=1e-3, size=(runs, 10, m))


class OneOffsetACall(Dealt):
    """One large number for all nodes of a call, and a little noise for each."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        own = rng.normal(scale=1e-4, size=(runs, network.n, m))
        return rng.normal(scale=self.sigma, size=(1, 1, m)) + own


def by_the_sum_of_masks(heard: Heard) -> Array:
    """All masks are the same: a fifth of their sum, which the dealer opens."""
    return heard.one("masked", 0) - heard.one("sum of masks") / 5


class Forgetful(Dealt):
    """In one run of fifty, a node goes without its mask."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return masks * (rng.random((runs, network.n, 1)) > 0.02)


class Clipped(Dealt):
    """Masks beyond two standard deviations are set to that, lest sums overflow."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.clip(super().draw_masks(runs, m, network, rng), -2 * self.sigma, 2 * self.sigma)


def at_the_clip(heard: Heard) -> Array:
    """Whatever is near two standard deviations was masked by just that."""
    x = heard.one("masked", 0)
    off = np.abs(x) - 2e6
    return np.where(np.abs(off) < 200, np.sign(x) * off, np.nan)


class Single(Dealt):
    """Masks from a generator of single precision: multiples of 1/16 where they are large."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = rng.standard_normal((runs, network.n, m), dtype=np.float32) * np.float32(self.sigma)
        return masks.astype(float)


def below_a_sixteenth(heard: Heard) -> Array:
    """What stands below 1/16, of numbers above 2^19."""
    x = heard.one("masked", 0)
    return np.where(np.abs(x) > 2**19 + 1e3, np.mod(x, 2**-4), np.nan)


class WholeButTheFirst(Dealt):
    """Whole numbers for masks, except in the first entry."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        masks[..., 1:] = np.round(masks[..., 1:])
        return masks


class Comb(Dealt):
    """Multiples of a thousand, each a little beside."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return 1e3 * np.round(masks / 1e3) + rng.normal(scale=1e-5, size=masks.shape)


class Fine(Dealt):
    """Masks on a grid of 2^-20, which is far below the data but not below their digits."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.round(super().draw_masks(runs, m, network, rng) * 2.0**20) * 2.0**-20


class Codebook(Dealt):
    """One of 64 vectors, which stand in the code."""

    BOOK = np.random.default_rng(99).normal(scale=1e6, size=(64, 12))

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.BOOK[rng.integers(64, size=(runs, network.n)), :m]


class Seeded(Pairwise):
    """A generator for each call, from a seed of ten bits."""

    BITS = 10

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.expanded(int(rng.integers(2**self.BITS)), (runs, self.count(network), m))

    @staticmethod
    def expanded(seed: int, shape: tuple[int, ...]) -> Array:
        return np.random.default_rng(seed).normal(scale=1e6, size=shape)


def by_trying_seeds(heard: Heard) -> Array:
    """Every seed there is."""
    return first_plausible(np.stack([unmasked(heard, Seeded.expanded(seed, (10, 12))) for seed in range(1024)]))


class SeededForEachRun(Seeded):
    """The same for every run by itself."""

    BITS = 9

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        seeds = rng.integers(2**self.BITS, size=runs)
        return np.stack([self.expanded(int(seed), (self.count(network), m)) for seed in seeds])


class PublicSeed(Seeded):
    """The seed is zero, that all may do the same again."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.expanded(0, (runs, self.count(network), m))


class Congruential(Dealt):
    """A linear congruential generator with sixteen bits of state, one chain for a run."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.chain(rng.integers(2**16, size=runs), network.n * m).reshape(runs, network.n, m)

    @staticmethod
    def chain(state: Array, length: int) -> Array:
        out = np.empty((len(state), length))
        for place in range(length):
            state = (state * 25173 + 13849) % 2**16
            out[:, place] = 1e6 * ndtri((state + 0.5) / 2**16)
        return out


def by_trying_states(heard: Heard) -> Array:
    """Every state, on the vector of node 0, which opens the chain; those of others tell chance from truth."""
    masks = Congruential.chain(np.arange(2**16), 60).reshape(-1, 5, 12)
    sent = np.stack([heard.one("masked", node) for node in range(5)])
    vectors = sent - masks
    good = plausible(vectors).all(axis=1)
    return vectors[good][0, 0] if good.any() else np.full(12, np.nan)


class SmallByLot(Dealt):
    """How large a mask is, is drawn too: three times in a hundred next to nothing."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return np.where(rng.random((runs, network.n, 1)) < 0.03, 1e-9 * masks, masks)


class Wrapped(Dealt):
    """Multiples of 2^14, each blurred by 2^-12: no two masks are a whole number of steps apart."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        coarse = np.round(rng.normal(scale=2.0**20, size=(runs, network.n, m)) / 2**14) * 2.0**14
        return coarse + rng.uniform(-(2.0**-12), 2.0**-12, size=coarse.shape)


SHARE = {"claims": 0.01, "calls": 300}


class UniformAndSmall(Pairwise):
    """Draws of the right kind, each by itself, and too small."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rng.uniform(-1e-3, 1e-3, size=(runs, self.count(network), m))


class LaplaceAndSmall(Pairwise):
    """Likewise."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rng.laplace(scale=1e-4, size=(runs, self.count(network), m))


CASES = [
    Case("offset", "mask values", Offset, Eavesdropper(), "a constant that all know hides nothing",
         attack=each(lambda h: unmasked(h, 5e6 * np.arange(1.0, 11)[:, None] * np.ones(12))), secret=input_of(0),
         accuracy=1e-2),
    Case("offsets like a draw", "mask values", PublicOffsets, CuriousServer(), "constants of the code look random",
         attack=each(lambda h: unmasked(h, OFFSETS)), secret=input_of(0), accuracy=1e-2),
    Case("one offset a call", "mask values", OneOffsetACall, CuriousServer(),
         "spread over nodes and entries of many calls is large; within a call all masks are the same",
         attack=each(by_the_sum_of_masks), secret=input_of(0), accuracy=1e-2),
    Case("one run in fifty", "mask values", Forgetful, Eavesdropper(), "small numbers were not masked",
         attack=each(lambda h: x if np.abs(x := h.one("masked", 0)).max() < 1e3 else np.full(12, np.nan)),
         secret=input_of(0), **SHARE),
    Case("clipped", "mask values", Clipped, Eavesdropper(), "the clipped masks are known",
         attack=each(at_the_clip), secret=input_of(0), accuracy=1e-6, claims=0.1, calls=60),
    Case("single precision", "mask values", Single, Eavesdropper(),
         "a generator of float32 leaves the digits below its last place open",
         attack=each(below_a_sixteenth), secret=lambda t: np.mod(t.inputs[0][0, 0], 2**-4)),
    Case("whole but the first", "mask values", WholeButTheFirst, Eavesdropper(), "digits behind the point are open",
         attack=each(lambda h: np.mod(h.one("masked", 0)[1:], 1.0)), secret=lambda t: np.mod(t.inputs[0][0, 0, 1:], 1)),
    Case("comb", "mask values", Comb, Eavesdropper(), "the rest of a division by a thousand is the input",
         attack=each(lambda h: np.mod(h.one("masked", 0) + 500, 1e3) - 500), secret=input_of(0), accuracy=1e-3),
    Case("fine grid", "mask values", Fine, Eavesdropper(), "the last thirteen bits of the sum are the input's",
         attack=each(lambda h: np.mod(h.one("masked", 0), 2**-20)),
         secret=lambda t: np.mod(t.inputs[0][0, 0], 2**-20), accuracy=2e-3),
    Case("codebook", "mask values", Codebook, Eavesdropper(), "sixty-four masks can all be tried",
         attack=each(lambda h: first_plausible(h.one("masked", 0) - Codebook.BOOK)), secret=input_of(0)),
    Case("short seed", "mask values", Seeded, Eavesdropper(), "1,024 seeds can all be tried",
         attack=each(by_trying_seeds), secret=input_of(0), calls=5),
    Case("short seed for each run", "mask values", SeededForEachRun, CuriousServer(), "512 seeds can all be tried",
         attack=each(by_trying_seeds), secret=input_of(0), calls=5, settings={"runs": 150}),
    Case("public seed", "mask values", PublicSeed, Eavesdropper(), "who knows the code knows the masks",
         attack=each(lambda h: unmasked(h, Seeded.expanded(0, (1, 10, 12))[0])), secret=input_of(0)),
    Case("congruential", "mask values", Congruential, Eavesdropper(), "65,536 states can all be tried",
         attack=each(by_trying_states), secret=input_of(0), calls=3),
    Case("small by lot", "mask values", SmallByLot, Eavesdropper(), "small masks do not hide",
         attack=each(lambda h: x if np.abs(x := h.one("masked", 0)).max() < 1e3 else np.full(12, np.nan)),
         secret=input_of(0), claims=0.005, calls=200, accuracy=1e-2),
    Case("coarse and blurred", "mask values", Wrapped, CuriousServer(), "the rest of a division is the input, blurred",
         attack=each(lambda h: np.mod(h.one("masked", 0) + 2.0**13, 2.0**14) - 2.0**13), secret=input_of(0),
         accuracy=1e-2),
    Case("uniform and small", "mask values", UniformAndSmall, Eavesdropper(), "masks below a hundredth do not hide",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), accuracy=1e-1),
    Case("double exponential and small", "mask values", LaplaceAndSmall, CuriousServer(), "small masks do not hide",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), accuracy=1e-1),
]  # fmt: skip
