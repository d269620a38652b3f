"""Right protocols as engineers of federated learning write them, from the tutorial alone."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer

from ..bases import Words
from .preparing import Prepared
from .published import BONAWITZ, PERFECT, right


class Statistics(Words):
    """Sums statistics of each node's numbers, of another length than these."""

    def size(self, m: int) -> int:
        """The number of statistics, at least m."""
        return m

    def statistics(self, s: Array) -> Array:
        """(n, runs, size)."""
        raise NotImplementedError

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return super().draw_masks(runs, self.size(m), network, rng)

    def encode(self, s: Array) -> Array:
        return super().encode(self.statistics(s))

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        return super().body(channel, s, r, network, rng)[:, : s.shape[2]]


# Differential privacy, quantisation, compression.


class Skellam(Words):
    """Adds Skellam noise to whole numbers (Agarwal, Kairouz and Liu 2021)."""

    def encode(self, s: Array) -> Array:
        own = np.random.default_rng()
        noise = own.poisson(2.0**20, s.shape) - own.poisson(2.0**20, s.shape)
        return (np.rint(np.clip(s, -50, 50) * self.unit).astype(np.int64) + noise).astype(np.uint64)


class Binomial(Words):
    """Adds centred binomial noise (Agarwal et al. 2018, cpSGD)."""

    def encode(self, s: Array) -> Array:
        noise = np.random.default_rng().binomial(2**12, 0.5, size=s.shape) - 2**11
        return (np.rint(s * self.unit).astype(np.int64) + noise).astype(np.uint64)


class SumOfCoins(Words):
    """Adds binomial noise that it makes of fair coins."""

    def encode(self, s: Array) -> Array:
        heads = np.random.default_rng().random((*s.shape, 64)) < 0.5
        return (np.rint(s * self.unit).astype(np.int64) + heads.sum(axis=-1) - 32).astype(np.uint64)


class DiscreteGaussian(Words):
    """Adds discrete Gaussian noise by the inverse of its distribution function (Canonne, Kamath and Steinke 2020)."""

    def encode(self, s: Array) -> Array:
        levels = np.arange(-60, 61)
        weights = np.exp(-(levels**2) / (2 * 10.0**2))
        cumulative = np.cumsum(weights / weights.sum())
        noise = np.searchsorted(cumulative[:-1], np.random.default_rng().random(s.shape)) - 60
        return (np.rint(s * self.unit).astype(np.int64) + noise).astype(np.uint64)


class Rotated(Statistics):
    """Flattens by public signs and a Hadamard matrix before it rounds (Kairouz, Liu and Steinke 2021)."""

    def size(self, m: int) -> int:
        return 1 << (m - 1).bit_length()

    def signs(self, width: int) -> Array:
        """Signs that all know."""
        return np.random.default_rng(2021).choice([-1.0, 1.0], size=width)

    def statistics(self, s: Array) -> Array:
        width = self.size(s.shape[2])
        hadamard = np.array([[1.0]])
        while len(hadamard) < width:
            hadamard = np.kron(np.array([[1.0, 1.0], [1.0, -1.0]]), hadamard)
        padded = np.pad(s, [(0, 0), (0, 0), (0, width - s.shape[2])])
        return (padded * self.signs(width)) @ hadamard / np.sqrt(width)


class Butterflies(Rotated):
    """The same by the fast transform, in place."""

    def statistics(self, s: Array) -> Array:
        width, h = self.size(s.shape[2]), 1
        x = np.zeros((*s.shape[:2], width))
        x[..., : s.shape[2]] = s
        x *= self.signs(width)
        while h < width:
            for i in range(0, width, 2 * h):
                left, right_half = x[..., i : i + h].copy(), x[..., i + h : i + 2 * h].copy()
                x[..., i : i + h], x[..., i + h : i + 2 * h] = left + right_half, left - right_half
            h *= 2
        return x / np.sqrt(width)


class SignsOfTheRound(Words):
    """Every round has signs of its own, which the server's generator draws for all."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        signs = rng.choice([-1.0, 1.0], size=s.shape[2])
        return super().body(channel, s * signs, r, network, rng) * signs


class SignsOfSeedAndRound(SignsOfTheRound):
    """Every round has signs of its own, which all make of a public seed and the number of the round."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        return super().body(channel, s, r, network, np.random.default_rng([2021, channel.iteration]))


class ConditionalRounding(Words):
    """Rounds by lot, up to four times, until the norm has not grown too much (Kairouz, Liu and Steinke 2021)."""

    unit = 2.0**10

    def encode(self, s: Array) -> Array:
        own, x = np.random.default_rng(), np.clip(s, -50, 50) * self.unit
        bound = np.linalg.norm(x, axis=2, keepdims=True) + np.sqrt(x.shape[2]) / 2
        chosen = np.rint(x)
        for _ in range(4):
            tried = np.floor(x + own.random(x.shape))
            chosen = np.where(np.linalg.norm(tried, axis=2, keepdims=True) <= bound, tried, chosen)
        return chosen.astype(np.int64).astype(np.uint64)


class Ternary(Words):
    """Sends the largest size, a sign and a lot for each entry (Wen et al. 2017, TernGrad)."""

    def encode(self, s: Array) -> Array:
        largest = np.maximum(np.abs(s).max(axis=-1, keepdims=True), 1e-12)
        kept = np.random.default_rng().random(s.shape) < np.abs(s) / largest
        return super().encode(largest * np.sign(s) * kept)


class RandomizedResponse(Words):
    """Reports a bit truly with probability three quarters, else a fair coin (Warner 1965)."""

    unit = 1.0

    def encode(self, s: Array) -> Array:
        own = np.random.default_rng()
        bits, truly, coins = s > 0, own.random(s.shape) < 0.75, own.integers(0, 2, s.shape)
        return np.where(truly, bits, coins).astype(np.uint64)


class HalfPrecision(Words):
    """Compresses updates to half precision before they become words."""

    def encode(self, s: Array) -> Array:
        return super().encode(np.clip(s, -6e4, 6e4).astype(np.float16).astype(np.float64))


class Winsorized(Prepared):
    """Cuts off at each node's own ninetieth percentile, then scales by the median."""

    def prepared(self, s: Array) -> Array:
        high = np.percentile(np.abs(s), 90, axis=2, keepdims=True)
        return np.clip(s, -high, high) / (1e-6 + np.median(np.abs(s), axis=2, keepdims=True))


class Sketched(Statistics):
    """Sums count sketches by public hashes (Rothchild et al. 2020, FetchSGD)."""

    def statistics(self, s: Array) -> Array:
        public, m = np.random.default_rng(7), s.shape[2]
        bucket, sign = public.integers(0, m, size=m), public.choice([-1, 1], size=m)
        table = np.zeros_like(s)
        for entry in range(m):
            table[..., bucket[entry]] += sign[entry] * s[..., entry]
        return table


@dataclass(frozen=True)
class Feedback(Words):
    """Adds to each update what rounding cut off the last one (Seide et al. 2014)."""

    unit = 2.0**4
    left: dict[Any, Array] = field(default_factory=dict)

    def encode(self, s: Array) -> Array:
        corrected = s + self.left.get(s.shape, np.zeros(s.shape))
        words = np.rint(corrected * self.unit)
        self.left[s.shape] = corrected - words / self.unit
        return words.astype(np.int64).astype(np.uint64)


# Models with layers.


def layers(vector: Array) -> OrderedDict[str, Array]:
    """A vector as the tensors of a model."""
    m = len(vector)
    return OrderedDict(weight=vector[: m // 2 * 2].reshape(2, -1), bias=vector[m // 2 * 2 :], scale=vector[:1] * 0.5)


class GlobalNorm(Prepared):
    """Clips by the norm over all tensors, model by model, as PyTorch's ``clip_grad_norm_`` does."""

    def prepared(self, s: Array) -> Array:
        return np.array([[self.clipped(model) for model in runs] for runs in s])

    def clipped(self, vector: Array, bound: float = 20.0) -> Array:
        """The vector with a norm of at most the bound."""
        norm = sum(float(np.linalg.norm(tensor)) ** 2 for tensor in layers(vector).values()) ** 0.5
        return vector * min(1.0, bound / (norm + 1e-6))


class ScalesOfTensors(Words):
    """Each tensor has a public scale of its own."""

    SCALES: ClassVar[dict[str, float]] = {"weight": 2.0**16, "bias": 2.0**10, "scale": 2.0**20}

    def encode(self, s: Array) -> Array:
        def flat(model: Array) -> Array:
            named = {k: np.rint(v * self.SCALES[k]).astype(np.int64) for k, v in layers(model).items() if k != "scale"}
            return np.concatenate([tensor.ravel() for tensor in named.values()]).astype(np.uint64)

        return np.stack([np.stack(list(map(flat, runs))) for runs in s])


class WeightedByNorm(Statistics):
    """Sums weight times vector, and weights; the server divides what it has published."""

    def size(self, m: int) -> int:
        return m + 1

    def statistics(self, s: Array) -> Array:
        weight = 1.0 / (1.0 + np.linalg.norm(s, axis=2, keepdims=True))
        return np.concatenate([weight * s, weight], axis=2)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        sums = Words.body(self, channel, s, r, network, rng)
        return sums[:, :-1] / np.maximum(sums[:, -1:], 1e-9)


# Statistics that are sums.


class Responsibilities(Statistics):
    """Sums responsibilities, first and second moments of the E-step for two public components."""

    def size(self, m: int) -> int:
        return max(m, 6)

    def statistics(self, s: Array) -> Array:
        logits = np.maximum(np.stack([-0.5 * (s - centre) ** 2 for centre in (-1.0, 2.0)], axis=-1), -500.0)
        weights = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        moments = [(weights * s[..., None] ** power).sum(axis=2) for power in range(3)]
        return np.pad(np.concatenate(moments, axis=2), ((0, 0), (0, 0), (0, self.size(s.shape[2]) - 6)))


class Gram(Statistics):
    """Sums outer products of rows for principal components, the upper triangle alone."""

    def size(self, m: int) -> int:
        return max(m, 3)

    def statistics(self, s: Array) -> Array:
        rows = s[..., : s.shape[2] // 2 * 2].reshape(*s.shape[:2], -1, 2)
        above = np.einsum("nrki,nrkj->nrij", rows, rows)[..., (0, 0, 1), (0, 1, 1)]
        return np.pad(above, ((0, 0), (0, 0), (0, self.size(s.shape[2]) - 3)))


class Regression(Statistics):
    """Sums X'X and X'y; everybody solves the ridge regression of what is published."""

    def size(self, m: int) -> int:
        return max(m, 6)

    def statistics(self, s: Array) -> Array:
        x, y = s[..., : s.shape[2] // 3 * 3].reshape(*s.shape[:2], -1, 3)[..., :2], s[..., 2::3][..., : s.shape[2] // 3]
        products = np.swapaxes(x, -1, -2) @ x
        together = np.concatenate([products.reshape(*s.shape[:2], 4), np.einsum("nrki,nrk->nri", x, y)], axis=-1)
        return np.pad(together, ((0, 0), (0, 0), (0, self.size(s.shape[2]) - 6)))

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        sums = Words.body(self, channel, s, r, network, rng)
        ridge = sums[:, :4].reshape(-1, 2, 2) + 10.0 * np.eye(2)
        found = np.linalg.solve(ridge, sums[:, 4:6, None])[..., 0]
        return np.pad(found, ((0, 0), (0, s.shape[2] - 2)))


class Nearest(Statistics):
    """Sums and counts of k-means: each number goes to the nearest of three public centres."""

    def size(self, m: int) -> int:
        return max(m, 6)

    def statistics(self, s: Array) -> Array:
        centres = np.array([-5.0, 0.0, 5.0])
        nearest = np.argmin(np.abs(s[..., None] - centres), axis=-1)
        member = (nearest[..., None] == np.arange(3)).astype(float)
        both = np.concatenate([member.sum(axis=2), np.einsum("nrmk,nrm->nrk", member, s)], axis=-1)
        return np.pad(both, ((0, 0), (0, 0), (0, self.size(s.shape[2]) - 6)))


class Median(Statistics):
    """Counts numbers up to public thresholds; everybody interpolates the median in the counts."""

    unit = 1.0

    def statistics(self, s: Array) -> Array:
        thresholds = np.linspace(-20, 20, s.shape[2])
        return np.count_nonzero(s[..., :, None] <= thresholds, axis=2)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        counts, thresholds = Words.body(self, channel, s, r, network, rng), np.linspace(-20, 20, s.shape[2])
        place = np.argmax(counts >= s.shape[2] / 2, axis=1)
        return np.repeat(np.take(thresholds, place)[:, None], s.shape[2], axis=1)


class Digitized(Statistics):
    """Histograms by ``np.digitize`` and comparison with each bin."""

    unit = 1.0

    def statistics(self, s: Array) -> Array:
        bins = np.digitize(s, np.linspace(-20, 20, s.shape[2] - 1))
        return (bins[..., None] == np.arange(s.shape[2])).sum(axis=2)


class Scaler(Statistics):
    """Sums numbers and squares, from which all have the same mean and deviation to scale by."""

    def size(self, m: int) -> int:
        return 2 * m

    def statistics(self, s: Array) -> Array:
        return np.concatenate([s, np.square(s)], axis=-1)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        mean, square = np.split(Words.body(self, channel, s, r, network, rng), 2, axis=1)
        return mean / np.sqrt(np.maximum(square - mean**2, 1e-12))


SERVED = CuriousServer()
PRACTICE: dict[str, Any] = {"family": "practice"}
CASES = [
    right("Skellam noise", Skellam, SERVED, PERFECT, **PRACTICE),
    right("binomial noise", Binomial, SERVED, PERFECT, **PRACTICE),
    right("discrete Gaussian noise", DiscreteGaussian, SERVED, PERFECT, **PRACTICE),
    right("turned by Hadamard", Rotated, SERVED, PERFECT, **PRACTICE),
    right("turned by butterflies", Butterflies, SERVED, PERFECT, **PRACTICE),
    right("signs of the round", SignsOfTheRound, SERVED, PERFECT, **PRACTICE),
    right("conditional rounding", ConditionalRounding, SERVED, PERFECT, **PRACTICE),
    right("ternary gradients", Ternary, SERVED, PERFECT, **PRACTICE),
    right("randomised response", RandomizedResponse, SERVED, PERFECT, **PRACTICE),
    right("half precision", HalfPrecision, SERVED, PERFECT, **PRACTICE),
    right("cut off at percentiles", Winsorized, SERVED, BONAWITZ, **PRACTICE),
    right("signs of a seed and the round", SignsOfSeedAndRound, SERVED, PERFECT, **PRACTICE),
    right("count sketches", Sketched, SERVED, PERFECT, **PRACTICE),
    right("error feedback", Feedback, SERVED, PERFECT, **PRACTICE),
    right("clipped by the norm of a model", GlobalNorm, SERVED, BONAWITZ, **PRACTICE),
    right("scales of tensors", ScalesOfTensors, SERVED, PERFECT, **PRACTICE),
    right("noise of many coins", SumOfCoins, SERVED, PERFECT, **PRACTICE),
    right("weights and weighted sums", WeightedByNorm, SERVED, PERFECT, **PRACTICE),
    right("responsibilities", Responsibilities, SERVED, PERFECT, **PRACTICE),
    right("outer products", Gram, SERVED, PERFECT, **PRACTICE),
    right("ridge regression", Regression, SERVED, PERFECT, **PRACTICE),
    right("nearest centres", Nearest, SERVED, PERFECT, **PRACTICE),
    right("a median of counts", Median, SERVED, PERFECT, **PRACTICE),
    right("histograms by digitize", Digitized, SERVED, PERFECT, **PRACTICE),
    right("sums and squares", Scaler, SERVED, PERFECT, **PRACTICE),
]
