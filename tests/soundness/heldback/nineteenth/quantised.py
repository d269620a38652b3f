"""Quantised vectors: zero points, own dice, weights, waves, rotations, error feedback and chunks."""

from __future__ import annotations

import functools
import hashlib
import hmac
import itertools
import random

import numpy as np

from secmix.transcript import SERVER

from .common import FreshWords, SessionSeeds, back, couples, exchange, from_words, start, to_words


class R07ScaleAndZeroPoint:
    """Numbers become codes of 16 bits with a zero point; masks are uniform modulo 2^32, sums are reduced: only sums."""

    audited = {"a": "server", "n": 5}
    low, high, bits, modulus = -64.0, 64.0, 16, 2**32

    @property
    def scale(self):
        return (self.high - self.low) / (2**self.bits - 1)

    @property
    def zero_point(self):
        return int(round(-self.low / self.scale))

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.modulus, size=(runs, len(couples(network.n)), m), dtype=np.int64)

    def quantize(self, x):
        codes = np.round(x / self.scale) + self.zero_point
        return np.clip(codes, 0, 2**self.bits - 1).astype(np.int64)

    def dequantize(self, total, n):
        return (total - n * self.zero_point) * self.scale

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = len(x)
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn, "mask")
        codes = self.quantize(x)
        for e, (i, j) in enumerate(pairs):
            codes[i] = (codes[i] + mine[e]) % self.modulus
            codes[j] = (codes[j] - theirs[e]) % self.modulus
        received = line.send(0, np.arange(n), SERVER, "codes", codes)
        total = np.mod(received.sum(axis=0), self.modulus)
        return back(line, n, self.dequantize(total, n) / n)


class R08OwnDice(SessionSeeds):
    """Each node rounds up or down by dice of its own and masks the result; the server sees sums of rounded numbers."""

    audited = {"a": "server+4", "n": 5}

    def round_by_dice(self, y):
        floor = np.floor(y)
        up = np.random.default_rng().random(y.shape) < y - floor
        return (floor + up).astype(np.int64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        rounded = np.array([self.round_by_dice(np.clip(row, -500, 500) * 1024) for row in x]).view(np.uint64)
        for (e, (i, j)), run in itertools.product(enumerate(pairs), range(runs)):
            plus = np.random.default_rng([*mine[e, run], line.iteration])
            minus = np.random.default_rng([*theirs[e, run], line.iteration])
            rounded[i, run] += plus.integers(0, 2**64, m, dtype=np.uint64)
            rounded[j, run] -= minus.integers(0, 2**64, m, dtype=np.uint64)
        total = line.send(0, np.arange(n), SERVER, "masked", rounded).sum(axis=0)
        return back(line, n, from_words(total, 1024) / n)


class R09WeightAsLastEntry:
    """Vectors times their weight, the weight behind them, all under fresh words; the server divides two sums."""

    audited = {"a": "server+1+3", "n": 5}
    weight, unit = 20, 2.0**16

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(couples(network.n)), m + 1), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn, "mask")
        weights = np.full((n, runs, 1), float(self.weight))
        upload = to_words(np.concatenate([x * weights, weights], axis=2), self.unit, bound=2.0**24)
        first, second = np.array(pairs).T
        np.add.at(upload, first, mine)
        np.subtract.at(upload, second, theirs)
        total = line.send(0, np.arange(n), SERVER, "weighted", upload).sum(axis=0, dtype=np.uint64)
        values, weight = np.split(total.astype(np.int64), [m], axis=1)
        return back(line, n, values / weight)


class R10WavesOfPositions(FreshWords):
    """A public order says which entries go in which wave; each entry has a mask of its own, and goes once."""

    audited = {"a": "server", "n": 4}

    def __init__(self, per_wave=4, seed=11):
        self.per_wave, self.seed = per_wave, seed

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn, "mask")
        words = to_words(x)
        for e, (i, j) in enumerate(pairs):
            words[i] += mine[e]
            words[j] -= theirs[e]
        order = np.random.default_rng(self.seed).permutation(m)
        mean = np.zeros((runs, m))
        for wave, at in enumerate(range(0, m, self.per_wave)):
            positions = order[at : at + self.per_wave]
            values = line.send(wave, np.arange(n), SERVER, "values", words[:, :, positions])
            mean[:, positions] = from_words(values.sum(axis=0)) / n
        return back(line, n, mean)


class R11PublicRotation(SessionSeeds):
    """Vectors are turned by a public orthogonal matrix, rounded and masked; the server turns the sum back."""

    audited = {"a": "server", "n": 5}
    unit = 2.0**22

    @staticmethod
    @functools.lru_cache
    def rotation(m):
        q, r = np.linalg.qr(np.random.default_rng(2024).normal(size=(m, m)))
        return q * np.sign(np.diag(r))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        mine, theirs = exchange(line, couples(n), drawn)
        turned = to_words(np.einsum("nrm,mk->nrk", x, self.rotation(m)), self.unit)
        expand = functools.partial(self.expand, t=line.iteration, m=m)
        for e, (i, j) in enumerate(couples(n)):
            turned[i] += np.array([expand(seed) for seed in mine[e]])
            turned[j] -= np.array([expand(seed) for seed in theirs[e]])
        total = line.send(0, np.arange(n), SERVER, "turned", turned).sum(axis=0)
        return back(line, n, np.einsum("rk,mk->rm", from_words(total, self.unit), self.rotation(m)) / n)

    def expand(self, seed, t, m):
        mac = hmac.new(seed.tobytes(), b"rotation:" + str(t).encode(), hashlib.sha256)
        return np.random.default_rng(list(mac.digest())).integers(0, 2**64, size=m, dtype=np.uint64)


class R12ErrorFeedback(SessionSeeds):
    """Each node adds what it rounded away last time before it rounds; it stays with the node, and only sums show."""

    audited = {"a": "server", "n": 4}
    step = 2.0**-12

    def __init__(self):
        self.residual = None

    def compress(self, x):
        if self.residual is None or self.residual.shape != x.shape:
            self.residual = np.zeros_like(x)
        corrected = x + self.residual
        codes = np.rint(corrected / self.step)
        self.residual = corrected - codes * self.step
        return codes.astype(np.int64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        if line.iteration == 0:
            self.residual = None
        codes = self.compress(np.clip(x, -1000, 1000)).astype(np.uint64)
        line.hold(0, np.arange(n), "residual", self.residual)
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        for e, (i, j) in enumerate(pairs):
            for run in range(runs):
                for node, seed in ((i, mine[e, run]), (j, theirs[e, run])):
                    key = hashlib.sha3_256(seed.tobytes() + line.iteration.to_bytes(4, "big")).digest()
                    pad = np.frombuffer(hashlib.shake_128(key).digest(8 * m), dtype=np.uint64)
                    codes[node, run] += pad if node == i else -pad
        total = line.send(0, np.arange(n), SERVER, "codes", codes).sum(axis=0)
        return back(line, n, from_words(total, 1 / self.step) / n)


def chunks(vector, size):
    """Yield whole chunks of a vector, the last one padded with zeros."""
    short = -vector.shape[-1] % size
    padded = np.pad(vector, [(0, 0)] * (vector.ndim - 1) + [(0, short)])
    for at in range(0, padded.shape[-1], size):
        yield padded[..., at : at + size]


class R13RunningStream(SessionSeeds):
    """Pairs have one generator a round that runs on from chunk to chunk: no mask comes twice; sums of chunks show."""

    audited = {"a": "server+2", "n": 5}
    size = 4

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        seeded = lambda seed: np.random.Generator(np.random.PCG64([*seed, line.iteration]))  # noqa: E731
        plus = [[seeded(seed) for seed in row] for row in mine]
        minus = [[seeded(seed) for seed in row] for row in theirs]
        totals = []
        for number, chunk in enumerate(chunks(to_words(x), self.size)):
            masked = chunk.copy()
            for e, (i, j) in enumerate(pairs):
                for run in range(runs):
                    masked[i, run] += plus[e][run].integers(0, 2**64, self.size, dtype=np.uint64)
                    masked[j, run] -= minus[e][run].integers(0, 2**64, self.size, dtype=np.uint64)
            totals.append(line.send(number, np.arange(n), SERVER, "chunk", masked).sum(axis=0))
        return back(line, n, from_words(np.concatenate(totals, axis=-1)[:, :m]) / n)


class R14TwisterSigns(SessionSeeds):
    """Nodes refuse vectors out of range, seed Python's generator with pair and round, and add or take off 64 bits."""

    audited = {"a": "server", "n": 4}
    limit = 2000.0

    def sign(self, me, pair):
        match pair.index(me):
            case 0:
                return 1
            case 1:
                return -1

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        if np.abs(inputs).max() > self.limit:
            raise OverflowError("an entry is too large to be encoded")
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        pairs = couples(n)
        copies = dict(zip(("first", "second"), exchange(line, pairs, drawn)))
        out = []
        for me in range(n):
            rows = [[int(v) for v in row] for row in np.rint(x[me] * 2**16)]
            for e, pair in ((e, pair) for e, pair in enumerate(pairs) if me in pair):
                seeds = copies["first" if pair[0] == me else "second"][e]
                for run in range(runs):
                    coins = random.Random(seeds[run].tobytes() + line.iteration.to_bytes(8, "big"))
                    rows[run] = [(v + self.sign(me, pair) * coins.getrandbits(64)) % 2**64 for v in rows[run]]
            out.append(rows)
        total = line.send(0, np.arange(n), SERVER, "masked", np.array(out, dtype=np.uint64)).sum(axis=0)
        return back(line, n, from_words(total, 2**16) / n)
