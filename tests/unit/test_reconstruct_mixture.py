"""Rows from the one mixture a node sends: found where the numbers suffice, certified only where they are right."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from secmix import Mixture, Network
from secmix.adversaries import Eavesdropper, KnownMessages
from secmix.adversaries.reconstructions.interfaces import known_in_run
from secmix.adversaries.reconstructions.mixture import implied_sums, reconstruct_mixture, row_moments
from secmix.mixture import local_statistics
from secmix.protocols import DistributedMixture, fit_mixtures
from secmix.protocols.mixture.distributed_mixture import packed
from secmix.transcript import SERVER, Channel, Origin


def rows_of(n, d, k, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 2 * rng.normal(size=(k, d))[np.arange(n) % k] + 10, rng


def told(rows, protocol, rng):
    message = packed(protocol.fit_local([rows[None]], rng).mixture)[0]
    where = Origin(0, 0, "mixture", "plain", 0, (SERVER,))
    return KnownMessages(0, ((where, message),), *rows.shape, protocol, Network.complete(3), np.random.default_rng(0))


def off(found, rows):
    """How far each row is from the nearest of those found."""
    return np.linalg.norm(rows[:, None] - found.rows, axis=-1).min(axis=1)


@pytest.mark.parametrize("penalty", [None, 0.02])
@pytest.mark.parametrize("steps", [1, 7])
def test_mean_and_covariance_of_the_rows_follow_from_any_m_step(penalty, steps):
    rows, rng = rows_of(30, 3, 2, 0)
    fit = fit_mixtures([rows], 3, rng=rng, penalty=penalty, max_iterations=steps)
    mean, spread = row_moments(fit.mixture[0], 30, 30**-0.5 if penalty is None else penalty)
    assert_allclose(mean, rows.mean(axis=0), rtol=1e-12)
    assert_allclose(spread, np.cov(rows.T, bias=True), rtol=1e-10)


def test_a_fixed_point_is_the_sums_of_the_statistics_at_itself():
    rows, rng = rows_of(30, 2, 2, 1)
    errors = []
    for tolerance in (1e-6, 1e-12, 1e-20):
        one = fit_mixtures([rows], 2, rng=rng, tolerance=tolerance, max_iterations=20000).mixture[0]
        true = local_statistics(rows, one, likelihood=False).reshape(2, -1)
        errors.append(np.abs(implied_sums(one, 30, 30**-0.5) - true).max())
    # Likelihoods that agree to 1e-6 leave parameters that differ by the root of it, and so on.
    assert errors[0] < 1e-1
    assert errors[1] < 1e-4
    # Rounding of a log-likelihood of some 100 nats: the root of 2e-14.
    assert errors[2] < 2e-7
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


@pytest.mark.build
@pytest.mark.parametrize(("n", "d", "k"), [(4, 2, 2), (5, 3, 2)])
def test_all_rows_come_back_exactly_though_em_stopped_at_its_tolerance(n, d, k):
    certified = 0
    for seed in range(4):
        rows, rng = rows_of(n, d, k, seed)
        found = reconstruct_mixture(told(rows, DistributedMixture(k, rule="dfmr"), rng))
        if found.certified:
            certified += 1
            assert off(found, rows).max() < 1e-7
            assert "replayed" in found.how
    assert certified >= 3


def test_from_a_public_start():
    rows, rng = rows_of(6, 3, 3, 2)
    start = Mixture(np.full(3, 1 / 3), rows[:3] + 0.5, np.repeat(3 * np.eye(3)[None], 3, axis=0))
    found = reconstruct_mixture(told(rows, DistributedMixture(3, rule="dfmr", start=start, penalty=0.5), rng))
    assert found.certified
    assert off(found, rows).max() < 1e-7


@pytest.mark.build
def test_what_is_certified_is_right_and_what_is_not_says_why():
    loose = 0
    for seed, (n, k, tolerance) in enumerate([(5, 2, 1e-3), (5, 2, 1e-2), (5, 2, 1e-4), (5, 2, 1e-12), (8, 3, 1e-6)]):
        rows, rng = rows_of(n, 3, k, seed)
        protocol = DistributedMixture(k, rule="dfmr", tolerance=tolerance, max_iterations=5000)
        found = reconstruct_mixture(told(rows, protocol, rng))
        if found.certified:
            assert off(found, rows).max() < 1e-6
        else:
            loose += 1
            assert "tolerance" in found.how
    assert loose < 5


def test_two_rows_and_one_feature():
    rows = np.array([[3.0], [7.5]])
    found = reconstruct_mixture(told(rows, DistributedMixture(2, rule="dfmr"), np.random.default_rng(0)))
    assert found.certified
    assert off(found, rows).max() < 1e-12


def test_too_few_numbers_or_too_many_rows_are_not_pursued():
    rows, rng = rows_of(40, 2, 2, 0)
    assert reconstruct_mixture(told(rows, DistributedMixture(2, rule="dfmr"), rng)) is None
    rows, rng = rows_of(20, 9, 4, 0)
    many = reconstruct_mixture(told(rows, DistributedMixture(4, rule="dfmr"), rng))
    assert many.rows is None
    assert "not searched" in many.how
    rows, rng = rows_of(4, 2, 2, 0)
    held = told(rows, DistributedMixture(2, rule="dfmr"), rng)
    for other in ({"node": 1}, {"protocol": object()}, {"messages": ()}):
        assert reconstruct_mixture(KnownMessages(**{**vars(held), **other})) is None


def test_whoever_hears_the_line_of_a_real_run_has_the_rows_and_nobody_else():
    parts = [np.stack([rows_of(5, 3, 2, 10 * i + run)[0] for run in range(2)]) for i in range(4)]
    network = Network.complete(4)
    for encrypted in (False, True):
        protocol, channel = DistributedMixture(2, rule="dfmr", encrypted=encrypted), Channel()
        protocol.collaborate(parts, network, np.random.default_rng(3), channel=channel)
        view = Eavesdropper().observe(channel.transcript, network)
        held = [known_in_run(view, run, 1, [5] * 4, 3, protocol, network, np.random.default_rng(0)) for run in (0, 1)]
        found = [reconstruct_mixture(one) for one in held]
        if encrypted:
            assert found == [None, None]
        else:
            assert all(one.certified for one in found)
            assert max(off(one, parts[1][run]).max() for run, one in enumerate(found)) < 1e-7
