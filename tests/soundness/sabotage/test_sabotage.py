"""Sabotage, which no verdict promises to find: what is found today, and what is cleared.

Relax it here when a check goes that only a saboteur meets. Selected by the marker, as the verdicts are. The build tries
every fourth; ``python -m analysis.soundness.run`` judges all.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from soundness.case import Case
from soundness.corpus import HONEST, SABOTAGE
from soundness.verdict import audited

CLEARED = {
    "first of all calls",
    "honest copies",
    "honest copies of its kind",
    "another kind of generator",
    "rows in another order",
    "a channel without a record",
    "a channel of another class",
    "result with a note",
    "result of a type of its own",
    "a channel that is passed by",
}
"""Nobody looks whether a first call, a copy, things of another make, a result or a channel's methods are otherwise."""
TABLE = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.soundness
@pytest.mark.filterwarnings("default")  # a stranger's protocol may overflow; the audit is to survive that
@pytest.mark.parametrize("case", SABOTAGE[::4], ids=[case.name.replace(" ", "_") for case in SABOTAGE[::4]])
def test_it_is_found_but_for_what_is_known(case: Case) -> None:
    outcome = audited(case)
    assert outcome.right == (case.name not in CLEARED), f"{outcome.verdict} ({outcome.reason}): {case.why}"


def test_the_table_has_every_case_once() -> None:
    assert re.findall(r"^\| ([^|]+?) \| `", TABLE, re.MULTILINE) == [case.name for case in SABOTAGE]


def test_the_table_counts_right() -> None:
    assert f"{len(HONEST)} honest slips" in TABLE
    assert f"{len(SABOTAGE)} cases of sabotage" in TABLE
