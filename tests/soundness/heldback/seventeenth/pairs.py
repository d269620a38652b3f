"""Pairwise masks (Bonawitz et al. 2017) as repositories write them, before a server that adds up."""

from __future__ import annotations

import itertools
import random
import secrets
from collections import defaultdict

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import tell_all

FRACTION_BITS = 16


def float_to_fixed(x):
    """Convert floats to words of 32 bits in two's complement."""
    return np.round(x * (1 << FRACTION_BITS)).astype(np.int64).astype(np.uint32)


def fixed_to_float(words):
    """Convert words of 32 bits back."""
    return words.astype(np.int32).astype(np.float64) / (1 << FRACTION_BITS)


class RCombinations:
    """Draw a word of 32 bits for each of itertools.combinations, kept in a dictionary: right, each mask is uniform and
    known to its two ends only."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        pairs = list(itertools.combinations(range(network.n), 2))
        return rng.integers(0, 2**32, size=(runs, len(pairs), m), dtype=np.uint32)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        inputs = np.asarray(inputs, dtype=np.float64)
        runs, n, m = inputs.shape
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(runs, m, network, rng)

        mask_of = defaultdict(dict)
        for k, (i, j) in enumerate(itertools.combinations(range(n), 2)):
            channel.hold(-1, i, "mask", masks[:, k])
            mask_of[i][j] = masks[:, k]
            mask_of[j][i] = channel.send(-1, i, j, "mask", masks[:, k], encrypted=True)

        aggregate = np.zeros((runs, m), dtype=np.uint32)
        for i in range(n):
            channel.hold(-1, i, "input", inputs[:, i])
            y = float_to_fixed(inputs[:, i])
            for j, mask in mask_of[i].items():
                if i < j:
                    y += mask
                else:
                    y -= mask
            aggregate += channel.send(0, i, SERVER, "masked input", y)
        return tell_all(channel, n, fixed_to_float(aggregate) / n)


class RPythonInts:
    """Mask lists of Python integers modulo a prime of 61 bits, drawn by SystemRandom: right, residues are uniform."""

    audited = {"n": 4, "a": "server"}
    q = 2**61 - 1
    scale = 10**6

    def draw_masks(self, runs, m, network, rng):
        sysrand = random.SystemRandom()
        edges = network.n * (network.n - 1) // 2
        drawn = [[[sysrand.randrange(self.q) for _ in range(m)] for _ in range(edges)] for _ in range(runs)]
        return np.array(drawn, dtype=np.int64)

    def quantize(self, v):
        return [round(float(x) * self.scale) % self.q for x in v]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        inputs = np.asarray(inputs, dtype=float)
        runs, n, m = inputs.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        edges = network.edges.tolist()
        received = {}
        for e, (u, v) in enumerate(edges):
            channel.hold(0, u, "pairwise", masks[:, e])
            received[u, v] = channel.send(0, u, v, "pairwise", masks[:, e], encrypted=True)
        uploads = []
        for u in range(n):
            channel.hold(0, u, "input", inputs[:, u])
            rows = []
            for r in range(runs):
                vector = np.array(self.quantize(inputs[r, u]), dtype=np.int64)
                for e, (a, b) in enumerate(edges):
                    if a == u:
                        vector = (vector + masks[r, e]) % self.q
                    elif b == u:
                        vector = (vector - received[a, b][r]) % self.q
                rows.append(vector)
            uploads.append(channel.send(1, u, SERVER, "upload", np.stack(rows)))
        total = uploads[0]
        for upload in uploads[1:]:
            total = (total + upload) % self.q
        total = np.where(total > self.q // 2, total - self.q, total)
        return tell_all(channel, n, total / self.scale / n)


class RUrandomSeeds:
    """Seed PCG64 of each pair with four words of os.urandom, fresh in every call: right, 256 bits that only the two
    ends have."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        size = runs * len(network.edges) * 4
        return np.frombuffer(secrets.token_bytes(8 * size), dtype=np.uint64).reshape(runs, -1, 4)

    @staticmethod
    def prg(seed, m):
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([int(w) for w in seed]))).integers(
            0, 2**32, size=m, dtype=np.uint32
        )

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        inputs = np.asarray(inputs, dtype=np.float64)
        runs, n, m = inputs.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        i, j = network.edges.T
        channel.hold(-1, i, "seed", seeds.transpose(1, 0, 2))
        theirs = channel.send(-1, i, j, "seed", seeds.transpose(1, 0, 2), encrypted=True)
        channel.hold(-1, np.arange(n), "input", inputs.transpose(1, 0, 2))
        y = float_to_fixed(inputs.transpose(1, 0, 2))
        for e, (a, b) in enumerate(network.edges):
            for r in range(runs):
                y[a, r] += self.prg(seeds[r, e], m)
                y[b, r] -= self.prg(theirs[e, r], m)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return tell_all(channel, n, fixed_to_float(np.sum(got, axis=0, dtype=np.uint32)) / n)


class RUpperTriangle:
    """Place seeded masks in an antisymmetric matrix by np.triu_indices and sum its rows: right, the same as pairwise
    masks, word by word."""

    audited = {"n": 6, "a": "server+4"}

    def draw_masks(self, runs, m, network, rng):
        n = network.n
        return rng.integers(0, 2**64, size=(runs, n * (n - 1) // 2, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.moveaxis(np.asarray(inputs, dtype=float), 1, 0)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        rows, cols = np.triu_indices(n, k=1)
        upper = masks.swapaxes(0, 1)
        channel.hold(-1, np.arange(n), "x", x)
        channel.hold(-1, rows, "pairwise mask", upper)
        lower = channel.send(-1, rows, cols, "pairwise mask", upper, encrypted=True)
        matrix = np.zeros((n, n, runs, m), dtype=np.uint64)
        matrix[rows, cols] = upper
        matrix[cols, rows] = -lower
        masked = np.rint(x * 2**20).astype(np.int64).astype(np.uint64) + matrix.sum(axis=1, dtype=np.uint64)
        received = channel.send(0, np.arange(n), SERVER, "y", masked)
        total = received.sum(axis=0, dtype=np.uint64).astype(np.int64)
        return tell_all(channel, n, total / 2**20 / n)


class RTwoHalfSeeds:
    """Fold a seed of 256 bits from both ends by exclusive or, so that neither trusts the other's generator: right, each
    half alone is uniform, and both go over encrypted lines."""

    audited = {"n": 4, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 2 * len(network.edges), 4), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        halves = self.draw_masks(runs, m, network, rng) if masks is None else masks
        halves = halves.transpose(1, 0, 2)
        first, second = network.edges.T
        count = len(first)
        channel.hold(-1, first, "half", halves[:count])
        channel.hold(-1, second, "half", halves[count:])
        at_second = channel.send(-1, first, second, "half", halves[:count], encrypted=True)
        at_first = channel.send(-1, second, first, "half", halves[count:], encrypted=True)
        mine, theirs = halves[:count] ^ at_first, at_second ^ halves[count:]
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        y = float_to_fixed(x.transpose(1, 0, 2))
        for e in range(count):
            for r in range(runs):
                y[first[e], r] += np.random.default_rng(mine[e, r]).integers(0, 2**32, m, dtype=np.uint32)
                y[second[e], r] -= np.random.default_rng(theirs[e, r]).integers(0, 2**32, m, dtype=np.uint32)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return tell_all(channel, n, fixed_to_float(np.add.reduce(got, axis=0, dtype=np.uint32)) / n)


class RSeedsOfTheGone:
    """Let the survivors open the seeds that they share with a node that never sent its vector: right, what is opened
    masks nobody's vector but its own share in the survivors' sum."""

    audited = {"n": 5, "a": "server"}
    dropped = (2,)

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def expand(self, seeds, m):
        return np.stack([np.random.default_rng(s).integers(0, 2**32, size=m, dtype=np.uint32) for s in seeds])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        keys = {u: {} for u in range(n)}
        for e, (u, v) in enumerate(network.edges.tolist()):
            channel.hold(-1, u, "seed", seeds[:, e])
            keys[u][v] = seeds[:, e]
            keys[v][u] = channel.send(-1, u, v, "seed", seeds[:, e], encrypted=True)
        alive = [u for u in range(n) if u not in self.dropped]
        total = np.zeros((runs, m), dtype=np.uint32)
        for u in range(n):
            channel.hold(-1, u, "input", x[:, u])
            y = float_to_fixed(x[:, u])
            for v, key in keys[u].items():
                y = y + self.expand(key, m) if u < v else y - self.expand(key, m)
            if u in alive:
                total = total + channel.send(0, u, SERVER, "masked", y)
        # recovery round
        for gone in self.dropped:
            for u in alive:
                opened = channel.send(1, u, SERVER, "opened seed", keys[u][gone])
                mask = self.expand(opened, m)
                total = total - mask if u < gone else total + mask
        mean = fixed_to_float(total) / len(alive)
        told = channel.send(2, SERVER, alive, "mean", mean[None], content=[0] * len(alive))
        averages = np.full((runs, n, m), np.nan)
        averages[:, alive] = told.transpose(1, 0, 2)
        return averages, channel.transcript


class RDoubleMask:
    """Add a self mask besides pairwise ones, and let the server ask all others for additive shares of the seed words of
    self masks: right, a node's self mask opens while its pair masks stay closed."""

    audited = {"n": 4, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        n = network.n
        return rng.integers(0, 2**64, size=(runs, len(network.edges) + n * (n - 1), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        drawn = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        edges = network.edges.tolist()
        pair_masks, share_pool = drawn[: len(edges)], iter(drawn[len(edges) :])

        # round 0: everybody shares its self mask b_u among the others, b_u is the sum of its shares
        self_mask, kept = {}, {u: {} for u in range(n)}
        for u in range(n):
            shares = {v: next(share_pool) for v in range(n) if v != u}
            self_mask[u] = sum(shares.values(), start=np.zeros((runs, m), dtype=np.uint64))
            for v, share in shares.items():
                channel.hold(-1, u, "share", share)
                kept[v][u] = channel.send(-1, u, v, "share", share, encrypted=True)

        # round 1: masked input collection
        words = {}
        for u in range(n):
            channel.hold(-1, u, "input", x[:, u])
            words[u] = np.rint(x[:, u] * 2.0**24).astype(np.int64).astype(np.uint64) + self_mask[u]
        for e, (u, v) in enumerate(edges):
            channel.hold(-1, u, "pair mask", pair_masks[e])
            got = channel.send(-1, u, v, "pair mask", pair_masks[e], encrypted=True)
            words[u] = words[u] + pair_masks[e]
            words[v] = words[v] - got
        total = np.zeros((runs, m), dtype=np.uint64)
        for u in range(n):
            total = total + channel.send(1, u, SERVER, "masked", words[u])

        # round 2: unmasking, nobody dropped out
        for v in range(n):
            for u, share in kept[v].items():
                total = total - channel.send(2, v, SERVER, f"share of {u}", share)
        return tell_all(channel, n, total.view(np.int64) / 2.0**24 / n)


class RCycleNeighbours:
    """Mask with the two neighbours on a ring only, as sparse graphs of masks do (Bell et al. 2020): right before a
    server without nodes, since a ring is connected."""

    audited = {"n": 6, "a": "server", "kind": "cycle"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 1 << 32, size=(runs, network.n, m), dtype=np.uint32)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).swapaxes(0, 1)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        out = masks.swapaxes(0, 1)
        here = np.arange(n)
        channel.hold(-1, here, "x", x)
        channel.hold(-1, here, "to the right", out)
        arrived = channel.send(-1, here, (here + 1) % n, "to the right", out, encrypted=True)
        y = float_to_fixed(x) + out - np.roll(arrived, 1, axis=0)
        up = channel.send(0, here, SERVER, "y", y)
        total = np.zeros((runs, m), dtype=np.uint32)
        for row in up:
            total += row
        return tell_all(channel, n, fixed_to_float(total) / n)
