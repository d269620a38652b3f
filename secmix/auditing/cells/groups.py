"""Runs of a collaboration whose messages differ: each group of runs that look alike is judged by itself.

What a report says of a node is what the worst group shows, with the number of runs it is of. A group of too few runs
to be judged by what needs repetitions keeps doubts on the cell (``observation/collaboration_observation.py``).
"""

from __future__ import annotations

from dataclasses import replace

from secmix.auditing import decide
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered
from secmix.auditing.observation.collaboration_observation import ENOUGH, CollaborationObservation
from secmix.auditing.report import Finding
from secmix.auditing.soundness.adversary_observer import other_frames
from secmix.network import nodes_listed

_SMALL = 8  # groups of too few runs of which single runs are looked at
_NAMED = 6  # groups that a report describes


def gather_in_groups(evidence: Evidence, case: CellContext) -> Gathered:
    """Gather an evidence in the group where it is worst for the node."""
    cases = _cases(case)
    if evidence.judges == "all runs":
        return evidence.gather(case)
    many = [group for group in cases if _runs(group) >= ENOUGH]
    few = [group for group in cases if _runs(group) < ENOUGH]
    chosen = [*many, *(few[:_SMALL] if evidence.judges == "run" else [])]
    by_group = [(group, evidence.gather(group)) for group in chosen]
    for group, gathered in by_group:
        group.fitted.setdefault(_FOUND, []).extend(gathered.findings)
    return Gathered(
        _worst(case, by_group),
        curves=[curve for _, gathered in by_group for curve in gathered.curves],
        picture=next((gathered.picture for _, gathered in by_group if gathered.picture), None),
        skipped=tuple(dict.fromkeys(pair for _, gathered in by_group for pair in gathered.skipped)),
        missed=tuple(dict.fromkeys(why for _, gathered in by_group for why in gathered.missed)),
    )


_GROUPS, _FOUND = "groups of runs", "findings in a group"


def _cases(case: CellContext) -> list[CellContext]:
    """Return the case of each group, the largest first; the same ones at every call."""
    assert isinstance(case.observation, CollaborationObservation)
    if _GROUPS not in case.fitted:
        case.fitted[_GROUPS] = [
            replace(case, observation=replace(group, unmet_premises=case.observation.unmet_premises), fitted={})
            for group in case.observation.groups
        ]
    cases: list[CellContext] = case.fitted[_GROUPS]
    return cases


def _runs(case: CellContext) -> int:
    assert isinstance(case.observation, CollaborationObservation)
    return case.observation.runs


def _worst(case: CellContext, by_group: list[tuple[CellContext, Gathered]]) -> list[Finding]:
    """Return for each node and kind of finding those of the worst group, with how many runs that is of."""
    by_kind: dict[tuple[int, str], list[tuple[int, list[Finding]]]] = {}
    for group_case, gathered in by_group:
        of_group: dict[tuple[int, str], list[Finding]] = {}
        for finding in gathered.findings:
            of_group.setdefault((finding.node, finding.evidence), []).append(finding)
        for key, findings in of_group.items():
            by_kind.setdefault(key, []).append((_runs(group_case), findings))

    def badness(group: tuple[int, list[Finding]]) -> tuple[int, bool, float, float, int]:
        judged = [decide.of_leakage(finding, case.cell.policy) for finding in group[1]]
        return max(
            (
                decide.severity(f.verdict),
                decide.is_revealed(f),
                f.normalised_low,
                f.normalised_leakage,
                group[0],
            )
            for f in judged
        )

    out = []
    for groups in by_kind.values():
        runs, findings = max(groups, key=badness)
        where = f"in {runs} of {case.cell.runs} runs, which send the same messages"
        for finding in findings:
            first, *rest = finding.notes or [finding.method]
            out.append(finding.model_copy(update={"notes": [f"{first}; {where}", *rest]}))
    return out


def notes_on_groups(case: CellContext) -> list[str]:
    """Describe the groups: how many runs they are of, how they differ, and whose rows are known in each."""
    if not case.observation.in_groups:
        return []
    cases = _cases(case)
    sizes = [_runs(group) for group in cases]
    named = ", ".join(map(str, sizes[:_NAMED])) + (", ..." if len(sizes) > _NAMED else "")
    notes = [
        f"the messages differ between runs: {len(cases)} groups of runs that look alike to the adversary ({named} "
        "runs); each is judged by itself, and which group a run is in is something that the adversary sees"
    ]
    return [*notes, *(_in_words(k, group, cases[0], case) for k, group in enumerate(cases[:_NAMED], 1))]


def _in_words(place: int, group_case: CellContext, first: CellContext, case: CellContext) -> str:
    assert isinstance(group_case.observation, CollaborationObservation)
    assert isinstance(first.observation, CollaborationObservation)
    counterexample = other_frames(first.observation.metadata, group_case.observation.metadata)
    differs = f"; {counterexample.where} differs from that in group 1" if counterexample is not None else ""
    findings = group_case.fitted.get(_FOUND, [])
    revealed = [i for i in case.judged if any(f.node == i and decide.is_revealed(f) for f in findings)]
    known = f"rows of {nodes_listed(revealed)} known" if revealed else "no row known"
    judged = known if findings else "not judged, for few runs"
    return f"group {place}: {_runs(group_case)} runs{differs}: {judged}"
