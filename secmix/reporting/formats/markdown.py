"""report.md: the same content as the page, as tables, for a pull request or a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from secmix.auditing.cell_parts import FAULTS, IN_VAIN, NodeSummary, PrivacyClaim, Robustness
from secmix.auditing.report import Cell, Finding, Report, covered
from secmix.reporting import robustness as robust
from secmix.reporting import words
from secmix.reporting.figures.curves import picture_alt
from secmix.reporting.formats import exposure_tables
from secmix.reporting.glossary import HOW_TO_READ, glossary
from secmix.reporting.summary import summary

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_ENTITY = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}


def escape(text: str) -> str:
    """Escape ``text`` to one line of Markdown that shows itself: no tag, link, table cell or mention.

    >>> escape("a|b <script>")
    'a\\\\|b &lt;script&gt;'
    >>> escape("1. not a list")
    '1&#46; not a list'
    """
    flat = "".join(_ENTITY.get(sign, sign) for sign in _SPECIAL.sub(r"\\\1", " ".join(text.split())))
    # Bare addresses become links; an entity in place of one of their characters prevents that.
    flat = flat.replace("://", "&#58;//").replace("www.", "www&#46;")
    if re.match(r"\d+[.)](\s|$)", flat):
        return re.sub(r"^(\d+)([.)])", lambda m: f"{m[1]}&#{ord(m[2])};", flat)
    return "\\" + flat if re.match(r"[-+#=:]", flat) else flat


def fenced(text: str, language: str = "") -> str:
    """Put ``text`` into a code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _bullets(items: Iterable[str], otherwise: str) -> str:
    return "\n".join(f"- {escape(item)}" for item in items) or otherwise


def render(report: Report) -> str:
    """Render the whole report as GitHub-flavoured Markdown; only tables need that dialect."""
    safe = words.cleaned(report)
    parts = [
        f"# {escape(safe.title)}",
        *map(escape, summary(safe)),
        f"**{escape((safe.headline or safe.verdict).upper())}.** {escape(safe.sentence)}",
        *(escape(paragraph) for paragraph in safe.description.split("\n\n") if paragraph.strip()),
        *(f"Data: {escape(data)}." for data in [words.data_of(safe.scenario)] if data),
        "## Protocols against adversaries",
        _matrix(safe),
        *[f"“Holds” is proved{covered(safe.cells)}, under the assumptions listed with each combination."]
        * any(cell.verdict == "holds" for cell in safe.cells),
        *_robustness_overview(safe),
    ]
    for k, cell in words.numbered(safe):
        parts += _cell(safe, cell, k)
    parts += ["## What this audit did not try", _bullets(safe.not_tried, "No list was given.")]
    parts += ["## How to read this report", HOW_TO_READ]
    parts.append("\n".join(f"- **{escape(term)}**: {escape(meaning)}" for _, term, meaning in glossary(safe)))
    versions = "".join(f", {name} {version}" for name, version in safe.versions.items())
    parts += [
        "## How to get these numbers again",
        fenced(safe.reproduce),
        f"Seed {safe.seed}. Versions: secmix {escape(safe.secmix_version)}{escape(versions)}. Policy: {_policy(safe)}.",
        fenced(words.toml(safe.scenario) or "(empty)", "toml"),
    ]
    return "\n\n".join(parts) + "\n"


def _policy(report: Report) -> str:
    return "; ".join(map(escape, words.limits(report)))


def _matrix(report: Report) -> str:
    rows = [
        (
            f"[{k}](#cell-{k})",
            escape(cell.protocol),
            escape(cell.adversary),
            f"**{cell.verdict}**",
            words.SHORT.get(words.worst_standing(cell), words.worst_standing(cell)),
            words.tally(cell),
        )
        for k, cell in words.numbered(report)
    ]
    return _table(("", "Protocol", "Adversary", "Verdict", "Worst standing", "Honest nodes"), rows)


def _leakage(node: NodeSummary) -> str:
    return escape(words.share(node.worst)) if words.is_share(node) else "see why"


def _cell(report: Report, cell: Cell, k: int) -> list[str]:
    measured = words.is_measured(cell)
    parts = [
        f'<a id="cell-{k}"></a>\n\n## {k}. {escape(cell.protocol)} against {escape(cell.adversary)}',
        f"**{cell.verdict.upper()}.** {escape(cell.sentence)}",
        f"{words.readable(cell)} Corrupt nodes: {escape(', '.join(map(cell.label, cell.corrupt))) or 'none'}."
        + ("" if cell.is_collaboration or not measured else f" Output error: {words.number(cell.output_error)}."),
        _table(
            ("Node", "Standing", "Worst leakage", "Why", "Verdict"),
            (
                (
                    escape(cell.label(node.node)),
                    node.standing,
                    "its own" if node.standing == "corrupt" else _leakage(node) if measured else "not measured",
                    escape(node.why),
                    f"**{node.verdict}**" if node.verdict in FAULTS else node.verdict,
                )
                for node in words.by_severity(cell)
            ),
        ),
    ]
    if not cell.is_collaboration:
        known = ", ".join(f"`{item.replace('`', '')}`" for item in map(_flat, cell.leaked))
        parts.append(f"Known exactly: {known or words.nothing_exact(report, cell).lower()}")
    if cell.claim:
        parts += _claim(cell, cell.claim)
    if cell.coalitions:
        parts += exposure_tables.markdown(cell.coalitions, escape, _table, cell.names)
    if cell.picture:
        parts.append(f"Drawn in report.html: {escape(picture_alt(cell.picture, cell.names))}")
    if cell.robustness:
        parts += _robustness_of_cell(cell, cell.robustness)
    if cell.curves:
        parts += ["### Leakage against iteration", _curves(cell)]
    if cell.sigma_curve:
        points = (
            (words.size(p.sigma), escape(words.share(p.normalised_leakage)), words.number(p.error))
            for p in cell.sigma_curve
        )
        parts += ["### Privacy and accuracy against the mask size"]
        parts += [_table(("σ", "Normalised leakage", "Relative error"), points)]
    parts += ["### What to change", _bullets(cell.advice, words.no_advice(cell))]
    if vain := [f"{trial.advice} {trial.found}" for trial in cell.trials if trial.outcome in IN_VAIN]:
        parts += ["### Tried, and of no use", _bullets(vain, "")]
    if cell.proof:
        parts += ["### What is proved", escape(cell.proof)]
    if cell.assumptions:
        parts += ["### What the verdict assumes", _bullets(cell.assumptions, "")]
    if any(check.outcome != "not applicable" for check in cell.checks):
        lines = [f"{check.name}: {check.outcome}. {check.sentence}" for check in cell.checks]
        parts += ["### Checks of its premises", _bullets(lines, "")]
    if cell.notes:
        parts += ["### Notes", _bullets(cell.notes, "")]
    findings = words.findings_of(report, cell)
    if findings:
        parts += ["### Findings", _findings(cell, findings)]
    return [*parts, fenced(cell.reproduce)]


def _claim(cell: Cell, claim: PrivacyClaim) -> list[str]:
    rows = (
        (
            escape(cell.label(node.node)),
            "none" if node.proved is None else f"{node.proved:.4g}",
            escape(words.least_epsilon(node)),
            f"**{node.verdict}**" if node.verdict in FAULTS else node.verdict,
        )
        for node in claim.nodes
    )
    parts = ["### The claim of differential privacy", f"**{claim.verdict.upper()}.** {escape(claim.why)}."]
    if claim.nodes:
        parts += [_table(("Node", "Proved at most", "Seen at least", "Verdict"), rows)]
        parts.append(_bullets(words.about_claim(cell, claim), ""))
    if claim.spent:
        spent = ([escape(text) for text in row] for row in words.spent(cell, claim))
        parts += ["#### What was spent", escape(words.about_spent(claim)), _table(words.SPENT, spent)]
    if code := words.to_paste(claim):
        parts.append(fenced(code, "python"))
    return parts


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _curves(cell: Cell) -> str:
    rows = (
        (
            escape(cell.label(curve.node)),
            escape(curve.evidence),
            str(iteration),
            escape(words.share(single)),
            escape(words.share(cumulative)),
        )
        for curve in cell.curves
        for iteration, single, cumulative in zip(curve.iterations, curve.single, curve.cumulative, strict=False)
    )
    return _table(("Node", "Evidence", "Iteration", "That iteration alone", "All so far"), rows)


def _trust(finding: Finding) -> str:
    interval = words.interval(finding)
    return f"{'' if interval == finding.kind else interval + '; '}{finding.kind}, {finding.status}"


def _findings(cell: Cell, findings: Iterable[Finding]) -> str:
    rows = (
        (
            escape(cell.label(f.node)),
            f"{f.evidence}: {words.asked(f)}",
            escape(f.method),
            escape(f"{words.amount(f)} ({_trust(f)})"),
            escape(" ".join(filter(None, (words.share(f.normalised_leakage), words.share_interval(f))))),
            "–" if f.baseline is None else escape(words.share(f.baseline)),
            "–" if f.limit is None else escape(words.share(f.limit)),
            f.verdict or "–",
            escape("; ".join(f.notes)),
        )
        for f in findings
    )
    head = ("Node", "Question", "Method", "Number", "Normalised", "Baseline", "Limit", "Verdict", "Notes")
    return _table(head, rows)


def _robustness_overview(report: Report) -> list[str]:
    """Render privacy against robustness, and protocols against attacks; empty without robustness."""
    trades = robust.trades(report)
    if not trades:
        return []
    rows = (
        (
            f"[{t.k}](#cell-{t.k})",
            escape(t.cell.protocol),
            escape(t.cell.adversary),
            t.revealed,
            ("not asked" if t.leakage is None else escape(words.share(t.leakage)))
            + (f" (inconclusive for {t.doubtful} nodes)" if t.doubtful else ""),
            robust.breaks(t.cell, t.robustness),
            robust.proven(t.cell, t.robustness),
            f"{escape(t.error[0])} ({t.robustness.colluders} of {t.cell.n_nodes} colluding)",
            escape(t.damage[0]) + (f" ({escape(t.damage[1])})" if t.damage[1] else ""),
        )
        for t in trades
    )
    head = ("", "Protocol", "Adversary", "Honest nodes revealed", "Worst leakage", "Breakdown", "By proof")
    parts = [
        "### Privacy against robustness",
        "Each row is a trade-off: masks that hide contributions also hide forged ones, and a rule that detects forged "
        "contributions sees every contribution.",
        _table((*head, "Largest error found", "Worst error of the outcome"), rows),
        "Largest errors are in honest spreads, those of the outcome as each cell says.",
    ]
    for field in robust.fields(report):
        parts += [
            f"### Protocols against attacks by {escape(field.adversary)}",
            f"Error of the outcome, median over runs: {escape('; '.join(field.outcomes))}; "
            f"{robust.MARK} marks the worst of each row.",
            _table(
                ("Protocol", *(escape(robust.name(attack)) for attack in field.attacks)),
                (
                    (f"[{escape(cell.protocol)}](#cell-{k})", *(_worst(escape(text), top) for text, top in entries))
                    for k, cell, entries in field.rows
                ),
            ),
        ]
    return parts


def _robustness_of_cell(cell: Cell, robustness: Robustness) -> list[str]:
    """Render what colluders can do: the verdict, the errors by their number, and the damage of each attack."""
    parts = [
        "### What colluders can do to the result",
        f"**{robustness.verdict.upper()}.** {escape(robustness.why)}. Breakdown {robust.breaks(cell, robustness)}, "
        f"{robust.proven(cell, robustness)}.",
    ]
    if robustness.spent:
        parts.append(f"{escape(robustness.spent)}.")
    if robustness.points:
        points = (
            (
                f"{p.colluders} of {cell.n_nodes}",
                robust.fraction(p.fraction),
                escape(robust.error(p.found)),
                escape(robust.error(p.proven, "none")),
                escape(p.found_by),
            )
            for p in robustness.points
        )
        parts += [
            _table(("Colluders", "Fraction", "Error found", "Proven bound", "Found by"), points),
            f"{robust.measure(cell).capitalize()}; 1 is the {escape(robustness.spread)}.",
        ]
    if robustness.damages:
        far = robust.marked(d.aggregate for d in robustness.damages)
        off = robust.marked(d.model for d in robustness.damages)
        damages = (
            (
                escape(robust.name(d.attack)),
                _worst(escape(robust.error(d.aggregate)), far[k]),
                _worst(escape(robust.error(d.model, robust.NO_FIT)), off[k]),
                escape(robust.quartiles(d)),
            )
            for k, d in enumerate(robustness.damages)
        )
        own = f"Error of the aggregate with {robustness.colluders} of {cell.n_nodes}"
        parts += [_table(("Attack", own, f"Error of the outcome: {escape(robustness.outcome)}", "Quartiles"), damages)]
    return parts


def _worst(text: str, is_worst: bool) -> str:
    return f"**{text}** {robust.MARK}" if is_worst else text
