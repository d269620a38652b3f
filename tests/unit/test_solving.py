"""Inversion as evidence in an audit: sums are solved for rows, and only a certified solution counts."""

from __future__ import annotations

from typing import Any

import secmix
from secmix.auditing.report import Report

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


def test_the_sum_of_three_rows_gives_them_away() -> None:
    report = audit({"name": "pdmm", "sigma": 100.0}, PASSIVE)
    assert report.cells[0].leaked == ["x0 + x2 + x4", "x1", "x3"]
    shares = found(report)
    assert set(shares) == {0, 2, 4}
    assert min(shares.values()) >= 0.5  # not every run's parameters move enough to pin the rows down to 1e-6
    assert report.verdict == "violated"
    node = next(s for s in report.cells[0].nodes if s.node == 0)
    assert node.standing == "revealed"
    assert "up to who owns which" in node.why


def test_two_rows_on_an_arc_of_secure_summation_too() -> None:
    shares = found(audit({"name": "secure_sum"}, PASSIVE))
    assert set(shares) == {0, 4}  # node 2 stands alone, and needs no solving
    assert min(shares.values()) >= 0.8


def test_an_outsider_solves_the_total() -> None:
    assert set(found(audit({"name": "pdmm", "sigma": 100.0}, {"name": "eavesdropper"}))) == {0, 1, 2, 3, 4}


def test_too_many_rows_are_not_tried_and_nothing_is_claimed() -> None:
    report = audit({"name": "pdmm", "sigma": 100.0}, PASSIVE, rows=20)
    assert set(found(report).values()) == {0.0}
    assert all("are more than the" in f.notes[0] for f in report.findings if f.evidence == "inversion")
    assert report.verdict == "not refuted"  # 48 known numbers for 120 unknown ones


def test_too_few_iterations_do_not_determine_the_rows() -> None:
    report = audit({"name": "pdmm", "sigma": 100.0}, PASSIVE, rows=4, model={"iterations": 1})
    assert set(found(report).values()) == {0.0}
    assert any("are fewer than" in f.notes[0] for f in report.findings if f.evidence == "inversion")


def test_where_no_sum_is_known_nothing_is_solved() -> None:
    assert found(audit({"name": "secure_sum"}, {"name": "eavesdropper"})) == {}


def test_sums_that_defences_alter_are_never_certified_but_the_error_is_told() -> None:
    report = audit({"name": "secure_sum"}, PASSIVE, model={"iterations": 4, "noise_std": 1e-3})
    assert set(found(report).values()) == {0.0}
    notes = [note for f in report.findings if f.evidence == "inversion" for note in f.notes]
    assert any("the rows that fit them best are off by" in note for note in notes)
    assert report.verdict != "not refuted"  # node 2 stands alone on its arc, and the others are not cleared


def test_a_covariance_floor_in_the_model_does_not_keep_sums_from_being_solved() -> None:
    shares = found(audit({"name": "secure_sum"}, PASSIVE, model={"iterations": 4, "covariance_floor": 0.2}))
    assert min(shares.values()) >= 0.5
