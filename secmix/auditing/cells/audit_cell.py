"""One protocol against one adversary: run, measured and judged."""

from __future__ import annotations

import numpy as np

from secmix.auditing import verdicts
from secmix.auditing.advice import advised
from secmix.auditing.cells.fields import cell_fields, checked, corrupt_nodes, sentence
from secmix.auditing.cells.mask_size import sigma_curve
from secmix.auditing.cells.sound import observed
from secmix.auditing.cells.standing import known_sums_suffice, leaked, notes, stand
from secmix.auditing.evidence.interface import Case, asked
from secmix.auditing.evidence.premises import finite
from secmix.auditing.observation.observe import Seeds, SumObservation
from secmix.auditing.report import Cell, Finding, SigmaPoint
from secmix.auditing.robustness import robustness
from secmix.auditing.setup import CollaborationSetup, SumSetup
from secmix.auditing.trials import by_promise, in_words, tried
from secmix.scenario import Scenario

CellResult = tuple[Cell, list[Finding]]


def audit_cell(cell: Scenario, setup: SumSetup | CollaborationSetup, seeds: Seeds, reproduce: str) -> CellResult:
    """Run, measure and judge one cell, whatever its protocol."""
    case, sound = observed(cell, setup, seeds)
    gathered = [each.gather(case) for each in asked(case)]
    findings: list[Finding] = []
    summaries, doubts = [], {}
    for node in case.judged:
        mine = [finding for each in gathered for finding in each.findings if finding.node == node]
        judged = [verdicts.of_leakage(finding, cell.policy) for finding in mine]
        summary, doubts[node] = stand(case, node, judged)
        summaries.append(summary)
        findings += judged
    verdict, summaries = verdicts.of_cell(summaries, cell.policy)
    pushed = robustness(case)
    verdict = verdicts.worst([verdict, *([pushed.verdict] if pushed else [])])
    sums = case.observation if isinstance(case.observation, SumObservation) else None
    points = _mask_sizes(case)
    solvable = any(known_sums_suffice(case, s.node) for s in summaries if s.standing != "revealed")
    colluders = pushed.colluders if pushed is not None and pushed.verdict == "violated" else 0
    trials = tried(case, advised(cell, setup, summaries, points, pushed, solvable), colluders)
    content = Cell(
        **cell_fields(cell, setup, reproduce),
        is_collaboration=sums is None,
        verdict=verdict,
        sentence=sentence(verdict, summaries, pushed),
        robustness=pushed,
        leaked=leaked(case),
        output_error=finite(sums.output_error) if sums else None,
        nodes=sorted(summaries + corrupt_nodes(setup), key=lambda s: s.node),
        # Several evidences may draw the same curve: one a node will do.
        curves=list({curve.node: curve for each in gathered for curve in each.curves}.values()),
        sigma_curve=points,
        picture=next((each.picture for each in gathered if each.picture), None),
        advice=[in_words(trial) for trial in by_promise(trials)],
        trials=trials,
        notes=notes(case),
        checks=checked(sound),
        assumptions=sound.assumptions,
    )
    return content, verdicts.with_reasons(findings, summaries, doubts)


def _mask_sizes(case: Case) -> list[SigmaPoint]:
    """The curve, or none where messages are no finite numbers: all else that is known still counts."""
    try:
        with np.errstate(all="ignore"):
            return sigma_curve(case)
    except (np.linalg.LinAlgError, FloatingPointError):
        return []
