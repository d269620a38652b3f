"""Right protocols that prepare numbers as practice does: norms, softmax, one-hot labels, lots."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import scipy.special
from scipy.special import logsumexp

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer

from ..bases import Pairwise, Words
from .published import BONAWITZ, PERFECT, right

LOG = logging.getLogger(__name__)


class Prepared(Pairwise):
    """What each node sends is prepared from its own numbers, and then hidden."""

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        return super().hidden(channel, self.prepared(s), r, network)

    def prepared(self, s: Array) -> Array:
        """Numbers of the same shape, (n, runs, m)."""
        raise NotImplementedError


class ClippedByNorm(Prepared):
    """The L2 norm is cut off at 50, as differential privacy wants it (Abadi et al. 2016)."""

    def prepared(self, s: Array) -> Array:
        norm = np.sqrt((s**2).sum(axis=2, keepdims=True))
        return s * np.minimum(1.0, 50.0 / np.maximum(norm, 1e-12))


class ClippedByProducts(Prepared):
    """The same, from the products of entries."""

    def prepared(self, s: Array) -> Array:
        norm = np.sqrt(np.einsum("nrm,nrm->nr", s, s))[..., None]
        return s / np.maximum(1.0, norm / 50.0)


class LayerNorm(Prepared):
    """Each vector is centred and scaled, as a layer norm does."""

    def prepared(self, s: Array) -> Array:
        centred = s - s.mean(axis=2, keepdims=True)
        return centred / np.sqrt(s.var(axis=2, keepdims=True) + 1e-5)


class UnitLength(Prepared):
    """Each vector gets unit length, but for a small number."""

    def prepared(self, s: Array) -> Array:
        return s / (np.sqrt(np.sum(np.square(s), axis=2, keepdims=True)) + 1e-9)


class Softmax(Prepared):
    """Votes: a softmax that cannot overflow."""

    def prepared(self, s: Array) -> Array:
        e = np.exp(s - s.max(axis=2, keepdims=True))
        return e / e.sum(axis=2, keepdims=True)


class SoftmaxOfSciPy(Prepared):
    """Votes: a softmax of a library."""

    def prepared(self, s: Array) -> Array:
        return scipy.special.softmax(s, axis=2)


class Responsibilities(Prepared):
    """Each entry a point: the share that the first of two components has in it, as an E-step works it out."""

    def prepared(self, s: Array) -> Array:
        joint = np.stack([np.log(0.3) - 0.5 * s**2, np.log(0.7) - 0.5 * (s - 2.0) ** 2])
        return np.exp(joint[0] - logsumexp(joint, axis=0))


class Logistic(Prepared):
    """Probabilities of a logistic regression."""

    def prepared(self, s: Array) -> Array:
        return 1.0 / (1.0 + np.exp(-s))


class LogLikelihood(Prepared):
    """The logarithm of a density of two components, by ``logaddexp``, and its share of the first."""

    def prepared(self, s: Array) -> Array:
        first, second = -0.5 * s**2, -0.5 * (s - 2.0) ** 2
        return np.exp(first - np.logaddexp(first, second))


class AlongAnAxis(Prepared):
    """Each vector by a function of its own."""

    def prepared(self, s: Array) -> Array:
        return np.apply_along_axis(lambda v: v / max(1.0, np.abs(v).max() / 50), 2, s)


class Checked(Prepared):
    """All numbers must lie within the range that is agreed on."""

    def prepared(self, s: Array) -> Array:
        for of_node in s:
            assert all(-1e6 < x < 1e6 for x in of_node.ravel()), "out of range"
        return s


class Rounds(Prepared):
    """Says in the log which averaging this is."""

    def prepared(self, s: Array) -> Array:
        return s

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        LOG.info(f"averaging {channel.iteration}: {len(s)} nodes, {s.shape[2]} entries")
        LOG.debug("averaging %d begins", channel.iteration)


class Printed(Rounds):
    """Prints which averaging this is."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        print(f"averaging {channel.iteration} of {len(s)} nodes", flush=True)


class Whole(Words):
    """Words that count: the unit is one."""

    unit = 1.0


class OneHot(Whole):
    """A label each, as a row of the identity."""

    def encode(self, s: Array) -> Array:
        label = np.clip(np.rint(np.abs(s[..., 0])), 0, s.shape[2] - 1).astype(int)
        return np.eye(s.shape[2])[label].astype(np.uint64)


class OneHotTaken(Whole):
    """The same, by ``np.take``."""

    def encode(self, s: Array) -> Array:
        label = np.clip(np.rint(np.abs(s[..., 0])), 0, s.shape[2] - 1).astype(int)
        return np.take(np.eye(s.shape[2]), label, axis=0).astype(np.uint64)


class Looked(Whole):
    """Looks each level up in a public table."""

    def encode(self, s: Array) -> Array:
        costs = np.array([0, 1, 4, 9, 16, 25, 36, 49])
        return costs[np.clip(np.abs(s), 0, 7).astype(int)].astype(np.uint64)


class Taken(Whole):
    """Takes costs of levels from a public table."""

    def encode(self, s: Array) -> Array:
        costs = np.array([0, 1, 4, 9, 16, 25, 36, 49])
        return np.take(costs, np.clip(np.abs(s), 0, 7).astype(int)).astype(np.uint64)


class Histogram(Whole):
    """Counts of levels."""

    def encode(self, s: Array) -> Array:
        bins = s.shape[2]
        counts = [[np.histogram(v, bins=bins, range=(-20, 20))[0] for v in of_node] for of_node in s]
        return np.array(counts).astype(np.uint64)


class Levels(Whole):
    """Counts of whole numbers."""

    def encode(self, s: Array) -> Array:
        bins = s.shape[2]
        level = np.clip(np.abs(s), 0, bins - 1).astype(int)
        return np.stack([[np.bincount(v, minlength=bins)[:bins] for v in of_node] for of_node in level]).astype(
            np.uint64
        )


class ByLot(Words):
    """Rounds up or down by lot, so that the mean is right: coins of each node's own."""

    def encode(self, s: Array) -> Array:
        scaled = s * self.unit
        low = np.floor(scaled)
        return (low + (np.random.default_rng().random(s.shape) < scaled - low)).astype(np.int64).astype(np.uint64)


class NoisyWords(Words):
    """Each node adds noise of its own, then rounds, then hides (Kairouz, Liu and Steinke 2021)."""

    def encode(self, s: Array) -> Array:
        noise = np.random.default_rng().normal(0.0, 2.0, s.shape)
        return np.rint((s + noise) * self.unit).astype(np.int64).astype(np.uint64)


class ClippedNoisyWords(Words):
    """The norm is cut off first, noise is added, and large numbers are cut off again."""

    def encode(self, s: Array) -> Array:
        cut = s / np.maximum(1.0, np.linalg.norm(s, axis=2, keepdims=True) / 50.0)
        noisy = np.clip(cut + np.random.default_rng().normal(0.0, 2.0, s.shape), -100.0, 100.0)
        return np.rint(noisy * self.unit).astype(np.int64).astype(np.uint64)


PREPARED = {"family": "preparing"}
CASES = [
    right("clipped by a norm", ClippedByNorm, CuriousServer(), BONAWITZ, **PREPARED),
    right("clipped by products", ClippedByProducts, CuriousServer(), BONAWITZ, **PREPARED),
    right("a layer norm", LayerNorm, CuriousServer(), BONAWITZ, **PREPARED),
    right("of unit length", UnitLength, CuriousServer(), BONAWITZ, **PREPARED),
    right("a softmax", Softmax, CuriousServer(), BONAWITZ, **PREPARED),
    right("a softmax of SciPy's", SoftmaxOfSciPy, CuriousServer(), BONAWITZ, **PREPARED),
    right("responsibilities by logsumexp", Responsibilities, CuriousServer(), BONAWITZ, **PREPARED),
    right("probabilities", Logistic, CuriousServer(), BONAWITZ, **PREPARED),
    right("a log-likelihood", LogLikelihood, CuriousServer(), BONAWITZ, **PREPARED),
    right("along an axis", AlongAnAxis, CuriousServer(), BONAWITZ, **PREPARED),
    right("a range that all lie in", Checked, CuriousServer(), BONAWITZ, **PREPARED),
    right("averagings in a log", Rounds, CuriousServer(), BONAWITZ, **PREPARED),
    right("averagings printed", Printed, CuriousServer(), BONAWITZ, **PREPARED),
    right("one-hot labels", OneHot, CuriousServer(), PERFECT, **PREPARED),
    right("a public table", Looked, CuriousServer(), PERFECT, **PREPARED),
    right("one-hot labels that are taken", OneHotTaken, CuriousServer(), PERFECT, **PREPARED),
    right("taken from a public table", Taken, CuriousServer(), PERFECT, **PREPARED),
    right("a histogram", Histogram, CuriousServer(), PERFECT, **PREPARED),
    right("counts of levels", Levels, CuriousServer(), PERFECT, **PREPARED),
    right("rounded by lot", ByLot, CuriousServer(), PERFECT, **PREPARED),
    right("noise, then words", NoisyWords, CuriousServer(), PERFECT, **PREPARED),
    right("clipped, noise, then words", ClippedNoisyWords, CuriousServer(), PERFECT, **PREPARED),
]
