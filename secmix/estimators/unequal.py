"""What sums tell of nodes whose inputs differ in size: the empirical covariance in place of equal variances.

A sum over n equal and independent inputs explains 1/n of each. Where one node holds most rows it explains most of it.
With Σ the covariance of one entry between the nodes, and H s + noise of covariance R what is seen, the share of s_i
that is explained is [Σ Hᵀ (H Σ Hᵀ + R)⁺ H Σ]_ii / Σ_ii.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array

_REPLICATES = 100
_CONSTANT = 1e-12  # of the largest variance: an entry that does not vary is no secret


@dataclass(frozen=True)
class Share:
    """The largest share of a node's input, over entries, that is explained: the estimate, and bounds at 99 %."""

    value: float
    low: float
    high: float


def explained(vectors: Array, seen: Array, noise: Array, node: int, *, rng: np.random.Generator) -> Share:
    """Return the worst entry's explained share of ``node``.

    ``vectors`` (n, runs, m): inputs of many runs; ``seen`` (q, n): combinations that are seen; ``noise`` (q,): variance
    of what is added to each.

    A sum of three, of which one is three times as large:

    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.normal(size=(3, 4000, 1)) * np.array([3.0, 1.0, 1.0])[:, None, None]
    >>> found = explained(vectors, np.ones((1, 3)), np.zeros(1), 0, rng=rng)
    >>> bool(found.low < 9 / 11 < found.high)
    True
    """
    columns = np.asarray(vectors.transpose(2, 1, 0), dtype=float)  # (m, runs, n)
    centred = columns - columns.mean(axis=1, keepdims=True)
    sizes = (centred[..., node] ** 2).mean(axis=1)
    varies = sizes > _CONSTANT * sizes.max(initial=0.0)
    if not varies.any() or not len(seen):
        return Share(0.0, 0.0, 0.0)
    points = np.array([_share(one, seen, noise, node) for one in centred[varies]])
    worst = centred[varies][int(np.argmax(points))]
    draws = []
    for _ in range(_REPLICATES):
        again = worst[rng.integers(len(worst), size=len(worst))]
        draws.append(_share(again - again.mean(axis=0), seen, noise, node))
    value, spread = float(points.max()), float(np.std(draws))
    low, high = (float(np.clip(value + side * 2.58 * spread, 0.0, 1.0)) for side in (-1, 1))
    return Share(value, low, high)


def _share(centred: Array, seen: Array, noise: Array, node: int) -> float:
    spread = centred.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    covariance = (centred / spread).T @ (centred / spread) / len(centred)
    through = seen * spread  # inputs in units of their own
    sizes = np.sqrt(np.maximum((through**2).sum(axis=1) + noise, 1e-300))
    through, noise = through / sizes[:, None], noise / sizes**2
    cross = covariance @ through.T
    inner = np.linalg.pinv(through @ cross + np.diag(noise), rcond=1e-10, hermitian=True)
    return float(np.clip((cross[node] @ inner @ cross[node]) / max(float(covariance[node, node]), 1e-300), 0.0, 1.0))
