"""From numbers to words: what violates the policy, what is proved to hold, and how a node stands.

A verdict is *inconclusive* until a violation is shown or a clearance of the kernel's is handed in: findings accuse, and
none of them clears.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from secmix.auditing import undecided
from secmix.auditing.evidence.interface import evidence_of
from secmix.auditing.report import Finding, NodeSummary, Standing, Verdict
from secmix.kernel import Clearance, Open, clear_bounds
from secmix.scenario import PolicySpec

ORDER: tuple[Verdict, ...] = ("not asked", "holds", "inconclusive", "violated")
"""From the mildest to the worst."""

Accusation = Literal["violated", "inconclusive"] | None
ACCUSATIONS: tuple[Accusation, ...] = (None, "inconclusive", "violated")
"""From the mildest to the worst."""


def judged(accusations: Iterable[Accusation], clearance: Clearance | Open | None) -> Verdict:
    """Make a verdict; no other function makes one that *holds*.

    Examples
    --------
    >>> judged([None], clear_bounds([("colluders", 1, 2)])), judged([None], None), judged(["violated"], None)
    ('holds', 'inconclusive', 'violated')
    """
    found = set(accusations)
    if "violated" in found:
        return "violated"
    return "holds" if isinstance(clearance, Clearance) and "inconclusive" not in found else "inconclusive"


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of some verdicts; of none, *not asked*."""
    return max(verdicts, key=ORDER.index, default="not asked")


def of_leakage(finding: Finding, policy: PolicySpec) -> Finding:
    """``finding`` with its verdict under the policy's limit on the normalised leakage."""
    limit = policy.max_normalised_leakage
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
    """Whether a finding shows that the node's data are known, not only leaking."""
    if finding.status == "determined":
        return True
    evidence = evidence_of(finding.evidence)
    from_on = None if evidence is None else evidence.reveals_from
    return from_on is not None and finding.normalised_low >= from_on


def settles(findings: Iterable[Finding], policy: PolicySpec) -> bool:
    """Whether these findings about one node say the worst there is to say of it.

    Its data are known, and where the policy limits the leakage, that limit is exceeded: no other finding can make the
    verdict on it milder or harsher.
    """
    judged = [of_leakage(finding, policy) for finding in findings]
    if not any(is_revealed(finding) for finding in judged):
        return False
    return policy.max_normalised_leakage is None or any(finding.verdict == "violated" for finding in judged)


def _is_exact(finding: Finding) -> bool:
    evidence = evidence_of(finding.evidence)
    return evidence is not None and evidence.exact


def _follows_a_failure(finding: Finding) -> bool:
    evidence = evidence_of(finding.evidence)
    return evidence is not None and evidence.always


def _states_doubts(finding: Finding) -> bool:
    evidence = evidence_of(finding.evidence)
    return evidence is not None and evidence.states_doubts


def with_reasons(findings: list[Finding], nodes: list[NodeSummary], doubts: dict[int, list[str]]) -> list[Finding]:
    """``findings`` with the verdicts that follow from what they mean together.

    What reveals a node that must not be revealed is itself a violation; doubts make the structure inconclusive, which
    alone says nothing of them.
    """
    verdict = {s.node: s.verdict for s in nodes}
    out = []
    for finding in findings:
        if verdict[finding.node] == "violated" and is_revealed(finding):
            finding = finding.model_copy(update={"verdict": "violated"})
        elif verdict[finding.node] == "inconclusive" and doubts[finding.node] and _states_doubts(finding):
            changed = {"verdict": "inconclusive", "notes": [*finding.notes, *doubts[finding.node]]}
            finding = finding.model_copy(update=changed)
        out.append(finding)
    return out


def summary(
    node: int,
    findings: list[Finding],
    doubts: list[str],
    output_share: float,
    *,
    clearance: Clearance | Open | None,
    exact: bool = True,
    runs: int | None = None,
) -> NodeSummary:
    """Put all evidence about one node in one line.

    Parameters
    ----------
    doubts : list of str
        Reasons why more may be known than any finding shows; they keep the node from being cleared.
    output_share : float
        Share of a node's variance that the protocol's output itself gives away, for equal and independent inputs.
    clearance : Clearance, Open or None
        What the kernel proves of the messages that the adversary reads.
    exact : bool
        Whether the premises of the exact evidence hold.
    runs : int, optional
        Of the audit, to say how many more would decide.
    """
    revealing = [f for f in findings if is_revealed(f)]
    top = max(findings, key=lambda f: f.normalised_leakage, default=None)
    firm = [f for f in findings if _is_exact(f)]
    decoded = [f for f in findings if _follows_a_failure(f) and f.normalised_low > output_share + 1e-3]
    known, most = (max((getattr(f, f"normalised_{end}") for f in firm), default=0.0) for end in ("low", "leakage"))
    standing: Standing
    if revealing:
        standing, why = "revealed", (revealing[0].notes or [revealing[0].method])[0]
    elif decoded:
        standing, why = "partly leaked", decoded[0].notes[0]
    elif not firm:
        standing, why = "inconclusive", "neither structure nor Gaussian evidence was asked for"
    elif known > output_share + 1e-3:
        standing = "partly leaked"
        why = f"{known:.0%} of its variance is known; the output alone gives {output_share:.0%}"
    elif most > output_share + 1e-3:
        standing = "inconclusive"
        why = f"{most:.0%} of what it sends is known, which was blurred before; how much that tells of its rows is open"
    elif not exact:
        standing, why = "inconclusive", "the premises of the exact evidence do not hold"
    elif most < 1e-9:
        standing, why = "no more than the output itself reveals", "nothing that this adversary holds depends on it"
    else:
        standing = "no more than the output itself reveals"
        why = f"known is a sum it is part of, {most:.0%} of its variance"
    # What may be known beyond the output stays open, whatever else is known for sure.
    open_ = any(f.normalised_low <= output_share + 1e-3 < f.normalised_leakage for f in firm)
    if not revealing:
        said = [f"up to {most:.0%} may be known of what it sends, blurred"] * (open_ and standing == "partly leaked")
        cleared = isinstance(clearance, Clearance) and not doubts
        why = "; ".join([why, *doubts, *said, *undecided.reasons(findings, runs, cleared=cleared)])
    doubtful: list[Accusation] = ["inconclusive"] * bool(revealing or doubts or open_ or standing == "inconclusive")
    verdict = judged([*(f.verdict for f in findings), *doubtful], clearance)
    return _summary(node, standing, why, verdict, revealing, top)


def summary_of_samples(
    node: int,
    findings: list[Finding],
    output_leakage: float,
    clearance: Clearance | Open | None,
    hidden: str | None = None,
    *,
    runs: int | None = None,
    sealed: bool = False,
) -> NodeSummary:
    """Put all evidence about one node in one line, where none of it is exact.

    Parameters
    ----------
    output_leakage : float
        Normalised leakage of what the adversary ends with by right, at most.
    clearance : Clearance, Open or None
        Whether no message reaches the adversary.
    hidden : str, optional
        Why the transcript may not tell all: who holds no such message may then know something nevertheless.
    runs : int, optional
        Of the audit, to say how many more would decide.
    sealed : bool
        Whether some of the messages that the adversary reads are sealed.
    """
    revealing = [f for f in findings if is_revealed(f)]
    top = max(findings, key=lambda f: (f.normalised_low, f.normalised_leakage), default=None)
    known = 0.0 if top is None else top.normalised_low
    shown = known > output_leakage + 1e-3
    standing: Standing
    if revealing:
        standing, why = "revealed", (revealing[0].notes or [revealing[0].method])[0]
    elif hidden is None and isinstance(clearance, Clearance) and not shown:
        standing, why = "no more than the output itself reveals", "no message that this adversary holds depends on it"
    elif shown:
        standing = "partly leaked"
        share = f"at least {known:.1%} of its row is known ({top.percent if top else ''} confidence)"
        why = f"{share}; the output alone gives at most {output_leakage:.0%}"
    else:
        standing = "inconclusive"
        little = "part of them is sealed, and opaque to who lacks the key" if sealed else "they show little"
        why = hidden or f"only lower bounds exist of what such messages tell, and {little}"
    doubtful: list[Accusation] = ["inconclusive"] * (standing != "no more than the output itself reveals")
    verdict = judged([*(f.verdict for f in findings), *doubtful], clearance)
    if verdict == "inconclusive" and not revealing:
        cleared = isinstance(clearance, Clearance) and not doubtful
        said = undecided.reasons(findings, runs, cleared=cleared)
        if standing == "partly leaked" and not said:
            said = ["more may be known: only a proof clears"]
        why = "; ".join([why, *said])
    return _summary(node, standing, why, verdict, revealing, top)


def _summary(
    node: int, standing: Standing, why: str, verdict: Verdict, revealing: list[Finding], top: Finding | None
) -> NodeSummary:
    first = revealing[0] if revealing else None
    return NodeSummary(
        node=node,
        standing=standing,
        worst=1.0 if revealing else top.normalised_leakage if top else 0.0,
        worst_low=1.0 if revealing else top.normalised_low if top else 0.0,
        worst_high=1.0 if revealing or not top else top.normalised_high,
        worst_evidence=(first or top).evidence if top else "",
        certain=first is not None and _is_exact(first) and first.kind == "exact",
        runs=first.runs if first else None,
        hits=first.hits if first else None,
        why=why,
        verdict=verdict,
    )


def _let(nodes: Sequence[NodeSummary], limit: int, open_: int) -> list[NodeSummary]:
    """Say of the nodes that may be revealed why that clears none of them."""
    why = f"max_revealed_nodes = {limit}: so many may be revealed, and {open_} nodes are not cleared"
    return [s.model_copy(update={"why": f"{s.why}; {why}"}) if s.standing == "revealed" else s for s in nodes]


def of_cell(nodes: Sequence[NodeSummary], policy: PolicySpec) -> tuple[Verdict, list[NodeSummary]]:
    """Return the verdict on a cell's privacy, and its nodes with the limit on revealed ones applied."""
    limit = policy.max_revealed_nodes
    if limit is None and policy.max_normalised_leakage is None:
        return "not asked", [s.model_copy(update={"verdict": "not asked"}) for s in nodes]
    if not nodes:  # a policy that asks about nobody has nothing to hold
        return "inconclusive", []
    revealed = [s.node for s in nodes if s.standing == "revealed"]
    out = list(nodes)
    if limit is not None and len(revealed) > limit:
        out = [s.model_copy(update={"verdict": "violated"}) if s.node in revealed else s for s in nodes]
    elif limit is not None and policy.max_normalised_leakage is None:
        # Within the limit a node may be revealed.
        open_ = sum(s.verdict != "holds" for s in nodes)
        within = judged([], clear_bounds([("nodes that are not cleared", open_, limit)]))
        out = (
            [s.model_copy(update={"verdict": within}) for s in nodes]
            if within == "holds"
            else _let(nodes, limit, open_)
        )
    return worst(s.verdict for s in out), out
