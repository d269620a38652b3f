"""The promise: an audit clears no slip of an honest author and accuses nothing that is safe.

Selected by the marker: ``pytest -m soundness tests/soundness``.
"""

from __future__ import annotations

import pytest

from soundness.case import Case
from soundness.corpus import ALL, HONEST, RIGHT
from soundness.pending import PENDING
from soundness.verdict import audited

PROMISED = [*HONEST, *RIGHT]


@pytest.mark.soundness
@pytest.mark.filterwarnings("default")  # a stranger's protocol may overflow; the audit is to survive that
@pytest.mark.parametrize("case", PROMISED, ids=[case.name.replace(" ", "_") for case in PROMISED])
def test_the_verdict_is_true(case: Case) -> None:
    outcome = audited(case)
    if case.name in PENDING:
        assert not outcome.right, f"'{case.name}' is now {outcome.verdict}: take it off the list PENDING"
        assert outcome.verdict == PENDING[case.name], (
            f"'{case.name}' is now {outcome.verdict}: correct the list PENDING"
        )
        pytest.skip(f"pending: {outcome.verdict}, while it {case.truth}")
    assert outcome.right, f"{outcome.verdict} ({outcome.reason}), while it {case.truth}: {case.why}"


def test_what_is_pending_is_in_the_corpus() -> None:
    assert set(PENDING) <= {case.name for case in ALL}
