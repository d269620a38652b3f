"""From dissimilarities between learners to clusters of them (Meta clustering 2022, step 3 and algorithm 1).

Nothing here depends on the order of the learners: they are put in an order that their dissimilarities alone decide,
clustered, and clusters are numbered by what they hold.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from secmix._base.checks import Array, Ints

# Reference draws of the gap statistic; Tibshirani et al. 2001 take ten to a hundred.
_DRAWS = 20
_INITS = 20


def dissimilarities(losses: Array, fitted: Array) -> Array:
    """d_ij = |L_{i→j} − ê_j| + |L_{j→i} − ê_i|, d_ii = 0, from L (M, M) and ê (M,).

    ``losses[i, j]`` is the MSE of i's model on j's rows. What is not finite makes learners infinitely unlike.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        excess = np.abs(losses - fitted[None, :])
        d = excess + excess.T
    d = np.where(np.isfinite(d), d, np.inf)
    np.fill_diagonal(d, 0.0)
    return d


def default_scale(d: Array) -> float:
    """The median over learners of the distance to their fourth nearest; 1 where all are alike.

    A scale of the differences within a cluster, as long as most learners share theirs with four others: give your own
    where clusters are smaller. Any larger and clusters blur, any smaller and they crumble.
    """
    m = len(d)
    if m < 2:
        return 1.0
    near = np.sort(d, axis=1)[:, min(4, m - 1)]
    found = float(np.median(near[np.isfinite(near)])) if np.isfinite(near).any() else 0.0
    if found > 0:
        return found
    positive = d[np.isfinite(d) & (d > 0)]
    return float(np.median(positive)) if positive.size else 1.0


def similarities(d: Array, scale: float) -> Array:
    """s_ij = exp(−d_ij / scale)."""
    return np.asarray(np.exp(-d / scale))


def canonical_order(d: Array, fitted: Array) -> Ints:
    """An order of the learners that their dissimilarities and fitted errors decide, whatever order they come in."""
    sorted_rows = np.sort(d, axis=1)
    return np.lexsort((*sorted_rows.T, fitted))


def eigenvectors(similarity: Array) -> tuple[Array, Array]:
    """Eigenvalues of D^(−1/2) S D^(−1/2), largest first (M,), and the eigenvectors in columns (M, M)."""
    root = 1.0 / np.sqrt(similarity.sum(axis=1))
    values, vectors = np.linalg.eigh(root[:, None] * similarity * root[None, :])
    return values[::-1], vectors[:, ::-1]


def ng_jordan_weiss(vectors: Array, k: int, seed: int) -> Ints:
    """Labels from k-means on the normalised rows of the top k eigenvectors."""
    rows = vectors[:, :k]
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    # With fewer clusters than pieces that see nothing of each other, some learners have no part in the top k: what they
    # have is rounding error, and they stay together at the origin.
    rows = np.where(length > 1e-9, rows / np.where(length > 1e-9, length, 1.0), 0.0)
    return np.asarray(_kmeans(rows, k, seed).labels_, dtype=np.intp)


def choose_k(similarity: Array, most: int, criterion: str, penalty: float, seed: int) -> int:
    """The number of clusters, 1 … ``most``, by "penalty" or "gap"."""
    if most < 2:
        return 1
    points, share = coordinates(similarity, most)
    within = spread_within(points, share, most, seed)
    if criterion == "penalty":
        return 1 + int(np.argmin(within + penalty * np.arange(1, most + 1)))
    return by_gap(points, share, within, seed)


def coordinates(similarity: Array, most: int) -> tuple[Array, Array]:
    """Diffusion coordinates of the learners, (M, most − 1), and their shares of the total degree, (M,).

    λ_k v_ik / √share_i for k = 2 … most. The spread within clusters that K is judged by needs one space for all K,
    which the normalised eigenvectors are not: for K = 1 all learners fall on one point. Here C far clusters spread by
    C − 1 in mean squares, learners weighted by their shares, and what tells no clusters apart is shrunk by its
    eigenvalue.
    """
    degree = similarity.sum(axis=1)
    share = degree / degree.sum()
    # The first eigenvector is √share. It is taken out beforehand: between clusters that see nothing of each other the
    # eigenvalue 1 is multiple, and any mixture of its eigenvectors might come first.
    flat = similarity / np.sqrt(degree[:, None] * degree[None, :]) - np.sqrt(share[:, None] * share[None, :])
    values, vectors = np.linalg.eigh(flat)
    kept = slice(-1, -most, -1)
    return np.clip(values[kept], 0.0, 1.0) * vectors[:, kept] / np.sqrt(share)[:, None], share


def spread_within(points: Array, share: Array, most: int, seed: int, inits: int = _INITS) -> Array:
    """Mean squared distance to the nearest of K centres, K = 1 … most."""
    return np.array([_kmeans(points, k, seed, share, inits).inertia_ for k in range(1, most + 1)])


def by_gap(points: Array, share: Array, within: Array, seed: int) -> int:
    """The K of a gap statistic: the least whose gap the next two do not beat by more than their standard errors.

    Gap(K) = E W*(K) − W(K), where W* is the spread within clusters of uniform points with the same variance in each
    coordinate. Three changes to Tibshirani, Walther and Hastie 2001, who take logarithms, the box that holds the
    points, and the next K only: logarithms ask for ever more clusters where true ones are tight (Mohajer, Englmeier,
    Schmid 2011), one odd learner stretches a box, and three clusters at equal distances are worse split in two than
    left together.
    """
    rng, most = np.random.default_rng(seed), len(within)
    side = np.sqrt(12 * (share[:, None] * points**2).sum(axis=0))
    reference = np.stack(
        [spread_within(side * (rng.random(points.shape) - 0.5), share, most, seed, 5) for _ in range(_DRAWS)]
    )
    gap = reference.mean(axis=0) - within
    beaten_by = gap - reference.std(axis=0) * np.sqrt(1 + 1 / _DRAWS)
    return next(k + 1 for k in range(most) if (gap[k] >= beaten_by[k + 1 : k + 3]).all())


def numbered(labels: Ints, d: Array, fitted: Array) -> Ints:
    """The same clusters numbered by size, largest first, then by their members' fitted errors."""
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    groups.sort(key=lambda g: (-len(g), sorted(fitted[g].tolist()), sorted(np.sort(d[g], axis=1).ravel().tolist())))
    out = np.empty(len(labels), dtype=np.intp)
    for number, group in enumerate(groups):
        out[group] = number
    return out


def _kmeans(points: Array, k: int, seed: int, share: Array | None = None, inits: int = _INITS) -> Any:
    from sklearn.cluster import KMeans  # heavy, so loaded on use
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters; the caller says so
        return KMeans(k, n_init=inits, random_state=seed).fit(points, sample_weight=share)
