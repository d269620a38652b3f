"""The network of a cell, drawn with corrupt nodes, the server, the lines that the adversary reads, and leakage."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix.auditing.cell_parts import NodeSummary
from secmix.auditing.report import Cell
from secmix.reporting.figures.svg import COLOUR, STYLE, ink_on, inline, shade
from secmix.reporting.words import is_share, readable, share

CROWD = 24  # with more nodes there is no room for a number beside each
_NAME = 16  # characters below a node
MANY = 300  # more nodes are drawn as dots without numbers, but for a few that are corrupt or revealed
_LEAST_ROOM = 0.07  # the same between some of many
ROOM = 0.15  # between two nodes, as a share of the drawing: the node itself and a number beside it


def network_figure(cell: Cell, name: str) -> str:
    """Draw the network: corrupt nodes square, lines that are read dashed, leakage as colour and, with room, in digits.

    ``name`` must differ between figures of one page: it goes into the ids inside the SVG.
    """
    from matplotlib import rc_context

    where = spots(cell)
    summaries = {node.node: node for node in cell.nodes}
    with rc_context(STYLE):
        figure, axes, crowded, radius = canvas(cell, 0.17)
        for kind, edges in lines(cell).items():
            # One path with gaps for all lines of a kind keeps the page small.
            ends = [(where[a], where[b], (np.nan, np.nan)) for a, b in sorted(edges) if {a, b} <= set(where)]
            if ends:
                axes.plot(*np.array(ends).reshape(-1, 2).T, zorder=1, **_line(kind, crowded))
        centre = np.mean(list(where.values()), axis=0) if where else np.zeros(2)
        corrupt_nodes = {node for node in where if _is_corrupt(cell, node, summaries.get(node))}
        dots = [] if cell.n_nodes <= MANY else sorted({*where} - {*_to_look_at(cell), -1})
        if dots:
            fills = [_fill(node, summaries.get(node), node in corrupt_nodes) for node in dots]
            draw_dots(axes, [where[node] for node in dots], fills)
        for node in sorted({*where} - {*dots}):
            spot, corrupt = where[node], node in corrupt_nodes
            _draw_node(axes, node, spot, summaries.get(node), corrupt, radius)
            if cell.names and node >= 0:
                draw_name(axes, spot, cell.label(node), radius)
            if not crowded and node in summaries and not corrupt:
                _draw_leakage(axes, spot, spot - centre, summaries[node], radius)
        return inline(figure, name, network_alt(cell))


def canvas(cell: Cell, margin: float) -> tuple[Any, Any, bool, float]:
    """Return an empty figure for a network, its axes, whether nodes crowd, and the radius of a node in points."""
    from matplotlib.figure import Figure

    crowded = cell.n_nodes > CROWD
    figure = Figure(figsize=(4.6, 3.9))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.margins(0.06 if crowded else margin)
    return figure, axes, crowded, max(4.0, 10.0 * (CROWD / cell.n_nodes) ** 0.5) if crowded else 10.0


def draw_ring(axes: Any, spot: Any, radius: float, colour: str) -> None:
    """Draw a ring around a node."""
    axes.scatter(*spot, s=(2 * radius + 7) ** 2, facecolor="none", edgecolor=colour, linewidth=1.3, zorder=2)


def draw_number(axes: Any, node: int, spot: Any, radius: float, colour: str) -> None:
    """Write the number of a node into it; S into the server."""
    axes.annotate(
        "S" if node < 0 else str(node),
        spot,
        ha="center",
        va="center_baseline",
        color=colour,
        fontsize=max(4.0, 0.9 * radius),
        zorder=4,
    )


def away(outward: Any) -> Any:
    """Return the direction of a vector from the centre of the drawing; downwards at the centre."""
    length = float(np.hypot(*outward))
    return outward / length if length > 1e-9 else np.array([0.0, -1.0])


def _ordered(edge: tuple[int, int]) -> tuple[int, int]:
    return min(edge), max(edge)


def lines(cell: Cell) -> dict[str, set[tuple[int, int]]]:
    """Sort the lines of a cell by what the adversary reads of them: *idle*, *closed* to it, or *read*.

    A report without that information counts tapped lines as read. Of many nodes that are all joined none is idle: so
    many lines would hide the nodes.
    """
    edges = {_ordered(edge) for edge in cell.edges or ()}
    if cell.heard is None or cell.used is None:
        tapped = edges if cell.tapped is None else {_ordered(edge) for edge in cell.tapped}
        return {"idle": set(), "closed": edges - tapped, "read": tapped}
    read, used = set(cell.heard), set(cell.used)
    return {"idle": edges - used, "closed": used - read, "read": read}


def _line(kind: str, crowded: bool) -> dict[str, Any]:
    if kind == "read":
        return {"color": COLOUR["warn"], "linewidth": 0.9 if crowded else 1.7, "linestyle": (0, (4, 2))}
    if kind == "idle":
        return {"color": COLOUR["muted"], "linewidth": 0.4 if crowded else 0.7, "linestyle": (0, (1, 3))}
    return {"color": COLOUR["muted"], "linewidth": 0.6 if crowded else 1.2}


def _is_corrupt(cell: Cell, node: int, summary: NodeSummary | None) -> bool:
    controlled = node in cell.corrupt or (node < 0 and cell.server)
    return controlled or (summary is not None and summary.standing == "corrupt")


def _to_look_at(cell: Cell) -> list[int]:
    """Return the corrupt and revealed nodes of many, where they are few."""
    marked = {*cell.corrupt, *(each.node for each in cell.nodes if each.standing in ("corrupt", "revealed"))}
    return sorted(marked) if len(marked) <= CROWD else []


def draw_dots(axes: Any, places: list[Any], fills: list[str]) -> None:
    """Draw nodes that are many, and have nothing to show but a colour."""
    width = float(np.clip(1200 / len(places), 0.8, 4.0))
    axes.scatter(
        *np.array(places).T, s=width**2, facecolor=fills, edgecolor=COLOUR["muted"], linewidth=0.15 * width, zorder=2
    )


def _fill(node: int, summary: NodeSummary | None, corrupt: bool) -> str:
    return "#26241f" if corrupt else COLOUR["paper"] if node < 0 else shade(summary.worst if summary else 0.0)


def _draw_node(axes: Any, node: int, spot: Any, summary: NodeSummary | None, corrupt: bool, radius: float) -> None:
    server = node < 0
    standing = "corrupt" if corrupt else summary.standing if summary else ""
    fill = _fill(node, summary, corrupt)
    if standing == "revealed":  # a second ring: the worst case is shown by shape as well as by colour
        draw_ring(axes, spot, radius, COLOUR["bad"])
    axes.scatter(
        *spot,
        s=(2 * radius) ** 2,
        marker="D" if server else "s" if corrupt else "o",
        facecolor=fill,
        edgecolor=COLOUR["ink"],
        linewidth=1.0,
        linestyle=(0, (1.5, 1.5)) if standing == "inconclusive" else "-",
        zorder=3,
    )
    draw_number(axes, node, spot, radius, COLOUR["ink"] if server and not corrupt else ink_on(fill))


def draw_name(axes: Any, spot: Any, name: str, radius: float) -> None:
    """Write a node's name below it."""
    axes.annotate(
        name if len(name) <= _NAME else f"{name[: _NAME - 1].rstrip()}…",
        spot,
        xytext=(0, -radius - 3),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=max(3.5, 0.75 * radius),
        zorder=6,
    )


def _draw_leakage(axes: Any, spot: Any, outward: Any, summary: NodeSummary, radius: float) -> None:
    """Write the leakage beside the node, away from the centre of the drawing, where there are fewest lines."""
    way = away(outward)
    axes.annotate(
        "?" if summary.standing == "inconclusive" or not is_share(summary) else share(summary.worst),
        spot,
        xytext=tuple(way * (radius + 8)),
        textcoords="offset points",
        ha="center" if abs(way[0]) < 0.4 else "left" if way[0] > 0 else "right",
        va="center" if abs(way[1]) < 0.6 else "bottom" if way[1] > 0 else "top",
        fontsize=9,
        zorder=5,
    )


def spots(cell: Cell) -> dict[int, Any]:
    """Place each node; a server that takes part or is read is in the centre."""
    points = np.array(cell.positions, dtype=float).reshape(-1, 2)
    spread = float(np.ptp(points, axis=0).max()) if len(points) else 1.0
    points = points[: cell.n_nodes] / (spread or 1.0)
    serves = cell.server or any(end < 0 for edge in [*(cell.tapped or []), *(cell.used or [])] for end in edge)
    if serves and len(points):
        points = np.vstack([points, points.mean(axis=0)])
    room = ROOM * min(1.0, CROWD / max(cell.n_nodes, 1)) ** 0.5
    if cell.n_nodes <= MANY:
        points = apart(points, room)
    elif marked := [node for node in _to_look_at(cell) if node >= 0]:  # dots may lie on each other
        points[marked] = apart(points[marked], _LEAST_ROOM)
    placed = list(points)
    server = {-1: placed.pop()} if serves and placed else {}
    return {**dict(enumerate(placed)), **server}


def apart(points: Any, least: float) -> Any:
    """Push the points (n, 2) apart until any two are at least ``least`` from each other.

    >>> apart(np.array([[0.0, 0.0], [0.1, 0.0], [1.0, 0.0]]), 0.3).round(2).tolist()
    [[-0.1, 0.0], [0.2, 0.0], [1.0, 0.0]]
    """
    points = np.array(points, dtype=float)
    for _ in range(200):
        between = points[:, None] - points[None]
        distance = np.hypot(between[..., 0], between[..., 1])
        np.fill_diagonal(distance, np.inf)
        if (distance >= 0.999 * least).all():
            break
        pairs = zip(*np.nonzero(np.triu(distance < least)), strict=True)
        for i, j in sorted(pairs, key=lambda pair: -distance[pair]):  # so that of three the middle one stays there
            gap = points[i] - points[j]
            length = float(np.hypot(*gap))
            # Two points on one spot are separated in a direction that depends on the pair.
            way = gap / length if length > 1e-9 else np.array([np.cos(i + 2.0 * j), np.sin(i + 2.0 * j)])
            points[i] += way * max(least - length, 0.0) / 2
            points[j] -= way * max(least - length, 0.0) / 2
    return points


def network_alt(cell: Cell) -> str:
    """Describe the network drawing in words."""
    revealed = [cell.label(node.node) for node in cell.nodes if node.standing == "revealed"]
    corrupt = ", ".join(map(cell.label, cell.corrupt))
    parts = [
        f"Network of {cell.n_nodes} nodes and {cell.n_edges} lines{' and a server' * (-1 in spots(cell))}.",
        readable(cell),
        f"Corrupt nodes: {corrupt}." if corrupt else "No node is corrupt.",
        f"Revealed nodes: {', '.join(revealed)}." if revealed else "No node is revealed.",
        "The numbers are in the table of nodes.",
    ]
    return " ".join(parts)
