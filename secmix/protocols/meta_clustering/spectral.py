"""From dissimilarities between learners to clusters of them (Meta clustering 2022, step 3 and algorithm 1).

Nothing here depends on the order of the learners: they are put in an order that their dissimilarities alone decide,
clustered, and clusters are numbered by what they hold.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix._base.checks import Array, Ints
from secmix._base.stable_order import oriented

# Reference draws of the gap statistic; Tibshirani et al. 2001 take ten to a hundred.
_DRAWS = 20
_INITS, _ROUNDS = 20, 50  # starts of k-means, and the most rounds of each of ours
# Spreads below this are rounding: the logarithm of all of them is the same.
_NOTHING = 1e-24
# Eigenvalues closer than this, of matrices with the largest 1, are the same but for rounding.
_EQUAL = 1e-9


def dissimilarities(losses: Array, fitted: Array) -> Array:
    """Compute d_ij = |L_{i→j} − ê_j| + |L_{j→i} − ê_i|, d_ii = 0, from L (M, M) and ê (M,).

    ``losses[i, j]`` is the MSE of i's model on j's rows. A loss that is not finite makes learners infinitely unlike.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        excess = np.abs(losses - fitted[None, :])
        d = excess + excess.T
    d = np.where(np.isfinite(d), d, np.inf)
    np.fill_diagonal(d, 0.0)
    return d


def default_scale(d: Array) -> float:
    """Compute the median over learners of the distance to their fourth nearest; 1 where all are alike.

    With fewer than nine learners it is that to the (M − 1) // 2-th nearest, so that two groups are told apart. The
    scale should be that of differences within a cluster: with a larger one clusters merge, with a smaller one they
    fall apart. Give your own where clusters hold less than half of few learners, or fewer than five of many.
    """
    m = len(d)
    if m < 2:
        return 1.0
    near = np.sort(d, axis=1)[:, max(1, min(4, (m - 1) // 2))]
    scale = float(np.median(near[np.isfinite(near)])) if np.isfinite(near).any() else 0.0
    if scale > 0:
        return scale
    positive = d[np.isfinite(d) & (d > 0)]
    return float(np.median(positive)) if positive.size else 1.0


def canonical_order(d: Array, fitted: Array) -> Ints:
    """Order the learners by their dissimilarities and fitted errors, whatever order they come in."""
    sorted_rows = np.sort(d, axis=1)
    return np.lexsort((*sorted_rows.T, fitted))


def eigenvectors(similarity: Array) -> tuple[Array, Array]:
    """Decompose D^(−1/2) S D^(−1/2): eigenvalues, largest first (M,), and eigenvectors in columns (M, M)."""
    degree = similarity.sum(axis=1)
    root = 1.0 / np.sqrt(degree)
    return decomposed(root[:, None] * similarity * root[None, :], degree)


def decomposed(matrix: Array, degree: Array) -> tuple[Array, Array]:
    """Decompose a symmetric matrix (M, M): eigenvalues, largest first, and eigenvectors in columns.

    Disconnected pieces have one eigenvalue in common, and any mixture of their vectors is as good for
    it: which of them are among the top K would depend on the last bit. The piece of the larger degree comes first, and
    of equal ones that of the earlier learners.
    """
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1].copy()
    weight = degree + np.linspace(1e-3, 0.0, len(degree))
    for equal in np.split(np.arange(len(values)), np.flatnonzero(np.diff(values) < -_EQUAL) + 1):
        if len(equal) > 1:
            span = vectors[:, equal]
            vectors[:, equal] = span @ np.linalg.eigh(span.T @ (weight[:, None] * span))[1][:, ::-1]
    return values, oriented(vectors.T).T


def ng_jordan_weiss(vectors: Array, k: int, seed: int) -> Ints:
    """Label learners by k-means on the normalised rows of the top k eigenvectors."""
    return np.asarray(_kmeans(standardised_rows(vectors, k), k, seed).labels_, dtype=np.intp)


def standardised_rows(vectors: Array, k: int) -> Array:
    """Scale the rows of the top k eigenvectors to unit length, (M, k): what algorithm 1 gives to k-means."""
    rows = vectors[:, :k]
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    # With fewer clusters than disconnected pieces, some learners have no part in the top k: what they
    # have is rounding error, and they stay together at the origin.
    return np.asarray(np.where(length > 1e-9, rows / np.where(length > 1e-9, length, 1.0), 0.0))


def choose_k(similarity: Array, most: int, criterion: str, penalty: float, seed: int) -> int:
    """Choose the number of clusters, 1 … ``most``, by "penalty" or "gap"."""
    if most < 2:
        return 1
    if criterion == "gap":
        vectors = eigenvectors(similarity)[1]
        # For K = 1 all rows are the same point, of whose spread there is no logarithm: those for K = 2 are taken.
        return by_gap([standardised_rows(vectors, max(k, 2)) for k in range(1, most + 1)], seed)
    points, share = coordinates(similarity, most)
    # The mean squared distance to the nearest of K centres.
    within = np.array([_kmeans(points, k, seed, share).inertia_ for k in range(1, most + 1)])
    return 1 + int(np.argmin(within + penalty * np.arange(1, most + 1)))


def coordinates(similarity: Array, most: int) -> tuple[Array, Array]:
    """Compute diffusion coordinates of the learners, (M, most − 1), and their shares of the total degree, (M,).

    λ_k v_ik / √share_i for k = 2 … most. The spread within clusters that K is judged by needs one space for all K,
    which the normalised eigenvectors are not: for K = 1 all learners fall on one point. Here C far clusters spread by
    C − 1 in mean squares, learners weighted by their shares, and what tells no clusters apart is shrunk by its
    eigenvalue.
    """
    degree = similarity.sum(axis=1)
    share = degree / degree.sum()
    # The first eigenvector is √share. It is taken out beforehand: between disconnected clusters the
    # eigenvalue 1 is multiple, and any mixture of its eigenvectors might come first.
    flat = similarity / np.sqrt(degree[:, None] * degree[None, :]) - np.sqrt(share[:, None] * share[None, :])
    values, vectors = decomposed(flat, degree)
    leading = slice(most - 1)
    return np.clip(values[leading], 0.0, 1.0) * vectors[:, leading] / np.sqrt(share)[:, None], share


def by_gap(rows: Sequence[Array], seed: int) -> int:
    """Choose K by the gap statistic (Tibshirani, Walther, Hastie 2001); ``rows[K - 1]`` (M, ·) are clustered in K.

    The least K with Gap(K) ≥ Gap(K + 1) − s_{K+1}, or the largest tried.
    """
    rng = np.random.default_rng(seed)
    last, _ = gap(rows[0], 1, rng, _DRAWS)
    for k, points in enumerate(rows[1:], start=1):
        following, error = gap(points, k + 1, rng, _DRAWS)
        if last >= following - error:
            return k
        last = following
    return len(rows)


def gap(points: Array, k: int, rng: np.random.Generator, draws: int) -> tuple[float, float]:
    """Compute Gap(K) = E log W*(K) − log W(K), and its error s_K.

    W is the sum of squared distances of the points (M, ·) to K centres, W* that of as many uniform points in the box
    that holds them (their reference a), s_K the standard deviation of log W* times √(1 + 1/draws).
    """
    low, high = points.min(axis=0), points.max(axis=0)
    reference = low + (high - low) * rng.random((draws, *points.shape))
    *logs, observed = np.log(np.maximum(least_spreads(np.concatenate([reference, points[None]]), k, rng), _NOTHING))
    return float(np.mean(logs) - observed), float(np.std(logs) * np.sqrt(1 + 1 / draws))


def least_spreads(sets: Array, k: int, rng: np.random.Generator) -> Array:
    """Find the least sum of squared distances to k centres by k-means, for each of many sets of points (B, M, ·).

    Lloyd's rounds from k-means++, all sets and starts at once: hundreds of small sets cost scikit-learn seconds.
    """
    x = np.repeat(sets, _INITS, axis=0)
    index, members = np.arange(len(x)), x.shape[1]
    centres = x[index, rng.integers(members, size=len(x))][:, None]
    for _ in range(1, k):
        near = ((x[:, :, None] - centres[:, None]) ** 2).sum(axis=-1).min(axis=-1).cumsum(axis=1)
        drawn = (near <= rng.random((len(x), 1)) * near[:, -1:]).sum(axis=1).clip(max=members - 1)
        centres = np.concatenate([centres, x[index, drawn][:, None]], axis=1)
    spread = np.full(len(x), np.inf)
    for _ in range(_ROUNDS):
        apart = ((x[:, :, None] - centres[:, None]) ** 2).sum(axis=-1)
        member = (apart.argmin(axis=-1)[..., None] == np.arange(k)).astype(np.float64)
        count = member.sum(axis=1)[..., None]
        centres = np.where(count > 0, member.swapaxes(1, 2) @ x / np.maximum(count, 1.0), centres)
        before, spread = spread, apart.min(axis=-1).sum(axis=-1)
        if (spread >= before).all():
            break
    return np.asarray(spread.reshape(len(sets), _INITS).min(axis=1))


def numbered(labels: Ints, d: Array, fitted: Array) -> Ints:
    """Number the clusters by size, largest first, then by their members' fitted errors."""
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    groups.sort(key=lambda g: (-len(g), sorted(fitted[g].tolist()), sorted(np.sort(d[g], axis=1).ravel().tolist())))
    out = np.empty(len(labels), dtype=np.intp)
    for number, group in enumerate(groups):
        out[group] = number
    return out


def _kmeans(points: Array, k: int, seed: int, share: Array | None = None) -> Any:
    from sklearn.cluster import KMeans  # slow to import, so loaded on use
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters; the caller says so
        return KMeans(k, n_init=_INITS, random_state=seed).fit(points, sample_weight=share)
