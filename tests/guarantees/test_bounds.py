"""Proven bounds: nothing found exceeds them, the tight ones are reached, and a breach is loud."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worst_clouds import geometric_median_at_the_mean, worst_cloud

from secmix import aggregators
from secmix.adversaries import WorstCase
from secmix.errors import SecmixError
from secmix.estimators import BoundViolated
from secmix.estimators.robustness import proven
from secmix.testing import byzantine_messages, honest_clouds

NAMES = ["trimmed_mean", "coordinate_median", "geometric_median", "krum", "mda", "nnm(trimmed_mean)", "nnm(krum)"]


def rule_named(name):
    if name.startswith("nnm("):
        return aggregators.nnm(getattr(aggregators, name[4:-1]))
    return getattr(aggregators, name)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_no_drawn_messages_exceed_any_bound(name, data, tmp_path_factory):
    f = data.draw(st.integers(1, 3))
    honest = data.draw(honest_clouds(f + 3 + data.draw(st.integers(0, 4)), high=12))
    sent = data.draw(byzantine_messages(f, honest.shape[1]))
    result = rule_named(name)(np.concatenate([honest, sent]), f=f)
    error = np.linalg.norm(result - honest.mean(axis=0))
    found = proven.bounds(name, n=len(honest) + f, f=f)
    assert found
    for bound in found:
        # Messages of 1e10 leave a rounding of 1e-6 in a sum, which is no breach of a theorem.
        assert error <= bound.error(honest) * (1 + 1e-6) + 1e-9 * np.abs(sent).max() + 1e-9 * np.abs(honest).max()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("h", "f", "p"), [(5, 2, 1), (9, 3, 4), (11, 4, 2)])
def test_no_search_exceeds_a_bound(name, h, f, p, tmp_path):
    honest = np.random.default_rng(h).standard_normal((h, p)) ** 3
    rule = rule_named(name)
    found = WorstCase(rule, f, budget=700).search(honest, np.random.default_rng(0))
    assert 0 < proven.hold(rule, honest, found.messages, found.error, tmp_path) <= 1 + proven.ROUNDING
    assert not list(tmp_path.iterdir())


def test_kappa_of_the_trimmed_mean_is_attained():
    # h − f honest messages at one value, f at another, so that the trimmed mean can be held at the first.
    n, f = 11, 3
    honest = np.concatenate([np.zeros((n - 2 * f, 1)), np.full((f, 1), -1.0)])
    found = WorstCase(aggregators.trimmed_mean, f, budget=300).search(honest, np.random.default_rng(0))
    assert proven.hold("trimmed_mean", honest, found.messages, found.error) == pytest.approx(1.0, rel=1e-12)
    assert proven.bounds("trimmed_mean", n=n, f=f)[0].coefficient == f / (n - 2 * f)


def test_kappa_of_the_median_is_attained():
    n, f = 11, 3
    k = n // 2 + 1
    honest = np.concatenate([np.full((k - 1, 1), -1.0), np.zeros((n - f - k + 1, 1))])
    found = WorstCase(aggregators.coordinate_median, f, budget=300).search(honest, np.random.default_rng(0))
    assert proven.hold("coordinate_median", honest, found.messages, found.error) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.build
@pytest.mark.parametrize(("h", "f"), [(9, 1), (8, 2), (7, 3), (6, 4)])
def test_the_constant_of_the_geometric_median_is_reached_by_search(h, f):
    found = worst_cloud(h, f, np.random.default_rng(0), trials=2500, restarts=1)
    assert found.constant == pytest.approx(proven.geometric_median_constant(f / (h + f)))
    assert 0.95 <= found.ratio <= 1 + 1e-9
    assert np.linalg.norm(found.honest, axis=1).max() <= 1 + 1e-12
    again = aggregators.geometric_median(np.concatenate([found.honest, found.byzantine]), f=f)
    assert np.linalg.norm(again) == pytest.approx(found.error)


def test_a_tangent_configuration_attains_the_constant():
    h, f = 6, 4
    d = proven.geometric_median_constant(f / (h + f))
    side = np.sqrt(1 - 1 / d**2)
    honest = np.array([[1 / d, side], [1 / d, -side]] * 3)
    sent = np.tile([d, 0.0], (f, 1))
    moved = aggregators.geometric_median(np.concatenate([honest, sent * (1 - 1e-13)]), f=f)
    assert np.linalg.norm(moved) == pytest.approx(d, rel=1e-9)


@pytest.mark.build
@pytest.mark.parametrize(("h", "f"), [(8, 2), (6, 4)])
def test_about_the_mean_less_is_possible(h, f):
    found = worst_cloud(h, f, np.random.default_rng(0), centre="mean", trials=1200)
    most = geometric_median_at_the_mean(f / (h + f))
    assert 0.95 * most <= found.error <= most * (1 + 1e-6)
    assert np.abs(found.honest.mean(axis=0)).max() < 1e-12


@settings(max_examples=30)
@given(st.floats(0.05, 0.45), st.integers(0, 999))
def test_the_bound_about_the_mean_against_clouds_on_the_sphere(tau, seed):
    """Any mixture of heights whose mean is zero pulls back at least as hard as the envelope says."""
    rng = np.random.default_rng(seed)
    d = geometric_median_at_the_mean(tau) * 1.001
    low, high = -rng.random(200), rng.random(200)
    share = high / (high - low)

    def pull(a):
        return (d - a) / np.sqrt(d * d - 2 * d * a + 1)

    assert (share * pull(low) + (1 - share) * pull(high)).min() >= tau / (1 - tau) - 1e-3


def test_a_breach_is_loud_and_kept(tmp_path):
    honest, sent = np.array([[0.0], [1.0], [2.0]]), np.array([[9.0]])
    with pytest.raises(BoundViolated, match="allows") as caught:
        proven.hold("trimmed_mean", honest, sent, 5.0, tmp_path)
    with np.load(caught.value.path) as kept:
        assert np.array_equal(kept["honest"], honest)
        assert np.array_equal(kept["byzantine"], sent)
        assert kept["error"] == 5.0 > kept["allowed"]


def test_what_has_no_bound():
    assert proven.bounds("bulyan", n=20, f=2) == ()
    assert proven.bounds(lambda messages, f: messages[0], n=20, f=2) == ()
    assert proven.hold("mean", np.array([[0.0], [1.0]]), np.array([[9.0]]), 4.0) is None
    with pytest.raises(SecmixError, match="half"):
        proven.bounds("krum", n=4, f=2)
    with pytest.raises(SecmixError):
        proven.geometric_median_constant(0.5)
