"""check_aggregator: sound rules pass, each kind of mistake is caught, and what is printed fails by itself."""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secmix import aggregators
from secmix.errors import SecmixError
from secmix.testing import (
    byzantine_messages,
    check_aggregator,
    honest_clouds,
    mixtures,
    subspaces,
)


def sound(messages, f):
    if isinstance(f, bool) or not 0 <= f < len(messages) / 2:
        raise ValueError("f must be at least 0 and below n/2")
    if not np.isfinite(messages).all():
        raise ValueError("messages must be finite")
    return np.sort(messages, axis=0)[f : len(messages) - f].mean(axis=0)


def one_sided(messages, f):
    if not 0 <= f < len(messages) / 2 or not np.isfinite(messages).all():
        raise ValueError("not for these")
    return np.sort(messages, axis=0)[: len(messages) - f].mean(axis=0)


def trims_one_too_few(messages, f):
    if not 0 <= f < len(messages) / 2 or not np.isfinite(messages).all():
        raise ValueError("not for these")
    g = max(f - 1, 0)
    return np.sort(messages, axis=0)[g : len(messages) - g].mean(axis=0)


def lets_nan_through(messages, f):
    if not 0 <= f < len(messages) / 2:
        raise ValueError("f")
    return np.median(messages, axis=0)


def takes_any_f(messages, f):
    if not np.isfinite(messages).all():
        raise ValueError("finite")
    return np.median(messages, axis=0)


def first_of_the_middle(messages, f):
    """Robust, but of two equally good messages it takes that which came first."""
    if not 0 <= f < len(messages) / 2 or not np.isfinite(messages).all():
        raise ValueError("not for these")
    apart = np.abs(messages[:, None] - messages).sum(axis=2)
    return messages[np.argmin(np.sort(apart, axis=1)[:, : len(messages) - f].sum(axis=1))]


def starts_at_zero(messages, f):
    """Clipped about the origin, so that it does not move with the messages."""
    if not 0 <= f < len(messages) / 2 or not np.isfinite(messages).all():
        raise ValueError("not for these")
    return np.clip(np.median(messages, axis=0), -1e3, 1e3)


def absolute_tolerance(messages, f):
    """Rounds to a fixed grid, so that small messages vanish."""
    if not 0 <= f < len(messages) / 2 or not np.isfinite(messages).all():
        raise ValueError("not for these")
    return np.round(np.median(messages, axis=0), 9)


def writes_on_its_input(messages, f):
    if not 0 <= f < len(messages) / 2 or not np.isfinite(messages).all():
        raise ValueError("not for these")
    messages.sort(axis=0)
    return np.median(messages, axis=0)


def refuses_everything(messages, f):
    raise ValueError("no")


def counterexample(rule, **settings):
    with pytest.raises(AssertionError) as caught:
        check_aggregator(rule, **settings)
    return str(caught.value)


def test_of(message):
    """The printed test: what follows the first blank line."""
    return message.split("\n\n", 1)[1]


test_of.__test__ = False


@pytest.mark.build
@pytest.mark.parametrize(
    "rule", [sound, aggregators.trimmed_mean, aggregators.coordinate_median, aggregators.krum], ids=lambda r: r.__name__
)
def test_sound_rules_pass(rule):
    check_aggregator(rule, f=1, examples=10, budget=250)


def test_a_proven_bound_holds_and_a_tighter_one_does_not():
    # κ = f/(n − 2f) for the trimmed mean, and mean square <= ε².
    check_aggregator(sound, f=2, bound=lambda n, f: (f / (n - 2 * f)) ** 0.5, examples=5, budget=250)
    message = counterexample(sound, f=2, bound=0.3, examples=5, skip=("within reach",), budget=250)
    assert 'fails "worst case"' in message
    fails_by_itself(message)
    assert 'fails "within reach"' in counterexample(sound, f=2, bound=0.3, examples=40)


@pytest.mark.parametrize(
    ("rule", "title"),
    [
        (one_sided, "consensus"),
        (trims_one_too_few, "consensus"),
        (lets_nan_through, "not finite"),
        (takes_any_f, "f limits"),
        (first_of_the_middle, "permutation"),
        (starts_at_zero, "translation"),
        (absolute_tolerance, "scale"),
        (writes_on_its_input, "shape"),
        (aggregators.mean, "consensus"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_each_mistake_is_caught_and_what_is_printed_fails_by_itself(rule, title):
    message = counterexample(rule, f=1, examples=30)
    assert message.startswith(f'{rule.__name__} fails "{title}": ')
    fails_by_itself(message)


def fails_by_itself(message):
    """Nothing of this module is at hand when the test is run, first as a script and then by name."""
    code = test_of(message)
    assert "import test_testing_kit" not in code
    with pytest.raises(AssertionError):
        exec(compile(code, "pasted", "exec"), {"__name__": "__main__"})
    scope = {"__name__": "pasted"}
    exec(compile(code, "pasted", "exec"), scope)
    [pasted] = [value for name, value in scope.items() if name.startswith("test_")]
    with pytest.raises(AssertionError):
        pasted()


def test_the_counterexample_is_small():
    code = test_of(counterexample(one_sided, f=1))
    # Three messages of one number, two of them alike: which two depends on the case that failed first, and so does
    # the sign of a zero.
    found = re.search(r"np\.array\((\[\[.*?\]\])\)", code)
    assert found is not None
    assert literal_eval(found[1]) in ([[0.0], [0.0], [-1.0]], [[1.0], [1.0], [0.0]])


@pytest.mark.build
def test_the_worst_case_search_alone_catches_one_sided_trimming():
    message = counterexample(one_sided, f=1, skip=("consensus", "shape", "within reach", "every call"), budget=300)
    assert 'fails "worst case"' in message
    assert "breaks down" in message
    fails_by_itself(message)


def test_a_partial_is_printed_with_its_arguments():
    message = counterexample(partial(aggregators.multi_krum, m=3), f=1, n=6, p=1, bound=0.01, examples=40)
    assert "functools.partial(rule, m=3)" in message
    fails_by_itself(message)


def capped(messages, f, cap):
    return np.clip(sound(messages, f), -cap, cap)


def test_a_setting_without_a_limit_is_no_number_to_try():
    assert check_aggregator(partial(capped, cap=np.inf), f=1, examples=1, budget=100).values < 20


def test_a_rule_that_refuses_everything_does_not_pass():
    with pytest.raises(AssertionError, match="refuses f = 1"):
        check_aggregator(refuses_everything, f=1)


def test_fixed_sizes_reach_the_rule():
    seen = set()

    def watching(messages, f):
        seen.add(np.shape(messages))
        return sound(messages, f)

    check_aggregator(watching, f=1, n=5, p=2, examples=10, budget=150)
    assert seen == {(5, 2)}


def test_arguments_that_make_no_sense():
    for wrong in ({"f": -1}, {"f": 1, "skip": ("consensuss",)}, {"f": 1, "bound": -1.0}, {"f": 1, "examples": 0}):
        with pytest.raises(SecmixError):
            check_aggregator(sound, **wrong)


def test_without_hypothesis_failures_stay_large_and_strategies_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    check_aggregator(sound, f=1, examples=2, budget=150)
    message = counterexample(one_sided, f=1)
    assert "pip install 'secmix[test]'" in message
    fails_by_itself(message)
    with pytest.raises(ImportError, match=r"secmix\[test\]"):
        honest_clouds()


@given(st.integers(0, 2**16))
@settings(max_examples=2)
def test_a_check_within_a_test_of_hypothesis_finds_as_much(seed):
    fails_by_itself(counterexample(one_sided, f=1, seed=seed))


def wrong_for_eleven_entries(messages, f):
    return sound(messages, f) + (messages.mean(axis=0) if messages.shape[1] == 11 else 0.0)


def test_what_fails_at_one_size_is_simple_in_all_else():
    message = counterexample(wrong_for_eleven_entries, f=1, skip=["more entries"])
    assert "n = 3, p = 11, f = 1, float64" in message
    found = re.search(r"np\.array\((\[\[.*?\]\])\)", message)
    assert found is not None
    assert literal_eval(found[1]) == [[0.0] * 11, [0.0] * 11, [-1.0] * 11]


@given(st.data())
def test_strategies_give_what_they_promise(data):
    cloud = data.draw(honest_clouds())
    assert cloud.ndim == 2
    assert np.isfinite(cloud).all()
    assert data.draw(honest_clouds(3, 2)).shape == (3, 2)
    assert np.isfinite(data.draw(byzantine_messages(2, 3))).all()
    assert not np.isfinite(data.draw(byzantine_messages(2, 3, finite=False))).all()
    mixture = data.draw(mixtures())
    assert mixture.weights.sum() == pytest.approx(1.0)
    assert np.linalg.eigvalsh(mixture.covariances).min() > 0.05
    basis = data.draw(subspaces())
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)


def nearest_to_the_median(messages, f):
    """The mean of the n - f values nearest to the median; of equally near ones the first."""
    if f < 0 or 2 * f >= len(messages) or not np.isfinite(messages).all():
        raise ValueError("f")
    order = np.argsort(np.abs(messages - np.median(messages, axis=0)), axis=0, kind="stable")[: len(messages) - f]
    return np.take_along_axis(np.asarray(messages, dtype=float), order, axis=0).mean(axis=0)


def krum_by_squares(messages, f):
    """Krum as Blanchard et al. 2017 write it; of equal scores the first."""
    if f < 0 or len(messages) < 2 * f + 3 or not np.isfinite(messages).all():
        raise ValueError("f")
    x = np.asarray(messages, dtype=float)
    squares = ((x[:, None] - x) ** 2).sum(axis=2)
    return x[np.argmin(np.sort(squares, axis=1)[:, 1 : len(x) - f - 1].sum(axis=1))]


@pytest.mark.build
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", [nearest_to_the_median, krum_by_squares])
def test_who_takes_the_first_of_equals_breaks_no_promise(rule, seed):
    check_aggregator(rule, f=1, seed=seed)


def in_many_steps(messages, f):
    median = sound(messages, f)
    for _ in range(100 * f):
        median = np.where(np.isfinite(median), median, 0.0)
        median = np.abs(median) * np.sign(median)
    return median


@pytest.mark.build
def test_a_rule_that_makes_many_calls_is_spared_many_colluders_and_accused_of_nothing():
    # Found by a geometric median by three hundred steps: what ended its count was taken for an error of the rule.
    assert max(check_aggregator(in_many_steps, f=1, seed=0).f) < max(check_aggregator(sound, f=1, seed=0).f)
