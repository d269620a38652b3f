"""Right protocols, in the styles of practice."""

from __future__ import annotations

import functools
import hashlib
import hmac
import itertools
import operator
import secrets
import struct
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from secmix.transcript import SERVER

from .common import FIVE, FOUR, THREE, U64, PairSum, WordSum, agree, begin, decode, encode, release

P = 2**61 - 1


class RBatchesAndRounds(PairSum):
    """Mask all runs of a batch in one pass and single runs in another, which is right: each run has masks of its own."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if s.shape[1] == 1:
            return np.stack([row + pad for row, pad in zip(s, pads, strict=True)])
        return s + pads


class RIncidence(WordSum):
    """Multiply masks by the incidence matrix of the network, in whole numbers that wrap around, which is right."""

    def hidden(self, s, r, other, network, channel, given):
        signs = np.zeros((network.n, len(network.edges)), dtype=np.int64)
        for e, (a, b) in enumerate(network.edges):
            signs[a, e], signs[b, e] = 1, -1
        pads = np.einsum("ne,erm->nrm", signs, r.view(np.int64))
        return encode(s) + pads.view(U64)


class RZeroSums:
    """Let each node cut a zero into five uniform words, which go to all nodes on encrypted lines, and add up what it is
    sent to its mask, which is right: masks add up to zero, and no four nodes miss a part of the fifth's."""

    audited = FIVE

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, (network.n - 1) * m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        n, m, nodes = network.n, s.shape[2], np.arange(network.n)
        channel.hold(-1, nodes, "parts", r)
        parts = [r[:, :, k * m : (k + 1) * m] for k in range(n - 1)]
        parts.append(U64(0) - functools.reduce(operator.add, parts))
        words = encode(s)
        for k, part in enumerate(parts):
            words = words + channel.send(0, nodes, (nodes + k) % n, "part", part, encrypted=True)[(nodes - k) % n]
        up = channel.send(1, nodes, SERVER, "masked", words)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / n)


class RRing:
    """Pass a running sum around a ring behind a uniform word of the first node, which takes it off at the end, which is
    right before a server that hears the mean alone."""

    audited = FIVE

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        words = encode(s)
        channel.hold(-1, 0, "mask", r[0])
        running = words[0] + r[0]
        for node in range(network.n):
            running = channel.send(node, node, (node + 1) % network.n, "running sum", running, encrypted=True)
            if node + 1 < network.n:
                running = running + words[node + 1]
        total = channel.send(7, 0, SERVER, "sum", running - r[0])
        return release(channel, network, decode(total)[None] / network.n)


class RDerivedByHmac(WordSum):
    """Derive pads by HMAC of each pair's seed, with the run's own seed and a label for every block, which is right."""

    audited = FOUR

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, seeds, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, seeds)
        hidden = encode(s)
        for (e, (a, b)), run in itertools.product(enumerate(network.edges), range(s.shape[1])):
            hidden[a, run] += self.expand(seeds[e, run], s.shape[2])
            hidden[b, run] -= self.expand(other[e, run], s.shape[2])
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)

    def expand(self, seed, m):
        key = seed.tobytes()
        blocks = [hmac.new(key, struct.pack(">I", k), hashlib.sha256).digest() for k in range(-(-m // 4))]
        return np.concatenate([np.frombuffer(block, U64) for block in blocks])[:m]


class RSpawnedMasks(PairSum):
    """Draw each pair's masks by a generator that is spawned for it, which is right."""

    def draw_masks(self, runs, m, network, rng):
        children = rng.spawn(len(network.edges))
        return np.stack([child.normal(scale=1e6, size=(runs, m)) for child in children], axis=1)


class RSystemWords(WordSum):
    """Draw pads as bytes of the system's in the call, which is right: the first end holds and sends them."""

    audited = THREE

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, _, channel = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        rows = [[np.frombuffer(secrets.token_bytes(8 * m), U64) for _ in range(runs)] for _ in network.edges]
        r = np.array([np.stack(row) for row in rows])
        other = agree(channel, network, r)
        up = channel.send(0, np.arange(n), SERVER, "masked", self.hidden(s, r, other, network, channel, False))
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / n)


@dataclass
class _Client:
    """A node with its vector and what it shares with others."""

    vector: object
    plus: list = field(default_factory=list)
    minus: list = field(default_factory=list)

    def upload(self):
        return functools.reduce(operator.sub, self.minus, functools.reduce(operator.add, self.plus, self.vector))


class RClients(PairSum):
    """Have an object for each client, with lists of masks to add and to subtract, which is right."""

    def hidden(self, s, r, other, network, channel, given):
        clients = [_Client(row) for row in s]
        for e, (a, b) in enumerate(network.edges.tolist()):
            clients[a].plus.append(r[e])
            clients[b].minus.append(other[e])
        return np.stack([client.upload() for client in clients])


class RMessagesOfDicts(PairSum):
    """Send uploads as dictionaries of a vector and a public weight, which is right."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        hidden = s + self.pads(r, agree(channel, network, r), network)
        weight = np.ones((network.n, s.shape[1], 1))
        up = channel.send(0, np.arange(network.n), SERVER, "upload", {"vector": hidden, "weight": weight})
        mean = up["vector"].sum(axis=0, keepdims=True) / up["weight"].sum(axis=0, keepdims=True)
        return release(channel, network, mean)


class RShamir:
    """Share words modulo 2^61 - 1 by polynomials of degree two, and tell the server sums of shares (Shamir 1979), which
    is right before two nodes."""

    audited = {"a": "nodes 1 and 2", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, P, size=(runs, network.n, 2 * m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        n, m, nodes = network.n, s.shape[2], np.arange(network.n)
        channel.hold(-1, nodes, "coefficients", r)
        secret = np.rint(np.clip(s, -(2.0**20), 2.0**20) * 2.0**20).astype(np.int64) % P
        a, b, sums = r[..., :m].astype(object), r[..., m:].astype(object), []
        for holder in range(n):
            at = holder + 1
            shares = ((secret.astype(object) + a * at + b * at**2) % P).astype(np.int64)
            got = channel.send(0, nodes, holder, "share", shares, encrypted=True)
            sums.append((got.astype(object).sum(axis=0) % P).astype(np.int64))
        told = channel.send(1, nodes, SERVER, "sum of shares", np.stack(sums))
        total = (told[0].astype(object) * 3 - told[1].astype(object) * 3 + told[2].astype(object)) % P
        total = total.astype(np.int64)
        mean = np.where(total > P // 2, total - P, total).astype(float) / 2.0**20 / n
        return release(channel, network, mean[None])


class RTwoServers:
    """Split words in two uniform parts for nodes 0 and 1, which add up and tell the server sums (Prio without proofs),
    which is right before node 1 and another."""

    audited = {"a": "nodes 1 and 2", "n": 4}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "part", r)
        first = channel.send(0, nodes, 0, "part", r, encrypted=True).sum(axis=0)
        second = channel.send(0, nodes, 1, "rest", encode(s) - r, encrypted=True).sum(axis=0)
        told = channel.send(1, [0, 1], SERVER, "sum", np.stack([first, second]))
        return release(channel, network, decode(told.sum(axis=0, keepdims=True)) / network.n)


class RSquares(WordSum):
    """Sum squares behind words, for a spread, which is right: what is known is a sum over all nodes of what each computes
    alike."""

    def hidden(self, s, r, other, network, channel, given):
        square = np.clip(s, -10, 10) ** 2
        return super().hidden(square, r, other, network, channel, given)


class RHistogram:
    """Count in ten bins behind pairwise words, which is right: the server learns how many nodes fall in each bin."""

    audited = {"a": "server", "n": 20, "settings": {"data": {"name": "wine", "features": 2, "rows_per_node": 8}}}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 10), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other, edges = agree(channel, network, r), np.linspace(-5, 5, 9)
        bins = (s[..., :1] > edges).sum(axis=-1)
        words = (bins[..., None] == np.arange(10)).astype(U64)
        for e, (a, b) in enumerate(network.edges):
            words[a] += r[e]
            words[b] -= other[e]
        up = channel.send(0, np.arange(network.n), SERVER, "masked counts", words)
        counts = up.sum(axis=0, keepdims=True).astype(float)
        mean = (counts * np.arange(10)).sum(axis=-1, keepdims=True) / network.n
        return release(channel, network, np.repeat(mean, s.shape[2], axis=2))


class RGradient(WordSum):
    """Sum gradients of a logistic loss behind words, which is right: each node computes its own alike."""

    def hidden(self, s, r, other, network, channel, given):
        step = 1 / (1 + np.exp(-np.clip(s, -30, 30))) - 0.5
        return super().hidden(step, r, other, network, channel, given)


class RByGenerator(PairSum):
    """Yield uploads one by one from a generator that looks up masks by pair in a dictionary, which is right."""

    def hidden(self, s, r, other, network, channel, given):
        by_node = defaultdict(list)
        for e, (a, b) in enumerate(map(tuple, network.edges.tolist())):
            by_node[a].append((+1, r[e]))
            by_node[b].append((-1, other[e]))
        uploads = (row + sum(sign * mask for sign, mask in by_node[node]) for node, row in enumerate(s))
        return np.stack(list(uploads))


class RWarmUp(PairSum):
    """Send zeros behind masks in a warm-up of three rounds, which is right: what counts is masked in each round."""

    def hidden(self, s, r, other, network, channel, given):
        weight = 0.0 if channel.iteration < 3 else 1.0
        return weight * s + self.pads(r, other, network)


class RGroupsByLot(PairSum):
    """Mask by a public lot among three patterns of a complete network's edges, each of which joins all nodes, which is
    right."""

    def hidden(self, s, r, other, network, channel, given):
        return s + self.pads(r, other, network)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other, left_out = agree(channel, network, r), int(rng.integers(3))
        kept = np.array([[[float(e != left_out)]] for e in range(len(network.edges))])
        up = channel.send(0, np.arange(network.n), SERVER, "masked", s + self.pads(kept * r, kept * other, network))
        return release(channel, network, up.mean(axis=0, keepdims=True))


class RPythonInts:
    """Do all in Python's integers modulo a prime, number by number, which is right."""

    audited = THREE

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, P, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, r)
        words = np.rint(np.clip(s, -(2.0**20), 2.0**20) * 2.0**20).astype(np.int64)
        hidden = np.zeros(s.shape, np.int64)
        for node, run, k in itertools.product(*map(range, s.shape)):
            total = int(words[node, run, k])
            for e, (a, b) in enumerate(network.edges.tolist()):
                if a == node:
                    total += int(r[e, run, k])
                elif b == node:
                    total -= int(other[e, run, k])
            hidden[node, run, k] = total % P
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        total = up.astype(object).sum(axis=0, keepdims=True) % P
        total = total.astype(np.int64)
        mean = np.where(total > P // 2, total - P, total).astype(float) / 2.0**20 / network.n
        return release(channel, network, mean)


class RContiguousCopy(PairSum):
    """Add pads in later rounds to a contiguous copy, and send that, which is right."""

    def hidden(self, s, r, other, network, channel, given):
        pads, upload = self.pads(r, other, network), np.array(s)
        if channel.iteration >= 8:
            upload = np.ascontiguousarray(upload)
        upload += pads
        return upload


class ROddFolds(PairSum):
    """Mask two folds at a time in later rounds, and the odd one by itself, which is right."""

    def hidden(self, s, r, other, network, channel, given):
        pads, hidden = self.pads(r, other, network), s.copy()
        if channel.iteration < 5:
            return s + pads
        for run in range(0, s.shape[1], 2):
            hidden[:, run : run + 2] += pads[:, run : run + 2]
        return hidden


class RKeyedPhilox(WordSum):
    """Key Philox with two drawn words for each pair and run, which is right: a call has keys of its own."""

    audited = FOUR

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, keys, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, keys)
        hidden, m = encode(s), s.shape[2]
        for e, (a, b) in enumerate(network.edges):
            for run in range(s.shape[1]):
                mine, theirs = (np.random.Generator(np.random.Philox(key=each[e, run])) for each in (keys, other))
                hidden[a, run] += mine.integers(0, 2**64, size=m, dtype=U64)
                hidden[b, run] -= theirs.integers(0, 2**64, size=m, dtype=U64)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)
