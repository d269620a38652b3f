"""Drawings of the study of Zhang 2024: box plots of the failures, component failures, the bias of colluders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.zhang_2024.simulation import NAMES

Numbers = dict[str, Any]
INK, GREY = "#222222", "#999999"
COLOURS = {"ARED": "#b3541e", "DFMR": "#2a6f97", "CRED": "#5a3d7a", "component-wise": "#3c7a4b"}
MARKS = {"ARED": "o", "DFMR": "s", "CRED": "^", "component-wise": "D"}


def boxes(cells: list[Numbers], path: Path) -> None:
    """W1 of every rule over the repetitions, a panel for each failure and rate, as in the paper's figure 2."""
    first = cells[0]
    same = [c for c in cells if all(c[key] == first[key] for key in ("machines", "rows", "overlap"))]
    failures = [name for name in ("mean", "covariance", "weight") if any(c["failure"] == name for c in same)]
    rates = sorted({c["rate"] for c in same})
    fig = Figure(figsize=(1.9 * len(rates) + 1.2, 6.4), layout="constrained")
    grid = fig.subplots(len(failures), len(rates), sharey=True, squeeze=False)
    for row, failure in enumerate(failures):
        for column, rate in enumerate(rates):
            axes = grid[row][column]
            cell = next(c for c in same if c["rate"] == rate and c["failure"] in (failure, "none"))
            values = [cell["rules"][name]["w1"] for name in NAMES]
            drawn = axes.boxplot(values, widths=0.6, patch_artist=True, medianprops={"color": INK}, flierprops=_FLIERS)
            for box, name in zip(drawn["boxes"], NAMES, strict=True):
                box.set(facecolor=COLOURS.get(name, "#dddddd"), alpha=0.75, linewidth=0.6)
            axes.axhline(float(np.median(cell["rules"]["Oracle"]["w1"])), color=GREY, lw=0.7, ls=":")
            axes.set_yscale("log")
            axes.set_xticks(range(1, len(NAMES) + 1))
            axes.set_xticklabels(NAMES if row == len(failures) - 1 else [], rotation=90, fontsize=7)
            if row == 0:
                axes.set_title(f"{100 * rate:.0f} % fail", fontsize=9)
            if column == 0:
                axes.set_ylabel(f"{failure} failure\nW1 to the truth", fontsize=8)
    _finish(fig, path)


def components(cells: list[Numbers], path: Path) -> None:
    """W1 against the rate at which each component fails: no machine is right as a whole any more."""
    fig = Figure(figsize=(7.4, 3.2), layout="constrained")
    grid = fig.subplots(1, 2, sharey=True)
    for axes, kind in zip(grid, ("mean", "covariance"), strict=True):
        mine = [c for c in cells if c["failure"] == kind]
        rates = [c["rate"] for c in mine]
        for name in ("Oracle", "component-wise", "ARED", "CRED", "DFMR"):
            w1 = [c["rules"][name]["w1"] for c in mine]
            _line(axes, rates, [float(np.median(v)) for v in w1], w1, name)
        axes.set_yscale("log")
        axes.set_title(f"{kind}s of components fail", loc="left", fontsize=9)
        axes.set_xlabel("share of machines that fail in each component", fontsize=8)
    grid[0].set_ylabel("W1 to the truth\n(median, quartiles)", fontsize=8)
    grid[0].legend(frameon=False, fontsize=7)
    _finish(fig, path)


def sizes(cells: list[Numbers], path: Path) -> None:
    """Mean W1 against the number of machines: N rows each, and below 100000 rows in all (figures 3 and 4)."""
    mine = [c for c in cells if c["overlap"] == 0.3 and c["rate"] == 0.3]
    fig = Figure(figsize=(9.0, 5.2), layout="constrained")
    grid = fig.subplots(2, 3, sharey=True, sharex=True)
    for column, failure in enumerate(("mean", "covariance", "weight")):
        here = [c for c in mine if c["failure"] == failure]
        each: list[tuple[Axes, str, list[Numbers]]] = [
            (grid[0][column], line, [c for c in here if c["rows"] == rows])
            for rows, line in ((1000, "-"), (5000, "--"), (10000, ":"))
        ]
        each.append((grid[1][column], "-", [c for c in here if c["machines"] * c["rows"] == 100_000]))
        for axes, line, found in each:
            found = sorted(found, key=lambda c: c["machines"])
            for name, colour in (("Oracle", INK), *((n, COLOURS.get(n, GREY)) for n in ("ARED", "CRED", "COAT"))):
                w1 = [c["rules"][name]["mean_w1"] for c in found]
                label = name if line == "-" and column == 0 else None
                axes.plot([c["machines"] for c in found], w1, line, color=colour, marker=".", lw=1, label=label)
            axes.set_yscale("log")
        grid[0][column].set_title(f"{failure} failure", loc="left", fontsize=9)
        grid[1][column].set_xlabel("machines", fontsize=8)
    grid[0][0].set_ylabel("mean W1; N = 1000 (—),\n5000 (- -), 10000 (···) each", fontsize=8)
    grid[1][0].set_ylabel("mean W1; 100000 rows in all", fontsize=8)
    grid[1][0].legend(frameon=False, fontsize=7, loc="lower right")  # where no line runs
    _finish(fig, path)


def collusion(points: list[Numbers], path: Path) -> None:
    """The bias of colluders who are not rejected, against their share, for each number of machines."""
    rules = list(dict.fromkeys(p["rule"] for p in points))
    fig = Figure(figsize=(3.0 * len(rules), 3.2), layout="constrained")
    grid = fig.subplots(1, len(rules), sharey=True, squeeze=False)[0]
    for axes, rule in zip(grid, rules, strict=True):
        sizes = sorted({p["machines"] for p in points})
        for shade, m in zip(np.linspace(0.35, 1.0, len(sizes)), sizes, strict=True):
            mine = sorted((p for p in points if p["rule"] == rule and p["machines"] == m), key=lambda p: p["rate"])
            at = [100 * p["rate"] for p in mine]
            ratio = [p["ratio"] for p in mine]
            axes.errorbar(
                at,
                [value for value, _ in ratio],
                [half for _, half in ratio],
                lw=1.2,
                elinewidth=0.6,
                marker=MARKS[rule],
                ms=4,
                color=COLOURS[rule],
                alpha=shade,
                label=f"m = {m}",
            )
        axes.set_title(rule, loc="left", fontsize=9)
        axes.set_xlabel("colluders, %", fontsize=8)
        axes.axhline(1.0, color=GREY, lw=0.7, ls=":")
        axes.legend(frameon=False, fontsize=7, loc="upper left")
    grid[0].set_ylim(bottom=0)  # shared: once all are drawn
    grid[0].set_ylabel("W1 to the truth over Oracle's", fontsize=8)
    _finish(fig, path)


def _line(axes: Axes, at: list[float], middle: list[float], values: list[list[float]], name: str) -> None:
    low = [m - float(np.quantile(v, 0.25)) for m, v in zip(middle, values, strict=True)]
    high = [float(np.quantile(v, 0.75)) - m for m, v in zip(middle, values, strict=True)]
    axes.errorbar(
        at,
        middle,
        [np.maximum(low, 0), np.maximum(high, 0)],
        marker=MARKS.get(name, "."),
        color=COLOURS.get(name, INK),
        ls="-" if name in COLOURS else ":",
        ms=4,
        lw=1,
        label=name,
    )


_FLIERS = {"marker": ".", "markersize": 2, "markeredgecolor": GREY}


def _finish(fig: Figure, path: Path) -> None:
    for axes in fig.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=3, width=0.6, labelsize=7)
    # No date: the same numbers give the same file.
    fig.savefig(path, dpi=110, metadata={"Software": None})
