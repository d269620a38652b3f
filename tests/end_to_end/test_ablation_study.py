"""The ablation on a few draws: it runs, and its report counts who alone convicts and what goes wrong without a part."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("analysis.ablation.report")


def row(text: str, name: str) -> list[str]:
    (found,) = (line for line in text.splitlines() if line.startswith(f"| {name} |"))
    return [part.strip() for part in found.strip("|").split("|")][1:]


FILES = {
    "vouching": {"nearness": "nearness.py", "copies on a line": "copies.py"},
    "critics": {"kernel CCA": "kernel_cca.py", "neighbours": "neighbours.py"},
}


def numbers(**parts: object) -> dict[str, object]:
    return {"command": "it", "versions": {}, "files": FILES, **parts}


def test_alone_is_who_convicts_where_nobody_else_does(study: ModuleType) -> None:
    record = [
        {"gathered": {"inversion": 2, "ksg": 1}, "convict": ["inversion"]},
        {"gathered": {"inversion": 1, "structure": 1}, "convict": ["inversion", "structure"]},
        {"gathered": {"ksg": 1}, "convict": []},
    ]
    corpus = [{"gathered": ["structure"], "convict": ["frames"]}]
    text = study.report(numbers(record=record, corpus=corpus))
    assert row(text, "inversion") == ["2", "2", "1", "0", "0"]
    assert row(text, "structure") == ["1", "1", "0", "0", "0"]
    assert row(text, "ksg") == ["2", "0", "0", "0", "0"]
    assert row(text, "frames") == ["0", "0", "0", "1", "1"]


def test_wrong_is_what_is_vouched_for_without_the_safeguard_and_misses(study: ModuleType) -> None:
    def reading(part: str, truth: float | None, *, whole: list[object], without: list[object]) -> dict[str, object]:
        return {
            "task": "a task",
            "rows": 500,
            "part": part,
            "truth": truth,
            "read": {"all": whole, "nearness": without},
        }

    resolved, open_ = ["resolved", 0.0, 0.5], ["unresolved", 0.0, None]
    readings = [
        reading("peers", 0.7, whole=open_, without=resolved),  # wrong without it
        reading("cases", None, whole=open_, without=resolved),  # an infinite truth lies above any end
        reading("own", 0.3, whole=open_, without=resolved),  # gained
        reading("own", 0.3, whole=resolved, without=open_),  # lost
        reading("own", None, whole=["determined", 0.1, None], without=open_),  # lost as well
    ]
    text = study.report(numbers(vouching=readings))
    assert row(text, "nearness") == ["`ksg_estimator/nearness.py`", "1", "0", "1", "2", "1"]
    assert row(text, "copies on a line") == ["`ksg_estimator/copies.py`", "0", "0", "0", "0", "0"]
    assert "KSG vouches for 2 numbers, 0 of them wrongly" in text


def test_lost_is_a_bound_that_falls_by_a_tenth(study: ModuleType) -> None:
    def draw(truth: float | None, whole: float, without: float) -> dict[str, object]:
        read = {"all": [whole, whole], "neighbours": [whole, whole], "kernel CCA": [without, without]}
        return {"task": "a task", "rows": 500, "truth": truth, "read": read}

    draws = [
        draw(1.0, 0.8, 0.7),
        draw(1.0, 0.8, 0.75),
        draw(1.0, 0.8, 1.1),
        draw(None, 0.06, 0.03),
        draw(0.0, 0.0, 0.0),
    ]
    text = study.report(numbers(critics=draws))
    assert row(text, "kernel CCA")[:4] == ["`information/kernel_cca.py`", "1", "2", "1"]
    assert row(text, "neighbours")[:4] == ["`information/neighbours.py`", "0", "0", "0"]
    assert "Lost without kernel CCA: a task (N = 500); a task (N = 500)." in text


def test_what_is_there_no_more_keeps_its_figures(study: ModuleType) -> None:
    gone = {"task": "a task", "rows": 500, "part": "own", "truth": 0.3}
    read = {"all": ["resolved", 0.0, 0.5], "lengths": ["resolved", 0.0, 0.5]}
    record = [{"gathered": {"ksg": 1}, "convict": []}]
    before = numbers(vouching=[gone | {"read": read}], record=record)
    before["files"] = FILES | {"vouching": {"lengths": "invariance.py"}}
    text = study.report(numbers(), before)
    assert row(text, "ksg") == ["1", "0", "0", "0", "0"]
    assert row(text, "lengths") == ["`ksg_estimator/invariance.py`", "0", "0", "0", "0", "0"]


@pytest.mark.build
def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    command = importlib.import_module("analysis.ablation.__main__")
    assert command.main(["--quick", "--out", str(tmp_path), "--cache", str(tmp_path / "cache")]) == 0
    found = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    assert len(found["record"]) > 100
    assert all(len(found[part]) == 3 for part in ("corpus", "vouching", "cases", "critics"))
    assert not [case["failed"] for case in found["corpus"] if case["failed"]]
    assert all(case["convict"] for case in found["corpus"] if case["verdict"] == "violated")
    assert "readings of numbers" in found["corpus"][0]["convict"]
    critics = importlib.import_module("analysis.ablation.critics")
    assert all(set(draw["read"]) == {*critics.OFF, *critics.AFTERWARDS} for draw in found["critics"])
    assert all(draw["read"]["all"][1] <= draw["truth"] for draw in found["critics"])


@pytest.mark.build
def test_what_is_remembered_changes_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Critics that are fitted once for all variants give the bound that they give by themselves."""
    import numpy as np

    from secmix.estimators import information_lower_bound

    monkeypatch.syspath_prepend(ROOT)
    critics = importlib.import_module("analysis.ablation.critics")
    x, e = np.random.default_rng(5).standard_normal((2, 120, 1))
    found = critics.bounds(x, x + e, 3, ("all", "kernel CCA", "all"))
    alone = information_lower_bound(x, x + e, rng=3)
    assert found["all"] == [alone.value, alone.low]
