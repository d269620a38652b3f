"""The probability in the theorems of Singh 2024: 1 − exp(−L ψ(0.4 − τ, p)), against how often the median fails."""

from __future__ import annotations

import math
import warnings

import numpy as np

from analysis.study import Numbers
from secmix._base.checks import Array
from secmix.adversaries.against_rules.subspaces import geodesic
from secmix.adversaries.attacks.subspace import orthogonal
from secmix.aggregators import RejectedMessages
from secmix.aggregators.subspace_rules import subspace_median, subspace_median_bound
from secmix.protocols.subspace.federated_pca import own_basis

N, R, Q, STRENGTH = 12, 2, 60, 400.0  # so that 23 δ is less than √r, which nothing exceeds
SETTINGS = ((10, 0.0, 0.1), (10, 0.2, 0.05), (20, 0.2, 0.05), (40, 0.2, 0.05), (20, 0.3, 0.02))
"""L, τ and p: of a node's basis, the probability of being further than δ from U*."""
SIZES = (2.0, 4.0, 8.0)  # of δ: colluders' common basis, beside one that is orthogonal to U*


def psi(a: float, b: float) -> float:
    """ψ(a, b) = (1 − a) log((1 − a)/(1 − b)) + a log(a/b), the divergence between coins of chance a and b.

    Examples
    --------
    >>> psi(0.2, 0.2), round(psi(0.4, 0.1), 3)
    (0.0, 0.311)
    """
    return (1 - a) * math.log((1 - a) / (1 - b)) + a * math.log(a / b)


def probabilities(trials: int, seed: int) -> list[Numbers]:
    """For each setting how often more than 40 % of the bases are beyond δ, and how often the median is beyond 23 δ.

    In every trial the colluders' basis is the worst of four: at 2, 4 and 8 δ from U* in one direction, and orthogonal.
    δ is the quantile of 5000 nodes of their own. That more than 40 % are off is the event whose probability the
    theorem bounds; that the median fails is what it says of it.
    """
    rng = np.random.default_rng([seed, 23])
    truth = np.eye(N)[:, :R]
    alone = _distances(_bases(5_000, rng), truth)
    table = []
    for nodes, tau, p in SETTINGS:
        delta, f = float(np.quantile(alone, 1 - p)), int(tau * nodes + 1e-9)
        h = nodes - f
        bases = _bases(trials * h, rng).reshape(trials, h, N, R)
        off = (_distances(bases, truth) > delta).sum(axis=1) + f
        errors = np.array([_worst(each, f, delta, truth, rng) for each in bases])
        table.append(
            {
                "nodes": nodes,
                "tau": tau,
                "p": p,
                "trials": trials,
                "bound": math.exp(-nodes * psi(0.4 - tau, p)),
                "too_many_off": int((off > 0.4 * nodes + 1e-9).sum()),
                "beyond_23": int((errors > 23 * delta).sum()),
                "beyond_sharp": int((errors > subspace_median_bound(0.4) * delta).sum()),
                "delta": delta,
                "largest": float(errors.max() / delta),
            }
        )
    return table


def _bases(count: int, rng: np.random.Generator) -> Array:
    """The bases of nodes with Q samples of variance STRENGTH in R directions and 1 in the others."""
    roots = np.sqrt(np.concatenate([np.full(R, STRENGTH), np.ones(N - R)]))
    return own_basis(rng.standard_normal((count, Q, N)) * roots, R, rng)


def _distances(bases: Array, truth: Array) -> Array:
    """SD_F of bases (..., n, r) from U*."""
    return np.asarray(np.linalg.norm(truth - bases @ (bases.swapaxes(-1, -2) @ truth), axis=(-2, -1)))


def _worst(honest: Array, f: int, delta: float, truth: Array, rng: np.random.Generator) -> float:
    tangent = np.zeros_like(truth)
    tangent[R, 0] = 1.0
    sent = [geodesic(truth, size * delta * tangent) for size in SIZES] + [orthogonal(honest, 1, rng)[0]]
    worst = 0.0
    for false in sent if f else sent[:1]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RejectedMessages)
            found = subspace_median(np.concatenate([honest, np.repeat(false[None], f, axis=0)]))
        worst = max(worst, float(_distances(found.basis, truth)))
    return worst
