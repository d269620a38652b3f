"""The study of what noise costs: its learners keep what they claim, and its report is made from its numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from analysis.noise.__main__ import main
from analysis.noise.federations import LEARNERS
from analysis.noise.figure import draw
from analysis.noise.measure import EPSILONS, measured
from analysis.noise.report import report
from analysis.noise.rows import NODES, rows_of
from secmix.network import Network
from secmix.transcript import Channel

FOLDER = Path(__file__).parents[2] / "reports" / "noise"
NUMBERS = json.loads((FOLDER / "numbers.json").read_text(encoding="utf-8"))


def test_every_point_of_the_report_lies_between_what_was_seen_and_what_is_proved() -> None:
    for name in LEARNERS:
        points = NUMBERS[name]["points"]
        assert [point["claimed"] for point in points] == list(EPSILONS)
        for point in points:
            assert point["verdict"] == "holds"
            assert point["proved"] == pytest.approx(point["claimed"], rel=1e-6)
            assert 0 < point["seen"] <= point["proved"]
            assert point["lost"] == sorted(point["lost"])


def test_the_report_is_made_from_its_numbers(tmp_path: Path) -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8").startswith(report(NUMBERS))
    draw(NUMBERS, tmp_path / "noise.svg")
    assert (tmp_path / "noise.svg").read_bytes() == (FOLDER / "noise.svg").read_bytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_without_noise_and_with_a_wide_clip_loses_nothing(name: str) -> None:
    rows, learner = rows_of(name), LEARNERS[name]
    wide = type("Wide", (learner,), {"norm": 1e6})(0.0)
    network = Network.cycle(NODES) if name == "GraphFed-EM" else Network.complete(NODES)
    parts = rows.parts(np.random.default_rng(0))
    best = wide.collaborate(parts, network, np.random.default_rng(1), channel=Channel())[0]
    again = wide.collaborate(parts, network, np.random.default_rng(2), channel=Channel())[0]
    assert [wide.lost(a, b, rows.values) for a, b in zip(again, best, strict=True)] == [0.0] * NODES


@pytest.mark.build
def test_more_noise_costs_more_and_is_proved() -> None:
    found = measured("PCA", seed=1, quick=True)
    few, many = found["points"]
    assert few["lost"][1] > many["lost"][1]
    assert {point["verdict"] for point in found["points"]} == {"holds"}


def test_no_wrong_protocol_of_the_report_is_cleared_and_no_right_one_accused() -> None:
    assert len(NUMBERS["claims"]) >= 30
    for case in NUMBERS["claims"]:
        assert case["wrong"]["verdict"] in ("violated", "inconclusive")
        assert case["right"]["verdict"] == "holds"


def test_a_wrong_seed_is_refused_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--seed", "-1", "--out", str(tmp_path)]) == 2
    assert "--seed must be at least 0" in capsys.readouterr().err
