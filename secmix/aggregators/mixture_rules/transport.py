"""Matching of components, and the transport distance between two mixtures."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from secmix._base.checks import Array, Ints
from secmix._base.gaussians import bhattacharyya
from secmix._base.stable_order import least_assignment
from secmix.aggregators.mixture_rules.screening import one_mixture
from secmix.errors import DataError, NotConverged
from secmix.mixture import Mixture

# Two alignments whose total costs, each between 0 and 1, differ by less than this are tied and go by place.
_TIE = 1e-12


def wasserstein(a: Mixture, b: Mixture) -> float:
    """Compute the transport distance W1 between two mixtures, seen as weights on Gaussians.

    ``a``, ``b``: single mixtures, of any number of components. The result: the least Σ π_kl c_kl over all plans π with
    the weights for margins, exact (a linear programme), with the ground cost c = ‖μ − μ'‖ + ‖Σ^½ − Σ'^½‖_F, in the unit
    of the features. Raises DataError: one of them is no mixture, or they have different numbers of features, or lie too
    far apart.

    >>> a = Mixture([0.5, 0.5], [[0.0], [10.0]], [[[1.0]], [[1.0]]])
    >>> b = Mixture([0.5, 0.5], [[10.0], [0.0]], [[[1.0]], [[4.0]]])
    >>> round(wasserstein(a, b), 9)  # half of the weight goes from standard deviation 1 to 2
    0.5
    """
    a, b = one_mixture(a, "a"), one_mixture(b, "b")
    if a.n_features != b.n_features:
        raise DataError(f"the mixtures have {a.n_features} and {b.n_features} features; give as many")
    cost = ground_cost(a, b)
    if not np.isfinite(cost).all():
        raise DataError("the mixtures lie further apart than a float can say; scale the data down")
    return _transport(cost, a.weights / a.weights.sum(), b.weights / b.weights.sum())


def _transport(cost: Array, a: Array, b: Array) -> float:
    """Minimise Σ π_kl c_kl over all π ≥ 0 with row sums a (K,) and column sums b (L,), both of sum 1."""
    if len(b) == 2:
        cost, a, b = cost.T, b, a
    if len(a) == 2:
        # The first row's mass goes where that saves most against the second's: a linear programme of one constraint.
        order = np.argsort(cost[0] - cost[1], kind="stable")
        first = np.diff(np.minimum(np.cumsum(b[order]), a[0]), prepend=0.0)
        return float(first @ cost[0, order] + (b[order] - first) @ cost[1, order])
    rows, columns = cost.shape
    margins = np.concatenate([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
    size = float(cost.max()) or 1.0
    # One equation follows from the others; left in, rounding of the weights could contradict it.
    given = np.concatenate([a, b])[:-1]
    plan = linprog((cost / size).ravel(), A_eq=margins[:-1], b_eq=given, bounds=(0, None), method="highs")
    if plan.status != 0:
        raise NotConverged(f"the transport problem was not solved: {plan.message}", residual=float("nan"))
    return float(plan.fun) * size


def ground_cost(a: Mixture, b: Mixture) -> Array:
    """Compute ‖μ − μ'‖ + ‖Σ^½ − Σ'^½‖_F between the components of two single mixtures, (K, L)."""
    means = np.linalg.norm(a.means[:, None] - b.means, axis=-1)
    roots = [_root(one.covariances) for one in (a, b)]
    return np.asarray(means + np.linalg.norm(roots[0][:, None] - roots[1], axis=(-2, -1)))


def aligned(mixture: Mixture, to: Mixture) -> Ints:
    """Order the components of ``mixture`` (K) so that they match those of ``to`` (L <= K): (L,).

    The assignment of least total squared Hellinger distance, 1 − ∫ √(N N'). It is at most 1, so that one component
    far away cannot force the others apart.

    >>> a = Mixture([0.5, 0.5], [[0.0], [10.0]], [[[1.0]], [[1.0]]])
    >>> aligned(a, to=Mixture([0.5, 0.5], [[9.0], [500.0]], [[[1.0]], [[1.0]]]))
    array([1, 0])
    """
    if mixture.n_components < to.n_components or mixture.n_features != to.n_features:
        raise DataError(
            f"{mixture.n_components} components of {mixture.n_features} features cannot be matched to "
            f"{to.n_components} of {to.n_features}"
        )
    apart = bhattacharyya(to.means[:, None], to.covariances[:, None], mixture.means, mixture.covariances)
    # Components at distance 1 are all alike to Hellinger; a hint of the distance itself puts them in order.
    cost = -np.expm1(-apart) + 1e-6 * apart / (1 + apart)
    return least_assignment(cost, _TIE)


def _root(covariances: Array) -> Array:
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]) @ vectors.swapaxes(-1, -2))
