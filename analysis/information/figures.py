"""The figures of the study: readings against the truth as colour, task by task, as the paper has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

Numbers = dict[str, Any]


def figures(peers: list[Numbers], folder: Path) -> None:
    """``readings-N.png`` for each N: tasks by methods, reading over truth."""
    for n in sorted({cell["rows"] for cell in peers}):
        cells = [cell for cell in peers if cell["rows"] == n and cell["draw"] == 0]
        tasks = list(dict.fromkeys(cell["task"] for cell in cells))
        methods = ["bound (95 %)", *dict.fromkeys(cell["method"] for cell in cells)]
        ratios = np.full((len(tasks), len(methods)), np.nan)
        for cell in cells:
            row = tasks.index(cell["task"])
            if cell["value"] is not None:
                ratios[row, methods.index(cell["method"])] = cell["value"] / cell["truth"]
            if cell["method"] == "lower bound":
                ratios[row, 0] = cell["low"] / cell["truth"]
        fig = Figure(figsize=(3.8 + 0.62 * len(methods), 1.6 + 0.21 * len(tasks)), layout="constrained")
        axes = fig.subplots()
        image = axes.imshow(ratios, cmap="RdBu_r", vmin=0, vmax=2, aspect="auto")
        for (i, j), ratio in np.ndenumerate(ratios):
            if np.isfinite(ratio):
                colour = "white" if abs(ratio - 1) > 0.7 else "black"
                axes.text(j, i, f"{ratio:.2f}", ha="center", va="center", fontsize=6.5, color=colour)
        axes.set_xticks(range(len(methods)), methods, rotation=40, ha="right", fontsize=7.5)
        axes.set_yticks(range(len(tasks)), tasks, fontsize=7)
        fig.colorbar(image, ax=axes, label="reading / truth", shrink=0.5)
        fig.savefig(folder / f"readings-{n}.png", dpi=110, metadata={"Software": None})
