"""Drawings of Li et al. (2022): the paper's figures 2 and 3, from the numbers of the study."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

Numbers = dict[str, Any]
INK, GREY = "#222222", "#777777"
COLOURS = ("#b3541e", "#2a6f97", "#5a3d7a")  # told apart by shape and by their labels too


def figure_2(found: Numbers, path: Path) -> None:
    """Log-likelihood against iteration, and below it the distance from pooled EM."""
    fig = Figure(figsize=(6.4, 5.6), layout="constrained")
    above, below = fig.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    t = np.arange(1, len(found["pooled"]) + 1)
    above.plot(t, found["pooled"], color=INK, lw=1, label="pooled EM (scikit-learn)")
    marks = {"plain": ("o", 9.0), "secure summation": ("s", 5.5), "PDMM": (".", 4.0)}
    marks |= {name: ("+", 5.0) for name in found["protocols"] if name not in marks}
    ends: list[tuple[float, str]] = []
    for (name, (marker, size)), colour in zip(marks.items(), (*COLOURS, INK), strict=False):
        entry = found["protocols"][name]
        above.plot(t, entry["log_likelihood"], marker, ms=size, mfc="none", mec=colour, label=name)
        deviation = np.maximum(entry["deviation"], 1e-17)
        below.plot(t, deviation, marker=marker, ms=4, lw=1, color=colour, mfc="none")
        ends.append((math.log10(deviation[-1]), name))
    above.set_ylabel("mean log-likelihood a row (nats)")
    above.legend(frameon=False, loc="lower right")
    above.set_title("Output correctness", loc="left", fontsize=11)
    below.set_yscale("log")
    below.set_ylim(1e-18, 1e-6)
    below.set_yticks([1e-16, 1e-13, 1e-10, 1e-7])
    below.set_ylabel("relative deviation")
    below.set_xticks([1, *range(5, len(t) + 1, 5)])
    below.set_xlabel("iteration")
    _end_labels(below, float(t[-1]), ends, gap=1.4, log=True)
    _finish(fig, path, "Log-likelihood against iteration for plain, secure-sum and PDMM distributed EM")


def figure_3(found: Numbers, path: Path) -> None:
    """The paper's ratio on the left; on the right what is known of the information itself."""
    fig = Figure(figsize=(10.0, 4.6), layout="constrained")
    left, right = fig.subplots(1, 2)
    t = np.arange(1, found["iterations"] + 1)
    federated, ring, pdmm = (found["protocols"][name] for name in ("federated", "secure summation", "PDMM"))
    ends: list[tuple[float, str]] = []
    for readings, colour, style, marker, label in (
        (federated["ratio"], COLOURS[0], "-", "o", "federated, b/a"),
        (federated["raw"], COLOURS[0], "--", "o", "federated, (a, b, C)"),
        (ring["raw"], COLOURS[1], "-", "s", "secure summation"),
        (pdmm["raw"], COLOURS[2], "-", "^", "PDMM"),
    ):
        ratio = [reading["nmi_paper"] for reading in readings]
        half = [reading["nmi_half_width"] for reading in readings]
        left.errorbar(t, ratio, half, color=colour, ls=style, marker=marker, ms=4, lw=1, mfc="none")
        ends.append((ratio[-1], label))
    _end_labels(left, float(t[-1]), ends, gap=0.055)
    left.set_ylim(0, 1.05)
    left.set_ylabel("KSG number of I(X₁; view) / that of I(X₁; X₁)")
    left.set_title("As the paper measures", loc="left", fontsize=11)

    ends = []
    total = found["eavesdropper"]["PDMM"]["exact_power_sums"]
    lines: list[tuple[list[float], list[float] | None, str, str, str, str]] = [
        (*_bound(pdmm["decoder_cumulative"]), COLOURS[2], "-", "^", "PDMM, all iterations\nso far, at least"),
        (*_bound(pdmm["decoder_single"]), COLOURS[2], "--", "^", "PDMM, one iteration,\nat least"),
        (
            [pdmm["exact_power_sums"]] * len(t),
            None,
            COLOURS[2],
            ":",
            "",
            "PDMM, only Σx and Σx²\nof it (exact)",
        ),
        (*_bound(pdmm["raw"]), GREY, "-", ".", "PDMM, KSG on (ΣA, ΣB, ΣC)"),
        ([total] * len(t), None, INK, ":", "", "the output: only Σx, Σx²\nof all five (exact)"),
    ]
    for values, errors, colour, style, marker, label in lines:
        right.errorbar(t, values, errors, color=colour, ls=style, marker=marker, ms=4, lw=1, mfc="none")
        ends.append((values[-1], label))
    top = 1.2 * max(pdmm["decoder_cumulative"][-1]["high"], 1.5)
    right.set_ylim(0, top)
    _end_labels(right, float(t[-1]), ends, gap=0.085 * top)
    above = [name for name, entry in found["protocols"].items() if entry["exact_power_sums"] is None]
    words = f"{' and '.join(above)}: infinite (above the axis)"
    right.text(0.02, 0.98, words, transform=right.transAxes, va="top")
    right.set_ylabel("I(X₁; view) (nats)")
    right.set_title("What the same sums give away", loc="left", fontsize=11)
    for axes in (left, right):
        axes.set_xlabel("iteration")
        axes.set_xticks(t)
    _finish(fig, path, "What each protocol tells about node 1, by the paper's measure and by sound bounds")


def _bound(readings: list[Numbers]) -> tuple[list[float], list[float]]:
    """Values and half-widths, of KSG readings or decoder bounds."""
    return (
        [reading["nats"] for reading in readings],
        [reading.get("half_width", reading["nats"] - reading["low"]) for reading in readings],
    )


def _end_labels(axes: Axes, at: float, ends: list[tuple[float, str]], *, gap: float, log: bool = False) -> None:
    """Name each line at its right end, names pushed apart by ``gap`` where they would touch."""
    last = -math.inf
    for value, name in sorted(ends):
        last = max(value, last + gap)
        place = 10**last if log else last
        axes.annotate(
            name,
            (at, place),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            annotation_clip=False,
        )


def _finish(fig: Figure, path: Path, title: str) -> None:
    for axes in fig.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=3, width=0.6)
    # No date and a fixed salt for element names: the same numbers give the same file.
    layout = fig.get_layout_engine()
    if isinstance(layout, ConstrainedLayoutEngine):
        layout.set(w_pad=0.12, h_pad=0.08)
    with rc_context({"svg.hashsalt": "li-2022", "svg.fonttype": "none"}):
        fig.savefig(path, metadata={"Date": None, "Title": title, "Creator": "secmix"})
