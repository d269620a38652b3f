"""A cell whose protocol sums: distributed EM over it is run, and all that is known of sums is brought to bear."""

from __future__ import annotations

import numpy as np

from secmix.auditing import verdicts
from secmix.auditing.advice import advice
from secmix.auditing.cells.fields import corrupt_nodes, frame, sentence
from secmix.auditing.evidence.exact import finite, output_share
from secmix.auditing.evidence.gather import gather
from secmix.auditing.evidence.inversion import solved
from secmix.auditing.evidence.mask_size import sigma_curve
from secmix.auditing.observation.observe import Seeds, SumObservation, observe
from secmix.auditing.report import Cell, Finding, NodeSummary, SigmaPoint
from secmix.auditing.robustness.sums import robustness
from secmix.auditing.setup import SumSetup
from secmix.protocols import Defences
from secmix.scenario import Scenario


def audit_cell(cell: Scenario, setup: SumSetup, seeds: Seeds, reproduce: str) -> tuple[Cell, list[Finding]]:
    """Run, measure and judge one cell of distributed EM over a sum protocol."""
    observation = observe(cell, setup, seeds)
    findings: list[Finding] = []
    summaries: list[NodeSummary] = []
    curves = []
    doubts: dict[int, list[str]] = {}
    inverted, drawn = solved(cell, setup, observation)
    for node in setup.asked:
        raw, curve = gather(cell, setup, observation, node)
        raw += inverted[node]
        judged = [verdicts.of_leakage(finding, cell.policy) for finding in raw]
        doubts[node] = _doubts(cell, setup, observation, node, judged)
        exact = not observation.doubts
        summaries.append(verdicts.summary(node, judged, doubts[node], output_share(setup), exact=exact))
        findings += judged
        curves += [curve] if curve else []
    verdict, summaries = verdicts.of_cell(summaries, cell.policy)
    pushed = robustness(cell, setup, observation)
    verdict = verdicts.worst([verdict, *([pushed.verdict] if pushed else [])])
    findings = verdicts.with_reasons(findings, summaries, doubts)
    points: list[SigmaPoint] = sigma_curve(cell, setup, observation)
    return (
        Cell(
            **frame(cell, setup, reproduce),
            verdict=verdict,
            sentence=sentence(verdict, summaries, pushed),
            robustness=pushed,
            leaked=_leaked(observation),
            output_error=finite(observation.output_error),
            nodes=sorted(summaries + corrupt_nodes(setup), key=lambda s: s.node),
            curves=curves,
            sigma_curve=points,
            picture=drawn,
            advice=advice(cell, setup, summaries, points, pushed),
            notes=_notes(cell, setup, observation),
        ),
        findings,
    )


def _leaked(observation: SumObservation) -> list[str]:
    subspaces = [reading.subspace for _, reading in observation.all_readings]
    said: list[str] = []
    for subspace in subspaces:
        said += [words for words in subspace.describe() if words not in said]
    return said


def _doubts(
    cell: Scenario, setup: SumSetup, observation: SumObservation, node: int, findings: list[Finding]
) -> list[str]:
    """Why more may be known about ``node`` than the findings show."""
    doubts = list(observation.doubts)
    if solvable := _solvable(setup, observation, node):
        doubts.append(solvable)
    if cell.policy.max_normalised_leakage is not None and not any(f.verdict == "violated" for f in findings):
        firm = ("gaussian", "ksg")
        if not any(f.evidence in firm and f.status != "unresolved" and f.kind != "lower bound" for f in findings):
            doubts.append("only lower bounds of its leakage were measured")
    return doubts


def _solvable(setup: SumSetup, observation: SumObservation, node: int) -> str | None:
    """Whether the sums that are known exactly are at least as many numbers as the rows they are made of."""
    honest = np.array([i not in setup.corrupt for i in range(setup.network.n)])
    group, equations, before = {node}, 0, -1
    while before != len(group):  # sums that share a node are solved together
        before, equations = len(group), 0
        for t, reading in observation.readings.items():
            involved = (np.abs(reading.subspace.basis) > 1e-6) & honest
            rows = involved[:, sorted(group)].any(axis=1)
            group |= set(np.flatnonzero(involved[rows].any(axis=0)).tolist())
            equations += int(rows.sum()) * observation.inputs[t].shape[2]
    unknowns = sum(setup.counts[i] for i in group) * setup.rows.shape[1]
    if equations < unknowns:
        return None
    return f"{equations} known sums over all iterations may be solved for the {unknowns} unknown numbers behind them"


def _notes(cell: Scenario, setup: SumSetup, observation: SumObservation) -> list[str]:
    notes = [
        f"{cell.runs} runs; in each, rows are dealt anew without replacement from {setup.source}",
        "exact evidence treats the summed vectors as independent between nodes and iterations; "
        "the measured evidence does not",
    ]
    defences = Defences(**cell.model.defences)
    if defences.blurs:
        notes.append(
            f"what enters the sums is blurred ({', '.join(defences.words)}): a sum or vector that is known is the "
            "blurred one, and of the rows exact evidence is an upper bound"
        )
    notes += observation.doubts
    return notes
