"""Masks as arrays: incidence matrices, quantised updates, noise below masks, gossip behind noise that sums to zero."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from secmix.transcript import SERVER, Channel

from .common import tell_all


class RSparseIncidence:
    """Multiply masks of 64 bits by the halves of a sparse incidence matrix: right, rows of it are signed sums of words
    that wrap around."""

    audited = {"n": 6, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(-(2**63), 2**63, size=(runs, len(network.edges), m), dtype=np.int64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        z = masks.transpose(1, 0, 2)
        tail, head = network.edges.T
        count = len(tail)
        ones = np.ones(count, dtype=np.int64)
        leaves = sp.csr_matrix((ones, (tail, np.arange(count))), shape=(n, count))
        enters = sp.csr_matrix((ones, (head, np.arange(count))), shape=(n, count))
        channel.hold(-1, np.arange(n), "x", x)
        channel.hold(-1, tail, "z", z)
        z_at_head = channel.send(-1, tail, head, "z", z, encrypted=True)
        words = np.rint(x * 2**20).astype(np.int64)
        noise = leaves @ z.reshape(count, -1) - enters @ z_at_head.reshape(count, -1)
        y = channel.send(0, np.arange(n), SERVER, "y", words + noise.reshape(n, runs, m))
        return tell_all(channel, n, y.sum(axis=0) / 2**20 / n)


class RNormalSeeds:
    """Expand seeds of 128 bits to normal masks of 10^6: right, a mask is half a million times what it hides."""

    audited = {"n": 5, "a": "server"}
    sigma = 1e6

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**32, size=(runs, len(network.edges), 4), dtype=np.uint32)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        seeds = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "update", x)
        channel.hold(-1, i, "seed", seeds)
        shared = channel.send(-1, i, j, "seed", seeds, encrypted=True)

        def normals(seed):
            return np.random.default_rng(seed).normal(0.0, self.sigma, size=m)

        masked = x.copy()
        for e, (a, b) in enumerate(zip(i, j)):
            masked[a] += np.array([normals(s) for s in seeds[e]])
            masked[b] -= np.array([normals(s) for s in shared[e]])
        up = channel.send(0, np.arange(n), SERVER, "masked", masked)
        return tell_all(channel, n, up.mean(axis=0))


class RStochasticQuantize:
    """Quantise as Flower's SecAgg+ does: clip, shift, scale to 22 bits, round up or down by lot, and mask modulo 2^32:
    right, five words of 22 bits fit, and masks have all 32."""

    audited = {"n": 5, "a": "server"}
    clipping_range = 64.0
    target_range = 1 << 22
    mod_range = 1 << 32
    tolerance = 1e-3

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.mod_range, size=(runs, len(network.edges), m), dtype=np.int64)

    def quantize(self, vector, rng):
        quantizer = self.target_range / (2 * self.clipping_range)
        pre_quantized = (np.clip(vector, -self.clipping_range, self.clipping_range) + self.clipping_range) * quantizer
        lower = np.floor(pre_quantized)
        return (lower + (rng.random(vector.shape) < pre_quantized - lower)).astype(np.int64)

    def dequantize(self, total, count):
        return total / self.target_range * (2 * self.clipping_range) - self.clipping_range * count

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=np.float64)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        vectors = {node: self.quantize(x[:, node], rng) for node in range(n)}
        for e, (node, neighbor) in enumerate(network.edges.tolist()):
            channel.hold(-1, node, "pairwise mask", masks[:, e])
            pairwise_mask = channel.send(-1, node, neighbor, "pairwise mask", masks[:, e], encrypted=True)
            vectors[node] = np.mod(vectors[node] + masks[:, e], self.mod_range)
            vectors[neighbor] = np.mod(vectors[neighbor] - pairwise_mask, self.mod_range)
        recon = np.zeros((runs, m), dtype=np.int64)
        for node, vector in vectors.items():
            channel.hold(-1, node, "input", x[:, node])
            recon = np.mod(recon + channel.send(0, node, SERVER, "vector", vector), self.mod_range)
        return tell_all(channel, n, self.dequantize(recon, n) / n)


class RCountBesides:
    """Append the number of rows to what is summed, under masks of its own, and divide by the rounded total: right, both
    totals are of all nodes, who have twenty rows each."""

    audited = {"n": 5, "a": "server"}
    rows = 20

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 2 * len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        edges = network.edges
        # the count has one mask word besides the m of the vector: first entry of the second half
        pads = np.concatenate([masks[: len(edges)], masks[len(edges) :, :, :1]], axis=2)
        channel.hold(-1, np.arange(n), "input", x)
        channel.hold(-1, edges[:, 0], "pad", pads)
        other = channel.send(-1, edges[:, 0], edges[:, 1], "pad", pads, encrypted=True)
        weighted = np.concatenate([x * self.rows, np.full((n, runs, 1), float(self.rows))], axis=2)
        words = np.rint(weighted * 2**24).astype(np.int64).astype(np.uint64)
        np.add.at(words, edges[:, 0], pads)
        np.subtract.at(words, edges[:, 1], other)
        got = channel.send(0, np.arange(n), SERVER, "weighted", words)
        total = got.sum(axis=0, dtype=np.uint64).astype(np.int64) / 2**24
        return tell_all(channel, n, total[:, :-1] / np.rint(total[:, -1:]))


class RNoiseBelowMasks:
    """Add Laplace noise of a node's own to its vector before words and masks, as distributed differential privacy does:
    right, the server sees the noisy sum."""

    audited = {"n": 5, "a": "server"}
    tolerance = 0.5

    def __init__(self, noise_scale=0.01, clip=50.0):
        self.noise_scale = noise_scale
        self.clip = clip

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**32, size=(runs, len(network.edges), m), dtype=np.uint32)

    def privatize(self, x, rng):
        return np.clip(x, -self.clip, self.clip) + rng.laplace(scale=self.noise_scale, size=x.shape)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        first, second = network.edges.T
        mask = masks.transpose(1, 0, 2)
        channel.hold(-1, np.arange(n), "input", x)
        channel.hold(-1, first, "mask", mask)
        agreed = channel.send(-1, first, second, "mask", mask, encrypted=True)
        fixed = np.rint(self.privatize(x, rng) * 2**16).astype(np.int32).astype(np.uint32)
        np.add.at(fixed, first, mask)
        np.subtract.at(fixed, second, agreed)
        up = channel.send(0, np.arange(n), SERVER, "masked", fixed)
        return tell_all(channel, n, up.sum(axis=0, dtype=np.uint32).astype(np.int32) / 2**16 / n)


class RClippedByNorm:
    """Scale vectors down to a norm of 200 and mask them modulo 2^31 - 1 by int64 arithmetic: right, masks are uniform
    residues of the whole field."""

    audited = {"n": 4, "a": "server+3"}
    prime = 2147483647
    precision = 10_000
    max_norm = 200.0

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(self.prime, size=(runs, len(network.edges), m))

    def encode(self, g):
        norm = np.sqrt(np.sum(g * g, axis=-1, keepdims=True))
        g = g / np.maximum(1.0, norm / self.max_norm)
        return np.around(g * self.precision).astype(np.int64) % self.prime

    def decode(self, total):
        return np.where(total > (self.prime - 1) // 2, total - self.prime, total).astype(float) / self.precision

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        g = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = g.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "gradient", g)
        field = self.encode(g)
        for e, (u, v) in enumerate(network.edges):
            channel.hold(-1, u, "mask", masks[:, e])
            there = channel.send(-1, u, v, "mask", masks[:, e], encrypted=True)
            field[u] = (field[u] + masks[:, e]) % self.prime
            field[v] = (field[v] + self.prime - there) % self.prime
        got = channel.send(0, range(n), SERVER, "field elements", field)
        return tell_all(channel, n, self.decode(got.sum(axis=0) % self.prime) / n)


class RGossipBehindZeroSum:
    """Exchange normal noise with neighbours so that it adds up to zero, then gossip in the open with fixed weights:
    right, who hears all values knows each node's value behind noise, and the average."""

    audited = {"n": 5, "a": "2", "kind": "cycle"}
    rounds = 40

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e5, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = s.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        eta = masks.transpose(1, 0, 2)
        a, b = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, a, "noise", eta)
        eta_b = channel.send(-1, a, b, "noise", eta, encrypted=True)
        state = s.copy()
        for e in range(len(a)):
            state[a[e]] += eta[e]
            state[b[e]] -= eta_b[e]
        tails, heads = network.arcs.T
        for k in range(self.rounds):
            heard = channel.send(k, tails, heads, "state", state[tails])
            following = state / 3  # the Metropolis weights of a ring: a third each
            np.add.at(following, heads, heard / 3)
            state = following
        return state.transpose(1, 0, 2), channel.transcript
