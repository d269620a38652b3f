"""Who would have to collude, drawn: the network, the coalition that decides, what it exposes, and the guards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix._base.naming import called, label
from secmix.auditing.report import Cell, Coalitions, NodeCoalition
from secmix.reporting.figures.network import CROWD, draw_name, spots
from secmix.reporting.figures.svg import COLOUR, SERIES, STYLE, inline

LETTERS = "abcdef"
_SQUARE, _EXPOSED = "#26241f", "#c8553f"


def witness_figure(cell: Cell, found: Coalitions, name: str) -> str:
    """The network with the coalition as squares, the group it exposes ringed, and guards as letters beside their nodes.

    ``name`` must differ between figures of one page.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    witness = found.witness
    where = spots(cell)
    crowded = cell.n_nodes > CROWD
    radius = 10.0 if not crowded else max(4.0, 10.0 * (CROWD / cell.n_nodes) ** 0.5)
    coalition, group = set(witness.coalition or ()) if witness else set(), set(witness.group) if witness else set()
    if -1 in coalition and -1 not in where:
        where[-1] = np.mean(list(where.values()), axis=0)
    with rc_context(STYLE):
        figure = Figure(figsize=(4.6, 3.9))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.margins(0.19 if not crowded else 0.06)
        for a, b in cell.edges:
            cut = {a, b} & coalition
            axes.plot(
                *np.array([where[a], where[b]]).T,
                color=COLOUR["rule"] if cut else COLOUR["muted"],
                linewidth=1.0 if not cut else 1.4,
                linestyle=(0, (1, 2)) if cut else "-",
                zorder=1,
            )
        centre = np.mean(list(where.values()), axis=0)
        for node, spot in where.items():
            _draw(axes, node, spot, coalition, group, witness.node if witness else None, radius)
            if cell.names and node >= 0:
                draw_name(axes, spot, cell.label(node), radius)
            if not crowded and witness is not None:
                _draw_letters(axes, spot, spot - centre, letters(witness).get(node, ""), radius)
        return inline(figure, name, witness_alt(cell, found))


def _draw(
    axes: Any, node: int, spot: Any, coalition: set[int], group: set[int], asked: int | None, radius: float
) -> None:
    corrupt, exposed = node in coalition, node in group
    fill = _SQUARE if corrupt else _EXPOSED if exposed else COLOUR["paper"]
    if exposed:
        ring = (2 * radius + 7) ** 2
        axes.scatter(*spot, s=ring, facecolor="none", edgecolor=COLOUR["bad"], linewidth=1.3, zorder=2)
    elif node == asked:
        axes.scatter(*spot, s=(2 * radius + 7) ** 2, facecolor="none", edgecolor=COLOUR["ink"], linewidth=1.3, zorder=2)
    axes.scatter(
        *spot, s=(2 * radius) ** 2, marker="s" if corrupt else "o", facecolor=fill, edgecolor=COLOUR["ink"], zorder=3
    )
    axes.annotate(
        "S" if node < 0 else str(node),
        spot,
        ha="center",
        va="center_baseline",
        color="#ffffff" if corrupt else "#000000" if exposed else COLOUR["ink"],
        fontsize=max(4.0, 0.9 * radius),
        zorder=4,
    )


def _draw_letters(axes: Any, spot: Any, outward: Any, said: str, radius: float) -> None:
    """The letters of the guards that a node is in, on the side away from the middle."""
    length = float(np.hypot(*outward))
    way = outward / length if length > 1e-9 else np.array([0.0, -1.0])
    for k, letter in enumerate(said):
        axes.annotate(
            letter,
            spot,
            xytext=(way[0] * (radius + 11) + 8 * (k - (len(said) - 1) / 2), way[1] * (radius + 11)),
            textcoords="offset points",
            ha="center",
            va="center",
            color=SERIES[LETTERS.index(letter) % len(SERIES)],
            fontsize=10,
            fontweight="bold",
            zorder=5,
        )


def shown(witness: NodeCoalition) -> list[list[int]]:
    """The guards that are drawn: none where they hold everybody, few enough otherwise."""
    return [guard for guard in witness.guards if guard][: len(LETTERS)]


def letters(witness: NodeCoalition) -> dict[int, str]:
    """For each node the letters of the guards it is in."""
    found: dict[int, str] = {}
    for letter, guard in zip(LETTERS, shown(witness), strict=False):
        for node in guard:
            found[node] = found.get(node, "") + letter
    return found


def guards_explained(witness: NodeCoalition, n_nodes: int, names: Sequence[str] = ()) -> str:
    """What the letters mean, and what follows, for a reader who meets guards for the first time."""
    if witness.at_least is None:
        return f"Even everybody else together does not expose {called(witness.node, names)}."
    guards = shown(witness)
    if not guards:
        return ""
    listed = [f"{letter} = {{{_names(guard, names)}}}" for letter, guard in zip(LETTERS, guards, strict=False)]
    more = len([guard for guard in witness.guards if guard]) - len(guards)
    marked = "each letter marks a guard" if n_nodes <= CROWD else "guards"
    text = f"Why nobody fewer: {marked} ({'; '.join(listed)}{f'; and {more} more' if more else ''}). "
    text += "If nobody of a guard colludes, all others together learn too little. So every coalition against "
    text += f"{called(witness.node, names)} has somebody of every guard, and that takes at least {witness.at_least}."
    return text


def witness_alt(cell: Cell, found: Coalitions) -> str:
    """The drawing in words."""
    witness = found.witness
    if witness is None:
        return f"Network of {cell.n_nodes} nodes; nobody was asked about."
    if witness.coalition is None:
        return f"Network of {cell.n_nodes} nodes; no coalition that exposes {cell.called(witness.node)} is known."
    who = _names(witness.coalition, cell.names) or "an outsider"
    kind = "" if cell.names else "nodes " if len(witness.group) > 1 else "node "
    return (
        f"Network of {cell.n_nodes} nodes. Squares: the smallest coalition, {who}. Ringed: what it exposes, "
        f"{kind}{_names(witness.group, cell.names)}."
    )


def _names(nodes: list[int], names: Sequence[str]) -> str:
    return ", ".join("the server" if node < 0 else label(node, names) for node in nodes)
