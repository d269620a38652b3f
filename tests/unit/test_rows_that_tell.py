"""Which messages are named where an input follows from them exactly."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.auditing.evidence.structure import rows_that_tell
from secmix.estimators.exact.linear import LinearView

A = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [2, 0, 0], [0, 0, 0]])
M = np.array([[1.0, 0], [-1, 1], [0, 0], [0, 0], [-1, 3], [0, 1]])


def view(*rows: int) -> LinearView:
    """Select messages: two under masks, one without, the sum, twice the first under two masks, and the second mask."""
    return LinearView(A[list(rows)], M[list(rows)], n=3)


@pytest.mark.parametrize(
    ("rows", "node", "told"),
    [
        ((0, 1, 2, 3), 2, {2}),  # sent as it is
        ((0, 1, 5), 0, set()),  # a mask is left
        ((0, 1, 3, 4), 0, set()),
        ((0, 4, 5, 3, 2), 2, {4}),
        ((0, 1, 2, 3, 5), 0, set()),
        ((1, 4, 5, 2, 3), 0, {0, 1, 2, 3, 4}),
        ((), 0, set()),
    ],
)
def test_messages_are_named_of_which_a_combination_is_the_input(
    rows: tuple[int, ...], node: int, told: set[int]
) -> None:
    found = rows_that_tell(view(*rows), node)
    assert set(found) == told
    if found:
        table = np.hstack([A, M])[list(rows)][found]
        weights = np.linalg.lstsq(table.T, np.eye(5)[node], rcond=None)[0]
        assert weights @ table == pytest.approx(np.eye(5)[node], abs=1e-9)


def test_units_of_a_message_do_not_matter() -> None:
    scale = np.array([1e-6, 1e6, 1.0, 1.0, 1e3])[:, None]
    rows = [1, 4, 5, 2, 3]
    assert len(rows_that_tell(LinearView(scale * A[rows], scale * M[rows], n=3), 0)) == 5
