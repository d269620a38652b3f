"""Rows on a line that others avoid: found in any units and beside any relation, and not where values merely repeat."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.estimators.ksg_estimator.copies import on_a_line


def pair(seed: int, n: int, relation: float = 0.6):
    x, e = np.random.default_rng(seed).standard_normal((2, n, 1))
    return x, relation * x + e


@pytest.mark.parametrize("slope", [1.0, -1.0, 1e-3, 200.0])
@pytest.mark.parametrize("n", [500, 2000, 5000])
def test_copies_are_found_in_any_units(slope, n):
    x, y = pair(0, n)
    copied = np.random.default_rng(1).permutation(n)[: max(n // 100, 15)]
    y *= slope
    y[copied] = slope * x[copied] + 0.3 * slope
    assert 6 <= on_a_line(x, y, np.random.default_rng(2)) <= len(copied)


def test_where_there_are_none_none_are_found():
    x, y = pair(3, 1000)
    positive = np.abs(x)
    twice = np.tile(np.hstack([x, y])[:100], (10, 1))
    cases = {
        "a relation": (x, y),
        "an edge": (positive, positive + np.abs(y)),
        "whole numbers": (np.round(3 * x), np.round(3 * y)),
        "whole numbers, and noise": (np.round(3 * x), y),
        "rows that repeat": (twice[:, :1], twice[:, 1:]),
        "a few rows": (x[:20], x[:20]),
        "two values": (np.sign(x), np.sign(y)),
    }
    for name, (first, second) in cases.items():
        assert on_a_line(first, second, np.random.default_rng(4)) == 0, name
