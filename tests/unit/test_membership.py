"""Membership by released numbers: the interval covers what theory says, and proven noise is never outdone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from released_means import best_rate
from scipy.stats import binom

from secmix.errors import SecmixError
from secmix.estimators.row_membership import RATE, counted, least_runs, membership
from secmix.privacy import gaussian_epsilon

RUNS = 2000


def released_means(n: int, d: int, far: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    row = np.full(d, far / math.sqrt(d))
    inside, outside = rng.normal(size=(2, RUNS, n, d))
    inside[:, 0] = row
    return inside.mean(axis=1), outside.mean(axis=1)


@pytest.mark.parametrize(("n", "d", "far"), [(2, 1, 2.0), (5, 1, 4.0), (5, 3, 3.0), (20, 2, 5.0)])
def test_the_interval_covers_the_closed_form_of_a_mean_of_rows(n, d, far):
    best, trials = best_rate(n, d, far), 20
    assert best > 3 * RATE
    found = [membership(*released_means(n, d, far, np.random.default_rng(k))) for k in range(trials)]
    misses = sum(not each.low <= best <= each.high for each in found)
    assert misses <= binom.ppf(0.999, trials, 0.05)
    assert np.mean([each.low for each in found]) > RATE  # and it says something
    assert np.mean([each.value for each in found]) == pytest.approx(best, rel=0.25)


def test_a_row_that_changes_nothing_is_not_told():
    trials = 100
    lows = []
    for k in range(trials):
        scores = np.random.default_rng(k).normal(size=(2, 1000))
        lows.append(counted(*scores).low)
    assert sum(low > RATE for low in lows) <= binom.ppf(0.999, trials, 0.05)


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
def test_noise_of_proven_epsilon_is_never_outdone(delta):
    n, scale, trials = 5, 0.8, 40  # rows of [−1, 1]: one exchanged moves their mean by 2/n
    epsilon = gaussian_epsilon(2 / n / scale, delta)
    most = math.exp(epsilon) * RATE + delta
    assert most < 0.5
    lows = []
    for k in range(trials):
        noise = np.random.default_rng(k).normal(scale=scale, size=(2, RUNS, 1))
        lows.append(membership(noise[0] + 1 / n, noise[1] - 1 / n).low)
    assert sum(low > most for low in lows) <= binom.ppf(0.999, trials, 0.05)
    bare = np.random.default_rng(0).normal(scale=scale / 100, size=(2, RUNS, 1))
    assert membership(bare[0] + 1 / n, bare[1] - 1 / n).low > most  # a hundredth of the noise shows


def test_laplace_noise_reaches_its_bound_and_does_not_pass_it():
    trials, epsilon = 40, 2.0
    draws = [np.random.default_rng(k).laplace(scale=1 / epsilon, size=(2, 4000)) for k in range(trials)]
    found = [counted(one + 1, other) for one, other in draws]  # the score is the number itself: the best there is
    most = math.exp(epsilon) * RATE
    assert sum(each.low > most for each in found) <= binom.ppf(0.999, trials, 0.05)
    assert np.mean([each.value for each in found]) == pytest.approx(most, rel=0.1)
    assert max(each.epsilon() for each in found) > 0.75 * epsilon


def test_a_number_that_is_released_exactly_tells_in_every_run():
    inside, outside = np.full((RUNS, 2), 1.0), np.full((RUNS, 2), 1.0)
    outside[:, 1] = np.random.default_rng(0).normal(size=RUNS)
    assert membership(inside, outside).low > 0.99
    assert membership(inside, inside).low == 0.0


def test_ties_and_few_runs_claim_nothing():
    assert counted(np.ones(1000), np.ones(1000)).low == 0.0
    assert counted(np.ones(1000), np.ones(1000)).high == 1.0
    enough = least_runs() // 2
    far, near = np.full(enough, 9.0), np.zeros(enough)
    assert counted(far, near).low > 0.98
    assert counted(far[1:], near[1:]).low == 0.0


def test_a_larger_rate_of_false_alarms_finds_no_fewer():
    shift = np.array([[1.0], [0.0]])
    scores = np.random.default_rng(0).normal(size=(2, 3000)) + shift
    lows = [counted(*scores, rate=rate).low for rate in (0.005, 0.01, 0.05, 0.2)]
    assert lows == sorted(lows)


def test_runs_that_do_not_match_are_refused():
    with pytest.raises(SecmixError, match="as many runs with the row as without it"):
        membership(np.zeros((8, 2)), np.zeros((8, 3)))
