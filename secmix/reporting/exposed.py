"""Who would have to collude, in words and tables: on the terminal, in Markdown, in cells of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from secmix._base.naming import called, label, named
from secmix.auditing.report import Coalitions, NodeCoalition
from secmix.reporting.words import clean

if TYPE_CHECKING:
    from rich.console import Console

_ROWS = 40


def print_exposures(found: Sequence[Any], console: Console) -> None:
    """Print what ``secmix.exposing.exposures`` found: for each protocol the verdict, and a line a node."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from secmix.reporting.formats.terminal import verdict_text

    for judged in found:
        exposure = judged.exposure
        console.print()
        console.print(Text(clean(judged.title), style="bold"))
        sign = Text() if judged.verdict is None else verdict_text(judged.verdict, console).append("  ")
        console.print(Text.assemble(sign, clean(judged.why)))
        least = "none found" if exposure.least is None else f"{exposure.least:g}"
        what = "summed vector" if exposure.level == "input" else f"sum over at most {exposure.most_rows} rows"
        console.print(Text(f"Smallest coalition: {least}. Exposed means: {what} known. By {clean(exposure.method)}."))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        names = ["Node", "Smallest coalition", "Group"]
        names += ["Known"] if exposure.level == "rows" else []
        names += ["Fewest lines", "Nodes and lines"] if exposure.nodes and exposure.nodes[0].taps else []
        for name in [*names, "Proof"]:
            table.add_column(name, overflow="fold")
        for each in sorted(exposure.nodes, key=_how_bad)[:_ROWS]:
            row = [
                label(each.node, judged.names),
                _who(each.colluders, exposure.limit, judged.names),
                _listed(sorted(each.group), judged.names),
            ]
            row += [each.known] if exposure.level == "rows" else []
            if each.taps is not None:
                row += [_who(way, exposure.limit, judged.names) for way in (each.taps, each.both)]
            table.add_row(*map(Text, map(clean, [*row, _proof(each.colluders, judged.names)])))
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


def _how_bad(each: Any) -> tuple[float, float, int]:
    """Order nodes by what it takes to expose them, the least first; those not decided by what they need at least."""
    found = each.colluders
    needs = found.cost if found.cost is not None else found.at_least if found.status == "inconclusive" else math.inf
    return needs, found.at_least, each.node


def _who(found: Any, limit: float, names: Sequence[str]) -> str:
    if found is None:
        return ""
    if found.nodes is None:
        if found.status == "inconclusive":
            return f"not decided; at least {found.at_least:g} are needed"
        return "none at all" if found.at_least == float("inf") else f"none up to {limit:g}"
    named = [*sorted(found.owners)] or [label(node, names) for node in sorted(found.nodes)]
    named += ["–".join(label(end, names) for end in line) for line in sorted(found.lines)]
    doubt = "" if found.status == "found" else " (perhaps fewer)"
    return (", ".join(named) or "an outsider") + doubt


def _proof(found: Any, names: Sequence[str]) -> str:
    if found.status == "inconclusive":
        return named(str(found.reason), names)
    if not found.proof.guards:
        return str(found.proof.method)
    sizes = "needs somebody of each: " + " ".join(
        "{" + ",".join(label(a, names) if isinstance(a, int) else str(a) for a in sorted(guard, key=str)) + "}"
        for guard in found.proof.guards[:6]
    )
    if found.proof.guards == (frozenset(),):
        return "everybody else together does not"
    return sizes + (f" and {len(found.proof.guards) - 6} more" if len(found.proof.guards) > 6 else "")


def coalition(each: NodeCoalition, limit: int, names: Sequence[str] = ()) -> str:
    """The smallest coalition in words."""
    if each.coalition is None:
        if each.status == "inconclusive":
            return "not decided"
        return "none at all" if each.at_least is None else f"none up to {limit}"
    doubt = "" if each.status == "found" else " (perhaps fewer)"
    whose = f" (owners {', '.join(each.owners)})" if each.owners else ""
    return (_listed(each.coalition, names) or "an outsider on the open lines") + whose + doubt


def exposes(each: NodeCoalition, names: Sequence[str] = ()) -> str:
    """What the coalition knows, in words."""
    if each.coalition is None:
        return "–"
    if each.known == "exact":
        return f"the vector of {called(each.node, names)}, exactly"
    how = {"recovered": ", from which they come out", "counted": ", by count"}.get(each.known, ", blurred")
    return f"a sum over {each.rows} row{'s' * (each.rows > 1)} of {_listed(each.group, names)}{how}"


def guarded(each: NodeCoalition, names: Sequence[str] = ()) -> str:
    """Why nobody fewer does."""
    if each.status == "inconclusive":
        return each.why
    if each.at_least is None:
        return "everybody else together does not expose it"
    if not each.guards:
        return "an exhaustive search" if each.coalition or each.coalition is None else "nobody is needed"
    some = " ".join(f"{{{_listed(guard, names)}}}" for guard in each.guards[:8])
    return f"needs somebody of each: {some}" + (f" and {len(each.guards) - 8} more" if len(each.guards) > 8 else "")


def markdown(
    found: Coalitions, escape: Callable[[str], str], table: Callable[..., str], names: Sequence[str] = ()
) -> list[str]:
    """The section of a report in Markdown."""
    rows = [
        tuple(
            map(
                escape,
                (
                    label(each.node, names),
                    coalition(each, found.limit, names),
                    exposes(each, names),
                    guarded(each, names),
                ),
            )
        )
        for each in found.nodes
    ]
    parts = [
        "### Who would have to collude",
        f"**{found.verdict}**: {escape(found.why)}",
        table(("Node", "Smallest coalition", "What it knows", "Proof that nobody fewer does"), rows),
        f"Searched up to coalitions of {found.limit}, by {escape(found.method)}.",
        *map(escape, found.notes),
    ]
    if found.command:
        parts.append(f"Audit this coalition: `{found.command.replace('`', '')}`")
    return parts


def _listed(nodes: Sequence[int], names: Sequence[str]) -> str:
    return ", ".join(label(node, names) for node in nodes)
