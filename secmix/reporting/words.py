"""Words and numbers that every format of a report shares: rounding, order, and visible text."""

from __future__ import annotations

import math
from typing import Any

from secmix.auditing.cell_parts import NodeClaim, NodeSummary, PrivacyClaim, Standing
from secmix.auditing.decide import ORDER
from secmix.auditing.evidence.interface import evidence_of
from secmix.auditing.report import Cell, Finding, Report
from secmix.auditing.worse import STANDINGS
from secmix.errors import UNSEEN, brief

VERDICTS = ORDER[::-1]
"""Worst first."""

SHORT: dict[str, str] = {
    "no more than the output itself reveals": "no more than the output",
    "inconclusive": "leakage inconclusive",
}
"""A standing beside the verdict of its cell, which it may not explain; the section has the full words."""

_MOST_ROUNDS = 8  # that a table shows
_MOST_OF_DATA = 200  # characters that name data and their settings
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def clean(text: str) -> str:
    """Replace each character that cannot be shown as itself by U+FFFD.

    >>> clean("a\\x1b[31mb")
    'a\\ufffd[31mb'
    """
    return UNSEEN.sub("\ufffd", text.replace("\r\n", "\n"))


def cleaned(report: Report) -> Report:
    """Clean every string of the report, keys too, for the formats that people read."""
    return Report.model_validate(walk(report.to_dict()))


def walk(value: Any) -> Any:
    """Clean every string in plain values, keys too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): walk(item) for key, item in value.items()}
    return [walk(item) for item in value] if isinstance(value, list) else value


def number(value: float | None, infinity: str = "∞") -> str:
    """Format a number with three significant digits; ``None`` stands for infinity.

    >>> number(0.14384), number(None), number(3e-10), number(250.0)
    ('0.144', '∞', '3.00×10⁻¹⁰', '250')
    """
    if value is None or value == math.inf:
        return infinity
    if not math.isfinite(value):
        return "−∞" if value == -math.inf else "not a number"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:.{digits}f}".replace("-", "−")
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.replace('-', '−')}×10{superscript(int(exponent))}"


def superscript(exponent: int) -> str:
    """Format an exponent in superscript digits.

    >>> superscript(-12)
    '⁻¹²'
    """
    return str(exponent).translate(_SUPERSCRIPT)


def size(value: float) -> str:
    """Format a given number, such as a mask size, without trailing zeros.

    >>> size(1e6), size(0.1), size(1000.0), size(2.5e-9)
    ('10⁶', '0.1', '1000', '2.5×10⁻⁹')
    """
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:g}".replace("-", "−")
    mantissa, exponent = f"{value:e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    return ("" if mantissa == "1" else mantissa + "×") + f"10{superscript(int(exponent))}"


def share(value: float) -> str:
    """Format a normalised leakage with three decimals, never rounded to 0 or 1.

    >>> share(0.25), share(0.99996), share(1.0), share(2e-5)
    ('0.250', '>0.999', '1', '<0.001')
    """
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    if 0 < value < 5e-4:
        return "<0.001"
    if 0.9995 <= value < 1:
        return ">0.999"
    return f"{value:.3f}".replace("-", "−")


def _is_bound(finding: Finding) -> bool:
    """Check whether the finding bounds leakage from above; what decoders bound is an error, and that by an estimate."""
    evidence = evidence_of(finding.evidence)
    return finding.kind == "upper bound" and evidence is not None and evidence.exact


def amount(finding: Finding) -> str:
    """Format the number with its unit; information in bits as well as nats."""
    bound = _is_bound(finding)
    if finding.value is None:
        return "without bound" if bound else f"∞ {finding.unit}"
    text = f"{number(finding.value)} {finding.unit}"
    if finding.unit == "nats":
        text += f" = {number(finding.value / math.log(2))} bits"
    return ("at most " if bound else "at least " if finding.status == "unresolved" else "") + text


def interval(finding: Finding) -> str:
    """Format the interval of the number, or say why there is none."""
    if finding.kind == "exact" and finding.low == finding.high:
        return "exact"
    if _is_bound(finding):
        return "a bound, not an estimate"
    if finding.high is None and finding.low is not None and finding.low > 0:
        return f"{finding.percent}: at least {number(finding.low)}"
    return f"{finding.percent}: {number(finding.low)} to {number(finding.high)}"


def share_interval(finding: Finding) -> str:
    """Format the interval of the normalised leakage."""
    if finding.normalised_low == finding.normalised_high == finding.normalised_leakage:
        return ""
    return _between(finding.normalised_low, finding.normalised_high)


def node_interval(node: NodeSummary) -> str:
    """Format the interval of a node's worst leakage; empty if it is exact."""
    if node.worst_low >= node.worst_high:
        return ""
    text = _between(node.worst_low, node.worst_high)
    return text if text.startswith("at least") else f"[{text.replace(' to ', ', ')}]"


def is_share(node: NodeSummary) -> bool:
    """Check that a node's worst number is a share of leakage: of epsilon and membership the reason has the number."""
    evidence = evidence_of(node.worst_evidence)
    return evidence is None or node.worst > 0 or not (evidence.bounds_epsilon or evidence.tells_members)


def _between(low: float, high: float) -> str:
    """Format an interval of shares; with an upper end of 1 that bounds nothing, give the lower end only."""
    return f"at least {share(low)}" if high == 1 and 0 < low < 1 else f"{share(low)} to {share(high)}"


def asked(finding: Finding) -> str:
    """Name the question: the private value, and which iterations the adversary reads."""
    private = {"input": "its summed vector", "row": "one row of its data"}[finding.target]
    view = {"single": "one iteration", "cumulative": "all iterations"}[finding.view]
    return f"{private}, from {view}"


def numbered(report: Report) -> list[tuple[int, Cell]]:
    """Pair the cells with their numbers in the sweep; a report of one cell of several keeps that cell's."""
    return [(cell.number or k, cell) for k, cell in enumerate(report.cells, 1)]


def honest(cell: Cell) -> list[NodeSummary]:
    """List the honest nodes."""
    return [node for node in cell.nodes if node.standing != "corrupt"]


def by_severity(cell: Cell) -> list[NodeSummary]:
    """Sort the nodes, worst first; those that leak the same but for rounding by their number."""
    return sorted(
        cell.nodes,
        key=lambda node: (
            VERDICTS.index(node.verdict),
            STANDINGS.index(node.standing),
            -round(node.worst, 9),
            node.node,
        ),
    )


def worst_standing(cell: Cell) -> Standing:
    """Find the worst standing of any node; *inconclusive* if there is no node."""
    return min((node.standing for node in cell.nodes), key=STANDINGS.index, default="inconclusive")


def is_measured(cell: Cell) -> bool:
    """Say whether anything was measured; where nothing was, no leakage that is stated is a finding."""
    return not cell.unmeasured or any(node.why not in cell.unmeasured for node in cell.nodes)


def limits(report: Report) -> list[str]:
    """List the limits of the policy as a scenario has them, in any encoding."""
    values = {key: value if isinstance(value, str) else f"{value:g}" for key, value in report.policy.items()}
    return [f"{key} {value}" for key, value in values.items()] or ["none given"]


def nothing_exact(report: Report, cell: Cell) -> str:
    """Say why no combination of inputs is listed: none is known exactly, or the exact evidence does not say."""
    if not is_measured(cell):
        return "Not measured."
    of_cell = findings_of(report, cell)
    if any(each.evidence == "structure" and each.status == "unresolved" for each in of_cell):
        return "Not known: the premises of the exact evidence do not hold."
    return "No combination of inputs."


def tally(cell: Cell) -> str:
    """Count the honest nodes that are revealed, or say that nothing was measured."""
    if not is_measured(cell):
        return "not measured"
    revealed = sum(node.standing == "revealed" for node in cell.nodes)
    total = len(honest(cell))
    return f"{revealed} of {total} honest node{'s' if total != 1 else ''} revealed"


def findings_of(report: Report, cell: Cell) -> list[Finding]:
    """List all findings of a cell, node by node."""
    of_cell = [f for f in report.findings if (f.protocol, f.adversary) == (cell.protocol, cell.adversary)]
    return sorted(of_cell, key=lambda f: f.node)


def unexplained(cell: Cell) -> bool:
    """Check whether the cell's verdict is worse than that of every node, of its robustness and of its claim."""
    known = [part.verdict for part in (*cell.nodes, cell.robustness, cell.claim) if part is not None]
    return VERDICTS.index(cell.verdict) < min(map(VERDICTS.index, known), default=len(VERDICTS))


def least_epsilon(node: NodeClaim) -> str:
    """Write the lower bound of epsilon that was seen of a node, with its confidence."""
    value = "∞" if node.seen is None else f"{node.seen:.4g}"
    return f"{value} ({100 * node.confidence:.6g} % confidence)"


def about_claim(cell: Cell, claim: PrivacyClaim) -> list[str]:
    """Describe a claim: its proof from the code, its lower bound from runs, its failures; equal nodes once."""
    looks = f"the level of the audit is divided among {claim.looks} such looks"
    nodes: dict[str, list[str]] = {}
    for node in claim.nodes:
        method = f"{node.method}{f' ({node.neighbours})' if node.neighbours else ''}"
        for text in (
            f"what follows from the code: {node.follows}.",
            f"what was seen: {method}{f'; {looks}' if node.confidence < 1 else ''}.",
            *[f"where the claim fails: {node.fails}."] * bool(node.fails),
        ):
            nodes.setdefault(text, []).append(cell.called(node.node))
    return [f"{', '.join(who)}: {text}" for text, who in nodes.items()]


def spent(cell: Cell, claim: PrivacyClaim) -> list[tuple[str, str, str, str]]:
    """Write in how many rounds each node took part, and epsilon by round in the call that spends most."""
    rows = []
    for node in claim.spent:
        rounds = f"{node.least_rounds} to {node.most_rounds}" if node.least_rounds < node.most_rounds else None
        values = ["∞" if value is None else f"{value:.3g}" for value in node.epsilon]
        pairs = [f"{number}: {value}" for number, value in zip(node.rounds, values, strict=True)]
        shown = pairs if len(pairs) <= _MOST_ROUNDS else [*pairs[: _MOST_ROUNDS - 1], "…", pairs[-1]]
        rows.append((cell.label(node.node), rounds or str(node.most_rounds), ", ".join(shown), (values or ["0"])[-1]))
    return rows


SPENT = ("Node", "Rounds it took part in", "ε after each round, in the call that spends most", "ε in all")
"""Head of the table of what was spent."""


def about_spent(claim: PrivacyClaim) -> str:
    """Say what the table of spent epsilon shows."""
    more = (
        " What is sent beside releases is not counted: where no ε is proved of a node, it may have spent more, without "
        "bound."
    )
    return (
        f"{claim.spent[0].calls} calls were made, and releases counted for a node where its data changed them. Nothing "
        "is credited for the sampling of clients: messages show who takes part."
        f"{more * any(node.proved is None for node in claim.nodes)}"
    )


def to_paste(claim: PrivacyClaim) -> str:
    """Return the data sets and the score that refute a claim, of the first node for which it was refuted."""
    return next((node.paste for node in claim.nodes if node.fails and node.paste), "")


def no_advice(cell: Cell) -> str:
    """Say why a cell proposes no change."""
    if cell.unmeasured:
        return "None is proposed, since part of this combination was not audited."
    if cell.verdict == "inconclusive":
        return "No fault was shown, so no change was tried: why it could not be decided stands above."
    return "Nothing that this audit can name." if cell.verdict == "violated" else "Nothing for this policy."


def readable(cell: Cell) -> str:
    """Describe on which lines the adversary reads messages."""
    if cell.public:
        return "The adversary reads the released result, and no message that makes it."
    if cell.heard is not None and cell.used is not None:
        count, all_ = len(cell.heard), len(cell.used)
        lines = "1 line" if all_ == 1 else f"{all_} lines"
        if not count:
            return f"The adversary reads no message on any of the {lines} in use."
        if count == all_:
            return f"The adversary reads messages on {'the' if all_ == 1 else 'all'} {lines} in use."
        return f"The adversary reads messages on {count} of the {lines} in use: {_lines(cell, cell.heard)}."
    if cell.tapped is None:
        return "The adversary reads every unencrypted line."
    if not cell.tapped:
        return "The adversary taps no line."
    return f"The adversary taps the lines {_lines(cell, cell.tapped)}."


def _lines(cell: Cell, edges: list[tuple[int, int]]) -> str:
    named = ", ".join("–".join(cell.label(end) for end in edge) for edge in edges[:12])
    return named + (f" and {len(edges) - 12} more" if len(edges) > 12 else "")


def data_of(scenario: dict[str, Any]) -> str:
    """Say on which data a scenario was run, and how often; nothing where it names none.

    >>> data_of({"runs": 2000, "data": {"name": "wine", "standardise": True, "features": 2, "rows_per_node": [1, 3]}})
    'wine (standardised, features: 2, rows per node: 1, 3), 2000 runs'
    >>> data_of({"runs": 200, "data": {"name": "csv", "path": "patients.csv"}, "sweep": {"data.features": [2, 3]}})
    'patients.csv (features: 2 or 3), 200 runs'
    """
    data, swept = scenario.get("data"), scenario.get("sweep") or {}
    if not isinstance(data, dict) or not (name := data.get("path") or data.get("name")) or "data" in swept:
        return ""
    alternatives = {path: " or ".join(map(str, values)) for path, values in swept.items() if isinstance(values, list)}
    own = data | {path.removeprefix("data."): each for path, each in alternatives.items() if path.startswith("data.")}
    settings = ["standardised"] * (own.get("standardise") is True)
    for key, value in own.items():
        if key not in ("name", "path") and value is not None and not isinstance(value, bool):
            several = value if isinstance(value, list) else [value]
            settings.append(f"{key.replace('_', ' ')}: {', '.join(map(str, several))}")
    within = f" ({', '.join(settings)})" if settings else ""
    runs = alternatives.get("runs", scenario.get("runs"))
    return brief(f"{name}{within}", _MOST_OF_DATA) + (f", {runs} runs" if runs else "")


def toml(values: dict[str, Any]) -> str:
    """Render the scenario as TOML; keys without a value are left out, since TOML has no null."""
    import json

    import tomli_w

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(item) for key, item in value.items() if item is not None}
        return [filled(item) for item in value if item is not None] if isinstance(value, list) else value

    try:
        return tomli_w.dumps(filled(values), multiline_strings=False).strip()
    except (TypeError, ValueError):
        return json.dumps(values, indent=2, ensure_ascii=False, default=str)
