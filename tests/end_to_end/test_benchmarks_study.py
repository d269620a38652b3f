"""The benchmark study in small: it runs, everybody's results agree, and its report says where secmix is the slower."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.build

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def timing() -> Iterator[ModuleType]:
    """The module that times, with the repository's root first on the path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield importlib.import_module("analysis.benchmarks.timing")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str, Path]:
    """What the command line writes, from a process of its own, as the number of threads is fixed at import."""
    out = tmp_path_factory.mktemp("benchmarks")
    only = [word for group in ("ksg", "em", "subspaces", "mixtures") for word in ("--only", group)]
    script = [sys.executable, "-m", "analysis.benchmarks.run", "--quick", "--out", str(out), *only]
    done = subprocess.run(script, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    text = (out / "README.md").read_text(encoding="utf-8")
    return json.loads((out / "numbers.json").read_text(encoding="utf-8")), text, out


def test_everybody_does_the_same_work(found: tuple[Any, str, Path]) -> None:
    numbers, text, _ = found
    compared = [
        (entry["name"], who, by)
        for entry in numbers["comparisons"]
        for who, by in entry["by"].items()
        if who != "secmix"
    ]
    assert {who for _, who, _ in compared} >= {"npeet-plus", "scikit-learn"}
    for name, who, by in compared:
        assert by["same"], f"{name}: {who} differs by {by['difference']}"
        assert 0 < by["low"] <= by["ratio"] <= by["high"]
    assert "The results differ" not in text


def test_the_clear_ratios_hold_even_on_a_busy_machine(found: tuple[Any, str, Path]) -> None:
    ratios = {
        (e["group"], who): by["ratio"]
        for e in found[0]["comparisons"]
        for who, by in e["by"].items()
        if who != "secmix"
    }
    assert ratios["subspaces", "projections formed"] > 10
    assert ratios["mixtures", "double loop over scipy"] > 5
    sample = next(e for e in found[0]["comparisons"] if e["name"] == "N = 1000, 6 + 18")
    assert sample["by"]["npeet-plus"]["ratio"] > 2


def test_peers_that_are_missing_are_named(found: tuple[Any, str, Path]) -> None:
    numbers, text, out = found
    for name, standing in numbers["peers"].items():
        assert f"{name} {standing}" in text
    assert (out / "ksg.png").stat().st_size > 5000


def test_ratio_and_its_interval(timing: ModuleType) -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        ours, theirs = np.exp(0.1 * rng.normal(size=(2, 5)))
        read = timing.ratio(list(3 * theirs), list(ours))
        covered += read["low"] <= 3.0 <= read["high"]
    assert 270 <= covered <= 297  # 95 %, neither far fewer nor all
    assert timing.ratio([4.0, 4.0, 4.0], [2.0, 2.0, 2.0])["ratio"] == pytest.approx(2.0)


def test_exponent_is_that_of_the_power(timing: ModuleType) -> None:
    sizes = [10, 20, 40, 80]
    read = timing.exponent(sizes, [1e-3 * n**1.7 * math.exp(0.02 * (-1) ** n) for n in sizes])
    assert read["low"] <= 1.7 <= read["high"]
    assert read["exponent"] == pytest.approx(1.7, abs=1e-9)
    rng = np.random.default_rng(1)
    reads = [timing.exponent(sizes, [n**2 * math.exp(0.1 * rng.normal()) for n in sizes]) for _ in range(300)]
    assert 270 <= sum(read["low"] <= 2 <= read["high"] for read in reads) <= 297


def test_growth_measures_what_grows(timing: ModuleType) -> None:
    def work(size: int) -> Any:
        return lambda: sum(i * i for i in range(size))

    grown = timing.growth("a loop", "n", [50_000, 100_000, 200_000, 400_000], work)
    assert 0.7 < grown["exponent"] < 1.3


def test_who_would_take_too_long_is_not_run(timing: ModuleType) -> None:
    work = importlib.import_module("analysis.benchmarks.work")
    assert work._foreseen([(1000, 1.0)], 100_000) == 0  # nothing to foresee from
    assert work._foreseen([(1000, 1.0), (10_000, 10.0)], 100_000) == pytest.approx(100)

    class Slow:
        @staticmethod
        def mi(x: Any, y: Any, base: float) -> float:
            raise AssertionError("must not be called here")

    cells = work.ksg_work({"npeet-plus": Slow}, [100, 200, 400], [(2, 2)], 0)
    for size, took in ((100, 1.0), (200, 20.0)):
        cell, learn = next(cells)
        assert cell.name.startswith(f"N = {size},")
        learn({"by": {"npeet-plus": {"least_ms": 1e3 * took}}})
    cell, _ = next(cells)
    assert list(cell.calls) == ["secmix"]
    assert cell.notes["npeet-plus"] == "not run: foreseen from smaller samples to take 400 s"


def test_the_report_says_where_a_peer_is_the_faster(timing: ModuleType, found: tuple[Any, str, Path]) -> None:
    report = importlib.import_module("analysis.benchmarks.report")
    numbers = json.loads(json.dumps(found[0]))
    entry = next(e for e in numbers["comparisons"] if e["group"] == "em")
    entry["by"]["scikit-learn"] |= {"ratio": 0.5, "low": 0.4, "high": 0.6}
    assert "secmix is the slower in: 20000 rows" in report.report(numbers)
    entry["by"]["scikit-learn"] |= {"ratio": 1.0, "low": 0.9, "high": 1.1, "same": False, "difference": 0.1}
    text = report.report(numbers)
    assert "Not told apart: 20000 rows" in text
    assert "The results differ in: 20000 rows" in text
    assert "NO, 1.0e-01 apart" in text


def test_wrong_settings_are_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "analysis.benchmarks.run", "--seed", "-1"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
