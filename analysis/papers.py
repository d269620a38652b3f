"""One page on the five papers: every table, figure and theorem in a row, with what came of it.

Run ``python -m analysis.papers``: it reads the ``numbers.json`` of the studies and writes ``reports/README.md``. A test
makes the page anew from the committed numbers, so that it cannot go stale. What a study has not run yet says so.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from analysis.papers_items import DIFFERS, MISSING, Row
from analysis.papers_rows import PAPERS
from analysis.study import ROOT, Numbers

REPORTS = ROOT / "reports"


def page(reports: Path = REPORTS) -> str:
    """The page in Markdown."""
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
