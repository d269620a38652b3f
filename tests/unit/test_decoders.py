"""Decoders against known truths: what noise leaves, what is determined, what is nothing, and no memory of targets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import seeds

from secmix._base.checks import Array
from secmix.errors import DataError
from secmix.estimators.learned_decoders import RECOVERED, information_bound, reconstruct

pytestmark = pytest.mark.delicate


@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0])
def test_noise_leaves_what_theory_says(noise: float) -> None:
    rng = np.random.default_rng(1)
    x, e = rng.standard_normal((2, 4000, 1))
    found = reconstruct(x, x + noise * e)
    truth = noise / math.sqrt(1 + noise**2)
    assert found.error.low - 0.01 < truth < found.error.high + 0.01
    assert found.error.value == pytest.approx(truth, abs=0.03)
    assert found.explained[0] == pytest.approx(1 / (1 + noise**2), abs=0.05)
    assert found.recovered == 0.0


def masked(seed: int, d: int, more: int, size: int) -> tuple[Array, Array, Array]:
    """A target x (120, d), a view of it and ``more`` masks through an invertible matrix A, and what rounding hides.

    That is, for each run in standard deviations of x: an entry of the view is off by ε |view|, and its share in the
    target by ε |view| |A⁻¹|.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((120, d)) * 10.0**size + rng.standard_normal(d)
    masks = rng.standard_normal((120, more)) * 1e3
    mixing = np.eye(d + more) + 0.3 * rng.standard_normal((d + more, d + more))
    view = np.hstack([x, masks]) @ mixing
    hidden = np.finfo(float).eps * np.abs(view) @ np.abs(np.linalg.inv(mixing)[:, :d]) / x.std(axis=0)
    return x, view, np.sqrt((hidden**2).mean(axis=1))


@given(seeds, st.integers(1, 3), st.integers(0, 3), st.integers(-4, 4))
@example(2, 1, 2, -4)
@example(18, 1, 3, -4)
def test_what_is_linear_is_recovered_up_to_rounding(seed: int, d: int, more: int, size: int) -> None:
    x, view, hidden = masked(seed, d, more, size)
    if np.linalg.cond(view - view.mean(axis=0)) > 1e8:
        return
    found = reconstruct(x, view)
    missed = np.sqrt((((found.prediction - x) / x.std(axis=0)) ** 2).mean(axis=1))
    limit = 4 * hidden.max()
    assert missed.max() <= limit
    sizes = np.sqrt((((x - x.mean(axis=0)) / x.std(axis=0)) ** 2).mean(axis=1))
    assert found.recovered >= (limit < RECOVERED * np.maximum(sizes, 1e-3)).mean()
    assert found.explained[0] > 1 - 1e-12


@pytest.mark.parametrize(("seed", "more"), [(2, 2)])
def test_what_masks_ten_million_times_larger_hide_is_recovered_in_every_run(seed: int, more: int) -> None:
    # In two runs of the first the SVD alone erred by more than a millionth: a hundred times what rounding hides.
    x, view, _ = masked(seed, 1, more, -4)
    assert reconstruct(x, view).recovered == 1.0


def test_the_interval_of_nothing_holds_guessing() -> None:
    """Independent views: the error is 1, and as seldom told to be below 1 as 95 % intervals allow."""
    rng = np.random.default_rng(2)
    values, better = [], 0
    for _ in range(200):
        found = reconstruct(rng.standard_normal((200, 1)), rng.standard_normal((200, 2)))
        values.append(found.error.value)
        better += found.error.high < 1
    assert 0.99 < np.mean(values) < 1.2
    # One-sided 2.5 %: of 200, more than 14 has a chance of 1e-4.
    assert better <= 14


def test_the_interval_covers_the_truth_about_95_times_in_100() -> None:
    rng = np.random.default_rng(3)
    repeats, covered = 200, 0
    for _ in range(repeats):
        x, e = rng.standard_normal((2, 500, 1))
        error = reconstruct(x, x + e).error
        covered += error.low <= math.sqrt(0.5) <= error.high
    # Binomial(200, 0.95) lies outside 177..199 with a chance of 1e-4.
    assert 177 <= covered <= 199


def test_memory_of_targets_does_not_help() -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((300, 1))
    # A number for each run, a column for each of 250 runs, many columns of noise: all can be learnt by heart.
    by_heart = {
        "id": np.arange(300.0)[:, None],
        "one column a run": np.eye(300)[:, :250],
        "noise": rng.standard_normal((300, 350)),
    }
    for name, view in by_heart.items():
        error = reconstruct(x, view).error
        assert error.high > 1 - 0.02, name
        assert error.value > 0.95, name


@settings(max_examples=10)
@given(seeds, st.floats(0.1, 3.0))
def test_no_decoder_beats_the_truth(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    x, e = rng.standard_normal((2, 600, 1))
    error = reconstruct(x, x + noise * e).error
    best = noise / math.sqrt(1 + noise**2)
    # Interval of 95 %: half as much again on each side makes a miss a matter of 1 in 10⁴ or less.
    assert error.high + 0.75 * (error.high - error.low) > best


@given(seeds, st.floats(-6, 6))
def test_units_do_not_matter(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    x, e = rng.standard_normal((2, 90, 2))
    one, other = reconstruct(x, x + e), reconstruct(x * 10**size + 3, (x + e) * 10**-size - 7)
    assert one.error.value == pytest.approx(other.error.value, rel=1e-5)


def test_a_view_without_content_is_guessing() -> None:
    x = np.random.default_rng(6).standard_normal((90, 2))
    for view in (np.empty((90, 0)), np.ones((90, 3)), np.full((90, 1), np.nan)):
        found = reconstruct(x, view)
        assert found.error.value == 1.0
        assert found.features == 0
        assert found.recovered == 0.0


def test_features_that_are_not_finite_count_as_absent() -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((90, 1))
    spoilt = x.copy()
    spoilt[3] = np.nan
    assert reconstruct(x, np.hstack([x, spoilt])).recovered == 1.0


@pytest.mark.parametrize(
    ("target", "view", "words"),
    [
        (np.ones((90, 1)), np.ones((90, 1)), "constant"),
        (np.ones((30, 1)), np.ones((30, 1)), "30 rows are too few"),
        (np.ones((90, 1)), np.ones((80, 1)), "shape"),
        (np.ones((90, 1)), np.ones(90), "shape"),
        (np.full((90, 1), np.nan), np.ones((90, 1)), "not finite"),
    ],
)
def test_what_cannot_be_judged_is_refused(target: Any, view: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        reconstruct(target, view)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_the_information_bound_stays_below_the_truth_for_gaussians(d: int, noise: float) -> None:
    rng = np.random.default_rng(8)
    truth = -0.5 * d * math.log(noise**2 / (1 + noise**2))
    bounds = []
    for _ in range(20):
        x, e = rng.standard_normal((2, 1500, d))
        bounds.append(information_bound(x, reconstruct(x, x + noise * e).prediction))
    error = np.std(bounds, ddof=1) / math.sqrt(len(bounds))
    # The decoder is the best there is for Gaussians, so the bound is tight, up to the noise of the entropy estimate.
    assert np.mean(bounds) < truth + 4 * error + 0.005
    assert np.mean(bounds) > truth - 0.1


def test_the_information_bound_is_infinite_where_nothing_is_missed() -> None:
    x = np.random.default_rng(9).standard_normal((100, 2))
    assert information_bound(x, x) == math.inf
