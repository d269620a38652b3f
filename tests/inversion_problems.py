"""Sums that real runs of distributed EM reveal, with the rows behind them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.preprocessing import StandardScaler

from secmix import Mixture, Network
from secmix.adversaries import rounds_needed
from secmix.auditing.setup import public_start
from secmix.data import gaussian
from secmix.mixture import local_statistics
from secmix.protocols import DistributedEM, Plain


def problem(h, d, c, rounds, seed):
    """Rows (h, d) one a node, the mixtures θ^0 … θ^{T−1} that EM went through, and the sums (T, c, q) it took."""
    rng = np.random.default_rng(seed)
    centres = 2.0 * rng.standard_normal((c, d))
    rows = centres[rng.integers(c, size=h)] + rng.standard_normal((h, d))
    spread = np.diag(rows.var(axis=0) + 0.1)
    around = rows.mean(axis=0) + rng.standard_normal((c, d)) * rows.std(axis=0)
    start = Mixture(np.full(c, 1 / c), around, np.repeat(spread[None], c, axis=0))
    em = DistributedEM(c, sums=Plain(), init=start, max_iter=rounds, tol=None, reg_covar=1e-2)
    run = em.run([row[None, None] for row in rows], network=Network.complete(h), rng=rng)
    path = [mixture[0, 0] for mixture in run.mixtures[:rounds]]
    return rows, path, sums_of(rows, path)


def audited_problem(h, c, seed):
    """Rows of an audit's Gaussian data, EM from its public k-means start, and the sums, two rounds beyond T*."""
    every = StandardScaler().fit_transform(gaussian().rows)
    rng, rounds = np.random.default_rng(seed), rounds_needed(h, 2, c) + 2
    rows = every[rng.choice(len(every), h, replace=False)]
    em = DistributedEM(c, sums=Plain(), init=public_start(every, c, 1e-2), max_iter=rounds, tol=None, reg_covar=1e-2)
    run = em.run([row[None, None] for row in rows], network=Network.complete(h), rng=rng)
    path = [mixture[0, 0] for mixture in run.mixtures[:rounds]]
    return rows, path, sums_of(rows, path)


def sums_of(rows, path):
    c, d = path[0].means.shape
    return np.stack([local_statistics(rows, theta, likelihood=False) for theta in path]).reshape(
        len(path), c, 1 + d + d * (d + 1) // 2
    )


def furthest(found, rows):
    """The largest distance of a row from its match, in standard deviations of the columns."""
    apart = np.linalg.norm((found[:, None] - rows[None]) / np.maximum(rows.std(axis=0), 1e-12), axis=2)
    return apart[linear_sum_assignment(apart)].max()
