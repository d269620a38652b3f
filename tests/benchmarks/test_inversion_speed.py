"""How many rows invert_sums recovers, and how long it takes, on one thread.

``pytest tests/benchmarks --benchmark-enable`` runs ten seeds of each size and asserts the rates; where benchmarks are
disabled one seed of a small one shows that it works. Where a component shrinks onto few rows or EM hardly moves, the
sums in double precision do not fix the rows to 1e-6, whoever solves them: the linearised error at the true rows says
so. Such seeds are counted and written down beside the rate, not in it.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from inversion_problems import audited_problem, furthest, problem
from threadpoolctl import threadpool_limits

from secmix.adversaries import invert_sums, rounds_needed
from secmix.adversaries.inversion.certificate import fit
from secmix.adversaries.inversion.coordinates import standard_of
from secmix.adversaries.inversion.starts import rounding

pytestmark = pytest.mark.build

SIZES = [(3, 2), (5, 2), (8, 2), (10, 2), (20, 2), (3, 3), (5, 3), (8, 3), (10, 3), (20, 3)]


def recover(h, c, seed):
    rows, path, sums = problem(h, 2, c, rounds_needed(h, 2, c) + 2, seed)
    before = time.perf_counter()
    found = invert_sums(sums, path, h, rng=seed)
    seconds = time.perf_counter() - before
    right = furthest(found.rows, rows) < 1e-6
    return found, right, seconds, certainty(rows, path, sums) < 1e-6


def certainty(rows, path, sums):
    """How far off the sums' rounding leaves the true rows."""
    standard = standard_of(sums, path, len(rows))
    columns = np.linalg.solve(standard.lower, (rows - standard.centre).T)
    noise = standard.noise(rounding(sums, path, len(rows)), path).ravel()
    return fit(standard.equations(path), standard.sums(sums, path).ravel(), noise, columns.T).error


@pytest.mark.parametrize(("h", "c"), SIZES)
def test_rows_come_back_from_two_rounds_more_than_needed(benchmark, h, c):
    if benchmark.disabled and (h, c) != (8, 3):
        pytest.skip("ten seeds of this size are measured with --benchmark-enable")
    seeds = range(1 if benchmark.disabled else 10)
    with threadpool_limits(1):
        runs = benchmark.pedantic(lambda: [recover(h, c, seed) for seed in seeds], rounds=1)
    recovered = [found.certified and right for found, right, _, possible in runs if possible]
    median = float(np.median([seconds for _, _, seconds, _ in runs]))
    benchmark.extra_info.update(recovered=sum(recovered), possible=len(recovered), of=len(runs), median_seconds=median)
    assert not any(found.certified and not right and found.error < 1e-6 for found, right, _, _ in runs)
    assert len(recovered) >= 0.6 * len(runs)
    assert sum(recovered) >= 0.9 * len(recovered)
    # Among all ten: where c = 2, h = 20 two of these seeds are beyond double precision, elsewhere none.
    assert sum(found.certified and right for found, right, *_ in runs) >= (0.8 if (h, c) == (20, 2) else 0.9) * len(
        runs
    )
    assert median < 10


@pytest.mark.parametrize("c", [2, 3])
def test_twenty_rows_of_an_audit_come_back(benchmark, c):
    """Rows of the audit's own Gaussian data, EM from its public k-means start: whatever precision allows is found."""
    if benchmark.disabled:
        pytest.skip("ten seeds are measured with --benchmark-enable")

    def run(seed):
        rows, path, sums = audited_problem(20, c, seed)
        found = invert_sums(sums, path, 20, rng=seed)
        return found.certified and furthest(found.rows, rows) < 1e-6, certainty(rows, path, sums) < 1e-6

    with threadpool_limits(1):
        runs = benchmark.pedantic(lambda: [run(seed) for seed in range(10)], rounds=1)
    assert sum(right for right, _ in runs) >= 9
    assert all(right for right, possible in runs if possible)


@pytest.mark.parametrize("c", [2, 3])
def test_forty_rows_are_tried(benchmark, c):
    """The frontier: what is certified must be right; the share is written down, not asserted.

    With two components it is double precision more than the search: in eight of these ten seeds the rounding of the
    sums is worth more than 1e-6 at the true rows, in five more than a hundredth of a standard deviation.
    """
    if benchmark.disabled:
        pytest.skip("forty rows are tried with --benchmark-enable")
    with threadpool_limits(1):
        runs = benchmark.pedantic(lambda: [recover(40, c, seed) for seed in range(10)], rounds=1)
    benchmark.extra_info["recovered"] = sum(found.certified and right for found, right, _, _ in runs)
    benchmark.extra_info["possible"] = sum(possible for *_, possible in runs)
    benchmark.extra_info["median_seconds"] = float(np.median([seconds for _, _, seconds, _ in runs]))
    for found, right, _, _ in runs:
        assert right or not found.certified or found.error > 1e-7
