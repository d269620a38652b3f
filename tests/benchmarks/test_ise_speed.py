"""All pairs of distances and the reduction are fast, and need little memory.

The double loop is timed on a few of its terms and scaled up: all of it would take a quarter of a minute.
"""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from secmix import Mixture
from secmix.aggregators.mixture_rules import coat, gmr, ise_matrix

pytestmark = pytest.mark.build

COMPONENTS, FEATURES = 5, 10


def machines(m, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(COMPONENTS, FEATURES, 2 * FEATURES))
    covariances = factor @ factor.swapaxes(-1, -2) / (2 * FEATURES) + 0.2 * np.eye(FEATURES)
    wobble = np.eye(FEATURES) + noise * rng.normal(size=(m, COMPONENTS, FEATURES, FEATURES))
    means = 2 * rng.normal(size=(COMPONENTS, FEATURES)) + noise * rng.normal(size=(m, COMPONENTS, FEATURES))
    return Mixture(rng.dirichlet(np.full(COMPONENTS, 50.0), m), means, wobble @ covariances @ wobble.swapaxes(-1, -2))


def fastest(work, times=3):
    def once():
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    return min(once() for _ in range(times))


def test_all_pairs_are_fifty_times_faster_than_a_double_loop():
    m = 100
    given = machines(m)
    means, covariances = given.means.reshape(-1, FEATURES), given.covariances.reshape(-1, FEATURES, FEATURES)
    pairs = np.random.default_rng(0).integers(m * COMPONENTS, size=(100, 2))

    def some_terms():
        for i, j in pairs:
            multivariate_normal.pdf(means[i], means[j], covariances[i] + covariances[j])

    ours = fastest(lambda: ise_matrix(given))
    terms = m * (m + 1) // 2 * COMPONENTS**2  # each pair of machines once, which is kind to the loop
    loop = fastest(some_terms) / len(pairs) * terms
    assert loop / ours > 50, f"{loop:.1f} s against {ours:.3f} s"


def test_memory_is_bounded_by_the_result():
    given = machines(200)
    ise_matrix(given)
    tracemalloc.start()
    try:
        ise_matrix(given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    copies = 3 * given.covariances.nbytes  # checking the covariances takes some of their own size
    assert peak < 20e6 + copies + 10 * 8 * 200**2


def test_the_reduction_of_a_hundred_machines_takes_less_than_a_second():
    given = machines(100)
    squared = ise_matrix(given)
    assert coat(given, squared=squared).radius > 0
    assert fastest(lambda: gmr(given, squared=squared)) < 1.0


def test_a_thousand_machines(benchmark):
    benchmark.pedantic(lambda: ise_matrix(machines(1000 if benchmark.enabled else 20)), rounds=1, iterations=1)
    if benchmark.enabled:
        assert benchmark.stats.stats.max < 120
