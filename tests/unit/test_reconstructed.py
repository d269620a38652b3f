"""What counts as recovered: the truth decides, not what a reconstruction claims."""

from __future__ import annotations

import numpy as np
import pytest

from secmix._base.checks import Array
from secmix.adversaries import Reconstruction
from secmix.auditing.evidence.reconstruction import _judged
from secmix.auditing.observation import collaboration_observation
from secmix.auditing.report import Finding

ABOUT = {"protocol": "p", "adversary": "a", "node": 0}
RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=(5, 4, 3))  # runs, rows, columns


def _found(make: object) -> list[Reconstruction | None]:
    return [make(rows) for rows in TRUTH]  # type: ignore[operator]


def _rows(rows: Array) -> Reconstruction:
    return Reconstruction(rows, certified=True, how="by test")


def judged(results: list[Reconstruction | None], truth: Array) -> list[Finding]:
    return _judged("attack", ABOUT, results, truth, [])


def test_rows_in_any_order_are_recovered() -> None:
    (finding,) = judged(_found(lambda rows: _rows(rows[::-1])), TRUTH)
    assert finding.status == "determined"
    assert finding.value == 1.0
    assert "4 of its 4 rows" in finding.notes[0]


def test_one_row_of_several_is_enough() -> None:
    (finding,) = judged(_found(lambda rows: _rows(rows[2:3])), TRUTH)
    assert finding.status == "determined"
    assert "1 of its 4 rows" in finding.notes[0]


def test_rows_that_are_wrong_count_for_nothing_however_certain() -> None:
    (finding,) = judged(_found(lambda rows: _rows(rows + 1e-3)), TRUTH)
    assert finding.status == "resolved"
    assert finding.value == 0.0
    assert finding.notes == []
    assert finding.normalised_high == 1.0


@pytest.mark.parametrize(("missing", "known"), [(1, True), (2, False)])
def test_rows_without_some_columns_count_if_most_came_out(missing: int, known: bool) -> None:
    def partly(rows: Array) -> Reconstruction:
        out = rows.copy()
        out[:, :missing] = np.nan
        return _rows(out)

    (finding,) = judged(_found(partly), TRUTH)
    assert (finding.status == "determined") == known
    assert (f"{3 - missing} of their 3 columns" in "".join(finding.notes)) == known


def _plane(rows: Array, right: bool = True) -> Reconstruction:
    """All rows of a run moved into one plane are what a basis tells; here the truth is moved instead."""
    normal = np.array([[1.0, 0.0, 0.0]])
    return Reconstruction(None, True, "by test", normal, np.array([0.0 if right else 1.0]))


def test_equations_count_only_where_every_row_meets_them() -> None:
    flat = TRUTH.copy()
    flat[..., 0] = 0.0
    (finding,) = judged([_plane(rows) for rows in flat], flat)
    assert finding.value == pytest.approx(1 / 3)
    assert finding.status == "resolved"
    assert "1 exact linear equations on each of its 4 rows" in finding.notes[0]
    flat[0, 3, 0] = 1e-3  # one row of one run does not
    assert judged([_plane(rows) for rows in flat], flat) == []
    assert judged([_plane(rows, right=False) for rows in flat], flat) == []


def test_repeated_equations_count_once() -> None:
    flat = TRUTH.copy()
    flat[..., 0] = 0.0
    twice = Reconstruction(None, True, "by test", np.array([[1.0, 0, 0], [2.0, 0, 0]]), np.zeros(2))
    (finding,) = judged([twice] * 5, flat)
    assert finding.value == pytest.approx(1 / 3)


def test_most_of_a_row_known_exactly_is_revealed() -> None:
    flat = TRUTH.copy()
    flat[..., :2] = 0.0
    two = Reconstruction(None, True, "by test", np.eye(3)[:2], np.zeros(2))
    (finding,) = judged([two] * 5, flat)
    assert finding.status == "determined"


def test_so_many_runs_are_tried() -> None:
    assert len(TRUTH) == collaboration_observation.TRIED
