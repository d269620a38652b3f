"""Combinations of a node's entries that follow from all numbers that are read in a call: masks cancel among them.

The numbers of many calls are one linear system. A combination of entries that it solves to rounding is known, and the
calls of another instance judge it. Combinations that the sum of all honest nodes tells count for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.holding import Place
from secmix.auditing.soundness.sight import numbers
from secmix.auditing.witnesses.calls.patterns import Run

_MORE = 2  # runs for each number that is fitted, at least
_MOST = 400  # numbers of a call
_SOLVED = 1e-6  # of a combination's spread is left, at most
_CUT = 1e-10  # of the largest singular value: below is rounding, and far above what masks of a million hide


@dataclass(frozen=True)
class Combination:
    """A combination of entries that is known.

    Attributes
    ----------
    node : int
    weights : (m,)
        Of its entries, the largest being 1.
    places : list of Place
        The messages that it is made of, those that weigh most first.
    runs : int
        In which it was judged: all.
    """

    node: int
    weights: Array
    places: list[Place]
    runs: int


def combinations(
    first: Sequence[Run], second: Sequence[Run], nodes: Sequence[int], honest: Sequence[int]
) -> list[Combination]:
    """Return one combination of each node of which any is solved for in all runs of ``second``."""
    shared = _shared([*first, *second])
    if not shared or min(len(first), len(second)) < _MORE * sum(len(first[0].rows[each]) for each in shared):
        return []
    tables = [_numbers(runs, shared) for runs in (first, second)]
    inputs = [np.stack([run.inputs for run in runs]) for runs in (first, second)]
    scale = np.maximum(np.abs(tables[0]).max(axis=0), 1e-300)
    tables = [np.column_stack([np.ones(len(table)), table / scale]) for table in tables]
    totals = [np.column_stack([np.ones(len(of)), of[:, list(honest)].sum(axis=1)]) for of in inputs]
    found = []
    for node in nodes:
        own = [of[:, node] for of in inputs]
        weights, made = _solved(tables[0], own[0])
        for direction in weights:
            known = _is_known(tables, own, direction) and not _is_known(totals, own, direction)
            if known:
                heavy = np.argsort(-np.abs(made @ direction)[1:])
                columns = [each for each in shared for _ in range(len(first[0].rows[each]))]
                places = list(dict.fromkeys(columns[k] for k in heavy[: len(direction)]))
                found.append(Combination(node, direction / direction[np.abs(direction).argmax()], places, len(second)))
                break
    return found


def _shared(runs: Sequence[Run]) -> list[Place]:
    """Return the messages that all runs send, of real numbers that are not always the same; none if too long."""
    shared = [
        place
        for place, row in (runs[0].rows.items() if runs else ())
        if row.dtype.kind == "f" and all(place in run.rows and run.rows[place].shape == row.shape for run in runs)
    ]
    return shared if sum(len(runs[0].rows[place]) for place in shared) <= _MOST else []


def _numbers(runs: Sequence[Run], shared: Sequence[Place]) -> Array:
    table = np.stack([np.concatenate([numbers(run.rows[place]) for place in shared]) for run in runs])
    return np.where(np.isfinite(table), table, 0.0)


def _solved(table: Array, own: Array) -> tuple[Array, Array]:
    """Return combinations (k, m) of entries that follow from the numbers linearly, and how entries would follow."""
    spread = np.maximum(own.std(axis=0), 1e-300)
    varying = np.ptp(own, axis=0) > 0
    made = np.linalg.lstsq(table, own / spread, rcond=_CUT)[0]
    left = own / spread - table @ made
    _, sizes, directions = np.linalg.svd(left[:, varying] / np.sqrt(len(own)), full_matrices=False)
    full = np.zeros((int((sizes < _SOLVED).sum()), own.shape[1]))
    full[:, varying] = directions[sizes < _SOLVED]
    return _simplest(full / spread), made * spread


def _simplest(rows: Array) -> Array:
    """Return combinations of rows (k, m) that have few entries: their reduced echelon form."""
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
    """Say whether a combination follows in all runs of the second table from a function fitted on the first."""
    wanted = [of @ direction for of in own]
    made = np.linalg.lstsq(tables[0], wanted[0], rcond=_CUT)[0]
    return bool(np.abs(tables[1] @ made - wanted[1]).max() < _SOLVED * wanted[1].std())
