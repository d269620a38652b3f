"""Rows that belong to somebody: the rows of each group are one node's, with their own distribution and number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import secmix
from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.auditing.setup import build_setup
from secmix.data import Dataset, csv, sample_rows
from secmix.errors import DataError
from secmix.network import Network
from secmix.protocols import Plain
from secmix.scenario import from_dict
from secmix.transcript import SERVER, Channel

SIZES = {"St. Gallen": 60, "Bern": 24, "Chur": 6}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["alter,Spital,druck"]
    for k, (name, size) in enumerate(SIZES.items()):
        lines += [f"{a:.4f},{name},{b:.4f}" for a, b in rng.normal(5 * k, 1 + k, size=(size, 2))]
    path = tmp_path / "daten.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def scenario(file: Path, **changes: Any) -> dict[str, Any]:
    return {
        "network": {"kind": "complete", "nodes": 3},
        "data": {"name": "csv", "path": str(file), "group": "Spital", **changes.pop("data", {})},
        "runs": 100,
        "protocol": {"name": "plain"},
        "adversary": {"name": "eavesdropper"},
        "policy": {"max_revealed_nodes": 0},
        **changes,
    }


def test_each_node_draws_from_its_own_rows(file: Path) -> None:
    setup = build_setup(from_dict(scenario(file)))
    assert setup.names == tuple(SIZES)
    assert setup.counts == (30, 12, 3)
    dealt = setup.sample_rows(50, np.random.default_rng(0))
    assert [part.shape for part in dealt] == [(50, 30, 2), (50, 12, 2), (50, 3, 2)]
    assert setup.groups is not None
    for part, own in zip(dealt, setup.groups, strict=True):
        theirs = {row.tobytes() for row in setup.rows[own]}
        assert {row.tobytes() for row in part.reshape(-1, 2)} == theirs
        assert all(len({row.tobytes() for row in run}) == len(run) for run in part)


def test_names_of_the_network_say_whose_group_is_which(file: Path) -> None:
    names = ["Chur", "St. Gallen", "Bern"]
    setup = build_setup(from_dict(scenario(file, network={"kind": "complete", "nodes": 3, "names": names})))
    assert setup.names == tuple(names)
    assert setup.counts == (3, 30, 12)
    given = build_setup(from_dict(scenario(file, data={"rows_per_node": 2})))
    assert given.counts == (2, 2, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"network": {"kind": "complete", "nodes": 4}}, "3 groups, and [network] has 4 nodes; set nodes = 3"),
        ({"network": {"kind": "complete", "nodes": 3, "names": ["Chur", "Bern", "Genf"]}}, "'Genf', 'St. Gallen' only"),
        ({"data": {"rows_per_node": 7}}, "node 2 asks for 7 rows, its group has 6; lower rows_per_node"),
        ({"data": {"group": "Klinik"}}, "has no column 'Klinik'"),
    ],
)
def test_groups_that_do_not_fit_say_what_would(file: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        build_setup(from_dict(scenario(file, **changes)))
    assert said in str(caught.value)


def test_rows_without_a_group_are_named(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("a,wer\n1,x\n2,\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"row 2, column 'wer' of .* is empty"):
        csv(path, group="wer")


def test_rows_that_are_left_out_leave_their_groups(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("a,wer\n1,x\n,y\n3,z\n4,y\n", encoding="utf-8")
    assert csv(path, group="wer", missing="drop").groups == ("x", "z", "y")
    assert csv(path, group="wer", missing="mean").groups == ("x", "y", "z", "y")
    assert csv(path, drop=["wer"], missing="drop").groups is None


def test_a_data_set_says_whose_each_row_is() -> None:
    with pytest.raises(DataError, match="2 owners for 3 rows"):
        Dataset(np.ones((3, 1)), ("a",), "a test", groups=("x", "y"))
    rows = np.arange(6.0)[:, None]
    (first, second) = sample_rows(rows, [1, 2], 20, np.random.default_rng(0), [np.array([5]), np.array([0, 1, 2])])
    assert set(first.ravel()) == {5.0}
    assert set(second.ravel()) == {0.0, 1.0, 2.0}


class Means:
    """Every node sends the server the mean of its rows, blurred by as much for everybody."""

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        means = np.stack([part.mean(axis=1) for part in parts])
        channel.send(0, np.arange(network.n), SERVER, "mean", means + 0.1 * rng.standard_normal(means.shape))
        return np.zeros((means.shape[1], network.n, 1))

    def error(self, results: Array, reference: Array) -> Array:
        return np.zeros(len(results))


@pytest.mark.build
def test_what_is_known_of_a_node_hangs_on_its_own_rows(file: Path) -> None:
    given = scenario(file, policy={"max_normalised_leakage": 0.3}, data={"rows_per_node": [30, 12, 1]})
    del given["protocol"], given["adversary"]
    report = secmix.audit(given, protocols={"means": Means()}, adversaries={"server": CuriousServer()})
    worst = [node.worst for node in report.cells[0].nodes]
    # A row is one of 30, one of 12, and all there is of the last.
    assert worst[0] < 0.3 < worst[2]
    assert [node.verdict for node in report.cells[0].nodes] == ["inconclusive", "inconclusive", "violated"]


def test_too_few_rows_are_said_with_the_sizes(file: Path) -> None:
    given = scenario(file)
    del given["protocol"], given["adversary"]
    report = secmix.audit(given, protocols={"plain": Plain()}, adversaries={"lines": Eavesdropper()})
    notes = report.cells[0].notes
    assert any("30 of 60" in note and "12 of 24" in note and "3 of 6" in note for note in notes)
    (few,) = [note for note in notes if "too few for resampling" in note]
    assert "6 rows to draw 3 from" in few
