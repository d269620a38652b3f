"""The drawing of the study: what is lost against epsilon, a panel a learner."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from analysis.study import Numbers

LOSSES = {
    "EM": "rows put into another group",
    "PCA": "variance that is no longer captured",
    "GraphFed-EM": "rows put into another group",
    "regression": "variance that is no longer explained",
}
"""Names of the losses of each learner."""

_BLUE, _GREY = "#2a6f97", "#777777"
_PLAIN = FuncFormatter(lambda value, _: f"{value:g}")


def draw(numbers: Numbers, path: Path) -> None:
    """Draw the median with quartiles; the bar of a point goes from what was seen of epsilon to what is proved."""
    figure = Figure(figsize=(9.5, 6.5), layout="constrained")
    for (name, loss), axes in zip(LOSSES.items(), figure.subplots(2, 2, sharex=True).flat, strict=True):
        _panel(axes, name, loss, numbers[name])
    figure.supxlabel("ε of one row at δ = 10⁻⁵: strong privacy on the left, weak on the right", fontsize=10)
    # No date and a fixed salt for element names: the same numbers give the same file.
    with rc_context({"svg.hashsalt": "noise", "svg.fonttype": "none"}):
        title = "What noise costs four learners, against the privacy that it gives"
        figure.savefig(path, metadata={"Date": None, "Title": title, "Creator": "secmix"})


def _panel(axes: Axes, name: str, loss: str, found: Numbers) -> None:
    points = found["points"]
    proved, seen = ([p[key] for p in points] for key in ("proved", "seen"))
    low, middle, high = ([100 * p["lost"][k] for p in points] for k in range(3))
    axes.fill_between(proved, low, high, color=_BLUE, alpha=0.15, lw=0, label="half of all repeats")
    axes.plot(proved, middle, color=_BLUE, lw=1.2)
    for left, right, value in zip(seen, proved, middle, strict=True):
        axes.plot([left, right], [value, value], color="black", lw=2.5, solid_capstyle="butt")
    axes.plot(proved, middle, "o", color=_BLUE, ms=5, label="ε proved at most; bar: ε seen at least")
    axes.axhline(100 * found["clipped"][1], color=_GREY, ls="--", lw=1, label="without noise, clipped alone")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=20))
    axes.xaxis.set_major_formatter(_PLAIN)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(bottom=min(0.0, *low))
    axes.set_title(f"{name}: {found['rows']:,} rows a node\n{found['source']}", fontsize=9)
    axes.set_ylabel(f"{loss}, %", fontsize=8.5)
    axes.spines[["top", "right"]].set_visible(False)
    if name == "EM":
        axes.legend(frameon=False, fontsize=8)
