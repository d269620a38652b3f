"""Distributed EM equals EM on the pooled rows, whatever the sum protocol (Li 2022, section 3)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from strategies import networks, seeds

from secmix import Mixture, Network
from secmix.protocols import PDMM, DistributedEM, Plain, SecureSum

SUMS = {
    "plain": Plain(),
    "real": SecureSum(sigma=10.0),
    "modular": SecureSum(arithmetic="modular", fraction_bits=36),
    "pdmm": PDMM(sigma=10.0, tol=1e-13),
    "pdmm, lossy": PDMM(sigma=10.0, tol=1e-13, loss=0.3),
    "pdmm, synchronous": PDMM(sigma=10.0, tol=1e-13, schedule="synchronous"),
    "pdmm, asynchronous": PDMM(sigma=10.0, tol=1e-13, schedule="asynchronous"),
}


def problem(rng, k=3, d=2, rows=200):
    """Rows of a mixture with overlapping components, and somewhere to start."""
    centres = rng.normal(size=(k, d)) * 2
    x = centres[rng.integers(k, size=rows)] + rng.normal(size=(rows, d)) @ np.diag(rng.uniform(0.5, 2, size=d))
    covariances = np.repeat(np.cov(x.T).reshape(1, d, d), k, axis=0)
    return x, Mixture(np.full(k, 1 / k), centres + 0.3 * rng.normal(size=(k, d)), covariances)


def deal(x, n, rng):
    """The rows dealt to n nodes, at least one each."""
    cuts = np.sort(rng.choice(np.arange(1, len(x)), size=n - 1, replace=False))
    return np.split(x, cuts)


def sklearn_em(x, start, iterations, reg_covar=1e-6):
    model = GaussianMixture(
        start.n_components,
        max_iter=iterations,
        tol=0.0,
        reg_covar=reg_covar,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is meant to stop early
        return model.fit(x)


def assert_same(em, model, rtol=1e-9):
    """Relative to the largest entry of each parameter."""
    for name in ("weights_", "means_", "covariances_"):
        expected = getattr(model, name)
        assert_allclose(getattr(em, name), expected, rtol=0, atol=rtol * np.abs(expected).max(), err_msg=name)


@pytest.mark.parametrize("sums", SUMS.values(), ids=list(SUMS))
@given(network=networks(hamiltonian=True), seed=seeds, shape=st.sampled_from([(1, 1), (2, 1), (2, 3), (3, 2)]))
@settings(max_examples=max(settings().max_examples // 4, 5))
def test_equals_gaussian_mixture_from_the_same_start(sums, network, seed, shape):
    rng = np.random.default_rng(seed)
    x, start = problem(rng, *shape)
    em = DistributedEM(shape[0], sums=sums, init=start, max_iter=4, tol=None, record=False)
    em.fit(deal(x, network.n, rng), network=network, rng=rng)
    assert_same(em, sklearn_em(x, start, 4))


def test_the_log_likelihood_is_the_same_and_each_node_ends_with_the_same_mixture():
    rng = np.random.default_rng(3)
    x, start = problem(rng)
    parts = deal(x, 6, rng)
    network = Network.complete(6)
    em = DistributedEM(3, sums=PDMM(sigma=10.0), init=start, max_iter=30, tol=1e-5, record=False)
    run = em.run([part[None] for part in parts], network=network, rng=rng)
    last = run.mixtures[-1]
    assert_allclose(last.means[0], np.repeat(last.means[:, 0], 6, axis=0), atol=1e-8)
    em.fit(parts, network=network, rng=rng)
    for t in (1, 5, em.n_iter_ - 1):
        before = sklearn_em(x, start, t)
        assert em.lower_bounds_[t] == pytest.approx(before.score(x), rel=1e-9)
    assert np.all(np.diff(em.lower_bounds_) > 0)
    assert em.score(x) == pytest.approx(sklearn_em(x, start, em.n_iter_).score(x), rel=1e-9)


def test_stops_at_the_iteration_where_scikit_learn_stops():
    rng = np.random.default_rng(4)
    x, start = problem(rng)
    model = sklearn_em(x, start, 100)
    model.set_params(tol=1e-3).fit(x)
    em = DistributedEM(3, sums=Plain(), init=start, tol=1e-3).fit(deal(x, 5, rng), rng=0)
    assert em.converged_
    assert em.n_iter_ == model.n_iter_
    assert_same(em, model)


@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1e-3), (0.0, 1e3), (1e3, 1.0), (-1e4, 10.0)])
def test_agrees_far_from_the_origin_and_on_uneven_scales(offset, scale):
    rng = np.random.default_rng(5)
    x, _ = problem(rng, rows=400)
    x = x * [1.0, scale] + offset
    start = Mixture(np.full(3, 1 / 3), x[:3], np.repeat(np.diag(x.var(axis=0))[None], 3, axis=0))
    em = DistributedEM(3, sums=Plain(), init=start, max_iter=5, tol=None, reg_covar=1e-9)
    em.fit(deal(x, 4, rng), rng=0)
    model = sklearn_em(x, start, 5, reg_covar=1e-9)
    assert_same(em, model)
    # Each feature in its own units as well: a small one must not hide behind a large one.
    spread = np.sqrt(np.diagonal(model.covariances_, axis1=1, axis2=2))
    off = (em.covariances_ - model.covariances_) / (spread[:, :, None] * spread[:, None, :])
    assert np.abs(off).max() < 1e-9


def test_far_from_the_origin_agrees_with_data_moved_back():
    # Where scikit-learn's own digits run out, EM must not care where the origin is.
    rng = np.random.default_rng(6)
    x = np.round(problem(rng, rows=300)[0] * 2**10) / 2**10  # so that moving is exact
    start = Mixture(np.full(2, 0.5), x[:2], np.repeat(np.eye(2)[None], 2, axis=0))
    far = 2.0**20
    parts = deal(x, 5, rng)
    near_em = DistributedEM(2, sums=Plain(), init=start, max_iter=5, tol=None).fit(parts, rng=0)
    moved = Mixture(start.weights, start.means + far, start.covariances)
    far_em = DistributedEM(2, sums=Plain(), init=moved, max_iter=5, tol=None).fit([p + far for p in parts], rng=0)
    assert_allclose(far_em.means_ - far, near_em.means_, atol=1e-8)
    assert_allclose(far_em.covariances_, near_em.covariances_, atol=1e-8)


def test_the_old_centre_is_the_papers_equation_3():
    rng = np.random.default_rng(7)
    x, start = problem(rng)
    weights, means, covariances = start.weights, start.means, start.covariances
    for _ in range(3):
        joint = [w * multivariate_normal(m, c).pdf(x) for w, m, c in zip(weights, means, covariances, strict=True)]
        p = np.array(joint) / np.sum(joint, axis=0)
        a = p.sum(axis=1)
        covariances = np.array([(p[j] * (x - means[j]).T) @ (x - means[j]) / a[j] for j in range(3)])
        means, weights = p @ x / a[:, None], a / len(x)
        covariances += 1e-6 * np.eye(2)
    em = DistributedEM(3, sums=Plain(), init=start, max_iter=3, tol=None, covariance_center="old")
    em.fit(deal(x, 4, rng), rng=0)
    assert_allclose(em.weights_, weights, rtol=1e-10)
    assert_allclose(em.means_, means, rtol=1e-10)
    assert_allclose(em.covariances_, covariances, rtol=1e-10, atol=1e-12)
    new = DistributedEM(3, sums=Plain(), init=start, max_iter=3, tol=None).fit(deal(x, 4, rng), rng=0)
    assert np.abs(new.covariances_ - covariances).max() > 1e-3  # the two are not the same thing


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_modular_em_is_as_good_as_its_grid(bits):
    rng = np.random.default_rng(8)
    x, start = problem(rng)
    sums = SecureSum(arithmetic="modular", fraction_bits=bits)
    em = DistributedEM(3, sums=sums, init=start, max_iter=3, tol=None).fit(deal(x, 5, rng), rng=0)
    off = np.abs(em.means_ - sklearn_em(x, start, 3).means_).max()
    assert off < 4 * 2.0**-bits
    assert off > 2.0**-bits * 1e-3


@pytest.mark.parametrize("init", ["kmeans", "moments"])
@pytest.mark.parametrize("sums", [Plain(), SecureSum(), PDMM(sigma=100.0)], ids=["plain", "real", "pdmm"])
def test_its_own_start_finds_clusters_that_are_there(init, sums):
    rng = np.random.default_rng(9)
    centres = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
    x = centres[np.arange(300) % 3] + rng.normal(size=(300, 2))
    best = None
    for seed in range(5):
        em = DistributedEM(3, sums=sums, init=init).fit(deal(x, 5, rng), network=Network.complete(5), rng=seed)
        best = em if best is None or em.score(x) > best.score(x) else best
    apart = np.abs(best.means_[:, None] - centres[None]).max(axis=2)
    assert apart.min(axis=0).max() < 0.5
    assert min(best.transcript_.iterations) < 0  # the start is part of the transcript
    labels = best.predict(x)
    assert len({tuple(labels[i::3]) for i in range(3)}) == 3
    assert_allclose(best.predict_proba(x).sum(axis=1), 1.0)


def test_parkinsons_at_eighty_nodes(data_file):
    """Fig. 2's setting, shortened: PDMM and secure summation follow pooled EM."""
    table = np.genfromtxt(data_file("parkinsons.csv"), delimiter=",", skip_header=1)
    numbers = table[:, ~np.isnan(table).any(axis=0)]
    x = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    x = u[:, :2] * s[:2]
    rng = np.random.default_rng(0)
    network = Network.random_geometric(80, rng)
    parts = np.array_split(x[rng.permutation(len(x))], 80)
    start = Mixture(np.full(2, 0.5), x[[0, 50]], np.repeat(np.cov(x.T)[None], 2, axis=0))
    model = sklearn_em(x, start, 5)
    for sums in (PDMM(sigma=100.0, tol=1e-12), SecureSum(sigma=100.0)):
        em = DistributedEM(2, sums=sums, init=start, max_iter=5, tol=None, record=False)
        assert_same(em.fit(parts, network=network, rng=rng), model, rtol=1e-8)
