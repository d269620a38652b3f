"""Reconstruction: every installed attack from messages to rows, tried on the first runs.

How it is got: Attacks on one kind of message (a mixture, a basis, a model) compute rows from it, or linear equations
that every row meets. The audit tries every installed attack on the first runs and compares the result with the truth.

What it assumes: That the attack is known. Finding nothing proves nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base import plugins
from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries.against_rules.spending import SearchBudget, spent
from secmix.adversaries.reconstructions.interfaces import Reconstruction, Reconstructor, known_in_run
from secmix.adversaries.steering.models import Served
from secmix.auditing.evidence.decoding import MOST, recovered
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind
from secmix.auditing.observation.collaboration_observation import CollaborationObservation
from secmix.auditing.observation.picture import picture
from secmix.auditing.report import Finding
from secmix.auditing.setup import CollaborationSetup
from secmix.errors import SecmixError
from secmix.estimators.estimate import wilson
from secmix.estimators.learned_decoders import RECOVERED
from secmix.protocols.released import Released
from secmix.scenario import Scenario
from secmix.transcript import View

COARSEST = 1e-3
"""Largest error of a recovered row, relative to the data, however coarse the messages are."""


def _gather(case: CellContext) -> Gathered:
    """Try each installed attack on the first runs; empty if none applies."""
    setup, observation = case.setup, case.observation
    assert isinstance(setup, CollaborationSetup)
    assert isinstance(observation, CollaborationObservation)
    findings: list[Finding] = []
    drawn = None
    for node in setup.asked:
        first = observation.rows_by_node[node]
        for name in plugins.available("reconstructions"):
            attack: Reconstructor = plugins.load("reconstructions", name)
            budget = SearchBudget(case.cell.measure.work)
            results = _tried(name, attack, case.cell, setup, observation.view, len(first), node, budget)
            if any(result is not None for result in results):
                work = [spent({"starts": budget}, case.cell.measure.more_work)] * (budget.most > 0)
                findings += _judged(name, case.about(node), results, first, work)
            for result, truth in zip(results, first, strict=True):
                if drawn is None and result is not None and result.rows is not None and _share_recovered(result, truth):
                    rows = np.asarray(result.rows)
                    drawn = picture(case.cell, setup, [node], truth, rows, certified=result.certified)
    return Gathered(findings, picture=drawn)


def _tried(
    name: str,
    attack: Reconstructor,
    cell: Scenario,
    setup: CollaborationSetup,
    view: View,
    runs: int,
    node: int,
    budget: SearchBudget,
) -> list[Reconstruction | None]:
    d = setup.rows.shape[1]
    protocol = setup.protocol.inner if isinstance(setup.protocol, Served | Released) else setup.protocol
    results = []
    for run in range(runs):
        rng = stream(cell.seed, "reconstruction", name, node, run)
        known = known_in_run(view, run, node, setup.counts, d, protocol, setup.network, rng, budget)
        try:
            results.append(attack(known))
        except SecmixError:  # the messages do not suffice
            results.append(None)
    return results


def _judged(
    name: str, about: dict[str, Any], results: list[Reconstruction | None], truth: Array, work: list[str]
) -> list[Finding]:
    runs, count, d = truth.shape
    shares = [_share_recovered(result, rows) for result, rows in zip(results, truth, strict=True)]
    known = [_share_known(result, rows) for result, rows in zip(results, truth, strict=True)]
    how = next(result.how for result in results if result is not None)
    common = {"evidence": "reconstruction", "view": "cumulative"}
    out = []
    hits = sum(share > 0 for share in shares)
    if any(result is not None and result.rows is not None for result in results):
        counted = f"{round(max(shares) * count)} of its {count} row{'s' * (count > 1)}"
        columns = max(_columns(result) for result in results)
        part = "" if columns == d else f", {columns} of their {d} columns"
        coarse = max(_coarseness(result, rows) for result, rows in zip(results, truth, strict=True))
        digits = f"{coarse:.0e}" if coarse > RECOVERED else "1e-6"
        notes = [f"{name}: {counted}{part} found to {digits}, {how}"] if hits else []
        out.append(
            recovered(
                about,
                hits,
                runs,
                **common,
                method=f"{name}: {how}; compared with the truth on {runs} runs",
                unit=f"share of runs in which at least one of its rows is recovered to {digits}, up to their order",
                notes=notes + work,
            )
        )
    share = min(known)  # in every run
    if share > 0:
        low = wilson(runs, runs)[0]
        out.append(
            Finding(
                **about,
                **common,
                target="row",
                method=f"{name}: {how}; checked against the truth on {runs} runs",
                value=share,
                unit=f"share of the {d} numbers of each row that exact linear equations determine",
                low=share,
                high=1.0,
                kind="lower bound",
                status="determined" if share >= MOST else "resolved",
                normalised_leakage=share,
                normalised_low=share * low,
                normalised_high=1.0,
                runs=runs,
                hits=runs,
                notes=[
                    f"{round(share * d)} exact linear equations on each of its {count} rows of {d} numbers: {how}",
                    *work,
                ],
            )
        )
    return out


def _share_recovered(result: Reconstruction | None, truth: Array) -> float:
    """Compute the share of the rows that were recovered to 1e-6, if most of their columns were.

    A column that was not recovered is NaN in every row. If rows are certified, and rounding of the messages allows a
    larger error, that error counts, up to ``COARSEST``.
    """
    columns = _columns(result)
    if result is None or result.rows is None or columns < MOST * truth.shape[1]:
        return 0.0
    rows = np.asarray(result.rows)
    out = np.isfinite(rows).all(axis=0)
    apart = np.linalg.norm(truth[:, None, out] - rows[None][..., out], axis=-1).min(axis=1)
    share = max(RECOVERED, _coarseness(result, truth))
    return float((apart < share * max(float(np.abs(truth).max()), 1e-3)).mean())


def _coarseness(result: Reconstruction | None, truth: Array) -> float:
    """Compute the error of certified rows that rounding of the messages allows, relative to the data."""
    if result is None or not result.certified or not result.error > 0:
        return 0.0
    return min(result.error / max(float(np.abs(truth).max()), 1e-3), COARSEST)


def _columns(result: Reconstruction | None) -> int:
    """Count the recovered columns of the rows."""
    if result is None or result.rows is None or not len(result.rows):
        return 0
    return int(np.isfinite(np.asarray(result.rows)).all(axis=0).sum())


def _share_known(result: Reconstruction | None, truth: Array) -> float:
    """Compute k/d for the k independent equations that hold for every true row."""
    if result is None or not result.normals.size:
        return 0.0
    off = np.abs(truth @ result.normals.T - result.offsets)
    size = np.linalg.norm(result.normals, axis=1) * max(float(np.linalg.norm(truth, axis=1).max()), 1e-3)
    holding = (off < RECOVERED * size).all(axis=0)
    return int(np.linalg.matrix_rank(result.normals[holding])) / truth.shape[1] if holding.any() else 0.0


EVIDENCE = Evidence(
    "reconstruction",
    (
        Kind(
            "reconstruction",
            "Rows reconstructed from messages",
            "An attack on one kind of message computes rows from it, or exact equations that the rows "
            "meet; the result is compared with the truth. Finding nothing proves nothing.",
        ),
    ),
    lambda case: isinstance(case.setup, CollaborationSetup),
    _gather,
    rank=6,
    judges="run",
)
