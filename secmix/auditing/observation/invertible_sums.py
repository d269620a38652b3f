"""Sums over several honest rows that the adversary knows in every iteration of EM: the input of inversion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.observation.reading import Averaging, Reading
from secmix.auditing.setup import SumSetup
from secmix.mixture import Mixture, local_statistics
from secmix.protocols import EMRun

_MOST_NUMBERS = 10**6  # of all rows
_LEAST = 5  # least number of runs
_NOT_MET = 1e-6  # sums with a larger error are not sums of those rows under those parameters


@dataclass(frozen=True)
class InvertibleSums:
    """Known sums over several nodes, in the first runs, with the parameters that they are functions of.

    They are of as many runs as fit into a block, and of fewer if there are very many rows.
    """

    members: tuple[int, ...]  # the nodes whose vectors are summed
    values: Array  # (runs, T, m): their sums, iteration by iteration
    parameters: list[Mixture]  # θ^0 … θ^{T−1}, each with leading axis runs
    # (runs, T): error of the sums, one standard deviation, relative to the largest entry in a run. It is measured
    # against what the rows give under ``parameters`` if that nearly holds (up to rounding, finite masks and small
    # differences between nodes), otherwise against what was summed. No error is more than four times that
    error: Array
    rows: Array  # (runs, h, d): the rows behind the sums, to judge a solution


def known_sums(
    setup: SumSetup,
    rows_by_node: list[Array],
    run: EMRun,
    readings: dict[int, Reading],
    estimates: dict[int, Array],
    averagings: dict[int, Averaging],
) -> list[InvertibleSums]:
    """Collect the sums over two or more honest rows that are known in every iteration of EM."""
    later = [t for t in sorted(readings) if t >= 0]
    honest = np.array([i not in setup.corrupt for i in range(setup.network.n)])
    by_iteration = [_groups(readings[t].subspace.basis, honest, setup.counts) for t in later]
    groups = set.intersection(*by_iteration) if by_iteration else set()
    sums = []
    for members in sorted(groups):
        pick = list(members)
        runs = max(_MOST_NUMBERS // sum(rows_by_node[i][0].size for i in members), _LEAST)
        values = np.stack([estimates[t][pick, :runs].sum(axis=0) for t in later], axis=1)
        truth = np.stack([averagings[t][0][:runs, pick].sum(axis=1) for t in later], axis=1)
        parameters = [run.mixtures[t][:runs, 0] for t in later]
        rows = np.concatenate([rows_by_node[i][:runs] for i in members], axis=1)
        equations = np.stack([local_statistics(rows, theta, likelihood=False) for theta in parameters], axis=1)
        size = np.maximum(np.abs(truth).max(axis=(1, 2)), 1e-300)
        summed, solved = (_deviation(values - right) / size[:, None] for right in (truth, equations))
        met = solved.max(axis=1, keepdims=True) < _NOT_MET
        error = np.where(met, np.maximum(summed, solved), summed)
        sums.append(InvertibleSums(members, values, parameters, error, rows))
    return sums


def _deviation(off: Array) -> Array:
    """Compute the standard deviation of ``off`` (runs, T, m) about 0 in each round, at least max / 4."""
    return np.asarray(np.maximum(np.sqrt((off**2).mean(axis=2)), np.abs(off).max(axis=2) / 4))


def _groups(basis: Array, honest: Array, counts: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Find sets of honest nodes, with at least two rows, whose plain sum is known.

    Candidates are the sets of single known sums, and unions of sets that share nodes.
    """
    rows = np.where(honest, basis, 0.0)
    over = [set(np.flatnonzero(np.abs(row) > 1e-6).tolist()) for row in rows]
    plain = {frozenset(members) for row, members in zip(rows, over, strict=True) if _are_equal(row[sorted(members)])}
    if (
        candidates := {frozenset(nodes) for nodes in [*over, *_joined([nodes for nodes in over if len(nodes) > 1])]}
        - plain
    ):
        _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
        span = directions[sizes > 1e-9 * sizes[0]]
        for members in candidates:
            wanted = np.isin(np.arange(len(honest)), sorted(members)).astype(float)
            if np.abs(wanted @ span.T @ span - wanted).max() < 1e-6:
                plain.add(members)
    return {tuple(sorted(members)) for members in plain if sum(counts[i] for i in members) > 1}


def _are_equal(weights: Array) -> bool:
    return bool(len(weights)) and float(np.ptp(weights)) < 1e-6


def _joined(sets: list[set[int]]) -> list[set[int]]:
    """Merge sets that share members."""
    merged: list[set[int]] = []
    for members in sets:
        disjoint = [other for other in merged if not other & members]
        merged = [*disjoint, members.union(*(other for other in merged if other & members))]
    return merged
