"""Exact evidence where nodes hold unequally many rows: the empirical covariance in place of equal variances.

A sum over n equal and independent inputs explains 1/n of each. Where one node holds most rows it explains most of it.
With Σ the covariance of one entry between the nodes, and H s + noise of covariance R what is seen, the share of s_i
that is explained is [Σ Hᵀ (H Σ Hᵀ + R)⁺ H Σ]_ii / Σ_ii.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.observation.reading import Reading
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.setup import SumSetup

NOTE = (
    "nodes hold unequally many rows, or rows of their own: the covariance of their inputs was measured on the runs, "
    "with a 99 % interval"
)
_REPLICATES = 100
_CONSTANT = 1e-12  # of the largest variance: an entry that does not vary is no secret


@dataclass(frozen=True)
class Share:
    """The largest share of a node's input, over entries, that is explained: the estimate, and bounds at 99 %."""

    value: float
    low: float
    high: float


def share_known(observation: SumObservation, node: int, *, masks: bool, cumulative: bool) -> Share:
    """Return the largest share of the node's input that a reading explains, behind infinite masks or real ones."""
    shares = [Share(0.0, 0.0, 0.0)]
    for of, reading in observation.all_readings:
        if len(of) == 1 or cumulative:
            vectors = np.concatenate([observation.inputs[t] for t in of])
            known = reading.subspace.basis, np.zeros(reading.subspace.rank)
            sums, noise = _read(reading, observation.mask_size) if masks else known
            n = len(observation.inputs[of[0]])
            shares += [
                explained(vectors, sums, noise, node + n * place, rng=stream(node, "soundness", "bootstrap", place))
                for place in range(len(of))
            ]
    return max(shares, key=lambda share: share.value)


def output_share(setup: SumSetup, observation: SumObservation, node: int) -> float:
    """Return what total and corrupt inputs alone explain of the node's input, in the worst entry and iteration."""
    n = setup.network.n
    honest = np.array([float(i not in setup.corrupt) for i in range(n)])
    sums = np.vstack([honest, np.eye(n)[sorted(setup.corrupt)]])
    return max(_worst_entry(vectors, sums, np.zeros(len(sums)), node)[0] for vectors in observation.inputs.values())


def _read(reading: Reading, mask_size: float) -> tuple[Array, Array]:
    """Return the sums known exactly, then those read under whitened masks, and the variance of these masks."""
    view = reading.gaussian
    noise = np.concatenate([np.zeros(view.known.shape[1]), np.full(len(view.noisy), mask_size**2)])
    return np.vstack([view.known.T, view.noisy]), noise


def explained(vectors: Array, sums: Array, noise: Array, node: int, *, rng: np.random.Generator) -> Share:
    """Return the worst entry's explained share of ``node``.

    ``vectors`` (n, runs, m): inputs of many runs; ``sums`` (q, n): combinations that are read; ``noise`` (q,): variance
    of what is added to each.

    A sum of three, of which one is three times as large:

    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.normal(size=(3, 4000, 1)) * np.array([3.0, 1.0, 1.0])[:, None, None]
    >>> found = explained(vectors, np.ones((1, 3)), np.zeros(1), 0, rng=rng)
    >>> bool(found.low < 9 / 11 < found.high)
    True
    """
    value, worst = _worst_entry(vectors, sums, noise, node)
    if not len(worst):
        return Share(0.0, 0.0, 0.0)
    draws = []
    for _ in range(_REPLICATES):
        again = worst[rng.integers(len(worst), size=len(worst))]
        draws.append(_share(again - again.mean(axis=0), sums, noise, node))
    spread = float(np.std(draws))
    low, high = (float(np.clip(value + side * 2.58 * spread, 0.0, 1.0)) for side in (-1, 1))
    return Share(value, low, high)


def _worst_entry(vectors: Array, sums: Array, noise: Array, node: int) -> tuple[float, Array]:
    """Return the share of ``node`` in the worst entry, and that entry, centred (runs, n); (0, none) if none varies."""
    columns = np.asarray(vectors.transpose(2, 1, 0), dtype=float)  # (m, runs, n)
    centred = columns - columns.mean(axis=1, keepdims=True)
    sizes = (centred[..., node] ** 2).mean(axis=1)
    varies = sizes > _CONSTANT * sizes.max(initial=0.0)
    if not varies.any() or not len(sums):
        return 0.0, np.empty((0, len(vectors)))
    points = [_share(centred_vector, sums, noise, node) for centred_vector in centred[varies]]
    worst = int(np.argmax(points))
    return points[worst], centred[varies][worst]


def _share(centred: Array, sums: Array, noise: Array, node: int) -> float:
    spread = centred.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    covariance = (centred / spread).T @ (centred / spread) / len(centred)
    through = sums * spread  # inputs in units of their own
    sizes = np.sqrt(np.maximum((through**2).sum(axis=1) + noise, 1e-300))
    through, noise = through / sizes[:, None], noise / sizes**2
    cross = covariance @ through.T
    inner = np.linalg.pinv(through @ cross + np.diag(noise), rcond=1e-10, hermitian=True)
    return float(np.clip((cross[node] @ inner @ cross[node]) / max(float(covariance[node, node]), 1e-300), 0.0, 1.0))
