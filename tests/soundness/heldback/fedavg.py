"""Federated averaging as engineers write it: weights, quantisation, clipping, compression, momentum."""

from __future__ import annotations

import functools
import hashlib
import itertools
import operator
from dataclasses import dataclass, field

import numpy as np

from secmix.transcript import SERVER, Channel

from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}

# ---------------------------------------------------------------- secure aggregation with seeds, one class


class SecAgg:
    """Pairwise seeds, masks expanded by PCG64 in uint64, server adds up and broadcasts the average."""

    FRACTION_BITS = 20
    CLIP = 1024.0

    def length(self, m):
        return m

    def draw_masks(self, runs, m, network, rng):
        # two 64-bit words of seed for each pair
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def encode(self, x, network):
        scaled = np.clip(x, -self.CLIP, self.CLIP) * (1 << self.FRACTION_BITS)
        return np.round(scaled).astype(np.int64).astype(np.uint64)

    def decode(self, total, network):
        return total.astype(np.int64) / (1 << self.FRACTION_BITS) / network.n

    def expand(self, seed, m, iteration):
        return np.random.default_rng([*seed, iteration]).integers(0, 2**64, size=m, dtype=np.uint64)

    def finish(self, mean, m):
        return mean

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        first, second = network.edges.T
        channel.hold(-1, first, "seed", seeds.transpose(1, 0, 2))
        agreed = channel.send(-1, first, second, "seed", seeds.transpose(1, 0, 2), encrypted=True)
        words = self.encode(x.transpose(1, 0, 2), network)
        for run in range(runs):
            for e, (i, j) in enumerate(network.edges):
                words[i, run] += self.expand(seeds[run, e], words.shape[2], channel.iteration)
                words[j, run] -= self.expand(agreed[e, run], words.shape[2], channel.iteration)
        got = channel.send(0, np.arange(n), SERVER, "update", words)
        total = np.add.reduce(got, axis=0)
        mean = self.finish(self.decode(total, network), m)
        back = channel.send(1, SERVER, np.arange(n), "model", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: the weights are public settings (dataset sizes in the consent form); only the weighted sum opens, no weight
# dominates (120 of 450, 0.34 of the variance; 0.55 when nodes 1 and 2 are taken off).
class WeightedByPublicSize(SecAgg):
    SIZES = (120, 80, 100, 60, 90)

    def encode(self, x, network):
        weights = np.asarray(self.SIZES[: network.n], dtype=float)
        return super().encode(x * (weights / weights.sum())[:, None, None] * network.n, network)


# Right: FedAvg with private counts: the count is an entry of the masked vector; the server divides total by total.
class FedAvgQuotient(SecAgg):
    CLIP = 2.0**20

    def length(self, m):
        return m + 1

    def encode(self, x, network):
        counts = np.rint(np.clip(x[..., :1] + x[..., 6:7], 1, 1000))
        return super().encode(np.concatenate([counts * np.clip(x, -500, 500), counts], axis=-1), network)

    def finish(self, mean, m):
        return mean[..., :m] / np.maximum(mean[..., m:], 1e-6)


# Right: every update is clipped to an L2 ball before it is encoded; only the sum opens.
class ClippedToBall(SecAgg):
    BOUND = 200.0

    def encode(self, x, network):
        norm = np.sqrt((x**2).sum(axis=-1, keepdims=True))
        return super().encode(x * np.minimum(1.0, self.BOUND / np.maximum(norm, 1e-12)), network)


# Right: random-k sparsification with a subset that all derive from a public seed and the round; only the sum opens.
class RandomSubset(SecAgg):
    K = 5

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        m = np.shape(inputs)[-1]
        kept = np.sort(np.random.default_rng([1234, channel.iteration]).choice(m, self.K, replace=False))
        small, transcript = super().average(np.asarray(inputs)[..., kept], network, rng, masks=masks, channel=channel)
        out = np.zeros(np.shape(inputs))
        out[..., kept] = small * m / self.K
        return out, transcript


# Right: a random rotation known to all (QR of a seeded Gaussian) flattens before quantisation.
class RandomRotation(SecAgg):
    @staticmethod
    @functools.cache
    def rotation(m):
        q, r = np.linalg.qr(np.random.default_rng(7).standard_normal((m, m)))
        return q * np.sign(np.diag(r))

    def encode(self, x, network):
        return super().encode(np.einsum("nrm,mk->nrk", x, self.rotation(x.shape[-1])), network)

    def finish(self, mean, m):
        return mean @ self.rotation(m).T


# Right: stochastic rounding by coins of the client's own (QSGD), levels of a public grid; only the sum opens.
class StochasticRounding(SecAgg):
    STEP = 0.25

    def encode(self, x, network):
        scaled = np.clip(x, -self.CLIP, self.CLIP) / self.STEP
        low = np.floor(scaled)
        up = np.random.default_rng().random(x.shape) < scaled - low
        return (low + up).astype(np.int64).astype(np.uint64)

    def decode(self, total, network):
        return total.view(np.int64) * self.STEP / network.n


# Right: updates are float32 tensors, as a framework hands them over; they are quantised from there.
class SinglePrecision(SecAgg):
    def encode(self, x, network):
        tensor = x.astype(np.float32)
        tensor = np.clip(tensor, np.float32(-512), np.float32(512))
        return np.rint(tensor * np.float32(2**12)).astype(np.int32).astype(np.int64).astype(np.uint64)

    def decode(self, total, network):
        return total.astype(np.int64) / 2**12 / network.n


# Right: each client keeps its own momentum from round to round; what opens is the sum of momenta. (State: a node's own.)
class ClientMomentum(SecAgg):
    BETA = 0.9

    def __init__(self):
        self.velocity = None

    def encode(self, x, network):
        if self.velocity is None or self.velocity.shape != x.shape:
            self.velocity = np.zeros_like(x)
        self.velocity = self.BETA * self.velocity + (1 - self.BETA) * x
        return super().encode(self.velocity, network)


# Right: top-k with error feedback in place of a threshold: what is not sent stays with the client; zeros are masked too.
class TopKFeedback(SecAgg):
    K = 4

    def __init__(self):
        self.error = {}

    def encode(self, x, network):
        corrected = x + self.error.get(x.shape, 0.0)
        size = np.abs(corrected)
        threshold = np.sort(size, axis=-1)[..., -self.K : -self.K + 1]
        sparse = np.where(size >= threshold, corrected, 0.0)
        self.error[x.shape] = corrected - sparse
        return super().encode(sparse, network)


# ---------------------------------------------------------------- bytes: one word of 8 bits an entry


# Right: majority vote of signs, words modulo 256, masks uniform in 0..255; the sum of signs opens.
class SignVote:
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 256, size=(runs, len(network.edges), m), dtype=np.uint8)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs).transpose(1, 0, 2)
        channel = Channel() if channel is None else channel
        if masks is None:
            masks = self.draw_masks(x.shape[1], x.shape[2], network, rng)
        r = masks.transpose(1, 0, 2)
        i, j = network.edges[:, 0], network.edges[:, 1]
        channel.hold(0, i, "pad", r)
        theirs = channel.send(0, i, j, "pad", r, encrypted=True)
        votes = np.sign(x - 5.0).astype(np.int8).view(np.uint8)
        np.add.at(votes, i, r)
        np.subtract.at(votes, j, theirs)
        ballot = channel.send(1, np.arange(network.n), SERVER, "vote", votes)
        result = ballot.sum(axis=0, dtype=np.uint8).view(np.int8).astype(float)
        step = channel.send(
            2, SERVER, np.arange(network.n), "sign", np.sign(result)[None], content=np.zeros(network.n, int)
        )
        return np.repeat(1.0 + 0.5 * step.transpose(1, 0, 2), network.n, axis=1), channel.transcript


# ---------------------------------------------------------------- objects: clients and a server, SHAKE-256, 32-bit words


@dataclass
class Client:
    index: int
    keys: dict = field(default_factory=dict)

    def pad(self, other, iteration, m):
        stream = hashlib.shake_256(self.keys[other] + iteration.to_bytes(8, "big")).digest(4 * m)
        return np.frombuffer(stream, dtype="<u4")

    def masked(self, vector, iteration):
        quantised = np.rint(np.clip(vector, -1000, 1000) * 2.0**14).astype(np.int64).astype(np.uint32)
        plus = [self.pad(other, iteration, len(vector)) for other in self.keys if other > self.index]
        minus = [self.pad(other, iteration, len(vector)) for other in self.keys if other < self.index]
        return functools.reduce(operator.sub, minus, functools.reduce(operator.add, plus, quantised))


# Right: client objects with a 256-bit key for each pair, pads by SHAKE-256 of key and round in uint32; the sum opens.
class ClientObjects:
    def draw_masks(self, runs, m, network, rng):
        pairs = network.n * (network.n - 1) // 2
        return rng.integers(0, 2**64, size=(runs, pairs, 4), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        runs, n, m = np.shape(inputs)
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        pairs = list(itertools.combinations(range(n), 2))
        i, j = np.array(pairs).T
        channel.hold(-1, i, "pair key", keys.transpose(1, 0, 2))
        theirs = channel.send(-1, i, j, "pair key", keys.transpose(1, 0, 2), encrypted=True)
        uploads = []
        for run in range(runs):
            clients = [Client(index) for index in range(n)]
            for p, (a, b) in enumerate(pairs):
                clients[a].keys[b] = keys[run, p].tobytes()
                clients[b].keys[a] = theirs[p, run].tobytes()
            uploads.append([c.masked(inputs[run][c.index], channel.iteration) for c in clients])
        received = channel.send(0, np.arange(n), SERVER, "masked update", np.array(uploads).transpose(1, 0, 2))
        total = functools.reduce(operator.add, received).astype(np.int32)
        mean = total.astype(float) / 2.0**14 / n
        answer = channel.send(1, SERVER, np.arange(n), "global", mean[None], content=np.zeros(n, dtype=int))
        return np.broadcast_to(answer.transpose(1, 0, 2), (runs, n, m)).copy(), channel.transcript


CASES = [
    *known("weights are public sizes", WeightedByPublicSize, "one weighted sum", **SAFE),
    *known("FedAvg's quotient by the total count", FedAvgQuotient, "two sums, divided", **SAFE),
    *known("clipped to a ball", ClippedToBall, "own data only before the mask", **SAFE),
    *known("random subset of entries known to all", RandomSubset, "public coins", **SAFE),
    *known("random rotation known to all", RandomRotation, "public matrix", **SAFE),
    *known("stochastic rounding", StochasticRounding, "own coins before the mask", **SAFE),
    *known("single precision before the words", SinglePrecision, "own data only before the mask", **SAFE),
    *known("momentum of each client", ClientMomentum, "own data of this and earlier rounds", **SAFE),
    *known("top-k with error feedback", TopKFeedback, "own data of this and earlier rounds", **SAFE),
    *known("votes of signs in bytes", SignVote, "uniform bytes", **SAFE),
    *known("client objects and SHAKE", ClientObjects, "uniform words of 32 bits", **SAFE),
]
