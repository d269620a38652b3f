"""The page on the five papers is what the committed numbers say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType

STUDY = "analysis.papers"


def test_the_page_is_the_one_that_the_numbers_make(study: ModuleType) -> None:
    written = (study.REPORTS / "README.md").read_text(encoding="utf-8")
    assert written == study.page(), "run python -m analysis.papers"


def test_every_item_has_a_verdict_and_what_is_missing_says_so(study: ModuleType, tmp_path: Path) -> None:
    lines = study.page(tmp_path).splitlines()  # no numbers at all
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| item")]
    assert len(rows) >= 40
    assert all(line.count("|") == 5 for line in rows)
    assert sum("**not yet run**" in line for line in rows) > 20


def test_a_number_that_changes_changes_the_verdict(study: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "li-2022"
    shutil.copytree(study.REPORTS / "li-2022", folder)
    numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))

    def verdict() -> str:
        line = next(line for line in study.page(tmp_path).splitlines() if line.startswith("| Figure 2 |"))
        return line.split("|")[-2].strip()

    assert verdict() == "reproduced"
    numbers["figure_2"]["protocols"]["PDMM"]["largest_deviation"] = 1.0
    (folder / "numbers.json").write_text(json.dumps(numbers), encoding="utf-8")
    assert verdict() == "**differs**"
