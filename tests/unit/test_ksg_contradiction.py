"""When a lower bound contradicts KSG's number: beyond the noise of the number, and not within it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from secmix.estimators import information_lower_bound, ksg
from secmix.estimators.ksg_estimator.invariance import contradicted

SILENT = information_lower_bound(*np.random.default_rng(0).standard_normal((2, 10)))


@pytest.mark.parametrize(
    ("low", "value", "nats", "error", "said"),
    [
        (0.02, 0.03, 0.0, 0.025, False),  # KSG's own noise explains it
        (0.02, 0.03, 0.0, 0.005, True),
        (0.10, 0.12, 0.05, 0.025, True),
        (0.00, 0.12, 0.05, 0.025, False),
        (0.00, 0.20, 0.05, 0.025, True),  # by the value, which is below the truth on average
    ],
)
def test_a_bound_contradicts_beyond_noise(low, value, nats, error, said):
    assert bool(contradicted(replace(SILENT, low=low, value=value), nats, error)) == said


def test_what_a_bound_shows_lies_within_the_interval():
    # A number that noise put too low keeps an upper end above what the bound found.
    x, e = np.random.default_rng(1).standard_normal((2, 2000))
    y = 0.3 * x + e
    number = ksg(x, y, bound=replace(SILENT, low=0.0, value=0.0))
    found = ksg(x, y, bound=replace(SILENT, low=number.value + 0.005, value=number.value + 0.02))
    assert (number.status, found.status) == ("resolved", "resolved")
    assert found.low <= number.value
    assert found.high > 1.1 * (number.value + 0.02)
