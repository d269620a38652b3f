"""One protocol against one adversary: run, measured and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from secmix.auditing import verdicts
from secmix.auditing.advice.measures import advised
from secmix.auditing.advice.trials import by_promise, in_words, tried
from secmix.auditing.cells.confirm import confirmed, is_estimated
from secmix.auditing.cells.fields import cell_fields, checked, corrupt_nodes, sentence
from secmix.auditing.cells.groups import gather, notes_on_groups
from secmix.auditing.cells.mask_size import sigma_curve
from secmix.auditing.cells.sound import observed, unchecked
from secmix.auditing.cells.standing import heard, leaked, notes, solvable, stand
from secmix.auditing.evidence.interface import Case, Gathered, asked
from secmix.auditing.evidence.premises import finite
from secmix.auditing.observation.observe import Seeds, SumObservation
from secmix.auditing.proof import in_words as proof_in_words
from secmix.auditing.proof import proof_of
from secmix.auditing.report import Cell, Finding, NodeSummary, SigmaPoint, Verdict
from secmix.auditing.robustness import robustness
from secmix.auditing.setup import CollaborationSetup, SumSetup
from secmix.scenario import Scenario

CellResult = tuple[Cell, list[Finding]]


def audit_cell(
    cell: Scenario,
    setup: SumSetup | CollaborationSetup,
    seeds: Seeds,
    reproduce: str,
    early: Callable[[Verdict], None] | None = None,
) -> CellResult:
    """Run, measure and judge one cell, whatever its protocol.

    ``early`` is told the verdict where exact evidence alone decides it: a violation stays one, whatever is measured.
    """
    case, sound = observed(cell, setup, seeds)
    gathered = confirmed(case, _gathered(case, early))
    verdict, summaries, findings, doubts = _judged(case, gathered)
    pushed = robustness(case)
    verdict = verdicts.worst([verdict, *([pushed.verdict] if pushed else [])])
    sums = case.observation if isinstance(case.observation, SumObservation) else None
    points = _mask_sizes(case)
    colluders = pushed.colluders if pushed is not None and pushed.verdict == "violated" else 0
    advice = advised(cell, setup, summaries, points, pushed, solvable(case, summaries), heard(case))
    trials = tried(case, advice, colluders)
    content = Cell(
        **cell_fields(cell, setup, reproduce),
        is_collaboration=sums is None,
        verdict=verdict,
        sentence=sentence(verdict, summaries, pushed),
        robustness=pushed,
        heard=sorted(case.observation.lines.read),
        used=sorted(case.observation.lines.used),
        leaked=leaked(case),
        output_error=finite(sums.output_error) if sums else None,
        nodes=sorted(summaries + corrupt_nodes(setup), key=lambda s: s.node),
        # Several evidences may draw the same curve: one a node will do.
        curves=list({curve.node: curve for each in gathered for curve in each.curves}.values()),
        sigma_curve=points,
        picture=next((each.picture for each in gathered if each.picture), None),
        advice=[in_words(trial) for trial in by_promise(trials)],
        trials=trials,
        notes=[*notes(case), *notes_on_groups(case), *_spared(gathered), *_missed(gathered)],
        checks=checked(sound),
        assumptions=sound.assumptions,
        proof=proof_in_words(proof_of(case)),
    )
    return content, verdicts.with_reasons(findings, summaries, doubts)


def revealed(cell: Scenario, setup: SumSetup, seeds: Seeds) -> list[int]:
    """The nodes whose data are known by the evidence that ``cell`` asks for; the others may be doubtful."""
    case = unchecked(cell, setup, seeds)
    _, summaries, _, _ = _judged(case, _gathered(case, None))
    return [each.node for each in summaries if each.standing == "revealed"]


def _gathered(case: Case, early: Callable[[Verdict], None] | None) -> list[Gathered]:
    """What each evidence found, in their order; those that only bound the leakage of nodes not settled come last."""
    chosen = asked(case)
    found: dict[str, Gathered] = {}
    for each in sorted(chosen, key=lambda each: each.bounds_only):
        found[each.name] = gather(each, case)
        so_far = [finding for other in found.values() for finding in other.findings]
        for node in case.judged:
            if verdicts.settles((finding for finding in so_far if finding.node == node), case.cell.policy):
                case.settled.add(node)
        if early and each.exact and _judged(case, _certain(found.values()))[0] == "violated":
            early("violated")
            early = None
    return [found[each.name] for each in chosen]


def _certain(gathered: Iterable[Gathered]) -> list[Gathered]:
    """Return what was found without what fresh runs may not confirm."""
    return [replace(each, findings=[f for f in each.findings if not is_estimated(f)]) for each in gathered]


_Judged = tuple[Verdict, list[NodeSummary], list[Finding], dict[int, list[str]]]


def _judged(case: Case, gathered: list[Gathered]) -> _Judged:
    """The verdict, how each node stands, all findings with their verdicts, and the doubts about each node."""
    findings: list[Finding] = []
    summaries, doubts = [], {}
    for node in case.judged:
        mine = [finding for each in gathered for finding in each.findings if finding.node == node]
        judged = [verdicts.of_leakage(finding, case.cell.policy) for finding in mine]
        summary, doubts[node] = stand(case, node, judged)
        summaries.append(summary)
        findings += judged
    verdict, summaries = verdicts.of_cell(summaries, case.cell.policy)
    return verdict, summaries, findings, doubts


def _spared(gathered: list[Gathered]) -> list[str]:
    """What was not measured because the data of a node were known already, in words."""
    nodes: dict[str, list[str]] = {}
    for what, node in (pair for each in gathered for pair in each.spared):
        nodes.setdefault(what, []).append(str(node))
    return [
        f"{what}: not measured of node{'s' * (len(which) > 1)} {', '.join(which)}, whose data are known already"
        for what, which in nodes.items()
    ]


def _missed(gathered: list[Gathered]) -> list[str]:
    """Return what could not be measured, and why, in words."""
    return [f"not measured: {why}" for why in dict.fromkeys(why for each in gathered for why in each.missed)]


def _mask_sizes(case: Case) -> list[SigmaPoint]:
    """The curve, or none where messages are no finite numbers: all else that is known still counts."""
    try:
        with np.errstate(all="ignore"):
            return sigma_curve(case)
    except (np.linalg.LinAlgError, FloatingPointError):
        return []
