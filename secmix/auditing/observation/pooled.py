"""Measure the result of a run against that of pooled data, which is fitted once for all cells."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.setup import SumSetup, build_model
from secmix.protocols import EMRun, Plain
from secmix.scenario import Scenario

_MOST_POOLED = 16  # blocks of runs whose pooled fits are kept: the cells of a report run on the same rows in turn
_POOLED: dict[bytes, Array] = {}


def output_error(
    cell: Scenario, setup: SumSetup, rows_by_node: list[Array], seed: np.random.SeedSequence, run: EMRun
) -> float:
    """Compute how far the fitted means are from those of EM on all rows, relative to the largest of these."""
    truth = _pooled_means(cell, setup, rows_by_node, seed)
    return float(np.abs(run.mixtures[-1].means[:, 0] - truth).max() / np.abs(truth).max())


def drawing(seed: np.random.SeedSequence) -> np.random.Generator:
    """Make a generator that draws the same each time, since a seed sequence counts its spawned children."""
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key))


def _pooled_means(cell: Scenario, setup: SumSetup, rows_by_node: list[Array], seed: np.random.SeedSequence) -> Array:
    """Fit a mixture to the rows of all nodes and return its means (runs, K, d), worked out once for all cells.

    The draws matter only where the fit does not start at given parameters.
    """
    draws = (seed.entropy, seed.spawn_key) if isinstance(setup.start, str) else ()
    shapes = [rows.shape for rows in rows_by_node]
    given = hashlib.sha256(pickle.dumps((cell.model, setup.start, draws, setup.network.edges, shapes)))
    for rows in rows_by_node:
        given.update(np.ascontiguousarray(rows).data)  # no copy: they may fill much of the memory
    key = given.digest()
    if key not in _POOLED:
        while len(_POOLED) >= _MOST_POOLED:
            _POOLED.pop(next(iter(_POOLED)))
        pooled = build_model(cell, setup, Plain(), record=False, defended=False)
        run = pooled.run(rows_by_node, network=setup.network, rng=drawing(seed))
        _POOLED[key] = run.mixtures[-1].means[:, 0].copy()  # the rest of the run is let go
    return _POOLED[key]
