"""The study of information estimators on a few tasks: it runs, and its report says what was read."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("information")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        assert importlib.import_module("analysis.information.run").main(["--quick", "--out", str(out)]) == 0
    return out


def test_every_estimator_reads_every_task(written: Path) -> None:
    numbers = json.loads((written / "numbers.json").read_text(encoding="utf-8"))
    by_task: dict[str, set[str]] = {}
    for cell in numbers["peers"]:
        by_task.setdefault(cell["task"], set()).add(cell["method"])
    assert len(by_task) == 3
    assert {"lower bound", "KSG", "CCA", "scikit-learn"} <= set.intersection(*by_task.values())
    assert all(cell["low"] <= cell["truth"] for cell in numbers["peers"] if cell["method"] == "lower bound")
    assert all(cell["high"] is None for cell in numbers["own"] if cell["method"] == "KSG" and not cell["resolved"])


def test_the_report_counts_them(written: Path) -> None:
    text = (written / "README.md").read_text(encoding="utf-8")
    assert "Of 3 lower bounds" in text
    assert "| KSG | 3 |" in text
    assert (written / "readings-300.png").stat().st_size > 5000
