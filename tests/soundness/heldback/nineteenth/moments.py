"""Statistics of mixtures, principal components, regressions and clusters, summed under masks."""

from __future__ import annotations

import hashlib
import logging
import struct
from dataclasses import dataclass

import numpy as np

from secmix.transcript import SERVER

from .common import UNIT, FreshWords, SessionSeeds, back, couples, exchange, from_words, start, to_words

log = logging.getLogger(__name__)


@dataclass
class Moments:
    """Sufficient statistics of an E-step: responsibilities, first and second moments."""

    weights: np.ndarray
    means: np.ndarray
    scatter: np.ndarray

    @classmethod
    def unflatten(cls, vector):
        m = vector.shape[-1]
        return cls(*np.split(vector, [m // 6, m // 2], axis=-1))

    def flatten(self):
        return np.concatenate([self.weights, self.means, self.scatter], axis=-1)

    def items(self):
        return vars(self).items()


class R01MixtureMoments(SessionSeeds):
    """Weights, means and scatter get masks of their own, from labels with part, pair and round; only sums show."""

    audited = {"a": "server", "n": 5}

    def pad(self, seed, part, pair, t, size):
        label = f"{part}/{pair[0]}-{pair[1]}/round {t}".encode()
        digest = hashlib.sha256(seed.tobytes() + label).digest()
        return np.random.default_rng(np.frombuffer(digest, np.uint32)).integers(0, 2**64, size, dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, _ = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        stats = Moments.unflatten(to_words(x))
        for e, (i, j) in enumerate(pairs):
            for run in range(runs):
                for part, value in stats.items():
                    size = value.shape[-1]
                    value[i, run] += self.pad(mine[e, run], part, (i, j), line.iteration, size)
                    value[j, run] -= self.pad(theirs[e, run], part, (i, j), line.iteration, size)
        received = line.send(0, np.arange(n), SERVER, "moments", stats.flatten())
        total = Moments.unflatten(from_words(received.sum(axis=0)))
        log.info("summed %d nodes", n)
        return back(line, n, total.flatten() / n)


class R02PackedCovariance(FreshWords):
    """Packed triangles are masked entry by entry with fresh words; the server unpacks only their sum."""

    audited = {"a": "server+2", "n": 5}

    def unpack(self, packed):
        m = packed.shape[-1]
        d = next(d for d in range(1, m + 2) if d * (d + 1) // 2 >= m)
        rows, columns = (index[:m] for index in np.triu_indices(d))
        full = np.zeros((*packed.shape[:-1], d, d))
        full[..., rows, columns] = packed
        full[..., columns, rows] = packed
        return full, rows, columns

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = network.n
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn, "mask")
        packed = to_words(x, 2.0**24)
        for e, (i, j) in enumerate(pairs):
            packed[i] += mine[e]
            packed[j] -= theirs[e]
        total = line.send(0, range(n), SERVER, "packed triangle", packed).sum(axis=0)
        covariance, rows, columns = self.unpack(from_words(total, 2.0**24) / n)
        covariance = (covariance + np.swapaxes(covariance, -1, -2)) / 2
        return back(line, n, covariance[..., rows, columns])


class R03NormalEquations:
    """X'X and X'y are split between nodes 0 and 1, who add up shares; node 0 sees uniform words and the total."""

    audited = {"a": "0", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, m = len(x), x.shape[2]
        everybody = np.arange(n)
        gram, moment = x[..., : 2 * m // 3], x[..., 2 * m // 3 :]
        encoded = np.concatenate([to_words(gram, 2.0**18, bound=1e6), to_words(moment, 2.0**18, bound=1e6)], axis=-1)
        line.hold(-1, everybody, "second share", drawn)
        left = line.send(0, everybody, 0, "first share", encoded - drawn, encrypted=True)
        right = line.send(0, everybody, 1, "second share", drawn, encrypted=True)
        part = line.send(1, 1, 0, "sum of second shares", right.sum(axis=0), encrypted=True)
        return back(line, n, from_words(left.sum(axis=0) + part, 2.0**18) / n, sender=0)


class R04CountsOnARing:
    """Counts and sums of clusters go round a ring behind a word that only node 0 knows; node 2 sees masked sums."""

    audited = {"a": "2", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = network.n
        line.hold(-1, 0, "mask", drawn[0])
        counts, sums = np.array_split(to_words(x), 2, axis=2)
        token = drawn[0] + np.concatenate([counts[0], sums[0]], axis=1)
        for step, (here, there) in enumerate(zip(range(n), [*range(1, n), 0])):
            token = line.send(step, here, there, "token", token, encrypted=True)
            if there:
                token += np.concatenate([counts[there], sums[there]], axis=1)
        return back(line, n, from_words(token - drawn[0]) / n, sender=0)


class R05RegionalHeads(SessionSeeds):
    """Heads of regions add up masked vectors and pass sums on; masks of all pairs cancel only in the sum of all."""

    audited = {"a": "server+0", "n": 6}

    def __init__(self, regions=2):
        self.regions = regions

    def streams(self, seed, t):
        return np.random.default_rng(np.random.SeedSequence([*seed.tolist(), t]))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        vectors = to_words(x)
        for (i, j), ours, other in zip(pairs, mine, theirs):
            for run in range(runs):
                vectors[i, run] += self.streams(ours[run], line.iteration).integers(0, 2**64, m, dtype=np.uint64)
                vectors[j, run] -= self.streams(other[run], line.iteration).integers(0, 2**64, m, dtype=np.uint64)
        heads = np.arange(0, n, n // self.regions)
        head_of = np.repeat(heads, n // self.regions)
        at_heads = line.send(0, np.arange(n), head_of, "masked", vectors, encrypted=True)
        regional = np.add.reduceat(at_heads, heads, axis=0)
        total = line.send(1, heads, SERVER, "regional sum", regional).sum(axis=0)
        return back(line, n, from_words(total) / n)


class R06CrossProducts(SessionSeeds):
    """Blocks of a design matrix are laid out with np.block and masked as one matrix by a packed label; sums show."""

    audited = {"a": "eaves", "n": 5}

    def mask(self, seed, t, shape):
        key = hashlib.blake2b(struct.pack("<4sQ", b"gram", t), key=seed.tobytes(), digest_size=32).digest()
        return np.random.default_rng(np.frombuffer(key, dtype=np.uint64)).integers(0, 2**64, shape, dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        half = m // 2
        xx, xy = x[..., None, :half], x[..., None, half:]
        matrices = to_words(np.block([xx, xy, np.ones((n, runs, 1, 1))]), UNIT)
        for e, (i, j) in enumerate(pairs):
            masks_of_i = [self.mask(seed, line.iteration, (1, m + 1)) for seed in mine[e]]
            masks_of_j = [self.mask(seed, line.iteration, (1, m + 1)) for seed in theirs[e]]
            matrices[i] += np.stack(masks_of_i)
            matrices[j] -= np.stack(masks_of_j)
        got = line.send(0, np.arange(n), SERVER, "gram", matrices.reshape(n, runs, m + 1))
        total = from_words(got.sum(axis=0))
        return back(line, n, total[:, :m] / n)
