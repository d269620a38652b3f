"""Worst case means worst: on the outcome after all iterations no fixed attack beats the search, and plans beat it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import secmix
from secmix._base.checks import Array
from secmix.adversaries import FIXED, Attack, RoundMessages
from secmix.adversaries.against_rules.outcome import TRIES, worst_outcome
from secmix.adversaries.against_rules.ties import above
from secmix.adversaries.attacks import worst_case
from secmix.adversaries.attacks.attack import CONTRIBUTION, named
from secmix.auditing.report import Report
from secmix.auditing.robustness import sums
from secmix.reporting import FORMATS, words
from secmix.scenario import Scenario

RUNS, ITERATIONS, HONEST = 3, 3, 5


def drifting(gains: Array, clouds: Array):  # type: ignore[no-untyped-def]
    """A protocol of which an iteration adds gains[t] times the colluders' first entry to what counts in the end."""
    calls = []

    def measure(attack: Attack) -> Array:
        calls.append(attack)
        total = np.zeros(RUNS)
        for run, t in product(range(RUNS), range(ITERATIONS)):
            honest = clouds[run]
            messages = RoundMessages(CONTRIBUTION, honest[:1], honest, 1.0, None, np.random.default_rng(0), run, t)
            total[run] += gains[t] * np.clip(attack.send(messages)[0, 0], -5.0, 5.0)
        return np.abs(total)

    return measure, calls


@example(0, [0.0, 1e-12, -2.0])  # better than the plan that was found, by less than rounding may be
@given(st.integers(0, 50), st.lists(st.floats(-2, 2), min_size=ITERATIONS, max_size=ITERATIONS))
def test_no_start_beats_the_search_and_the_budget_holds(seed: int, gains: list[float]) -> None:
    rng = np.random.default_rng(seed)
    measure, calls = drifting(np.array(gains), rng.normal(size=(RUNS, HONEST, 2)))
    found = worst_outcome(measure, FIXED, RUNS, ITERATIONS, HONEST, rng, budget=40)
    assert set(found.starts) == set(FIXED)
    assert not any(above(errors, found.errors).any() for errors in found.starts.values())
    assert len(calls) == found.tries == 40
    # What it says it found is what the plans do.
    np.testing.assert_array_equal(measure(found.attack(found.plans)), found.errors)


def test_a_plan_finds_what_no_single_attack_can() -> None:
    """Where iterations count with opposite signs the worst is far up in some and far down in others: 5 · Σ |gain|."""
    rng = np.random.default_rng(0)
    measure, _ = drifting(np.array([1.0, -1.0, 1.0]), rng.normal(size=(RUNS, HONEST, 2)))
    found = worst_outcome(measure, FIXED, RUNS, ITERATIONS, HONEST, rng)
    assert max(errors.max() for errors in found.starts.values()) < 10
    np.testing.assert_allclose(found.errors, 15.0)


def test_what_fails_outright_is_the_worst_and_ends_the_search() -> None:
    found = worst_outcome(
        lambda attack: np.full(RUNS, np.inf), FIXED, RUNS, ITERATIONS, HONEST, np.random.default_rng(0)
    )
    assert np.isinf(found.errors).all()
    assert found.tries == len(FIXED)


def test_the_findings_of_a_search_are_kept_and_not_searched_for_again() -> None:
    calls = []

    def search(messages: RoundMessages) -> Array:
        calls.append(messages.iteration)
        return messages.own + 2.0

    rng = np.random.default_rng(0)
    measure, _ = drifting(np.ones(ITERATIONS), rng.normal(size=(RUNS, HONEST, 2)))
    worst = worst_outcome(
        measure, {"searched": Attack([CONTRIBUTION], search, searches=True)}, RUNS, ITERATIONS, HONEST, rng, budget=40
    )
    assert len(calls) == RUNS * ITERATIONS
    assert (worst.errors >= worst.starts["searched"]).all()


def test_what_is_sent_before_the_first_iteration_is_planned_too() -> None:
    """Sums that make a start have other numbers of entries than those of the iterations."""
    rng = np.random.default_rng(0)
    early, late = rng.normal(size=(HONEST, 7)), rng.normal(size=(HONEST, 2))

    def measure(attack: Attack) -> Array:
        total = np.zeros(RUNS)
        for run, (t, honest) in product(range(RUNS), ((-2, early), (-1, early), (0, late), (1, late))):
            own = np.zeros((2, honest.shape[1]))
            sent = attack.send(RoundMessages(CONTRIBUTION, own, honest, 1.0, None, np.random.default_rng(0), run, t))
            total[run] += float(np.clip(sent[:, 0], -3, 3).sum()) * (1 if t == 0 else -1)
        return np.abs(total)

    found = worst_outcome(measure, {**FIXED, "worst": named("worst_case")}, RUNS, 2, HONEST, rng)
    np.testing.assert_allclose(found.errors, 24.0, rtol=0.2)
    assert max(errors.max() for errors in found.starts.values()) < found.errors.min()


SCENARIO = {
    "network": {"kind": "complete", "nodes": 7},
    "data": {"name": "wine", "features": 2, "rows_per_node": 12},
    "model": {"iterations": 3},
    "runs": 100,
    "measure": {"evidence": ["structure"]},
    "policy": {"min_breakdown": 0.1},
    "adversary": {"name": "colluders", "corrupt": [5], "attack": "all"},
}


@pytest.fixture(scope="module", params=["coordinate_median", "trimmed_mean"])
def report(request: pytest.FixtureRequest) -> Iterator[Report]:
    protocol = {"name": "robust_server", "rule": request.param, "f": 1, "encrypted": True}
    with pytest.MonkeyPatch.context() as patch:  # the searches of single rounds are not what is tested
        for module, budget, size in (
            (sums, "_BUDGET", 100),
            (worst_case, "_BUDGET", 100),
            (sums, "_RUNS_OF_ATTACK", 5),
        ):
            patch.setattr(module, budget, size)
        yield secmix.audit(Scenario.model_validate({**SCENARIO, "protocol": protocol}))


def test_in_an_audit_no_fixed_attack_beats_the_worst_case(report: Report) -> None:
    found = report.cells[0].robustness
    assert found is not None
    by = {damage.attack: damage for damage in found.damages}
    worst = by.pop("worst_case")
    assert set(by) == set(FIXED)
    for key in ("aggregate", "model", "model_low", "model_high"):
        values = [getattr(damage, key) for damage in by.values()]
        assert getattr(worst, key) is None or None not in values
        assert all(value <= (getattr(worst, key) or np.inf) for value in values), key


def test_what_is_not_refuted_says_of_what_something_is_inconclusive(report: Report) -> None:
    cell = report.cells[0]
    assert cell.verdict == "holds"
    assert words.worst_standing(cell) == "inconclusive"
    assert "the evidence about leakage does not suffice" in cell.sentence
    for name in ("md", "html"):
        text = FORMATS[name][1](report)
        assert f"{TRIES} tries of the whole protocol" in text
        assert "leakage inconclusive" in text
        assert ">inconclusive</span>" not in text.split('id="cell-1"')[0]
        assert "| inconclusive |" not in text.split('id="cell-1"')[0]
