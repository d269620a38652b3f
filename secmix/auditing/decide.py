"""Decide: the one place that makes a verdict, of a finding, a node, a cell and a report.

A verdict is *inconclusive* until a violation is shown or a clearance of the kernel's is given: findings accuse, and
none of them clears.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from secmix.auditing.cell_parts import (
    FAULTS,
    Coalitions,
    Counted,
    NodeSummary,
    PrivacyClaim,
    Robustness,
    Standing,
    Verdict,
)
from secmix.auditing.evidence.interface import Evidence, evidence_of, is_of_runs
from secmix.auditing.report import Cell, Conclusion, Finding
from secmix.kernel import Clearance, Open, clear_bounds
from secmix.scenario import PolicySpec

ORDER: tuple[Verdict | Conclusion, ...] = ("not asked", "holds", "no worse", "inconclusive", "violated")
"""From the mildest to the worst."""

Accusation = Literal["violated", "inconclusive"] | None
Fault = NodeSummary | Robustness | Coalitions | PrivacyClaim | Cell
"""Parts of a report that have a verdict of their own."""

_OUTPUT: Standing = "no more than the output itself reveals"
_BOUNDED: Standing = "bounded by noise"
MARGIN = 1e-3  # of a share of the variance: what rounding may add to the share that the output gives away
_NOTHING = 1e-9  # shares below are rounding
_CLAIM_ROUNDING = 1e-6  # of an epsilon: a privacy loss sums differences of thousands of rounded numbers
NEARLY = 0.99
"""Share of a node's variance; where it is known the error is a tenth of the node's spread at most. A limit on revealed
nodes does not say whether that counts as revealed; so that limit alone does not clear it."""


def judged(accusations: Iterable[Accusation], clearance: Clearance | Open | None) -> Verdict:
    """Make a verdict; no other function makes one that *holds*.

    >>> judged([None], clear_bounds([("colluders", 1, 2)])), judged([None], None), judged(["violated"], None)
    ('holds', 'inconclusive', 'violated')
    """
    accused = set(accusations)
    if "violated" in accused:
        return "violated"
    return "holds" if isinstance(clearance, Clearance) and "inconclusive" not in accused else "inconclusive"


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of some verdicts; of none, *not asked*."""
    return max(verdicts, key=ORDER.index, default="not asked")


def severity(accusation: Accusation) -> int:
    """Return the place of an accusation in the order of verdicts; no accusation is the mildest."""
    return ORDER.index(accusation or "not asked")


# Findings.


def of_leakage(finding: Finding, policy: PolicySpec) -> Finding:
    """Return ``finding`` with what it accuses of under the policy's limit on its own number."""
    limit, evidence = policy.max_normalised_leakage, evidence_of(finding.evidence)
    if evidence is not None and (evidence.bounds_epsilon or evidence.tells_members):
        most = policy.max_epsilon if evidence.bounds_epsilon else policy.max_membership
        exceeded = finding.low is not None and most is not None and finding.low > most
        return finding.model_copy(update={"verdict": "violated" if exceeded else None})
    if limit is None:
        return finding
    verdict: Accusation = None
    if finding.normalised_low > limit or (finding.status == "determined" and limit < 1):
        verdict = "violated"
    elif (
        finding.normalised_leakage > limit
        or finding.status == "unresolved"
        or (finding.kind == "estimate" and finding.normalised_high > limit)
    ):
        verdict = "inconclusive"
    return finding.model_copy(update={"limit": limit, "verdict": verdict})


def is_revealed(finding: Finding) -> bool:
    """Say whether a finding shows that the node's data are known, not only leaking."""
    if finding.status == "determined":
        return True
    evidence = evidence_of(finding.evidence)
    from_on = None if evidence is None else evidence.reveals_from
    return from_on is not None and finding.normalised_low >= from_on


def decides(findings: Iterable[Finding], policy: PolicySpec) -> bool:
    """Say whether these findings about one node say the worst there is to say of it.

    Its data are known, and where the policy limits the leakage, that limit is exceeded: no other finding can make the
    verdict on it milder or harsher.
    """
    accused = [of_leakage(finding, policy) for finding in findings]
    if not any(is_revealed(finding) for finding in accused):
        return False
    return policy.max_normalised_leakage is None or any(finding.verdict == "violated" for finding in accused)


def _findings_with(findings: Iterable[Finding], has_trait: Callable[[Evidence], bool]) -> list[Finding]:
    """Return the findings of those evidences that have a trait."""
    made = ((finding, evidence_of(finding.evidence)) for finding in findings)
    return [finding for finding, evidence in made if evidence is not None and has_trait(evidence)]


def _exact(findings: Iterable[Finding]) -> list[Finding]:
    return _findings_with(findings, lambda evidence: evidence.exact)


# Nodes.


@dataclass(frozen=True, kw_only=True)
class Premises:
    """Premises of a verdict on a node, beside the findings about it."""

    clearance: Clearance | Open | None  # what the kernel proves of the messages that the adversary reads
    output_share: float  # of the node's variance that the outcome itself gives away; of a collaboration at most
    unmet: list[str] = field(default_factory=list)  # reasons why more may be known than any finding shows
    unproved: list[str] = field(default_factory=list)  # why no proof clears the node
    unmeasured: list[str] = field(default_factory=list)  # what failed or was left out, and might have accused
    is_sum: bool = True  # so that exact evidence applies
    exact: bool = True  # whether the premises of the exact evidence hold
    behind_masks: Callable[[], float] = lambda: 0.0  # share of its variance that is known behind masks of their size
    covers: str = ""  # iterations that a proof covers; empty if all
    opaque: str = ""  # to whom some of the messages that the adversary reads are opaque, and how
    noise: Clearance | Open | None = None  # what noise proves of a collaboration; None where it adds none


@dataclass(frozen=True)
class NodeVerdict:
    """A node's line, and what it rests on."""

    summary: NodeSummary
    findings: list[Finding]  # with what each accuses of
    unmet: list[str]  # which keep it from being cleared
    cleared: bool  # but for its findings


def of_node(node: int, findings: Iterable[Finding], premises: Premises, policy: PolicySpec) -> NodeVerdict:
    """Decide on one node from all findings about it."""
    clearance = _clearance(premises)
    # Of a collaboration more than its findings show may be known, but where noise bounds it; in a sum exact evidence
    # says what is.
    bounded = clearance is premises.noise and isinstance(clearance, Clearance) and not _hidden(premises)
    accused = [of_leakage(finding, policy) for finding in findings]
    accused = [_moot(finding) for finding in accused] if bounded else accused
    revealing = [finding for finding in accused if is_revealed(finding)]
    unmet = _unmet_premises(accused, premises, policy) if premises.is_sum else []
    standing, why = (_standing_in_sum if premises.is_sum else _standing_in_samples)(accused, premises)
    open_ = premises.is_sum and _is_open(accused, premises)
    if revealing:
        standing, why = "revealed", (revealing[0].notes or [revealing[0].method])[0]
    elif premises.is_sum:
        most = max(f.normalised_leakage for f in _exact(accused)) if open_ else 0.0
        blurred = [f"up to {most:.0%} may be known of what it sends, blurred"] * (standing == "partly leaked" and open_)
        # What a proof ends at says more than that nothing was measured: it comes first.
        first = [premise for premise in unmet if premise in premises.unproved] if standing == "inconclusive" else []
        why = "; ".join([*first, why, *(premise for premise in unmet if premise not in first), *blurred])
    doubtful = bool(revealing or unmet or open_ or standing == "inconclusive")
    doubtful = doubtful or (standing != _OUTPUT and not premises.is_sum and not bounded)
    accusations: list[Accusation] = [*(f.verdict for f in accused), "inconclusive" if doubtful else None]
    cleared = isinstance(clearance, Clearance) and not unmet and (premises.is_sum or not doubtful)
    verdict = judged(accusations, clearance)
    why = f"{why}, {premises.covers}" if premises.covers and verdict == "holds" else why
    summary = _summary(node, standing, why, verdict, accused, by_low=not premises.is_sum)
    return NodeVerdict(summary, accused, unmet, cleared)


def _moot(finding: Finding) -> Finding:
    """Return a finding about a node that a proof bounds from above: that it may read low accuses of nothing there."""
    low = finding.kind == "lower bound" and finding.limit is not None and finding.normalised_leakage <= finding.limit
    return finding.model_copy(update={"verdict": None}) if low and finding.verdict == "inconclusive" else finding


def _clearance(premises: Premises) -> Clearance | Open | None:
    """Return the clearance of a node, by the kernel's proof or by noise, or the reason why there is none."""
    if isinstance(premises.clearance, Clearance) or premises.noise is None:
        return premises.clearance
    return premises.noise


def _unmet_premises(findings: list[Finding], premises: Premises, policy: PolicySpec) -> list[str]:
    """Say why more may be known of a node of a sum than the findings show."""
    unmet = list(premises.unmet)
    if policy.max_epsilon is not None:
        unmet.append("max_epsilon: of a protocol that sums no epsilon is proved")
    if policy.max_normalised_leakage is not None:
        above = _findings_with(findings, lambda evidence: evidence.bounds_leakage)
        bounded = any(f.status != "unresolved" and f.kind != "lower bound" for f in above)
        if not bounded and not any(f.verdict == "violated" for f in findings):
            unmet.append("only lower bounds of its leakage were measured")
    else:
        often = max((f.value or 0.0 for f in findings if is_of_runs(f.evidence)), default=0.0)
        if often > 0:
            unmet.append(
                f"a row of it comes out in {often:.2%} of the runs: set max_normalised_leakage to say how often it may"
            )
        share = max([premises.behind_masks(), *(f.normalised_low for f in findings)])
        if share >= NEARLY:
            unmet.append(
                f"with masks of this size {min(share, 0.9999):.2%} of its variance is known, as good as revealed: "
                "set max_normalised_leakage to say how much may be"
            )
    unproved = [] if any(map(is_revealed, findings)) else premises.unproved
    return [*unmet, *unproved, *premises.unmeasured]


def _standing_in_sum(findings: list[Finding], premises: Premises) -> tuple[Standing, str]:
    """Return how a node stands whose data are not known, by exact evidence and by what always accuses; and why."""
    above = premises.output_share + MARGIN
    firm = _exact(findings)
    decoded = [f for f in _findings_with(findings, lambda evidence: evidence.always) if f.normalised_low > above]
    known, most = (max((getattr(f, f"normalised_{end}") for f in firm), default=0.0) for end in ("low", "leakage"))
    if decoded:
        return "partly leaked", decoded[0].notes[0]
    if not firm and premises.unmeasured:
        return "inconclusive", "no exact evidence was finished"  # what was not follows
    if not firm:
        return "inconclusive", "neither structure nor Gaussian evidence was asked for"
    if known > above:
        share = premises.output_share
        return "partly leaked", f"{known:.0%} of its variance is known; the output alone gives {share:.0%}"
    if most > above and all(map(_bounds_encoding, firm)):
        share = premises.output_share
        return "partly leaked", f"at most {most:.0%} of its variance is known; the output alone gives {share:.0%}"
    if most > above:
        blurred = f"{most:.0%} of what it sends is known, which was blurred before"
        return "inconclusive", f"{blurred}; how much that tells of its rows is open"
    if not premises.exact:
        return "inconclusive", "the premises of the exact evidence do not hold"
    if most < _NOTHING:
        return _OUTPUT, "nothing that this adversary holds depends on it"
    above_limit = [f"{f.limit:.0%}" for f in firm if f.verdict == "violated"][:1]
    more = "".join(f", more than the {limit} that the policy allows: sum over more nodes" for limit in above_limit)
    return _OUTPUT, f"known is a sum it is part of, {most:.0%} of its variance{more}"


def _is_open(findings: list[Finding], premises: Premises) -> bool:
    """Check whether more than the output may be known, besides what surely is."""
    above = premises.output_share + MARGIN
    return any(f.normalised_low <= above < f.normalised_leakage for f in _exact(findings) if not _bounds_encoding(f))


def _bounds_encoding(finding: Finding) -> bool:
    """Check whether a proved sum bounds what is known of encoded values: the policy's limit decides then."""
    return finding.evidence == "encoding" and finding.status == "resolved"


def _standing_in_samples(findings: list[Finding], premises: Premises) -> tuple[Standing, str]:
    """Return how a node stands whose data are not known, where no evidence is exact; and why."""
    apart = _findings_with(findings, lambda evidence: evidence.bounds_epsilon or evidence.tells_members)
    convicting = [finding for finding in apart if finding.verdict == "violated"]
    if convicting:
        return "partly leaked", convicting[0].notes[0]
    top = max(findings, key=lambda f: (f.normalised_low, f.normalised_leakage), default=None)
    hidden, clearance = _hidden(premises), _clearance(premises)
    if top is not None and top.normalised_low > premises.output_share + MARGIN:
        share = f"at least {top.normalised_low:.1%} of its row is known ({top.percent} confidence)"
        return "partly leaked", f"{share}; the output alone gives at most {premises.output_share:.0%}"
    if not hidden and isinstance(clearance, Clearance):
        if clearance is premises.noise:
            return _BOUNDED, clearance.says
        return _OUTPUT, "no message that this adversary holds depends on it"
    if not hidden and isinstance(premises.noise, Open):
        return "inconclusive", f"noise does not clear it: {premises.noise.reason}"
    rest = f"part of them is {premises.opaque}" if premises.opaque else "these are low"
    return "inconclusive", hidden or f"only lower bounds exist of what such messages tell, and {rest}"


def _hidden(premises: Premises) -> str:
    """Say why more may be known of a collaboration than was measured or is proved; empty if nothing is."""
    return "; ".join(dict.fromkeys([*premises.unmet, *premises.unmeasured]))


def _summary(
    node: int, standing: Standing, why: str, verdict: Verdict, findings: list[Finding], *, by_low: bool
) -> NodeSummary:
    """Put a node in one line; ``by_low`` says that its worst finding is the one with the largest lower end."""
    top = max(findings, key=lambda f: (f.normalised_low if by_low else 0.0, f.normalised_leakage), default=None)
    first = next(filter(is_revealed, findings), None)
    return NodeSummary(
        node=node,
        standing=standing,
        worst=1.0 if first else top.normalised_leakage if top else 0.0,
        worst_low=1.0 if first else top.normalised_low if top else 0.0,
        worst_high=1.0 if first or not top else top.normalised_high,
        worst_evidence=(first or top).evidence if top else "",
        certain=first is not None and first.kind == "exact" and bool(_exact([first])),
        runs=first.runs if first else None,
        hits=first.hits if first else None,
        why=why,
        verdict=verdict,
    )


# Cells.


def of_nodes(nodes: Sequence[NodeSummary], policy: PolicySpec) -> tuple[Verdict, list[NodeSummary]]:
    """Return the verdict on a cell's privacy, and its nodes with the limit on revealed ones applied."""
    limit = policy.max_revealed_nodes
    others = (policy.max_normalised_leakage, policy.max_epsilon, policy.max_membership)
    only_revealed = all(other is None for other in others)
    if limit is None and only_revealed:
        return "not asked", [s.model_copy(update={"verdict": "not asked"}) for s in nodes]
    if not nodes:  # a policy that asks about nobody has nothing to hold
        return "inconclusive", []
    revealed = [s.node for s in nodes if s.standing == "revealed"]
    out = list(nodes)
    if limit is not None and len(revealed) > limit:
        out = [s.model_copy(update={"verdict": "violated"}) if s.node in revealed else s for s in nodes]
    elif limit is not None and only_revealed:
        # Within the limit a node may be revealed.
        open_ = sum(s.verdict != "holds" for s in nodes)
        within = judged([], clear_bounds([("nodes that are not cleared", open_, limit)]))
        why = f"max_revealed_nodes = {limit}: so many may be revealed, and {open_} nodes are not cleared"
        if within == "holds":
            out = [s.model_copy(update={"verdict": within}) for s in nodes]
        else:
            out = [s.model_copy(update={"why": f"{s.why}; {why}"}) if s.node in revealed else s for s in nodes]
    return worst(s.verdict for s in out), out


@dataclass(frozen=True)
class Privacy:
    """Privacy of a cell: its verdict, its nodes, and the findings with what each accuses of."""

    verdict: Verdict
    nodes: list[NodeSummary]
    findings: list[Finding]
    lines: dict[int, NodeVerdict]


def of_findings(findings: Sequence[Finding], premises: Mapping[int, Premises], policy: PolicySpec) -> Privacy:
    """Decide on the privacy of a cell: of each node that has ``premises``, and of all of them."""
    about: dict[int, list[Finding]] = {node: [] for node in premises}
    for finding in findings:
        about.setdefault(finding.node, []).append(finding)
    lines = {node: of_node(node, about[node], known, policy) for node, known in premises.items()}
    verdict, nodes = of_nodes([line.summary for line in lines.values()], policy)
    accused = [finding for s in nodes for finding in _with_node(lines[s.node], s)]
    return Privacy(verdict, nodes, accused, lines)


def _with_node(line: NodeVerdict, summary: NodeSummary) -> list[Finding]:
    """Return the findings about a node with what follows from its verdict.

    What reveals a node that must not be revealed is itself a violation; unmet premises make the structure inconclusive,
    which alone says nothing of them.
    """
    if summary.verdict == "violated":
        return [f.model_copy(update={"verdict": "violated"}) if is_revealed(f) else f for f in line.findings]
    if summary.verdict != "inconclusive" or not line.unmet:
        return line.findings
    doubtful = {id(f) for f in _findings_with(line.findings, lambda evidence: evidence.needs_premises)}
    return [
        f.model_copy(update={"verdict": "inconclusive", "notes": [*dict.fromkeys([*f.notes, *line.unmet])]})
        if id(f) in doubtful
        else f
        for f in line.findings
    ]


def of_cell(parts: Iterable[Verdict], *, finished: bool = True) -> Verdict:
    """Decide on a cell from the verdicts of its parts; one that is not finished does not hold."""
    verdict = worst(parts)
    return verdict if finished or verdict != "holds" else "inconclusive"


def of_leak(cell: Cell) -> Verdict:
    """Decide on the nodes of a cell, whatever colluders do to its result; a revealed one is known, permitted or not."""
    if any(node.standing == "revealed" for node in cell.nodes):
        return "violated"
    return worst(node.verdict for node in cell.nodes) if cell.nodes else cell.verdict


def of_coalition(cost: float | None, at_least: float, need: float, *, known: bool, open_: bool) -> Accusation:
    """Say what the least coalition against a node accuses of, where ``min_colluders`` is ``need``.

    Its ``cost`` is None where none was found; proven is that nothing costs less than ``at_least``. The node's data are
    ``known`` where they come out, and are not only counted or blurred; ``open_`` is which coalition is the least.
    """
    if cost is not None and cost < need:
        return "violated" if known else "inconclusive"
    proved = need <= at_least < math.inf  # of a search that is open an infinite bound is none
    return "inconclusive" if open_ and not proved else None


def of_claim(proof: Clearance | Open, epsilon: float, limit: float) -> Verdict:
    """Decide on a claimed epsilon for one node, from what is proved of its code and ``epsilon``, a lower bound of runs.

    A claim that the noise keeps to the last digit is kept: what rounding adds to a lower bound is no violation.
    """
    return judged(["violated" if epsilon > limit * (1 + _CLAIM_ROUNDING) else None], proof)


# Reports.


def of_recording(verdicts: Iterable[Verdict]) -> Conclusion:
    """Decide on a recorded run from what counts against it: where all is accepted, it is no worse than that.

    >>> of_recording(["violated", "inconclusive"]), of_recording([])
    ('violated', 'no worse')
    """
    faults = list(verdicts)
    if not faults:
        return "no worse"
    return "violated" if "violated" in faults else "inconclusive"


def faults(cell: Cell) -> list[Fault]:
    """Return all of a cell that is violated or open; the cell itself where its verdict follows from nothing in it."""
    inside = [*cell.nodes, *(part for part in (cell.robustness, cell.coalitions, cell.claim) if part is not None)]
    explained = worst(part.verdict for part in inside)
    collected: list[Fault] = [part for part in inside if part.verdict in FAULTS]
    return collected if worst([explained, cell.verdict]) == explained else [*collected, cell]


def counts(fault: Counted) -> bool:
    """Say whether a fault counts for the verdict of a report: no baseline had it, and nobody accepts it."""
    return fault.accepted is None and fault.since_baseline != "no worse"


def of_report(cells: Sequence[Cell]) -> Conclusion:
    """Decide on a report from its cells; what a baseline had already, or somebody accepts, does not count."""
    overall = worst(cell.verdict for cell in cells)
    verdicts = [fault.verdict for cell in cells for fault in faults(cell) if counts(fault)]
    if verdicts:
        overall = worst(verdicts)
    elif overall in FAULTS:
        return "no worse"
    return "inconclusive" if overall == "not asked" else overall
