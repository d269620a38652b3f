"""Additive shares, Shamir's, coded masks, rings, trees and consensus."""

from __future__ import annotations

import secrets

import numpy as np

from secmix.transcript import SERVER
from secmix.wrap import wire

from .common import begin, publish


class R20TwoAggregators:
    """Each client sends one additive share to the server and one to a helper, who sends the sum of his on."""

    audited = {"a": "server", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, blind = begin(self, inputs, network, rng, masks, channel)
        n = len(s)
        helper, clients = n - 1, np.arange(n)
        channel.hold(-1, clients, "share of the helper", blind)
        words = np.rint(np.clip(s, -1000, 1000) * 2**16).astype(np.int64).astype(np.uint64)
        at_helper = channel.send(0, clients, helper, "share", blind, encrypted=True)
        at_server = channel.send(0, clients, SERVER, "share", words - blind, encrypted=True)
        from_helper = channel.send(1, helper, SERVER, "sum of shares", at_helper.sum(axis=0), encrypted=True)
        total = (at_server.sum(axis=0) + from_helper).view(np.int64)
        return publish(channel, n, total / 2**16 / n)


class R21PeerShares:
    """Clients split each number into shares for all others by ``secrets.randbelow``, add up shares and tell the sums."""

    audited = {"a": "1+2", "n": 5}
    q, base = 100103036233, 2**16

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 1), dtype=np.uint64)  # not used: shares are the system's

    def generate_shares(self, x, n):
        shares = [secrets.randbelow(self.q) for _ in range(n - 1)]
        shares.append((x - sum(shares)) % self.q)
        return shares

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, _ = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        encoded = np.rint(np.clip(s, -1000, 1000) * self.base).astype(np.int64) % self.q
        held = {k: [] for k in range(n)}
        for client in range(n):
            table = [[self.generate_shares(encoded[client, run, k], n) for k in range(m)] for run in range(runs)]
            table = np.moveaxis(np.array(table, dtype=np.int64), 2, 0)
            channel.hold(0, client, "shares", table[: n - 1].transpose(1, 0, 2).reshape(runs, -1))
            others = [k for k in range(n) if k != client]
            sent = channel.send(0, client, others, "share", table[others], encrypted=True)
            for k, share in zip(others, sent):
                held[k].append(share)
            held[client].append(table[client])
        sums = np.stack([sum(held[k]) % self.q for k in range(n)])
        route = [(i, j) for i in range(n) for j in range(n) if i != j]
        content = [i for i, _ in route]
        told = channel.send(1, content, [j for _, j in route], "sum of shares", sums, content=content)
        total = told.sum(axis=0) % self.q
        mean = np.where(total > self.q // 2, total - self.q, total) / self.base / n
        return np.repeat(mean[:, None], n, axis=1), channel.transcript


class R22Polynomials:
    """Clients share every word by a polynomial of degree two, add up shares, and a server interpolates."""

    audited = {"a": "1+2", "n": 5}
    p, degree = 2**31 - 1, 2

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.p, size=(runs, network.n * self.degree, m))

    def evaluate(self, coefficients, x):
        value = np.zeros_like(coefficients[0])
        for c in reversed(coefficients):
            value = np.mod(value * x + c, self.p)
        return value

    def weight(self, x, points):
        num = den = 1
        for other in points:
            if other != x:
                num, den = num * -other % self.p, den * (x - other) % self.p
        return num * pow(den, self.p - 2, self.p) % self.p

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n = len(s)
        channel.hold(-1, np.repeat(np.arange(n), self.degree), "coefficient", drawn)
        words = np.rint(np.clip(s, -1000, 1000) * 4096).astype(np.int64) % self.p
        points, box = range(1, n + 1), [[] for _ in range(n)]
        for i in range(n):
            polynomial = [words[i], *drawn[i * self.degree : (i + 1) * self.degree]]
            shares = np.array([self.evaluate(polynomial, x) for x in points])
            others = [k for k in range(n) if k != i]
            for k, share in zip(others, channel.send(0, i, others, "share", shares[others], encrypted=True)):
                box[k].append(share)
            box[i].append(shares[i])
        sums = np.array([np.mod(np.sum(shares, axis=0), self.p) for shares in box])
        got = channel.send(1, np.arange(n), SERVER, "sum of shares", sums)
        use = list(points)[: self.degree + 1]
        total = sum(got[x - 1] * self.weight(x, use) % self.p for x in use) % self.p
        total = total - self.p * (total > self.p // 2)
        return publish(channel, n, total / 4096 / n)


class R23CodedMasks:
    """Clients code their masks by Lagrange polynomials with one block of noise; the server decodes the sum of masks."""

    audited = {"a": "server+1", "n": 5}
    p, active, private = 2**31 - 1, 4, 1

    def draw_masks(self, runs, m, network, rng):
        blocks = self.active - self.private
        return rng.integers(0, self.p, size=(runs, network.n * self.active, -(-m // blocks)))

    def lagrange(self, targets, sources):
        table = np.ones((len(targets), len(sources)), dtype=np.int64)
        for a, target in enumerate(targets):
            for b, source in enumerate(sources):
                for other in sources:
                    if other != source:
                        ratio = (target - other) * pow(source - other, -1, self.p) % self.p
                        table[a, b] = table[a, b] * ratio % self.p
        return table

    def combine(self, table, blocks):
        out = np.zeros((len(table), *blocks.shape[1:]), dtype=np.int64)
        for k, block in enumerate(blocks):
            out = np.mod(out + np.mod(table[:, k, None, None] * block, self.p), self.p)
        return out

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        channel.hold(-1, np.repeat(np.arange(n), self.active), "mask and noise", drawn)
        beta, alpha = list(range(1, n + 1)), list(range(n + 1, n + 1 + self.active))
        code, blocks = self.lagrange(beta, alpha), self.active - self.private
        coded, masked = np.zeros((n, runs, drawn.shape[2]), dtype=np.int64), []
        for i in range(n):
            own = drawn[i * self.active : (i + 1) * self.active]
            shares = self.combine(code, own)
            others = [k for k in range(n) if k != i]
            arrived = channel.send(0, i, others, "coded mask", shares[others], encrypted=True)
            coded[others] = np.mod(coded[others] + arrived, self.p)
            coded[i] = np.mod(coded[i] + shares[i], self.p)
            mask = np.concatenate(list(own[:blocks]), axis=1)[:, :m]
            masked.append(np.mod(np.round(np.clip(s[i], -1000, 1000) * 2**12).astype("int64") + mask, self.p))
        total = np.mod(channel.send(1, np.arange(n), SERVER, "masked model", np.array(masked)).sum(axis=0), self.p)
        told = channel.send(2, np.arange(self.active), SERVER, "aggregate mask", coded[: self.active])
        decoded = self.combine(self.lagrange(alpha, beta[: self.active]), told)
        total = np.mod(total - np.concatenate(list(decoded[:blocks]), axis=1)[:, :m], self.p)
        return publish(channel, n, np.where(total > (self.p - 1) // 2, total - self.p, total) / 2**12 / n)


class R24ZeroSumConsensus:
    """Neighbours exchange random numbers that cancel in the sum, then mix what they hold with Metropolis weights."""

    audited = {"a": "eaves", "n": 5, "kind": "cycle"}
    rounds = 50

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(0.0, 1e5, size=(runs, 2 * len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, r = begin(self, inputs, network, rng, masks, channel)
        n, edges = len(s), network.edges.tolist()
        arcs = [(i, j) for i, j in edges] + [(j, i) for i, j in edges]
        src, dst = np.array(arcs).T
        channel.hold(-1, src, "obfuscation", r)
        arrived = channel.send(-1, src, dst, "obfuscation", r, encrypted=True)
        state = s.copy()
        for k, (i, j) in enumerate(arcs):
            state[i] -= r[k]
            state[j] += arrived[k]
        for step in range(self.rounds):
            heard = channel.send(step, src, dst, "state", state, content=src)
            mixed = state / 3
            for j in range(n):
                for i in (i for i, k in arcs if k == j):
                    mixed[j] = mixed[j] + heard[i] / 3
            state = mixed
        return state.transpose(1, 0, 2), channel.transcript


class R25SegmentsOfARing:
    """A vector is cut into three segments; each goes round the ring from a starter of its own, under his mask."""

    audited = {"a": "2", "n": 5, "kind": "cycle"}
    segments, modulus = 3, 2**48

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.modulus, size=(runs, self.segments, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        channel.hold(-1, np.arange(self.segments), "start", drawn)
        words = np.rint(np.clip(s, -1000, 1000) * 2**16).astype(np.int64) % self.modulus
        cuts = np.linspace(0, m, self.segments + 1).astype(int)
        parts = []
        for starter, (low, high) in enumerate(zip(cuts, cuts[1:])):
            start = drawn[starter][:, low:high]
            running = (start + words[starter][:, low:high]) % self.modulus
            for hop in range(n):
                here, there = (starter + hop) % n, (starter + hop + 1) % n
                running = channel.send(hop, here, there, "running", running, encrypted=True)
                if there != starter:
                    running = (running + words[there][:, low:high]) % self.modulus
            total = (running - start) % self.modulus
            mean = np.where(total >= self.modulus // 2, total - self.modulus, total) / 2**16 / n
            others = [k for k in range(n) if k != starter]
            content = np.zeros(len(others), dtype=int)
            parts.append(channel.send(n, starter, others, "mean", mean[None], encrypted=True, content=content)[0])
        return np.repeat(np.concatenate(parts, axis=1)[:, None], n, axis=1), channel.transcript


def leaf(line, vector, coins):
    """Mask a vector with all others, add what children send, and pass it to the parent."""
    word = np.rint(np.clip(vector, -1000, 1000) * 2**16).astype(np.int64).astype(np.uint64)
    for other, mask in zip([k for k in line.others if k > line.me], coins):
        line.send(other, "mask", mask, encrypted=True)
        word = word + mask
    for mask in line.gather("mask", [k for k in line.others if k < line.me]).values():
        word = word - mask
    for child in (2 * line.me + 1, 2 * line.me + 2):
        if child <= max([line.me, *line.others]):
            word = word + line.receive(child, "partial sum")
    line.send((line.me - 1) // 2 if line.me else SERVER, "partial sum", word)
    return line.receive(SERVER, "average")


def root(line):
    """Read the sum that comes up the tree, and tell everybody the mean."""
    total = line.receive(0, "partial sum").astype(np.int64)
    line.broadcast("average", total / 2**16 / len(line.others))


class R26TreeOfClients:
    """Party by party: pairs agree on masks, partial sums go up a binary tree, the server reads the sum of all."""

    audited = {"a": "server+0", "n": 6}

    def __init__(self):
        self.inner = wire(leaf, root, coins=5, draw=lambda rng, shape: rng.integers(0, 2**64, shape, dtype=np.uint64))

    def draw_masks(self, runs, m, network, rng):
        return self.inner.draw_masks(runs, m, network, rng)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        return self.inner.average(inputs, network, rng, masks=masks, channel=channel)
