"""Bounds on how much of any function of a secret noisy releases tell, by the Bhattacharyya affinity.

Let B be the least affinity ∫ √(p q) between the laws p, q of what is seen for two values of the secret, all else fixed.
For *every* function of the secret and every estimator from what is seen, the explained variance is at most 1 − B²:
E Var(g | seen) = ½ ΣΣ P(x) P(x') (g(x) − g(x'))² ∫ p_x p_x' / p, and by Cauchy and Schwarz ∫ p_x p_x' / p ≥ B². The
affinities of adaptive releases multiply. It is a statement in real arithmetic about the unit whose change the
sensitivities bound: that of a row says nothing of a node whose rows go together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from secmix._base.checks import not_negative, probability


def explained_variance_bound(*, gaussian: Iterable[float] = (), laplace: Iterable[float] = ()) -> float:
    """Return the largest explained variance that noisy releases leave to anybody: 0 nothing, 1 everything.

    The affinity is e^(−μ²/8) of a Gaussian release with μ = Δ₂/σ and (1 + t/2) e^(−t/2) of a Laplace release with
    t = Δ₁/b; the bound is 1 minus the square of their product.

    Parameters
    ----------
    gaussian : iterable of float
        μ = Δ₂/σ of each Gaussian release that the secret reaches.
    laplace : iterable of float
        t = Δ₁/b of each Laplace release that the secret reaches.

    Raises
    ------
    SecmixError
        If a number is negative or not finite.

    Examples
    --------
    >>> [round(explained_variance_bound(gaussian=[mu]), 3) for mu in (0.447, 1.0, 2.0)]
    [0.049, 0.221, 0.632]
    >>> round(explained_variance_bound(gaussian=[0.1] * 20, laplace=[0.5]), 3)
    0.099
    """
    exponent = sum(not_negative(mu, "gaussian") ** 2 / 4 for mu in gaussian)
    exponent += sum(t - 2 * math.log1p(t / 2) for t in (not_negative(t, "laplace") for t in laplace))
    return -math.expm1(-exponent)


def explained_variance_bound_of(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest explained variance that an (ε, δ) differentially private mechanism leaves to anybody.

    It is 1 − (1 − δ)²/cosh²(ε/2): of all such mechanisms randomised response has the least affinity.

    Raises
    ------
    SecmixError
        If ε is negative or δ lies outside [0, 1].

    Examples
    --------
    >>> [round(explained_variance_bound_of(epsilon), 3) for epsilon in (0.1, 1.0, 4.0)]
    [0.002, 0.214, 0.929]
    """
    delta = probability(delta, "delta", below_one=False)
    half = not_negative(epsilon, "epsilon") / 2
    affinity = (1 - delta) / math.cosh(half) if half < 300 else 0.0  # cosh overflows beyond
    return 1 - affinity**2


def information_bound(gaussian: Iterable[float]) -> float:
    """Return the largest mutual information, in nats, between a secret and Gaussian releases: Σ μ²/2.

    A convex combination is no further from one of its laws than the furthest of them, and informations of adaptive
    releases add by the chain rule. Nothing of the kind follows from (ε, δ) with δ > 0.

    Raises
    ------
    SecmixError
        If a number is negative or not finite.

    Examples
    --------
    >>> round(information_bound([0.1] * 20), 6)
    0.1
    """
    return sum(not_negative(mu, "gaussian") ** 2 / 2 for mu in gaussian)
