"""The study of meta clustering on small settings: the grid, fairness, liars, and what is revealed."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from secmix.estimators.estimate import wilson

STUDY = "analysis.meta_clustering.run"


@pytest.fixture(scope="module")
def folder(study: ModuleType, data_file: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = data_file("electrical_grid_stability.csv")
    out: Path = tmp_path_factory.mktemp("meta-clustering")
    assert study.main(["--quick", "--data", str(path), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def found(folder: Path) -> Any:
    return json.loads((folder / "numbers.json").read_text(encoding="utf-8"))


def test_with_the_number_of_clusters_given_secs_error_on_the_grid_is_the_oracles(found: Any) -> None:
    for cell in found["grid"]:
        assert cell["exact"]["given"] == cell["exact"]["penalty"] == cell["repeats"] or cell["attacked"] == 0
        assert cell["penalty"] == cell["oracle"]
        assert cell["penalty"]["mean"] < cell["none"]["mean"]
    assert found["grid"][-1]["attacked"] == 40
    assert found["grid"][-1]["all"]["mean"] > 5 * found["grid"][-1]["penalty"]["mean"]


def test_the_penalty_counts_functions_and_the_gap_statistic_two_of_them(found: Any) -> None:
    one, two, three = found["counted"]
    assert two["right"]["gap"] == two["repeats"]
    assert one["right"]["gap"] < one["right"]["penalty"]  # the failure as found: it splits those who are alike
    assert sum(cell["right"]["gap"] for cell in (one, two, three)) < sum(
        cell["right"]["penalty"] for cell in (one, two, three)
    )


def test_clusters_stand_in_for_the_variable_that_may_not_be_used(found: Any) -> None:
    # Table 1: "by about 50%" at large γ. With three clusters the interval over the repeats is below 1 and holds a half.
    (cell,) = found["fairness"]
    assert cell["gamma"] == 3
    mean, half = cell["ratio"]["given"]
    assert mean + half < 1
    assert mean - half < 0.5
    assert cell["Oracle"]["mean"] < cell["given"]["mean"] < cell["Fairness"]["mean"]
    assert cell["ratio"]["penalty"][0] < mean  # more clusters, less error


def test_one_liar_breaks_a_fixed_number_of_clusters_and_not_a_free_one(found: Any) -> None:
    for ways in (found["breakdown"]["lies"]["flipped_labels"], found["breakdown"]["lies"]["forged_functions"]):
        assert max(ways["K = 2"][0]["wrong"]) > 0.3
        assert max(ways["K = 2"][0]["error"]) > 0.5
        assert max(ways["K by penalty"][0]["wrong"]) == 0
        assert max(ways["K by penalty"][0]["error"]) < 0.1


def test_what_functions_and_queries_reveal(found: Any) -> None:
    ols, neighbours, queries = found["revealed"]["messages"]
    assert ols["eavesdropper"]["equations"] == ols["curious learner"]["equations"] == 1
    assert ols["eavesdropper"]["X"] == 0
    assert neighbours["curious learner"]["X"] == neighbours["curious learner"]["y"] == 1
    assert queries["eavesdropper"]["X"] == queries["eavesdropper"]["y"] == 1
    assert (queries["curious learner"]["X"], queries["curious learner"]["y"]) == (1, 0)
    assert found["revealed"]["objects"]["knn"] == 1
    assert 0 < found["revealed"]["objects"]["svr"] <= 1


def test_simulation_1_recovers_clusters_where_the_signal_is_strong(study: ModuleType) -> None:
    # Figure 2: accuracy rises with the SNR, here beyond both intervals. LASSO alone; the full study has the forest too.
    weak, strong = study.simulation_1(4, (10,), (0.05, 5.0), 1, forest=False)
    for way in ("gap", "given"):
        assert wilson(strong["exact"][way], strong["repeats"])[0] > wilson(weak["exact"][way], weak["repeats"])[1]


def test_friedmans_functions_are_his(study: ModuleType) -> None:
    from sklearn.datasets import make_friedman2, make_friedman3

    for which, make in enumerate((make_friedman2, make_friedman3)):
        X, y = make(50, random_state=0)
        np.testing.assert_allclose(study.friedman(which, X), y)


def test_the_report_is_small_and_says_how_numbers_were_got(folder: Path) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "(grid.png)" in text
    assert "Tibshirani" in text
    assert "Is K found?" in text
    assert "lower bounds" in text
    assert sum(path.stat().st_size for path in folder.iterdir()) < 400_000


def test_missing_data_are_named(study: ModuleType, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.delenv("SECMIX_DATA", raising=False)
    monkeypatch.setattr(importlib.import_module("analysis.study"), "ROOT", tmp_path / "a" / "b")
    assert study.main(["--quick", "--data", str(tmp_path / "none.csv"), "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "none.csv" in message
    assert "Traceback" not in message
