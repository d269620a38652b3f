"""Slips that engineers make in the protocols beside this file."""

from __future__ import annotations

import hashlib
import itertools
import logging
import secrets
import struct

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from secmix.transcript import SERVER, Channel

from .fedavg import SecAgg
from .keys import AesCounter, DropOut, HmacBlocks, PairStreams, from_words, to_words
from .shares import P, ShamirSum, ThreeServers, dequantise, quantise
from .statistics import MaskedSums, padded
from .truth import known

LEAKS = {"server": "leaks", "two": "leaks", "eavesdropper": "leaks"}
log = logging.getLogger(__name__)


# Wrong: the second pass uses the pads of the first. The difference of a node's two messages is (x - mean)^2 - x; the server
# knows the mean and solves for x entry by entry.
class TwoPassOnePad(MaskedSums):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.clip(np.asarray(inputs, dtype=float), -500, 500).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)

        def total(values, step):
            words = np.rint(values * 2**18).astype(np.int64).view(np.uint64)
            np.add.at(words, i, pads)
            np.subtract.at(words, j, peers)
            got = channel.send(step, np.arange(n), SERVER, f"masked {step}", words)
            opened = got.sum(axis=0).view(np.int64) / 2**18
            return channel.send(
                step, SERVER, np.arange(n), f"sum {step}", opened[None], content=np.zeros(n, dtype=int)
            )[0]

        mean = total(x, 1) / n
        variance = total((x - mean) ** 2, 2) / n
        return np.repeat(1.0 + np.sqrt(variance)[:, None], n, axis=1), channel.transcript


# Wrong against nodes 1 and 2: the loop draws one part too few, the first part stays zero; parts 1 and 2 make a node's vector.
# The server and an eavesdropper still read sums alone.
class OnePartZero(ThreeServers):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        channel.hold(0, np.arange(n), "share", r)
        shares = np.zeros((3, n, runs, m), dtype=np.uint64)
        for part in range(1, 2):
            shares[part] = r
        shares[-1] = quantise(x) - shares[:-1].sum(axis=0)
        subtotals = []
        for helper, share in zip(self.HELPERS, shares, strict=True):
            others = [node for node in range(n) if node != helper]
            got = channel.send(1, others, helper, f"share for {helper}", share[others], encrypted=True)
            subtotals.append(got.sum(axis=0) + share[helper])
        opened = channel.send(2, list(self.HELPERS), SERVER, "subtotal", np.stack(subtotals))
        mean = dequantise(opened.sum(axis=0)) / n
        mean = channel.send(3, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: the loop that masks the counts ends one node early; the count of node 4 is in the clear.
class LastCountBare(SecAgg):
    CLIP = 2.0**20

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        first, second = network.edges.T
        channel.hold(-1, first, "seed", seeds.transpose(1, 0, 2))
        agreed = channel.send(-1, first, second, "seed", seeds.transpose(1, 0, 2), encrypted=True)
        counts = np.rint(np.clip(x[..., 0], 1, 1000)).astype(np.int64)
        update = self.encode(x * counts[..., None], network)
        weights = counts.astype(np.uint64)
        last = n - 1
        for run in range(runs):
            for e, (i, j) in enumerate(network.edges):
                update[run, i] += self.expand(seeds[run, e], m, channel.iteration)
                update[run, j] -= self.expand(agreed[e, run], m, channel.iteration)
                if j < last:  # should be j <= last
                    weights[run, i] += np.random.default_rng([*seeds[run, e], 1, 1]).integers(0, 2**64, dtype=np.uint64)
                    weights[run, j] -= np.random.default_rng([*agreed[e, run], 1, 1]).integers(
                        0, 2**64, dtype=np.uint64
                    )
        got = channel.send(0, np.arange(n), SERVER, "update", update.transpose(1, 0, 2))
        weight = channel.send(0, np.arange(n), SERVER, "weight", weights.T[..., None])
        total = got.sum(axis=0).astype(np.int64) / 2.0**self.FRACTION_BITS
        mean = total / weight.sum(axis=0).astype(np.int64)
        back = channel.send(1, SERVER, np.arange(n), "model", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: 40 bits of fraction, masks of 32 bits: the upper bits of every masked word are the vector to about two units.
class MasksOfHalfAWord(SecAgg):
    FRACTION_BITS = 40

    def expand(self, seed, m, iteration):
        return np.random.default_rng([*seed, iteration]).integers(0, 2**32, size=m).astype(np.uint64)


# Wrong: all clients derive the pair's seed from the round and their numbers: everybody can.
class SeedOfTheRound(SecAgg):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        runs = np.shape(inputs)[0]
        seeds = np.array([[[channel.iteration, i * network.n + j] for i, j in network.edges]] * runs)
        return super().average(inputs, network, rng, masks=seeds, channel=channel)


# Wrong: the seed has 24 bits of the system; who tries them all finds the one that leaves small numbers.
class ShortSeed(SecAgg):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**24, size=(runs, len(network.edges), 1), dtype=np.uint64)


# Wrong: each client quantises by its own largest entry and sends that scale in the clear, for the server to undo it.
class ScaleInTheClear(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        x = np.asarray(inputs, dtype=float)
        scale = np.abs(x).max(axis=2, keepdims=True).transpose(1, 0, 2)
        scales = channel.send(-2, np.arange(network.n), SERVER, "scale", scale)
        common = channel.send(
            -2, SERVER, np.arange(network.n), "common scale", scales.max(axis=0)[None], content=np.zeros(network.n, int)
        )
        unit = common.transpose(1, 0, 2)
        averages, transcript = super().average(x / unit, network, rng, masks=masks, channel=channel)
        return averages * unit, transcript


# Wrong: node 4 uploads late, after its peers have told the server the seeds that they share with it.
class LateUpload(DropOut):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        late = to_words(x[:, self.GONE])
        for block in transcript:
            if block.kind == "pair seed" and block.line == "encrypted":
                seeds = block.payload
        for r in range(runs):
            for e, (a, b) in enumerate(network.edges.tolist()):
                if b == self.GONE:
                    late[r] -= self.stream(seeds[e, r].tobytes(), channel.iteration, m)
        channel.send(3, self.GONE, SERVER, "masked", late[None])
        return averages, transcript


# Wrong: the unmasking round opens the own seeds of all, and for node 4, which is taken to be gone though its message came,
# the seeds of its pairs too.
class BothMasksOpened(PairStreams):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges) + network.n, 4), dtype=np.uint64)

    def stream(self, key, iteration, m):
        return np.frombuffer(hashlib.shake_256(key + iteration.to_bytes(4, "big")).digest(8 * m), np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        pair, own = np.split(seeds.transpose(1, 0, 2), [len(network.edges)])
        i, j = network.edges.T
        channel.hold(-1, i, "pair seed", pair)
        channel.hold(-1, np.arange(n), "own seed", own)
        got = channel.send(-1, i, j, "pair seed", pair, encrypted=True)
        words = to_words(x.transpose(1, 0, 2))
        for r in range(runs):
            for node in range(n):
                words[node, r] += self.stream(own[node, r].tobytes(), channel.iteration, m)
            for e, (a, b) in enumerate(network.edges):
                words[a, r] += self.stream(pair[e, r].tobytes(), channel.iteration, m)
                words[b, r] -= self.stream(got[e, r].tobytes(), channel.iteration, m)
        received = channel.send(0, np.arange(n), SERVER, "masked", words)
        opened = channel.send(1, np.arange(n), SERVER, "own seed", own)
        slow = [e for e, (_, b) in enumerate(network.edges.tolist()) if b == 4]
        channel.send(1, i[slow], SERVER, "pair seed of 4", pair[slow])
        total = received.sum(axis=0)
        for r in range(runs):
            total[r] -= sum(self.stream(opened[k, r].tobytes(), channel.iteration, m) for k in range(n))
        mean = from_words(total) / n
        mean = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong, even on encrypted lines: the message has as many limbs as the largest number needs; its length tells which.
# Nodes 1 and 2 and an eavesdropper notice the length too.
class VariableLength(HmacBlocks):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        mine, theirs = self.pair_keys(channel, network, runs, m, rng, masks)
        received = []
        for node in range(n):
            y = to_words(x[:, node])
            # values that outgrow one limb need a second limb
            limbs = 1 if np.abs(x[:, node]).max() < 15 else 2
            y = np.concatenate([y, np.zeros((runs, m * (limbs - 1)), dtype=np.uint64)], axis=1)
            for r in range(runs):
                for other in range(n):
                    if other > node:
                        y[r] += self.stream(mine[r][node, other], channel.iteration, 2 * m)[: m * limbs]
                    elif other < node:
                        y[r] -= self.stream(theirs[r][other, node], channel.iteration, 2 * m)[: m * limbs]
            received.append(channel.send(0, node, SERVER, "y", y[None], encrypted=True)[0][:, :m])
        mean = from_words(np.sum(received, axis=0)) / n
        mean = channel.send(1, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int), encrypted=True)
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: vectors and their squares are masked by the same bytes of AES-CTR, since both begin at the same counter.
class OneNonceTwice(AesCounter):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        mine, theirs = self.pair_keys(channel, network, runs, m, rng, masks)
        sums = []
        for step, values in enumerate((x, np.minimum(x**2, 1e5))):
            y = to_words(values.transpose(1, 0, 2))
            for r in range(runs):
                for i, j in network.edges.tolist():
                    y[i, r] += self.stream(mine[r][i, j], channel.iteration, m)
                    y[j, r] -= self.stream(theirs[r][i, j], channel.iteration, m)
            sums.append(from_words(channel.send(step, np.arange(n), SERVER, f"y {step}", y).sum(axis=0)) / n)
        scaled = 1.0 + np.abs(sums[0]) / np.sqrt(np.maximum(sums[1], 1e-6))
        told = channel.send(9, SERVER, np.arange(n), "scaled", scaled[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong for nodes 1 and 3: masks between neighbours of a ring only; they take off all that node 2 has on. Nodes 1 and 2, the
# server and an eavesdropper get sums: 0 and 4 and 3 are linked.
class RingOfMasks(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        here = np.arange(n)
        after = (here + 1) % n
        channel.hold(-1, here, "seed", seeds.transpose(1, 0, 2))
        told = channel.send(-1, here, after, "seed", seeds.transpose(1, 0, 2), encrypted=True)
        words = self.encode(x.transpose(1, 0, 2), network)
        for run, node in itertools.product(range(runs), range(n)):
            words[node, run] += self.expand(seeds[run, node], m, channel.iteration)
            words[after[node], run] -= self.expand(told[node, run], m, channel.iteration)
        total = channel.send(0, here, SERVER, "update", words).sum(axis=0)
        back = channel.send(1, SERVER, here, "model", self.decode(total, network)[None], content=np.zeros(n, dtype=int))
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 2), dtype=np.uint64)


# Wrong against nodes 1 and 2: range(1, degree) leaves one coefficient out; two shares open everybody's vector.
class ShamirOneShort(ShamirSum):
    def coefficients(self, r, shape):
        drawn = r.reshape(self.DEGREE, *shape)
        return [drawn[k] for k in range(1, self.DEGREE)]


# Wrong against nodes 1 and 2 (each of them): one polynomial for all entries of a vector; differences of the entries of a share
# are those of the vector modulo p. The server reads sums alone.
class ShamirOnePolynomial(ShamirSum):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, P, size=(runs, network.n * self.DEGREE, 1))

    def coefficients(self, r, shape):
        return [np.broadcast_to(c, shape) for c in r.reshape(self.DEGREE, shape[0], shape[1], 1)]


# Wrong: keys of a session, and a mask that the round does not go into: the difference of a node's messages of two rounds is
# that of its vectors.
class SessionWithoutRound(HmacBlocks):
    def __init__(self, n=5):
        self.keys = {pair: secrets.token_bytes(32) for pair in itertools.combinations(range(n), 2)}

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def pair_keys(self, channel, network, runs, m, rng, masks):
        for (i, j), key in self.keys.items():
            words = np.broadcast_to(np.frombuffer(key, np.uint64), (1, runs, 4))
            channel.hold(-1, np.array([i]), "session key", words)
            channel.hold(-1, np.array([j]), "session key", words)
        return [self.keys] * runs, [self.keys] * runs

    def stream(self, key, iteration, m):
        return super().stream(key, 0, m)


# Wrong: keys of a session, the round as the initial counter of AES-CTR: the blocks of round 1 are those of round 0 but for the
# first, so two thirds of the entries of both rounds share their masks.
class OverlappingCounters(SessionWithoutRound):
    def stream(self, key, iteration, m):
        encryptor = Cipher(algorithms.AES(key), modes.CTR(struct.pack(">QQ", 0, iteration))).encryptor()
        return np.frombuffer(encryptor.update(bytes(8 * m)), dtype=np.uint64)


# Wrong: a log line with the norm of each client's update.
class LogsTheNorm(SecAgg):
    def encode(self, x, network):
        for k in range(network.n):
            log.info("client %d: update norm %.4f", k, float(np.linalg.norm(x[k])))
        return super().encode(x, network)


# Wrong: a node that has fewer than 13 rows in the first component says so in the clear, so that the server may warn.
class TooFewFlag(MaskedSums):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        few = (np.asarray(inputs)[..., :1] < 13).astype(float).transpose(1, 0, 2)
        channel.send(0, np.arange(network.n), SERVER, "too few", few)
        return super().average(inputs, network, rng, masks=masks, channel=channel)


# Wrong: normal pads of standard deviation 0.1 a pair, on vectors of several units.
class FaintPads(MaskedSums):
    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=0.1, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.array(inputs, dtype=float).transpose(1, 0, 2)
        n = network.n
        channel = channel or Channel()
        pads = (self.draw_masks(x.shape[1], x.shape[2], network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        np.add.at(x, i, pads)
        np.subtract.at(x, j, peers)
        mean = channel.send(1, np.arange(n), SERVER, "masked", x).mean(axis=0)
        told = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: one node in the clear for the sake of speed: k-means sums are masked, the counts of clusters are not.
class CountsBare(MaskedSums):
    CENTRES = np.array([-4.0, 3.0, 12.0])

    def widths(self, m):
        return [3]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        labels = np.argmin((np.asarray(inputs)[..., None] - self.CENTRES) ** 2, axis=-1)
        counts = (labels[..., None] == np.arange(3)).sum(axis=2).astype(float).transpose(1, 0, 2)
        self.counts = channel.send(0, np.arange(network.n), SERVER, "counts", counts).sum(axis=0)
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def compute(self, x, total, n):
        labels = np.argmin((x[..., None] - self.CENTRES) ** 2, axis=-1)
        sums = np.stack([np.where(labels == c, x, 0.0).sum(axis=2) for c in range(3)], axis=-1)
        return padded(1.0 + np.abs(total(sums)) / np.maximum(self.counts, 1.0), x.shape[2])


CASES = [
    *known("two passes under one pad", TwoPassOnePad, "(x - mean)^2 - x stands bare", **LEAKS),
    *known("one part of three is zero", OnePartZero, "parts 1 and 2 sum to the vector", server="safe", two="leaks",
           eavesdropper="safe"),
    *known("count of the last node is bare", LastCountBare, "node 4's count has no mask", **LEAKS),
    *known("masks of half a word", MasksOfHalfAWord, "the upper bits are the vector", **LEAKS),
    *known("seed of the round alone", SeedOfTheRound, "everybody derives it", **LEAKS),
    *known("seed of 24 bits", ShortSeed, "all seeds can be tried", **LEAKS),
    *known("scale in the clear", ScaleInTheClear, "each node's largest entry is sent", **LEAKS),
    *known("late upload of who was taken to be gone", LateUpload, "its pair seeds were opened", **LEAKS),
    *known("own and pair seeds opened", BothMasksOpened, "both masks of node 4 come off", **LEAKS),
    *known("length by the largest number", VariableLength, "the length is a bit of data", **LEAKS),
    *known("one nonce for two vectors", OneNonceTwice, "x^2 - x stands bare", **LEAKS),
    *known("ring of masks", RingOfMasks, "neighbours 1 and 3 unmask node 2", server="safe", two="safe", apart="leaks",
           eavesdropper="safe"),
    *known("Shamir, one coefficient short", ShamirOneShort, "two shares open the secret", server="safe", two="leaks",
           eavesdropper="safe"),
    *known("Shamir, one polynomial for all entries", ShamirOnePolynomial, "differences of entries are read",
           server="safe", two="leaks", eavesdropper="safe"),
    *known("a session without the round", SessionWithoutRound, "differences of two rounds are read", **LEAKS),
    *known("overlapping counters", OverlappingCounters, "blocks of two rounds are the same", **LEAKS),
    *known("the norm is logged", LogsTheNorm, "an outsider reads the log", eavesdropper="leaks"),
    *known("a flag of too few rows", TooFewFlag, "the flag is a bit of data", **LEAKS),
    *known("faint pads", FaintPads, "pads of a tenth of a unit", **LEAKS),
    *known("counts of clusters are bare", CountsBare, "each node's counts are sent", **LEAKS),
]  # fmt: skip
