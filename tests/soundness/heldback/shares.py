"""Shares, rings, trees, gossip and PDMM as engineers write them."""

from __future__ import annotations

from functools import reduce

import numpy as np

from secmix.transcript import SERVER, Channel

from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}
NODES = {"two": "safe", "eavesdropper": "safe"}
ONE = 2**20


def quantise(x):
    return np.rint(x * ONE).astype(np.int64).astype(np.uint64)


def dequantise(words):
    return words.astype(np.int64) / ONE


# Right: additive shares for three computing nodes 0, 1, 2, sent on encrypted lines; each opens the sum of its shares to
# a server. Nodes 1 and 2 lack the third share of everybody but themselves.
class ThreeServers:
    HELPERS = (0, 1, 2)

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n * (len(self.HELPERS) - 1), m), dtype=np.uint64)

    def split(self, words, r):
        """(helpers, nodes, runs, m): random but for the last, which makes the sum right."""
        return np.concatenate([r, (words - r.sum(axis=0))[None]])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        channel.hold(0, np.tile(np.arange(n), len(self.HELPERS) - 1), "share", r)
        shares = self.split(quantise(x), r.reshape(len(self.HELPERS) - 1, n, runs, m))
        subtotals = []
        for helper, share in zip(self.HELPERS, shares, strict=True):
            others = [node for node in range(n) if node != helper]
            got = channel.send(1, others, helper, f"share for {helper}", share[others], encrypted=True)
            subtotals.append(got.sum(axis=0) + share[helper])
        opened = channel.send(2, list(self.HELPERS), SERVER, "subtotal", np.stack(subtotals))
        mean = dequantise(opened.sum(axis=0)) / n
        mean = channel.send(3, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript


P = 2**31 - 1


# Right: Shamir's shares of degree 2 modulo 2^31 - 1; five shares, three open a sum. Nodes 1 and 2 have two of each.
class ShamirSum:
    DEGREE = 2

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, P, size=(runs, network.n * self.DEGREE, m))

    def coefficients(self, r, shape):
        return r.reshape(self.DEGREE, *shape)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        channel.hold(0, np.tile(np.arange(n), self.DEGREE), "coefficient", r)
        secret = np.rint(np.clip(x, -1000, 1000) * 2**12).astype(np.int64) % P
        polynomial = [secret, *self.coefficients(r, secret.shape)]
        collected = []
        for holder in range(n):
            point = holder + 1
            share = np.zeros_like(secret)
            for coefficient in reversed(polynomial):  # Horner
                share = (share * point + coefficient) % P
            others = [node for node in range(n) if node != holder]
            got = channel.send(1, others, holder, f"share {point}", share[others], encrypted=True)
            collected.append((got.sum(axis=0) + share[holder]) % P)
        opened = channel.send(2, np.arange(n), SERVER, "sum of shares", np.stack(collected))
        total = np.zeros((runs, m), dtype=np.int64)
        for i in range(n):
            top, bottom = 1, 1
            for j in range(n):
                if i != j:
                    top, bottom = top * (j + 1) % P, bottom * (j - i) % P
            total = (total + opened[i] * (top * pow(bottom, -1, P) % P)) % P
        mean = np.where(total > P // 2, total - P, total) / 2**12 / n
        mean = channel.send(3, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: a ring on encrypted lines; node 0 blinds by uniform words, each adds its own, node 0 takes the blinding off and
# tells the total. Nodes 1 and 2 see node 0 blinded, and the total.
class BlindedRing:
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        blind = (self.draw_masks(runs, m, network, rng) if masks is None else masks)[:, 0]
        channel.hold(0, np.array([0]), "blinding", blind[None])
        words = quantise(x)
        token = words[0] + blind
        for hop in range(1, n):
            token = channel.send(hop, hop - 1, hop, "token", token[None], encrypted=True)[0] + words[hop]
        token = channel.send(n, n - 1, 0, "token", token[None], encrypted=True)[0]
        mean = dequantise(token - blind) / n
        told = channel.send(n + 1, 0, np.arange(1, n), "mean", mean[None], encrypted=True, content=np.zeros(n - 1, int))
        result = np.concatenate([mean[None], np.broadcast_to(told[0], (n - 1, runs, m))])
        return result.transpose(1, 0, 2).copy(), channel.transcript


# Right: a binary tree in the clear; every pair has a pad, partial sums climb, the root tells the total. What climbs is
# masked by the pads of those who are not below; only the total has none.
class Tree:
    PARENT = {3: 1, 4: 1, 1: 0, 2: 0}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pad", pads)
        got = channel.send(0, i, j, "pad", pads, encrypted=True)
        signs = np.zeros((n, len(i)), dtype=np.int64)
        signs[i, np.arange(len(i))] = 1
        signs[j, np.arange(len(j))] = -1
        words = quantise(x)
        for node in range(n):
            for e in np.flatnonzero(signs[node]):
                words[node] = words[node] + pads[e] if signs[node, e] > 0 else words[node] - got[e]
        subtotal = {node: words[node] for node in range(n)}
        for step, child in enumerate((3, 4, 1, 2)):
            parent = self.PARENT[child]
            up = channel.send(1 + step, child, parent, "subtotal", subtotal[child][None])
            subtotal[parent] = subtotal[parent] + up[0]
        mean = dequantise(subtotal[0]) / n
        told = {0: mean}
        for step, child in enumerate((1, 2, 3, 4)):
            told[child] = channel.send(5 + step, self.PARENT[child], child, "mean", told[self.PARENT[child]][None])[0]
        return np.stack([told[node] for node in range(n)], axis=1), channel.transcript


# Right: gossip: each node tells each neighbour a large normal mask, adds what it told and takes off what it was told, then
# all average with public weights in the clear. What passes is public combinations of masked vectors.
class Gossip:
    SIGMA, ROUNDS = 1e6, 16

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(0.0, self.SIGMA, size=(runs, 2 * len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        arcs = np.concatenate([network.edges, network.edges[:, ::-1]])
        channel.hold(0, arcs[:, 0], "mask", r)
        told = channel.send(0, arcs[:, 0], arcs[:, 1], "mask", r, encrypted=True)
        state = x.copy()
        np.add.at(state, arcs[:, 0], r)
        np.subtract.at(state, arcs[:, 1], told)
        weight = 0.6 / (n - 1)
        for step in range(self.ROUNDS):
            got = channel.send(1 + step, arcs[:, 0], arcs[:, 1], "state", state[arcs[:, 0]])
            after = (1 - weight * (n - 1)) * state
            np.add.at(after, arcs[:, 1], weight * got)
            state = after
        return state.transpose(1, 0, 2), channel.transcript


# Right: PDMM averaging (Li, Heusdens and Christensen 2020): dual variables start at large normal draws that neighbours
# tell each other once; then every node broadcasts its iterate in the clear. Only the sum follows from all of them.
class SubspacePerturbation:
    C, ROUNDS, SIGMA = 0.4, 25, 1e4

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(0.0, self.SIGMA, size=(runs, 2 * len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = s.shape
        channel = channel or Channel()
        drawn = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        arcs = np.concatenate([network.edges, network.edges[:, ::-1]])  # z of arc (i, j) belongs to i
        channel.hold(0, arcs[:, 0], "z", drawn)
        told = channel.send(0, arcs[:, 0], arcs[:, 1], "z", drawn, encrypted=True)
        place = {(i, j): e for e, (i, j) in enumerate(arcs.tolist())}
        z = {pair: drawn[e] for pair, e in place.items()}
        copy = {pair: told[e] for pair, e in place.items()}  # as the other end knows it
        sign = {(i, j): 1.0 if i < j else -1.0 for i, j in place}
        neighbours = {i: [j for a, j in place if a == i] for i in range(n)}
        for step in range(self.ROUNDS):
            x = np.stack(
                [
                    (s[i] - sum(sign[i, j] * z[i, j] for j in neighbours[i])) / (1 + self.C * len(neighbours[i]))
                    for i in range(n)
                ]
            )
            heard = channel.send(1 + step, arcs[:, 0], arcs[:, 1], "x", x[arcs[:, 0]])
            fresh = {}
            for (i, j), e in place.items():  # j works out its own z of the next step from x_i and z of arc (i, j)
                fresh[j, i] = copy[i, j] + 2 * self.C * sign[i, j] * heard[e]
            mirrored = {(j, i): z[i, j] + 2 * self.C * sign[i, j] * x[i] for i, j in place}
            z, copy = fresh, mirrored
        return x.transpose(1, 0, 2), channel.transcript


# Right: full sharing: each node splits into one uniform part for every other node, keeps the rest, and broadcasts the sum
# of what it has; everybody adds up.
class FullSharing:
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**32, size=(runs, network.n * (network.n - 1), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        parts = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        sender, receiver = map(np.array, zip(*pairs, strict=True))
        channel.hold(0, sender, "part", parts)
        got = channel.send(0, sender, receiver, "part", parts, encrypted=True)
        fixed = np.rint(np.clip(x, -1000, 1000) * 2**16).astype(np.int64) % 2**32
        kept = fixed.astype(np.uint64)
        for e, (i, j) in enumerate(pairs):
            kept[i] = (kept[i] - parts[e]) & np.uint64(0xFFFFFFFF)
            kept[j] = (kept[j] + got[e]) & np.uint64(0xFFFFFFFF)
        heard = channel.send(1, sender, receiver, "opened", kept[sender])
        total = [
            reduce(np.add, [heard[e] for e, (_, j) in enumerate(pairs) if j == i], kept[i]) & np.uint64(0xFFFFFFFF)
            for i in range(n)
        ]
        total = np.stack(total).astype(np.int64)
        mean = np.where(total >= 2**31, total - 2**32, total) / 2**16 / n
        return mean.transpose(1, 0, 2), channel.transcript


CASES = [
    *known("three computing nodes", ThreeServers, "additive shares; nodes 1 and 2 lack one", **SAFE),
    *known("Shamir of degree two", ShamirSum, "three of five shares open; nodes 1 and 2 have two", **SAFE),
    *known("blinded ring", BlindedRing, "uniform blinding by node 0", **NODES),
    *known("tree of masked subtotals", Tree, "a pad of each pair", **NODES),
    *known("gossip of masked states", Gossip, "masks that sum to zero, far larger than data", **NODES),
    *known("PDMM with perturbed duals", SubspacePerturbation, "only the sum of honest nodes has no dual", **NODES),
    *known("full sharing modulo 2^32", FullSharing, "uniform parts", **NODES),
]
