"""The study of meta clustering on small settings: the grid, fairness, liars, and what is revealed."""

from __future__ import annotations

import importlib
import json
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso

from secmix.errors import SecmixError
from secmix.estimators.estimate import wilson

pytestmark = pytest.mark.build

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
    one, two, three = (cell for cell in found["counted"] if cell["learners"] == 15)
    assert two["right"]["gap"] == two["repeats"]
    assert one["right"]["gap"] < one["right"]["penalty"]  # the failure as found: it splits those who are alike
    totals = {way: sum(cell["right"][way] for cell in (one, two, three)) for way in ("gap", "penalty", "cv")}
    assert totals["gap"] < totals["penalty"]
    assert totals["gap"] < totals["cv"]


def test_all_labels_are_right_once_learners_have_rows_enough(found: Any) -> None:
    # Theorem 4, beyond both intervals.
    few, many = found["rate"]
    for way in ("penalty", "given"):
        low, high = (wilson(cell["exact"][way], cell["repeats"]) for cell in (few, many))
        assert low[1] < high[0]


def test_two_functions_show_as_two_eigenvalues_of_one_and_two_directions(found: Any) -> None:
    # Figure 3.
    first, second, third, *_ = found["spectrum"]["eigenvalues"]
    assert first == pytest.approx(1)
    assert second > 0.9 > 0.7 > third
    assert found["spectrum"]["right"]
    assert found["spectrum"]["least cosine within"] > 0.9 > 0.1 > found["spectrum"]["largest cosine between"]


def test_clusters_stand_in_for_the_variable_that_may_not_be_used(found: Any) -> None:
    # Table 1: "by about 50%" at large γ. With three clusters the interval over the repeats is below 1 and holds a half.
    (cell,) = found["fairness"]
    assert cell["gamma"] == 3
    mean, half = cell["ratio"]["given"]
    assert mean + half < 1
    assert mean - half < 0.5
    assert cell["Oracle"]["mean"] < cell["given"]["mean"] < cell["Fairness"]["mean"]
    for way in ("penalty", "cv"):  # more clusters, less error
        assert sum(cell["ratio"][way]) < mean


def test_one_liar_breaks_a_fixed_number_of_clusters_and_not_a_free_one(found: Any) -> None:
    for ways in (found["breakdown"]["lies"]["flipped_labels"], found["breakdown"]["lies"]["forged_functions"]):
        assert max(ways["K = 2"][0]["wrong"]) > 0.1  # it joins one of two honest groups, or they are merged
        assert max(ways["K = 2"][0]["error"]) > 0.5
        assert max(ways["K by penalty"][0]["wrong"]) == 0
        assert max(ways["K by penalty"][0]["error"]) < 0.1
        assert max(ways["K by gap"][0]["wrong"]) > 0.05  # the failure as found: why the penalty is the default


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

    friedman = importlib.import_module("analysis.meta_clustering.simulations").friedman
    for which, make in enumerate((make_friedman2, make_friedman3)):
        X, y = make(50, random_state=0)
        np.testing.assert_allclose(friedman(which, X), y)


def test_a_remembered_regressor_makes_no_difference(study: ModuleType) -> None:
    simulations = importlib.import_module("analysis.meta_clustering.simulations")
    rng = np.random.default_rng(0)
    parts = [(X, X @ [1.0, sign]) for sign in (1, 1, 1, -1, -1, -1) for X in [rng.normal(size=(20, 2))]]
    plain = [RandomForestRegressor(5), Lasso(0.1)]
    one, two = (
        simulations.clustered(parts, candidates, 3, n_clusters=2)
        for candidates in (plain, [simulations.Remembered(c) for c in plain])
    )
    np.testing.assert_array_equal(one.selected_, two.selected_)
    np.testing.assert_allclose(one.losses_, two.losses_, rtol=1e-9)


def test_simulation_2_counts_what_is_selected_and_what_collaboration_gains(study: ModuleType) -> None:
    one, two = study.simulation_2(2, (("ridge",), ("ridge", "lasso", "knn")), 0, rows=60, p=6)
    assert one["selected"] == [1.0]
    assert sum(two["selected"]) == pytest.approx(1)
    assert (one["columns"], one["rows"], one["repeats"]) == (6, 60, 2)
    for cell in (one, two):
        gain = cell["alone"]["mean"] - cell["collaboration"]["mean"]
        assert cell["gain"][0] == pytest.approx(gain)
        assert 0 <= cell["p"] <= 1


def test_public_rows_are_cut_into_learners_each_row_once(study: ModuleType, tmp_path: Path) -> None:
    public = importlib.import_module("analysis.meta_clustering.public")
    path = tmp_path / "table.csv"
    table = np.column_stack([np.arange(100) % 10, np.arange(100.0), -np.arange(100.0)])
    np.savetxt(path, table, delimiter=",", header="by,x,y", comments="")
    parts = public.learners_of(path, np.random.default_rng(0))
    assert len(parts) == 12
    assert sorted(np.concatenate([y for _, y in parts])) == sorted(table[:, 2])
    ends = [(X[:, 0].min(), X[:, 0].max()) for X, _ in parts]
    assert all(before[1] <= after[0] for before, after in pairwise(ends))
    with pytest.raises(SecmixError, match="there is no file"):
        public.learners_of(tmp_path / "none.csv", np.random.default_rng(0))


def test_of_the_diabetes_data_clusters_of_forests_gain_nothing(found: Any) -> None:
    # Table 3's claim on data of ours, as found: no gain that two repetitions could show.
    assert found["public"]["data"] == "diabetes"
    for way in ("pooled", "unpooled"):
        gain, half = found["public"]["ways"][way]["less"]
        assert gain <= half


def test_the_report_is_small_and_says_how_numbers_were_got(folder: Path) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "(grid.png)" in text
    assert "Tibshirani" in text
    assert "Is K found?" in text
    assert "lower bounds" in text
    assert "of processor time (" in text
    assert sum(path.stat().st_size for path in folder.iterdir()) < 400_000


def test_one_repeat_has_no_interval(study: ModuleType, capsys: Any) -> None:
    assert study.main(["--repeats", "1"]) == 2
    assert "at least 2" in capsys.readouterr().err


def test_missing_data_are_named(study: ModuleType, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.delenv("SECMIX_DATA", raising=False)
    monkeypatch.setattr(importlib.import_module("analysis.study"), "ROOT", tmp_path / "a" / "b")
    assert study.main(["--quick", "--data", str(tmp_path / "none.csv"), "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "none.csv" in message
    assert "Traceback" not in message


def test_pairs_that_are_together_in_one_clustering_only_are_wrongly_placed() -> None:
    wrongly_placed = importlib.import_module("analysis.meta_clustering.audit").wrongly_placed
    assert wrongly_placed([0, 0, 1], [7, 7, 3]) == 0
    assert wrongly_placed([0, 0, 0], [0, 1, 2]) == 1
    assert wrongly_placed([0, 0, 1, 1], [5, 5, 5, 5]) == pytest.approx(4 / 6)
