"""A third set, by pairs: idioms that hold, and the slip beside each."""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix.transcript import SERVER, Channel

from .fedavg import SecAgg
from .keys import DropOut, from_words, to_words
from .shares import BlindedRing, Gossip, ShamirSum, dequantise, quantise
from .statistics import MaskedSums
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}
LEAKS = {"server": "leaks", "two": "leaks", "eavesdropper": "leaks"}


class Matrix:
    """Node i draws a row of pads, sends pad (i, j) to node j, adds what it drew and takes off what it got."""

    def pads(self, n):
        return n * (n - 1)

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, self.pads(network.n), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        pairs = np.array([(i, j) for i in range(n) for j in range(n) if i != j])
        channel.hold(0, pairs[:, 0], "row", r)
        got = channel.send(0, pairs[:, 0], pairs[:, 1], "pad", r, encrypted=True)
        full = np.zeros((n, n, runs, m), dtype=np.uint64)
        back = np.zeros((n, n, runs, m), dtype=np.uint64)
        full[pairs[:, 0], pairs[:, 1]] = r
        back[pairs[:, 1], pairs[:, 0]] = got
        words = quantise(x) + full.sum(axis=1) - back.sum(axis=1)
        received = channel.send(1, np.arange(n), SERVER, "masked", words)
        mean = dequantise(received.sum(axis=0)) / n
        told = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: a matrix of pads, R - R' (every ordered pair has one).
class FullMatrix(Matrix):
    pass


class Groups(SecAgg):
    """Pads within each group of nodes alone; the server opens the sum of each."""

    PARTS: tuple = ()

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        first, second = network.edges.T
        channel.hold(-1, first, "seed", seeds.transpose(1, 0, 2))
        agreed = channel.send(-1, first, second, "seed", seeds.transpose(1, 0, 2), encrypted=True)
        total = 0
        for number, part in enumerate(self.PARTS):
            words = self.encode(x.transpose(1, 0, 2), network)
            for run in range(runs):
                for e, (i, j) in enumerate(network.edges.tolist()):
                    if i in part and j in part:
                        source = np.random.default_rng([*seeds[run, e], channel.iteration, number])
                        other = np.random.default_rng([*agreed[e, run], channel.iteration, number])
                        words[i, run] += source.integers(0, 2**64, size=m, dtype=np.uint64)
                        words[j, run] -= other.integers(0, 2**64, size=m, dtype=np.uint64)
            got = channel.send(number, list(part), SERVER, f"group {number}", words[list(part)])
            total = total + got.sum(axis=0).astype(np.int64) / (1 << self.FRACTION_BITS) / len(part)
        mean = total / len(self.PARTS)
        back = channel.send(99, SERVER, np.arange(n), "model", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: median of means by groups of two; with five nodes the last is a group by itself.
class GroupsOfTwo(Groups):
    PARTS = ((0, 1), (2, 3), (4,))


# Wrong: sums without each node in turn, for a leave-one-out estimate: with the sum of all they give every node.
class LeaveOneOut(Groups):
    PARTS = tuple(tuple(j for j in range(5) if j != i) for i in range(5))


# Right under this policy (4/7 of the variance of nodes 0 and 4, 0.57 < 0.8, for the server): sums over two overlapping cohorts.
# Wrong for nodes 1 and 2, who take theirs off: x0 + x3 and x3 + x4 (0.67 of 0, 3 and 4): under 0.8 as well.
class TwoCohorts(Groups):
    PARTS = ((0, 1, 2, 3), (1, 2, 3, 4))


# Wrong: moments of vectors by the client's number, for a trend over clients: five combinations of five vectors.
class TrendOverClients(MaskedSums):
    def widths(self, m):
        return [5 * m]

    def compute(self, x, total, n):
        number = np.arange(n, dtype=float)[:, None, None]
        s = total(np.concatenate([x * number**k for k in range(5)], axis=2))
        return s[:, : x.shape[2]] / n


# Wrong: nodes two by two share a pad; the fifth has nobody.
class PairedUp(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        couples = np.array(list(zip(range(0, n, 2), range(1, n, 2), strict=False)))
        used = seeds[:, : len(couples)].transpose(1, 0, 2)
        channel.hold(-1, couples[:, 0], "seed", used)
        agreed = channel.send(-1, couples[:, 0], couples[:, 1], "seed", used, encrypted=True)
        words = self.encode(x.transpose(1, 0, 2), network)
        for run in range(runs):
            for e, (i, j) in enumerate(couples):
                words[i, run] += self.expand(used[e, run], m, channel.iteration)
                words[j, run] -= self.expand(agreed[e, run], m, channel.iteration)
        total = channel.send(0, np.arange(n), SERVER, "update", words).sum(axis=0)
        back = channel.send(
            1, SERVER, np.arange(n), "model", self.decode(total, network)[None], content=np.zeros(n, dtype=int)
        )
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong against nodes 1 and 2: coefficients below 256, as of a byte generator; the shares at 2 and 3 are close to the secret.
class SmallCoefficients(ShamirSum):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 256, size=(runs, network.n * self.DEGREE, m))


# Wrong: survivors open all their seeds, not those with the node that left.
class AllSeedsOpened(DropOut):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        runs, _, m = np.shape(inputs)
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        averages, transcript = super().average(inputs, network, rng, masks=seeds, channel=channel)
        channel.send(3, network.edges[:, 0], SERVER, "seeds", seeds.transpose(1, 0, 2))
        return averages, transcript


# Wrong for an eavesdropper (and for nodes 1 and 2, who hear plain lines): the ring's hops are in the clear, and what two hops
# differ by is a node's vector.
class PlainRing(BlindedRing):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        blind = (self.draw_masks(runs, m, network, rng) if masks is None else masks)[:, 0]
        channel.hold(0, np.array([0]), "blinding", blind[None])
        words = quantise(x)
        token = words[0] + blind
        for hop in range(1, n):
            token = channel.send(hop, hop - 1, hop, "token", token[None])[0] + words[hop]
        token = channel.send(n, n - 1, 0, "token", token[None])[0]
        mean = dequantise(token - blind) / n
        told = channel.send(n + 1, 0, np.arange(1, n), "mean", mean[None], content=np.zeros(n - 1, int))
        result = np.concatenate([mean[None], np.broadcast_to(told[0], (n - 1, runs, m))])
        return result.transpose(1, 0, 2).copy(), channel.transcript


# Wrong: masks of the gossip have a standard deviation of one.
class FaintGossip(Gossip):
    SIGMA = 1.0


# Wrong in batches, right run by run: all runs use the pads of the first.
class PadsOfTheFirstRun(MaskedSums):
    def draw_masks(self, runs, m, network, rng):
        pads = super().draw_masks(1, m, network, rng)
        return np.repeat(pads, runs, axis=0)


# Wrong: the pair's seed is the exclusive or of its two words: 64 bits, and the code feeds 32 of them to RandomState.
class FoldedSeed(SecAgg):
    def expand(self, seed, m, iteration):
        folded = int(seed[0] ^ seed[1]) % 2**32
        return np.random.RandomState(folded).randint(0, 2**63, size=m, dtype=np.int64).astype(np.uint64) << np.uint64(1)


# Wrong for the server: each client agrees on its mask with the server's key; the server takes it off. Nodes 1 and 2 and an
# eavesdropper have none of the keys.
class AgreesWithTheServer(SecAgg):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        server = X25519PrivateKey.generate()
        clients = [X25519PrivateKey.generate() for _ in range(n)]
        channel.hold(
            -3, np.array([SERVER]), "private", np.frombuffer(server.private_bytes_raw(), np.uint64)[None, None]
        )
        raw = np.array([np.frombuffer(c.private_bytes_raw(), np.uint64) for c in clients])
        channel.hold(-3, np.arange(n), "private", raw[:, None])
        public = np.frombuffer(server.public_key().public_bytes_raw(), np.uint8)[None, None]
        told = channel.send(-2, SERVER, np.arange(n), "public", public, content=np.zeros(n, dtype=int))
        mine = np.array([np.frombuffer(c.public_key().public_bytes_raw(), np.uint8) for c in clients])[:, None]
        theirs = channel.send(-1, np.arange(n), SERVER, "public", mine)
        words = to_words(x.transpose(1, 0, 2))

        def pad(shared):
            key = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"").derive(shared)
            return np.frombuffer(hashlib.shake_256(key).digest(8 * m * runs), np.uint64).reshape(runs, m)

        for k in range(n):
            words[k] += pad(clients[k].exchange(X25519PublicKey.from_public_bytes(told[0, 0].tobytes())))
        received = channel.send(0, np.arange(n), SERVER, "y", words)
        total = received.sum(axis=0)
        for k in range(n):
            total -= pad(server.exchange(X25519PublicKey.from_public_bytes(theirs[k, 0].tobytes())))
        back = channel.send(
            1, SERVER, np.arange(n), "mean", (from_words(total) / n)[None], content=np.zeros(n, dtype=int)
        )
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: clients upload in the order of their norms, the fastest first.
class OrderByNorm(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        norms = np.linalg.norm(np.asarray(inputs)[0], axis=1)
        for node in np.argsort(norms):
            channel.send(5, int(node), SERVER, "ready", np.zeros((1, len(inputs), 1)))
        return averages, transcript


# Wrong in use: where no masks are given it keeps those of the first call, "to save the key agreement".
class CachedMasks(MaskedSums):
    def __init__(self):
        self.pads = None

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        runs, _, m = np.shape(inputs)
        if masks is None:
            if self.pads is None or self.pads.shape[0] != runs or self.pads.shape[2] != m:
                self.pads = self.draw_masks(runs, m, network, rng)
            masks = self.pads
        return super().average(inputs, network, rng, masks=masks, channel=channel)


# Wrong: pads are drawn in ``average`` from the generator that all know.
class PublicPads(MaskedSums):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        pads = MaskedSums.draw_masks(self, np.shape(inputs)[0], np.shape(inputs)[2], network, rng)
        return super().average(inputs, network, rng, masks=pads, channel=channel)


# Right: stochastic rounding by lots of the protocol's generator, which all know; pads hide all.
class PublicLots(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        scaled = np.clip(np.asarray(inputs, dtype=float), -1000, 1000) * 4.0
        low = np.floor(scaled)
        rounded = (low + (rng.random(scaled.shape) < scaled - low)) / 4.0
        return super().average(rounded, network, rng, masks=masks, channel=channel)


# Wrong: after the round each node reports how far it is from the mean, to detect outliers.
class DistanceReported(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        distance = np.linalg.norm(np.asarray(inputs) - averages, axis=2).T[..., None]
        channel.send(5, np.arange(network.n), SERVER, "distance", distance)
        return averages, transcript


# Right: adaptive clipping (Andrew et al. 2021): whether the norm was within the bound is one more masked entry.
class AdaptiveClipping(SecAgg):
    BOUND = 25.0

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        norm = np.linalg.norm(x, axis=2, keepdims=True)
        clipped = x * np.minimum(1.0, self.BOUND / np.maximum(norm, 1e-9))
        with_bit = np.concatenate([clipped, (norm <= self.BOUND).astype(float)], axis=2)
        both, transcript = super().average(with_bit, network, rng, masks=masks, channel=channel)
        return both[..., :-1], transcript


# Wrong: the same, the bit beside the vector in a message of its own.
class AdaptiveClippingBare(SecAgg):
    BOUND = 25.0

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        x = np.asarray(inputs, dtype=float)
        norm = np.linalg.norm(x, axis=2, keepdims=True)
        clipped = x * np.minimum(1.0, self.BOUND / np.maximum(norm, 1e-9))
        channel.send(
            -2, np.arange(network.n), SERVER, "within", (norm <= self.BOUND).astype(np.uint8).transpose(1, 0, 2)
        )
        return super().average(clipped, network, rng, masks=masks, channel=channel)


# Right for nodes 1 and 2, for the server and an eavesdropper: node 0 deals masks that sum to zero; nobody else has them.
class Dealer(SecAgg):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n - 1, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        channel.hold(-1, np.zeros(n - 1, dtype=int), "dealt", r)
        dealt = channel.send(-1, 0, np.arange(1, n), "mask", self.dealt(r), encrypted=True)
        words = self.encode(x, network)
        words[1:] += dealt
        words[0] -= self.dealt(r).sum(axis=0)
        total = channel.send(0, np.arange(n), SERVER, "update", words).sum(axis=0)
        back = channel.send(
            1, SERVER, np.arange(n), "model", self.decode(total, network)[None], content=np.zeros(n, dtype=int)
        )
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript

    def dealt(self, r):
        return r


# Wrong: the dealer deals nodes 3 and 4 opposite masks of one draw "to save randomness", and so nodes 1 and 2: the server reads
# x1 + x2 and x3 + x4, and x0 bare.
class ThriftyDealer(Dealer):
    def dealt(self, r):
        zero = np.uint64(0)
        return np.stack([r[0], zero - r[0], r[2], zero - r[2]])


CASES = [
    *known("matrix of pads", FullMatrix, "a pad of each ordered pair", **SAFE),
    *known("groups of two of five", GroupsOfTwo, "node 4 is a group by itself", **LEAKS),
    *known("leave one out", LeaveOneOut, "differences of sums are nodes", **LEAKS),
    *known("two overlapping cohorts", TwoCohorts, "4/7 of nodes 0 and 4 at most, 2/3 for nodes 1 and 2", **SAFE),
    *known("trend over clients", TrendOverClients, "five equations, five nodes", **LEAKS),
    *known("paired up", PairedUp, "node 4 has no pad", **LEAKS),
    *known("small coefficients", SmallCoefficients, "shares are close to secrets", server="safe", two="leaks",
           eavesdropper="safe"),
    *known("all seeds opened", AllSeedsOpened, "the server has all seeds", **LEAKS),
    *known("plain ring", PlainRing, "differences of hops", two="leaks", eavesdropper="leaks"),
    *known("faint gossip", FaintGossip, "masks of one unit", two="leaks", eavesdropper="leaks"),
    *known("pads of the first run", PadsOfTheFirstRun, "runs of a batch share pads", **LEAKS),
    *known("folded seed", FoldedSeed, "32 bits", **LEAKS),
    *known("agrees with the server", AgreesWithTheServer, "the server has every mask", server="leaks", two="safe",
           eavesdropper="safe"),
    *known("order by norm", OrderByNorm, "the order is data", **LEAKS),
    *known("cached masks", CachedMasks, "masks of earlier rounds where none are given", **LEAKS),
    *known("public pads", PublicPads, "everybody draws them", **LEAKS),
    *known("public lots", PublicLots, "own data and public coins before the mask", **SAFE),
    *known("distance reported", DistanceReported, "a statistic of each node is sent", **LEAKS),
    *known("adaptive clipping", AdaptiveClipping, "the bit is masked", **SAFE),
    *known("adaptive clipping, bare bit", AdaptiveClippingBare, "the bit is sent", **LEAKS),
    *known("a dealer", Dealer, "masks sum to zero", **SAFE),
    *known("a thrifty dealer", ThriftyDealer, "node 0 has no mask", **LEAKS),
]  # fmt: skip
