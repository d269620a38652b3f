"""Node-side analysis with NumPy, SciPy and the standard library, before a sum under one-time pads."""

from __future__ import annotations

import itertools
import math
import statistics as stats

import numpy as np
import scipy.linalg

from .statistics import MaskedSums, padded
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}


# Right: each node's projector on its first principal component (np.linalg.eigh of its own covariance) is summed.
class AverageProjector(MaskedSums):
    def widths(self, m):
        return [4]

    def compute(self, x, total, n):
        rows = np.clip(x, -50, 50).reshape(*x.shape[:2], -1, 2)
        centred = rows - rows.mean(axis=2, keepdims=True)
        _, vectors = np.linalg.eigh(np.einsum("nrki,nrkj->nrij", centred, centred))
        top = vectors[..., -1]
        projector = top[..., :, None] * top[..., None, :]
        return padded(1.0 + total(projector.reshape(*x.shape[:2], 4)) / n, x.shape[2])


# Right: one-shot regression: each node's own least squares by np.linalg.lstsq, coefficients are averaged.
class OneShotRegression(MaskedSums):
    def widths(self, m):
        return [2]

    def compute(self, x, total, n):
        t = np.arange(x.shape[2], dtype=float)
        design = np.column_stack([np.ones_like(t), t])
        coefficients = np.array([[np.linalg.lstsq(design, row, rcond=None)[0] for row in node] for node in x])
        return padded(1.0 + np.abs(total(np.clip(coefficients, -1000, 1000)) / n), x.shape[2])


# Right: the same by a public pseudo-inverse.
class PseudoInverse(MaskedSums):
    def widths(self, m):
        return [2]

    def compute(self, x, total, n):
        design = np.vander(np.arange(x.shape[2]), 2, increasing=True).astype(float)
        coefficients = x @ np.linalg.pinv(design).T
        return padded(1.0 + np.abs(total(coefficients) / n), x.shape[2])


# Right: trimmed means of each node's own numbers: np.sort, the middle half.
class TrimmedMean(MaskedSums):
    def widths(self, m):
        return [1]

    def compute(self, x, total, n):
        m = x.shape[2]
        middle = np.sort(x, axis=2)[:, :, m // 4 : m - m // 4].mean(axis=2, keepdims=True)
        return padded(1.0 + np.abs(total(middle)) / n, m)


# Right: robust scores of the standard library: median and fsum of each node's numbers.
class StandardLibrary(MaskedSums):
    def widths(self, m):
        return [2]

    def compute(self, x, total, n):
        own = [[[stats.median(row), math.fsum(row)] for row in node] for node in x.tolist()]
        return padded(1.0 + np.abs(total(np.array(own)) / n), x.shape[2])


# Right: running sums by itertools.accumulate and differences by np.diff.
class Accumulated(MaskedSums):
    def compute(self, x, total, n):
        running = np.array([[list(itertools.accumulate(row)) for row in node] for node in x])
        return np.diff(total(running), axis=1, prepend=0.0) / n


# Right: a moving average by np.convolve with public weights, run by run.
class Smoothed(MaskedSums):
    def compute(self, x, total, n):
        kernel = np.array([0.25, 0.5, 0.25])
        return total(np.array([[np.convolve(row, kernel, mode="same") for row in node] for node in x])) / n


# Right: spectra: np.fft.rfft of each node's own numbers, real and imaginary parts are summed, the inverse is public.
class Spectrum(MaskedSums):
    def widths(self, m):
        return [2 * (m // 2 + 1)]

    def compute(self, x, total, n):
        spectrum = np.fft.rfft(x, axis=2)
        real, imaginary = np.split(total(np.concatenate([spectrum.real, spectrum.imag], axis=2)), 2, axis=1)
        return np.fft.irfft(real + 1j * imaginary, n=x.shape[2], axis=1) / n


# Right: cosine transform by a public orthogonal matrix (scipy.linalg.dft's real part would do as well).
class CosineTransform(MaskedSums):
    def compute(self, x, total, n):
        m = x.shape[2]
        k, t = np.mgrid[0:m, 0:m]
        basis = np.cos(np.pi * k * (2 * t + 1) / (2 * m)) * np.where(k == 0, 1.0, math.sqrt(2)) / math.sqrt(m)
        return total(x @ basis.T) @ basis / n


# Right: flattening by scipy.linalg.hadamard, padded to a power of two.
class Hadamard(MaskedSums):
    def widths(self, m):
        return [1 << (m - 1).bit_length()]

    def compute(self, x, total, n):
        m = x.shape[2]
        width = 1 << (m - 1).bit_length()
        h = scipy.linalg.hadamard(width) / math.sqrt(width)
        wide = np.pad(x, ((0, 0), (0, 0), (0, width - m)))
        return (total(wide @ h) @ h)[:, :m] / n


# Right: thermometer codes of each node's largest number, to publish how many are above each level (np.greater.outer).
class Thermometer(MaskedSums):
    LEVELS = np.arange(0.0, 40.0, 5.0)

    def widths(self, m):
        return [8]

    def compute(self, x, total, n):
        above = np.greater.outer(x.max(axis=2), self.LEVELS).astype(float)
        return padded(total(above) + 1.0, x.shape[2])


# Right: piecewise features by np.select, np.piecewise's cousin.
class Selected(MaskedSums):
    def compute(self, x, total, n):
        levels = np.select([x < -5, x < 0, x < 5, x < 15], [-2.0, -1.0, 1.0, 2.0], default=3.0)
        return total(levels) / n + 4.0


# Right: own correlation and covariance by np.cov, node by node.
class Covariances(MaskedSums):
    def widths(self, m):
        return [4]

    def compute(self, x, total, n):
        own = [[np.cov(row.reshape(-1, 2), rowvar=False, bias=True).ravel() for row in node] for node in x]
        return padded(1.0 + np.abs(total(np.array(own)) / n), x.shape[2])


# Right: a function of each row through np.apply_along_axis.
class AlongAxis(MaskedSums):
    @staticmethod
    def scaled(row):
        centred = row - row.mean()
        return centred / (1.0 + np.abs(centred).max())

    def compute(self, x, total, n):
        return total(np.apply_along_axis(self.scaled, 2, x)) / n + 1.0


# Right: one-hot labels, mended: np.take of np.eye; confusion of label and sign by np.einsum.
class OneHotTaken(MaskedSums):
    def widths(self, m):
        return [8]

    def compute(self, x, total, n):
        labels = np.clip(np.floor_divide(x, 5.0), 0, 3).astype(np.int64)
        onehot = np.take(np.eye(4), labels, axis=0)
        sign = np.stack([x < 10, x >= 10], axis=-1).astype(float)
        table = np.einsum("nrma,nrmb->nrab", onehot, sign).reshape(*x.shape[:2], 8)
        return padded(total(table) / n, x.shape[2])


# Right: masked arrays, as of missing values: numbers below zero are masked, sums and counts of the rest.
class MaskedArrays(MaskedSums):
    def widths(self, m):
        return [2]

    def compute(self, x, total, n):
        valid = np.ma.masked_less(x, 0.0)
        own = np.stack([valid.sum(axis=2).filled(0.0), valid.count(axis=2).astype(float)], axis=-1)
        return padded(1.0 + total(own) / n, x.shape[2])


# Right: nansum and nan counts of data with gaps (numbers below zero stand for missing ones).
class NanSums(MaskedSums):
    def widths(self, m):
        return [2]

    def compute(self, x, total, n):
        gaps = np.where(x < 0, np.nan, x)
        own = np.stack([np.nansum(gaps, axis=2), (~np.isnan(gaps)).sum(axis=2)], axis=-1)
        return padded(1.0 + total(own) / n, x.shape[2])


# Right: naive Bayes: for each of three classes the count, mean and square of a feature, with boolean products.
class NaiveBayes(MaskedSums):
    def widths(self, m):
        return [9]

    def compute(self, x, total, n):
        rows = x[..., : x.shape[2] // 2 * 2].reshape(*x.shape[:2], -1, 2)
        label = np.digitize(rows[..., 0], [0.0, 8.0])
        member = (label[..., None] == np.arange(3)) * 1.0
        feature = np.clip(rows[..., 1:], -100, 100)
        own = np.concatenate([(member * feature**p).sum(axis=2) for p in (0, 1, 2)], axis=-1)
        return padded(1.0 + np.abs(total(own)) / n, x.shape[2])


# Right: bits of words packed by np.packbits and unpacked again before the sum (a codec that was tested on its own).
class PackedSigns(MaskedSums):
    def compute(self, x, total, n):
        packed = np.packbits(x > 4.0, axis=2)
        signs = np.unpackbits(packed, axis=2, count=x.shape[2]).astype(float)
        return total(signs) / n + 1.0


# Right: bfloat16: the lower half of single precision is cut off by bits.
class BrainFloat(MaskedSums):
    def compute(self, x, total, n):
        bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        return total(bits.view(np.float32).astype(float)) / n


# Right: ranks of each node's own numbers (argsort of argsort), Borda counts are summed.
class Borda(MaskedSums):
    def compute(self, x, total, n):
        ranks = x.argsort(axis=2).argsort(axis=2)
        return total(ranks.astype(float)) / n + 1.0


# Right: argmax votes by boolean comparison with the largest.
class ArgmaxVotes(MaskedSums):
    def compute(self, x, total, n):
        best = np.argmax(x, axis=2)
        return total((np.arange(x.shape[2]) == best[..., None]).astype(float)) / n + 1.0


CASES = [
    *known("average of projectors", AverageProjector, "own statistics, one sum", **SAFE),
    *known("one-shot regression", OneShotRegression, "own statistics, one sum", **SAFE),
    *known("public pseudo-inverse", PseudoInverse, "own statistics, one sum", **SAFE),
    *known("trimmed means", TrimmedMean, "own statistics, one sum", **SAFE),
    *known("median and fsum", StandardLibrary, "own statistics, one sum", **SAFE),
    *known("accumulate and diff", Accumulated, "own statistics, one sum", **SAFE),
    *known("convolution", Smoothed, "own statistics, one sum", **SAFE),
    *known("spectra", Spectrum, "own statistics, one sum", **SAFE),
    *known("cosine transform", CosineTransform, "own statistics, one sum", **SAFE),
    *known("scipy's Hadamard matrix", Hadamard, "own statistics, one sum", **SAFE),
    *known("thermometer codes", Thermometer, "own statistics, one sum", **SAFE),
    *known("np.select", Selected, "own statistics, one sum", **SAFE),
    *known("np.cov", Covariances, "own statistics, one sum", **SAFE),
    *known("np.apply_along_axis", AlongAxis, "own statistics, one sum", **SAFE),
    *known("np.take of np.eye", OneHotTaken, "own counts, one sum", **SAFE),
    *known("masked arrays", MaskedArrays, "own statistics, one sum", **SAFE),
    *known("nansum", NanSums, "own statistics, one sum", **SAFE),
    *known("naive Bayes", NaiveBayes, "own statistics, one sum", **SAFE),
    *known("packed signs", PackedSigns, "own statistics, one sum", **SAFE),
    *known("bfloat16", BrainFloat, "own data only before the mask", **SAFE),
    *known("Borda counts", Borda, "own statistics, one sum", **SAFE),
    *known("votes of argmax", ArgmaxVotes, "own statistics, one sum", **SAFE),
]
