"""What the audit says of every case: no leak is cleared, nothing safe is accused.

Selected by the marker: ``pytest -m soundness tests/soundness``.
"""

from __future__ import annotations

import pytest

from soundness.case import Case
from soundness.corpus import ALL
from soundness.pending import PENDING
from soundness.verdict import audited


@pytest.mark.soundness
@pytest.mark.filterwarnings("default")  # a stranger's protocol may overflow; the audit is to survive that
@pytest.mark.parametrize("case", ALL, ids=[case.name.replace(" ", "_") for case in ALL])
def test_the_verdict_is_true(case: Case) -> None:
    outcome = audited(case)
    if case.name in PENDING:
        assert not outcome.right, f"'{case.name}' is now {outcome.verdict}: take it off the list PENDING"
        pytest.skip(f"pending: {outcome.verdict}, while it {case.truth}")
    assert outcome.right, f"{outcome.verdict} ({outcome.reason}), while it {case.truth}: {case.why}"


def test_what_is_pending_is_in_the_corpus() -> None:
    assert set(PENDING) <= {case.name for case in ALL}
