"""Bias curves and breakdown points against what is known of each rule."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from secmix import aggregators
from secmix.errors import SecmixError
from secmix.estimators import BoundViolated, bias_curve, breakdown_point
from secmix.estimators.robustness import proven


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("n", [10, 11])
@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("mean", 0.0),
        ("coordinate_median", 0.5),
        ("geometric_median", 0.5),
        ("centered_clipping", 0.5),
        ("krum", None),
        ("multi_krum", None),
    ],
)
def test_known_breakdown_points(name, known, n):
    exact = math.floor((n - 3) / 2) / n if known is None else known  # (n − 3)/(2n) at odd n
    found = breakdown_point(getattr(aggregators, name), n=n, p=3, rng=rng(), repeats=2)
    assert found.value == exact
    assert found.low <= exact <= found.high
    assert found.high - found.low <= 1 / n + 1e-12


@pytest.mark.parametrize("name", ["trimmed_mean", "meamed", "multi_krum"])
@pytest.mark.parametrize("f", [0, 1, 3])
def test_rules_set_to_f_break_at_f_plus_one(name, f):
    n = 13
    rule = getattr(aggregators, name)
    for found in (
        breakdown_point(rule, n=n, p=2, rng=rng(), f=f, repeats=1),
        breakdown_point(partial(rule, f=f), n=n, p=2, rng=rng(), repeats=1),
    ):
        assert found.value == f / n
        assert found.high == (f + 1) / n


def test_a_policy_breaks_sooner_than_infinity():
    free = breakdown_point(aggregators.coordinate_median, n=11, p=2, rng=rng(), repeats=1)
    strict = breakdown_point(aggregators.coordinate_median, n=11, p=2, rng=rng(), repeats=1, limit=0.3, budget=300)
    assert strict.value < free.value == 0.5


def test_a_rule_that_lets_nan_through_breaks_at_once():
    def trusting(messages, f):
        return np.median(messages, axis=0)

    assert breakdown_point(trusting, n=9, p=2, rng=rng(), repeats=1).value == 0.0


def test_the_curve_of_the_trimmed_mean():
    curve = bias_curve(
        aggregators.trimmed_mean, lambda own: own.standard_normal((9, 3)), rng=rng(), repeats=3, budget=300
    )
    assert [point.f for point in curve] == list(range(1, 9))
    values = [point.error.value for point in curve]
    assert values == sorted(values)  # on the same clouds, more colluders do more
    for point in curve:
        assert point.fraction == point.f / (9 + point.f)
        assert point.error.low <= point.error.value <= point.error.high < np.inf
        assert point.kappa.value <= proven.bounds("trimmed_mean", n=point.n, f=point.f)[0].coefficient * (1 + 1e-9)
        assert 0.3 < point.ratio <= 1 + 1e-9
        assert not point.unbounded


def test_the_curve_of_the_mean_is_unbounded_and_starts_at_nothing():
    none, one = bias_curve(aggregators.mean, rng().standard_normal((6, 2)), fs=[0, 1], rng=rng(), budget=400)
    assert none.error.value < 1e-12
    assert not none.unbounded
    assert one.unbounded
    assert one.ratio is None
    assert one.error.high == np.inf


def test_fractions_and_refusals():
    cloud = rng().standard_normal((7, 2))
    points = bias_curve(aggregators.krum, cloud, fractions=[0.0, 0.3, 0.49], rng=rng(), budget=300)
    assert [point.f for point in points] == [0, 3, 6]
    assert points[1].error is not None
    assert points[2].error is None  # Krum needs n >= 2f + 3
    with pytest.raises(SecmixError, match="not both"):
        bias_curve(aggregators.krum, cloud, fs=[1], fractions=[0.1], rng=rng())
    with pytest.raises(SecmixError, match="fractions lie"):
        bias_curve(aggregators.krum, cloud, fractions=[1.0], rng=rng())


def test_messages_that_agree():
    [point] = bias_curve(aggregators.coordinate_median, np.ones((5, 2)), fs=[2], rng=rng(), budget=300)
    assert point.error.value == 0.0


def test_code_that_breaks_its_theorem_is_caught(tmp_path):
    def careless(messages, f):
        return 1.5 * aggregators.trimmed_mean(messages, f=f)

    careless.traits = aggregators.TRAITS["trimmed_mean"]
    with pytest.raises(BoundViolated) as caught:
        bias_curve(careless, rng().standard_normal((7, 2)) + 5, fs=[2], rng=rng(), budget=300, save_to=tmp_path)
    assert caught.value.path.parent == tmp_path


def test_results_repeat():
    def once():
        cloud = rng(1).standard_normal((8, 3))
        return bias_curve(aggregators.krum, cloud, fs=[2], rng=rng(4), budget=400)[0].error.value

    assert once() == once()
