"""The study on inverting sums, on small settings: it runs, says what it found, and twice the same."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.build

STUDY = "analysis.sum_inversion.run"


@pytest.fixture(scope="module")
def folder(study: ModuleType, data_file: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("sum-inversion")
    assert study.main(["--quick", "--data", str(data_file("parkinsons.csv")), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def numbers(folder: Path) -> Any:
    return json.loads((folder / "numbers.json").read_text(encoding="utf-8"))


def test_few_rows_come_back_from_t_star_rounds_on(numbers: Any) -> None:
    assert {(f["h"], f["d"], f["c"]) for f in numbers["phases"]} == {(3, 2, 2), (5, 2, 3)}
    assert sum(f["recovered"] for f in numbers["phases"]) >= 0.75 * sum(f["seeds"] for f in numbers["phases"])
    assert not any(f["wrong"] for f in numbers["phases"])


def test_rows_of_patients_come_back_too(numbers: Any) -> None:
    assert {f["data"] for f in numbers["real"]} == {"breast cancer", "Parkinsons"}
    assert sum(f["recovered"] for f in numbers["real"]) >= 3


def test_the_error_grows_with_the_noise_and_is_stated(numbers: Any) -> None:
    none, small, large = (np.median(f["error"]) for f in numbers["noise"])
    assert none < 1e-9 < small < 1e-5 < large
    for f in numbers["noise"]:
        assert (np.array(f["error"]) < 3 * np.array(f["stated"])).all()
        assert f["noise"] < 1e-7 or not f["certified"]


def test_each_protocol_lets_the_sums_through(numbers: Any) -> None:
    assert len(numbers["protocols"]) == 5
    for f in numbers["protocols"]:
        assert np.median(f["error"]) < 1e-4


def test_one_corrupt_node_isolates_its_victim_in_every_protocol(numbers: Any) -> None:
    told = [f for f in numbers["steering"] if f["way"] == "planes, told" and f["corrupt"] == 1]
    assert {f["protocol"] for f in told} == {"plain", "secure summation", "PDMM"}
    assert all(f["rounds"][0] is not None and f["error"][0] < 1e-4 for f in told)
    loud = [f["drop"][0] for f in numbers["steering"] if f["way"].startswith("planes")]
    quiet = [f["drop"][0] for f in numbers["steering"] if f["way"].startswith("ball")]
    assert max(quiet) < min(loud)


def test_a_defence_is_charged_for_what_it_costs_and_credited_with_what_it_stops(numbers: Any) -> None:
    none, noise, floor = numbers["defences"]
    assert none["defence"] == "none"
    assert none["loss"] == [0.0]
    assert none["recovered"] == 1
    assert none["isolated"]["half_space"][0] >= 5
    assert noise["recovered"] == 0
    assert noise["error"][0] > 1e-3
    # A floor blurs the planes, but leaves honest sums to be solved.
    assert floor["isolated"]["half_space"][0] < none["isolated"]["half_space"][0]
    assert floor["recovered"] == 1
    assert none["likelihood_drop"]["half_space"][0] > 10 * none["likelihood_drop"]["ball"][0]


def test_the_report_shows_the_figures_and_no_private_row(folder: Path, numbers: Any) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    for figure in ("success.png", "noise.png", "defences.png"):
        assert f"]({figure})" in text
        assert (folder / figure).read_bytes().startswith(b"\x89PNG")
    assert numbers["command"] in text
    assert "not exact" in text  # what the search cannot see is not called a success
    assert sum(path.stat().st_size for path in folder.iterdir()) < 400_000


def test_the_same_options_give_the_same_problems(study: ModuleType, numbers: Any) -> None:
    again = study.phases([(3, 2, 2)], 2, 0, 64)
    assert again == [f for f in numbers["phases"] if f["h"] == 3]


def test_a_seed_below_zero_is_refused(study: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert study.main(["--seed", "-1"]) == 2
    assert "--seed must be at least 0" in capsys.readouterr().err
