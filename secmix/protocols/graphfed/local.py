"""Local steps of a node of GraphFed-EM: the k-means start and EM on its own rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from secmix._base.checks import Array, Ints
from secmix.mixture import Mixture
from secmix.protocols.graphfed.aggregation import positive_definite
from secmix.protocols.remembered import Remembered

# A component with less than this share of the rows keeps its mean and covariance: it has nothing to estimate them from.
EMPTY = 1e-10
_SMALL = 2**14  # numbers
_TOGETHER = 2**18  # numbers that EM works on at once: more leave the caches
_CLUSTERS = Remembered[tuple[Ints, Array]](most=4096)


def kmeans_start(rows: Array, k: int, seed: int, n_init: int, *, shrinkage: float, reg_covar: float) -> Mixture:
    """Compute weights, means and covariances of the clusters that k-means finds in rows (N, d).

    The seed is the same at all nodes, a public coin: nodes with equal rows start equal. Clusters come in the order of
    their centres, by the first feature: k-means numbers them by draws that rounding may decide, and an order by rows
    would show where in the data a cluster's rows are.
    """
    key = _CLUSTERS.key(rows, k, seed, n_init)
    known = _CLUSTERS.get(key)
    if known is None:
        known = _clusters(rows, k, seed, n_init)
        if rows.size <= _SMALL:
            _CLUSTERS.put(key, known)
    labels, unordered = known
    centres = np.round(unordered / np.maximum(np.abs(rows).max(axis=0), 1e-300), 9)
    order = np.lexsort(centres.T[::-1])
    member = (labels == order[:, None]).astype(np.float64)
    spread = np.cov(rows.T, bias=True).reshape(rows.shape[1], -1)
    blank = Mixture(np.full(k, 1.0 / k), unordered[order], np.repeat(spread[None], k, axis=0))
    return maximised(rows, member, blank, shrinkage=shrinkage, reg_covar=reg_covar)


@cache
def _threads() -> ThreadpoolController:
    """Find the libraries with threads, once: it takes longer than k-means on a few rows."""
    return ThreadpoolController()


def _clusters(rows: Array, k: int, seed: int, n_init: int) -> tuple[Ints, Array]:
    """Cluster the rows: the cluster of each (N,), and the centres (k, d)."""
    from sklearn.cluster import KMeans  # slow to import, so loaded on use
    from sklearn.exceptions import ConvergenceWarning

    # K-means on so few rows loses more to threads than it gains.
    with _threads().limit(limits=1), warnings.catch_warnings():
        # Fewer distinct rows than clusters: some stay empty, which ``maximised`` allows.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(k, n_init=n_init, random_state=seed).fit(rows)
    return fitted.labels_, fitted.cluster_centers_


def maximised(rows: Array, resp: Array, old: Mixture, *, shrinkage: float, reg_covar: float) -> Mixture:
    """Compute the M-step at one node: rows (..., N, d), responsibilities (..., K, N); covariances about new means."""
    counts = resp.sum(axis=-1)
    empty = counts < EMPTY * rows.shape[-2]
    share = np.where(empty, 1.0, counts)
    means = np.where(empty[..., None], old.means, resp @ rows / share[..., None])
    off = rows[..., None, :, :] - means[..., None, :]
    covariances = (resp[..., None] * off).swapaxes(-1, -2) @ off / share[..., None, None]
    loaded = covariances + reg_covar * np.eye(rows.shape[-1])
    covariances = np.where(empty[..., None, None], old.covariances, loaded)
    weights = counts / counts.sum(axis=-1, keepdims=True)
    return Mixture(weights, means, positive_definite(covariances, shrinkage=shrinkage, floor=reg_covar))


def local_em(rows: Array, mixture: Mixture, steps: int, *, shrinkage: float, reg_covar: float) -> tuple[Mixture, Array]:
    """Run ``steps`` of EM on rows (..., N, d); return the mixture and N_k (..., K) of the last E-step."""
    columns = np.ascontiguousarray(rows.swapaxes(-1, -2))
    resp = np.empty((*rows.shape[:-2], mixture.n_components, 0))
    for _ in range(steps):
        resp = mixture.column_responsibilities(columns)[0]
        mixture = maximised(rows, resp, mixture, shrinkage=shrinkage, reg_covar=reg_covar)
    return mixture, resp.sum(axis=-1)


def at_all_nodes(
    parts: Sequence[Array], mixtures: Mixture, steps: int, *, shrinkage: float, reg_covar: float
) -> tuple[Mixture, Array]:
    """Run :func:`local_em` at n nodes in each run: parts n arrays (runs, N_i, d), mixtures and counts (n, runs).

    Nodes with as many rows go through it together: on few rows calls take longer than arithmetic.
    """
    k, runs = mixtures.n_components, len(parts[0])
    weights, means = np.empty_like(mixtures.weights), np.empty_like(mixtures.means)
    covariances, counts = np.empty_like(mixtures.covariances), np.empty_like(mixtures.weights)
    sizes = np.array([part.shape[1] for part in parts])
    for size in np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == size)
        nodes, run_indices = (place.ravel() for place in np.meshgrid(alike, np.arange(runs), indexing="ij"))
        most = max(_TOGETHER // max(size * k * parts[0].shape[2], 1), 1)
        for first in range(0, len(nodes), most):
            at = nodes[first : first + most], run_indices[first : first + most]
            rows = np.stack([parts[node][run] for node, run in zip(*at, strict=True)])
            fitted, counts[at] = local_em(rows, mixtures[at], steps, shrinkage=shrinkage, reg_covar=reg_covar)
            weights[at], means[at], covariances[at] = fitted.weights, fitted.means, fitted.covariances
    return Mixture(weights, means, covariances), counts
