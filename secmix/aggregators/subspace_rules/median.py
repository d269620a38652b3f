"""The Subspace Median: of L bases, the one whose projection is nearest to the geometric median of all projections.

What is proven of it. Say that of the L subspaces a share of at least 1 − τ, τ < 1/2, lies within SD_F <= δ of U*,
and let C = (1 − τ)/√(1 − 2τ).

*Of the geometric median* (Minsker 2015, lemma 2.1): if a share of at least 1 − τ of points in a Hilbert space lies
within ε of z̃, then ‖z_gm − z̃‖ <= C ε.

*Of the returned basis.* For bases of equal dimension ‖P_U − P_V‖_F = √2 SD_F(U, V), so that these P_ℓ lie within
√2 δ of P*, and ‖P_gm − P*‖ <= C √2 δ. Any one of them, say ℓ, has

    ‖P_ℓ − P_gm‖ <= ‖P_ℓ − P*‖ + ‖P* − P_gm‖ <= (1 + C) √2 δ,

and the basis returned is nearest to P_gm, so at least as near. Hence

    ‖P_out − P*‖ <= ‖P_out − P_gm‖ + ‖P_gm − P*‖ <= (1 + C) √2 δ + C √2 δ,   that is   SD_F(U*, U_out) <= (1 + 2C) δ.

At τ = 0.4 this is 3.68 δ. The paper has 23 δ there: it takes C = 2(1 − τ)/(1 − 2τ) = 6 (and rounds).

*Sharper still:* SD_F(U*, U_out) <= √(2(1 − τ)/(1 − 2τ)) δ, 2.45 δ at τ = 0.4. Measure in units of √2 δ and write
g = ‖P_gm − P*‖, e for the unit vector from P* to P_gm, d_i for the distances of the good P_i from P_gm, d for the
least of them and s = τ/(1 − τ). The distance in question is at most g + d. If d = 0 it is at most g <= C, which is
smaller. Else the pulls of the good ones, unit vectors v_i from P_i to P_gm, are balanced by the others', of at most
unit strength each, so that the mean of ⟨v_i, e⟩ is at most s. Since ‖P_i − P*‖ <= 1,
⟨v_i, e⟩ >= φ(d_i), φ(x) = (g² + x² − 1)/(2 g x), which grows with x from x² = g² − 1 on.
If d² >= g² − 1, then s >= φ(d), that is (g + d)² (1 − s)/2 + (g − d)² (1 + s)/2 <= 1, and (g + d)² <= 2/(1 − s).
Else s >= φ(√(g² − 1)) = √(g² − 1)/g, so that g <= C and g + d < C + √(C² − 1) = √((1 + s)/(1 − s)), which is less.
In the limit of small δ this is attained (``secmix.adversaries.against_rules.subspaces.tightest``): no bound is less.

Nothing n × n appears: all that is needed are the L × L distances between projections (``projection_distances``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.aggregators.numerics.median_of_points import weights_from_distances
from secmix.aggregators.subspace_rules.bases import admitted_bases, projection_distances
from secmix.errors import NotConverged, SecmixError

_TIE = 1e-9  # distances that differ by less, relatively, are ties: the first one is taken


@dataclass(frozen=True)
class SubspaceMedian:
    """The result of the Subspace Median."""

    basis: Array = field(repr=False)  # (n, r): orthonormal, spanning what message ``index`` spans
    index: int  # which of the messages it is
    weights: Array  # (L,): the geometric median of the projections is Σ w_ℓ U_ℓ U_ℓᵀ; 0 for a rejected message
    distances: Array  # (L,): ‖P_ℓ − P_gm‖_F; infinite for a rejected message
    rejected: tuple[int, ...] = ()  # messages that were no bases


def subspace_median(bases: ArrayLike | Sequence[ArrayLike], f: int | None = None) -> SubspaceMedian:
    """Choose, of L subspaces, the one nearest to their geometric median (Singh 2024, algorithm 1).

    With a share τ < 1/2 of Byzantine bases and the others within SD_F <= δ of U*, the result is within
    √(2(1 − τ)/(1 − 2τ)) δ of it: 2.45 δ at τ = 0.4 (proof above, in the module), where Singh 2024 has 23 δ.

    Parameters
    ----------
    bases : (L, n, r), or L arrays (n, r)
        Columns span the subspaces; they need not be orthonormal. Messages of another shape than most, of lower rank,
        or with entries that are not finite real numbers are rejected, counted as Byzantine and reported by a
        ``RejectedBases`` warning (a ``RejectedMessages``).
    f : int, optional
        How many Byzantine messages are allowed for, at most (L − 1) // 2, the default. Only the warning depends on it.

    Returns
    -------
    SubspaceMedian

    Raises
    ------
    DataError
        No message is a basis, or no shape has the majority.
    NotConverged
        Should the geometric median not be found to 1e-9.

    Notes
    -----
    Rotating the space or changing the basis of any subspace changes nothing but the numbers in ``basis``. Where
    subspaces are equally near, to nine digits, the first is taken. Time O(L² n r²); memory that of the bases once more
    at most (where they were not orthonormal), and L × L.

    Examples
    --------
    >>> plane = np.eye(4)[:, :2]
    >>> median = subspace_median([plane, 2 * plane, np.eye(4)[:, 2:]])
    >>> median.index, median.weights.tolist()
    (0, [1.0, 0.0, 0.0])
    """
    admitted = admitted_bases(bases, f)
    squared = projection_distances(admitted.kept)
    median = weights_from_distances(squared)
    if median.residual > 1e-9:
        raise NotConverged(f"the geometric median was found to {median.residual:.1e} only", median.residual)
    within = median.distances <= median.distances.min() * (1 + _TIE) + _TIE * float(np.median(median.distances))
    best = int(np.argmax(within))
    weights, distances = np.zeros(admitted.total), np.full(admitted.total, np.inf)
    where = list(admitted.origin)
    weights[where], distances[where] = median.weights, median.distances
    basis = admitted.kept[best]
    return SubspaceMedian(basis.copy(), admitted.origin[best], weights, distances, admitted.rejected)


def subspace_median_bound(tau: float, which: Literal["sharp", "triangle", "published"] = "sharp") -> float:
    """Bound the Subspace Median's distance from U*, in units of δ, with a share ``tau`` < 1/2 of Byzantine bases.

    ``which``: √(2(1 − τ)/(1 − 2τ)); 1 + 2C with C = (1 − τ)/√(1 − 2τ); or the 23 of Singh 2024, for τ <= 0.4. The first
    two are proven at the head of this file. Raises SecmixError: for ``tau`` outside [0, 0.5), or above
    0.4 where the published bound is asked for.

    >>> [round(subspace_median_bound(0.4, which), 2) for which in ("sharp", "triangle", "published")]
    [2.45, 3.68, 23.0]
    """
    if which not in ("sharp", "triangle", "published"):
        raise SecmixError(f"which is 'sharp', 'triangle' or 'published'; given {which!r}")
    limit = 0.4 + 1e-12 if which == "published" else 0.5
    if not 0 <= tau < limit:
        raise SecmixError(f"the {which} bound holds for tau in [0, {limit:.1f}); given {tau!r}")
    if which == "published":
        return 23.0
    return math.sqrt(2 * (1 - tau) / (1 - 2 * tau)) if which == "sharp" else 1 + 2 * (1 - tau) / math.sqrt(1 - 2 * tau)
