"""The promise: an audit clears no slip of an honest author and accuses nothing that is safe.

Selected by the marker: ``pytest -m soundness tests/soundness``.
"""

from __future__ import annotations

from typing import Any

import pytest

from soundness.case import Case
from soundness.corpus import ALL, HONEST, RIGHT
from soundness.pending import PENDING
from soundness.verdict import Outcome, audited, without_accusers


def named(cases: list[Case]) -> Any:
    """Parametrize a test by cases; a stranger's protocol may overflow, and the audit is to survive that."""
    return pytest.mark.parametrize("case", cases, ids=[case.name.replace(" ", "_") for case in cases])


@pytest.mark.soundness
@pytest.mark.filterwarnings("default")
@named(RIGHT)
def test_nothing_safe_is_accused(case: Case) -> None:
    judge(case, audited(case))


@pytest.mark.soundness
@pytest.mark.filterwarnings("default")
@named(HONEST)
def test_no_slip_is_cleared(case: Case) -> None:
    """By what may clear alone: what accuses would hide a proof that should not be there."""
    with without_accusers():
        judge(case, audited(case))


def judge(case: Case, outcome: Outcome) -> None:
    if case.name in PENDING:
        assert not outcome.right, f"'{case.name}' is now {outcome.verdict}: take it off the list PENDING"
        assert outcome.verdict == PENDING[case.name], (
            f"'{case.name}' is now {outcome.verdict}: correct the list PENDING"
        )
        pytest.skip(f"pending: {outcome.verdict}, while it {case.truth}")
    assert outcome.right, f"{outcome.verdict} ({outcome.reason}), while it {case.truth}: {case.why}"


def test_what_is_pending_is_in_the_corpus() -> None:
    assert set(PENDING) <= {case.name for case in ALL}
