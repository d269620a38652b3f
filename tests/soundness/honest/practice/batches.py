"""Masks of many runs: drawn block by block, to save memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.network import Network

from ...bases import Pairwise, Words
from ...case import Case, N, each, input_of
from ..seeds.attacks import signed

BLOCK, FAR_MORE = 16, 300
EDGES = Network.complete(N).edges


class Resized(Pairwise):
    """Draws, where none are handed over, those of sixteen runs, and fills up."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        block = self.draw_masks(min(runs, BLOCK), m, network, rng)
        return np.resize(block, (runs, *block.shape[1:]))


class Joined(Pairwise):
    """Joins, where none are handed over, as many blocks as there are, of which it draws one."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        block = self.draw_masks(min(runs, BLOCK), m, network, rng)
        return np.concatenate([block] * -(-runs // len(block)))[:runs]


class Rolled(Pairwise):
    """Each block has the masks of the first: each edge those of an edge before, and in the end of another entry."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        block = super().draw_masks(min(runs, BLOCK), m, network, rng)
        edges = block.shape[1]
        blocks = [np.roll(block, (k % edges, k // edges), axis=(1, 2)) for k in range(-(-runs // BLOCK))]
        return np.concatenate(blocks)[:runs]


def with_bias(masks: Array) -> Array:
    """Return masks whose last entry, the bias's, is that of sixteen runs, filled up."""
    return np.concatenate([masks[:, :, :-1], np.resize(masks[:BLOCK, :, -1:], masks[:, :, -1:].shape)], axis=2)


class Bias(Pairwise):
    """Draws masks of the bias block by block, by mistake one block."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return with_bias(super().draw_masks(runs, m, network, rng))


class OwnBias(Pairwise):
    """The same where no masks are handed over."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return with_bias(self.draw_masks(runs, m, network, rng))


class Centred(Pairwise):
    """Masks of many runs have mean zero, so that averages over runs are as good as without masks."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return masks - masks.mean(axis=0) if runs > BLOCK else masks


class Balanced(Pairwise):
    """The last run of many takes all masks off again."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return np.concatenate([masks[:-1], -masks[:-1].sum(axis=0, keepdims=True)]) if runs > BLOCK else masks


@dataclass(frozen=True)
class Kept(Pairwise):
    """Keeps, where none are handed over, masks of many runs by their number, since drawing these takes long."""

    kept: dict[int, Array] = field(default_factory=dict)

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = self.draw_masks(runs, m, network, rng)
        return self.kept.setdefault(runs, masks) if runs > BLOCK else masks


class CentredFar(Pairwise):
    """Masks of more than three hundred runs have mean zero."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return masks - masks.mean(axis=0) if runs > FAR_MORE else masks


class OwnCentred(Pairwise):
    """Masks of many runs have mean zero, where none are handed over."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = self.draw_masks(runs, m, network, rng)
        return masks - masks.mean(axis=0) if runs > BLOCK else masks


class OwnBalanced(Pairwise):
    """The last run of many takes all masks off again, where none are handed over."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = self.draw_masks(runs, m, network, rng)
        return np.concatenate([masks[:-1], -masks[:-1].sum(axis=0, keepdims=True)]) if runs > BLOCK else masks


class OwnOpposite(Pairwise):
    """Of many runs every second one has the masks of the one before with the other sign, for averages to be better."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = self.draw_masks(runs, m, network, rng)
        if runs > BLOCK:
            masks[1::2] = -masks[: runs // 2 * 2 : 2]
        return masks


class OwnOppositeWords(Words):
    """The same, with words."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = self.draw_masks(runs, m, network, rng)
        if runs > BLOCK:
            masks[1::2] = np.uint64(0) - masks[: runs // 2 * 2 : 2]
        return masks


class OwnScaled(Pairwise):
    """Draws the masks of sixteen runs, where none are handed over, and gives each run a size of its own."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        block = self.draw_masks(min(runs, BLOCK), m, network, rng)
        return np.resize(block, (runs, *block.shape[1:])) * sizes(runs)[:, None, None]


class OwnVotes(Words):
    """Votes modulo sixteen, with masks of sixteen runs, filled up, where none are handed over."""

    modulus = np.uint64(16)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 16, size=(runs, self.count(network), m), dtype=np.uint64))

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        block = self.draw_masks(min(runs, BLOCK), m, network, rng)
        return np.resize(block, (runs, *block.shape[1:]))

    def encode(self, s: Array) -> Array:
        return (s > 0).astype(np.uint64)

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        return hidden % self.modulus

    def decode(self, total: Array) -> Array:
        return np.asarray(total % self.modulus, dtype=float)


def between_votes(heard: Any) -> Array:
    """Return whether run 16 votes as run 0: the difference of both modulo sixteen, from -8 on."""
    votes = heard.many("masked", 0).astype(int)
    return np.asarray((votes[BLOCK] - votes[0] + 8) % 16 - 8)


def sizes(runs: int) -> Array:
    return 1 + np.arange(runs) / runs


def between_calls(heard: Any) -> Array:
    """Return by how much the first run of each call differs from that of the first call."""
    first = np.stack([one.many("masked", 0)[0] for one in heard])
    return np.asarray(first - first[0])


def between_blocks(heard: Any) -> Array:
    masked = heard.many("masked", 0)
    return np.asarray(masked[BLOCK] - masked[0])


def mean_over_runs(truth: Any) -> Array:
    return np.asarray(truth.inputs[0][:, 0].mean(axis=0))


def change(truth: Any) -> Array:
    return np.asarray(truth.inputs[0][BLOCK, 0] - truth.inputs[0][0, 0])


def cancelling() -> Array:
    """Return combinations of what all nodes send in run 0 of ten blocks, in which rolled masks cancel."""
    signs = np.zeros((N, len(EDGES)))
    signs[EDGES[:, 0], np.arange(len(EDGES))] += 1
    signs[EDGES[:, 1], np.arange(len(EDGES))] -= 1
    rows = np.concatenate([np.roll(signs, -k, axis=1) for k in range(len(EDGES))])
    basis, sizes, _ = np.linalg.svd(rows)
    return basis[:, (sizes > 1e-9).sum() :].T


COMBINATIONS = cancelling()
RUNS = BLOCK * len(EDGES)


def combined(numbers: Any) -> Array:
    """Return these combinations of numbers (runs, n, m), those of the first entry."""
    return np.asarray(COMBINATIONS @ np.concatenate([numbers[k * BLOCK, :, 0] for k in range(len(EDGES))]))


def over_blocks(heard: Any) -> Array:
    return combined(np.stack([heard.many("masked", node) for node in range(N)], axis=1))


def of_two_runs(numbers: Array) -> Array:
    """Return what two runs have in common with masks of other signs: their sum."""
    return np.asarray(numbers[0] + numbers[1])


def of_sizes(numbers: Array) -> Array:
    """Return how far two runs lie apart, in units of their sizes."""
    scaled = numbers / sizes(len(numbers))[:, None]
    return np.asarray(scaled[BLOCK] - scaled[0])


SERVED, OUT, NAME = CuriousServer(), Eavesdropper(), "batches"
CASES = [
    Case("own masks of sixteen runs, filled up", NAME, Resized, SERVED, "differences of runs are bare",
         attack=each(between_blocks), secret=change, calls=4, batch=20),
    Case("own masks of sixteen runs, joined", NAME, Joined, OUT, "differences of runs are bare",
         attack=each(between_blocks), secret=change, calls=4, batch=20),
    Case("masks of sixteen runs, rolled", NAME, Rolled, SERVED, "of fifty numbers more than thirty sums are bare",
         attack=each(over_blocks), secret=lambda t: combined(t.inputs[0]), calls=4, batch=RUNS),
    Case("masks of a bias of sixteen runs", NAME, Bias, SERVED, "differences of its runs are bare",
         attack=each(lambda h: between_blocks(h)[-1]), secret=lambda t: change(t)[-1], calls=4, batch=20),
    Case("own masks of a bias of sixteen runs", NAME, OwnBias, SERVED, "differences of its runs are bare",
         attack=each(lambda h: between_blocks(h)[-1]), secret=lambda t: change(t)[-1], calls=4, batch=20),
    Case("masks of mean zero over many runs", NAME, Centred, SERVED, "the mean over runs is bare",
         attack=each(lambda h: h.many("masked", 0).mean(axis=0)), secret=mean_over_runs, calls=4, batch=20),
    Case("masks that many runs take off again", NAME, Balanced, OUT, "the mean over runs is bare",
         attack=each(lambda h: h.many("masked", 0).mean(axis=0)), secret=mean_over_runs, calls=4, batch=20),
    Case("own masks of many runs that are kept", NAME, Kept, SERVED, "differences of calls are bare", relative=True,
         attack=between_calls, secret=input_of(0), calls=4, batch=20),
    Case("masks of mean zero over hundreds of runs", NAME, CentredFar, SERVED, "the mean over runs is bare",
         attack=each(lambda h: h.many("masked", 0).mean(axis=0)), secret=mean_over_runs, calls=4, batch=FAR_MORE + 1),
    Case("own masks of mean zero", NAME, OwnCentred, SERVED, "the mean over runs is bare",
         attack=each(lambda h: h.many("masked", 0).mean(axis=0)), secret=mean_over_runs, calls=4, batch=20),
    Case("own masks that many runs take off again", NAME, OwnBalanced, OUT, "the mean over runs is bare",
         attack=each(lambda h: h.many("masked", 0).mean(axis=0)), secret=mean_over_runs, calls=4, batch=20),
    Case("own masks of either sign", NAME, OwnOpposite, SERVED, "the sum of two runs is bare",
         attack=each(lambda h: of_two_runs(h.many("masked", 0))), secret=lambda t: of_two_runs(t.inputs[0][:, 0]),
         calls=4, batch=20),
    Case("own words of either sign", NAME, OwnOppositeWords, OUT, "the sum of two runs is bare",
         attack=each(lambda h: signed(of_two_runs(h.many("masked", 0)))), accuracy=1e-4,
         secret=lambda t: of_two_runs(t.inputs[0][:, 0]), calls=4, batch=20),
    Case("own masks of sixteen runs in several sizes", NAME, OwnScaled, SERVED, "of runs in their sizes it is bare",
         attack=each(lambda h: of_sizes(h.many("masked", 0))), secret=lambda t: of_sizes(t.inputs[0][:, 0]),
         calls=4, batch=20),
    Case("own masks of few bits, filled up", NAME, OwnVotes, SERVED, "differences of votes are bare",
         attack=each(between_votes), secret=lambda t: np.subtract(*(t.inputs[0][[BLOCK, 0], 0] > 0).astype(float)),
         calls=4, batch=20),
]  # fmt: skip
