"""Confirm on fresh runs what was measured, before it accuses anybody.

An audit looks at each node of each combination with several estimators, and one in forty intervals lies above the
truth. So whatever would accuse is measured again on fresh runs, on which nothing was chosen, and its lower end is moved
down until all of an audit's accusations hold together: the parts of ``[measure] level`` for what is counted and what is
estimated (:func:`~secmix.auditing.evidence.interface.level_shares`) are split over the findings of either (Bonferroni).
What follows from the protocol, or was recovered in most runs, needs none of that.
"""

from __future__ import annotations

import math
from dataclasses import replace

from scipy.stats import t as student

from secmix._base.rates import lower_limit
from secmix.auditing import decide
from secmix.auditing.cells.groups import gather_in_groups
from secmix.auditing.cells.observed import again, outcome_share
from secmix.auditing.evidence.interface import (
    CellContext,
    Evidence,
    Gathered,
    asked,
    is_counted,
    is_estimated,
    level_shares,
)
from secmix.auditing.observation.collaboration_observation import CollaborationObservation
from secmix.auditing.report import Finding

CONFIRMING = "what would accuse, again on fresh runs"
_DEGREES = 6  # of Student's t: as ksg_estimator/levels.py has it; a normal interval of decoders errs too often
_USUAL = 0.975  # the side of a 95 % interval


def confirmed(case: CellContext, gathered: list[Gathered]) -> list[Gathered]:
    """Return the findings of ``case``, with accusing ones replaced by their counterparts on fresh runs."""
    shares = level_shares(case.cell)
    counts = sum(is_counted(finding) for each in gathered for finding in each.findings)
    limits = {node: _accuses_from(case, node) for node in case.judged}
    new: dict[int, Finding] = {}
    doubtful: list[tuple[Evidence, Finding]] = []
    for evidence, each in zip(asked(case), gathered, strict=True):
        for finding in each.findings:
            if finding.normalised_low <= limits.get(finding.node, 1.0) or finding.node in case.decided:
                continue
            if is_counted(finding) and finding.status != "determined":
                new[id(finding)] = _recounted(finding, shares.counted / counts)
            elif is_estimated(finding):
                doubtful.append((evidence, finding))
    _measured_again(case, doubtful, shares.estimated, new)
    return [replace(each, findings=[new.get(id(f), f) for f in each.findings]) for each in gathered]


def _accuses_from(case: CellContext, node: int) -> float:
    """Return the share of a node's data from which on its being known is held against the protocol."""
    limit = case.cell.policy.max_normalised_leakage
    return min(1.0 if limit is None else limit, outcome_share(case, node) + decide.MARGIN)


def _measured_again(
    case: CellContext, doubtful: list[tuple[Evidence, Finding]], share: float, new: dict[int, Finding]
) -> None:
    """Put into ``new`` what fresh runs say of doubtful findings, by their ``id``."""
    if not doubtful:
        return
    level = share / len(doubtful)

    def measured() -> list[Finding]:
        nodes = sorted({finding.node for _, finding in doubtful})
        fresh = replace(again(case, nodes), level=level / _groups(case), confirms=True)
        evidences = {evidence.name: evidence for evidence, _ in doubtful}
        in_groups = fresh.observation.in_groups
        gathered = (gather_in_groups(e, fresh) if in_groups else e.gather(fresh) for e in evidences.values())
        return [finding for each in gathered for finding in each.findings]

    findings = case.attempt(CONFIRMING, measured) or []
    by_key = {_key(finding): finding for finding in findings}
    for _, finding in doubtful:
        new[id(finding)] = _as_confirmed(
            finding, by_key.get(_key(finding)), level / _readings(case, finding), case.cell.runs
        )


def _groups(case: CellContext) -> int:
    return len(case.observation.groups) if isinstance(case.observation, CollaborationObservation) else 1


def _readings(case: CellContext, finding: Finding) -> int:
    """Return of how many numbers on the same runs the finding is the largest: of groups of runs, and of iterations.

    KSG takes the largest of two an iteration, and of two of all of them; a linear decoder of one an iteration.
    """
    iterations = max(len(case.observation.features.get(finding.node, ())), 1)
    return _groups(case) * {"ksg": 2 * iterations + 2, "linear decoder": iterations}.get(finding.evidence, 1)


def _key(finding: Finding) -> tuple[str, str, str, int]:
    return finding.evidence, finding.view, finding.target, finding.node


def _as_confirmed(first: Finding, second: Finding | None, level: float, runs: int) -> Finding:
    """Return the finding of the fresh runs, its lower end at ``level``; without one, nothing is known for sure."""
    if second is None:
        note = f"a first look found at least {first.normalised_low:.1%}; fresh runs did not show it"
        return first.model_copy(update={"normalised_low": 0.0, "low": None, "notes": [*first.notes, note]})
    note = f"measured again on {runs} fresh runs, after a first look found at least {first.normalised_low:.1%}"
    notes = {"notes": [*second.notes, note]}
    if not is_estimated(second):
        return second.model_copy(update=notes)
    return second.model_copy(update={**_lowered(second, level), **notes, "confidence": 1 - level})


def _lowered(finding: Finding, level: float) -> dict[str, float | None]:
    """Return the lower end that holds but for a chance of ``level``, made from that of a 95 % interval.

    It is moved on the scale on which its interval is made: of a decoder's error that is the squared error, 1 − share,
    and of information nats, −log(1 − share).
    """
    value, low = finding.normalised_leakage, finding.normalised_low
    if low >= value:  # a bound, which was found at this level
        return {}
    wider = float(student.ppf(1 - level, _DEGREES) / student.ppf(_USUAL, _DEGREES))
    if finding.unit == "nats" and finding.value is not None and finding.low is not None:
        nats, nats_low = -math.log1p(-min(value, 1 - 1e-16)), -math.log1p(-low)
        share = max(-math.expm1(-(nats - wider * (nats - nats_low))), 0.0)
        return {"normalised_low": share, "low": max(finding.value - wider * (finding.value - finding.low), 0.0)}
    share = max(value - wider * (value - low), 0.0)
    return {
        "normalised_low": share,
        **({"high": math.sqrt(1 - share)} if finding.kind == "upper bound" else {"low": share}),
    }


def _recounted(finding: Finding, level: float) -> Finding:
    """Return a count with the lower end of Clopper and Pearson (1934) at ``level``."""
    assert finding.hits is not None
    assert finding.runs is not None
    low = float(lower_limit(finding.hits, finding.runs, level))
    moved = {"normalised_low": low, "confidence": 1 - level}
    if finding.low is not None and finding.kind == "lower bound":
        moved["low"] = low
    return finding.model_copy(update=moved)
