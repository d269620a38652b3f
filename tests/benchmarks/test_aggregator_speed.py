"""Speed of the aggregation rules beside plain numpy, and byzfl where it is installed, in the same run.

``pytest tests/benchmarks --benchmark-enable`` measures at full size and asserts the ratios. Where benchmarks are
disabled, small messages only show that both do the same work.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from secmix.aggregators import bulyan, coordinate_median, geometric_median, krum, nnm, trimmed_mean

pytestmark = pytest.mark.build


def attacked(n, p):
    """Gaussian messages of which two in five are colluders, together at twice the honest distance.

    (Without an attack isotropic messages are an easy case for Weiszfeld's method, which then takes five or six
    steps; with one it takes about fifty.)
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p))
    x[: 2 * n // 5] = x[2 * n // 5 :].mean(axis=0) + 2 * rng.normal(size=p)
    return x


def weiszfeld(x, tolerance=1e-10):
    """Weiszfeld's method as one writes it in numpy, stopped at the same first-order optimality."""
    z = x.mean(axis=0)
    while True:
        distances = np.linalg.norm(x - z, axis=1)
        weights = 1 / distances
        new = (weights[:, None] * x).sum(axis=0) / weights.sum()
        if np.linalg.norm(new - z) * weights.sum() <= tolerance * len(x):
            return new
        z = new


def seconds(call, rounds):
    times = []
    for _ in range(rounds):
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return min(times)


@pytest.mark.parametrize(("n", "p"), [(20, 10**6), (100, 10**5)])
def test_geometric_median_beside_weiszfeld(benchmark, n, p):
    measured = benchmark.enabled
    x = attacked(n, p if measured else 2000)
    with threadpool_limits(1):
        z = benchmark.pedantic(geometric_median, (x,), rounds=5 if measured else 1)
        before = time.perf_counter()
        theirs = weiszfeld(x)
        took = time.perf_counter() - before
    assert np.linalg.norm(z - theirs) <= 1e-8 * np.linalg.norm(theirs)
    if measured:
        ratio = took / benchmark.stats.stats.min
        benchmark.extra_info["times as fast as Weiszfeld in numpy"] = ratio
        assert ratio >= 20


@pytest.mark.parametrize(("n", "p"), [(20, 10**6), (100, 10**5)])
def test_trimmed_mean_beside_sorting_and_byzfl(benchmark, n, p):
    measured = benchmark.enabled
    x, f = attacked(n, p if measured else 2000), n // 5

    def sorting():
        return np.sort(x, axis=0)[f:-f].mean(axis=0)

    found = benchmark.pedantic(trimmed_mean, (x,), {"f": f}, rounds=5 if measured else 1)
    assert found == pytest.approx(sorting(), abs=1e-12)
    if measured:
        ratio = seconds(sorting, 3) / benchmark.stats.stats.min
        benchmark.extra_info["times as fast as sorting in numpy"] = ratio
        assert ratio >= 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            byzfl = pytest.importorskip("byzfl", reason="byzfl (with torch) is not installed", exc_type=ImportError)
        ratio = seconds(lambda: byzfl.TrMean(f)(x), 3) / benchmark.stats.stats.min
        benchmark.extra_info["times as fast as byzfl"] = ratio
        assert ratio >= 1


@pytest.mark.parametrize("rule", [krum, bulyan], ids=lambda rule: rule.__name__)
def test_selection_takes_one_gram_matrix(benchmark, rule):
    # Distances pair by pair would pass over the messages n/2 times; Bulyan scores again, but does not measure again.
    measured = benchmark.enabled
    n, p = (60, 200_000) if measured else (15, 500)
    x = attacked(n, p)
    f = (n - 3) // 4

    def pairwise():
        return np.array([((x - row) ** 2).sum(axis=1) for row in x])

    benchmark.pedantic(rule, (x,), {"f": f}, rounds=3 if measured else 1)
    if measured:
        ratio = seconds(pairwise, 1) / benchmark.stats.stats.min
        benchmark.extra_info["times as fast as the distances by themselves, row by row"] = ratio
        assert ratio >= 3


@pytest.mark.parametrize(
    "rule", [geometric_median, krum, bulyan, trimmed_mean, coordinate_median, nnm(trimmed_mean)],
    ids=lambda rule: rule.__name__,
)  # fmt: skip
def test_memory_at_most_twice_the_input(benchmark, rule):
    x = attacked(20, 200_000 if benchmark.enabled else 50_000)
    tracemalloc.start()
    try:
        benchmark.pedantic(rule, (x,), {"f": 4}, rounds=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Beside the input, as much again at most, and the fixed size of the blocks.
    assert peak <= x.nbytes + 12 * 2**20
