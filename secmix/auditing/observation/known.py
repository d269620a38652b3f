"""Sums over several honest rows that the adversary knows in every iteration of EM: what inversion starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.observation.reading import Averaging, Reading
from secmix.auditing.setup import SumSetup
from secmix.mixture import Mixture
from secmix.protocols import EMRun
from secmix.protocols.em.statistics import local_statistics

_KEPT = 10**6  # numbers of rows
_LEAST = 5  # runs
_NOT_MET = 1e-6  # sums further off than this are no sums of those rows under those parameters


@dataclass(frozen=True)
class KnownSums:
    """What the adversary knows of several nodes together, in the first runs, with the parameters it is a function of.

    Of as many runs as fit into a block of them, fewer where there are very many rows.

    Attributes
    ----------
    members : tuple of int
        The nodes whose vectors are summed.
    values : (runs, T, m)
        Their sums, iteration by iteration.
    parameters : list of Mixture, length T
        θ^0 … θ^{T−1}, each with leading axis runs.
    error : (runs, T)
        How far the sums are off, one standard deviation, relative to the largest entry in a run: from what the rows
        give under ``parameters`` where that is all but met, by rounding, finite masks and nodes that do not quite agree
        on them; else from what was summed. No sum is off by more than four times that.
    rows : (runs, h, d)
        The rows behind them, to judge a solution by.
    """

    members: tuple[int, ...]
    values: Array
    parameters: list[Mixture]
    error: Array
    rows: Array


def known_sums(
    setup: SumSetup,
    rows_by_node: list[Array],
    run: EMRun,
    readings: dict[int, Reading],
    estimates: dict[int, Array],
    seen: dict[int, Averaging],
) -> list[KnownSums]:
    """The sums over two or more honest rows that are known in every iteration of EM."""
    later = [t for t in sorted(readings) if t >= 0]
    honest = np.array([i not in setup.corrupt for i in range(setup.network.n)])
    each = [_groups(readings[t].subspace.basis, honest, setup.counts) for t in later]
    groups = set.intersection(*each) if each else set()
    found = []
    for members in sorted(groups):
        pick = list(members)
        runs = max(_KEPT // sum(rows_by_node[i][0].size for i in members), _LEAST)
        values = np.stack([estimates[t][pick, :runs].sum(axis=0) for t in later], axis=1)
        truth = np.stack([seen[t][0][:runs, pick].sum(axis=1) for t in later], axis=1)
        parameters = [run.mixtures[t][:runs, 0] for t in later]
        rows = np.concatenate([rows_by_node[i][:runs] for i in members], axis=1)
        equations = np.stack([local_statistics(rows, theta, likelihood=False) for theta in parameters], axis=1)
        size = np.maximum(np.abs(truth).max(axis=(1, 2)), 1e-300)
        summed, solved = (_deviation(values - right) / size[:, None] for right in (truth, equations))
        met = solved.max(axis=1, keepdims=True) < _NOT_MET
        error = np.where(met, np.maximum(summed, solved), summed)
        found.append(KnownSums(members, values, parameters, error, rows))
    return found


def _deviation(off: Array) -> Array:
    """The standard deviation of ``off`` (runs, T, m) about nothing in each round, at least a fourth of the largest."""
    return np.asarray(np.maximum(np.sqrt((off**2).mean(axis=2)), np.abs(off).max(axis=2) / 4))


def _groups(basis: Array, honest: Array, counts: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Sets of honest nodes, of two or more rows, whose plain sum is known: of those that a known sum is over, or
    several that share nodes."""
    rows = np.where(honest, basis, 0.0)
    over = [set(np.flatnonzero(np.abs(row) > 1e-6).tolist()) for row in rows]
    plain = {frozenset(members) for row, members in zip(rows, over, strict=True) if _alike(row[sorted(members)])}
    if doubtful := {frozenset(each) for each in [*over, *_joined([each for each in over if len(each) > 1])]} - plain:
        _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
        span = directions[sizes > 1e-9 * sizes[0]]
        for members in doubtful:
            wanted = np.isin(np.arange(len(honest)), sorted(members)).astype(float)
            if np.abs(wanted @ span.T @ span - wanted).max() < 1e-6:
                plain.add(members)
    return {tuple(sorted(members)) for members in plain if sum(counts[i] for i in members) > 1}


def _alike(weights: Array) -> bool:
    return bool(len(weights)) and float(np.ptp(weights)) < 1e-6


def _joined(sets: list[set[int]]) -> list[set[int]]:
    """The unions of those that share members."""
    joined: list[set[int]] = []
    for each in sets:
        apart = [other for other in joined if not other & each]
        joined = [*apart, each.union(*(other for other in joined if other & each))]
    return joined
