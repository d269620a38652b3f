"""The interval of a membership test, replayed on known truth: it seldom misses what the best test finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from released_means import best_rate
from scipy.stats import binom, norm

from secmix.estimators.row_membership import RATE, counted, membership

pytestmark = pytest.mark.build

REPLAYS, RUNS, MISS = 200, 2000, 0.05


@pytest.mark.parametrize(("n", "d", "far"), [(2, 1, 1.0), (3, 2, 3.0), (10, 1, 4.0), (10, 5, 5.0), (50, 2, 6.0)])
def test_the_lower_end_seldom_lies_above_the_best_test(n: int, d: int, far: float) -> None:
    best, row = best_rate(n, d, far), np.full(d, far / math.sqrt(d))
    above, lows = 0, []
    for seed in range(REPLAYS):
        inside, outside = np.random.default_rng(seed).normal(size=(2, RUNS, n, d))
        inside[:, 0] = row
        found = membership(inside.mean(axis=1), outside.mean(axis=1))
        above += found.low > best
        lows.append(found.low)
    assert above <= binom.ppf(0.999, REPLAYS, MISS / 2)
    assert best < 5 * RATE or np.mean(lows) > 0.2 * best  # and where there is something to find it is not trivial


@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0])
def test_both_ends_enclose_the_rate_of_a_given_score(shift: float) -> None:
    truth, missed = float(norm.sf(norm.isf(RATE) - shift)), 0
    for seed in range(REPLAYS):
        inside, outside = np.random.default_rng(seed).normal(size=(2, RUNS // 2))
        found = counted(inside + shift, outside)
        missed += not found.low <= truth <= found.high
    assert missed <= binom.ppf(0.999, REPLAYS, MISS)
