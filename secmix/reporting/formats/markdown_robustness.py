"""The parts of report.md about robustness: what colluders can do to the result of each protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from secmix.auditing.cell_parts import Robustness
from secmix.auditing.report import Cell, Report
from secmix.reporting import robustness as robust
from secmix.reporting import words

Escape = Callable[[str], str]
Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]


def overview(report: Report, escape: Escape, table: Table) -> list[str]:
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
        table((*head, "Largest error found", "Worst error of the outcome"), rows),
        "Largest errors are in honest spreads, those of the outcome as each cell says.",
    ]
    for field in robust.fields(report):
        parts += [
            f"### Protocols against attacks by {escape(field.adversary)}",
            f"Error of the outcome, median over runs: {escape('; '.join(field.outcomes))}; "
            f"{robust.MARK} marks the worst of each row.",
            table(
                ("Protocol", *(escape(robust.name(attack)) for attack in field.attacks)),
                (
                    (f"[{escape(cell.protocol)}](#cell-{k})", *(_worst(escape(text), top) for text, top in entries))
                    for k, cell, entries in field.rows
                ),
            ),
        ]
    return parts


def of_cell(cell: Cell, robustness: Robustness, escape: Escape, table: Table) -> list[str]:
    """Render the verdict, the errors against the number of colluders, and the damage of each attack."""
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
            table(("Colluders", "Fraction", "Error found", "Proven bound", "Found by"), points),
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
        parts += [table(("Attack", own, f"Error of the outcome: {escape(robustness.outcome)}", "Quartiles"), damages)]
    return parts


def _worst(text: str, is_worst: bool) -> str:
    return f"**{text}** {robust.MARK}" if is_worst else text
