"""A fourth set: ranges of words, sources of coins, results that are not the same at all nodes, rare rounds."""

from __future__ import annotations

import os
import secrets

import numpy as np

from secmix.transcript import SERVER, Channel

from .fedavg import SecAgg
from .shares import Gossip, dequantise, quantise
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}
LEAKS = {"server": "leaks", "two": "leaks", "eavesdropper": "leaks"}


class Pads:
    """One-time pads of pairs in two's complement; a subclass says how they are drawn."""

    def words(self, rng, shape):
        return rng.integers(0, 2**64, size=shape, dtype=np.uint64)

    def draw_masks(self, runs, m, network, rng):
        return self.words(rng, (runs, len(network.edges), m))

    def result(self, mean, x):
        return np.repeat(mean, len(x), axis=0)

    def masked(self, x, pads, peers, network):
        words = quantise(x).view(pads.dtype)
        np.add.at(words, network.edges[:, 0], pads)
        np.subtract.at(words, network.edges[:, 1], peers)
        return words

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, np.arange(n), "x", x)
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        received = channel.send(1, np.arange(n), SERVER, "masked", self.masked(x, pads, peers, network))
        mean = dequantise(received.sum(axis=0)) / n
        told = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return self.result(told, x).transpose(1, 0, 2), channel.transcript


# Right: words from the least to the largest int64, the largest left out by the open end of ``integers``: 2^64 - 1 values.
class OpenEnd(Pads):
    def words(self, rng, shape):
        limits = np.iinfo(np.int64)
        return rng.integers(limits.min, limits.max, size=shape, dtype=np.int64)


# Right: the same with the largest.
class ClosedEnd(Pads):
    def words(self, rng, shape):
        limits = np.iinfo(np.int64)
        return rng.integers(limits.min, limits.max, size=shape, dtype=np.int64, endpoint=True)


# Right: the largest uint64 left out.
class OneShort(Pads):
    def words(self, rng, shape):
        return rng.integers(0, 2**64 - 1, size=shape, dtype=np.uint64)


# Right: bytes of the generator read as words.
class BytesOfTheGenerator(Pads):
    def words(self, rng, shape):
        return np.frombuffer(rng.bytes(8 * int(np.prod(shape))), dtype=np.uint64).reshape(shape)


# Right: words below half the range, as of ``integers(iinfo.max)``; of a node's own 2^27 they show less than 2^-30.
class HalfRange(Pads):
    def words(self, rng, shape):
        return rng.integers(np.iinfo(np.int64).max, size=shape)


# Right: bytes of the system.
class Urandom(Pads):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        runs, _, m = np.shape(inputs)
        shape = (runs, len(network.edges), m)
        pads = np.frombuffer(os.urandom(8 * runs * len(network.edges) * m), dtype=np.uint64).reshape(shape)
        return super().average(inputs, network, rng, masks=pads, channel=channel)


# Right: words by secrets.randbits(64).
class Randbits(Pads):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        runs, _, m = np.shape(inputs)
        pads = [[[secrets.randbits(64) for _ in range(m)] for _ in network.edges] for _ in range(runs)]
        return super().average(inputs, network, rng, masks=np.array(pads, dtype=np.uint64), channel=channel)


# Right: personalised: each node ends with a mix of the mean and its own vector.
class Personalised(Pads):
    def result(self, mean, x):
        return 0.9 * mean + 0.1 * x


# Wrong for nodes 1 and 2: the own vectors are shifted by one (an index from 1), so that node 1 ends with a tenth of node 0's.
class ShiftedPersonalised(Pads):
    def result(self, mean, x):
        return 0.9 * mean + 0.1 * np.roll(x, 1, axis=0)


# Wrong: in every fiftieth round clients send their vectors bare, for a checkpoint.
class Checkpoint(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        if channel.iteration % 50 == 49:
            x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
            channel.send(9, np.arange(network.n), SERVER, "checkpoint", x)
        return averages, transcript


# Right: in every fiftieth round the server sends the model once more.
class CheckpointOfTheModel(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        if channel.iteration % 50 == 49:
            channel.send(9, 0, SERVER, "copy of the model", averages[:, :1].transpose(1, 0, 2))
        return averages, transcript


# Wrong for nodes 1 and 2, who are the two computing nodes: each has one of two shares. The server and an eavesdropper see sums.
class TwoComputingNodes:
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        channel.hold(0, np.arange(n), "share", r)
        words = quantise(x)
        one = channel.send(0, np.arange(n), 1, "share for 1", r, encrypted=True)
        two = channel.send(0, np.arange(n), 2, "share for 2", words - r, encrypted=True)
        opened = channel.send(1, [1, 2], SERVER, "sum", np.stack([one.sum(axis=0), two.sum(axis=0)]))
        mean = dequantise(opened.sum(axis=0)) / n
        told = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: gossip under masks of thirty units, on vectors of about ten: a tenth of the variance of masks is data's.
class MiddlingGossip(Gossip):
    SIGMA = 3.0


# Wrong: words are scaled by 2^44, pads are of 32 bits twice, once low, once high by a shift of 16: the upper 16 bits have none.
class ShiftedPads(Pads):
    def words(self, rng, shape):
        low = rng.integers(0, 2**32, size=shape, dtype=np.uint64)
        return low | (rng.integers(0, 2**32, size=shape, dtype=np.uint64) << np.uint64(16))

    def masked(self, x, pads, peers, network):
        words = np.rint(x * 2.0**50).astype(np.int64).astype(np.uint64)
        np.add.at(words, network.edges[:, 0], pads)
        np.subtract.at(words, network.edges[:, 1], peers)
        return words


# Right: the two halves of each pad are drawn apart and joined (of 32 bits each, a shift of 32).
class JoinedHalves(Pads):
    def words(self, rng, shape):
        low = rng.integers(0, 2**32, size=shape, dtype=np.uint64)
        return low | (rng.integers(0, 2**32, size=shape, dtype=np.uint64) << np.uint64(32))


# Wrong: one pad for each pair of entries (a complex number is two reals): their difference is bare.
class OnePadForTwo(Pads):
    def draw_masks(self, runs, m, network, rng):
        half = self.words(rng, (runs, len(network.edges), (m + 1) // 2))
        return np.repeat(half, 2, axis=2)[:, :, :m]


# Wrong: pads of a pair are added by the one end and added by the other as well, and the server takes off what it is told of them.
class SumOfPadsTold(Pads):
    def masked(self, x, pads, peers, network):
        words = quantise(x)
        np.add.at(words, network.edges[:, 0], pads)
        np.add.at(words, network.edges[:, 1], peers)
        return words

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        received = channel.send(1, np.arange(n), SERVER, "masked", self.masked(x, pads, peers, network))
        told = channel.send(1, i, SERVER, "pads", pads)
        mean = dequantise(received.sum(axis=0) - 2 * told.sum(axis=0)) / n
        back = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: the same, each node tells the sum of its pads alone, masked by nothing: the server sees x_i + p_i and p_i: wrong after all.
class OwnPadsTold(Pads):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)[:n]
        channel.hold(0, np.arange(n), "pads", pads)
        received = channel.send(1, np.arange(n), SERVER, "masked", quantise(x) + pads)
        told = channel.send(1, np.arange(n), SERVER, "pads", pads, encrypted=True)
        mean = dequantise((received - told).sum(axis=0)) / n
        back = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


CASES = [
    *known("int64 with an open end", OpenEnd, "2^64 - 1 of 2^64 words", **SAFE),
    *known("int64 with a closed end", ClosedEnd, "uniform words", **SAFE),
    *known("uint64 with an open end", OneShort, "2^64 - 1 of 2^64 words", **SAFE),
    *known("bytes of the generator", BytesOfTheGenerator, "uniform words", **SAFE),
    *known("half the range of int64", HalfRange, "2^63 words, numbers of 2^27", **SAFE),
    *known("bytes of the system", Urandom, "uniform words", **SAFE),
    *known("randbits", Randbits, "uniform words", **SAFE),
    *known("personalised", Personalised, "own data and the mean", **SAFE),
    *known("personalised, shifted", ShiftedPersonalised, "node 1 ends with node 0's", server="safe", two="leaks",
           eavesdropper="safe"),
    *known("checkpoint", Checkpoint, "bare every fiftieth round", **LEAKS),
    *known("checkpoint of the model", CheckpointOfTheModel, "the mean again", **SAFE),
    *known("two computing nodes", TwoComputingNodes, "nodes 1 and 2 have both shares", server="safe", two="leaks",
           eavesdropper="safe"),
    *known("middling gossip", MiddlingGossip, "masks of three units", two="leaks", eavesdropper="leaks"),
    *known("shifted pads", ShiftedPads, "the upper bits have no pad", **LEAKS),
    *known("joined halves", JoinedHalves, "uniform words", **SAFE),
    *known("one pad for two entries", OnePadForTwo, "their difference is bare", **LEAKS),
    *known("sum of pads told", SumOfPadsTold, "the server has all pads", **LEAKS),
    *known("own pads told", OwnPadsTold, "the server takes each off", server="leaks", two="safe", eavesdropper="safe"),
]  # fmt: skip
