"""The composite transportation divergence (Zhang 2024, section 2.1): by it the authors' code measures digits.

The text measures everything by ∫ (f − g)². In many dimensions that is ruled by the height of a density's peaks; this
divergence compares components by Kullback and Leibler's, which is not.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from secmix._base.checks import Array
from secmix._base.gaussians import cholesky, log_det
from secmix.errors import NotConverged
from secmix.mixture import Mixture


def divergence(means_a: Array, covariances_a: Array, means_b: Array, covariances_b: Array) -> Array:
    """KL(N_a ‖ N_b) in nats, (...); means are (..., d) and covariances (..., d, d).

    ½ [tr(Σ_b⁻¹ Σ_a) + (μ_a − μ_b)ᵀ Σ_b⁻¹ (μ_a − μ_b) − d + log det Σ_b − log det Σ_a]
    """
    lower_a, lower_b = cholesky(covariances_a), cholesky(covariances_b)
    whiten = np.linalg.inv(lower_b)
    spread = (np.matmul(whiten, lower_a) ** 2).sum((-1, -2))
    shift = (np.matmul(whiten, np.asarray(means_a - means_b)[..., None]) ** 2).sum((-1, -2))
    return np.asarray(0.5 * (spread + shift - means_a.shape[-1] + log_det(lower_b) - log_det(lower_a)))


def transport(a: Mixture, b: Mixture) -> float:
    """The least Σ π_kl KL(N_k ‖ N_l) over all plans π between the weights of two single mixtures; not symmetric.

    Examples
    --------
    >>> one = Mixture([1.0], [[0.0]], [[[1.0]]])
    >>> transport(one, Mixture([0.5, 0.5], [[1.0], [-2.0]], [[[1.0]], [[1.0]]]))  # (1/2 + 4/2) / 2
    1.25
    """
    cost = divergence(a.means[:, None], a.covariances[:, None], b.means, b.covariances)
    rows, columns = cost.shape
    margins = np.concatenate([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
    given = np.concatenate([a.weights / a.weights.sum(), b.weights / b.weights.sum()])
    size = float(cost.max()) or 1.0
    # One equation follows from the others; left in, rounding of the weights could contradict it.
    plan = linprog((cost / size).ravel(), A_eq=margins[:-1], b_eq=given[:-1], bounds=(0, None), method="highs")
    if plan.status != 0:
        raise NotConverged(f"the transport problem was not solved: {plan.message}", residual=float("nan"))
    return float(plan.fun) * size


def transports(mixtures: Mixture) -> Array:
    """From each of m mixtures to each, (m, m), zero on the diagonal."""
    m = len(mixtures.weights)
    return np.array([[0.0 if i == j else transport(mixtures[i], mixtures[j]) for j in range(m)] for i in range(m)])
