"""The network with the coalition that decides the verdict, the nodes that it exposes, and the guards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix._base.naming import called, label
from secmix.auditing.cell_parts import Coalitions, NodeCoalition
from secmix.auditing.report import Cell
from secmix.reporting.figures.network_figure import (
    CROWD,
    MANY,
    away,
    canvas,
    draw_dots,
    draw_name,
    draw_number,
    draw_ring,
    spots,
)
from secmix.reporting.figures.svg import COLOUR, SERIES, STYLE, inline

LETTERS = "abcdef"
_SQUARE, _EXPOSED = "#26241f", "#c8553f"


def coalition_figure(cell: Cell, coalitions: Coalitions, name: str) -> str:
    """Draw the network: the coalition as squares, the exposed group ringed, guards as letters beside their nodes.

    ``name`` must differ between figures of one page.
    """
    from matplotlib import rc_context

    exposed = coalitions.weakest
    where = spots(cell)
    coalition, group = set(exposed.coalition or ()) if exposed else set(), set(exposed.group) if exposed else set()
    if -1 in coalition and -1 not in where:
        where[-1] = np.mean(list(where.values()), axis=0)
    with rc_context(STYLE):
        figure, axes, crowded, radius = canvas(cell, 0.19)
        for a, b in cell.edges or ():  # of many nodes that are all joined the lines would hide the nodes
            cut = {a, b} & coalition
            axes.plot(
                *np.array([where[a], where[b]]).T,
                color=COLOUR["rule"] if cut else COLOUR["muted"],
                linewidth=1.0 if not cut else 1.4,
                linestyle=(0, (1, 2)) if cut else "-",
                zorder=1,
            )
        centre = np.mean(list(where.values()), axis=0)
        marked = coalition | group | ({exposed.node} if exposed else set())
        dots = [] if cell.n_nodes <= MANY else [node for node in where if node >= 0 and node not in marked]
        if dots:
            draw_dots(axes, [where[node] for node in dots], [COLOUR["paper"]] * len(dots))
        for node in sorted({*where} - {*dots}):
            spot = where[node]
            _draw(axes, node, spot, coalition, group, exposed.node if exposed else None, radius)
            if cell.names and node >= 0:
                draw_name(axes, spot, cell.label(node), radius)
            if not crowded and exposed is not None:
                _draw_letters(axes, spot, spot - centre, letters(exposed).get(node, ""), radius)
        return inline(figure, name, coalition_alt(cell, coalitions))


def _draw(
    axes: Any, node: int, spot: Any, coalition: set[int], group: set[int], asked: int | None, radius: float
) -> None:
    corrupt, exposed = node in coalition, node in group
    fill = _SQUARE if corrupt else _EXPOSED if exposed else COLOUR["paper"]
    if exposed or node == asked:
        draw_ring(axes, spot, radius, COLOUR["bad" if exposed else "ink"])
    axes.scatter(
        *spot, s=(2 * radius) ** 2, marker="s" if corrupt else "o", facecolor=fill, edgecolor=COLOUR["ink"], zorder=3
    )
    draw_number(axes, node, spot, radius, "#ffffff" if corrupt else "#000000" if exposed else COLOUR["ink"])


def _draw_letters(axes: Any, spot: Any, outward: Any, marks: str, radius: float) -> None:
    """Write the letters of the guards that a node is in, on the side away from the centre."""
    way = away(outward)
    for k, letter in enumerate(marks):
        axes.annotate(
            letter,
            spot,
            xytext=(way[0] * (radius + 11) + 8 * (k - (len(marks) - 1) / 2), way[1] * (radius + 11)),
            textcoords="offset points",
            ha="center",
            va="center",
            color=SERIES[LETTERS.index(letter) % len(SERIES)],
            fontsize=10,
            fontweight="bold",
            zorder=5,
        )


def shown(exposed: NodeCoalition) -> list[list[int]]:
    """Select the guards that are drawn: few enough for the letters, and none that are empty."""
    return [guard for guard in exposed.guards if guard][: len(LETTERS)]


def letters(exposed: NodeCoalition) -> dict[int, str]:
    """Map each node to the letters of the guards it is in."""
    marks: dict[int, str] = {}
    for letter, guard in zip(LETTERS, shown(exposed), strict=False):
        for node in guard:
            marks[node] = marks.get(node, "") + letter
    return marks


def guards_explained(exposed: NodeCoalition, n_nodes: int, names: Sequence[str] = ()) -> str:
    """Explain the letters and what follows from them, for a reader who meets guards for the first time."""
    if exposed.at_least is None:
        return f"All others together do not expose {called(exposed.node, names)}."
    guards = shown(exposed)
    if not guards:
        return ""
    listed = [f"{letter} = {{{_names(guard, names)}}}" for letter, guard in zip(LETTERS, guards, strict=False)]
    more = len([guard for guard in exposed.guards if guard]) - len(guards)
    marked = "each letter marks a guard" if n_nodes <= CROWD else "guards"
    text = f"Why no smaller coalition suffices: {marked} ({'; '.join(listed)}{f'; and {more} more' if more else ''}). "
    text += "If no member of a guard colludes, all others together learn too little. So every coalition against "
    text += f"{called(exposed.node, names)} includes a member of every guard, which takes at least {exposed.at_least}."
    return text


def coalition_alt(cell: Cell, coalitions: Coalitions) -> str:
    """Describe the drawing in words."""
    exposed = coalitions.weakest
    if exposed is None:
        return f"Network of {cell.n_nodes} nodes; no node was asked about."
    if exposed.coalition is None:
        return f"Network of {cell.n_nodes} nodes; no coalition that exposes {cell.called(exposed.node)} is known."
    who = _names(exposed.coalition, cell.names) or "an outsider"
    kind = "" if cell.names else "nodes " if len(exposed.group) > 1 else "node "
    return (
        f"Network of {cell.n_nodes} nodes. Squares: the smallest coalition, {who}. Ringed: what it exposes, "
        f"{kind}{_names(exposed.group, cell.names)}."
    )


def _names(nodes: list[int], names: Sequence[str]) -> str:
    return ", ".join("the server" if node < 0 else label(node, names) for node in nodes)
