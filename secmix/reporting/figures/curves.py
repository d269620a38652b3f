"""Figures of a report: leakage against iteration, privacy and accuracy against mask size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from textwrap import shorten
from typing import Any

import numpy as np

from secmix._base.naming import called, label, named, within
from secmix.auditing.cell_parts import LeakageCurve, Picture, SigmaPoint
from secmix.network import nodes_listed
from secmix.reporting.figures.svg import COLOUR, MARKERS, SERIES, STYLE, inline
from secmix.reporting.words import number, share, size, superscript

_LABEL = 22  # characters beside a curve
_QUARTERS = ([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])


def leakage_figure(curves: Sequence[LeakageCurve], limit: float | None, name: str, names: Sequence[str] = ()) -> str:
    """Draw normalised leakage against iteration, a panel for each kind of evidence; the worst nodes stand out."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    kinds = list(dict.fromkeys(curve.evidence for curve in curves))
    with rc_context(STYLE):
        height = 2.5 * len(kinds) + 0.2
        figure = Figure(figsize=(6.6, height))
        figure.subplots_adjust(0.065, 0.46 / height, 0.8, 1 - 0.26 / height, hspace=0.3)
        for row, kind in enumerate(kinds):
            axes = figure.add_subplot(len(kinds), 1, row + 1)
            of_kind = [curve for curve in curves if curve.evidence == kind]
            _draw_curves(axes, sorted(of_kind, key=lambda c: -max(c.cumulative, default=0.0)), limit, names)
            axes.set_ylim(0, 1)
            axes.set_yticks(*_QUARTERS)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_title(shorten(f"normalised leakage, by {kind}", 90, placeholder="…"), y=1.0)
            if row == len(kinds) - 1:
                axes.set_xlabel("iteration")
        return inline(figure, name, leakage_alt(curves, names))


def _draw_curves(axes: Any, curves: Sequence[LeakageCurve], limit: float | None, names: Sequence[str]) -> None:
    ends: dict[float, list[int]] = {}
    for rank, curve in enumerate(curves):
        highlighted = rank < len(SERIES)
        colour = SERIES[rank] if highlighted else COLOUR["muted"]
        look: dict[str, Any] = {"color": colour, "linewidth": 1.7 if highlighted else 0.6, "clip_on": False}
        marks: dict[str, Any] = {}
        if highlighted:
            marks = {
                "marker": MARKERS[rank],
                "markersize": 3.8,
                "markevery": max(1, len(curve.iterations) // 12),
            }
        axes.plot(curve.iterations, curve.cumulative, zorder=3, **look, **marks)
        axes.plot(curve.iterations, curve.single, linestyle=(0, (4, 2)), alpha=0.8, zorder=2, **look)
        if highlighted and curve.cumulative:
            ends.setdefault(round(curve.cumulative[-1], 2), []).append(rank)
    labels = []
    for height, ranks in ends.items():
        nodes = sorted(curves[rank].node for rank in ranks)
        kind = "" if names else "node " if len(nodes) == 1 else "nodes "
        text = kind + within([label(node, names) for node in nodes], _LABEL - len(kind))
        labels.append((height, text, SERIES[ranks[0]]))
    if limit is not None:
        axes.axhline(limit, color=COLOUR["bad"], linewidth=1.2, linestyle=":", zorder=4)
        labels.append((limit, f"limit {limit:g}", COLOUR["bad"]))
    for height, (_, text, colour) in zip(_apart([height for height, *_ in labels]), labels, strict=True):
        axes.annotate(
            text,
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            annotation_clip=False,
            va="center",
            fontsize=8.5,
            color=colour,
        )


def _apart(heights: Sequence[float], gap: float = 0.085) -> list[float]:
    """Move the heights as little as possible so that any two are at least ``gap`` apart."""
    order = sorted(range(len(heights)), key=lambda k: heights[k])
    placed = list(heights)
    for _ in range(200):
        for below, above in pairwise(order):
            short = gap - (placed[above] - placed[below])
            if short > 1e-9:
                placed[below] -= short / 2
                placed[above] += short / 2
    return placed


def leakage_alt(curves: Sequence[LeakageCurve], names: Sequence[str] = ()) -> str:
    """Describe the leakage curves in words."""
    ends = [(curve.cumulative[-1], curve.node, curve.evidence) for curve in curves if curve.cumulative]
    if not ends:
        return "Leakage against iteration: no points."
    value, node, kind = max(ends)
    return f"Leakage against iteration. The largest at the end is {share(value)}, of {called(node, names)}, by {kind}."


def sigma_figure(points: Sequence[SigmaPoint], limit: float | None, name: str) -> str:
    """Draw privacy above, accuracy below, against the mask size on one logarithmic axis.

    At least one point must have σ > 0; a point with σ = 0 is in the table only.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    positive = [point for point in sorted(points, key=lambda p: p.sigma) if point.sigma > 0]
    sigma = [point.sigma for point in positive]
    errors = [point.error if 0 < point.error < np.inf else np.nan for point in positive]
    with rc_context(STYLE):
        figure = Figure(figsize=(6.6, 4.2))
        figure.subplots_adjust(0.085, 0.11, 0.87, 0.935, hspace=0.28)
        above = figure.add_subplot(2, 1, 1)
        below = figure.add_subplot(2, 1, 2, sharex=above)
        look: dict[str, Any] = {"linewidth": 1.7, "markersize": 4, "clip_on": False, "zorder": 3}
        above.plot(sigma, [p.normalised_leakage for p in positive], color=SERIES[1], marker="o", **look)
        above.set_title("privacy: largest normalised leakage", y=1.0)
        above.set_ylim(0, 1)
        above.set_yticks(*_QUARTERS)
        above.tick_params(labelbottom=False)
        if limit is not None:
            above.axhline(limit, color=COLOUR["bad"], linewidth=1.2, linestyle=":")
            above.annotate(
                f"limit {limit:g}",
                (1.0, limit),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color=COLOUR["bad"],
            )
        below.plot(sigma, errors, color=SERIES[0], marker="s", **look)
        below.set_title("accuracy: relative error of the averages", y=1.0)
        below.set_xlabel("size σ of the masks")
        below.set_xscale("log")
        if not np.isnan(errors).all():
            below.set_yscale("log")
        for axes in (above, below):
            axes.minorticks_off()
        below.xaxis.set_major_formatter(FuncFormatter(_power))
        below.yaxis.set_major_formatter(FuncFormatter(_power))
        return inline(figure, name, sigma_alt(points))


def _power(value: float, _: int) -> str:
    """Format a tick of a logarithmic axis in plain characters, such as 10⁻³, since math text would become paths."""
    if value <= 0:
        return ""
    exponent = round(float(np.log10(value)))
    return "1" if exponent == 0 else f"10{superscript(exponent)}"


def sigma_alt(points: Sequence[SigmaPoint]) -> str:
    """Describe privacy and accuracy against the mask size in words."""
    low, high = min(points, key=lambda p: p.sigma), max(points, key=lambda p: p.sigma)
    return (
        f"Leakage and error against mask size. From σ = {size(low.sigma)} to {size(high.sigma)} "
        f"the leakage goes from {share(low.normalised_leakage)} to {share(high.normalised_leakage)}, "
        f"and the error from {number(low.error)} to {number(high.error)}."
    )


def picture_figure(picture: Picture, name: str, names: Sequence[str] = ()) -> str:
    """Draw recovered rows as crosses, true ones as circles."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    true, recovered = (
        np.array([[*p, 0.0][:2] for p in points]).reshape(-1, 2) for points in (picture.true, picture.found)
    )
    reach = 1.15 * max(1.0, float(np.abs(true).max(initial=0.0)))
    # A far outlier would compress the rest of the drawing.
    shown = recovered[(np.abs(recovered) <= 2 * reach).all(axis=1)]
    with rc_context(STYLE):
        figure = Figure(figsize=(3.4, 3.0))
        axes = figure.add_axes((0.15, 0.15, 0.82, 0.82))
        axes.scatter(true[:, 0], true[:, 1], s=70, facecolor="none", edgecolor=COLOUR["ink"], linewidth=1.1, zorder=2)
        axes.scatter(shown[:, 0], shown[:, 1], s=34, marker="x", color=COLOUR["bad"], linewidth=1.3, zorder=3)
        axes.set_aspect("equal", adjustable="datalim")
        axes.grid(visible=False)
        axes.locator_params(nbins=5)
        axes.set_xlabel(f"column {picture.columns[0] + 1}, standard deviations")
        if len(picture.columns) > 1:
            axes.set_ylabel(f"column {picture.columns[1] + 1}, standard deviations")
        else:
            axes.set_yticks([])
        return inline(figure, name, picture_alt(picture, names))


def picture_alt(picture: Picture, names: Sequence[str] = ()) -> str:
    """Describe the picture in words."""
    whose = named(nodes_listed(picture.nodes), names)
    first = f", the first {len(picture.true)} of them" if picture.rows > len(picture.true) else ""
    what = (
        f"crosses: what the adversary recovered ({len(picture.found)} row{'s' * (len(picture.found) > 1)})"
        if picture.certified
        else "crosses: the rows that fit best, which the adversary cannot be sure of"
    )
    return f"One run. Circles: the {picture.rows} true rows of {whose}{first}; {what}."
