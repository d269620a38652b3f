"""The Gram forms against what they stand for, written out with n × n projections and covariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.aggregators import geometric_median
from secmix.aggregators.numerics.median_of_points import weights_from_distances, weights_from_gram
from secmix.aggregators.subspace_rules import power_method, subspace_distance, subspace_median, svd_rce
from secmix.aggregators.subspace_rules.bases import projection_distances


def clouds(rng, count, n, r, spread, colluders):
    """Bases about one of theirs, the first ``colluders`` at one place apart from it."""
    centre = rng.standard_normal((n, r))
    bases = np.linalg.qr(centre + spread * rng.standard_normal((count, n, r)))[0]
    bases[:colluders] = np.linalg.qr(centre + 3 * spread * rng.standard_normal((n, r)))[0]
    return bases


def weiszfeld(points, steps=4000):
    """The plain iteration on (L, n·n) projections: the definition, not fast."""
    z = points.mean(axis=0)
    for _ in range(steps):
        weights = 1 / np.linalg.norm(points - z, axis=1)
        new = weights @ points / weights.sum()
        if np.linalg.norm(new - z) < 1e-15:
            break
        z = new
    return z


@given(
    st.integers(0, 2**32 - 1),
    st.integers(3, 9),
    st.sampled_from([(3, 1), (4, 2), (6, 3), (12, 2), (8, 8), (9, 8)]),
    st.sampled_from([1e-6, 1e-3, 0.1, 10.0]),
)
def test_the_gram_form_is_the_naive_form(seed, count, shape, spread):
    rng = np.random.default_rng(seed)
    bases = clouds(rng, count, *shape, spread, rng.integers(0, (count + 1) // 2))
    projections = bases @ bases.swapaxes(1, 2)
    flat = projections.reshape(count, -1)
    naive = np.linalg.norm(flat[:, None] - flat, axis=2)
    assert np.sqrt(projection_distances(list(bases))) == pytest.approx(naive, abs=1e-10)
    found = subspace_median(bases)
    median = geometric_median(flat)  # on n² numbers a message
    assert np.abs(found.weights @ flat - median).max() <= 1e-10
    apart = np.linalg.norm(flat - median, axis=1)
    assert found.distances == pytest.approx(apart, abs=1e-10)
    assert apart[found.index] <= apart.min() + 1e-10
    assert np.abs(found.basis @ found.basis.T - projections[found.index]).max() <= 1e-12


@pytest.mark.parametrize("colluders", [0, 2, 3])
def test_against_weiszfeld_on_projections(colluders):
    bases = clouds(np.random.default_rng(1), 8, 10, 3, 0.2, colluders)
    flat = (bases @ bases.swapaxes(1, 2)).reshape(8, -1)
    median = weiszfeld(flat)
    found = subspace_median(bases)
    assert found.weights @ flat == pytest.approx(median, abs=1e-10)
    assert found.index == np.argmin(np.linalg.norm(flat - median, axis=1))


def test_distance_is_that_of_the_definition():
    rng = np.random.default_rng(2)
    for n, r, s in ((5, 2, 2), (5, 2, 3), (7, 3, 1)):
        u, v = (np.linalg.qr(rng.standard_normal((n, k)))[0] for k in (r, s))
        left = (np.eye(n) - u @ u.T) @ v
        assert subspace_distance(u, v) == pytest.approx(np.linalg.norm(left), abs=1e-14)
        assert subspace_distance(u, v, ord=2) == pytest.approx(np.linalg.svd(left)[1][0], abs=1e-14)
        if r == s:
            assert subspace_distance(u, v) == pytest.approx(np.linalg.norm(u @ u.T - v @ v.T) / np.sqrt(2))


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 5))
def test_the_median_from_distances_or_inner_products_is_that_of_the_points(seed, n, p):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    if n > 3 and seed % 2:
        x[: n // 2] = x[n // 2] + 10.0 ** -rng.integers(0, 9) * x[: n // 2]
    least = np.linalg.norm(x - geometric_median(x), axis=1).sum()
    squared = ((x[:, None] - x) ** 2).sum(axis=2)
    for found, digits in ((weights_from_distances(squared), 1e-11), (weights_from_gram(x @ x.T), 1e-7)):
        assert (found.weights >= 0).all()
        assert found.weights.sum() == pytest.approx(1)
        apart = np.linalg.norm(x - found.weights @ x, axis=1)
        assert apart.sum() <= least * (1 + digits) + digits
        assert found.distances == pytest.approx(apart, abs=1e-6)


def test_points_that_few_distances_leave_open():
    pair = np.array([[0.0, 9.0], [9.0, 0.0]])
    assert weights_from_distances(pair).weights.tolist() == [0.5, 0.5]
    line = np.abs(np.subtract.outer([0.0, 5.0, 1.0, 2.0], [0.0, 5.0, 1.0, 2.0])) ** 2
    assert weights_from_distances(line).weights.tolist() == [0, 0, 0.5, 0.5]
    assert weights_from_distances(np.zeros((3, 3))).distances.tolist() == [0, 0, 0]
    assert weights_from_distances(np.zeros((1, 1))).weights.tolist() == [1]


@pytest.mark.parametrize("columns", [3, 30])
def test_svd_rce_is_the_svd_of_the_geometric_median(columns):
    # With 30 columns a node there are more columns than rows, and an iterative solver takes over for small r.
    rng = np.random.default_rng(3)
    for n, r in ((12, 2), (40, 3)):
        scale = np.linspace(4, 0.2, n)[:, None]
        data = [scale * rng.standard_normal((n, columns + node)) for node in range(6)]
        data[0] *= 20
        covariances = np.stack([d @ d.T / d.shape[1] for d in data])
        median = geometric_median(covariances.reshape(6, -1)).reshape(n, n)
        top = np.linalg.eigh(median)[1][:, -r:]
        assert subspace_distance(top, svd_rce(data, r)) < 1e-8


def test_the_power_method_finds_the_eigenvectors_of_the_mean_covariance():
    rng = np.random.default_rng(4)
    n, r = 20, 3
    scale = np.r_[9.0, 8.0, 7.0, np.ones(n - r)][:, None]
    data = [scale * rng.standard_normal((n, 60)) for _ in range(5)]
    top = np.linalg.eigh(np.mean([d @ d.T / 60 for d in data], axis=0))[1][:, -r:]
    assert subspace_distance(top, power_method(data, r, iterations=60)) < 1e-10
    far = power_method(data, r, iterations=2)
    assert subspace_distance(top, far) > 1e-6
