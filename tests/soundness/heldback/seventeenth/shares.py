"""Shares of secrets: additive over words, Shamir's over fields, replicated, of zero, and coded masks."""

from __future__ import annotations

import functools
import hashlib
import operator

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import tell_all


class RAdditiveShares:
    """Split each vector into one share for each node modulo 2^64; nodes add up shares and tell the server: right, the
    shares that two honest nodes keep from each other hide all but their sum."""

    audited = {"n": 5, "a": "server+2"}

    def draw_masks(self, runs, m, network, rng):
        n = network.n
        return rng.integers(0, 2**64, size=(runs, n * (n - 1), m), dtype=np.uint64)

    def share(self, secret, randomness):
        return [*randomness, secret - np.sum(randomness, axis=0, dtype=np.uint64)]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        drawn = drawn.reshape(runs, n, n - 1, m).transpose(1, 2, 0, 3)
        box = {i: [] for i in range(n)}
        for i in range(n):
            channel.hold(0, i, "secret", x[:, i])
            for r in drawn[i]:
                channel.hold(0, i, "randomness", r)
            secret = np.rint(x[:, i] * 2**24).astype(np.int64).astype(np.uint64)
            for j, share in enumerate(self.share(secret, drawn[i])):
                box[j].append(share if i == j else channel.send(0, i, j, "share", share, encrypted=True))
        sums = [functools.reduce(operator.add, box[j]) for j in range(n)]
        told = [channel.send(1, j, SERVER, "sum of shares", sums[j]) for j in range(n)]
        return tell_all(channel, n, functools.reduce(operator.add, told).astype(np.int64) / 2**24 / n)


class RShamirVandermonde:
    """Share by polynomials of degree two through a Vandermonde matrix modulo 2^31 - 1, and open sums of shares to all:
    right, two nodes lack a third share of each honest node's vector."""

    audited = {"n": 5, "a": "1+3"}
    P = 2**31 - 1
    T = 3

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.P, size=(runs, network.n * (self.T - 1), m))

    def lagrange_at_zero(self, points):
        weights = []
        for a in points:
            top = bottom = 1
            for b in points:
                if b != a:
                    top, bottom = top * b % self.P, bottom * (b - a) % self.P
            weights.append(top * pow(bottom, -1, self.P) % self.P)
        return weights

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        coefficients = masks.reshape(runs, n, self.T - 1, m).transpose(2, 1, 0, 3)  # power, node, run, entry
        channel.hold(-1, np.arange(n), "input", x)
        for power in coefficients:
            channel.hold(-1, np.arange(n), "coefficient", power)
        secret = np.rint(x * 1e5).astype(np.int64) % self.P
        vandermonde = np.array([[pow(point, k, self.P) for k in range(self.T)] for point in range(1, n + 1)])
        held = np.zeros((n, runs, m), dtype=np.int64)
        for j in range(n):
            share = secret % self.P
            for k in range(1, self.T):
                share = (share + vandermonde[j, k] * coefficients[k - 1]) % self.P
            others = [i for i in range(n) if i != j]
            arrived = channel.send(0, others, j, "share", share[others], encrypted=True)
            held[j] = (share[j] + arrived.sum(axis=0)) % self.P
        pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
        senders, receivers = np.array(pairs).T
        opened = channel.send(1, senders, receivers, "sum share", held, content=senders)
        total = np.zeros((runs, m), dtype=np.int64)
        for j, weight in enumerate(self.lagrange_at_zero(range(1, self.T + 1))):
            total = (total + weight * opened[j]) % self.P
        signed = np.where(total > self.P // 2, total - self.P, total)
        return np.repeat((signed / 1e5 / n)[:, None], n, axis=1), channel.transcript


def _eval_at(poly, x, prime):
    """Evaluate a polynomial by Horner's rule."""
    accum = 0
    for coeff in reversed(poly):
        accum *= x
        accum += coeff
        accum %= prime
    return accum


class RShamirHorner:
    """Share number by number with Python's integers modulo 2^61 - 1, as the textbook has it, before the server, who
    gets sums of shares: right, they are a polynomial of the sum."""

    audited = {"n": 4, "a": "server"}
    prime = 2**61 - 1
    threshold = 3

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.prime, size=(runs, network.n * (self.threshold - 1), m))

    def _recover(self, shares):
        total = 0
        for x_j, y_j in shares:
            weight = 1
            for x_m, _ in shares:
                if x_m != x_j:
                    weight = weight * x_m * pow(x_m - x_j, -1, self.prime) % self.prime
            total = (total + y_j * weight) % self.prime
        return total

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        poly = masks.reshape(runs, n, self.threshold - 1, m)
        sums = np.zeros((n, runs, m), dtype=np.int64)
        for i in range(n):
            channel.hold(-1, i, "input", x[:, i])
            for k in range(self.threshold - 1):
                channel.hold(-1, i, "coefficient", poly[:, i, k])
            for j in range(n):
                share = np.zeros((runs, m), dtype=np.int64)
                for r in range(runs):
                    for c in range(m):
                        secret = int(np.rint(x[r, i, c] * 2**20)) % self.prime
                        share[r, c] = _eval_at([secret, *(int(a) for a in poly[r, i, :, c])], j + 1, self.prime)
                if i != j:
                    share = channel.send(0, i, j, "share", share, encrypted=True)
                sums[j] = (sums[j] + share) % self.prime
        got = channel.send(1, np.arange(n), SERVER, "sum share", sums)
        out = np.zeros((runs, m))
        for r in range(runs):
            for c in range(m):
                value = self._recover([(j + 1, int(got[j, r, c])) for j in range(self.threshold)])
                out[r, c] = np.where(value > self.prime // 2, value - self.prime, value) / 2**20 / n
        return tell_all(channel, n, out)


class RTwoAggregators:
    """Split each vector between two nodes that aggregate, modulo 2^32, one part uniform and the other the rest: right
    before one aggregator and a client, who have one part of each."""

    audited = {"n": 6, "a": "1+3"}

    def draw_masks(self, runs, m, network, rng):
        return np.frombuffer(rng.bytes(4 * runs * network.n * m), dtype=np.uint32).reshape(runs, network.n, m)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        r = masks.transpose(1, 0, 2)
        everybody = np.arange(n)
        channel.hold(-1, everybody, "input", x)
        channel.hold(-1, everybody, "pad", r)
        fixed = np.rint(x * 2**16).astype(np.int64).astype(np.uint32)
        part_a = channel.send(0, everybody[1:], 0, "part", (fixed - r)[1:], encrypted=True)
        clients = [0, *range(2, n)]
        part_b = channel.send(0, clients, 1, "part", r[clients], encrypted=True)
        total_a = part_a.sum(axis=0, dtype=np.uint32) + (fixed - r)[0]
        total_b = part_b.sum(axis=0, dtype=np.uint32) + r[1]
        told = channel.send(1, 1, 0, "total", total_b, encrypted=True)
        mean = (total_a + told).astype(np.int32) / 2**16 / n
        got = channel.send(2, 0, everybody[1:], "mean", mean[None], content=[0] * (n - 1))
        averages = np.empty((runs, n, m))
        averages[:, 0] = mean
        averages[:, 1:] = got.transpose(1, 0, 2)
        return averages, channel.transcript


class RSharesOfZero:
    """Take a pseudorandom share of zero: hash own key and the left neighbour's, and subtract (Araki et al. 2016): right
    before the server with one node, since the others' keys in between stay unknown."""

    audited = {"n": 5, "a": "server+2"}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=np.uint64)

    @staticmethod
    def prf(keys, counter, m):
        ctr = int(counter).to_bytes(8, "little")
        return np.stack([np.frombuffer(hashlib.shake_256(k.tobytes() + ctr).digest(8 * m), np.uint64) for k in keys])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        own, left = {}, {}
        for i in range(n):
            channel.hold(-1, i, "key", keys[:, i])
            own[i] = keys[:, i]
            left[(i + 1) % n] = channel.send(-1, i, (i + 1) % n, "key", keys[:, i], encrypted=True)
        total = np.zeros((runs, m), dtype=np.uint64)
        for i in range(n):
            channel.hold(-1, i, "x", x[:, i])
            zero_share = self.prf(own[i], channel.iteration, m) - self.prf(left[i], channel.iteration, m)
            word = np.rint(x[:, i] * 2**24).astype(np.int64).astype(np.uint64)
            total = total + channel.send(0, i, SERVER, "x + zero", word + zero_share)
        return tell_all(channel, n, total.view(np.int64) / 2**24 / n)


class RReplicated:
    """Share among three by replicated shares, of which each party gets two, add up and open what is missing: right, one
    party lacks a third share of each input, and learns the sum."""

    audited = {"n": 3, "a": "1"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 2 * network.n, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        party = [[np.zeros((runs, m), np.uint64), np.zeros((runs, m), np.uint64)] for _ in range(3)]
        for dealer in range(3):
            channel.hold(0, dealer, "input", x[:, dealer])
            a0, a1 = drawn[:, 2 * dealer], drawn[:, 2 * dealer + 1]
            channel.hold(0, dealer, "a0", a0)
            channel.hold(0, dealer, "a1", a1)
            parts = (a0, a1, np.rint(x[:, dealer] * 2**20).astype(np.int64).astype(np.uint64) - a0 - a1)
            for p in range(3):
                for slot in (0, 1):
                    part = parts[(p + slot) % 3]
                    if p != dealer:
                        part = channel.send(0, dealer, p, f"share {slot}", part, encrypted=True)
                    party[p][slot] = party[p][slot] + part
        averages = np.empty((runs, n, m))
        for p in range(3):
            missing = channel.send(1, (p + 2) % 3, p, "opening", party[(p + 2) % 3][0], encrypted=True)
            averages[:, p] = (party[p][0] + party[p][1] + missing).view(np.int64) / 2**20 / n
        return averages, channel.transcript


class RCodedMasks:
    """Encode each node's mask in shares of degree one, and let the server decode the sum of masks from sums of shares
    (LightSecAgg, So et al. 2022): right, one node's mask never stands alone, and two shares are needed for it."""

    audited = {"n": 5, "a": "server+1"}
    q = 2**31 - 1

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.q, size=(runs, 2 * network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        z, noise = masks[:, :n].transpose(1, 0, 2), masks[:, n:].transpose(1, 0, 2)
        nodes = np.arange(n)
        channel.hold(-1, nodes, "x", x)
        channel.hold(-1, nodes, "z", z)
        channel.hold(-1, nodes, "noise", noise)
        coded = np.zeros((n, runs, m), dtype=np.int64)
        for j in range(n):
            encoded = (z + (j + 1) * noise) % self.q
            for i in range(n):
                piece = encoded[i] if i == j else channel.send(-1, i, j, "coded mask", encoded[i], encrypted=True)
                coded[j] = (coded[j] + piece) % self.q
        y = channel.send(0, nodes, SERVER, "y", (np.rint(x * 1e4).astype(np.int64) + z) % self.q)
        pieces = channel.send(1, nodes[:2], SERVER, "aggregated coded masks", coded[:2])
        sum_of_masks = (2 * pieces[0] - pieces[1]) % self.q
        total = (y.sum(axis=0) - sum_of_masks) % self.q
        return tell_all(channel, n, np.where(total > self.q // 2, total - self.q, total) / 1e4 / n)
