"""Inversion as evidence in an audit: sums are solved for rows, and only a certified solution counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import secmix
from secmix import Mixture
from secmix.auditing.report import Report
from secmix.mixture import local_statistics
from secmix.reporting import words

pytestmark = pytest.mark.delicate

RING = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2], [2, 4]]


def audit(protocol: dict[str, Any], adversary: dict[str, Any], rows: int = 1, **changes: Any) -> Report:
    return secmix.audit(
        {
            "runs": 100,
            "network": {"nodes": 5, "edges": RING},
            "data": {"name": "breast_cancer", "features": 2, "rows_per_node": rows},
            "model": {"iterations": 4},
            "measure": {"evidence": ["structure", "inversion"]},
            "protocol": protocol,
            "adversary": adversary,
            **changes,
        }
    )


def found(report: Report) -> dict[int, float]:
    return {f.node: f.normalised_leakage for f in report.findings if f.evidence == "inversion"}


PASSIVE = {"name": "honest_but_curious", "corrupt": [1, 3]}


@pytest.mark.build
def test_the_sum_of_three_rows_gives_them_away() -> None:
    report = audit({"name": "pdmm", "sigma": 100.0}, PASSIVE)
    assert report.cells[0].leaked == ["x0 + x2 + x4", "x1", "x3"]
    shares = found(report)
    assert set(shares) == {0, 2, 4}
    assert min(shares.values()) >= 0.5  # not every run's parameters move enough to pin the rows down to 1e-6
    assert report.verdict == "violated"
    node = next(s for s in report.cells[0].nodes if s.node == 0)
    assert node.standing == "revealed"
    assert "the records are known, but not their owners" in node.why


@pytest.mark.build
def test_what_is_known_already_is_not_solved_for_and_said() -> None:
    report = audit({"name": "plain"}, {"name": "curious_server"}, rows=2)
    assert {node.standing for node in report.cells[0].nodes} == {"revealed"}
    assert found(report) == {}
    assert (
        "the rows behind known sums: not measured of nodes 0, 1, 2, 3, 4, whose data are known already"
        in report.cells[0].notes
    )


@pytest.mark.build
def test_two_rows_on_an_arc_of_secure_summation_too() -> None:
    shares = found(audit({"name": "secure_sum"}, PASSIVE))
    assert set(shares) == {0, 4}  # node 2 stands alone, and needs no solving
    assert min(shares.values()) >= 0.8


@pytest.mark.build
def test_an_outsider_solves_the_total() -> None:
    assert set(found(audit({"name": "pdmm", "sigma": 100.0}, {"name": "eavesdropper"}))) == {0, 1, 2, 3, 4}


@pytest.mark.build
def test_too_many_rows_are_not_tried_and_nothing_is_claimed() -> None:
    report = audit({"name": "pdmm", "sigma": 100.0}, PASSIVE, rows=20)
    assert set(found(report).values()) == {0.0}
    assert all("exceed the" in f.notes[0] for f in report.findings if f.evidence == "inversion")
    assert report.verdict == "holds"  # 48 known numbers for 120 unknown ones


@pytest.mark.build
def test_too_few_iterations_do_not_determine_the_rows() -> None:
    report = audit({"name": "pdmm", "sigma": 100.0}, PASSIVE, rows=4, model={"iterations": 1})
    assert set(found(report).values()) == {0.0}
    assert any("are fewer than" in f.notes[0] for f in report.findings if f.evidence == "inversion")


def test_where_no_sum_is_known_nothing_is_solved() -> None:
    assert found(audit({"name": "secure_sum"}, {"name": "eavesdropper"})) == {}


@pytest.mark.build
def test_sums_that_defences_alter_are_never_certified_but_the_error_is_told() -> None:
    report = audit({"name": "secure_sum"}, PASSIVE, model={"iterations": 4, "noise_std": 1e-3})
    assert set(found(report).values()) == {0.0}
    notes = [note for f in report.findings if f.evidence == "inversion" for note in f.notes]
    assert any("the median error of the rows that fit best is" in note for note in notes)
    assert report.verdict != "holds"  # node 2 stands alone on its arc, and the others are not cleared


@pytest.mark.build
def test_a_covariance_floor_in_the_model_does_not_keep_sums_from_being_solved() -> None:
    shares = found(audit({"name": "secure_sum"}, PASSIVE, model={"iterations": 4, "covariance_floor": 0.2}))
    assert min(shares.values()) >= 0.5


@pytest.mark.build
def test_iterations_from_which_nodes_abstained_are_left_out() -> None:
    """Their sums are over fewer rows, which the count shows; the cell once failed over it."""
    report = audit({"name": "pdmm", "sigma": 100.0}, PASSIVE, model={"iterations": 6, "likelihood_drop": 0.02})
    shares = found(report)
    assert set(shares) == {0, 2, 4}
    assert not any("failed" in note for note in report.cells[0].notes)
    assert min(shares.values()) > 0


@pytest.mark.build
def test_who_steers_solves_what_is_summed_too() -> None:
    steering = {"name": "steering", "corrupt": [1, 3], "victim": 0}
    report = audit({"name": "pdmm", "sigma": 100.0}, steering, model={"iterations": 4, "likelihood_drop": 1e-9})
    methods = {f.method.split(",")[0] for f in report.findings if f.evidence == "inversion"}
    assert len(methods) == 2  # rows alone, and all rows


def known_exactly(model: dict[str, float], *evidence: str) -> Report:
    """A server that sees every vector, and what is said of it."""
    return audit(
        {"name": "plain", "encrypted": True},
        {"name": "curious_server"},
        model={"iterations": 4, **model},
        measure={"evidence": ["structure", "gaussian", *evidence]},
        policy={"max_revealed_nodes": 0, "max_normalised_leakage": 0.9},
    )


@pytest.mark.build
def test_a_noisy_vector_that_is_known_does_not_reveal_the_row_nor_clear_it() -> None:
    assert known_exactly({}).verdict == "violated"
    for model in ({"noise_std": 1.0}, {"rounding": 0.1}, {"noise_multiplier": 1.0, "clip_radius": 1.0}):
        report = known_exactly(model)
        assert report.verdict == "inconclusive"
        for node in report.cells[0].nodes:
            assert node.standing == "inconclusive"
            assert "100% of what it sends is known, which was blurred before" in node.why
        assert {(f.kind, f.normalised_low, f.normalised_high) for f in report.findings} == {("upper bound", 0.0, 1.0)}
        assert any("blurred" in note for note in report.cells[0].notes)
        said = {(words.amount(f), words.interval(f)) for f in report.findings}
        share = "at most 1.00 share of variance known behind infinite masks"
        assert said == {(share, "a bound, not an estimate"), ("without bound", "a bound, not an estimate")}


def test_noise_that_hides_nothing_is_seen_through() -> None:
    report = known_exactly({"noise_std": 1e-10}, "decoders")
    assert report.verdict == "violated"
    assert {node.standing for node in report.cells[0].nodes} == {"revealed"}


def test_what_an_eavesdropper_never_hears_stays_cleared_with_noise() -> None:
    """A view that depends on nobody says nothing of what was blurred either: an upper bound of zero."""
    report = audit(
        {"name": "plain", "encrypted": True},
        {"name": "eavesdropper"},
        model={"iterations": 3, "noise_std": 1.0},
        measure={"evidence": ["structure", "gaussian"]},
        policy={"max_revealed_nodes": 0, "max_normalised_leakage": 0.1},
    )
    assert report.verdict == "holds"
    assert {f.normalised_high for f in report.findings} == {0.0}


@pytest.mark.build
def test_what_a_defence_costs_is_told_as_output_error() -> None:
    """Against EM on the pooled rows without it; with it the same noise was once drawn on both sides, or other noise."""
    costs = [
        audit({"name": "plain"}, PASSIVE, model={"iterations": 4, **model}).cells[0].output_error
        for model in ({}, {"noise_std": 1e-6}, {"noise_std": 1.0}, {"covariance_floor": 1.0})
    ]
    assert costs[0] < 1e-12 < costs[1] < 1e-3 < costs[3]
    assert costs[2] > 10 * costs[1]


YES_AND_NO = {"secure_sum": {"name": "secure_sum"}, "pdmm": {"name": "pdmm", "sigma": 100.0}}


@pytest.mark.build
@pytest.mark.parametrize("protocol", YES_AND_NO.values(), ids=YES_AND_NO)
def test_few_possible_rows_are_few_unknown_numbers(tmp_path: Path, protocol: dict[str, Any]) -> None:
    """Of rows of two yes-or-no answers there are four: sums over any number of nodes tell how often each occurs."""
    rng = np.random.default_rng(0)
    path = tmp_path / "answers.csv"
    answers = (rng.random((400, 2)) < 0.5).astype(int)
    path.write_text("\n".join(["first,second", *(f"{a},{b}" for a, b in answers)]))
    data = {"name": "csv", "path": str(path), "rows_per_node": 50}
    report = audit(
        protocol, {"name": "honest_but_curious", "corrupt": [1]}, data=data, policy={"max_revealed_nodes": 0}
    )
    (cell,) = report.cells
    assert cell.verdict == "inconclusive"
    assert all("how often each of 4 possible rows is" in node.why for node in cell.nodes if node.node != 1)


def test_how_often_each_possible_row_occurs_is_solved_from_the_sum_of_statistics() -> None:
    rng = np.random.default_rng(1)
    kinds = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    rows = kinds[rng.integers(4, size=200)]
    theta = Mixture([0.4, 0.6], [[0.1, 0.3], [0.8, 0.6]], np.repeat(0.3 * np.eye(2)[None], 2, axis=0))
    of_each = np.array([local_statistics(kind[None], theta, likelihood=False) for kind in kinds])
    known = local_statistics(rows, theta, likelihood=False)
    counts = np.linalg.lstsq(of_each.T, known, rcond=None)[0]
    assert counts.round(6).tolist() == [int((rows == kind).all(axis=1).sum()) for kind in kinds]


@pytest.mark.build
@pytest.mark.parametrize("seed", [0, 1])
def test_rows_that_stand_alone_in_some_runs_are_looked_for_in_many(seed: int) -> None:
    """With eight components a row stands alone in a sum over four nodes in a tenth of the runs or more."""
    report = audit(
        {"name": "secure_sum"},
        {"name": "honest_but_curious", "corrupt": [1]},
        rows=24,
        runs=400,
        seed=seed,
        data={"name": "breast_cancer", "features": 5, "rows_per_node": 24},
        model={"components": 8, "iterations": 2},
        policy={"max_revealed_nodes": 0},
    )
    alone = [f for f in report.findings if f.evidence == "inversion" and "alone" in f.method]
    assert {f.node for f in alone} == {0, 2, 3, 4}
    assert all(0.01 < f.low < f.value < f.high < 0.5 for f in alone)
    assert report.verdict == "inconclusive"
    assert all("of the runs: set max_normalised_leakage" in s.why for s in report.cells[0].nodes if s.node != 1)


@pytest.mark.build
def test_how_often_a_row_stands_alone_is_held_against_the_limit() -> None:
    settings: dict[str, Any] = {
        "runs": 400,
        "data": {"name": "breast_cancer", "features": 5, "rows_per_node": 24},
        "model": {"components": 8, "iterations": 2},
        "measure": {"evidence": ["structure", "gaussian", "inversion"]},
    }
    adversary = {"name": "honest_but_curious", "corrupt": [1]}
    strict = audit({"name": "secure_sum"}, adversary, **settings, policy={"max_normalised_leakage": 0.001})
    assert strict.verdict == "violated"
