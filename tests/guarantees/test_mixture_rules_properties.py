"""What the rules for mixtures promise: descent, equivariance, and the paper's claims under failures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group
from strategies import seeds

from secmix import Mixture
from secmix.adversaries.attacks.mixture_failures import FAILURES, component_failure, touched_components
from secmix.aggregators.mixture_rules import (
    ared,
    coat,
    component_wise,
    cred,
    dfmr,
    gmr,
    ise_matrix,
    oracle,
    reduced,
    trim,
    wasserstein,
)
from secmix.protocols.mixture.local_mixture import fit_mixtures

pytestmark = pytest.mark.delicate

RULES = [cred, ared, dfmr, gmr, trim, component_wise]


def truth(rng, k, d, apart=2.0):
    factor = rng.normal(size=(k, d, 2 * d)) / np.sqrt(2 * d)
    covariances = factor @ factor.swapaxes(-1, -2) + 0.2 * np.eye(d)
    return Mixture(rng.dirichlet(np.full(k, 10.0)), apart * rng.normal(size=(k, d)), covariances)


def machines(seed, m=15, k=3, d=2, noise=0.1):
    rng = np.random.default_rng(seed)
    centre = truth(rng, k, d)
    wobble = np.eye(d) + noise * rng.normal(size=(m, k, d, d))
    return Mixture(
        rng.dirichlet(np.full(k, 100.0), m),
        centre.means + noise * rng.normal(size=(m, k, d)),
        wobble @ centre.covariances @ wobble.swapaxes(-1, -2),
    )


def like(a, b, atol=1e-7):
    return wasserstein(a, b) < atol


@given(seeds, st.integers(1, 4), st.floats(0, 0.9), st.booleans())
def test_the_objective_of_the_reduction_never_increases(seed, k, trimmed, far):
    rng = np.random.default_rng(seed)
    pool = machines(seed, m=8, k=4, d=3, noise=0.4)
    start = truth(rng, k, 3, apart=100.0 if far else 2.0)
    found = reduced(pool, start, trim=trimmed, tolerance=0.0)
    history = np.array(found.history)
    assert (np.diff(history) <= 1e-9 * (1 + np.abs(history[:-1]))).all()
    assert found.mixture.weights.sum() == pytest.approx(1)
    assert_allclose((found.used * pool.weights).sum() / 8, 1 - trimmed, atol=1e-9)


@given(seeds, st.integers(1, 3), st.integers(1, 3), st.integers(12, 60))
def test_the_penalised_likelihood_never_decreases(seed, k, d, size):
    rng = np.random.default_rng(seed)
    rows = truth(rng, 3, d).sample(2 * size, rng).reshape(2, size, d)
    fit = fit_mixtures(rows, k, rng=rng, starts=2, tolerance=1e-8, max_iterations=60)
    for history in fit.histories:
        assert (np.diff(history) >= -1e-9 * size).all()
    assert_allclose([history[-1] for history in fit.histories], fit.penalised)
    # It is the penalised likelihood: the log-likelihood less the price of small covariances.
    one, part = fit.mixture[0], rows[0]
    spread = np.cov(part.T, bias=True).reshape(d, d)
    price = sum(np.trace(spread @ np.linalg.inv(c)) + np.linalg.slogdet(c)[1] for c in one.covariances)
    assert fit.penalised[0] == pytest.approx(one.log_density(part).sum() - price / np.sqrt(size))


@given(seeds, st.integers(14, 17), st.sampled_from(RULES))
def test_the_order_of_machines_and_of_components_does_not_matter(seed, m, rule):
    rng = np.random.default_rng(seed)
    pool = machines(seed, m=m)
    order = rng.permutation(m)
    inner = np.stack([rng.permutation(3) for _ in range(m)])
    at = order[:, None], inner
    mixed = Mixture(pool.weights[at], pool.means[at], pool.covariances[at])
    before, after = rule(pool), rule(mixed)
    assert order[after.coat.index] == before.coat.index
    assert_array_equal(np.sort(order[after.kept]), before.kept)
    assert like(before.mixture, after.mixture)


@given(seeds, st.integers(14, 17), st.sampled_from(RULES))
def test_rotation_and_translation_go_through(seed, m, rule):
    rng = np.random.default_rng(seed)
    pool = machines(seed, m=m, d=3)
    turn, shift = ortho_group.rvs(3, random_state=rng), 10 * rng.normal(size=3)

    def moved(mixture):
        return Mixture(mixture.weights, mixture.means @ turn.T + shift, turn @ mixture.covariances @ turn.T)

    before, after = rule(pool), rule(moved(pool))
    assert after.coat.index == before.coat.index
    assert_array_equal(after.kept, before.kept)
    assert like(after.mixture, moved(before.mixture))
    assert after.objective == pytest.approx(before.objective, rel=1e-6)


@given(seeds)
def test_coat_minimises_the_median_and_its_ball_holds_a_majority(seed):
    pool = machines(seed, m=13)
    squared, found = ise_matrix(pool), coat(pool)
    assert found.median <= np.median(squared, axis=1).min() * (1 + 1e-9)
    assert (found.distances <= found.radius).sum() >= 7


SIZES = {"m": 20, "rows": 600, "k": 5, "d": 10}


@pytest.fixture(scope="module")
def studies():
    """Local fits of the simulation study, three populations."""
    made = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        true = truth(rng, SIZES["k"], SIZES["d"])
        rows = np.stack([true.sample(SIZES["rows"], rng) for _ in range(SIZES["m"])])
        made.append((true, fit_mixtures(rows, true).mixture, rng))
    return made


@pytest.mark.parametrize("name", ["mean", "covariance"])
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3, 0.4])
def test_failures_are_rejected_and_the_result_is_near_the_oracle(studies, name, rate):
    ratios = {rule: [] for rule in (cred, ared, dfmr, component_wise)}
    for true, local, rng in studies:
        byzantine = rng.permutation(SIZES["m"])[: int(rate * SIZES["m"])]
        honest = np.setdiff1d(np.arange(SIZES["m"]), byzantine)
        sent = FAILURES[name](local, byzantine, rng)
        squared = ise_matrix(sent)
        best = wasserstein(oracle(sent, honest, squared=squared).mixture, true)
        for rule, found in ratios.items():
            result = rule(sent, squared=squared)
            assert not np.isin(byzantine, result.kept).any()
            found.append(wasserstein(result.mixture, true) / best)
    for rule in (ared, dfmr):
        assert max(ratios[rule]) < 1.3
    assert np.mean(ratios[cred]) < 1.5
    assert max(ratios[component_wise]) < 1.5


def test_reducing_everybody_is_broken_by_few(studies):
    true, local, rng = studies[0]
    sent = FAILURES["mean"](local, [0, 1], rng)
    best = wasserstein(oracle(sent, range(2, 20)).mixture, true)
    assert wasserstein(gmr(sent).mixture, true) > 50 * best


@pytest.mark.parametrize("kind", ["mean", "covariance"])
def test_component_wise_stands_where_nearly_every_machine_is_touched(studies, kind):
    for true, local, rng in studies:
        touched = touched_components(SIZES["m"], SIZES["k"], 0.4, rng)
        assert (touched.sum(axis=1) > 0).sum() > SIZES["m"] / 2
        sent = component_failure(local, touched, rng, kind)
        best = wasserstein(gmr(local).mixture, true)
        found = component_wise(sent)
        ours = wasserstein(found.mixture, true)
        assert not (found.shares * touched).any()
        assert ours < 2 * best
        for rule in (cred, ared):
            assert wasserstein(rule(sent).mixture, true) > 5 * ours
