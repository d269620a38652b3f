"""Mixtures: densities against scipy, batch axes against loops, and the statistics of one round."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from strategies import seeds

from secmix import Mixture
from secmix.errors import DataError
from secmix.mixture import local_statistics, unpack, updated, width


def random_mixture(rng, *batch, k=3, d=2):
    weights = rng.dirichlet(np.ones(k), size=batch)
    factor = rng.normal(size=(*batch, k, d, d)) + 2 * np.eye(d)
    # A floor on the eigenvalues: two ways to solve with a nearly singular matrix differ by its condition.
    covariances = factor @ factor.swapaxes(-1, -2) + 0.1 * np.eye(d)
    return Mixture(weights, rng.normal(size=(*batch, k, d)), covariances)


def joint_by_scipy(mixture, rows):
    parts = zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    return np.column_stack([np.log(w) + multivariate_normal(m, c).logpdf(rows) for w, m, c in parts])


@given(seeds, st.integers(1, 4), st.integers(1, 4))
def test_densities_are_those_of_scipy(seed, k, d):
    rng = np.random.default_rng(seed)
    mixture, rows = random_mixture(rng, k=k, d=d), rng.normal(size=(7, d)) * 3
    joint = joint_by_scipy(mixture, rows).reshape(7, k)
    assert_allclose(mixture.log_joint(rows), joint, rtol=1e-9, atol=1e-9)
    density = logsumexp(joint, axis=1)
    assert_allclose(mixture.log_density(rows), density, rtol=1e-9, atol=1e-9)
    resp, again = mixture.responsibilities(rows)
    assert_allclose(resp, np.exp(joint - density[:, None]), rtol=1e-7, atol=1e-12)
    assert_allclose(again, density, rtol=1e-9, atol=1e-9)


@given(seeds, st.sampled_from([(3,), (2, 3)]), st.integers(1, 5))
def test_batch_axes_do_what_a_loop_does(seed, batch, size):
    rng = np.random.default_rng(seed)
    mixtures, rows = random_mixture(rng, *batch), rng.normal(size=(*batch, size, 2))
    joint = mixtures.log_joint(rows)
    vectors = local_statistics(rows, mixtures, likelihood=True)
    assert joint.shape == (*batch, size, 3)
    for index in np.ndindex(*batch):
        assert_allclose(joint[index], mixtures[index].log_joint(rows[index]), rtol=1e-12, atol=1e-12)
        alone = local_statistics(rows[index], mixtures[index], likelihood=True)
        assert_allclose(vectors[index], alone, rtol=1e-11, atol=1e-12)


def test_one_set_of_rows_meets_many_mixtures_and_the_other_way_round():
    rng = np.random.default_rng(0)
    one, many, rows = random_mixture(rng), random_mixture(rng, 4), rng.normal(size=(6, 2))
    assert_allclose(many.log_density(rows)[2], many[2].log_density(rows))
    assert_allclose(one.log_density(np.stack([rows, rows + 1]))[1], one.log_density(rows + 1))
    assert_allclose(one.expand(5).log_density(rows)[4], one.log_density(rows))


@given(seeds)
def test_statistics_are_the_sums_they_are_named_for(seed):
    rng = np.random.default_rng(seed)
    mixture, rows = random_mixture(rng), rng.normal(size=(9, 2))
    resp, density = mixture.responsibilities(rows)
    vector = local_statistics(rows, mixture, likelihood=True)
    a, b, scatter = unpack(vector, 3, 2)
    off = rows[:, None] - mixture.means
    assert_allclose(a, resp.sum(axis=0))
    assert_allclose(b, np.einsum("nk,nd->kd", resp, rows), atol=1e-12)
    assert_allclose(scatter, np.einsum("nk,nki,nkj->kij", resp, off, off), atol=1e-12)
    assert vector[-1] == pytest.approx(density.sum())
    assert len(vector) == width(3, 2) + 1
    assert_allclose(local_statistics(rows, mixture, likelihood=False), vector[:-1])


@pytest.mark.parametrize("rows_at_once", [1, 7, 50, 1000])
def test_statistics_do_not_depend_on_how_many_rows_are_taken_at_once(rows_at_once, monkeypatch):
    rng = np.random.default_rng(0)
    mixture, rows = random_mixture(rng, 2), rng.normal(size=(2, 50, 2))
    expected = local_statistics(rows, mixture, likelihood=True)
    monkeypatch.setattr("secmix.mixture._FEWEST", rows_at_once)
    monkeypatch.setattr("secmix.mixture._NUMBERS", 1)
    assert_allclose(local_statistics(rows, mixture, likelihood=True), expected, rtol=1e-12)


def test_a_component_without_rows_keeps_its_mean_and_covariance():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 2))
    old = Mixture([0.5, 0.5], [[0.0, 0.0], [1e3, 1e3]], np.repeat(np.eye(2)[None], 2, axis=0))
    new = updated(local_statistics(rows, old, likelihood=False), old, center="new", reg_covar=1e-6)
    assert_allclose(new.means[1], old.means[1])
    assert_allclose(new.covariances[1], old.covariances[1])
    assert_allclose(new.means[0], rows.mean(axis=0))
    assert 0 < new.weights[1] <= 1e-6
    assert new.weights.sum() == pytest.approx(1)


def test_far_rows_and_weightless_components_give_no_nan():
    mixture = Mixture([1.0, 0.0], [[0.0], [5.0]], [[[1.0]], [[1.0]]])
    resp, density = mixture.responsibilities(np.array([[0.0], [5.0], [1e9]]))
    assert resp.tolist() == [[1.0, 0.0]] * 3
    assert np.isfinite(density).all()


def test_samples_have_the_moments_of_the_mixture():
    mixture = Mixture([0.3, 0.7], [[0.0, 0.0], [4.0, 1.0]], np.array([np.eye(2), [[2.0, 0.5], [0.5, 1.0]]]))
    rows = mixture.sample(200_000, np.random.default_rng(0))
    mean = mixture.weights @ mixture.means
    off = mixture.means - mean
    covariance = np.einsum("k,kij->ij", mixture.weights, mixture.covariances + off[:, :, None] * off[:, None, :])
    assert_allclose(rows.mean(axis=0), mean, atol=0.02)
    assert_allclose(np.cov(rows.T), covariance, atol=0.05)


def test_a_collapsed_covariance_says_what_to_do():
    flat = Mixture([1.0], [[0.0, 0.0]], [[[1.0, 1.0], [1.0, 1.0 - 1e-9]]])
    with pytest.raises(DataError, match=r"not positive definite.*raise reg_covar or lower the number of components"):
        flat.log_density(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("weights", "means", "covariances"),
    [
        ((2,), (3, 2), (3, 2, 2)),
        ((3,), (3, 2), (3, 2)),
        ((3,), (3, 2), (3, 3, 3)),
        ((4, 3), (3, 2), (3, 2, 2)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(weights, means, covariances):
    with pytest.raises(DataError, match=r"weights \(..., K\), means \(..., K, d\) and covariances"):
        Mixture(np.ones(weights), np.ones(means), np.ones(covariances))


def test_a_mixture_that_was_worked_with_is_copied_and_pickled():
    """What it keeps of its work, the namespace among it, which is a module, stays behind."""
    mixture = random_mixture(np.random.default_rng(0))
    before = mixture.log_density(np.zeros((1, 2)))
    for again in (copy.deepcopy(mixture), pickle.loads(pickle.dumps(mixture))):
        assert_allclose(again.log_density(np.zeros((1, 2))), before, rtol=0)
