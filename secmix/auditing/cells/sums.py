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
from secmix.auditing.observation.observe import Observed, Seeds, observe
from secmix.auditing.report import Cell, Finding, NodeSummary, SigmaPoint
from secmix.auditing.robustness.sums import robustness
from secmix.auditing.setup import Parts
from secmix.protocols import Defences
from secmix.scenario import Scenario


def audited(cell: Scenario, parts: Parts, seeds: Seeds, reproduce: str) -> tuple[Cell, list[Finding]]:
    """Run, measure and judge one cell of distributed EM over a sum protocol."""
    observed = observe(cell, parts, seeds)
    findings: list[Finding] = []
    summaries: list[NodeSummary] = []
    curves = []
    doubts: dict[int, list[str]] = {}
    inverted, drawn = solved(cell, parts, observed)
    for node in parts.asked:
        raw, curve = gather(cell, parts, observed, node)
        raw += inverted[node]
        judged = [verdicts.of_leakage(finding, cell.policy) for finding in raw]
        doubts[node] = _doubts(cell, parts, observed, node, judged)
        exact = not observed.doubts
        summaries.append(verdicts.summary(node, judged, doubts[node], output_share(parts), exact=exact))
        findings += judged
        curves += [curve] if curve else []
    verdict, summaries = verdicts.of_cell(summaries, cell.policy)
    pushed = robustness(cell, parts, observed)
    verdict = verdicts.worst([verdict, *([pushed.verdict] if pushed else [])])
    findings = verdicts.with_reasons(findings, summaries, doubts)
    points: list[SigmaPoint] = sigma_curve(cell, parts, observed)
    return (
        Cell(
            **frame(cell, parts, reproduce),
            verdict=verdict,
            sentence=sentence(verdict, summaries, pushed),
            robustness=pushed,
            leaked=_leaked(observed),
            output_error=finite(observed.output_error),
            nodes=sorted(summaries + corrupt_nodes(parts), key=lambda s: s.node),
            curves=curves,
            sigma_curve=points,
            picture=drawn,
            advice=advice(cell, parts, summaries, points, pushed),
            notes=_notes(cell, parts, observed),
        ),
        findings,
    )


def _leaked(observed: Observed) -> list[str]:
    subspaces = [reading.subspace for _, reading in observed.all_readings]
    said: list[str] = []
    for subspace in subspaces:
        said += [words for words in subspace.describe() if words not in said]
    return said


def _doubts(cell: Scenario, parts: Parts, observed: Observed, node: int, findings: list[Finding]) -> list[str]:
    """Why more may be known about ``node`` than the findings show."""
    doubts = list(observed.doubts)
    if solvable := _solvable(parts, observed, node):
        doubts.append(solvable)
    if cell.policy.max_normalised_leakage is not None and not any(f.verdict == "violated" for f in findings):
        firm = ("gaussian", "ksg")
        if not any(f.evidence in firm and f.status != "unresolved" and f.kind != "lower bound" for f in findings):
            doubts.append("only lower bounds of its leakage were measured")
    return doubts


def _solvable(parts: Parts, observed: Observed, node: int) -> str | None:
    """Whether the sums that are known exactly are at least as many numbers as the rows they are made of."""
    honest = np.array([i not in parts.corrupt for i in range(parts.network.n)])
    group, equations, before = {node}, 0, -1
    while before != len(group):  # sums that share a node are solved together
        before, equations = len(group), 0
        for t, reading in observed.readings.items():
            involved = (np.abs(reading.subspace.basis) > 1e-6) & honest
            rows = involved[:, sorted(group)].any(axis=1)
            group |= set(np.flatnonzero(involved[rows].any(axis=0)).tolist())
            equations += int(rows.sum()) * observed.inputs[t].shape[2]
    unknowns = sum(parts.counts[i] for i in group) * parts.rows.shape[1]
    if equations < unknowns:
        return None
    return f"{equations} known sums over all iterations may be solved for the {unknowns} unknown numbers behind them"


def _notes(cell: Scenario, parts: Parts, observed: Observed) -> list[str]:
    notes = [
        f"{cell.runs} runs; in each, rows are dealt anew without replacement from {parts.source}",
        "exact evidence treats the summed vectors as independent between nodes and iterations; "
        "the measured evidence does not",
    ]
    defences = Defences(**cell.model.defences)
    if defences.blurs:
        notes.append(
            f"what enters the sums is blurred ({', '.join(defences.words)}): a sum or vector that is known is the "
            "blurred one, and of the rows exact evidence is an upper bound"
        )
    notes += observed.doubts
    return notes
