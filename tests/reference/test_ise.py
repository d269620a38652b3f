"""Integrated squared error and the Gaussian formulae, against numerical integration and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import multivariate_normal
from strategies import seeds

from analysis.zhang_2024.divergence import divergence
from secmix import Mixture
from secmix._base.gaussians import bhattacharyya, log_overlap
from secmix.aggregators.mixture_rules import ise, ise_matrix


def some_mixtures(rng, m, k, d):
    factor = rng.normal(size=(m, k, d, d + 2))
    covariances = factor @ factor.swapaxes(-1, -2) / (d + 2) + 0.3 * np.eye(d)
    return Mixture(rng.dirichlet(np.ones(k), m), 1.5 * rng.normal(size=(m, k, d)), covariances)


def density(mixture, points):
    return np.exp(mixture.log_density(points))


@pytest.mark.parametrize("seed", range(3))
def test_ise_is_the_integral_in_one_dimension(seed):
    pair = some_mixtures(np.random.default_rng(seed), 2, 3, 1)

    def square(x):
        point = np.array([[x]])
        return float((density(pair[0], point) - density(pair[1], point))[0] ** 2)

    expected = sum(
        quad(square, a, b, epsabs=1e-13, epsrel=1e-13, limit=400)[0] for a, b in [(-40, -3), (-3, 0), (0, 3), (3, 40)]
    )
    assert_allclose(ise_matrix(pair)[0, 1], expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("seed", range(3))
def test_ise_is_the_integral_in_two_dimensions(seed):
    pair = some_mixtures(np.random.default_rng(seed), 2, 3, 2)
    # The trapezoidal rule on a smooth function that vanishes at the border converges faster than any power.
    line = np.linspace(-18, 18, 721)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    expected = ((density(pair[0], grid) - density(pair[1], grid)) ** 2).sum() * (line[1] - line[0]) ** 2
    assert_allclose(ise_matrix(pair)[0, 1], expected, atol=1e-10, rtol=0)


def by_double_loop(mixtures):
    m, k = mixtures.weights.shape

    def product(i, j):
        return sum(
            mixtures.weights[i, a]
            * mixtures.weights[j, b]
            * multivariate_normal.pdf(
                mixtures.means[i, a], mixtures.means[j, b], mixtures.covariances[i, a] + mixtures.covariances[j, b]
            )
            for a in range(k)
            for b in range(k)
        )

    return np.array([[product(i, i) + product(j, j) - 2 * product(i, j) for j in range(m)] for i in range(m)])


@given(seeds, st.integers(1, 3), st.integers(1, 4))
def test_ise_is_what_a_double_loop_over_pairs_gives(seed, k, d):
    mixtures = some_mixtures(np.random.default_rng(seed), 3, k, d)
    found = ise_matrix(mixtures)
    assert_allclose(found, by_double_loop(mixtures), atol=1e-12)
    assert (found == found.T).all()
    assert (np.diag(found) == 0).all()
    assert_allclose(ise(mixtures[:2], mixtures), found[:2], atol=1e-14)


@given(seeds)
def test_ise_does_not_depend_on_the_order_of_components(seed):
    rng = np.random.default_rng(seed)
    mixtures = some_mixtures(rng, 4, 4, 3)
    order = np.stack([rng.permutation(4) for _ in range(4)])
    at = np.arange(4)[:, None], order
    shuffled = Mixture(mixtures.weights[at], mixtures.means[at], mixtures.covariances[at])
    assert_allclose(ise_matrix(shuffled), ise_matrix(mixtures), atol=1e-14)


def test_divergence_and_bhattacharyya_are_their_integrals():
    rng = np.random.default_rng(0)
    pair = some_mixtures(rng, 2, 1, 2)
    a, b = ((one.means[0], one.covariances[0]) for one in (pair[0], pair[1]))
    line = np.linspace(-18, 18, 721)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    cell = (line[1] - line[0]) ** 2
    log_a, log_b = (multivariate_normal(*one).logpdf(grid) for one in (a, b))
    assert_allclose(divergence(*a, *b), (np.exp(log_a) * (log_a - log_b)).sum() * cell, rtol=1e-9)
    assert_allclose(bhattacharyya(*a, *b), -np.log(np.exp(0.5 * (log_a + log_b)).sum() * cell), rtol=1e-9)
    assert_allclose(log_overlap(*a, *b), np.log(np.exp(log_a + log_b).sum() * cell), rtol=1e-9)
