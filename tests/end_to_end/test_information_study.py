"""The study of information estimators on a few tasks: it runs, and its report says what was read."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.build

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


def test_what_a_bound_costs_is_read_again_of_the_same_draws(written: Path) -> None:
    numbers = json.loads((written / "numbers.json").read_text(encoding="utf-8"))
    bounds = {cell["task"]: cell["low"] for cell in numbers["peers"] if cell["method"] == "lower bound"}
    assert {cell["task"]: cell["low"] for cell in numbers["alone"]} == bounds


def test_the_report_counts_them(written: Path) -> None:
    text = (written / "README.md").read_text(encoding="utf-8")
    assert "Of 3 lower bounds" in text
    assert "| KSG | 3 |" in text
    assert (written / "readings-300.png").stat().st_size > 5000


def test_neural_readings_stand_in_a_file_of_their_own(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They come from another environment; the report is written anew from both files."""
    monkeypatch.syspath_prepend(ROOT)
    run = importlib.import_module("analysis.information.run")
    assert "have not been run" in (written / "README.md").read_text(encoding="utf-8")
    monkeypatch.setattr(run.neural, "installed", lambda: False)
    assert run.main(["--quick", "--neural", "--out", str(written)]) == 2
    assert "needs jax" in capsys.readouterr().err
    monkeypatch.setattr(run.neural, "installed", lambda: True)
    monkeypatch.setattr(run.neural, "accelerator", lambda: "")
    monkeypatch.setattr(run, "neural_ones", lambda: {"BMI MINE": lambda x, y, seed: run.Reading(0.25)})
    assert run.main(["--quick", "--neural", "--out", str(written)]) == 0
    text = (written / "README.md").read_text(encoding="utf-8")
    assert "| BMI MINE | 3 |" in text
    assert "--neural` in an environment of its own" in text
    assert "Of 3 lower bounds" in text


def test_the_package_is_found_again_after_its_estimators_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own first lines cannot run; the second draw in one process asks again whether it is there."""
    monkeypatch.syspath_prepend(ROOT)
    neural = importlib.import_module("analysis.information.neural")
    for name in ("bmi", "jax", "equinox", "optax", "pandas", "tqdm"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('cannot run here')")
    (tmp_path / "bmi" / "estimators.py").write_text(
        "class MINEEstimator:\n    def __init__(self, verbose, seed):\n        self.seed = seed\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in sys.modules if name.split(".")[0] in ("bmi", "jax", "equinox", "optax", "tqdm")]:
            patch.delitem(sys.modules, name)
        assert neural.installed()
        assert [neural.estimator("BMI MINE", seed).seed for seed in (3, 4)] == [3, 4]
        assert neural.installed()
        for name in ("bmi", "bmi.samplers", "bmi.estimators"):
            del sys.modules[name]


def test_aims_are_judged_by_the_numbers() -> None:
    """A bound above the truth, one that reaches too little and a miss that is vouched for are each said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        aims = importlib.import_module("analysis.information.aims").aims

    def cell(method: str, low: float, task: str = "t", resolved: bool = False) -> dict[str, object]:
        numbers = {"truth": 1.0, "value": low, "low": low, "high": low, "seconds": 1.0, "rows": 2000}
        return numbers | {"method": method, "resolved": resolved, "task": task, "family": "light"}

    def held(cells: list[dict[str, object]], about: str) -> list[bool]:
        return [line.endswith("| yes |") for line in aims({"peers": cells}) if about in line]

    good = [cell("lower bound", 0.95) for _ in range(40)]
    assert all(held(good, "the bound is at least"))
    assert held([*good[:35], *(cell("lower bound", 0.5) for _ in range(5))], "the bound is at least") == [
        False,
        True,
        False,
    ]
    assert held(good, "exceeds the truth") == [True]
    assert held([*good, cell("lower bound", 1.01)], "exceeds the truth") == [False]
    sure = [cell("KSG", 1.0, resolved=True)]
    assert held(sure, "KSG vouches") == [True]
    assert held([*sure, cell("KSG", 0.5, resolved=True)], "KSG vouches") == [False]
    assert held([*sure, cell("KSG", 0.5)], "resolved in 80 %") == [False]
