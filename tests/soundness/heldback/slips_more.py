"""More slips, beside the right protocols of the other files."""

from __future__ import annotations

import hashlib
import random

import numpy as np

from secmix.transcript import SERVER, Channel

from .derived import JoinMended, TwoLabels
from .fedavg import SecAgg
from .keys import PairStreams
from .shares import BlindedRing, ShamirSum, SubspacePerturbation, Tree, dequantise, quantise
from .statistics import MaskedSums
from .truth import known

LEAKS = {"server": "leaks", "two": "leaks", "eavesdropper": "leaks"}


# Wrong: both vectors of a round get the label "sums", a default argument that one call does not set.
class LabelForgotten(TwoLabels):
    def stream(self, key, iteration, m, label=b"sums"):
        return JoinMended.stream(self, hashlib.sha256(key + b"sums").digest(), iteration, m)


# Wrong: SeedSequence(entropy) is made twice, and the first child of each is the same: sums and squares share masks.
class FirstChildTwice(TwoLabels):
    def stream(self, key, iteration, m, label=b"sums"):
        child = np.random.SeedSequence([int.from_bytes(key, "little"), iteration]).spawn(1)[0]
        return np.random.default_rng(child).integers(0, 2**64, size=m, dtype=np.uint64)


# Wrong: seeds are told on plain lines (encrypted=True was forgotten): the eavesdropper and, who hear all lines, nodes 1 and 2
# expand them. The server hears its own lines alone.
class PlainSeeds(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        first, second = network.edges.T
        channel.hold(-1, first, "seed", seeds.transpose(1, 0, 2))
        agreed = channel.send(-1, first, second, "seed", seeds.transpose(1, 0, 2))
        words = self.encode(x.transpose(1, 0, 2), network)
        for run in range(runs):
            for e, (i, j) in enumerate(network.edges):
                words[i, run] += self.expand(seeds[run, e], m, channel.iteration)
                words[j, run] -= self.expand(agreed[e, run], m, channel.iteration)
        total = channel.send(0, np.arange(n), SERVER, "update", words).sum(axis=0)
        back = channel.send(
            1, SERVER, np.arange(n), "model", self.decode(total, network)[None], content=np.zeros(n, dtype=int)
        )
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: a checksum of the words, for the server to find transmission errors, is taken before they are masked.
class ChecksumBefore(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        words = self.encode(np.asarray(inputs, dtype=float).transpose(1, 0, 2), network)
        channel.send(-2, np.arange(network.n), SERVER, "checksum", words.sum(axis=2, keepdims=True))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


# Wrong: a digest of the vector, for deduplication, is sent: who guesses the vector sees whether it fits.
class DigestOfData(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        words = self.encode(np.asarray(inputs, dtype=float).transpose(1, 0, 2), network)
        digests = [[np.frombuffer(hashlib.sha256(w.tobytes()).digest(), np.uint8) for w in node] for node in words]
        channel.send(-2, np.arange(network.n), SERVER, "digest", np.array(digests))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


# Wrong: after the round node 4 withdraws; the same masked vectors are opened again without it, by its pair seeds.
class Withdrawn(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        runs, n, m = np.shape(inputs)
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        averages, transcript = super().average(inputs, network, rng, masks=seeds, channel=channel)
        with_four = [e for e, (_, j) in enumerate(network.edges.tolist()) if j == 4]
        channel.send(3, network.edges[with_four, 0], SERVER, "seed with 4", seeds[:, with_four].transpose(1, 0, 2))
        return averages, transcript


# Wrong against nodes 1 and 2: pads along the tree alone; node 1 is the parent of 3 and 4 and takes their pads off, node 2 has
# no children. An eavesdropper sees pads on everything but the total.
class TreeEdges(Tree):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(self.PARENT), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        child, parent = np.array([*self.PARENT.items()]).T
        channel.hold(0, child, "pad", pads)
        got = channel.send(0, child, parent, "pad", pads, encrypted=True)
        words = quantise(x)
        np.add.at(words, child, pads)
        np.subtract.at(words, parent, got)
        subtotal = dict(enumerate(words))
        for step, (c, p) in enumerate(self.PARENT.items()):
            up = channel.send(1 + step, c, p, "subtotal", subtotal[c][None])
            subtotal[p] = subtotal[p] + up[0]
        mean = dequantise(subtotal[0]) / n
        told = channel.send(9, 0, np.arange(1, n), "mean", mean[None], content=np.zeros(n - 1, dtype=int))
        return np.concatenate([mean[None], np.repeat(told, n - 1, axis=0)]).transpose(1, 0, 2), channel.transcript


# Wrong against nodes 1 and 2: the blinding of the ring is drawn once and kept for later rounds. What node 1 is sent in two
# rounds differs by what node 0's vectors differ by.
class RingBlindedOnce(BlindedRing):
    def __init__(self):
        self.blind = None

    def draw_masks(self, runs, m, network, rng):
        if self.blind is None or self.blind.shape != (runs, 1, m):
            self.blind = super().draw_masks(runs, m, network, rng)
        return self.blind


# Wrong: dual variables start at zero: the first iterate of each node is its input over a public number.
class ZeroDuals(SubspacePerturbation):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 2 * len(network.edges), m))


# Wrong: the last words of each pad are cut to bytes and shifted, so that the lowest bits of what is sent are those of the sum of
# no pads: counts in units show whether they are odd.
class EvenPads(MaskedSums):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**63, (runs, len(network.edges), m), dtype=np.uint64) << np.uint64(1)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        words = np.rint(x).astype(np.int64).view(np.uint64)
        np.add.at(words, i, pads)
        np.subtract.at(words, j, peers)
        mean = channel.send(1, np.arange(n), SERVER, "masked", words).sum(axis=0).view(np.int64) / n
        told = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: a vector is hidden by permuting its entries with a secret seed; its sorted values are in the clear.
class PermutedOnly(PairStreams):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.zeros(1, dtype=int), "order", seeds[:, 0][None])
        order = [random.Random(int.from_bytes(seeds[r, 0].tobytes(), "big")).sample(range(m), m) for r in range(runs)]
        told = channel.send(
            -1, 0, np.arange(1, n), "order", seeds[:, 0][None], encrypted=True, content=np.zeros(n - 1, dtype=int)
        )
        assert told.shape[1] == runs
        shuffled = np.stack([x[r][:, order[r]] for r in range(runs)])
        mean = channel.send(0, np.arange(n), SERVER, "shuffled", shuffled.transpose(1, 0, 2)).mean(axis=0)
        back = channel.send(1, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))[0]
        result = np.stack([back[r][np.argsort(order[r])] for r in range(runs)])
        return np.repeat(result[:, None], n, axis=1), channel.transcript


# Wrong against nodes 1 and 2 together with 0: shares are handed out at points 0 to 4, and the share at 0 is the secret. Nodes 1
# and 2 have two shares at other points; the server sees sums alone; both are safe. (Node 0 reads everything.)
class PointZero(ShamirSum):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        from .shares import P

        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        channel.hold(0, np.tile(np.arange(n), self.DEGREE), "coefficient", r)
        secret = np.rint(np.clip(x, -1000, 1000) * 2**12).astype(np.int64) % P
        polynomial = [secret, *self.coefficients(r, secret.shape)]
        opened = []
        for point in range(n):
            share = np.zeros_like(secret)
            for coefficient in reversed(polynomial):
                share = (share * point + coefficient) % P
            others = [node for node in range(n) if node != point]
            got = channel.send(1, others, point, f"share {point}", share[others], encrypted=True)
            opened.append((got.sum(axis=0) + share[point]) % P)
        opened = channel.send(2, np.arange(n), SERVER, "sum of shares", np.stack(opened))
        total = opened[0]
        mean = np.where(total > P // 2, total - P, total) / 2**12 / n
        mean = channel.send(3, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: the noise of a node's own (for privacy) is drawn from a seed that is its number, and nothing else hides the vector.
class NoiseOfTheIndex(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.array(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        for node in range(n):
            x[node] += np.random.default_rng(1000 + node).normal(scale=50.0, size=(runs, m))
        mean = channel.send(0, np.arange(n), SERVER, "noised", x).mean(axis=0)
        back = channel.send(1, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: a retry after a "lost" message sends the vector under new masks of the pairs, and the old masks are told in order to cancel.
class RetryOpensOldMasks(MaskedSums):
    def widths(self, m):
        return [m, m]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        both = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", both)
        peers = channel.send(0, i, j, "pads", both, encrypted=True)
        for attempt in range(2):
            here = slice(attempt * m, (attempt + 1) * m)
            words = np.rint(x * 2**18).astype(np.int64).view(np.uint64)
            np.add.at(words, i, both[..., here])
            np.subtract.at(words, j, peers[..., here])
            received = channel.send(1 + attempt, np.arange(n), SERVER, "masked", words)
        channel.send(3, i, SERVER, "old pads", both[..., :m])
        mean = received.sum(axis=0).view(np.int64) / 2**18 / n
        told = channel.send(4, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: every node reports the share of its entries that were clipped, for monitoring.
class ClippedShare(SecAgg):
    CLIP = 12.0

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        clipped = (np.abs(np.asarray(inputs)) > self.CLIP).mean(axis=-1, keepdims=True)
        channel.send(-2, np.arange(network.n), SERVER, "clipped", clipped.transpose(1, 0, 2))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


# Wrong: stochastic rounding by the public generator of the round: the coins are known, which is harmless, but the words before
# rounding are masked by eight bits only.
class EightBits(SecAgg):
    def expand(self, seed, m, iteration):
        return np.random.default_rng([*seed, iteration]).integers(0, 256, size=m).astype(np.uint64)


CASES = [
    *known("label forgotten", LabelForgotten, "x^2 - x stands bare", **LEAKS),
    *known("first child twice", FirstChildTwice, "x^2 - x stands bare", **LEAKS),
    *known("seeds on plain lines", PlainSeeds, "seeds are heard", server="safe", two="leaks", eavesdropper="leaks"),
    *known("checksum before the masks", ChecksumBefore, "the sum of a node's entries is sent", **LEAKS),
    *known("digest of the data", DigestOfData, "guesses can be tried", **LEAKS),
    *known("withdrawn after the round", Withdrawn, "sums with and without node 4", **LEAKS),
    *known("pads along the tree", TreeEdges, "node 1 unmasks 3 and 4", two="leaks", eavesdropper="safe"),
    *known("ring blinded once", RingBlindedOnce, "differences of two rounds of node 0", two="leaks",
           eavesdropper="safe"),
    *known("duals from zero", ZeroDuals, "iterates are inputs", two="leaks", eavesdropper="leaks"),
    *known("even pads", EvenPads, "parity of each number", **LEAKS),
    *known("permuted only", PermutedOnly, "sorted values are read", **LEAKS),
    *known("share at zero", PointZero, "nodes 1 and 2 and the server do not have it", server="safe", two="safe",
           eavesdropper="safe"),
    *known("noise of the index", NoiseOfTheIndex, "everybody draws it", **LEAKS),
    *known("retry opens old masks", RetryOpensOldMasks, "the first message stands bare", **LEAKS),
    *known("share of clipped entries", ClippedShare, "a statistic of each node is sent", **LEAKS),
    *known("masks of eight bits", EightBits, "2^20 units, 2^8 of mask", **LEAKS),
]  # fmt: skip
