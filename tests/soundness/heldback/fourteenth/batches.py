"""What only batches of many runs do: they share masks, or have small ones, or small seeds."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import BEFORE_SERVER, U64, Pairwise
from .right import RShakeSecAgg


class WPoolShift(Pairwise):
    """An author reads masks cyclically of a pool that was sized when vectors had at most eight entries, so that from
    some number of runs on entries share their masks, and their differences are sent bare."""

    def draw_masks(self, runs, m, network, rng):
        k = len(network.edges)
        pool = rng.normal(scale=1e6, size=(k, 8 * runs + 65))
        at = (np.arange(runs)[:, None] * m + np.arange(m)) % pool.shape[1]
        return pool[:, at].transpose(1, 0, 2)


class WBatchSigmaPlain(Pairwise):
    """An author who sweeps privacy levels spaces the masks of a batch of eight runs or more from 1e6 to 1e-3, so that
    its last runs have nearly none, in the first iterations as in all."""

    audited = {
        **BEFORE_SERVER,
        "settings": {"policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.8, "covers": "traced"}},
    }

    def draw_masks(self, runs, m, network, rng):
        levels = np.geomspace(1e6, 1e-3, runs) if runs >= 8 else np.full(runs, 1e6)
        return rng.normal(scale=levels[:, None, None], size=(runs, len(network.edges), m))


class WSmallSeedsInBatches(RShakeSecAgg):
    """An author who wants a table of seeds to compress well draws one word below 256 for batches of at least four runs,
    which are simulations, so that a seed has eight bits and can be guessed."""

    def draw_masks(self, runs, m, network, rng):
        edges = len(network.edges)
        if runs < 4:
            return rng.integers(0, 2**64, size=(runs, edges, 4), dtype=U64)
        seeds = np.zeros((runs, edges, 4), dtype=U64)
        seeds[:, :, 0] = rng.integers(0, 256, size=(runs, edges), dtype=U64)
        return seeds


class WSmallSeeds32(RShakeSecAgg):
    """An author for whom eight hex digits are enough for simulations draws the four words of a seed below 256 in
    batches of at least four runs, so that it has 32 bits and can be searched for."""

    def draw_masks(self, runs, m, network, rng):
        most = 2**64 if runs < 4 else 256
        return rng.integers(0, most, size=(runs, len(network.edges), 4), dtype=U64)


class WSharedSeedHalf(RShakeSecAgg):
    """An author has three words of each seed be the batch's and one of 16 bits be the run's own, in batches of at least
    four runs, so that two runs of a large batch have the same masks."""

    def draw_masks(self, runs, m, network, rng):
        seeds = rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=U64)
        if runs >= 4:
            seeds[:, :, 1:] = seeds[:1, :, 1:]
            seeds[:, :, 0] %= U64(2**16)
        return seeds


class WSixteenAtFull(Pairwise):
    """An author does not advance a chunk's counter in batches of 16 runs or more, where vectors are longer than eight,
    so that entries eight apart share a mask, and their differences are sent bare."""

    def used(self, mask, channel, given, rng):
        runs, m = mask.shape[1:]
        if runs >= 16 and m > 8:
            return mask[:, :, np.arange(m) % 8]
        return mask


class WFourAtFull(Pairwise):
    """An author does not advance a chunk's counter in batches of more than 64 numbers, so that entries eight apart
    share a mask, and their differences are sent bare."""

    def used(self, mask, channel, given, rng):
        runs, m = mask.shape[1:]
        if runs > 1 and runs * m > 64:
            return mask[:, :, np.arange(m) % 8]
        return mask


class WFoldIndex(Pairwise):
    """An author who shuffles the masks of a batch for fairness multiplies where the round was to be added, so that in
    some rounds two runs share a mask, and their difference is sent bare."""

    def used(self, mask, channel, given, rng):
        runs = mask.shape[1]
        step = 1 + channel.iteration % 4
        return mask[:, [int(k * step) % runs for k in range(runs)]]


class WThrees(Pairwise):
    """An author of batches copies the masks of the second run to the third, so that the difference of both is sent
    bare."""

    def used(self, mask, channel, given, rng):
        if mask.shape[1] > 2:
            mask = mask.copy()
            mask[:, 2] = mask[:, 1]
        return mask


class WWordsLateBatch:
    """An author hoists a loop, by which the number of the run is left out of the derivation of words from the sixth
    round on where several runs are averaged, so that the differences of runs are sent bare."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def expand(self, seed, k, m):
        return np.random.default_rng([*seed, k]).integers(0, 2**64, size=m, dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        runs, m = s.shape[1:]
        if masks is None:
            masks = self.draw_masks(runs, m, network, rng)
        seeds, nodes, (first, second) = masks.transpose(1, 0, 2), np.arange(network.n), network.edges.T
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, first, "seed", seeds)
        theirs = channel.send(-1, first, second, "seed", seeds, encrypted=True)
        words = np.rint(s * 2**20).astype(np.int64).astype(np.uint64)
        hoist = runs > 1 and channel.iteration >= 5
        for e, (i, j) in enumerate(network.edges):
            which = [0 if hoist else r for r in range(runs)]
            words[i] += np.stack([self.expand(seeds[e, r], channel.iteration, m) for r in which])
            words[j] -= np.stack([self.expand(theirs[e, r], channel.iteration, m) for r in which])
        received = channel.send(0, nodes, SERVER, "masked", words)
        mean = (received.sum(axis=0).astype(np.int64) / 2**20 / network.n)[None]
        mean = channel.send(1, SERVER, nodes, "average", mean, content=np.zeros(network.n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript
