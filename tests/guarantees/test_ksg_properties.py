"""What `ksg` promises whatever the data: no units, no order, no sides, and never NaN."""

from __future__ import annotations

import math

import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from secmix.errors import DataError
from secmix.estimators import ksg
from secmix.estimators.neighbours.bitmaps import by_bitmaps
from secmix.estimators.neighbours.counts import _counts_within, kth_distances, neighbour_counts

pytestmark = pytest.mark.delicate

seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 4)
scales = st.sampled_from([1e-6, 1e-3, 0.1, 3.0, 1e3, 1e6]) | st.floats(1e-6, 1e6)
shifts = st.floats(-1e3, 1e3)


def dependent(seed: int, dx: int, dy: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((n, dx))
    return x, x @ draw.standard_normal((dx, dy)) + draw.standard_normal((n, dy))


def bare(x: np.ndarray, y: np.ndarray, **options: object) -> float:
    return ksg(x, y, interval=False, checks=False, **options).value


@given(seeds, dimensions, dimensions, scales, scales)
@example(0, 1, 1, 1e3, 1e3)
@example(0, 2, 3, 1e-6, 1e3)
def test_units_do_not_matter(seed, dx, dy, a, b):
    x, y = dependent(seed, dx, dy)
    assert bare(a * x, b * y) == pytest.approx(bare(x, y), abs=1e-12)
    assert bare(-a * x, y) == pytest.approx(bare(x, y), abs=1e-12)


@given(seeds, dimensions, dimensions, shifts, shifts)
def test_origins_do_not_matter(seed, dx, dy, a, b):
    x, y = dependent(seed, dx, dy)
    assert bare(x + a, y + b) == pytest.approx(bare(x, y), abs=1e-12)


@given(seeds, dimensions, scales)
def test_each_column_has_its_own_units(seed, dx, a):
    x, y = dependent(seed, dx, 2)
    assert bare(x, y * [a, 1 / a]) == pytest.approx(bare(x, y), abs=1e-12)


@given(seeds, dimensions, dimensions)
def test_order_of_the_samples_does_not_matter(seed, dx, dy):
    x, y = dependent(seed, dx, dy)
    order = np.random.default_rng(seed + 1).permutation(len(x))
    assert bare(x[order], y[order]) == pytest.approx(bare(x, y), abs=1e-12)


@given(seeds, dimensions, dimensions)
def test_sides_do_not_matter(seed, dx, dy):
    x, y = dependent(seed, dx, dy)
    assert bare(y, x) == pytest.approx(bare(x, y), abs=1e-12)


@given(seeds, dimensions, dimensions)
def test_order_of_the_columns_does_not_matter(seed, dx, dy):
    x, y = dependent(seed, dx, dy)
    assert bare(x[:, ::-1], y[:, ::-1]) == pytest.approx(bare(x, y), abs=1e-12)


@given(seeds)
def test_memory_layout_and_type_do_not_matter(seed):
    x, y = dependent(seed, 2, 3)
    x, y = x.astype(np.float32), y.astype(np.float32)
    there = bare(np.asfortranarray(x), np.repeat(y, 2, axis=0)[::2])
    assert there == bare(x.astype(np.float64).tolist(), y.astype(np.float64))


awkward = st.sampled_from([0.0, 1.0, 1.0, -1.0, 1e-300, 1e300, -1e300, 5e-324, 1e-9, 0.1, 7.0])


shapes = st.tuples(st.integers(4, 90), st.integers(1, 3))


@given(
    arrays.arrays(float, shapes, elements=awkward | st.floats(-1e308, 1e308)),
    st.integers(1, 3),
    st.booleans(),
)
def test_never_nan(both, k, itself):
    x, y = both[:, :1], both if itself else both[:, -1:]
    if any((part == part[0]).all(axis=0).any() for part in (x, y)):
        with pytest.raises(DataError, match="constant"):
            ksg(x, y, k=k)
        return
    estimate = ksg(x, y, k=k)
    assert not math.isnan(estimate.value)
    assert not math.isnan(estimate.low)
    assert not math.isnan(estimate.high)
    assert estimate.low <= estimate.high
    assert estimate.status in {"resolved", "unresolved", "determined"}


@pytest.mark.build
@given(seeds, st.integers(5, 400), st.integers(1, 7), st.integers(1, 5), st.booleans())
def test_tree_counts_as_brute_force(seed, n, d, k, tied):
    points = np.random.default_rng(seed).standard_normal((n, d))
    if tied:
        points = np.round(points)
    distances = np.abs(points[:, None] - points).max(axis=2)
    others = np.where(np.eye(n, dtype=bool), np.inf, distances)
    k = min(k, n - 1)
    nearest = np.sort(others, axis=1)[:, k - 1]
    assert np.array_equal(kth_distances(points, k), nearest)
    assert np.array_equal(_counts_within(points, nearest), (distances <= nearest[:, None]).sum(axis=1))


def by_brute_force(x, y, z, k, shrink=0.0):
    def apart(*parts):
        return np.abs(np.hstack(parts)[:, None] - np.hstack(parts)).max(axis=2, initial=0.0)

    joint = np.where(np.eye(len(x), dtype=bool), np.inf, apart(x, y, z))
    nearest = np.sort(joint, axis=1)[:, k - 1]
    near = (lambda them: them <= nearest[:, None] - shrink) if shrink else (lambda them: them < nearest[:, None])
    counts = []
    for parts in ((x, z), (y, z), (z,)):
        # Without any column nothing is told apart, not even at distance zero: all n count, as in ψ(n).
        nothing = not any(part.shape[1] for part in parts)
        counts.append(np.full(len(x), len(x)) if nothing else near(apart(*parts)).sum(axis=1))
    return nearest, np.maximum(counts, 1)


def drawn(seed, n, dx, dy, dz, tied):
    draw = np.random.default_rng(seed)
    x, y, z = (draw.standard_normal((n, d)) for d in (dx, dy, dz))
    return (np.round(x), np.round(y), z) if tied else (x, y, z)


@example(0, 17, 1, 1, 0, True)  # ties at distance zero, and no z: once expected to count one, not n
@given(seeds, st.integers(5, 400), st.integers(1, 5), st.integers(1, 5), st.integers(0, 2), st.booleans())
def test_scan_and_tree_count_as_brute_force(seed, n, dx, dy, dz, tied):
    x, y, z = drawn(seed, n, dx, dy, dz, tied)
    nearest, expected = by_brute_force(x, y, z, 3)
    epsilon, counts = neighbour_counts(x, y, z, 3)
    assert np.array_equal(epsilon, nearest)
    assert np.array_equal(counts, expected)


@given(
    seeds,
    st.integers(5, 400),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 2),
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from([0.0, 1e-15, 0.3]),
    st.sampled_from([0.0, 1e9]),
)
def test_bitmaps_count_as_brute_force(seed, n, dx, dy, dz, tied, k, shrink, shift):
    x, y, z = drawn(seed, n, dx, dy, dz, tied)
    y = y + shift  # so far off that distances are rounded, and repeat
    nearest, expected = by_brute_force(x, y, z, k, shrink)
    epsilon, counts = by_bitmaps(np.hstack([x, z, y]), dx, dx + dz, k, shrink)
    assert np.array_equal(epsilon, nearest)
    assert np.array_equal(np.maximum(counts, 1), expected)
