"""One plausible mistake each."""

from __future__ import annotations

import hashlib

import numpy as np

from secmix.transcript import SERVER

from .clients import R12DoubleMasks
from .common import PairKeys, begin, hand_out, publish
from .shares import R22Polynomials
from .streams import R03WorkerShares


def fixed(s):
    return np.rint(np.clip(s, -1000, 1000) * 2**16).astype(np.int64).astype(np.uint64)


def expand(seed, m):
    return np.random.default_rng(np.frombuffer(seed, np.uint32)).integers(0, 2**64, m, dtype=np.uint64)


class W03SeedOfTheServer:
    """The seed of a round comes from the server, who so knows the masks of all pairs."""

    audited = {"a": "server", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 4), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        told = channel.send(-1, SERVER, np.arange(n), "round seed", drawn, encrypted=True, content=np.zeros(n, int))
        y = fixed(s)
        for i in range(n):
            for j in range(n):
                label = min(i, j).to_bytes(2, "big") + max(i, j).to_bytes(2, "big")
                for run in range(runs):
                    if i != j:
                        mask = expand(hashlib.sha256(told[0, run].tobytes() + label).digest(), m)
                        y[i, run] = y[i, run] + mask if i < j else y[i, run] - mask
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)


class W04RoundInAByte(PairKeys):
    """The round has one byte in the label, so the masks of round 256 are those of round 0."""

    audited = {"a": "server", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        label = b"round" + bytes([channel.iteration % 256])
        y = fixed(s)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                y[i, run] += expand(hashlib.sha256(mine[e, run].tobytes() + label).digest(), m)
                y[j, run] -= expand(hashlib.sha256(theirs[e, run].tobytes() + label).digest(), m)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)


class W05OneNumberAVector(R03WorkerShares):
    """Workers exchange one number for a whole vector, so the differences between its entries show."""

    audited = {"a": "server", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        shape = (runs, network.n * (network.n - 1), 1)
        return np.repeat(rng.integers(0, self.prime, size=shape, dtype=np.int64), m, axis=2)


class W06LateVector(R12DoubleMasks):
    """The vector of the lost client comes late, and the server asks for its self seed too: nothing hides it any more."""

    audited = {"a": "server", "n": 5}

    def late(self, channel, y):
        channel.send(1, self.gone, SERVER, "masked", y[self.gone])
        return list(range(len(y)))


class W07TailWithoutMask(PairKeys):
    """Only whole chunks are masked; the entries that are left at the end go as they are."""

    audited = {"a": "server", "n": 5}
    length = 5

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        y = fixed(s)
        for chunk in range(m // self.length):
            part = slice(chunk * self.length, (chunk + 1) * self.length)
            label = chunk.to_bytes(4, "big") + channel.iteration.to_bytes(8, "big")
            for e, (i, j) in enumerate(network.edges.tolist()):
                for run in range(runs):
                    y[i, run, part] += expand(hashlib.sha256(mine[e, run].tobytes() + label).digest(), self.length)
                    y[j, run, part] -= expand(hashlib.sha256(theirs[e, run].tobytes() + label).digest(), self.length)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)


class W08ZeroSharesOfARing:
    """Zero shares of neighbours on a ring are taken to stand any coalition; two neighbours of a node know its mask."""

    audited = {"a": "server+1+3", "n": 5}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        following, before = hand_out(channel, [(i, (i + 1) % n) for i in range(n)], keys)
        y = fixed(s)
        for i in range(n):
            for run in range(runs):
                y[i, run] += np.random.default_rng([*following[i, run], channel.iteration]).integers(
                    0, 2**64, m, np.uint64
                )
                y[i, run] -= np.random.default_rng([*before[i - 1, run], channel.iteration]).integers(
                    0, 2**64, m, np.uint64
                )
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)


class W09OneBlindForAll:
    """A helper gives all clients the same blind, and tells the server the sum of blinds: a multiple of it."""

    audited = {"a": "server", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, blind = begin(self, inputs, network, rng, masks, channel)
        n = len(s)
        helper = n - 1
        clients = np.arange(n)
        channel.hold(-1, helper, "blind", blind[0])
        got = channel.send(-1, helper, clients[:-1], "blind", blind, encrypted=True, content=np.zeros(n - 1, int))
        blinds = np.concatenate([np.repeat(got, n - 1, axis=0), blind])
        masked = channel.send(0, clients, SERVER, "masked", fixed(s) + blinds)
        off = channel.send(0, helper, SERVER, "sum of blinds", blinds.sum(axis=0))
        return publish(channel, n, (masked.sum(axis=0) - off).astype(np.int64) / 2**16 / n)


class W10OnePolynomial(R22Polynomials):
    """The polynomial of a client is drawn once for its vector: shares of two entries differ by what the entries do."""

    audited = {"a": "1", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return np.repeat(rng.integers(0, self.p, size=(runs, network.n * self.degree, 1)), m, axis=2)


class W11LastClusterAlone:
    """Clients mask within clusters of two, and the server adds up clusters; the last of five is alone in his."""

    audited = {"a": "server", "n": 5}
    size = 2

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n = len(s)
        y, total = fixed(s), 0
        for first in range(0, n, self.size):
            members = list(range(first, min(first + self.size, n)))
            for i, j in zip(members, members[1:]):
                channel.hold(-1, i, "mask", drawn[i])
                y[i] += drawn[i]
                y[j] -= channel.send(-1, i, j, "mask", drawn[i], encrypted=True)
            total = total + channel.send(0, members, SERVER, "masked", y[members]).sum(axis=0)
        return publish(channel, n, total.astype(np.int64) / 2**16 / n)


class W12KeyOfTheGroup:
    """All clients have one key, and the label of a mask has the round but not the pair: all pairs have one mask."""

    audited = {"a": "server", "n": 5}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 4), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        channel.hold(-1, 0, "group key", drawn[0])
        got = channel.send(-1, 0, np.arange(1, n), "group key", drawn, encrypted=True, content=np.zeros(n - 1, int))
        copies = [drawn[0]] + [got[0]] * (n - 1)
        y = fixed(s)
        for i in range(n):
            for j in range(n):
                for run in range(runs):
                    label = b"pair mask" + channel.iteration.to_bytes(8, "big")
                    if i != j:
                        mask = expand(hashlib.sha256(copies[i][run].tobytes() + label).digest(), m)
                        y[i, run] = y[i, run] + mask if i < j else y[i, run] - mask
        sent = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, sent.sum(axis=0).astype(np.int64) / 2**16 / n)


class W13SeedOfFourBytes(PairKeys):
    """Of the digest of a pair's key four bytes seed the generator: all seeds can be tried."""

    audited = {"a": "server", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        label = channel.iteration.to_bytes(8, "big")
        y = fixed(s)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                for node, key in ((i, mine[e, run]), (j, theirs[e, run])):
                    seed = int.from_bytes(hashlib.sha256(key.tobytes() + label).digest()[:4], "big")
                    mask = np.random.default_rng(seed).integers(0, 2**64, m, dtype=np.uint64)
                    y[node, run] = y[node, run] + mask if node == i else y[node, run] - mask
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)


class W14ScaleInTheClear(PairKeys):
    """To agree on one scale for all, each client tells the server the largest entry of its vector."""

    audited = {"a": "server", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        largest = channel.send(-1, np.arange(n), SERVER, "largest", np.abs(s).max(axis=2, keepdims=True))
        scale = np.maximum(largest.max(axis=0), 1e-6)
        got = channel.send(-1, SERVER, np.arange(n), "scale", scale[None], content=np.zeros(n, int))
        y = np.rint(s / got[0] * 2**30).astype(np.int64).astype(np.uint64)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                y[i, run] += np.random.default_rng([*mine[e, run], channel.iteration]).integers(0, 2**64, m, np.uint64)
                y[j, run] -= np.random.default_rng([*theirs[e, run], channel.iteration]).integers(
                    0, 2**64, m, np.uint64
                )
        total = channel.send(0, np.arange(n), SERVER, "masked", y).sum(axis=0).astype(np.int64)
        return publish(channel, n, total / 2**30 * scale / n)
