"""What colluders can do to the rules for mixtures: the figures reported are those of the messages found."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from secmix import Mixture
from secmix.adversaries import collude, collusion_curve
from secmix.aggregators.mixture_rules import ared, component_wise, cred, dfmr, gmr, oracle, wasserstein
from secmix.errors import SecmixError
from secmix.protocols import fit_mixtures

pytestmark = pytest.mark.delicate

M = 20


def population(faint=False):
    """Two components in the plane; a faint one adds next to nothing to ∫ f²."""
    weights = [0.95, 0.05] if faint else [0.5, 0.5]
    spread = np.stack([np.eye(2), (9.0 if faint else 1.0) * np.eye(2)])
    return Mixture(weights, [[0.0, 0.0], [6.0, 0.0]], spread)


def fits(true, m=M, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    wobble = np.eye(2) + noise * rng.normal(size=(m, 2, 2, 2))
    weights = true.weights * np.exp(noise * rng.normal(size=(m, 2)))
    return Mixture(
        weights / weights.sum(axis=1, keepdims=True),
        true.means + noise * rng.normal(size=(m, 2, 2)),
        wobble @ true.covariances @ wobble.swapaxes(-1, -2),
    )


def together(honest, sent, f):
    return [honest[j] for j in range(len(honest.weights))] + [sent] * f


def crude(rule, honest, f, true, rng):
    """All colluders send the oracle's mixture with every mean shifted in one of six directions."""
    base = gmr(honest).mixture
    worst = 0.0
    for angle in rng.uniform(0, 2 * np.pi, 6):
        direction = np.array([np.cos(angle), np.sin(angle)])
        for size in np.geomspace(0.02, 2, 12):
            sent = Mixture(base.weights, base.means + size * direction, base.covariances)
            worst = max(worst, wasserstein(rule(together(honest, sent, f)).mixture, true))
    return worst


@pytest.mark.build
@pytest.mark.parametrize("rule", [cred, ared, dfmr], ids=lambda rule: rule.__name__)
def test_the_search_finds_at_least_what_a_crude_one_does(rule):
    true, f = population(), 6
    honest = fits(true)[: M - f]
    found = collude(rule, honest, f, np.random.default_rng(0), truth=true, budget=300)
    assert found.error >= 0.99 * crude(rule, honest, f, true, np.random.default_rng(1))
    result = rule(together(honest, found.mixture, f))
    assert wasserstein(result.mixture, true) == pytest.approx(found.error, rel=1e-6)
    assert np.isin(np.arange(M - f, M), result.kept).sum() == found.kept > 0
    assert found.margin <= 1
    assert found.error > 1.3 * found.oracle
    best = wasserstein(oracle(together(honest, found.mixture, f), range(M - f)).mixture, true)
    assert found.oracle == pytest.approx(best)
    errors = [error for _, error in found.history]
    assert errors == sorted(errors)
    assert found.evaluations <= 300


@pytest.mark.parametrize("rule", [ared, dfmr], ids=lambda rule: rule.__name__)
def test_a_faint_component_can_be_taken_anywhere_without_being_rejected(rule):
    """∫ (f − g)² hardly sees a component of small weight and large covariance: the paper's radius has no hold on it."""
    true, f = population(faint=True), 2
    honest = fits(true)[: M - f]
    found = collude(rule, honest, f, np.random.default_rng(0), truth=true, budget=300)
    assert found.unbounded
    assert found.kept == f
    far = Mixture(true.weights, [[0.0, 0.0], [1e8, 0.0]], true.covariances)
    result = rule(together(honest, far, f))
    assert set(range(M - f, M)) <= set(result.kept.tolist())
    assert wasserstein(result.mixture, true) > 1e5


def test_component_by_component_it_cannot():
    true, f = population(faint=True), 6
    honest = fits(true)[: M - f]
    found = collude(component_wise, honest, f, np.random.default_rng(0), truth=true, budget=150)
    assert not found.unbounded
    assert found.error < 10 * found.oracle
    far = Mixture(true.weights, [[0.0, 0.0], [1e8, 0.0]], true.covariances)
    assert component_wise(together(honest, far, f)).shares[M - f :, 1].sum() == 0


def test_reducing_everybody_has_no_bound():
    found = collude(gmr, fits(population())[:19], 1, np.random.default_rng(0), budget=100)
    assert found.unbounded
    assert found.oracle == 0  # without the truth, errors are from the oracle's mixture
    assert np.isnan(found.margin)


@pytest.mark.build
def test_the_same_seed_finds_the_same_and_the_curve_names_its_points():
    true, local = population(), fits(population())
    rule = partial(dfmr, p=0.05)
    curves = [
        collusion_curve(rule, local, [1, 8], np.random.default_rng(3), truth=true, budget=100, undetected=True)
        for _ in range(2)
    ]
    assert [p.worst.error for p in curves[0]] == [p.worst.error for p in curves[1]]
    assert [(p.f, p.m) for p in curves[0]] == [(1, M), (8, M)]
    assert all(p.worst.kept > 0 for p in curves[0])
    assert curves[0][1].ratio > curves[0][0].ratio
    (without_truth,) = collusion_curve(rule, local, [1], np.random.default_rng(3), budget=100)
    assert (without_truth.worst.oracle, without_truth.ratio) == (0, np.inf)
    with pytest.raises(SecmixError, match="below m/2"):
        collusion_curve(rule, local, [10], np.random.default_rng(0))
    with pytest.raises(SecmixError, match="fewer than"):
        collude(rule, local[:3], 3, np.random.default_rng(0))


@pytest.mark.build
def test_within_reach_lies_stay_where_they_are_allowed():
    true, f = population(faint=True), 4
    honest = fits(true)[: M - f]
    base = gmr(honest).mixture
    lower = np.linalg.cholesky(base.covariances)
    errors = []
    for reach in (0.3, 1.0, np.inf):
        found = collude(dfmr, honest, f, np.random.default_rng(0), truth=true, budget=200, undetected=True, reach=reach)
        errors.append(found.error)
        assert found.unbounded == (reach == np.inf)
        if np.isfinite(reach):
            sent = found.mixture
            off = np.linalg.solve(lower, (sent.means - base.means)[..., None])[..., 0]
            assert np.linalg.norm(off, axis=1).max() <= reach * (1 + 1e-9)
            assert np.abs(np.log(sent.weights / base.weights)).max() <= reach * (1 + 1e-9)
            growth = np.linalg.eigvals(np.linalg.solve(base.covariances, sent.covariances)).real
            assert np.abs(np.log(growth)).max() <= reach * (1 + 1e-9)
    assert errors[0] < errors[1] < errors[2]
    with pytest.raises(SecmixError, match="reach"):
        collude(dfmr, honest, f, np.random.default_rng(0), reach=0.0)


def test_large_covariances_hide_a_component_from_the_distance():
    """Among components of unequal size the squared error sees the tightest: another one goes anywhere, undetected."""
    rng = np.random.default_rng(0)
    d, k, f = 10, 3, 2
    spread = np.array([0.3, 1.0, 1.0])[:, None, None] * np.eye(d)
    true = Mixture(np.full(k, 1 / k), 3 * rng.normal(size=(k, d)), spread)
    rows = np.stack([true.sample(400, rng) for _ in range(M)])
    honest = fit_mixtures(rows, true).mixture[: M - f]
    far = Mixture(true.weights, true.means + 1e6 * (np.arange(k) == 2)[:, None], true.covariances)
    for rule in (cred, ared, dfmr):
        result = rule(together(honest, far, f))
        assert set(range(M - f, M)) <= set(result.kept.tolist())
        assert wasserstein(result.mixture, true) > 1e4
    result = component_wise(together(honest, far, f))
    assert result.shares[M - f :, 2].sum() == 0
    assert wasserstein(result.mixture, true) < 1
