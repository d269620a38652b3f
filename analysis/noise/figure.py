"""The drawing of the study: what is lost against epsilon, a panel a learner."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.study import Numbers

LOSSES = {
    "EM": "rows put into another group",
    "PCA": "variance that is no longer captured",
    "GraphFed-EM": "rows put into another group",
    "regression": "variance that is no longer explained",
}
"""Names of the losses of each learner."""

_BEARABLE = 0.05  # of what is lost
_BLUE, _RED, _GREY = "#2a6f97", "#c1440e", "#777777"
_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
_PLAIN = FuncFormatter(lambda value, _: f"{value:g}")


def cost(found: Numbers) -> str:
    """Say from which epsilon on a learner loses little."""
    bearable = [p["proved"] for p in found["points"] if p["lost"][1] <= _BEARABLE + found["clipped"][1]]
    if not bearable:
        return f"even ε = {found['points'][-1]['proved']:.3g} costs more than {_BEARABLE:.0%}"
    return f"at most {_BEARABLE:.0%} is lost from ε = {min(bearable):.3g} on"


def draw(numbers: Numbers, path: Path) -> None:
    """Draw the median with quartiles, at what is proved of epsilon and at what was seen of it."""
    title = "What noise costs: the better a row is hidden, the more is lost"
    figure = Figure(figsize=(9.5, 7.8), layout="constrained")
    for (name, loss), axes in zip(LOSSES.items(), figure.subplots(2, 2).flat, strict=True):
        _panel(axes, name, loss, numbers[name])
    figure.suptitle(title, fontsize=13)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    # No date and a fixed salt for element names: the same numbers give the same file.
    with rc_context({"svg.hashsalt": "noise", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None, "Title": title, "Creator": "secmix"})


def _panel(axes: Axes, name: str, loss: str, found: Numbers) -> None:
    points = found["points"]
    proved, seen = ([p[key] for p in points] for key in ("proved", "seen"))
    low, middle, high = ([100 * p["lost"][k] for p in points] for k in range(3))
    axes.plot(proved, middle, "o-", color=_BLUE, lw=1.5, ms=6, label="ε proved: the true ε is this at most")
    axes.plot(
        seen,
        middle,
        "o:",
        color=_RED,
        lw=1.2,
        ms=6,
        mfc="white",
        label="ε seen in runs: it is this at least (ring beside its point)",
    )
    axes.fill_between(proved, low, high, color=_BLUE, alpha=0.15, lw=0, label="half of all repeats lie here")
    axes.axhline(100 * found["clipped"][1], color=_GREY, ls="--", lw=1, label="lost by clipping alone, without noise")
    axes.set_xscale("log")
    axes.set_xlim(0.21, 38)
    axes.xaxis.set_major_locator(FixedLocator(_TICKS))
    axes.xaxis.set_major_formatter(_PLAIN)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("stronger privacy  ←  ε of one row, δ = 10⁻⁵  →  weaker privacy", fontsize=9)
    axes.set_ylim(min(0.0, *low), 1.15 * max(high))
    axes.set_title(f"{name}: {cost(found)}", fontsize=10, fontweight="bold")
    axes.text(0.5, 0.99, _rows(found), transform=axes.transAxes, ha="center", va="top", fontsize=8, color=_GREY)
    axes.set_ylabel(f"{loss}, %", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _rows(found: Numbers) -> str:
    return f"{found['rows']:,} rows a node: {found['source']}"
