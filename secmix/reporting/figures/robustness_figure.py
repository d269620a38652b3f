"""The figure of robustness: how far colluders push the aggregate, found and proven, and the breakdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix.auditing.cell_parts import Robustness, RobustnessPoint
from secmix.auditing.report import Cell
from secmix.reporting import robustness as robust
from secmix.reporting.figures.svg import COLOUR, SERIES, STYLE, inline
from secmix.reporting.words import number

FOUND, PROVEN = SERIES[1], SERIES[0]
_ORDERS = 10.0  # a wider range of errors gets a logarithmic axis
_TICKS = 7


def robustness_figure(cell: Cell, robustness: Robustness, policy: dict[str, float], name: str) -> str:
    """Draw error against the fraction of colluders; hatched where it is unbounded.

    At least one point is needed. Found errors are filled circles on a solid line, proven bounds open squares on a
    dashed one.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    points = sorted(robustness.points, key=lambda p: p.colluders)
    bounded = any(p.found is not None or p.proven is not None for p in points)
    height = 3.5 if bounded else 2.0
    with rc_context({**STYLE, "hatch.linewidth": 0.7, "font.size": 10, "axes.titlesize": 10}):
        figure = Figure(figsize=(5.0, height))
        figure.subplots_adjust(0.105, 0.78 / height, 0.985, 1 - 0.56 / height)
        axes = figure.add_subplot()
        axes.set_title(robust.measure(cell), pad=22, y=1.0)
        axes.set_xlabel("fraction of colluders")
        step = points[0].fraction if len(points) == 1 else points[1].fraction - points[0].fraction
        axes.set_xlim(points[0].fraction - 0.5 * step, points[-1].fraction + 0.5 * step)
        _ticks(axes, points, robustness.colluders, cell.n_nodes)
        if bounded:
            _scale(axes, points, policy.get("max_error_ratio"))
            _lines(axes, points)
            _limits(axes, policy)
        else:
            axes.set_ylim(0, 1)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
        _breakdown(axes, points, cell, step, policy.get("min_breakdown"))
        return inline(figure, name, robust.alt(cell, robustness))


def _ticks(axes: Any, points: Sequence[RobustnessPoint], own: int, n: int) -> None:
    """Label fractions with the numbers of nodes; the cell's own number is in bold and never omitted."""
    every = -(-len(points) // _TICKS)
    ticked = [
        p for k, p in enumerate(points) if (k % every == 0 and abs(p.colluders - own) >= every) or p.colluders == own
    ]
    shown = [f"{robust.fraction(p.fraction)}\n{p.colluders} of {n}" for p in ticked]
    axes.set_xticks([p.fraction for p in ticked], shown)
    for point, label in zip(ticked, axes.get_xticklabels(), strict=True):
        label.set_fontweight("bold" if point.colluders == own else "normal")
    axes.grid(False, axis="x")


def _scale(axes: Any, points: Sequence[RobustnessPoint], limit: float | None) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

    values = [v for p in points for v in (p.found, p.proven) if v is not None] + ([] if limit is None else [limit])
    low, high = min(values), max(values)
    if low > 0 and high > _ORDERS * low:
        axes.set_yscale("log")
        room = max(2.5, (high / low) ** 0.14)
        axes.set_ylim(low / room, high * room)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 1e3 * low else (1.0, 3.0)))
        axes.minorticks_off()
    else:
        axes.set_ylim(0, 1.22 * high or 1.0)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))


def _plain(value: float, _: int) -> str:
    return f"{value:g}" if value == 0 or 1e-3 <= value < 1e4 else number(value)


def _lines(axes: Any, points: Sequence[RobustnessPoint]) -> None:
    """Draw both lines with their names at the last point, the higher named above and the lower below."""
    fraction = [p.fraction for p in points]
    errors = np.array([np.nan if p.found is None else p.found for p in points])
    proven = np.array([np.nan if p.proven is None else p.proven for p in points])
    axes.plot(fraction, errors, color=FOUND, marker="o", markersize=5.5, linewidth=1.8, zorder=4, clip_on=False)
    axes.plot(
        fraction, proven, color=PROVEN, marker="s", markersize=5.5, markerfacecolor=COLOUR["paper"], linewidth=1.6,
        linestyle=(0, (4, 2)), zorder=3, clip_on=False,
    )  # fmt: skip
    both = bool(np.isfinite(errors).any() and np.isfinite(proven).any())
    _name(axes, fraction, proven, "proven bound", PROVEN, above=True)
    _name(axes, fraction, errors, "found", FOUND, above=not both)


def _name(axes: Any, fraction: Sequence[float], values: Any, text: str, colour: str, *, above: bool) -> None:
    """Write the name of a line at the end where there is more room."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return
    rises = values[known[-1]] >= values[known[0]]
    last = bool(rises == above) and len(known) > 1
    place = int(known[-1 if last else 0])
    if not above and axes.transAxes.inverted().transform(axes.transData.transform((0.0, values[place])))[1] < 0.12:
        above, last, place = True, True, int(known[-1])  # no room between the line and the ticks
    axes.annotate(
        text, (fraction[place], values[place]), xytext=(4 if last else -4, 8 if above else -8),
        textcoords="offset points", ha="right" if last else "left", va="bottom" if above else "top", color=colour,
        zorder=6, bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
    )  # fmt: skip


def _limits(axes: Any, policy: dict[str, float]) -> None:
    if (limit := policy.get("max_error_ratio")) is not None:
        axes.axhline(limit, color=COLOUR["bad"], linewidth=1.2, linestyle=":", zorder=2)
        axes.annotate(
            f"limit {limit:g}", (0, limit), xycoords=("axes fraction", "data"), xytext=(4, 3),
            textcoords="offset points", fontsize=9, color=COLOUR["bad"], zorder=6,
        )  # fmt: skip


def _breakdown(axes: Any, points: Sequence[RobustnessPoint], cell: Cell, step: float, wanted: float | None) -> None:
    """Hatch from the fewest colluders with an unbounded error, with an arrow at each such number."""
    bad = [p for p in points if p.found is None]
    if wanted is not None and points[0].fraction - 0.5 * step < wanted <= points[-1].fraction + 0.5 * step:
        axes.axvline(wanted, color=COLOUR["bad"], linewidth=1.2, linestyle=":", zorder=2)
        wall = bad[0].fraction - 0.5 * step if bad else points[len(points) // 2].fraction
        side = "left" if (wanted > wall) == bool(bad) else "right"  # away from the breakdown, or from the edge
        axes.annotate(
            f"policy {wanted:g}", (wanted, 0), xycoords=("data", "axes fraction"), ha=side, zorder=6, fontsize=9,
            xytext=(4 if side == "left" else -4, 4), textcoords="offset points", color=COLOUR["bad"],
            bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
        )  # fmt: skip
    if not bad:
        text = f"no unbounded error found up to {points[-1].colluders} of {cell.n_nodes}"
        _above(axes, 1.0, "right", text, COLOUR["muted"])
        return
    start, left = bad[0].fraction - 0.5 * step, points[0].fraction - 0.5 * step
    axes.axvspan(
        start, points[-1].fraction + 0.5 * step, facecolor="none", edgecolor=COLOUR["rule"], hatch="///",
        linewidth=0, zorder=0.5,
    )  # fmt: skip
    axes.axvline(start, color=COLOUR["bad"], linewidth=1.4, zorder=2)
    foot = 0.72 if len(bad) < len(points) else 0.4
    for point in bad[:: max(1, len(bad) // 12)]:
        axes.annotate(
            "", (point.fraction, 0.97), xytext=(point.fraction, foot), xycoords=("data", "axes fraction"), zorder=5,
            arrowprops={"arrowstyle": "-|>", "color": FOUND, "linewidth": 1.8, "mutation_scale": 13},
        )  # fmt: skip
    width = points[-1].fraction + 0.5 * step - left
    place = (start - left) / width
    text = f"breakdown: {bad[0].colluders} of {cell.n_nodes} push it without bound"
    _above(axes, *((place, "left") if place < 0.3 else (1.0, "right")), text, COLOUR["bad"])


def _above(axes: Any, place: float, side: str, text: str, colour: str) -> None:
    axes.annotate(
        text, (place, 1.0), xycoords="axes fraction", xytext=(0, 5), textcoords="offset points", ha=side, va="bottom",
        fontsize=9.5, color=colour, annotation_clip=False,
    )  # fmt: skip
