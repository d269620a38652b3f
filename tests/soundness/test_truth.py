"""The truth of every case is shown: attacks on wrong ones succeed, the obvious one on right ones finds nothing."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from soundness.case import Case
from soundness.corpus import ALL, BEYOND, CASES_OF, HONEST, RIGHT, SABOTAGE, WRONG, side
from soundness.obvious import regressed, talks_alike
from soundness.verdict import shown

pytestmark = pytest.mark.build


def named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case.name.replace(" ", "_") for case in cases])


@pytest.mark.filterwarnings("default")  # what is infinite or no number is what some attacks read
@named([*WRONG, *BEYOND])
def test_the_attack_on_a_wrong_case_succeeds(case: Case) -> None:
    got = shown(case)
    assert got.success, got


@named(RIGHT)
def test_the_obvious_attack_on_a_right_case_finds_what_is_permitted(case: Case) -> None:
    got = regressed(case)
    assert got.heard <= got.permitted + 0.05, got
    assert not case.steady or talks_alike(case)


@pytest.mark.parametrize("name", ["balanced", "times 2^-40", "faint mask", "weak at one node", "another channel"])
def test_the_obvious_attack_finds_a_linear_leak(name: str) -> None:
    assert regressed(next(case for case in WRONG if case.name == name)).heard > 0.99


@pytest.mark.parametrize("name", ["number of rounds", "kind with a blank", "who begins", "size of a step"])
def test_the_obvious_attack_finds_a_leak_by_who_talks(name: str) -> None:
    assert not talks_alike(next(case for case in WRONG if case.name == name))


def test_the_corpus_is_as_large_as_it_says() -> None:
    assert len(HONEST) >= 310
    assert len(SABOTAGE) >= 50
    assert len({case.family for case in WRONG}) >= 15
    assert len(RIGHT) >= 40
    assert sum(bool(case.undecided) for case in RIGHT) <= len(RIGHT) / 10
    assert all((case.truth == "leaks") == (case.attack is not None) for case in ALL)
    assert all(case.why for case in ALL)


@pytest.mark.parametrize(("folder", "cases"), [("honest", HONEST), ("sabotage", SABOTAGE)])
def test_every_case_of_a_folder_is_on_its_side(folder: str, cases: list[Case]) -> None:
    here = Path(__file__).parent
    files = [path.relative_to(here.parent).with_suffix("") for path in sorted((here / folder).rglob("*.py"))]
    modules = [".".join(path.parts) for path in files if not path.name.startswith(("__", "test_"))]
    assert not any("CASES" in vars(importlib.import_module(module)) for module in modules)  # a file that is left out
    assert {case.name for module in modules for case in CASES_OF.get(module, [])} == {case.name for case in cases}
    assert {side(case) for case in cases} == {folder}
