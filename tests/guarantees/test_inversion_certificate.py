"""What a certificate of invert_sums promises: the rows are right; altered or ambiguous sums never get one."""

from __future__ import annotations

import numpy as np
import pytest
from inversion_problems import furthest, problem, sums_of

from secmix.adversaries import invert_sums, rounds_needed
from secmix.adversaries.inversion.certificate import fit
from secmix.adversaries.inversion.coordinates import standard_of
from secmix.adversaries.inversion.starts import rounding

pytestmark = pytest.mark.delicate


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("h", "d", "c"), [(3, 2, 2), (5, 1, 2), (6, 2, 3), (6, 3, 2)])
def test_what_is_certified_is_right(h, d, c, seed):
    rows, path, sums = problem(h, d, c, rounds_needed(h, d, c) + 2, seed)
    found = invert_sums(sums, path, h, rng=seed)
    if found.certified:
        assert found.residual < 1e-10
        assert found.agreeing >= 2
        assert furthest(found.rows, rows) < max(1e-6, found.error)
    else:
        # Only where the sums themselves do not pin the rows down may there be none.
        assert found.condition > 1e6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alter", ["noise", "grid", "tiny"])
def test_altered_sums_get_an_error_estimate_and_no_certificate(seed, alter):
    rows, path, sums = problem(5, 2, 2, 5, seed)
    size = 1e-8 if alter == "tiny" else 1e-6
    altered = (
        np.round(sums / size) * size
        if alter == "grid"
        else sums + size * np.random.default_rng(seed).standard_normal(sums.shape)
    )
    found = invert_sums(altered, path, 5, rng=0)
    assert not found.certified
    assert found.status == "inconclusive"
    assert found.residual > 1e-10
    assert furthest(found.rows, rows) < 3 * found.error
    known = invert_sums(altered, path, 5, rng=0, noise=size)
    assert known.certified <= (alter == "tiny")
    assert furthest(known.rows, rows) < 3 * known.error


@pytest.mark.parametrize("seed", range(4))
def test_the_error_of_the_sums_that_is_known_widens_the_certificate(seed):
    """Sums with PDMM's float error: within the noise given they fit, and the rows are as far off as is said."""
    rows, path, sums = problem(4, 2, 2, 3, seed)
    noisy = sums + 1e-9 * np.random.default_rng(seed).standard_normal(sums.shape)
    told = invert_sums(noisy, path, 4, rng=0, noise=1e-9)
    assert told.certified
    assert 1e-10 < furthest(told.rows, rows) < 2 * told.error < 1e-4


def test_sums_of_other_rows_than_the_parameters_belong_to_are_not_certified_unless_right():
    """One round's sums exchanged for those of other rows: no rows fit all."""
    rows, path, sums = problem(5, 2, 2, 4, seed=0)
    mixed = np.concatenate([sums[:2], sums_of(rows + 0.1, path[2:])])
    found = invert_sums(mixed, path, 5, rng=0)
    assert not found.certified
    assert found.residual > 1e-6


def test_equal_rows_are_never_certified_wrongly():
    rows, path, _ = problem(4, 2, 2, 4, seed=0)
    twice = np.vstack([rows, rows[:1]])
    found = invert_sums(sums_of(twice, path), path, 5, rng=0)
    assert not found.certified or furthest(found.rows, twice) < 1e-6
    # What the sums say of the pair is a square: where certainty ends, the estimate says so.
    assert furthest(found.rows, twice) < max(found.error, 1e-6)


def test_far_from_the_origin_the_rounding_of_the_sums_is_counted():
    rows, path, _ = problem(4, 2, 2, 4, seed=0)
    shift = 1e6
    moved = [type(m)(m.weights, m.means + shift, m.covariances) for m in path]
    found = invert_sums(sums_of(rows + shift, moved), moved, 4, rng=0)
    assert furthest(found.rows, rows + shift) < max(1e-6, found.error)
    assert found.error > 1e-10


def test_a_search_that_stopped_short_in_a_flat_valley_says_how_far_it_may_have_been():
    """Rows a little off along the direction that the sums fix least: the misfit hardly shows it, the error must."""
    rows, path, sums = problem(20, 2, 3, 3, seed=1)
    standard = standard_of(sums, path, 20)
    equations, target = standard.equations(path), standard.sums(sums, path).ravel()
    noise = standard.noise(rounding(sums, path, 20), path).ravel()
    true = np.linalg.solve(standard.lower, (rows - standard.centre).T).T
    _, slopes = equations.with_jacobian(np.ascontiguousarray(true.T))
    weakest = np.linalg.svd(slopes.transpose(0, 2, 1).reshape(len(slopes), -1) / noise[:, None])[2][-1].reshape(20, 2)
    weakest /= np.linalg.norm(weakest, axis=1).max()
    least = fit(equations, target, noise, true).error
    for size in (2 * least, 3 * least, 5 * least):
        assert fit(equations, target, noise, true + size * weakest).error > size
