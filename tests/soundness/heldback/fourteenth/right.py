"""Right protocols, as practice writes them: words, seeds, shares and rings."""

from __future__ import annotations

import hashlib
import itertools
import struct
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from secmix.transcript import SERVER

from .common import BEFORE_SERVER, U64, FixedPoint, prepare, release


class Pair(NamedTuple):
    """Two nodes, the lower number first."""

    low: int
    high: int


class RFlattened:
    """An author of code for GPUs gathers pairwise masks (Bonawitz et al. 2017) in a flat accumulator of rows of nodes
    and runs, which is right: it is the pairwise sum, addressed by node * runs + run."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "mask", r)
        other = channel.send(-1, i, j, "mask", r, encrypted=True)
        acc = np.zeros_like(s).reshape(-1, m)
        for e in range(len(i)):
            acc[i[e] * runs : (i[e] + 1) * runs] += r[e]
            acc[j[e] * runs : (j[e] + 1) * runs] -= other[e]
        hidden = (s.reshape(-1, m) + acc).reshape(n, runs, m)
        up = channel.send(0, np.arange(n), SERVER, "masked", hidden)
        return release(channel, network, up.mean(axis=0, keepdims=True))


class RPublicPattern:
    """An author shares a public pattern of coordinates only (Ergun et al. 2021) and sends others as zeros, which is
    right: what is sent is masked entry by entry."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "mask", r)
        other = channel.send(-1, i, j, "mask", r, encrypted=True)
        pattern = np.broadcast_to(np.arange(m) >= 0, s.shape)
        hidden = np.zeros(s.shape)
        hidden[pattern] = s[pattern]
        for e, (a, b) in enumerate(zip(i, j)):
            hidden[a] += r[e]
            hidden[b] -= other[e]
        up = channel.send(0, np.arange(n), SERVER, "masked", hidden)
        return release(channel, network, up.mean(axis=0, keepdims=True))


@dataclass
class RShakeSecAgg:
    """An author expands pair seeds of 256 bits by SHAKE-256 to words of 64 bits (Bonawitz et al. 2017), which is right:
    each pair, run and round has a label or a seed of its own."""

    audited = BEFORE_SERVER
    codec: FixedPoint = field(default_factory=FixedPoint)
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=U64)

    def pad(self, seed, pair, round_, m):
        label = b"secagg/v1" + struct.pack("<HH", *pair) + round_.to_bytes(8, "little")
        return np.frombuffer(hashlib.shake_256(seed.tobytes() + label).digest(8 * m), dtype="<u8")

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, seeds, channel = prepare(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "seed", seeds)
        theirs = channel.send(-1, i, j, "seed", seeds, encrypted=True)
        words = self.codec.encode(s)
        for e, (a, b) in enumerate(network.edges.tolist()):
            for run in range(runs):
                words[a, run] += self.pad(seeds[e, run], Pair(a, b), channel.iteration, m)
                words[b, run] -= self.pad(theirs[e, run], Pair(a, b), channel.iteration, m)
        up = channel.send(0, np.arange(n), SERVER, "masked", words)
        return release(channel, network, self.codec.decode(up.sum(axis=0, keepdims=True), n))


class RTwoServers:
    """An author shares between two aggregators modulo 2^61 - 1 (Prio, Corrigan-Gibbs and Boneh 2017), which is right:
    each share alone is uniform, and aggregators tell sums of shares only."""

    audited = BEFORE_SERVER
    P = 2**61 - 1

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.P, size=(runs, network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        nodes = np.arange(n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "share", r)
        x = np.rint(s * 2**16).astype(np.int64) % self.P
        first = channel.send(0, nodes, 0, "share", r, encrypted=True)
        second = channel.send(0, nodes, 1, "share", (x - r) % self.P, encrypted=True)

        def added(parts):
            total = np.zeros_like(parts[0])
            for part in parts:
                total = (total + part) % self.P
            return total[None]

        a = channel.send(1, 0, SERVER, "sum", added(first))
        b = channel.send(1, 1, SERVER, "sum", added(second))
        total = (a + b) % self.P
        signed = np.where(total > self.P // 2, total - self.P, total)
        return release(channel, network, signed / 2.0**16 / n)


class RRing64:
    """An author passes a running sum of 64 bit words along a ring (Clifton et al. 2002), which is right: what is passed
    on is uniform."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, np.iinfo(U64).max, size=(runs, 1, m), dtype=U64, endpoint=True)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, 0, "mask", r)
        codec = FixedPoint()
        words = codec.encode(s)
        running = r + words[:1]
        for here, there in itertools.pairwise(itertools.chain(range(n), [0])):
            running = channel.send(here, here, there, "running", running, encrypted=True)
            if there:
                running = running + words[there : there + 1]
        mean = codec.decode(running - r, n)
        out = channel.send(n, 0, range(1, n), "average", mean, encrypted=True, content=[0] * (n - 1))
        return np.repeat(np.swapaxes(out, 0, 1)[:, :1], n, axis=1), channel.transcript


class RDropped:
    """An author has the others tell the masks that they share with a node that is gone (Bonawitz et al. 2017), which is
    right: only their sum follows, and the absent node sends nothing."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        gone, here = n - 1, np.arange(n - 1)
        pairs = {tuple(sorted(map(int, edge))): e for e, edge in enumerate(network.edges)}
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "mask", r)
        theirs = channel.send(-1, i, j, "mask", r, encrypted=True)
        codec = FixedPoint()
        words = dict(enumerate(codec.encode(s)))
        for (a, b), e in pairs.items():
            words[a] = words[a] + r[e]
            words[b] = words[b] - theirs[e]
        up = channel.send(0, here, SERVER, "masked", np.stack([words[k] for k in here.tolist()]))
        opened = channel.send(1, here, SERVER, "opened", np.stack([r[pairs[k, gone]] for k in here.tolist()]))
        total = up.sum(axis=0, keepdims=True) - opened.sum(axis=0, keepdims=True)
        return release(channel, network, codec.decode(total, n - 1))


class RClippedGradients:
    """An author of FedAvg sums gradients clipped to norm one (McMahan et al. 2018) modulo 2^32, which is right: clipped
    entries fit, and masks are uniform words of the full modulus."""

    audited = BEFORE_SERVER
    SCALE = 2.0**24

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**32, size=(runs, len(network.edges), m), dtype=np.uint32)

    @staticmethod
    def clipped(x, bound=1.0):
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
        return x * np.minimum(1.0, bound / np.maximum(norm, 1e-12))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "mask", r)
        theirs = channel.send(-1, i, j, "mask", r, encrypted=True)
        words = np.round(self.clipped(s) * self.SCALE).astype(np.int32).astype(np.uint32)
        signs = np.zeros((n, len(i)), dtype=np.int64)
        signs[i, np.arange(len(i))] = 1
        signs[j, np.arange(len(i))] = -1
        for node in range(n):
            for e in np.flatnonzero(signs[node]):
                words[node] = words[node] + r[e] if signs[node, e] > 0 else words[node] - theirs[e]
        up = channel.send(0, np.arange(n), SERVER, "masked", words)
        total = np.add.reduce(up, axis=0, dtype=np.uint32, keepdims=True).astype(np.int32)
        return release(channel, network, total / self.SCALE / n)


class REinsumZeroSum:
    """An author applies a public matrix to the draws of a dealer who keeps nothing, to have masks that sum to zero,
    which is right: normal masks of n - 1 dimensions hide all but the sum."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.standard_normal((runs, network.n, m)) * 1e6

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        nodes = np.arange(n)
        centre = np.eye(n) - np.full((n, n), 1.0 / n)
        zero_sum = np.einsum("ij,jrm->irm", centre, r)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "mask", zero_sum)
        up = channel.send(0, nodes, SERVER, "masked", s + zero_sum)
        return release(channel, network, np.mean(up, axis=0, keepdims=True))
