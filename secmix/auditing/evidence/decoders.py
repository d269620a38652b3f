"""Decoders: rows rebuilt from the view by regression, tested on runs not used for fitting, and by direct reading.

How it is got: A linear regression learns to rebuild the secret from the view. Each third of the runs is predicted by
one that was fitted on the other two. Direct reading divides the sums of a single row by its count.

What it assumes: Only that runs are independent. It is a lower bound: a better decoder may exist, so it can show a
violation, but never clears a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from secmix.auditing.evidence.decoding import Target, as_measured, leakage_curve, node_decoders, of_decoder, recovered
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind
from secmix.auditing.observation.sum_observation import DIFFERENCES, SumObservation
from secmix.auditing.report import Finding
from secmix.estimators.learned_decoders import RECOVERED, Decoding


def _gather(case: CellContext) -> Gathered:
    findings, curves = [], []
    for node in case.setup.asked:
        findings += as_measured(case, node, _by_line(case, node))
        if isinstance(case.observation, SumObservation) and case.cell.measure.target == "row":
            findings += _direct(case.observation, node, case.about(node)) if case.setup.counts[node] == 1 else []
        curves += [curve] if (curve := leakage_curve(case, node)) else []
    return Gathered(findings, curves)


def _by_line(case: CellContext, node: int) -> list[Finding]:
    decoders, about = node_decoders(case, node), case.about(node)
    if decoders is None or not decoders.iterations:
        return []
    return [
        _decoded(decoders.alone[decoders.worst], "single", decoders.target, about),
        _decoded(decoders.last, "cumulative", decoders.target, about),
    ]


def _decoded(decoding: Decoding, view: str, target: Target, about: dict[str, Any]) -> Finding:
    runs = len(decoding.prediction)
    note = f"recovered to 1e-6 relative in {decoding.recovered:.1%} of the runs"
    fields = {"evidence": "linear decoder", "view": view, "target": target.name, "notes": [note]}
    hits = round(decoding.recovered * runs)
    return of_decoder(about, decoding.error, decoding.explained[:2], hits, runs, **fields)


def _direct(observation: SumObservation, node: int, about: dict[str, Any]) -> Iterator[Finding]:
    """Count in how many runs the node's only row follows from the ratios of its statistics, b / a, to 1e-6."""
    truth = observation.rows[node]
    scale = np.maximum(np.linalg.norm(truth, axis=1), 1e-3)
    for way, guess in observation.guesses[node].items():
        hits = np.linalg.norm(guess - truth, axis=1) < RECOVERED * scale
        note = f"its row is recovered to 1e-6 in {hits.mean():.1%} of the runs, from the {way}"
        yield recovered(
            about,
            int(hits.sum()),
            len(hits),
            evidence="direct reading",
            view="cumulative" if way == DIFFERENCES else "single",
            method=f"{way} of what the adversary knows of its statistics, N = {len(hits)}",
            unit="share of runs in which the row is recovered to 1e-6",
            notes=[note] if hits.any() else [],
        )


EVIDENCE = Evidence(
    "decoders",
    (
        Kind(
            "linear decoder",
            "Reconstruction by a linear decoder",
            "A linear regression trained to rebuild the secret from the view, and tested on runs that it was "
            "not trained on. Gives a lower bound: a better decoder may exist.",
        ),
        Kind(
            "direct reading",
            "A row computed from known statistics",
            "The node's row computed from what is known of its statistics, without any learning: a mean is a sum "
            "divided by a count. The number is the share of runs in which the row comes out to six digits.",
            of_runs=True,
        ),
    ),
    lambda case: True,
    _gather,
    rank=3,
    bounds_only=True,
    not_tried="reconstruction by decoders (evidence 'decoders' was not asked for)",
)
