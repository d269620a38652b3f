"""The fixed attacks: what each is by its definition, and what they all share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.adversaries import FIXED, RoundMessages
from secmix.adversaries.attacks import graphfed as neighbours
from secmix.adversaries.attacks import worst_case
from secmix.adversaries.attacks.sums import alie_factor, centre
from secmix.testing import honest_clouds

CLOUD = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 4.0], [6.0, 2.0]])  # mean (3, 2)


def rng():
    return np.random.default_rng(5)


@given(honest_clouds(), st.integers(1, 4))
def test_every_attack_sends_f_finite_messages_and_leaves_the_honest_ones_alone(honest, f):
    before = honest.copy()
    for name, attack in FIXED.items():
        sent = attack(honest, f, rng())
        assert sent.shape == (f, honest.shape[1]), name
        assert np.isfinite(sent).all(), name
        assert np.array_equal(sent, attack(honest, f, rng())), name
    assert np.array_equal(honest, before)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sign_flip", [-3.0, -2.0]),
        ("reverse", [-300.0, -200.0]),
        ("ipm", [-1.5, -1.0]),
        ("zero", [0.0, 0.0]),
        ("constant", [-100.0, -100.0]),
        ("mimic", [6.0, 2.0]),
    ],
)
def test_by_definition(name, message):
    np.testing.assert_allclose(FIXED[name](CLOUD, 2, rng()), [message, message])


def test_alie_by_its_own_example():
    # The paper's example: n = 50, f = 24: s = 2, Φ(z) = (26 − 2)/26.
    assert alie_factor(50, 24) == pytest.approx(1.426, abs=1e-3)
    honest = np.random.default_rng(0).standard_normal((26, 3))
    np.testing.assert_allclose(
        FIXED["alie"](honest, 24, rng())[0], honest.mean(0) - alie_factor(50, 24) * honest.std(0)
    )


@given(honest_clouds(5, 2))
def test_min_max_and_min_sum_just_touch_their_limit(honest):
    between = ((honest[:, None] - honest) ** 2).sum(axis=2)
    if honest.std(axis=0).max() < 1e-3:
        return
    for name, total in (("min_max", np.max), ("min_sum", np.sum)):
        sent = FIXED[name](honest, 1, rng())[0]
        here = total(((honest - sent) ** 2).sum(axis=1))
        assert here == pytest.approx(total(between, axis=1).max(), rel=1e-7)


def test_the_centre_of_huge_messages():
    assert centre(np.array([[1.5e308], [1.5e308], [1.2e308]]))[0] == pytest.approx(1.4e308)


@pytest.mark.parametrize("seed", range(20))
def test_of_two_honest_nodes_as_far_from_their_mean_the_first_counts_as_farthest(seed):
    honest = np.random.default_rng(seed).normal(size=(2, 3))
    assert FIXED["mimic"](honest, 1, rng()).tolist() == honest[:1].tolist()
    said = RoundMessages("neighbour mixture", np.zeros((1, 3)), honest, 1.0, None, rng())
    assert neighbours.imitation.forge(said).tolist() == honest[:1].tolist()
    away = worst_case.far(honest, 1, 2.0) - honest.mean(axis=0)
    assert np.vdot(away, honest[0] - honest.mean(axis=0)) > 0
