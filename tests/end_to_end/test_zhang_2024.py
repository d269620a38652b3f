"""The study of Zhang 2024 on small settings: the paper's claims that hold there, and those that do not."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

STUDY = "analysis.zhang_2024.run"


def ran(study: ModuleType, out: Path, *options: str) -> Any:
    assert study.main(["--quick", "--out", str(out), *options]) == 0
    return json.loads((out / "numbers.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def simulation(study: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out: Path = tmp_path_factory.mktemp("simulation")
    found = ran(study, out, "--only", "simulation")["simulation"]
    assert {path.name for path in out.iterdir()} == {"README.md", "numbers.json", "failures.png", "components.png"}
    assert "precision" in (out / "README.md").read_text(encoding="utf-8")
    return found


def cell(found: Any, failure: str) -> Any:
    return next(c for c in found["cells"] if c["failure"] == failure)["rules"]


def test_ared_and_cred_stand_where_the_reduction_of_all_is_broken(simulation: Any) -> None:
    for failure in ("mean", "covariance"):
        rules = cell(simulation, failure)
        assert rules["ARED"]["ratio"][0] < 1.3
        assert rules["CRED"]["ratio"][0] < 1.5
        assert rules["COAT"]["ratio"][0] > rules["CRED"]["ratio"][0]
        assert rules["GMR"]["ratio"][0] > 10
        assert rules["ARED"]["hits"] == 24  # 8 of 20 machines, three times
        assert rules["GMR"]["ari"][0] < rules["ARED"]["ari"][0]
        assert rules["GMR"]["log_likelihood"][0] < rules["ARED"]["log_likelihood"][0]


def test_few_rows_let_covariance_failures_past_the_later_rule(simulation: Any) -> None:
    rules = cell(simulation, "covariance")
    assert rules["DFMR"]["hits"] == 0
    assert rules["DFMR"]["ratio"][0] > 10 * rules["ARED"]["ratio"][0]


def test_weight_failures_pass_and_trimming_is_poor(simulation: Any) -> None:
    rules = cell(simulation, "weight")
    assert rules["ARED"]["hits"] < 24
    assert rules["ARED"]["ratio"][0] < 1.3
    assert rules["TRIM"]["ratio"][0] > 2
    assert cell(simulation, "none")["TRIM"]["ratio"][0] > 2  # without any failure too


def test_component_wise_stands_where_machines_as_a_whole_fail(simulation: Any) -> None:
    for failing in simulation["components"]:
        assert failing["touched"] > 0.5
        assert failing["rules"]["component-wise"]["ratio"][0] < 2
        assert min(failing["rules"][name]["ratio"][0] for name in ("ARED", "CRED", "DFMR")) > 10


def test_colluders_near_the_oracle_and_without_bound(study: ModuleType, tmp_path: Path) -> None:
    found = ran(study, tmp_path, "--only", "colluders")["colluders"]
    near = found["near"][0]
    assert near["ratio"][0] > 1.2
    assert near["margin"] <= 1
    far = {point["rule"]: point for point in found["anywhere"]}
    assert far["ARED"]["unbounded"] == 1
    assert far["ARED"]["kept"] == far["ARED"]["colluders"]
    assert far["component-wise"]["unbounded"] == 0
    assert far["component-wise"]["largest_ratio"] < 10
    assert "no bound against colluders in 1 of 1" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_rows_of_a_mixture_are_found_and_never_wrongly_certified(study: ModuleType, tmp_path: Path) -> None:
    found = ran(study, tmp_path, "--only", "rows")["rows"]
    assert all(size["certified_wrong"] == 0 for size in found)
    assert sum(size["exact"] for size in found) >= 0.75 * sum(size["machines"] for size in found)
    assert all(size["numbers"] >= size["unknowns"] for size in found)


def test_digits_are_clustered_as_well_as_by_the_oracle(study: ModuleType, tmp_path: Path, data_file: Any) -> None:
    folder = data_file("mnist-t10k-images-idx3-ubyte.gz").parent
    found = ran(study, tmp_path, "--only", "digits", "--data", str(folder))["digits"]["table"][0]
    rules = found["rules"]
    assert abs(rules["ARED"]["less_than_oracle"][0]) < 0.03
    assert rules["ARED"]["hits"] == found["failing"] == 6
    assert rules["COAT"]["ari"][0] < rules["CRED"]["ari"][0]
    assert rules["Oracle"]["ari"][0] > 0.6
    assert "0.9194 (0.0015)" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_populations_have_the_overlap_asked_for(study: ModuleType) -> None:
    made = importlib.import_module("analysis.zhang_2024.population")
    rng = np.random.default_rng(0)
    for overlap in (0.05, 0.3):
        true = made.population(4, 6, overlap, rng)
        fresh = np.random.default_rng(1).standard_normal((40000, 6))
        assert made.largest_overlap(true, fresh) == pytest.approx(overlap, abs=0.02)
        values = np.linalg.eigvalsh(true.covariances)
        assert (values[:, 0] / values[:, -1] >= 0.19 - 1e-9).all()


def test_input_that_is_wrong_is_said_in_one_line(
    study: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main(["--seed", "-1", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
