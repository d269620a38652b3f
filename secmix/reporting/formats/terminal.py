"""The report on the terminal: the verdict, the matrix, the violated or inconclusive nodes, and the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from secmix.auditing.cell_parts import FAULTS, NodeSummary, Verdict
from secmix.auditing.report import Cell, Conclusion, Report, covered
from secmix.reporting import robustness as robust
from secmix.reporting import words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STYLE: dict[str, str] = {"violated": "bold red", "inconclusive": "bold yellow", "no worse": "yellow", "holds": "cyan"}
STYLE["not asked"] = "dim"
SIGN: dict[str, str] = {"violated": "✗", "inconclusive": "?", "no worse": "=", "holds": "●", "not asked": "–"}
_ASCII = {"violated": "x", "inconclusive": "?", "no worse": "=", "holds": "o", "not asked": "-"}
CELLS, EXPLANATIONS, TRADES = 6, 6, 12


def print_report(report: Report, console: Console, files: Sequence[Path] = ()) -> None:
    """Print ``report``: a page at most, whatever its size; the rest is in the files.

    Parameters
    ----------
    report : Report
    console : rich.console.Console
        Any width and encoding; no information is in colours alone.
    files : sequence of Path
        Files that were written; they are listed at the end.
    """
    from rich.padding import Padding
    from rich.text import Text

    safe = words.cleaned(report)
    console.print()
    console.print(Text(_line(safe.title), style="bold"))
    console.print(
        Text.assemble(verdict_text(safe.verdict, console, safe.headline or safe.verdict), "  ", _line(safe.sentence))
    )
    console.print()
    _print_matrix(safe, console)
    _print_trades(safe, console)
    _print_faults(safe, console)
    advice = _advice(safe)
    if advice:
        console.print(Text("What to change", style="bold"))
        for item in advice[:5]:
            console.print(Padding(Text(_line(item)), (0, 0, 0, 2)))
        if len(advice) > 5:
            console.print(Text(f"  and {len(advice) - 5} more in the report", style="dim"))
        console.print()
    if safe.verdict in FAULTS:
        for line in (f"Limits: {', '.join(words.limits(safe))}", f"Again: {safe.reproduce}"):
            console.print(Text(_line(line), style="dim"))
    if safe.verdict == "holds":
        proved = f"What holds is proved{covered(safe.cells)}, under assumptions that the report lists."
        console.print(Text(proved, style="dim"))
    for file in files:
        # Never cropped, so that the path can be copied.
        console.print(Text(words.clean(str(file))), soft_wrap=True, highlight=False)


def _advice(report: Report) -> list[str]:
    """List what to change, each once, after the combinations that it is for where the report has several."""
    combinations: dict[str, list[str]] = {}
    for cell in report.cells:
        if cell.verdict in FAULTS:
            for item in cell.advice:
                combinations.setdefault(item, []).append(f"{cell.protocol} against {cell.adversary}")
    if len(report.cells) == 1:
        return list(combinations)
    return [
        f"{first}{f' and {len(others)} more' if others else ''}: {item}"
        for item, (first, *others) in combinations.items()
    ]


def verdict_text(verdict: Verdict | Conclusion, console: Console, headline: str = "") -> Text:
    """Render a verdict with its sign, or a headline in its place, in colour where the console has colours."""
    from rich.text import Text

    sign = (SIGN if console.encoding.lower().startswith("utf") else _ASCII)[verdict]
    return Text(f"{sign} {_line(headline).upper() or verdict}", style=STYLE[verdict])


def _line(text: str) -> str:
    return " ".join(text.split())


def _print_matrix(report: Report, console: Console) -> None:
    """Print protocol × adversary if it fits, otherwise a line for each cell."""
    from rich.table import Table
    from rich.text import Text

    protocols = list(dict.fromkeys(cell.protocol for cell in report.cells))
    adversaries = list(dict.fromkeys(cell.adversary for cell in report.cells))
    at = {(cell.protocol, cell.adversary): cell for cell in report.cells}
    distinct = len(at) == len(report.cells)  # otherwise two cells share a place, and a matrix would hide one
    if distinct and len(adversaries) > 1 and console.width >= 20 + 22 * len(adversaries):
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("Protocol", overflow="fold")
        for adversary in adversaries:
            table.add_column(Text(_line(adversary)), overflow="fold")
        for protocol in protocols:
            row = [Text(_line(protocol))]
            for adversary in adversaries:
                cell = at.get((protocol, adversary))
                row.append(
                    Text("not audited", style="dim")
                    if cell is None
                    else Text.assemble(
                        verdict_text(cell.verdict, console),
                        "\n",
                        (words.SHORT.get(words.worst_standing(cell), words.worst_standing(cell)), "dim"),
                    )
                )
            table.add_row(*row)
    else:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("Verdict", no_wrap=True)
        table.add_column("Protocol and adversary", overflow="fold")
        for cell in report.cells:
            where = Text.assemble(_line(cell.protocol), (" against ", "dim"), _line(cell.adversary))
            table.add_row(verdict_text(cell.verdict, console), where)
    console.print(table)
    console.print()


def _verdicts_beside(cell: Cell) -> list[Verdict]:
    return [part.verdict for part in (cell.robustness, cell.claim) if part is not None]


def _print_trades(report: Report, console: Console) -> None:
    """Print privacy against robustness: a table if it fits, otherwise two lines for each cell."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    trades = robust.trades(report)
    if not trades:
        return
    several = len({trade.cell.adversary for trade in trades}) > 1
    console.print(Text("Privacy against robustness", style="bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for k, name in enumerate(("Protocol", "Revealed", "Leakage", "Breakdown", "Error found", "Means off by")):
        table.add_column(name, overflow="fold", ratio=2 if k == 0 else None)
    for t in trades[:TRADES]:
        where = _line(t.cell.protocol) + (f" against {_line(t.cell.adversary)}" if several else "")
        leakage = "not asked" if t.leakage is None else words.share(t.leakage)
        leakage += f" (not decided for {t.doubtful})" if t.doubtful else ""
        breaks = robust.breaks(t.cell, t.robustness).partition(" (")[0]
        row = (t.revealed, leakage, breaks, t.error[0], t.damage[0])
        if console.width >= 90:
            table.add_row(Text(where), *map(Text, row))
            continue
        line = f"{row[0]} revealed, leakage {row[1]}; breakdown {row[2]}; error {row[3]}, outcome off by {row[4]}"
        console.print(Padding(Text(where), (0, 0, 0, 2)))
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 4)))
    if table.row_count:
        console.print(table)
    if len(trades) > TRADES:
        console.print(Text(f"and {len(trades) - TRADES} more in the report", style="dim"))
    console.print()


def _print_faults(report: Report, console: Console) -> None:
    """Print the violated or inconclusive nodes, cell by cell; nodes with the same explanation share a line."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    faulty = [
        cell
        for cell in report.cells
        if {cell.verdict, *(node.verdict for node in cell.nodes), *_verdicts_beside(cell)} & {*FAULTS}
    ]
    faulty.sort(key=lambda cell: words.VERDICTS.index(cell.verdict))
    for cell in faulty[:CELLS]:
        where = Text.assemble(_line(cell.protocol), (" against ", "dim"), _line(cell.adversary))
        console.print(Text.assemble(verdict_text(cell.verdict, console), "  ", where))
        explanations: dict[tuple[str, str, Verdict], list[NodeSummary]] = {}
        for node in words.by_severity(cell):
            if node.verdict in FAULTS:
                explanations.setdefault((node.standing, _line(node.why), node.verdict), []).append(node)
        if words.unexplained(cell):
            console.print(Padding(Text(_line(cell.sentence)), (0, 0, 0, 3)))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(overflow="fold", max_width=14)
        table.add_column(overflow="fold", ratio=1)
        for (standing, why, verdict), nodes in list(explanations.items())[:EXPLANATIONS]:
            table.add_row(
                Text(_names(cell, [node.node for node in nodes])),
                Text.assemble((standing, STYLE[verdict]), f"{_leakage(nodes)}: {why}"),
            )
        if len(explanations) > EXPLANATIONS:
            table.add_row("", Text(f"and {len(explanations) - EXPLANATIONS} more in the report", style="dim"))
        if (measured := cell.robustness) and measured.verdict in FAULTS:
            style = STYLE[measured.verdict]
            table.add_row("colluders", Text.assemble((measured.verdict, style), f": {_line(measured.why)}"))
        if (claim := cell.claim) and claim.verdict in FAULTS:
            table.add_row("claim", Text.assemble((claim.verdict, STYLE[claim.verdict]), f": {_line(claim.why)}"))
        console.print(Padding(table, (0, 0, 1, 3)))
    if len(faulty) > CELLS:
        console.print(Text(f"and {len(faulty) - CELLS} more combinations in the report", style="dim"))
        console.print()


def _names(cell: Cell, nodes: Sequence[int]) -> str:
    labels = _line(", ".join(map(cell.label, sorted(nodes)[:6])))
    kind = "" if cell.names else f"node{'s' if len(nodes) > 1 else ''} "
    return kind + labels + (f" +{len(nodes) - 6}" if len(nodes) > 6 else "")


def _leakage(nodes: Sequence[NodeSummary]) -> str:
    """Put the range of the nodes' worst leakage in brackets; nothing where none is a share."""
    leaks = [node.worst for node in nodes if words.is_share(node)]
    if not leaks:
        return ""
    low, high = words.share(min(leaks)), words.share(max(leaks))
    return f" (leakage {low})" if low == high else f" (leakage {low} to {high})"
