"""The drawing of the study: processor seconds and memory against each size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from analysis.scale.growth import answered
from analysis.scale.limits import floor
from analysis.scale.series import SERIES

GREY = "#777777"
_WHOLE = FuncFormatter(lambda value, _: f"{value:,.0f}")
STYLES = (
    *(("#b3541e", "o"), ("#2a6f97", "s"), ("#5b8c5a", "^"), ("#7a5195", "D")),
    *(("#b08900", "v"), ("#4d4d4d", "P")),
)
PANELS = (
    ("columns", {"columns-default": "default evidence", "columns-exact": "exact evidence"}),
    (
        "nodes",
        {
            "nodes": "secure summation",
            "pdmm": "PDMM on a cycle",
            "pdmm-near": "PDMM, near neighbours",
            "pdmm-tuned": "PDMM on a cycle, c = 0.08·n",
            "aggregation": "secure aggregation, all joined",
            "aggregation-near": "secure aggregation, 2·log₂ n neighbours",
        },
    ),
    ("runs", {"runs": "secure summation"}),
)


def draw(numbers: dict[str, Any], path: Path) -> None:
    """Draw seconds above and memory below, a panel a size; the least seconds dashed, missing answers as crosses."""
    figure = Figure(figsize=(10, 6), layout="constrained")
    panels = figure.subplots(2, len(PANELS), sharex="col", sharey="row")
    for (letter, names), (above, below) in zip(PANELS, panels.T, strict=True):
        for (name, label), (colour, mark) in zip(names.items(), STYLES, strict=False):
            if name in numbers:
                _line(above, numbers[name], "seconds", colour, mark, label)
                _line(below, numbers[name], "mebibytes", colour, mark, label)
                if SERIES[name].exact:
                    _least(above, numbers, name, colour)
        below.set_xlabel(letter)
    panels[0, 0].set_ylabel("processor seconds")
    panels[1, 0].set_ylabel("peak resident MiB")
    for axes in panels.flat:
        _finish(axes)
    for axes in panels[1]:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(_WHOLE)
    for axes in panels[0]:
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8)
    # No date and a fixed salt for element names: the same numbers give the same file.
    with rc_context({"svg.hashsalt": "scale", "svg.fonttype": "none"}):
        title = "Processor seconds and peak memory of an audit against columns, nodes and runs"
        figure.savefig(path, metadata={"Date": None, "Title": title, "Creator": "secmix"})


def _line(axes: Axes, points: list[dict[str, Any]], key: str, colour: str, mark: str, label: str) -> None:
    answered_points = [p for p in points if answered(p)]
    axes.plot(
        [p["size"] for p in answered_points],
        [p[key] for p in answered_points],
        f"-{mark}",
        color=colour,
        mfc="none",
        ms=5,
        label=label,
    )
    without = [p for p in points if not answered(p) and p[key] is not None]
    axes.plot([p["size"] for p in without], [p[key] for p in without], "x", color=colour, ms=7)


def _least(axes: Axes, numbers: dict[str, Any], name: str, colour: str) -> None:
    points = [p for p in numbers[name] if p["least"] is not None and answered(p)]
    least = [floor(p["least"], numbers["speeds"]) for p in points]
    axes.plot([p["size"] for p in points], least, "--", color=colour, lw=1)


def _finish(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(color="#dddddd", lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, colors=GREY, which="both")
    if axes.get_xlim()[1] < 1e3 * axes.get_xlim()[0]:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter(_WHOLE)
