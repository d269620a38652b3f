"""One page on the five papers: every table, figure and theorem in a row, with what came of it.

Run ``python -m analysis.papers``: it reads the ``numbers.json`` of the studies and writes ``reports/README.md``. A test
makes the page anew from the committed numbers, so that it cannot go stale. What a study has not run yet says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.study import ROOT, Numbers

REPORTS = ROOT / "reports"
REPRODUCED, DIFFERS, IMPOSSIBLE, MISSING, PROOF, NONE = (
    "reproduced",
    "differs",
    "impossible here",
    "not yet run",
    "a proof",
    "no result",
)


@dataclass(frozen=True)
class Row:
    """An item of a paper.

    Attributes
    ----------
    item, theirs : str
        What it is, and what the paper says.
    judged : function of the study's numbers, or (verdict, words)
        Verdict and our number. A part that the numbers lack (KeyError) makes it *not yet run*.
    """

    item: str
    theirs: str
    judged: Callable[[Numbers], tuple[str, str]] | tuple[str, str]


@dataclass(frozen=True)
class Paper:
    """A paper, the folder of its report, and its rows."""

    name: str
    folder: str
    rows: tuple[Row, ...]


def when(holds: bool, words: str) -> tuple[str, str]:
    """Reproduced or differs."""
    return (REPRODUCED if holds else DIFFERS), words


def about(pair: list[float], digits: int = 2) -> str:
    """Mean and 95 % interval, of a mean and half of its width."""
    return f"{pair[0]:.{digits}f} [{pair[0] - pair[1]:.{digits}f}, {pair[0] + pair[1]:.{digits}f}]"


def page(reports: Path = REPORTS) -> str:
    """The page in Markdown."""
    from analysis.papers_rows import PAPERS  # they are made of what stands above

    lines = [
        "# The five papers, item by item",
        "",
        "Every table, figure and theorem: *reproduced* (our number, theirs, 95 % interval where there is one), "
        "*differs* (why, as far as measured), *impossible here*, *a proof*, *no result*, or *not yet run*. Written by "
        "`python -m analysis.papers` from the numbers of the studies; the reports have the whole tables, and what is "
        "ours beyond the papers.",
    ]
    for paper in PAPERS:
        path = reports / paper.folder / "numbers.json"
        numbers: Numbers = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        lines += ["", f"## {paper.name}", "", f"[Report]({paper.folder}/README.md)", ""]
        lines += ["| item | the paper | here | |", "|---|---|---|---|"]
        lines += [_line(row, numbers) for row in paper.rows]
    return "\n".join(lines) + "\n"


def _line(row: Row, numbers: dict[str, Any]) -> str:
    try:
        verdict, words = row.judged(numbers) if callable(row.judged) else row.judged
    except KeyError as missing:
        verdict, words = MISSING, f"the study's numbers have no {missing}"
    bold = f"**{verdict}**" if verdict in (DIFFERS, MISSING) else verdict
    return f"| {row.item} | {row.theirs} | {words} | {bold} |"


if __name__ == "__main__":
    (REPORTS / "README.md").write_text(page(), encoding="utf-8")
    sys.exit(0)
