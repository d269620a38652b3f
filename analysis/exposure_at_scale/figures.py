"""Drawings of the study: random corruption against theory, chosen corruption against bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

INK, GREY = "#222222", "#777777"
COLOURS = ("#b3541e", "#2a6f97", "#5a3d7a")
MARKS = ("o", "s", "^")


def random_figure(numbers: dict[str, Any], path: Path) -> None:
    """Share of honest nodes exposed against the corrupt share: measured as marks, theory as lines."""
    figure, panels = _panels(numbers)
    for panel, entry in zip(panels, numbers["scale"], strict=True):
        share = [cell["share"] for cell in entry["random"]]
        for k, size in enumerate(numbers["sizes"]):
            measured = np.array([cell["measured"][k] for cell in entry["random"]])
            name = "alone" if size == 1 else f"at most {size} together"
            where = measured > 0
            panel.plot(np.array(share)[where], measured[where], MARKS[k], ms=5, mfc="none", mec=COLOURS[k], label=name)
        for k, name in enumerate(("mean of q^degree", "branching, at most 3")):
            said = [cell["theory"][k] for cell in entry["random"]]
            panel.plot(share, said, "-" if k == 0 else "--", lw=1, color=COLOURS[k], label=name)
        panel.set_title(f"{entry['kind']}, n = {entry['n']:,}", loc="left", fontsize=9)
    panels[0].legend(frameon=False, fontsize=7, loc="lower right")
    figure.supxlabel("share of corrupt nodes q", fontsize=9)
    figure.supylabel("share of honest nodes exposed", fontsize=9)
    _finish(figure, path)


def targeted_figure(numbers: dict[str, Any], path: Path) -> None:
    """Nodes left alone against corrupt nodes: at random, greedily, and what no choice can exceed."""
    figure, panels = _panels(numbers)
    for panel, entry in zip(panels, numbers["targeted"], strict=True):
        for k, name in enumerate(("random", "greedy")):
            values = np.array(entry[name], dtype=float)
            some = values > 0
            panel.plot(
                np.array(entry["corrupt"])[some], values[some], f"-{MARKS[k]}", color=COLOURS[k], ms=5, label=name
            )
        panel.plot(entry["corrupt"], entry["bound"], "_-", color=INK, lw=1, ms=9, label="no choice exceeds")
        panel.set_xscale("log")
        panel.set_title(f"{entry['kind']}, n = {entry['n']:,}", loc="left", fontsize=9)
    panels[0].legend(frameon=False, fontsize=7)
    figure.supxlabel("corrupt nodes", fontsize=9)
    figure.supylabel("honest nodes left alone", fontsize=9)
    _finish(figure, path)


def _panels(numbers: dict[str, Any]) -> tuple[Figure, list[Any]]:
    figure = Figure(figsize=(10, 6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 3).ravel().tolist()
    for spare in panels[len(numbers["scale"]) :]:
        spare.set_axis_off()
    for panel in panels:
        panel.grid(color="#dddddd", lw=0.5)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8, colors=GREY)
    for panel in panels[: len(numbers["scale"])]:
        panel.set_yscale("log")
        panel.yaxis.set_minor_formatter(NullFormatter())
    return figure, panels[: len(numbers["scale"])]


def _finish(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=150, metadata={"Software": None})
