"""The interval of `ksg`, replayed on known truth: it misses as seldom as it says, and says something."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gaussian_truth import mutual_information_gaussian
from scipy.stats import binom

from secmix.estimators import information_lower_bound, ksg

pytestmark = pytest.mark.build

REPLAYS = 300
LEVEL = 0.05


def gaussian(rho: float):
    def draw(rng, n):
        x, noise = rng.standard_normal((2, n))
        return x, rho * x + math.sqrt(1 - rho**2) * noise

    return draw, mutual_information_gaussian([[1.0, rho], [rho, 1.0]], 1)


def independent(dx: int, dy: int):
    return lambda rng, n: (rng.standard_normal((n, dx)), rng.standard_normal((n, dy))), 0.0


def drawn_again(values: int):
    atoms = np.random.default_rng(0).standard_normal(values)
    return lambda rng, n: (atoms[rng.integers(values, size=n)], rng.standard_normal(n)), 0.0


def uniform_sum():
    # y = x + u with x, u uniform on [0, 1]: h(y) - h(u) = ½ for the triangular density.
    return lambda rng, n: (lambda x, u: (x, x + u))(*rng.uniform(size=(2, n))), 0.5


CASES = {
    "independent": gaussian(0.0),
    "rho 0.5": gaussian(0.5),
    "rho 0.9": gaussian(0.9),
    "uniform sum": uniform_sum(),
    "independent 2 + 2": independent(2, 2),
    "100 values, independent": drawn_again(100),
}


@pytest.mark.parametrize("n", [300, 800])
@pytest.mark.parametrize("case", CASES)
def test_misses_are_as_rare_as_promised(case, n):
    draw, truth = CASES[case]
    misses, values, widths = 0, [], []
    for seed in range(REPLAYS):
        estimate = ksg(*draw(np.random.default_rng(seed), n), rng=seed, checks=False)
        misses += not estimate.low <= truth <= estimate.high
        values.append(estimate.value)
        widths.append(estimate.high - estimate.low)
    # More misses than this befall an interval that keeps its level once in a thousand times.
    assert misses <= binom.ppf(0.999, REPLAYS, LEVEL)
    # Not trivially none: about as wide as 95 % of the readings spread (3.92 deviations), not twice that.
    assert 0.9 < np.mean(widths) / (3.92 * np.std(values)) < 1.6


def test_resolved_intervals_hold_the_truth_in_more_dimensions():
    # Here the number reads low by more than its noise; the upper end has to make up for that.
    x_y = [np.random.default_rng(seed).standard_normal((2, 1000, 3)) for seed in range(40)]
    # A bound that says nothing spares the time of one that would agree: the upper end does not use it.
    silent = information_lower_bound(*np.random.default_rng(0).standard_normal((2, 10)))
    estimates = [ksg(x, 0.7 * x + y, bound=silent, rng=seed) for seed, (x, y) in enumerate(x_y)]
    truth = 1.5 * math.log(1 + 0.7**2)
    assert np.mean([estimate.value for estimate in estimates]) < truth
    assert sum(estimate.high < truth for estimate in estimates) <= binom.ppf(0.999, len(estimates), LEVEL)
