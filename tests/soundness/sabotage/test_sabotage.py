"""Sabotage, which no verdict promises to find: today's checks do, and this file alone says so.

Relax it here when a check goes that only a saboteur meets. Selected by the marker, as the verdicts are.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from soundness.case import Case
from soundness.corpus import HONEST, SABOTAGE
from soundness.verdict import audited

TABLE = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.soundness
@pytest.mark.filterwarnings("default")  # a stranger's protocol may overflow; the audit is to survive that
@pytest.mark.parametrize("case", SABOTAGE, ids=[case.name.replace(" ", "_") for case in SABOTAGE])
def test_the_checks_of_today_find_it(case: Case) -> None:
    outcome = audited(case)
    assert outcome.right, f"{outcome.verdict} ({outcome.reason}): {case.why}"


def test_the_table_has_every_case_once() -> None:
    assert re.findall(r"^\| ([^|]+?) \| `", TABLE, re.MULTILINE) == [case.name for case in SABOTAGE]


def test_the_table_counts_right() -> None:
    assert f"{len(HONEST)} honest slips" in TABLE
    assert f"{len(SABOTAGE)} cases of sabotage" in TABLE
