"""Release page of a report: readers, attacks tried, proofs, and controls that acted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from secmix.auditing import decide
from secmix.auditing.cell_parts import BOUND_ASSUMES, ENCRYPTION_ASSUMES, FAULTS
from secmix.auditing.evidence.interface import kinds
from secmix.auditing.released.membership import NAME as MEMBERSHIP
from secmix.auditing.report import Cell, Finding, Report
from secmix.errors import SecmixError
from secmix.estimators.row_membership import RATE
from secmix.reporting import words
from secmix.reporting.linked import plain
from secmix.reporting.release.page import Output, Reader, ReleaseControl, ReleasePage, untried_public
from secmix.reporting.release.questions import questions_of_report
from secmix.reporting.summary import adversary_in_words
from secmix.scenario import Scenario
from secmix.scenario.scenario import from_dict

_ALWAYS = (
    "what every proof assumes: see “What a proof assumes”, on the page “What a verdict means” of the documentation"
)
_AS_AN_OUTSIDER = (
    "Whoever publishes the averages or models of every iteration, or messages, gives the public what an outsider below "
    "has."
)
_MOST_NODES = 12
_MOST_REASONS = 4


def release_page(report: Report) -> ReleasePage:
    """Build the page from a report; every verdict on it is the report's own."""
    by_protocol: dict[str, list[Cell]] = {}
    for cell in report.cells:
        by_protocol.setdefault(cell.protocol, []).append(cell)
    outputs = [_output(report, name, cells) for name, cells in by_protocol.items()]
    return ReleasePage(
        secmix_version=report.secmix_version,
        title=report.title,
        verdict=report.verdict,
        sentence=report.sentence,
        description=report.description,
        policy=report.policy,
        outputs=outputs,
        accepted=report.accepted,
        not_tried=report.not_tried,
        questions=questions_of_report(report, outputs),
        reproduce=report.reproduce,
    )


def _output(report: Report, name: str, cells: Sequence[Cell]) -> Output:
    readers = [_reader(report, cell) for cell in sorted(cells, key=_reach)]
    if not any(cell.public for cell in cells):
        readers.insert(0, _untried(report, cells))
    return Output(
        name=name,
        what=_what_leaves(next((cell for cell in cells if not cell.public), cells[0])),
        verdict=decide.worst(cell.verdict for cell in cells),
        readers=readers,
        controls=_controls(report, name, cells),
    )


def _what_leaves(cell: Cell) -> str:
    if cell.is_collaboration:
        return "What each node ends with: a mixture, a model, a basis or groups"
    averages = "The average of the nodes' vectors, in every iteration"
    return averages if cell.output_error is None else f"{averages}, and the mixture that is fitted from them"


def _reach(cell: Cell) -> tuple[int, int]:
    """Sort the public first, then outsiders, then the server, then nodes by their number."""
    return (-1 if cell.public else 1 if cell.server else 2 if cell.corrupt else 0, len(cell.corrupt))


def _is_outsider(cell: Cell) -> bool:
    return not cell.public and not cell.server and not cell.corrupt


def _untried(report: Report, cells: Sequence[Cell]) -> Reader:
    """Say that the result by itself was not attacked; what it tells an outsider is known where it is exact."""
    known = [
        finding.baseline
        for cell in cells
        if _is_outsider(cell)
        for finding in words.findings_of(report, cell)
        if finding.baseline is not None
    ]
    sentences = ["The audit takes the result as meant to be known, and asks what is learnt beyond it."]
    if known:
        sentences.append(
            f"The result by itself explains up to {words.share(max(known))} of what there is to know of a node "
            "(0 nothing, 1 all; exact for Gaussian data)."
        )
    undecided = [
        "Whether the result by itself tells of single rows: no attack on the result alone was tried. "
        'adversary = "public" tries some.',
        *[_AS_AN_OUTSIDER] * any(_is_outsider(cell) and cell.verdict in FAULTS for cell in cells),
    ]
    return untried_public("The result.", undecided, sentences)


def _reader(report: Report, cell: Cell) -> Reader:
    holds = list(_proved(cell))
    return Reader(
        who=plain(adversary_in_words(cell)),
        verdict=cell.verdict,
        reads=[words.readable(cell)],
        found=[cell.sentence, *_violations(cell), *_members(report, cell)],
        tried=list(_tried(cell, words.findings_of(report, cell))),
        holds=holds,
        assumptions=_assumptions(cell) if holds else [],
        undecided=list(_undecided(cell)),
        accepted=list(_accepted(cell)),
    )


def _assumptions(cell: Cell) -> list[str]:
    """Return the assumptions of the cell's proofs, with the common one if none else is printed."""
    of_some = [each for each in cell.assumptions if each != BOUND_ASSUMES and ENCRYPTION_ASSUMES not in each]
    return [*cell.assumptions, *[_ALWAYS] * (not of_some)]


def _parts(cell: Cell) -> list[tuple[str, Any]]:
    """List what has a verdict of its own beside the nodes."""
    named = [
        ("how far colluders push the result", cell.robustness),
        ("who would have to collude", cell.coalitions),
        ("the claim of differential privacy", cell.claim),
    ]
    return [(name, part) for name, part in named if part is not None]


def _nodes(cell: Cell, nodes: Iterable[int]) -> str:
    labels = [cell.label(node) for node in nodes]
    shown = ", ".join(labels[:_MOST_NODES])
    more = f" and {len(labels) - _MOST_NODES} more" if len(labels) > _MOST_NODES else ""
    return f"{'node' if len(labels) == 1 else 'nodes'} {shown}{more}"


def _by_reason(cell: Cell, verdict: str) -> list[str]:
    """Say of honest nodes with one verdict how they stand and why; what is the same of several, once."""
    reasons: dict[str, list[int]] = {}
    for node in words.honest(cell):
        if node.verdict == verdict:
            reasons.setdefault(f"{node.standing}; {node.why}", []).append(node.node)
    lines = [f"{_nodes(cell, nodes)}: {reason}" for reason, nodes in reasons.items()]
    more = len(lines) - _MOST_REASONS
    return lines if more <= 1 else [*lines[:_MOST_REASONS], f"{more} more such nodes: see the full report"]


def _violations(cell: Cell) -> list[str]:
    """Name the violations, with their reasons, that the cell's sentence leaves out."""
    stated, violated = cell.sentence.casefold(), [(name, p.why) for name, p in _parts(cell) if p.verdict == "violated"]
    parts = [f"{name}: {why}" for name, why in violated if why.rstrip(".").casefold() not in stated]
    return [*_by_reason(cell, "violated"), *parts]


def _proved(cell: Cell) -> Iterable[str]:
    """Say what is proved: of nodes that hold with the proof, and of each other question that holds."""
    nodes = _by_reason(cell, "holds")
    yield from nodes
    if nodes and cell.proof:
        yield cell.proof
    if nodes and cell.covers:
        yield f"this is said {cell.covers}"
    yield from (f"{name}: {part.why}" for name, part in _parts(cell) if part.verdict == "holds")


def _undecided(cell: Cell) -> Iterable[str]:
    yield from _by_reason(cell, "inconclusive")
    yield from (f"{name}: {part.why}" for name, part in _parts(cell) if part.verdict == "inconclusive")
    if cell.verdict in FAULTS and cell.proof.startswith("Not proved"):
        yield cell.proof
    yield from (f"left out: {text}" for text in cell.unmeasured)
    if silent := [node.node for node in words.honest(cell) if node.verdict == "not asked"]:
        yield f"{_nodes(cell, silent)}: the policy sets no limit to what is learnt of it"
    if words.unexplained(cell):
        yield "the verdict is worse than that of any node: see the full report"


def _members(report: Report, cell: Cell) -> Iterable[str]:
    """Report the highest rate, over nodes, at which membership of a row is detected, with interval and command."""
    tests = [finding for finding in words.findings_of(report, cell) if finding.evidence == MEMBERSHIP]
    for worst in sorted(tests, key=lambda finding: -(finding.low or 0.0))[:1]:
        rate = f"true-positive rate {worst.value or 0.0:.1%} at a false-positive rate of {RATE:.0%}"
        interval = f"{worst.low or 0.0:.1%} to {worst.high or 0.0:.1%} with {worst.percent} confidence"
        yield (
            f"membership of a row of {_nodes(cell, [worst.node])}: {rate}, {interval}; {worst.method}, "
            f"{worst.notes[1]}; the most of {len(tests)} node{'s' * (len(tests) != 1)}; got again by {cell.reproduce}"
        )


def _tried(cell: Cell, findings: Sequence[Finding]) -> Iterable[str]:
    """Name what was tried; of attacks that were counted, in how many runs the data came out, at most."""
    if cell.proof:
        yield "a proof from the protocol's own code"
    titles = {kind.name: kind.title for kind in kinds()}
    of_kind: dict[str, list[Finding]] = {}
    for finding in findings:
        of_kind.setdefault(finding.evidence, []).append(finding)
    for kind, evidence in of_kind.items():
        count = len({finding.node for finding in evidence})
        runs = [(f.hits, f.runs) for f in evidence if f.hits is not None and f.runs]
        best = max(runs, key=lambda run: (run[0] or 0) / (run[1] or 1), default=None)
        often = f"up to {best[0]}" if best and best[0] else "none"
        came = f"; the data came out in {often} of {best[1]} runs" if best else ""
        yield f"{titles.get(kind, kind)} ({count} node{'s' * (count != 1)}{came})"
    if cell.robustness:
        yield f"attacks on the result: {', '.join(damage.attack for damage in cell.robustness.damages) or 'none'}"
    if cell.coalitions:
        yield f"a search for coalitions of up to {cell.coalitions.limit}"
    if cell.claim and cell.claim.nodes:
        yield "the claimed epsilon, from the code and in runs on neighbouring data"


def _accepted(cell: Cell) -> Iterable[str]:
    reasons: dict[str, list[int]] = {}
    for node in cell.nodes:
        if node.accepted is not None:
            reasons.setdefault(node.accepted, []).append(node.node)
    yield from (f"{_nodes(cell, nodes)}: {reason}" for reason, nodes in reasons.items())
    yield from (f"{name}: {part.accepted}" for name, part in _parts(cell) if part.accepted is not None)


def _controls(report: Report, name: str, cells: Sequence[Cell]) -> list[ReleaseControl]:
    """List settings of the protocol, noise and claims; a control acted only where a verdict rests on it."""
    controls = [
        ReleaseControl(
            name=f"{key} = {value}",
            acted="not shown",
            how=f"a setting of the protocol: {'off' if value is False else 'in force'} in every run; what it is "
            "worth is in the verdicts alone",
        )
        for key, value in _settings(report, name)
    ]
    for cell in cells:
        if bounded := [node.node for node in cell.nodes if node.standing == "bounded by noise"]:
            how = f"against {cell.adversary} it is proved to bound what is known of {_nodes(cell, bounded)}"
            controls.append(ReleaseControl(name="noise of the nodes", acted="acted", how=how))
        if cell.claim and cell.claim.verdict != "not asked":
            controls.append(_claim(cell))
    return controls


def _claim(cell: Cell) -> ReleaseControl:
    claim = cell.claim
    assert claim is not None
    acted: Any = {"holds": "acted", "violated": "fell short"}.get(claim.verdict, "not shown")
    name = f"claimed noise: {claim.terms} of at most {claim.epsilon:g}"
    return ReleaseControl(name=name, acted=acted, how=f"against {cell.adversary}: {claim.verdict}; {claim.why}")


def _settings(report: Report, protocol: str) -> list[tuple[str, Any]]:
    """Return the settings of a protocol as the scenario has them; none where it cannot be read again."""
    for cell in _cells_of(report):
        if cell.protocol.title == protocol:
            return list(cell.protocol.settings.items())
    return []


def _cells_of(report: Report) -> list[Scenario]:
    try:
        return list(from_dict(report.scenario).cells())
    except SecmixError:
        return []
