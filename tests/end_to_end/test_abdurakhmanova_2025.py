"""The study of GraphFed-EM on small settings: its claims, and what its messages give away."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.build

STUDY = "analysis.abdurakhmanova_2025.run"


@pytest.fixture(scope="module")
def folder(study: ModuleType, data_file: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = data_file("mnist-t10k-images-idx3-ubyte.gz").parent
    data_file("mnist-t10k-labels-idx1-ubyte.gz")
    out: Path = tmp_path_factory.mktemp("abdurakhmanova-2025")
    assert study.main(["--quick", "--data", str(home), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def found(folder: Path) -> Any:
    return json.loads((folder / "numbers.json").read_text(encoding="utf-8"))


def apart(cell: Any, better: str, than: str, which: int, sign: int = 1) -> float:
    """By how many standard errors over the repeats one way is better than another."""
    one, two = cell["scores"][better], cell["scores"][than]
    error = np.hypot(one["error"][which], two["error"][which])
    return float(sign * (one["mean"][which] - two["mean"][which]) / error)


def test_with_few_rows_of_many_columns_nodes_gain_from_their_cluster(found: Any) -> None:
    # Figure 1 at d = N_i = 10, each beyond two standard errors.
    (cell,) = found["clusters"]
    assert (cell["d"], cell["rows"]) == (10, 10)
    likelihood, nmi, off = 0, 1, 2
    assert apart(cell, "GraphFed", "local", likelihood) > 2
    assert apart(cell, "oracle pooling", "GraphFed", likelihood) > 2
    assert cell["scores"]["GraphFed"]["mean"][nmi] > cell["scores"]["local"]["mean"][nmi]  # 1.9 errors of three repeats
    assert apart(cell, "GraphFed", "centralised", nmi) > 2
    assert apart(cell, "GraphFed", "local", off, -1) > 2
    assert apart(cell, "local", "centralised", off, -1) > 2


def test_averaging_adds_nothing_once_rows_are_pooled(study: ModuleType, found: Any) -> None:
    # The paper's cluster-pooled variant, each node from a start of its own: no score beyond two standard errors.
    (cell,) = found["clusters"]
    for which in (0, 1, 2):
        assert abs(apart(cell, "GraphFed, pooled", "oracle pooling", which)) < 2
    # From one start for all it is pooling itself.
    ways = importlib.import_module("analysis.abdurakhmanova_2025.ways")
    rng = np.random.default_rng(1)
    pool = study.labelled(study.base_mixture(3, rng), 60, rng)[0]
    together = ways.fit([pool] * 4, 1.0 - np.eye(4), 0, n_rounds=3).mixtures_
    alone = ways.fit([pool], None, 0, n_rounds=3).mixtures_
    for name in ("weights", "means", "covariances"):
        values = getattr(together, name)
        np.testing.assert_allclose(values, np.broadcast_to(getattr(alone, name), values.shape), rtol=1e-9)


def test_consensus_grows_with_alpha_and_edges(found: Any) -> None:
    error = np.array(found["consensus"]["error"]["mean"])
    assert (error[:, 1] < error[:, 0]).all()
    assert error[1, 1] < error[0, 1]


def test_edges_across_clusters_ask_for_a_moderate_alpha(found: Any) -> None:
    assert found["spurious"]["p_out"] == [0.4]
    assert found["spurious"]["best_alpha"] == [0.4]
    (moderate, full), (low, high) = found["spurious"]["nmi"]["mean"][0], found["spurious"]["nmi"]["error"][0]
    assert moderate - full > 2 * np.hypot(low, high)


def test_own_priors_gain_over_local_training_and_less_than_pooling_does(found: Any) -> None:
    # Figure 4a at d = N_i = 10: above local, below centralised, by likelihood.
    (cell,) = found["own_priors"]
    assert apart(cell, "GraphFed", "local", 0) > 2
    assert apart(cell, "centralised", "GraphFed", 0) > 2


def test_digits_gain_over_local_training_and_not_over_pooling(found: Any) -> None:
    # Figure 4b has GraphFed above both. As found: above local, and below centralised training.
    each = found["digits"]
    (cell,) = each["cells"]
    assert each["embedding"] == "PCA"
    assert cell["scores"]["GraphFed"]["mean"][1] > cell["scores"]["local"]["mean"][1]
    assert cell["scores"]["GraphFed"]["mean"][1] < cell["scores"]["centralised"]["mean"][1]
    assert set(each["causes"]["ways"]) == {"GraphFed", "local"}
    # The cause as found: what nodes match is as often as not of different digits.
    alike, half = each["causes"]["same digit"]["GraphFed"]
    assert alike + half < 0.8


def test_umap_embeds_where_it_is_installed(study: ModuleType) -> None:
    pytest.importorskip("umap", reason="umap-learn is an optional dependency of this study")
    digits = importlib.import_module("analysis.abdurakhmanova_2025.digits")
    rows = np.random.default_rng(0).normal(size=(60, 5))
    one, two = (digits.embedded(rows, np.arange(60), 2, "UMAP") for _ in range(2))
    assert one.shape == (60, 2)
    np.testing.assert_array_equal(one, two)


def test_few_rows_are_read_off_the_messages_and_none_that_are_not_there(found: Any) -> None:
    few, more = found["recovered"]
    assert (few["rows"], more["rows"]) == (5, 20)
    assert few["share"] > 0.5 > more["share"]
    assert few["equations"] == 6  # five rows span four of ten directions
    assert few["wrong"] == more["wrong"] == 0
    assert few["any_interval"][0] <= few["any"] <= few["any_interval"][1]


def test_a_robust_rule_bounds_what_the_mean_does_not(found: Any) -> None:
    weighted, median = (
        found["liars"]["rules"][rule]["2"]["lies"] for rule in ("weighted mean", "coordinate-wise median")
    )
    for lie in ("claim", "means"):
        assert weighted[lie]["1e+06"] > 1e5
        assert median[lie]["1e+06"] < 5


def test_the_report_judges_every_claim_and_is_small(folder: Path) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    for claim in ("Centralised EM has lower NMI", "no clear advantage in NMI or μ_err", "### Why not"):
        assert claim in text
    assert "**Does not reproduce**: GraphFed's NMI is above local *and* centralised in 0 of 1 settings" in text
    assert "lower bounds" in text
    for name in ("figure-2.png", "figure-3.png", "recovered.png"):
        assert f"({name})" in text
    assert sum(path.stat().st_size for path in folder.iterdir()) < 400_000


def test_the_same_seed_gives_the_same_numbers(study: ModuleType) -> None:
    one, two = (study.consensus(2, (1.0,), (0.5,), 3, 5) for _ in range(2))
    assert one == two
    assert one != study.consensus(2, (1.0,), (0.5,), 3, 6)


def test_missing_data_are_named(study: ModuleType, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.delenv("SECMIX_DATA", raising=False)
    monkeypatch.setattr(importlib.import_module("analysis.study"), "ROOT", tmp_path / "a" / "b")
    for part in ("clusters", "consensus", "spurious", "own_priors"):
        monkeypatch.setattr(study, part, lambda *_: None)
    assert study.main(["--quick", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "mnist-t10k-images" in message
    assert "Traceback" not in message
    assert not (tmp_path / "out").exists()
