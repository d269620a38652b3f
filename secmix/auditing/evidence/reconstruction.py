"""Reconstruction as evidence: every installed attack from messages to rows, tried on the first runs.

How it is got: Attacks that were made for one kind of message (a mixture, a basis, a model) compute rows from it, or
linear equations that every row meets. The audit tries every installed one on the first runs and compares with the
truth.

What it assumes: That somebody thought of the attack. Finding nothing proves nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base import plugins
from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries.reconstructions.interfaces import Reconstruction, Reconstructor, known_in_run
from secmix.adversaries.steering.models import Served
from secmix.auditing.evidence.decoding import MOST, recovered
from secmix.auditing.evidence.interface import Case, Evidence, Gathered, Kind
from secmix.auditing.evidence.picture import picture
from secmix.auditing.observation.collaborations import CollaborationObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import CollaborationSetup
from secmix.errors import SecmixError
from secmix.estimators.decoders import RECOVERED
from secmix.estimators.estimate import wilson
from secmix.scenario import Scenario
from secmix.transcript import View

COARSEST = 1e-3
"""Of the data's scale: a row that is known no better does not count as recovered, however coarse the messages are."""


def _gather(case: Case) -> Gathered:
    """What each installed attack gets of the rows in the first runs; nothing where none applies."""
    setup, observation = case.setup, case.observation
    assert isinstance(setup, CollaborationSetup)
    assert isinstance(observation, CollaborationObservation)
    findings: list[Finding] = []
    drawn = None
    for node in setup.asked:
        first = observation.rows_by_node[node]
        for name in plugins.available("reconstructions"):
            attack: Reconstructor = plugins.load("reconstructions", name)
            found = _tried(name, attack, case.cell, setup, observation.view, len(first), node)
            if any(one is not None for one in found):
                findings += _judged(name, case.about(node), found, first)
            for one, truth in zip(found, first, strict=True):
                if drawn is None and one is not None and one.rows is not None and _share_found(one, truth) > 0:
                    drawn = picture(case.cell, setup, [node], truth, np.asarray(one.rows), certified=one.certified)
    return Gathered(findings, picture=drawn)


def _tried(
    name: str, attack: Reconstructor, cell: Scenario, setup: CollaborationSetup, view: View, runs: int, node: int
) -> list[Reconstruction | None]:
    d = setup.rows.shape[1]
    protocol = setup.protocol.inner if isinstance(setup.protocol, Served) else setup.protocol
    found = []
    for run in range(runs):
        rng = stream(cell.seed, "reconstruction", name, node, run)
        held = known_in_run(view, run, node, setup.counts, d, protocol, setup.network, rng)
        try:
            found.append(attack(held))
        except SecmixError:  # what it was given does not suffice
            found.append(None)
    return found


def _judged(name: str, about: dict[str, Any], found: list[Reconstruction | None], truth: Array) -> list[Finding]:
    runs, count, d = truth.shape
    shares = [_share_found(one, rows) for one, rows in zip(found, truth, strict=True)]
    known = [_share_known(one, rows) for one, rows in zip(found, truth, strict=True)]
    how = next(one.how for one in found if one is not None)
    common = {"evidence": "reconstruction", "view": "cumulative"}
    out = []
    hits = sum(share > 0 for share in shares)
    if any(one is not None and one.rows is not None for one in found):
        counted = f"{round(max(shares) * count)} of its {count} row{'s' * (count > 1)}"
        columns = max(_columns(one) for one in found)
        part = "" if columns == d else f", {columns} of their {d} columns"
        coarse = max(_coarseness(one, rows) for one, rows in zip(found, truth, strict=True))
        digits = f"{coarse:.0e}" if coarse > RECOVERED else "1e-6"
        notes = [f"{name}: {counted}{part} found to {digits}, {how}"] if hits else []
        out.append(
            recovered(
                about,
                hits,
                runs,
                **common,
                method=f"{name}: {how}; compared with the truth on {runs} runs",
                unit=f"share of runs in which one of its rows or more is recovered to {digits}, up to their order",
                notes=notes,
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
                unit=f"share of the {d} numbers of each row that exact linear equations take away",
                low=share,
                high=1.0,
                kind="lower bound",
                status="determined" if share >= MOST else "resolved",
                normalised_leakage=share,
                normalised_low=share * low,
                normalised_high=1.0,
                runs=runs,
                hits=runs,
                notes=[f"{round(share * d)} exact linear equations on each of its {count} rows of {d} numbers: {how}"],
            )
        )
    return out


def _share_found(found: Reconstruction | None, truth: Array) -> float:
    """Which share of the rows is among those found, to 1e-6 of the data's scale, where most of their columns came out.

    A column that did not come out is NaN in every row. Where rows are certified, and the messages are rounded more than
    that, it is to the error that rounding explains, at most ``COARSEST``.
    """
    columns = _columns(found)
    if found is None or found.rows is None or columns < MOST * truth.shape[1]:
        return 0.0
    rows = np.asarray(found.rows)
    out = np.isfinite(rows).all(axis=0)
    apart = np.linalg.norm(truth[:, None, out] - rows[None][..., out], axis=-1).min(axis=1)
    share = max(RECOVERED, _coarseness(found, truth))
    return float((apart < share * max(float(np.abs(truth).max()), 1e-3)).mean())


def _coarseness(found: Reconstruction | None, truth: Array) -> float:
    """How far off certified rows may be for the rounding of the messages, as a share of the data's scale."""
    if found is None or not found.certified or not found.error > 0:
        return 0.0
    return min(found.error / max(float(np.abs(truth).max()), 1e-3), COARSEST)


def _columns(found: Reconstruction | None) -> int:
    """How many columns of the rows came out."""
    if found is None or found.rows is None or not len(found.rows):
        return 0
    return int(np.isfinite(np.asarray(found.rows)).all(axis=0).sum())


def _share_known(found: Reconstruction | None, truth: Array) -> float:
    """k/d for the k independent equations that hold for every row of the truth."""
    if found is None or not found.normals.size:
        return 0.0
    off = np.abs(truth @ found.normals.T - found.offsets)
    size = np.linalg.norm(found.normals, axis=1) * max(float(np.linalg.norm(truth, axis=1).max()), 1e-3)
    holding = (off < RECOVERED * size).all(axis=0)
    return int(np.linalg.matrix_rank(found.normals[holding])) / truth.shape[1] if holding.any() else 0.0


EVIDENCE = Evidence(
    "reconstruction",
    (
        Kind(
            "reconstruction",
            "Rows reconstructed from messages",
            "An attack made for one kind of message, which computes rows from it, or exact equations that the rows "
            "meet; what comes out is compared with the truth. Finding nothing proves nothing.",
        ),
    ),
    lambda case: isinstance(case.setup, CollaborationSetup),
    _gather,
    rank=6,
    judges="run",
)
