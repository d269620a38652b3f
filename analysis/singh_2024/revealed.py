"""Leakage of a node's samples through its basis U_ℓ (Singh 2024, algorithm 1, has it sent)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints, finite_array
from secmix.aggregators.subspace_rules import orthonormal
from secmix.errors import DataError


@dataclass(frozen=True)
class SampleLeakage:
    """The equations and shares of a node's samples that its basis reveals."""

    # (q,): linear equations on each sample that the span gives exactly: n − r where it lies in it, else 0
    equations: Ints
    captured: Array  # (q,): the share of each sample's squared length that lies in the span
    by_chance: float  # r/n, what a random subspace captures on average of anything


def revealed(basis: ArrayLike, rows: ArrayLike, *, tolerance: float = 1e-9) -> SampleLeakage:
    """Measure what a basis U_ℓ (n, r), as sent, reveals of the node's samples ``rows`` (q, n).

    A sample d in the span of U_ℓ satisfies (I − U_ℓ U_ℓᵀ) d = 0: n − r exact equations on n numbers for whoever holds
    U_ℓ, which no number of samples at other nodes would have shown. This happens to every sample of a node with q <= r;
    where q < r the order of the columns gives r − q more. No mutual information is finite then. For a sample outside
    the span only the share captured is claimed: where ``equations`` is 0, something may have leaked all the same.
    ``basis`` (n, r); ``rows`` (q, n); ``tolerance``: a sample lies in the span if the rest is at most this share of its
    length.

    >>> leakage = revealed(np.eye(4)[:, :2], [[1.0, 2.0, 0.0, 0.0], [3.0, 0.0, 0.0, 4.0]])
    >>> leakage.equations.tolist(), leakage.captured.round(9).tolist(), leakage.by_chance
    ([2, 0], [1.0, 0.36], 0.5)
    """
    u, samples = orthonormal(basis), finite_array(rows, "rows", ndim=2)
    if samples.shape[1] != len(u):
        raise DataError(
            f"samples of length {samples.shape[1]} for a basis in {len(u)} dimensions; give both of one length"
        )
    lengths = np.linalg.norm(samples, axis=1)
    units = samples / np.where(lengths > 0, lengths, 1.0)[:, None]
    outside = np.linalg.norm(units - (units @ u) @ u.T, axis=1)
    n, r = u.shape
    equations = np.where(outside <= tolerance, n - r, 0).astype(np.intp)
    return SampleLeakage(equations, ((units @ u) ** 2).sum(axis=1), r / n)
