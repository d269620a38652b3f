"""Slips of practice: ranges, reuse, indices, drop-out, order and metadata."""

from __future__ import annotations

import functools
import secrets

import numpy as np

from secmix.transcript import SERVER

from .common import FOUR, U64, PairSum, WordSum, agree, begin, decode, encode, release

P = 2**61 - 1


class WShortWords(WordSum):
    """Draw masks of 16 bits for words of 64, whose unit is 24 bits: they hide less than a hundredth of a unit, and the
    server reads all digits before that of each node's data."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**16, size=(runs, len(network.edges), m), dtype=U64)


class WLastEntryBare(PairSum):
    """Mask entries from 0 to m - 2, as a range that was meant to include its end: the last entry of each node goes bare
    to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads, hidden = self.pads(r, other, network), s.copy()
        for entry in range(s.shape[2] - 1):
            hidden[:, :, entry] += pads[:, :, entry]
        return hidden


class WPadsOfEightRounds(WordSum):
    """Label the masks of a fit's seeds by the round modulo eight, as one byte of flags had room for: two rounds that
    are eight apart have the same masks, and the server subtracts."""

    audited = FOUR
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, seeds, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, seeds)
        hidden = encode(s)
        for e, (a, b) in enumerate(network.edges):
            for run in range(s.shape[1]):
                label = int(channel.iteration % 8)
                mine, theirs = (np.random.default_rng([*each[e, run], label]) for each in (seeds, other))
                hidden[a, run] += mine.integers(0, 2**64, size=s.shape[2], dtype=U64)
                hidden[b, run] -= theirs.integers(0, 2**64, size=s.shape[2], dtype=U64)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)


class WShareAtZero:
    """Evaluate polynomials of Shamir's at 0 to n - 1, as ranges begin, counted from node 1: its share is the secret of
    each node itself, which it reads."""

    audited = {"a": "nodes 1 and 2", "n": 4}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, P, size=(runs, network.n, 2 * m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        n, m, nodes = network.n, s.shape[2], np.arange(network.n)
        channel.hold(-1, nodes, "coefficients", r)
        secret = np.rint(np.clip(s, -(2.0**20), 2.0**20) * 2.0**20).astype(np.int64) % P
        sums = []
        for holder in range(n):
            at = (holder - 1) % n
            shares = (secret.astype(object) + r[..., :m].astype(object) * at + r[..., m:].astype(object) * at**2) % P
            got = channel.send(0, nodes, holder, "share", shares.astype(np.int64), encrypted=True)
            sums.append((got.astype(object).sum(axis=0) % P).astype(np.int64))
        told = channel.send(1, nodes, SERVER, "sum of shares", np.stack(sums))
        total = told[1:2]
        total = np.where(total > P // 2, total - P, total).astype(float) / 2.0**20 / n
        return release(channel, network, total)


class WRingToMinusOne:
    """Pass a masked running sum around a ring to the node before, of which that of node 0 is written as -1, which is
    the server: it reads the sum of node 0 and the first mask, and the mask itself is told it to take off the total."""

    audited = FOUR

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, 1, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        channel.hold(-1, 0, "mask", r[:1])
        running = channel.send(0, 0, -1, "running sum", (s[0] + r[0])[None])
        mask = channel.send(1, 0, SERVER, "mask", r[:1])
        running = channel.send(2, SERVER, network.n - 1, "running sum", running)
        for node in range(network.n - 1, 0, -1):
            running = channel.send(3, node, SERVER if node == 1 else node - 1, "running sum", running + s[node])
        return release(channel, network, (running - mask) / network.n)


@functools.cache
def _seed_of(first: int, second: int) -> bytes:
    return secrets.token_bytes(32)


class WCachedSeeds(WordSum):
    """Cache the seed of each pair for the process, so that all rounds and all runs have the same masks: the server
    subtracts two uploads of a node and learns how its data changed."""

    audited = FOUR

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, _, channel = begin(self, inputs, network, rng, masks, channel)
        hidden = encode(s)
        for a, b in network.edges.tolist():
            words = np.random.default_rng(np.frombuffer(_seed_of(a, b), np.uint32)).integers(
                0, 2**64, size=s.shape[2], dtype=U64
            )
            hidden[a] += words
            hidden[b] -= words
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)


class WLeaveOneOut(PairSum):
    """Leave one node out of each round in turn, and release the sum of the others: two rounds on the same data differ
    by what two nodes hold, and five of them tell the server the data of each."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other, out = agree(channel, network, r), channel.iteration % 5
        weights = np.array([[[0.0 if node == out else 1.0]] for node in range(network.n)])
        up = channel.send(0, np.arange(network.n), SERVER, "masked", weights * s + self.pads(r, other, network))
        return release(channel, network, up.sum(axis=0, keepdims=True) / 4)


class WQuietNearZero(PairSum):
    """Send nothing from a node whose vector is small, as nothing changed there: that it is silent tells the server and
    whoever listens about its data."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        hidden = s + self.pads(r, agree(channel, network, r), network)
        loud = [node for node in range(network.n) if np.abs(s[node]).max() > 1e-3]
        up = channel.send(0, np.array(loud), SERVER, "masked", hidden[loud])
        return release(channel, network, up.sum(axis=0, keepdims=True) / network.n)


class WRetried(PairSum):
    """Send again, with one more local step, behind the same masks where a public lot lost the first upload after it had
    arrived: the server subtracts, and the difference of the two is half of a node's data."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        pads, nodes = self.pads(r, agree(channel, network, r), network), np.arange(network.n)
        up = channel.send(0, nodes, SERVER, "masked", s + pads)
        if rng.random() < 0.05:
            up = channel.send(1, nodes, SERVER, "masked again", 1.5 * s + pads)
        return release(channel, network, up.mean(axis=0, keepdims=True))


class WDroppedBoth(PairSum):
    """Send the server the masks that a node which a public lot declares lost shares with the others, while its upload,
    which was only late, is kept: the server takes the masks off and reads its data."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other, nodes = agree(channel, network, r), np.arange(network.n)
        up = channel.send(0, nodes, SERVER, "masked", s + self.pads(r, other, network))
        lost = int(rng.integers(5))
        for e, (a, b) in enumerate(network.edges.tolist()):
            if lost in (a, b):
                channel.send(1, b if lost == a else a, SERVER, "mask of the lost", r[e][None])
        return release(channel, network, up.mean(axis=0, keepdims=True))


class WSameForAllEntries(PairSum):
    """Draw one mask for a vector and broadcast it, since each upload then looks random: the differences of a node's
    entries go bare to the server."""

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), 1)) + np.zeros((1, 1, m))


class WSeedOfClock(WordSum):
    """Seed the pads of each round by 24 bits that the pair drew at its start, as identifiers of runs of it are short: the
    server tries all, and sees which seed leaves small numbers."""

    audited = FOUR

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**24, size=(runs, len(network.edges), 1))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, seeds, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, seeds)
        hidden = encode(s)
        for e, (a, b) in enumerate(network.edges):
            for run in range(s.shape[1]):
                mine, theirs = (np.random.default_rng(each[e, run, 0]) for each in (seeds, other))
                hidden[a, run] += mine.integers(0, 2**64, size=s.shape[2], dtype=U64)
                hidden[b, run] -= theirs.integers(0, 2**64, size=s.shape[2], dtype=U64)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)
