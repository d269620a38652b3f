"""Statistics that engineers sum under masks: mixtures, k-means, histograms, covariances, quantiles, regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from secmix.transcript import SERVER, Channel

from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}
Q = 2**61 - 1
SCALE = 2**18


class MaskedSums:
    """``self.sum(v)`` sums one vector a node, (n, runs, k), by one-time pads of each pair, drawn for every sum."""

    def widths(self, m):
        """Lengths of the vectors that are summed, one after the other."""
        return [m]

    def draw_masks(self, runs, m, network, rng):
        pads = [rng.integers(0, 2**64, (runs, len(network.edges), w), dtype=np.uint64) for w in self.widths(m)]
        return np.concatenate(pads, axis=2)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=np.float64).transpose(1, 0, 2)
        n, runs, m = x.shape
        self_channel = channel or Channel()
        pads = self.draw_masks(runs, m, network, rng) if masks is None else masks
        first, second = network.edges.T
        pads = pads.transpose(1, 0, 2)
        self_channel.hold(0, first, "pads", pads)
        peers = self_channel.send(0, first, second, "pads", pads, encrypted=True)
        position, number = 0, 0

        def total(values):
            nonlocal position, number
            here = slice(position, position + values.shape[2])
            position, number = here.stop, number + 1
            words = np.rint(values * SCALE).astype(np.int64).view(np.uint64)
            for e, (i, j) in enumerate(network.edges):
                words[i] += pads[e][:, here]
                words[j] -= peers[e][:, here]
            received = self_channel.send(number, np.arange(n), SERVER, f"masked {number}", words)
            opened = received.sum(axis=0).view(np.int64) / SCALE
            told = self_channel.send(
                number, SERVER, np.arange(n), f"sum {number}", opened[None], content=np.zeros(n, dtype=int)
            )
            return told[0]

        result = self.compute(x, total, n)
        return np.repeat(result[:, None, :], n, axis=1), self_channel.transcript

    def compute(self, x, total, n):
        return total(x) / n


def padded(a, m):
    """The first m numbers of each row, zeros where there are fewer."""
    out = np.ones((a.shape[0], m))
    k = min(m, a.shape[1])
    out[:, :k] = a[:, :k]
    return out


# Right: E-step of a Gaussian mixture by hand, softmax as exp(logit - max) over its sum; three moments are summed.
class GaussianMixture(MaskedSums):
    WEIGHTS, MEANS, SDS = np.array([0.4, 0.6]), np.array([-2.0, 6.0]), np.array([3.0, 5.0])

    def widths(self, m):
        return [6]

    def compute(self, x, total, n):
        z = np.clip(x, -300, 300)[..., None]
        logits = np.log(self.WEIGHTS) - np.log(self.SDS) - 0.5 * ((z - self.MEANS) / self.SDS) ** 2
        e = np.exp(logits - logits.max(axis=-1, keepdims=True))
        resp = e / e.sum(axis=-1, keepdims=True)
        stats = np.concatenate([resp.sum(axis=2), (resp * z).sum(axis=2), (resp * z**2).sum(axis=2)], axis=-1)
        counts, sums, squares = np.split(total(stats), 3, axis=1)
        means = sums / np.maximum(counts, 1e-9)
        variances = squares / np.maximum(counts, 1e-9) - means**2
        return padded(np.concatenate([counts, means, np.abs(variances)], axis=1), x.shape[2])


# Right: E-step of a Poisson mixture with logsumexp; counts and sums of each component are summed.
class PoissonMixture(MaskedSums):
    RATES, WEIGHTS = np.array([2.0, 8.0, 20.0]), np.array([0.5, 0.3, 0.2])

    def widths(self, m):
        return [6]

    def compute(self, x, total, n):
        k = np.rint(np.clip(np.abs(x), 0, 60))
        log_p = k[..., None] * np.log(self.RATES) - self.RATES - gammaln(k + 1)[..., None] + np.log(self.WEIGHTS)
        r = np.exp(log_p - logsumexp(log_p, axis=-1, keepdims=True))
        stats = np.concatenate([r.sum(axis=2), np.einsum("nrmc,nrm->nrc", r, k)], axis=-1)
        s = total(stats)
        rates = s[:, 3:] / np.maximum(s[:, :3], 1e-9)
        return padded(np.concatenate([s[:, :3] / n, rates], axis=1), x.shape[2])


# Right: k-means, one-hot rows by np.eye(k)[labels]; counts and sums of each cluster are summed.
class KMeansOneHot(MaskedSums):
    CENTRES = np.array([-4.0, 3.0, 12.0])

    def widths(self, m):
        return [6]

    def compute(self, x, total, n):
        labels = np.abs(x[..., None] - self.CENTRES).argmin(axis=-1)
        onehot = np.eye(3)[labels]
        stats = np.concatenate([onehot.sum(axis=2), (onehot * x[..., None]).sum(axis=2)], axis=-1)
        counts, sums = np.hsplit(total(stats), 2)
        return padded(np.concatenate([counts / n, sums / np.maximum(counts, 1.0)], axis=1), x.shape[2])


# Right: the same, counts by comparison, sums by np.where.
class KMeansCompared(MaskedSums):
    CENTRES = np.array([-4.0, 3.0, 12.0])

    def widths(self, m):
        return [6]

    def compute(self, x, total, n):
        labels = np.argmin((x[..., None] - self.CENTRES) ** 2, axis=-1)
        belongs = [labels == c for c in range(3)]
        counts = np.stack([b.sum(axis=2) for b in belongs], axis=-1)
        sums = np.stack([np.where(b, x, 0.0).sum(axis=2) for b in belongs], axis=-1)
        s = total(np.concatenate([counts, sums], axis=-1).astype(float))
        return padded(np.concatenate([s[:, :3] / n, s[:, 3:] / np.maximum(s[:, :3], 1.0)], axis=1), x.shape[2])


# Right: histograms by np.histogram with fixed edges, node by node and run by run; the counts are summed.
class NumpyHistogram(MaskedSums):
    EDGES = np.linspace(-20.0, 20.0, 9)

    def widths(self, m):
        return [8]

    def compute(self, x, total, n):
        counts = np.array([[np.histogram(row, bins=self.EDGES)[0] for row in node] for node in x])
        return padded(total(counts.astype(float)) / n, x.shape[2])


# Right: histograms by np.digitize and np.bincount with minlength; the counts are summed.
class BincountHistogram(MaskedSums):
    EDGES = np.linspace(-20.0, 20.0, 8)

    def widths(self, m):
        return [9]

    def compute(self, x, total, n):
        counts = np.zeros((*x.shape[:2], 9))
        for node in range(n):
            for run in range(x.shape[1]):
                cells = np.clip(np.digitize(x[node, run], self.EDGES), 0, 8)
                counts[node, run] = np.bincount(cells, minlength=9)
        return padded(total(counts) / n, x.shape[2])


# Right: label counts by np.add.at into a table, labels cut from the data; the table is summed.
class AddAtCounts(MaskedSums):
    def widths(self, m):
        return [5]

    def compute(self, x, total, n):
        labels = np.clip(np.floor(x / 5.0).astype(int) + 1, 0, 4)
        table = np.zeros((*x.shape[:2], 5))
        for node in range(n):
            for run in range(x.shape[1]):
                np.add.at(table[node, run], labels[node, run], 1)
        return padded(total(table) / n, x.shape[2])


# Right: principal components of summed covariances: n, sum and upper triangle of the products; eigh of what opened.
class PrincipalComponents(MaskedSums):
    D = 3

    def widths(self, m):
        return [self.D + self.D * (self.D + 1) // 2]

    def compute(self, x, total, n):
        rows = np.clip(x, -100, 100).reshape(*x.shape[:2], -1, self.D)
        upper = np.triu_indices(self.D)
        products = np.einsum("nrki,nrkj->nrij", rows, rows)[..., upper[0], upper[1]]
        s = total(np.concatenate([rows.sum(axis=2), products], axis=-1))
        count = n * rows.shape[2]
        mean, second = s[:, : self.D] / count, np.zeros((len(s), self.D, self.D))
        second[:, upper[0], upper[1]] = s[:, self.D :] / count
        second = second + np.triu(second, 1).swapaxes(1, 2)
        _, vectors = np.linalg.eigh(second - mean[:, :, None] * mean[:, None, :])
        return padded(np.abs(vectors[:, :, ::-1]).reshape(len(s), -1), x.shape[2])


# Right: variance in two passes: the mean opens, then each node's squared differences are summed under new pads.
class TwoPass(MaskedSums):
    def widths(self, m):
        return [m, m]

    def compute(self, x, total, n):
        x = np.clip(x, -500, 500)
        mean = total(x) / n
        variance = total((x - mean) ** 2) / n
        return np.sqrt(variance) + 1.0


class Moments(NamedTuple):
    n: int
    mean: np.ndarray
    m2: np.ndarray


# Right: Welford over a node's own numbers, then n, n mean and M2 + n mean^2 are summed.
class Welford(MaskedSums):
    def widths(self, m):
        return [2]

    def compute(self, x, total, n):
        state = Moments(0, np.zeros(x.shape[:2]), np.zeros(x.shape[:2]))
        for value in np.moveaxis(np.clip(x, -300, 300), 2, 0):
            count, delta = state.n + 1, value - state.mean
            mean = state.mean + delta / count
            state = Moments(count, mean, state.m2 + delta * (value - mean))
        s = total(np.stack([state.n * state.mean, state.m2 + state.n * state.mean**2], axis=-1))
        mean = s[:, :1] / (n * state.n)
        spread = np.sqrt(np.maximum(s[:, 1:] / (n * state.n) - mean**2, 0.0))
        return padded(np.concatenate([mean, spread], axis=1), x.shape[2])


# Right: ridge regression by normal equations, node by node with dataclasses; np.linalg.solve of what opened.
@dataclass(frozen=True)
class Normal:
    gram: np.ndarray
    moment: np.ndarray

    @classmethod
    def of(cls, table):
        a, b = table[:, :-1], table[:, -1]
        design = np.column_stack([np.ones(len(a)), a])
        return cls(design.T @ design, design.T @ b)

    def flat(self):
        return np.concatenate([self.gram[np.tril_indices(len(self.gram))], self.moment])


class NormalEquations(MaskedSums):
    def widths(self, m):
        return [9]

    def compute(self, x, total, n):
        tables = np.clip(x, -100, 100).reshape(*x.shape[:2], 4, 3)
        s = total(np.array([[Normal.of(table).flat() for table in node] for node in tables]))
        results = []
        for row in s:
            gram = np.zeros((3, 3))
            gram[np.tril_indices(3)] = row[:6]
            gram = gram + gram.T - np.diag(np.diag(gram)) + 5.0 * np.eye(3)
            results.append(np.linalg.solve(gram, row[6:]))
        return padded(1.0 + np.abs(np.array(results)), x.shape[2])


# Right: the median by bisection: in each of eight rounds the count below the middle opens, and says where to go on.
# (The counts open by design: nine numbers of all nodes together.)
class Bisection(MaskedSums):
    ROUNDS = 8

    def widths(self, m):
        return [1] * self.ROUNDS

    def compute(self, x, total, n):
        low = np.full((x.shape[1], 1), -64.0)
        high = np.full((x.shape[1], 1), 64.0)
        for _ in range(self.ROUNDS):
            middle = (low + high) / 2
            below = total((x <= middle).sum(axis=2, keepdims=True).astype(float))
            enough = below >= n * x.shape[2] / 2
            high = np.where(enough, middle, high)
            low = np.where(enough, low, middle)
        return padded((low + high) / 2, x.shape[2])


# Right: federated min-max scaling: each node bins its own range by searchsorted into public levels, one-hot counts are
# summed with np.put_along_axis; all read the extremes off the opened counts.
class PutAlongAxis(MaskedSums):
    LEVELS = np.array([-10.0, -5.0, 0.0, 5.0, 10.0, 20.0, 40.0])

    def widths(self, m):
        return [16]

    def compute(self, x, total, n):
        tops = np.searchsorted(self.LEVELS, x.max(axis=2))
        bottoms = np.searchsorted(self.LEVELS, x.min(axis=2))
        counts = np.zeros((*x.shape[:2], 16))
        np.put_along_axis(counts, tops[..., None], 1.0, axis=2)
        np.put_along_axis(counts, 8 + bottoms[..., None], 1.0, axis=2)
        return padded(total(counts) / n, x.shape[2])


# Right: the entries are packed into a structured record of sum and count, and read as words.
class Records(MaskedSums):
    RECORD = np.dtype([("sum", np.float64), ("square", np.float64), ("count", np.float64)])

    def widths(self, m):
        return [3]

    def compute(self, x, total, n):
        record = np.zeros(x.shape[:2], dtype=self.RECORD)
        record["sum"] = np.clip(x, -100, 100).sum(axis=2)
        record["square"] = (np.clip(x, -100, 100) ** 2).sum(axis=2)
        record["count"] = (x > 0).sum(axis=2)
        s = total(record.view(np.float64).reshape(*x.shape[:2], 3))
        return padded(1.0 + np.abs(s) / n, x.shape[2])


# Right: the responsibilities of two components entry by entry, as scalar code with math.exp through np.vectorize.
class Vectorized(MaskedSums):
    @staticmethod
    def responsibility(value):
        a, b = math.exp(-0.5 * min((value + 2.0) ** 2, 200.0)), math.exp(-0.5 * min((value - 4.0) ** 2, 200.0))
        return a / (a + b)

    def compute(self, x, total, n):
        return total(np.vectorize(self.responsibility)(x)) / n + 1.0


CASES = [
    *known("E-step of a Gaussian mixture", GaussianMixture, "own statistics, one sum", **SAFE),
    *known("E-step of a Poisson mixture", PoissonMixture, "own statistics, one sum", **SAFE),
    *known("k-means, np.eye of labels", KMeansOneHot, "own statistics, one sum", **SAFE),
    *known("k-means, compared", KMeansCompared, "own statistics, one sum", **SAFE),
    *known("np.histogram with edges", NumpyHistogram, "own counts, one sum", **SAFE),
    *known("digitize and bincount", BincountHistogram, "own counts, one sum", **SAFE),
    *known("np.add.at of labels", AddAtCounts, "own counts, one sum", **SAFE),
    *known("principal components", PrincipalComponents, "own products, one sum", **SAFE),
    *known("variance in two passes", TwoPass, "two sums, the second about the opened mean", **SAFE),
    *known("Welford's moments", Welford, "own moments, one sum", **SAFE),
    *known("normal equations", NormalEquations, "own products, one sum", **SAFE),
    *known("median by bisection", Bisection, "eight counts of all nodes together", **SAFE),
    *known("extremes by put_along_axis", PutAlongAxis, "own counts, one sum", **SAFE),
    *known("structured records", Records, "own statistics, one sum", **SAFE),
    *known("scalar code through np.vectorize", Vectorized, "own statistics, one sum", **SAFE),
]
