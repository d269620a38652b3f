"""Sentences for the line of a node: why a finding leaves its verdict open, and what would decide it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from secmix.auditing.decide import NodeVerdict, Premises, Privacy
from secmix.auditing.evidence.interface import evidence_of
from secmix.auditing.report import Finding, NodeSummary

_MORE = 4  # times as many runs halve an interval
_MOST_RUNS = 1_000_000  # as many as a scenario may ask for


def explained(privacy: Privacy, premises: Mapping[int, Premises], runs: int | None) -> list[NodeSummary]:
    """Return the nodes of a cell, whose lines say which findings leave a verdict open and what would decide it."""
    return [_explained(s, privacy.lines[s.node], premises[s.node].is_sum, runs) for s in privacy.nodes]


def _explained(summary: NodeSummary, line: NodeVerdict, is_sum: bool, runs: int | None) -> NodeSummary:
    if summary.standing == "revealed" or not (is_sum or line.summary.verdict == "inconclusive"):
        return summary
    open_findings = reasons(line.findings, runs, cleared=line.cleared)
    if not is_sum and summary.standing == "partly leaked" and not open_findings:
        open_findings = ["more may be known: only a proof clears"]
    return summary.model_copy(update={"why": "; ".join([summary.why, *open_findings])})


def reasons(findings: Sequence[Finding], runs: int | None, *, cleared: bool) -> list[str]:
    """Say of the finding that reaches highest above the limit why it leaves the verdict open; count the others.

    They are about one node and have their verdicts; but for them it would be ``cleared``. Of the audit ``runs`` may be
    unknown.
    """
    open_ = [finding for finding in findings if finding.verdict == "inconclusive" and finding.limit is not None]
    if not open_:
        return []
    first = max(open_, key=lambda finding: (finding.normalised_leakage, finding.normalised_high))
    more = len(open_) - 1
    others = f" (and {more} more finding{'s' * (more > 1)})" if more else ""
    return [f"{_number(first)}{others}: {_remedy(first, runs, cleared)}"]


def runs_needed(finding: Finding, limit: float, runs: int) -> int | None:
    """Return how many runs would put the interval on one side of the limit if the number stayed; None: no such number.

    Intervals narrow with the square root of the runs.
    """
    value = finding.normalised_leakage
    width = finding.normalised_high - value if value <= limit else value - finding.normalised_low
    distance = abs(value - limit)
    needed = runs * (width / distance) ** 2 if distance > 0 else math.inf
    if needed > _MOST_RUNS:
        return None
    step = 10 ** max(math.floor(math.log10(needed)) - 1, 0)
    return int(math.ceil(round(needed / step, 6)) * step)


def _number(finding: Finding) -> str:
    low, high = finding.normalised_low, finding.normalised_high
    interval = f"at least {low:.3f}" if 0 < low < high == 1 else f"{low:.3f} to {high:.3f}"
    seen = {"single": "one iteration", "cumulative": "all iterations"}[finding.view]
    return (
        f"{finding.evidence} of {seen} gives {finding.normalised_leakage:.3f} ({finding.percent}: {interval}), "
        f"limit {finding.limit:.3f}"
    )


def _remedy(finding: Finding, runs: int | None, cleared: bool) -> str:
    assert finding.limit is not None
    evidence = evidence_of(finding.evidence)
    follows = evidence is not None and (evidence.exact or (evidence.bounds_leakage and finding.kind == "upper bound"))
    if follows and finding.kind != "estimate":
        return "it follows from the protocol, so more runs do not move it"
    if finding.status == "unresolved":
        many = f"{_MORE * runs} runs in place of {runs}" if runs else "more runs"
        return f"it is not resolved and may read low; {many} may resolve it"
    needed = runs_needed(finding, finding.limit, runs) if runs else None
    many = f"about {needed} runs in place of {runs}" if needed else "more runs than can be asked for"
    if finding.normalised_leakage > finding.limit:
        return f"if the number stays, {many} would show it violated"
    return f"if the number stays, {many} would decide" if cleared else "only a proof clears, whatever the runs"
