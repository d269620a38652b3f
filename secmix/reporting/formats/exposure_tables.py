"""Smallest coalitions in words and tables: on the terminal, in Markdown, and in cells of the HTML page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from secmix._base.naming import called, label, named
from secmix.auditing.cell_parts import Coalitions, NodeCoalition
from secmix.reporting.words import clean

if TYPE_CHECKING:
    from rich.console import Console

_ROWS = 40


def print_exposures(judgements: Sequence[Any], console: Console) -> None:
    """Print the results of an exposure search: for each protocol the verdict, and a line for each node."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from secmix.reporting.formats.terminal import verdict_text

    for judged in judgements:
        exposure = judged.exposure
        console.print()
        console.print(Text(clean(judged.title), style="bold"))
        sign = Text() if judged.verdict is None else verdict_text(judged.verdict, console).append("  ")
        console.print(Text.assemble(sign, clean(judged.why)))
        least = "none found" if exposure.least is None else f"{exposure.least:g}"
        what = "summed vector" if exposure.level == "input" else f"sum over at most {exposure.most_rows} rows"
        console.print(
            Text(
                f"Smallest coalition: {least}. A node is exposed if its {what} is known. Method: "
                f"{clean(exposure.method)}."
            )
        )
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        names = ["Node", "Smallest coalition", "Group"]
        names += ["Known"] if exposure.level == "rows" else []
        names += ["Fewest lines", "Nodes and lines"] if exposure.nodes and exposure.nodes[0].taps else []
        for name in [*names, "Proof"]:
            table.add_column(name, overflow="fold")
        for node in sorted(exposure.nodes, key=_how_bad)[:_ROWS]:
            row = [
                label(node.node, judged.names),
                _who(node.colluders, exposure.limit, judged.names),
                _listed(sorted(node.group), judged.names),
            ]
            row += [node.known] if exposure.level == "rows" else []
            if node.taps is not None:
                row += [_who(way, exposure.limit, judged.names) for way in (node.taps, node.both)]
            table.add_row(*map(Text, map(clean, [*row, _proof(node.colluders, judged.names)])))
        console.print(table)
        if len(exposure.nodes) > _ROWS:
            more = f"and {len(exposure.nodes) - _ROWS} more nodes, none of them worse; --json has them all"
            console.print(Text(more, style="dim"))
        for note in exposure.notes:
            console.print(Text(clean(note), style="dim"))
        if judged.repairs:
            console.print(Text("What would mend it", style="bold"))
            for repair in judged.repairs:
                console.print(Padding(Text(clean(named(repair.sentence, judged.names))), (0, 0, 0, 2)))
        if judged.unrepaired:
            console.print(Text(clean(judged.unrepaired)))


def _how_bad(node: Any) -> tuple[float, float, int]:
    """Order nodes by the cost of exposing them, the lowest first; undecided ones by the proven lower bound."""
    least = node.colluders
    needs = least.cost if least.cost is not None else least.at_least if least.status == "inconclusive" else math.inf
    return needs, least.at_least, node.node


def _who(least: Any, limit: float, names: Sequence[str]) -> str:
    if least is None:
        return ""
    if least.nodes is None:
        if least.status == "inconclusive":
            return f"not decided; at least {least.at_least:g}"
        return "none of any size" if least.at_least == float("inf") else f"none up to {limit:g}"
    named = [*sorted(least.owners)] or [label(node, names) for node in sorted(least.nodes)]
    named += ["–".join(label(end, names) for end in line) for line in sorted(least.lines)]
    note = "" if least.status == "found" else " (fewer may suffice)"
    return (", ".join(named) or "an outsider") + note


def _proof(least: Any, names: Sequence[str]) -> str:
    if least.status == "inconclusive":
        return named(str(least.reason), names)
    if not least.proof.guards:
        return str(least.proof.method)
    sizes = "must include a member of each of " + " ".join(
        "{" + ",".join(label(a, names) if isinstance(a, int) else str(a) for a in sorted(guard, key=str)) + "}"
        for guard in least.proof.guards[:6]
    )
    if least.proof.guards == (frozenset(),):
        return "all others together do not expose it"
    return sizes + (f" and {len(least.proof.guards) - 6} more" if len(least.proof.guards) > 6 else "")


def coalition(node: NodeCoalition, limit: int, names: Sequence[str] = ()) -> str:
    """Render the smallest coalition in words."""
    if node.coalition is None:
        if node.status == "inconclusive":
            return "not decided"
        return "none of any size" if node.at_least is None else f"none up to {limit}"
    note = "" if node.status == "found" else " (fewer may suffice)"
    whose = f" (owners {', '.join(node.owners)})" if node.owners else ""
    return (_listed(node.coalition, names) or "an outsider on the unencrypted lines") + whose + note


def exposes(node: NodeCoalition, names: Sequence[str] = ()) -> str:
    """Render in words what the coalition knows."""
    if node.coalition is None:
        return "–"
    if node.known == "exact":
        return f"the vector of {called(node.node, names)}, exactly"
    how = {"recovered": ", which determines them", "counted": ", by count"}.get(node.known, ", blurred")
    return f"a sum over {node.rows} row{'s' * (node.rows > 1)} of {_listed(node.group, names)}{how}"


def guarded(node: NodeCoalition, names: Sequence[str] = ()) -> str:
    """Render the proof that no smaller coalition suffices."""
    if node.status == "inconclusive":
        return node.why
    if node.at_least is None:
        return "all others together do not expose it"
    if not node.guards:
        return "an exhaustive search" if node.coalition or node.coalition is None else "no colluder is needed"
    guards = " ".join(f"{{{_listed(guard, names)}}}" for guard in node.guards[:8])
    return f"must include a member of each of {guards}" + (
        f" and {len(node.guards) - 8} more" if len(node.guards) > 8 else ""
    )


def markdown(
    coalitions: Coalitions, escape: Callable[[str], str], table: Callable[..., str], names: Sequence[str] = ()
) -> list[str]:
    """Render the section of a report in Markdown."""
    rows = [
        tuple(
            map(
                escape,
                (
                    label(node.node, names),
                    coalition(node, coalitions.limit, names),
                    exposes(node, names),
                    guarded(node, names),
                ),
            )
        )
        for node in coalitions.nodes
    ]
    parts = [
        "### Who would have to collude",
        f"**{coalitions.verdict}**: {escape(coalitions.why)}",
        table(("Node", "Smallest coalition", "What it knows", "Proof that no smaller one suffices"), rows),
        f"Coalitions of up to {coalitions.limit} were searched. Method: {escape(coalitions.method)}.",
        *map(escape, coalitions.notes),
    ]
    if coalitions.command:
        parts.append(f"Audit this coalition: `{coalitions.command.replace('`', '')}`")
    return parts


def _listed(nodes: Sequence[int], names: Sequence[str]) -> str:
    return ", ".join(label(node, names) for node in nodes)
