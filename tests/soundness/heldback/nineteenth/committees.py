"""Shares: a committee of three, everybody, two servers, replicated parties, and seeds in place of shares."""

from __future__ import annotations

import hashlib
import itertools
import os
from functools import reduce

import numpy as np

from secmix.transcript import SERVER

from .common import UNIT, back, from_words, start, to_words

PRIME = 2**61 - 1


def encode(x, precision=10**6):
    """Fixed point modulo the prime."""
    return np.rint(np.clip(x, -(10**6), 10**6) * precision).astype(np.int64) % PRIME


def decode(total, precision=10**6):
    """Read numbers above half of the prime as negative."""
    return np.where(total > PRIME // 2, total - PRIME, total) / precision


class R15CommitteeOfThree:
    """Each node splits its vector modulo a prime among nodes 0, 1 and 2; two of the three miss one share of each."""

    audited = {"a": "0+1", "n": 5}
    committee = (0, 1, 2)

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, PRIME, size=(runs, network.n * (len(self.committee) - 1), m), dtype=np.int64)

    def split(self, secret, randoms):
        last = reduce(lambda rest, r: (rest - r) % PRIME, randoms, secret)
        return [*randoms, last]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, k = len(x), len(self.committee)
        line.hold(-1, np.repeat(np.arange(n), k - 1), "share", drawn)
        secrets = encode(x)
        kept = dict.fromkeys(self.committee, 0)
        for node in range(n):
            shares = self.split(secrets[node], drawn[node * (k - 1) : (node + 1) * (k - 1)])
            for member, share in zip(self.committee, shares):
                arrived = line.send(0, node, member, "share", share, encrypted=True)
                kept[member] = (kept[member] + arrived) % PRIME
        sums = [line.send(1, member, SERVER, "sum of shares", kept[member]) for member in self.committee]
        total = sum(sums) % PRIME
        return back(line, n, decode(total) / n)


class R16SharesOfTheSystem:
    """Every node cuts its vector into a word for every node by os.urandom and tells the sum of what it got."""

    audited = {"a": "1+3", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 1), dtype=np.uint64)  # not used: words are the system's

    def random_words(self, shape):
        return np.frombuffer(os.urandom(8 * int(np.prod(shape))), dtype=np.uint64).reshape(shape)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, _ = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        others = [[peer for peer in range(n) if peer != node] for node in range(n)]
        own = to_words(x)
        inbox = [[] for _ in range(n)]
        for node in range(n):
            pieces = self.random_words((n - 1, runs, m))
            line.hold(-1, [node] * (n - 1), "piece", pieces)
            own[node] -= pieces.sum(axis=0)
            for peer, piece in zip(others[node], pieces):
                inbox[peer].append(line.send(-1, node, peer, "piece", piece, encrypted=True))
        subtotals = np.stack([own[node] + sum(inbox[node]) for node in range(n)])
        total = line.send(0, np.arange(n), SERVER, "subtotal", subtotals).sum(axis=0)
        return back(line, n, from_words(total) / n)


class R17SeedForTheHelper:
    """The helper gets seeds, the server vectors less what they stretch to; the helper tells the sum of stretches."""

    audited = {"a": "server", "n": 5}
    helper = 4

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=np.uint64)

    def stretch(self, seeds, m):
        return np.stack([np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(8 * m), "<u8") for seed in seeds])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, _, m = x.shape
        nodes = np.arange(n)
        line.hold(-1, nodes, "seed", drawn)
        seeds = line.send(-1, nodes, self.helper, "seed", drawn, encrypted=True)
        leader = to_words(x)
        for node in nodes:
            leader[node] -= self.stretch(drawn[node], m)
        held_by_server = line.send(0, nodes, SERVER, "leader share", leader).sum(axis=0)
        stretched = np.stack([self.stretch(seed, m) for seed in seeds]).sum(axis=0)
        held_by_server += line.send(1, self.helper, SERVER, "helper total", stretched)
        return back(line, n, from_words(held_by_server) / n)


class R18ReplicatedParties:
    """Three parties hold two of three shares each, and each opens one sum of shares; one party misses a share."""

    audited = {"a": "1", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 2 * network.n, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = len(x)
        line.hold(-1, np.tile(np.arange(n), 2), "share", drawn)
        shares = np.stack([drawn[:n], drawn[n:], to_words(x) - drawn[:n] - drawn[n:]])
        held = {}
        for party in range(3):
            for k in (party, (party + 1) % 3):
                held[party, k] = line.send(0, np.arange(n), party, f"share {k}", shares[k], encrypted=True)
        sums = np.stack([held[party, party].sum(axis=0) for party in range(3)])
        opened = line.send(1, np.arange(3), SERVER, "opened", sums)
        return back(line, n, from_words(opened.sum(axis=0)) / n)


class Share:
    """A share that adds up with others, as libraries of secret sharing have it."""

    def __init__(self, words):
        self.words = words

    def __add__(self, other):
        return Share(self.words + other.words)

    def __radd__(self, zero):
        return self

    def __sub__(self, other):
        return Share(self.words - other.words)


class R19ShareObjects:
    """Shares are objects that know how to add; nodes deal them to three aggregators, who open their totals."""

    audited = {"a": "server+2", "n": 6}
    aggregators = 3

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n * 2, m), dtype=np.uint64)

    def deal(self, secret, coins):
        randoms = [Share(coin) for coin in coins]
        return [*randoms, Share(secret) - sum(randoms)]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = len(x)
        line.hold(-1, [node for node in range(n) for _ in range(2)], "coin", drawn)
        coins = np.split(drawn, n)
        dealt = [self.deal(secret, coin) for secret, coin in zip(to_words(x, UNIT), coins)]
        desks = [[] for _ in range(self.aggregators)]
        for node, desk in itertools.product(range(n), range(self.aggregators)):
            words = line.send(0, node, desk, "share", dealt[node][desk].words, encrypted=True)
            desks[desk].append(Share(words))
        totals = [Share(line.send(1, desk, SERVER, "total", sum(desks[desk]).words)) for desk in range(len(desks))]
        return back(line, n, from_words(sum(totals).words) / n)
