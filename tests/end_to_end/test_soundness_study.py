"""The report on the corpus: it says what was not judged rightly, and renders what the study writes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STUDY = Path(__file__).resolve().parents[2] / "analysis" / "soundness"


@pytest.fixture(scope="module")
def report() -> Any:
    spec = importlib.util.spec_from_file_location("soundness_report", STUDY / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.report


def entry(**changes: Any) -> dict[str, Any]:
    attack = {"goal": "values", "score": 1e-9, "claimed": 1.0, "success": True}
    return {
        "case": "one",
        "class": "scale",
        "side": "honest",
        "truth": "leaks",
        "why": "a factor | is no secrecy",
        "verdict": "violated",
        "mechanism": "revealed: known",
        "right": True,
        "undecided": "",
        "pending": False,
        "attack": attack,
        **changes,
    }


def test_what_is_not_true_is_said_to_be(report: Any) -> None:
    cases = [
        entry(),
        entry(case="two", verdict="holds", right=False, pending=True),
        entry(case="three", side="right", truth="safe", verdict="holds", mechanism="nothing found"),
        entry(case="four", side="right", truth="safe", verdict="violated", right=False),
        entry(case="five", side="beyond", verdict="holds", right=False),
        entry(case="six", side="sabotage", verdict="holds", right=False),
    ]
    text = report({"cases": cases, "command": "python x", "versions": {"Python": "3"}})
    assert "Of 2 slips that an honest author can make, 1 were cleared, 1 of which are known" in text
    assert "Of 1 cases of sabotage, of which nothing is promised, 1 were cleared." in text
    assert "succeeded for 3 of 3. Of 2 right cases, 1 were accused" in text
    assert text.count("**(not true)**") == 3
    assert "| scale | 3 | 1 | 0 | 2 |" in text
    assert r"a factor \| is no secrecy; recovered to 1e-09 standard deviations" in text


@pytest.mark.soundness
def test_the_study_writes_what_it_found(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "analysis.soundness.run", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=STUDY.parents[1], capture_output=True, text=True, check=False)
    assert (tmp_path / "numbers.json").is_file(), done.stderr
    numbers = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    known = [case["right"] or case["pending"] or case["side"] == "beyond" for case in numbers["cases"]]
    assert done.returncode == int(not all(known))
    assert all(case["attack"]["success"] for case in numbers["cases"] if case["truth"] == "leaks")
    assert "# Verdicts on protocols of known truth" in (tmp_path / "README.md").read_text(encoding="utf-8")
