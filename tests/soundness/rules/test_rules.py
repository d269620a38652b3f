"""check_aggregator on rules of known truth: every wrong one is refused with a test that fails, every right one passes.

That a rule is wrong is not asserted but shown: each is attacked first.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from soundness.rules.right_rules import RIGHT
from soundness.rules.sabotage_rules import SABOTAGE
from soundness.rules.wrong_elsewhere import WRONG

from secmix.testing import check_aggregator

pytestmark = pytest.mark.build

THOROUGH = os.environ.get("SECMIX_HYPOTHESIS") == "thorough"
DAMAGE = 100  # honest spreads; right rules stay below ten
SEEDS = range(5) if THOROUGH else (0,)
TABLE = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")


def by_name(one):
    return one.name.replace(" ", "_")


def test_the_corpus_is_large_enough():
    assert len({one.name for one in WRONG}) == len(WRONG) >= 30
    assert len({one.name for one in RIGHT}) == len(RIGHT) >= 15


@pytest.mark.parametrize("one", SABOTAGE, ids=by_name)
def test_sabotage_works_and_is_documented(one):
    assert one.attack(one.make()) > DAMAGE
    assert f"| {one.name} |" in TABLE


def test_the_table_counts_right():
    assert len(re.findall(r"^\| \w+ \| (?!on purpose)", TABLE, re.MULTILINE)) == len(SABOTAGE)
    for counted in (f"{len(WRONG)} wrong rules", f"to {len(RIGHT)} right ones", f"has {len(SABOTAGE)} cases"):
        assert counted in TABLE


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wrong", WRONG, ids=by_name)
def test_a_wrong_rule_is_refused_with_a_test_that_fails(wrong, seed):
    assert wrong.attack(wrong.make()) > DAMAGE
    rule = wrong.make()
    with pytest.raises(AssertionError, match=" fails ") as caught:
        check_aggregator(rule, f=wrong.f, seed=seed)
    code = str(caught.value).split("\n\n", 1)[1]
    scope = {"__name__": "pasted", "rule": wrong.make()}  # some keep state, so that their code cannot be pasted along
    exec(compile(code, "pasted", "exec"), scope)
    [pasted] = [value for name, value in scope.items() if name.startswith("test_")]
    with pytest.raises((AssertionError, ValueError, IndexError)):
        pasted()


@pytest.mark.parametrize("right", RIGHT, ids=by_name)
def test_a_right_rule_is_accepted(right):
    if not (right.quick or THOROUGH):
        pytest.skip("takes long: SECMIX_HYPOTHESIS=thorough tries it")
    check = check_aggregator(right.rule, f=right.f, seed=1, level="quick", **dict(right.settings))
    assert check.calls > 7000
    assert check.missed(1 / 997) < 0.001
    assert check.n[1] >= 64
    assert check.p[1] > 1000
    text = str(check)
    assert f"{sum(check.cases.values())} cases" in text
    assert f"{check.calls} results" in text


@pytest.mark.parametrize("right", [one for one in RIGHT if one.name in ("own Krum", "own shorth")], ids=by_name)
def test_the_attacks_of_the_wrong_rules_do_not_harm_a_right_one(right):
    harmless = 0
    for wrong in WRONG:
        with np.errstate(all="ignore"):
            try:
                harmless += wrong.attack(right.rule) < DAMAGE
            except ValueError:  # it refuses so few messages, or what is not finite
                harmless += 1
    # What is no matter of messages (an input that is written on, digits that are lost) is not attacked by them.
    assert harmless == len(WRONG)


def test_the_same_seed_draws_the_same_cases():
    first, second, other = (check_aggregator(RIGHT[0].rule, f=2, examples=4, budget=100, seed=s) for s in (5, 5, 6))
    assert first == second
    assert first != other
