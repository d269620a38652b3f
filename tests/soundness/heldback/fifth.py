"""A fifth set: schedules over rounds, and seeds from wherever."""

from __future__ import annotations

import functools
import hashlib
import math
import secrets
import time
import uuid

import numpy as np

from secmix.transcript import SERVER, Channel

from .fedavg import SecAgg
from .fourth import Pads
from .shares import dequantise, quantise
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}
LEAKS = {"server": "leaks", "two": "leaks", "eavesdropper": "leaks"}


# Wrong: normal masks are annealed with the rounds; after forty of them a millionth of a unit is left.
class Annealed:
    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def scale(self, iteration):
        return 0.5**iteration

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.array(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, np.arange(n), "x", x)
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        sent = x.copy()
        np.add.at(sent, i, pads * self.scale(channel.iteration))
        np.subtract.at(sent, j, peers * self.scale(channel.iteration))
        mean = channel.send(1, np.arange(n), SERVER, "masked", sent).mean(axis=0)
        told = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong: masks are divided by the number of the round.
class DividedByRound(Annealed):
    def scale(self, iteration):
        return 1.0 / (1 + iteration) ** 3


# Wrong: masks swing with a cosine of the round, and vanish in every tenth.
class Swinging(Annealed):
    def scale(self, iteration):
        return 1.0 - math.cos(2 * math.pi * (iteration + 5) / 10)


# Wrong for nodes 1 and 2 (in even rounds nodes 1 and 3 share pads with each other alone); right for the others: sums of two at
# least.
class ParityOfTheRound(SecAgg):
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
            for e, (i, j) in enumerate(network.edges.tolist()):
                if (i + j + channel.iteration) % 2 == 0:
                    words[i, run] += self.expand(seeds[run, e], m, channel.iteration)
                    words[j, run] -= self.expand(agreed[e, run], m, channel.iteration)
        total = channel.send(0, np.arange(n), SERVER, "update", words).sum(axis=0)
        back = channel.send(
            1, SERVER, np.arange(n), "model", self.decode(total, network)[None], content=np.zeros(n, dtype=int)
        )
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Wrong for nodes 1 and 2: a trusted node, another in each round, is sent all vectors on encrypted lines; in rounds 3 and 4 of
# five it is node 1 or 2. An eavesdropper reads nothing.
class TurnOfTheTrusted:
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n = len(x)
        channel = channel or Channel()
        trusted = (channel.iteration + 3) % n
        others = [node for node in range(n) if node != trusted]
        got = channel.send(0, others, trusted, "vector", x[others], encrypted=True)
        mean = (got.sum(axis=0) + x[trusted]) / n
        told = channel.send(1, trusted, others, "mean", mean[None], encrypted=True, content=np.zeros(n - 1, dtype=int))
        result = np.repeat(told, n, axis=0)
        return result.transpose(1, 0, 2), channel.transcript


# Right: the same turn, under pads of the pairs.
class TurnUnderPads(Pads):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        words = quantise(x)
        np.add.at(words, i, pads)
        np.subtract.at(words, j, peers)
        turn = (channel.iteration + 3) % n
        others = [node for node in range(n) if node != turn]
        got = channel.send(1, others, turn, "masked", words[others])
        mean = dequantise(got.sum(axis=0) + words[turn]) / n
        told = channel.send(2, turn, others, "mean", mean[None], content=np.zeros(n - 1, dtype=int))
        return np.repeat(told, n, axis=0).transpose(1, 0, 2), channel.transcript


# Right: a step size that decays with the rounds, before the words.
class DecayingStep(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        rate = 0.9**channel.iteration
        averages, transcript = super().average(rate * np.asarray(inputs), network, rng, masks=masks, channel=channel)
        return averages / rate, transcript


# Right: a warm-up in the first ten rounds.
class WarmUp(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        bound = 50.0 if channel.iteration < 10 else 500.0
        clipped = np.clip(np.asarray(inputs), -bound, bound)
        return super().average(clipped, network, rng, masks=masks, channel=channel)


@functools.lru_cache(maxsize=64)
def pads_of_pair(pair, runs, m):
    return np.frombuffer(secrets.token_bytes(8 * runs * m), np.uint64).reshape(runs, m)


# Wrong: a cache around the function that draws: all calls of one size have the same pads.
class CachedDraws(Pads):
    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        runs, _, m = np.shape(inputs)
        pads = np.stack([pads_of_pair(tuple(pair), runs, m) for pair in network.edges.tolist()], axis=1)
        return super().average(inputs, network, rng, masks=pads, channel=channel)


class FromSeeds(SecAgg):
    """Seeds that ends of a pair work out, each by itself."""

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def seed(self, i, j, iteration):
        raise NotImplementedError

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        runs = np.shape(inputs)[0]
        rows = [np.frombuffer(self.seed(i, j, channel.iteration), np.uint64) for i, j in network.edges.tolist()]
        seeds = np.repeat(np.stack(rows)[None], runs, axis=0)
        return super().average(inputs, network, rng, masks=seeds, channel=channel)


# Wrong: a hash of the names of the pair.
class NamesHashed(FromSeeds):
    def seed(self, i, j, iteration):
        return hashlib.sha256(f"client-{i}/client-{j}".encode()).digest()


# Wrong: uuid5 of a namespace that all know.
class Uuid5(FromSeeds):
    def seed(self, i, j, iteration):
        return uuid.uuid5(uuid.NAMESPACE_DNS, f"{i}.{j}.example.org").bytes


# Wrong: the clock, in seconds.
class Clock(FromSeeds):
    def seed(self, i, j, iteration):
        return hashlib.sha256(int(time.time()).to_bytes(8, "big") + bytes([i, j])).digest()


# Wrong: a password of the project, stretched.
class Password(FromSeeds):
    def seed(self, i, j, iteration):
        return hashlib.pbkdf2_hmac("sha256", b"federated", bytes([i, j]), 10)


# Wrong: NumPy's global generator with a seed for reproducibility.
class GlobalSeed(Pads):
    def draw_masks(self, runs, m, network, rng):
        np.random.seed(1234)
        return np.random.randint(-(2**63), 2**63 - 1, size=(runs, len(network.edges), m), dtype=np.int64).view(
            np.uint64
        )


# Wrong: the count is appended after the vector was masked.
class AppendedCount(Pads):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        counts = quantise(np.rint(x[..., :1]))
        payload = np.concatenate([self.masked(x, pads, peers, network), counts], axis=2)
        total = dequantise(channel.send(1, np.arange(n), SERVER, "masked", payload).sum(axis=0))
        mean = total[:, :m] / n
        told = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


CASES = [
    *known("annealed masks", Annealed, "late rounds have none", **LEAKS),
    *known("masks divided by the round", DividedByRound, "late rounds have none", **LEAKS),
    *known("swinging masks", Swinging, "round 5 has none", **LEAKS),
    *known("parity of the round", ParityOfTheRound, "even rounds: nodes 1 and 3 alone", server="safe", two="leaks",
           eavesdropper="safe"),
    *known("turn of the trusted", TurnOfTheTrusted, "rounds 3 and 4: it is node 1 or 2", two="leaks",
           eavesdropper="safe"),
    *known("turn under pads", TurnUnderPads, "a pad of each pair", two="safe", eavesdropper="safe"),
    *known("decaying step", DecayingStep, "own data and the round before the mask", **SAFE),
    *known("warm-up", WarmUp, "own data and the round before the mask", **SAFE),
    *known("cached draws", CachedDraws, "pads of earlier rounds", **LEAKS),
    *known("names hashed", NamesHashed, "everybody hashes them", **LEAKS),
    *known("uuid5", Uuid5, "everybody makes it", **LEAKS),
    *known("clock", Clock, "few seconds to try", **LEAKS),
    *known("password", Password, "it stands in the code", **LEAKS),
    *known("global seed", GlobalSeed, "it stands in the code", **LEAKS),
    *known("appended count", AppendedCount, "it has no pad", **LEAKS),
]  # fmt: skip
