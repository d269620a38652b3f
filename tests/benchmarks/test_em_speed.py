"""Distributed EM beside scikit-learn's GaussianMixture: what an iteration costs, on one thread."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from secmix import Mixture, Network
from secmix.protocols import DistributedEM, Plain

pytestmark = pytest.mark.build

K, D, NODES = 5, 10, 10


def problem(rows):
    """Overlapping clusters, so that neither of the two stops early, and where both start."""
    rng = np.random.default_rng(0)
    centres = 0.6 * rng.normal(size=(K, D))
    x = centres[rng.integers(K, size=rows)] + rng.normal(size=(rows, D))
    return x, Mixture(np.full(K, 1 / K), centres, np.repeat(2 * np.eye(D)[None], K, axis=0))


def ours(x, start, iterations):
    em = DistributedEM(K, sums=Plain(), init=start, record=False, max_iter=iterations, tol=1e-300)
    em.fit(np.array_split(x, NODES), network=Network.complete(NODES), rng=0)
    assert em.n_iter_ == iterations
    return em


def theirs(x, start, iterations):
    model = GaussianMixture(
        K,
        max_iter=iterations,
        tol=0.0,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is meant to stop early
        return model.fit(x)


def seconds(fit, x, start, iterations):
    before = time.process_time()
    fit(x, start, iterations)
    return time.process_time() - before


def per_iteration(fit, x, start, more):
    """The slope between two numbers of iterations, which leaves out what is done once; the least of three."""
    few, many = (min(seconds(fit, x, start, t) for _ in range(3)) for t in (2, 2 + more))
    return (many - few) / more


def test_an_iteration_costs_at_most_half_as_much_again_as_in_scikit_learn(benchmark):
    rows, more = (20_000, 10) if benchmark.disabled else (100_000, 10)
    x, start = problem(rows)
    with threadpool_limits(1):
        assert np.abs(ours(x, start, 3).means_ - theirs(x, start, 3).means_).max() < 1e-9  # the same work
        mine, other = (per_iteration(fit, x, start, more) for fit in (ours, theirs))
        benchmark.extra_info.update(ours_ms=1e3 * mine, scikit_learn_ms=1e3 * other, ratio=mine / other)
        benchmark.pedantic(ours, args=(x, start, 3), rounds=1)
    assert mine < 1.5 * other


def test_many_small_runs_cost_less_side_by_side_than_one_by_one(benchmark):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(2000, 1, 2)) for _ in range(5)]
    start = Mixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]], np.repeat(np.eye(2)[None], 2, axis=0))
    em = DistributedEM(2, sums=Plain(), init=start, record=False, max_iter=5, tol=None, reg_covar=1e-2)

    def fit(runs):
        rows = [part[:runs] for part in parts]
        return em.run(rows, network=Network.complete(5), rng=np.random.default_rng(0))

    with threadpool_limits(1):
        fit(1)
        before = time.process_time()
        for _ in range(10):
            fit(1)
        one = (time.process_time() - before) / 10
        before = time.process_time()
        benchmark.pedantic(fit, args=(2000,), rounds=1)
        many = time.process_time() - before
    assert many < 2000 * one / 10
