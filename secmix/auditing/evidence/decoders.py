"""Decoders: rows rebuilt from the view by regressions, judged on runs not used for fitting, and by direct reading.

How it is got: A linear regression and gradient-boosted trees learn to rebuild the secret from the view. Each third
of the runs is predicted by decoders that were fitted on the other two. A direct reading divides the sums of a
single row by its count. No trees are grown for a node whose data are known already, and the report says so.

What it assumes: Nothing but that runs are independent. It is a lower bound: a better decoder may exist, so it
convicts and never acquits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from secmix.auditing import decide
from secmix.auditing.evidence.decoding import MOST, Target, as_measured, decoded, leakage_curve, recovered
from secmix.auditing.evidence.interface import Case, Evidence, Gathered, Kind
from secmix.auditing.observation.observe import DIFFERENCES, SumObservation
from secmix.auditing.report import Finding
from secmix.estimators.decoders import RECOVERED, Decoder, Decoding


def _gather(case: Case) -> Gathered:
    findings, curves, spared = [], [], []
    for node in case.setup.asked:
        mine = as_measured(case, node, _by_line(case, node))
        read: list[Finding] = []
        if isinstance(case.observation, SumObservation) and case.cell.measure.target == "row":
            read += _direct(case.observation, node, case.about(node)) if case.setup.counts[node] == 1 else []
        if node in case.settled or decide.settles([*mine, *read], case.cell.policy):
            spared += [("tree decoders", node)] if mine else []
        else:
            mine += as_measured(case, node, _by_trees(case, node))
        findings += [*mine, *read]
        curves += [curve] if (curve := leakage_curve(case, node)) else []
    return Gathered(findings, curves, spared=tuple(spared))


def _by_line(case: Case, node: int) -> list[Finding]:
    known, about = decoded(case, node), case.about(node)
    if known is None or not known.iterations:
        return []
    return [
        _decoded(known.alone[known.worst], "linear", "single", known.target, about),
        _decoded(known.last, "linear", "cumulative", known.target, about),
    ]


def _by_trees(case: Case, node: int) -> list[Finding]:
    known = decoded(case, node)
    if known is None or not known.iterations:
        return []
    return [_decoded(known.tree(), "tree", "cumulative", known.target, case.about(node))]


def _decoded(found: Decoding, decoder: Decoder, view: str, target: Target, about: dict[str, Any]) -> Finding:
    value, low, _ = found.explained
    got = f"recovered to 1e-6 relative in {found.recovered:.1%} of the runs"
    known = found.recovered >= MOST
    return Finding(
        **about,
        evidence="linear decoder" if decoder == "linear" else "tree decoder",
        view=view,
        target=target.name,
        method=found.error.method,
        value=found.error.value,
        unit=found.error.unit,
        low=found.error.low,
        high=found.error.high,
        kind="upper bound",
        status="determined" if known else "resolved",
        normalised_leakage=value,
        normalised_low=low,
        normalised_high=1.0,
        runs=len(found.prediction),
        hits=round(found.recovered * len(found.prediction)),
        notes=[got],
    )


def _direct(observation: SumObservation, node: int, about: dict[str, Any]) -> Iterator[Finding]:
    """How often the node's only row comes out of the ratios of its statistics, b / a, to 1e-6."""
    truth = observation.rows[node]
    scale = np.maximum(np.linalg.norm(truth, axis=1), 1e-3)
    for way, guess in observation.guesses[node].items():
        hit = np.linalg.norm(guess - truth, axis=1) < RECOVERED * scale
        note = f"its row is recovered to 1e-6 in {hit.mean():.1%} of the runs, from the {way}"
        yield recovered(
            about,
            int(hit.sum()),
            len(hit),
            evidence="direct reading",
            view="cumulative" if way == DIFFERENCES else "single",
            method=f"{way} of what the adversary knows of its statistics, N = {len(hit)}",
            unit="share of runs in which the row is recovered to 1e-6",
            notes=[note] if hit.any() else [],
        )


EVIDENCE = Evidence(
    "decoders",
    (
        Kind(
            "linear decoder",
            "Reconstruction by a linear decoder",
            "A linear regression trained to rebuild the secret from the view, and scored on runs it was not"
            " trained on. Gives a lower bound: a better decoder may exist.",
        ),
        Kind(
            "tree decoder",
            "Reconstruction by a tree decoder",
            "The same with gradient-boosted trees, which also find nonlinear relations. A lower bound as well.",
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
