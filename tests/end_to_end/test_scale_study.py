"""The study of what an audit costs: its exponents, its words, and one real audit that the kernel counted."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAST = {"runs": 500, "bytes": 2**20, "equations": 10, "unknowns": 4}


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    """The modules of the study, with the repository's root first on the path."""
    names = ("child", "figure", "growth", "limits", "measure", "report", "run", "series")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield {name: importlib.import_module(f"analysis.scale.{name}") for name in names}


def point(size: int, seconds: float | None, verdict: str | None = "violated", why: str = "") -> dict[str, Any]:
    mebibytes = None if seconds is None else 200.0 + size
    return {"size": size, "seconds": seconds, "mebibytes": mebibytes, "verdict": verdict, "why": why, "least": LEAST}


def numbers(parts: dict[str, ModuleType], points: list[dict[str, Any]]) -> dict[str, Any]:
    """What the study would write had it measured ``points`` of a secure summation's nodes."""
    return {
        "command": "python -m analysis.scale.run",
        "versions": {"Python": "3"},
        "machine": "one core",
        "limit": 120.0,
        "whole": 1200.0,
        "speeds": {"bytes": 2.0**30, "multiplications": 1e9},
        "nodes": points,
        "growth": {"nodes": parts["growth"].growth(points)},
    }


def test_the_exponent_is_that_of_what_exceeds_the_start(parts: dict[str, ModuleType]) -> None:
    points = [point(10, 2.0), *(point(n, 2.0 + 1e-3 * n**1.5) for n in (100, 300, 1000))]
    fit = parts["growth"].growth(points)
    assert (fit["start"], fit["sizes"]) == (2.0, [100, 300, 1000])
    assert fit["exponent"] == pytest.approx(1.5, abs=1e-9)
    assert fit["low"] <= 1.5 <= fit["high"]
    without_start = parts["growth"].growth([point(10, 0.0), *points[1:]])
    assert without_start["exponent"] < 1.4  # the start flattens it where it stays in


def test_sizes_without_an_answer_or_within_the_noise_are_not_fitted(parts: dict[str, ModuleType]) -> None:
    growth, words = parts["growth"].growth, parts["report"].exponent_in_words
    refused = point(1000, 0.5, None, "no answer: too many nodes")
    two = growth([point(10, 2.0), point(30, 2.1), point(100, 4.0), point(200, 10.0), refused])
    assert (two["answered"], two["sizes"], two["low"]) == ([30, 100, 200], [100, 200], None)
    assert words(two) == "2.00 (two sizes: no interval)"
    assert (
        words(growth([point(10, 2.0), point(30, 2.1), refused]))
        == "nothing up to 30 costs a quarter more than the start"
    )
    assert words(growth([point(10, 2.0), point(30, 3.0), refused])) == "only 30 costs a quarter more than the start"
    in_part = point(100, 9.0, "inconclusive", "not measured: the run failed for lack of memory")
    assert words(growth([point(10, 2.0), in_part, refused])) == "no larger size has an answer"
    assert words(growth([refused])) == words(growth([])) == "no answer at the smallest size"


def test_sizes_of_which_two_runs_are_made_are_not_fitted(parts: dict[str, ModuleType]) -> None:
    points = [point(10, 2.0), *(point(n, 2.0 + 1e-3 * n**1.5) for n in (100, 300, 1000))]
    of_two = {**point(5000, 3.0), "least": {**LEAST, "runs": 2}}
    fit = parts["growth"].growth([*points, of_two])
    assert (fit["answered"][-1], fit["sizes"]) == (5000, [100, 300, 1000])
    assert fit["exponent"] == pytest.approx(1.5, abs=1e-9)


def test_the_least_work_reads_all_bytes_once_and_eliminates_once(parts: dict[str, ModuleType]) -> None:
    speed = {"bytes": 2.0**20, "multiplications": 160.0}
    assert parts["limits"].floor(LEAST, speed) == pytest.approx(1 + 10 * 4 * 4 / 160)


def test_messages_and_equations_of_a_cycle_are_counted(parts: dict[str, ModuleType]) -> None:
    from secmix.scenario import from_dict

    series = parts["series"].SERIES
    for name, size, nodes, columns in (("nodes", 10, 10, 2), ("columns-exact", 3, 5, 3)):
        least = parts["limits"].limits(from_dict(series[name].scenario(size, 0)))
        assert least["unknowns"] == nodes - 2 + 1  # inputs of honest nodes, and the one mask that starts the cycle
        assert least["runs"] == 500
        entries = 2 * (1 + columns + columns * (columns + 1) // 2)  # of two components
        messages = 2 * nodes - 1  # the running sum goes around, and the result all but around
        assert least["bytes"] == 8 * entries * messages * 3 * 500


def test_the_note_on_sweeps_is_true_of_the_cycles(parts: dict[str, ModuleType]) -> None:
    import numpy as np

    from secmix.auditing.setup import build_setup
    from secmix.protocols.sums.pdmm_rounds import planned
    from secmix.scenario import from_dict

    series = parts["series"].SERIES
    sweeps = {}
    for name, size in (("pdmm", 20), ("pdmm", 50), ("pdmm-tuned", 20), ("pdmm-tuned", 50), ("pdmm-tuned", 100)):
        setup = build_setup(from_dict(series[name].scenario(size, 0)))
        plan = planned(setup.network, setup.protocol._settings, np.random.default_rng(0))
        sweeps[name, size] = len(plan.sweeps)
    found = [f"{sweeps[name, size]:,}" for name, size in sweeps]
    note = series["pdmm-tuned"].note
    assert f"{found[0]} of 20, {found[1]} of 50" in note
    assert f"{found[2]}, {found[3]} and {found[4]}" in note
    assert note in parts["report"].report({**numbers(parts, []), "pdmm-tuned": [], "growth": {}})
    assert all(name in series for _, names in parts["figure"].PANELS for name in names)
    assert all(len(names) <= len(parts["figure"].STYLES) for _, names in parts["figure"].PANELS)


def test_an_outcome_is_the_verdict_or_the_programs_own_sentence(parts: dict[str, ModuleType]) -> None:
    outcome = parts["measure"].outcome
    report = {"verdict": "violated", "cells": [{"unmeasured": []}]}
    assert outcome(report, "", 1, None) == ("violated", "")
    report = {"verdict": "inconclusive", "cells": [{"unmeasured": ["inversion: too large"]}]}
    assert outcome(report, "", 1, None) == ("inconclusive", "not measured: inversion: too large")
    printed = "secmix: 0 of 1 done\nsecmix: use fewer nodes\n"
    assert outcome(None, printed, 2, None) == (None, "no answer: use fewer nodes")
    assert outcome(None, "Killed", -9, None) == (None, "no answer: the process ended with status -9")
    assert outcome(None, printed, -24, 120.0) == (None, "no answer within 120 s of processor time")


def test_nothing_above_a_size_that_took_too_long_is_begun(
    parts: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def audited(settings: dict[str, Any], limit: float) -> dict[str, Any]:
        size = settings["network"]["nodes"]
        seen.append((size, limit))
        spent = point(size, 2.0) if size < 100 else point(size, limit, None, "no answer within 10 s")
        return spent | {"timed_out": size >= 100}

    monkeypatch.setattr(parts["measure"], "audited", audited)
    series, budget = parts["series"].SERIES["nodes"], parts["measure"].Budget(10, 100)
    found = parts["measure"].measured(series, 0, (10, 100, 300), budget)
    assert seen == [(10, 10), (10, 10), (100, 10)]  # the smallest once before, for what is compiled
    assert [p["verdict"] for p in found] == ["violated", None, None]
    assert found[2]["why"] == "not run: 100 nodes took too long"
    assert budget.left == 100 - 2 - 2 - 10
    spent = parts["measure"].measured(series, 0, (10, 30), parts["measure"].Budget(10, 4.5))
    assert spent[1]["why"] == "not run: the time of the whole is spent"


def test_the_report_shows_every_size(parts: dict[str, ModuleType]) -> None:
    refusal = "no answer: too many nodes | use fewer"
    found = numbers(
        parts, [point(10, 2.0), point(1000, 66.0), point(5000, 0.5, None, refusal), point(9000, None, None)]
    )
    text = parts["report"].report(found)
    assert "| 10 | 2.0 | 210 | violated | 500 | 1.0 | 10 × 4 | 0.00098 | 2,048 |" in text
    assert "| 5,000 | 0.5 | 5,200 | no answer: too many nodes \\| use fewer | – | – | 10 × 4 | – | – |" in text
    assert "| 9,000 | – | – |" in text
    assert "on one core: other work" in text
    assert "| 1,000: 66 s, 1,200 MiB |" in text


@pytest.mark.build
def test_the_figure_shows_what_was_measured_and_is_the_same_twice(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    found = numbers(parts, [point(10, 2.0), point(1000, 66.0), point(5000, 0.5, None, "no answer: too many")])
    for path in (tmp_path / "one.svg", tmp_path / "two.svg"):
        parts["figure"].draw(found, path)
    drawn = (tmp_path / "one.svg").read_bytes()
    assert drawn == (tmp_path / "two.svg").read_bytes()
    assert b"secure summation" in drawn
    assert b"PDMM" not in drawn  # it was not measured


def test_the_kernel_counts_the_child_alone_and_ends_it_in_time(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    def run(code: str, limit: float) -> dict[str, float]:
        command = [sys.executable, parts["child"].__file__, str(limit), "out", "err", sys.executable, "-S", "-c", code]
        return json.loads(subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, check=True).stdout)

    small = run("print('said')", 10)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "said\n"
    assert small["status"] == 0
    assert 1 < small["mebibytes"] < 40  # this process, which asked for it, is far larger
    large = run("b = bytearray(64 << 20); raise SystemExit(3)", 10)
    assert large["status"] == 3
    assert 60 < large["mebibytes"] - small["mebibytes"] < 70


@pytest.mark.build
def test_a_child_that_takes_too_long_is_ended(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    costs = parts["child"].costs([sys.executable, "-c", "while True: pass"], 1, tmp_path / "o", tmp_path / "e")
    assert costs["status"] == -24  # SIGXCPU
    assert 0.9 < costs["seconds"] < 1.5


@pytest.mark.build
def test_it_runs_and_reports(tmp_path: Path) -> None:
    script = [sys.executable, "-m", "analysis.scale.run", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"numbers.json", "README.md", "scale.svg", "seconds.json"}
    found = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    (only,) = found["columns-exact"]
    assert only["verdict"] == "violated"
    assert 0.3 < only["seconds"] < 60
    assert 100 < only["mebibytes"] < 1000
    assert only["least"]["equations"] > 0
    assert "secmix audit --workers 1" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_limits_below_a_second_are_refused(
    parts: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["run", "--limit", "0"])
    with pytest.raises(SystemExit, match="2"):
        parts["run"].main()
    assert "--limit and --whole must be at least 1 second; given 0 and 1200" in capsys.readouterr().err
