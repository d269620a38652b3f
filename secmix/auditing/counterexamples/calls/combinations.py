"""Combinations of a node's entries that follow from all numbers read in a call, because masks cancel in them.

The numbers of many calls are one linear system. A combination of entries that it solves up to rounding is known, if the
calls of another instance confirm it. Combinations that follow from the sum of all honest nodes do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.counterexamples.calls.patterns import Run
from secmix.auditing.soundness.adversary_observer import numbers
from secmix.auditing.soundness.numbers_read import Place

_MORE = 2  # least number of runs for each fitted number
_MOST = 400  # most numbers of a call
_SOLVED = 1e-6  # largest residual, as a share of a combination's spread
_CUT = 1e-10  # share of the largest singular value: above rounding, and below what masks of a million leave


@dataclass(frozen=True)
class Combination:
    """A combination of entries that is known."""

    node: int
    weights: Array  # (m,): weights of its entries; the largest is 1
    locations: list[Place]  # the messages that it is made of, the largest weight first
    runs: int  # number of runs that confirmed it: all of them


def is_solved(runs: Sequence[Run], nodes: Sequence[int]) -> bool:
    """Check whether some combination of a node's entries is solved for: if not, a second instance shows none either."""
    shared = _shared(runs)
    if not shared or not _suffice(runs, shared):
        return False
    table, inputs = _numbers(runs, shared), np.stack([run.inputs for run in runs])
    table = _with_constant(table, _scale(table))
    return any(len(_solved(table, inputs[:, node])[0]) for node in nodes)


def combinations(
    first: Sequence[Run], second: Sequence[Run], nodes: Sequence[int], honest: Sequence[int]
) -> list[Combination]:
    """Find, for each node, one combination that is solved for in all runs of ``second``."""
    shared = _shared([*first, *second])
    if not shared or not all(_suffice(runs, shared) for runs in (first, second)):
        return []
    tables = [_numbers(runs, shared) for runs in (first, second)]
    inputs = [np.stack([run.inputs for run in runs]) for runs in (first, second)]
    scale = _scale(tables[0])
    tables = [_with_constant(table, scale) for table in tables]
    totals = [_with_constant(x[:, list(honest)].sum(axis=1)) for x in inputs]
    known = []
    for node in nodes:
        own = [x[:, node] for x in inputs]
        directions, coefficients = _solved(tables[0], own[0])
        for direction in directions:
            if _is_known(tables, own, direction) and not _is_known(totals, own, direction):
                largest = np.argsort(-np.abs(coefficients @ direction)[1:])
                columns = [place for place in shared for _ in range(len(first[0].rows[place]))]
                locations = list(dict.fromkeys(columns[k] for k in largest[: len(direction)]))
                known.append(
                    Combination(node, direction / direction[np.abs(direction).argmax()], locations, len(second))
                )
                break
    return known


def _shared(runs: Sequence[Run]) -> list[Place]:
    """Select the messages that all runs send, of real numbers that vary; none if they are too long."""
    shared = [
        place
        for place, row in (runs[0].rows.items() if runs else ())
        if row.dtype.kind == "f" and all(place in run.rows and run.rows[place].shape == row.shape for run in runs)
    ]
    return shared if sum(len(runs[0].rows[place]) for place in shared) <= _MOST else []


def _suffice(runs: Sequence[Run], shared: Sequence[Place]) -> bool:
    return len(runs) >= _MORE * sum(len(runs[0].rows[place]) for place in shared)


def _numbers(runs: Sequence[Run], shared: Sequence[Place]) -> Array:
    table = np.stack([np.concatenate([numbers(run.rows[place]) for place in shared]) for run in runs])
    return np.where(np.isfinite(table), table, 0.0)


def _scale(table: Array) -> Array:
    return np.asarray(np.maximum(np.abs(table).max(axis=0), 1e-300))


def _with_constant(table: Array, scale: Array | float = 1.0) -> Array:
    return np.column_stack([np.ones(len(table)), table / scale])


def _solved(table: Array, own: Array) -> tuple[Array, Array]:
    """Solve for combinations (k, m) of entries that are linear in the numbers; return them, and their coefficients."""
    spread = np.maximum(own.std(axis=0), 1e-300)
    varying = np.ptp(own, axis=0) > 0
    coefficients = np.linalg.lstsq(table, own / spread, rcond=_CUT)[0]
    left = own / spread - table @ coefficients
    _, sizes, directions = np.linalg.svd(left[:, varying] / np.sqrt(len(own)), full_matrices=False)
    full = np.zeros((int((sizes < _SOLVED).sum()), own.shape[1]))
    full[:, varying] = directions[sizes < _SOLVED]
    return _simplest(full / spread), coefficients * spread


def _simplest(rows: Array) -> Array:
    """Reduce combinations of rows (k, m) to echelon form, so that they have few entries."""
    rows = rows.copy()
    for k in range(len(rows)):
        below, column = np.unravel_index(np.abs(rows[k:]).argmax(), rows[k:].shape)
        rows[[k, k + int(below)]] = rows[[k + int(below), k]]
        rows[k] /= rows[k, column]
        others = np.arange(len(rows)) != k
        rows[others] -= rows[others][:, [column]] * rows[k]
        rows[np.abs(rows) < _SOLVED] = 0.0
    return rows


def _is_known(tables: Sequence[Array], own: Sequence[Array], direction: Array) -> bool:
    """Check whether a combination follows in all runs of the second table from a function fitted on the first."""
    wanted = [x @ direction for x in own]
    coefficients = np.linalg.lstsq(tables[0], wanted[0], rcond=_CUT)[0]
    return bool(np.abs(tables[1] @ coefficients - wanted[1]).max() < _SOLVED * wanted[1].std())
