"""What nearness alone tells: never more than the truth, much where few rows nearly agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from secmix.estimators.ksg_estimator.nearness import nearness


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_it_is_no_more_than_the_information_there_is(rho: float) -> None:
    truth = -0.5 * math.log1p(-(rho**2))
    for seed in range(10):
        x, e = np.random.default_rng(seed).standard_normal((2, 800, 1))
        found = nearness(x, rho * x + math.sqrt(1 - rho**2) * e)
        assert found.sure <= truth + 0.005


@pytest.mark.parametrize("d", [1, 3])
def test_copies_in_few_rows_are_seen(d: int) -> None:
    x, y = np.random.default_rng(1).standard_normal((2, 1000, d))
    y[:30] = x[:30]
    assert 0.08 < nearness(x, y).sure < math.log(60 * 1000)


def test_an_entry_that_is_equal_to_another_is_seen() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((1000, 2)), rng.standard_normal((1000, 5))
    y[:100, 3] = x[:100, 1]
    assert nearness(x, y).sure > 0.1


def test_six_nats_in_a_twentieth_of_the_rows_lie_within_its_interval() -> None:
    # The truth is 0.114 nats, of which KSG reads 0.03 at this size.
    noise, inside = math.exp(-6), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y, e = rng.standard_normal((3, 1000, 1))
        copied = math.sqrt(1 - noise**2) * x + noise * e
        found = nearness(x, np.where(rng.uniform(size=(1000, 1)) < 0.05, copied, y))
        inside += found.high > 0.114
    assert inside >= 18


def test_few_rows_that_leak_much_are_never_vouched_for() -> None:
    # Found by the study: with a margin on top of KSG's number two draws of ten of this kind were resolved.
    from secmix.estimators import information_lower_bound, ksg

    silent = information_lower_bound(*np.random.default_rng(0).standard_normal((2, 10)))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, e, y = rng.standard_normal((3, 2000, 1))
        noise = math.exp(-6)
        copied = math.sqrt(1 - noise**2) * x + noise * e
        found = ksg(x, np.where(rng.uniform(size=(2000, 1)) < 0.05, copied, y), bound=silent, rng=seed)
        assert found.status == "unresolved"


def test_a_draw_in_which_few_rows_carry_all_that_ksg_read_is_not_vouched_for() -> None:
    # Found by the study, one of ten fresh draws: KSG read 0.087 nats, nearness told 0.089 ± 0.013 by itself.
    from secmix.estimators import information_lower_bound, ksg

    silent = information_lower_bound(*np.random.default_rng(0).standard_normal((2, 10)))
    rng = np.random.default_rng([0, 5, 14, 2000, 9])
    noise = math.exp(-6)
    x, y = rng.standard_normal((2, 2000, 1))
    hit = rng.uniform(size=(2000, 1)) < 0.05
    y = np.where(hit, math.sqrt(1 - noise**2) * x + noise * rng.standard_normal((2000, 1)), y)
    found = ksg(x, y, bound=silent, rng=9)
    assert found.status == "unresolved"
    assert any("rows where x and y are nearest" in note for note in found.notes)
