"""Fields, notes and sentences of every cell: who against whom, its verdict, what leaves that of a node open."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.cell_parts import BOUND_ASSUMES, ENCRYPTION_ASSUMES, Checked, NodeSummary, PrivacyClaim, Robustness
from secmix.auditing.cells.groups import notes_on_groups
from secmix.auditing.cells.observed import readable
from secmix.auditing.decide import NodeVerdict, Premises, Privacy
from secmix.auditing.evidence.interface import CellContext, evidence_of
from secmix.auditing.noise.noise_bounds import noise_clearance
from secmix.auditing.observation.collaboration_observation import CollaborationObservation
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.proof import in_words, proof_of
from secmix.auditing.report import Cell, Finding
from secmix.auditing.setup import CollaborationSetup, Setup, SumSetup, blurring
from secmix.auditing.soundness import Soundness
from secmix.errors import brief
from secmix.kernel import Clearance
from secmix.network import nodes_listed
from secmix.protocols.collaboration import CollaborationTraits
from secmix.protocols.interfaces import SumTraits
from secmix.protocols.released import Released
from secmix.scenario import Scenario

_ROWS, _SAMPLES = 10, 100  # rows of a group, and ways to draw from it, below which runs are much alike
_LEFT_OUT = "not measured: "
_MOST_WHY = 400  # characters of a reason in the sentence of a cell; the line of the node has all of it
_MORE = 4  # times as many runs halve an interval
_MOST_RUNS = 1_000_000  # as many as a scenario may ask for


def failed(cell: Scenario, setup: Setup, cause: str, reproduce: str) -> Cell:
    """Return the cell of a run that did not finish."""
    nodes = [
        NodeSummary(node=i, standing="inconclusive", worst=0.0, why=cause, verdict="inconclusive") for i in setup.asked
    ]
    return Cell(
        **cell_fields(cell, setup, reproduce),
        verdict="inconclusive",
        sentence=f"This cell was not audited: {cause.removesuffix('.')}.",
        leaked=[],
        output_error=None,
        nodes=nodes,
        curves=[],
        sigma_curve=[],
        advice=[],
        notes=[cause],
        unmeasured=[cause],
    )


def without_rest(result: tuple[Cell, list[Finding]], why: str, what: str = "the rest") -> tuple[Cell, list[Finding]]:
    """Return what was shown of a cell before something failed, with a line that says so."""
    (cell, findings), left_out = result, f"{what}: {why}"
    changed = {
        "sentence": f"{cell.sentence}{not_measured([left_out])}",
        "notes": [*cell.notes, f"not measured: {left_out}"],
        "unmeasured": [*cell.unmeasured, left_out],
    }
    return cell.model_copy(update=changed), findings


def not_measured(left_out: list[str]) -> str:
    """Return a sentence about what failed or was left out, to stand after another one."""
    return f" Not measured: {brief('; '.join(left_out), _MOST_WHY).removesuffix('.')}." if left_out else ""


def cell_fields(cell: Scenario, setup: Setup, reproduce: str) -> dict[str, Any]:
    """Return the fields of a cell that no evidence changes: the names, the network and who is corrupt."""
    traits = AdversaryTraits.of(setup.adversary)
    tapped = traits.tapped
    silent = tapped is not None or not traits.eavesdrops
    return {
        "protocol": cell.protocol.title,
        "adversary": cell.adversary.title,
        "n_nodes": setup.network.n,
        "names": list(setup.names),
        "edges": setup.edges,
        "positions": [(round(x, 4), round(y, 4)) for x, y in setup.network.positions.tolist()],
        "corrupt": sorted(setup.corrupt),
        "server": traits.server,
        "public": traits.reads_result,
        "tapped": [(int(a), int(b)) for a, b in tapped or ()] if silent else None,
        "reproduce": reproduce,
    }


def check_fields(checks: Soundness, robustness: Robustness | None, encryption: str) -> dict[str, Any]:
    """Return the checks as plain values, and what the verdict assumes after them, in at most seven lines."""
    plain = [
        Checked(
            name=check.name,
            outcome=check.outcome,
            sentence=check.sentence,
            counterexample=None if check.counterexample is None else str(check.counterexample),
        )
        for check in checks.checks
    ]
    return {
        "checks": plain,
        "assumptions": [
            *[BOUND_ASSUMES] * (robustness is not None and robustness.verdict == "holds"),
            *[encryption[:1].upper() + encryption[1:] + "."] * bool(encryption),
            *[check.assumes for check in checks.checks if check.assumes and not check.failed][:5],
        ],
    }


def encryption_assumed(case: CellContext) -> str:
    """Name the lines that only encryption closes to the adversary, where something is proved; else empty."""
    lines = case.observation.lines
    if not lines.closed or not isinstance(proof_of(case), Clearance):
        return ""
    closed, used = len(lines.closed), len(lines.used)
    return f"{'the' if closed == used else f'{closed} of'} {used} lines in use are {ENCRYPTION_ASSUMES}"


def stated(case: CellContext) -> str:
    """Put into words what is proved of a cell, for a report: of its messages, or of each node by noise."""
    outcome = proof_of(case)
    if isinstance(outcome, Clearance) or isinstance(case.setup, SumSetup):
        return in_words(outcome, encryption_assumed(case))
    noise = {node: noise_clearance(case, node) for node in case.judged}
    if None in noise.values():
        return in_words(outcome)
    nodes: dict[str, list[int]] = {}
    for node, bound in noise.items():
        nodes.setdefault(in_words(bound), []).append(node)
    return " ".join(f"{nodes_listed(which).capitalize()}: {text}" for text, which in nodes.items())


def leaked(case: CellContext) -> list[str]:
    """Return the basis of the leaked subspaces in words; nothing where the protocol does not sum."""
    if not isinstance(case.observation, SumObservation):
        return []
    described = [words for _, reading in case.observation.all_readings for words in reading.subspace.describe()]
    return list(dict.fromkeys(described))


def notes(case: CellContext) -> list[str]:
    """Say what a reader of the cell's numbers must know."""
    cell, observation = case.cell, case.observation
    draws = [
        f"{cell.runs} runs; in each, rows are drawn anew without replacement from {case.setup.source}",
        *_few_rows(case.setup),
    ]
    if isinstance(case.setup, SumSetup):
        assert isinstance(observation, SumObservation)
        if observation.runs < cell.runs:
            draws[0] += (
                f"; {observation.runs} were made: exact evidence does not depend on their number, and each is long"
            )
        if case.setup.unprobed and SumTraits.of(case.setup.protocol).modulus is None:
            draws.append(f"other sizes of masks are not tried: {case.setup.unprobed}")
        return [*draws, *_notes_on_sums(cell), *observation.unmet_premises]
    assert isinstance(case.setup, CollaborationSetup)
    assert isinstance(observation, CollaborationObservation)
    premises = [*CollaborationTraits.of(case.setup.protocol).premises(readable(case)), *observation.unmet_premises]
    few_alike = [observation.few_alike] * bool(observation.few_alike)
    return [*draws, *_notes_on_collaborations(case), *premises, *few_alike, *notes_on_groups(case)]


def _few_rows(setup: Setup) -> list[str]:
    """Name the nodes with so few rows that runs hardly differ."""
    if setup.groups is None:
        return []
    own = "each node draws from the rows of its own group, "
    sizes = [
        f"node {i}: {count} of {len(rows)}"
        for i, (count, rows) in enumerate(zip(setup.counts, setup.groups, strict=True))
    ]
    small_groups = [
        f"node {i} has {len(rows)} rows to draw {count} from in each run: too few for resampling, what is measured of "
        "it says little"
        for i, (count, rows) in enumerate(zip(setup.counts, setup.groups, strict=True))
        if math.comb(len(rows), count) < _SAMPLES or len(rows) < _ROWS
    ]
    return [own + "; ".join(sizes), *small_groups]


def _notes_on_sums(cell: Scenario) -> list[str]:
    notes = [
        "exact evidence treats the summed vectors as independent between nodes and iterations; "
        "the measured evidence does not",
    ]
    if blurred := blurring(cell):
        notes.append(
            f"what enters the sums is blurred ({blurred}): a sum or vector that is known is the blurred one, "
            "and of the rows exact evidence is an upper bound"
        )
    return notes


def _notes_on_collaborations(case: CellContext) -> list[str]:
    bounded = all(isinstance(noise_clearance(case, node), Clearance) for node in case.judged)
    more = "noise bounds what is known" if bounded else "what is shown is there, but there may be more"
    read = "the protocol is not a sum"
    if isinstance(case.setup, CollaborationSetup) and isinstance(case.setup.protocol, Released):
        read = "the adversary reads the released result and no message before"
    notes = [f"{read}, so no exact evidence applies: {more}"]
    if "reconstruction" not in case.cell.measure.evidence:
        notes.append("attacks made for its kinds of message were not tried: evidence 'reconstruction' was left out")
    return notes


def corrupt_nodes(setup: Setup) -> list[NodeSummary]:
    """Return the lines of the adversary's own nodes."""
    known = AdversaryTraits.of(setup.adversary).reads_result
    why = "its rows are known from elsewhere" if known else "one of the adversary's own"
    return [
        NodeSummary(node=i, standing="corrupt", worst=1.0, why=why, verdict="not asked") for i in sorted(setup.corrupt)
    ]


def sentence(
    verdict: str,
    nodes: list[NodeSummary],
    robustness: Robustness | None,
    covers: str = "",
    claim: PrivacyClaim | None = None,
    *,
    public: bool = False,
) -> str:
    """Put the verdict on a cell into a sentence, for a reader in a hurry; ``covers`` are the iterations it is of.

    ``public`` says that the adversary reads the result alone.
    """
    if claim is not None and all(node.verdict == "not asked" for node in nodes) and robustness is None:
        return f"{claim.why[0].upper()}{claim.why[1:]}."  # nothing else is asked

    def having(standing: str) -> tuple[str, str]:
        numbers = [s.node for s in nodes if s.standing == standing]
        return nodes_listed(numbers) if numbers else "", "leak" if len(numbers) > 1 else "leaks"

    sentences = []
    if who := having("revealed")[0]:
        sentences.append(f"the data of {who} are revealed")
    if (partly := having("partly leaked"))[0]:
        leaks = f"{' '.join(partly)} more than the output does"
        sentences.append(f"the released result tells of {partly[0]}" if public else leaks)
    if who := having("bounded by noise")[0]:
        sentences.append(f"what is known of {who} is bounded by noise")
    if who := having("no more than the output itself reveals")[0]:
        sentences.append(f"of {who} no more is shown than the output itself reveals")
    if who := having("inconclusive")[0]:
        sentences.append(f"for {who} the evidence about leakage does not suffice")
    if robustness is not None:
        sentences.append(robustness.why)
    if claim is not None:
        sentences.append(claim.why)
    text = "; ".join(sentences) or "no honest node was asked about"
    text += f"; that is proved {covers}" if covers and verdict == "holds" else ""
    if verdict == "inconclusive":
        text += "; whether the policy holds could not be decided"
        first = max((s for s in nodes if s.verdict == "inconclusive"), key=lambda s: s.worst, default=None)
        if first is not None:
            reasons_alone = [part for part in first.why.split("; ") if not part.startswith(_LEFT_OUT)]  # these follow
            text += f" (node {first.node}: {brief('; '.join(reasons_alone), _MOST_WHY)})" if reasons_alone else ""
    return text[0].upper() + text[1:] + "."


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
        more_runs = f"{_MORE * runs} runs in place of {runs}" if runs else "more runs"
        return f"it is not resolved and may read low; {more_runs} may resolve it"
    needed = runs_needed(finding, finding.limit, runs) if runs else None
    more_runs = f"about {needed} runs in place of {runs}" if needed else "more runs than can be asked for"
    if finding.normalised_leakage > finding.limit:
        return f"if the number stays, {more_runs} would show it violated"
    return f"if the number stays, {more_runs} would decide" if cleared else "only a proof clears, whatever the runs"
