"""invert_sums: the Jacobian, closed forms, options, and input that makes no sense."""

from __future__ import annotations

import math

import numpy as np
import pytest
from inversion_problems import audited_problem, furthest, problem, sums_of
from numpy.testing import assert_allclose

from secmix import Mixture
from secmix.adversaries import invert_sums, rounds_needed
from secmix.adversaries.inversion.certificate import agreeing, fit
from secmix.adversaries.inversion.coordinates import moments, plane_of, standard_of
from secmix.adversaries.inversion.hops import hop, parents
from secmix.adversaries.inversion.solver import _solved, basis
from secmix.adversaries.inversion.starts import rounding
from secmix.errors import DataError, SecmixError

pytestmark = pytest.mark.delicate

PAIR = Mixture([0.4, 0.6], [[-1.0, 0.0], [1.5, 0.5]], [np.eye(2), [[1.0, 0.3], [0.3, 0.7]]])


@pytest.mark.parametrize(("d", "c", "rounds"), [(1, 2, 1), (2, 3, 2), (4, 2, 3)])
def test_the_jacobian_is_the_derivative_and_the_sums_are_those_of_the_protocol(d, c, rounds):
    rows, path, sums = problem(7, d, c, rounds, seed=1)
    standard = standard_of(sums, path, 7)
    equations = standard.equations(path)
    columns = np.linalg.solve(standard.lower, (rows - standard.centre).T)
    values, slopes = equations.with_jacobian(columns)
    assert_allclose(values.sum(axis=1), standard.sums(sums, path).ravel(), atol=1e-12)
    assert np.array_equal(values, equations.statistics(columns))
    for k in range(d):
        step = np.zeros((d, 1))
        step[k] = 1e-5
        secant = (equations.statistics(columns + step) - equations.statistics(columns - step)) / 2e-5
        assert_allclose(slopes[:, k], secant, atol=1e-7)


def test_the_sums_reveal_mean_and_covariance_in_every_round():
    rows, path, sums = problem(6, 2, 3, 2, seed=0)
    mean, covariance = moments(sums, path, 6)
    assert_allclose(mean, rows.mean(axis=0), atol=1e-12)
    assert_allclose(covariance, np.cov(rows.T, bias=True), atol=1e-12)


@pytest.mark.parametrize(
    ("h", "d", "c", "needed"),
    [(20, 2, 2, 6), (30, 4, 3, 4), (10, 2, 2, 3), (40, 2, 3, 7), (1, 3, 2, 1), (2, 5, 1, 1), (3, 2, 1, math.inf)],
)
def test_rounds_needed(h, d, c, needed):
    assert rounds_needed(h, d, c) == needed


@pytest.mark.parametrize("h", [1, 2, 3, 6])
@pytest.mark.parametrize("c", [2, 3])
def test_few_rows_come_back_exactly(h, c):
    rows = np.random.default_rng(h).normal(size=(h, 2)) * [1.0, 3.0] + [0.0, 5.0]
    path = [
        Mixture(
            np.full(c, 1 / c), rows.mean(axis=0) + np.arange(2 * c).reshape(c, 2) * s, np.array([4 * np.eye(2)] * c)
        )
        for s in (0.3, -0.5)
    ]
    found = invert_sums(sums_of(rows, path), path, h, rng=0)
    assert found.certified
    assert found.status == "determined"
    assert found.agreeing >= 2
    assert found.rank == 2 * h
    assert np.abs(found.rows - rows[np.argsort(rows[:, 0])]).max() < 1e-8
    assert found.rows.shape == (h, 2)


def test_two_rows_follow_from_the_moments_of_a_single_component():
    rows = np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]])
    one = [Mixture([1.0], [[0.0, 0.0, 0.0]], [np.eye(3)])]
    found = invert_sums(sums_of(rows, one), one, 2, rng=0)
    assert_allclose(found.rows, rows, atol=1e-7)
    three = np.vstack([rows, [1.0, 1.0, 1.0]])
    assert invert_sums(sums_of(three, one), one, 3, rng=0).status == "underdetermined"


def test_ten_rows_from_two_rounds_more_than_needed():
    rows, path, sums = problem(10, 2, 3, rounds_needed(10, 2, 3) + 2, seed=0)
    found = invert_sums(sums, path, 10, rng=0)
    assert found.certified
    assert furthest(found.rows, rows) < 1e-6


def test_one_seed_one_result():
    _, path, sums = problem(5, 2, 2, 3, seed=0)
    first, again = (invert_sums(sums, path, 5, rng=3) for _ in range(2))
    assert np.array_equal(first.rows, again.rows)
    assert first.residual == again.residual


def test_too_few_rounds_are_underdetermined_and_claim_nothing():
    _, path, sums = problem(20, 2, 2, 3, seed=0)
    found = invert_sums(sums, path, 20, rng=0)
    assert (found.status, found.certified, found.rounds_needed) == ("underdetermined", False, 6)
    assert found.rows.shape == (20, 2)
    assert np.isnan(found.rows).all()
    assert "at least 6" in found.notes[0]


def test_rounds_at_the_same_parameters_count_once():
    rows, path, _ = problem(8, 2, 2, 1, seed=0)
    found = invert_sums(sums_of(rows, path * 5), path * 5, 8, rng=0)
    assert found.status == "underdetermined"
    assert "1 with different parameters" in found.notes[0]


def test_a_component_of_weight_zero_is_no_component():
    rows = np.random.default_rng(0).normal(size=(4, 2))
    empty = Mixture([0.4, 0.6, 0.0], [*PAIR.means, [9.0, 9.0]], [*PAIR.covariances, np.eye(2)])
    found = invert_sums(sums_of(rows, [empty]), [empty], 4, rng=0)
    assert found.certified
    assert furthest(found.rows, rows) < 1e-8
    one = Mixture([1.0, 0.0], PAIR.means, PAIR.covariances)
    assert invert_sums(sums_of(rows, [one]), [one], 4, rng=0).status == "underdetermined"


def test_a_component_far_from_all_rows_does_no_harm():
    rows = np.random.default_rng(0).normal(size=(4, 2))
    far = Mixture([0.3, 0.4, 0.3], [*PAIR.means, [500.0, 0.0]], [*PAIR.covariances, np.eye(2)])
    found = invert_sums(sums_of(rows, [far]), [far], 4, rng=0)
    assert found.certified
    assert furthest(found.rows, rows) < 1e-8


SUMS = sums_of(np.array([[0.0, 0.0], [1.0, 0.5]]), [PAIR])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sums": np.full((1, 2, 6), np.nan)}, "sums holds 12 value"),
        ({"sums": SUMS[0]}, "sums must have 3 axes"),
        ({"sums": SUMS[:, :, :5]}, r"shape \(1, 2, 5\); with 2 components in 2 dimensions"),
        ({"sums": np.concatenate([SUMS, SUMS])}, "sums of 2 rounds but parameters of 1"),
        ({"n_rows": 0}, "n_rows must be at least 1"),
        ({"n_rows": 2.0}, "n_rows must be an integer"),
        ({"n_rows": 3}, "the sums count 2 rows in a round, but n_rows is 3"),
        ({"parameters": PAIR}, "a sequence of mixtures"),
        ({"parameters": ["θ"]}, r"parameters\[0\] must be one Mixture"),
        ({"parameters": [PAIR.expand(1)]}, r"parameters\[0\] must be one Mixture, without batch axes"),
        ({"parameters": [Mixture(PAIR.weights, PAIR.means, -PAIR.covariances)]}, "not positive definite"),
        ({"noise": -1.0}, "cannot be negative"),
        ({"noise": [1.0, 2.0]}, r"broadcasts to \(1, 2, 6\)"),
        ({"starts": 1}, "starts must be at least 2"),
    ],
)
def test_input_that_makes_no_sense_is_refused(change, message):
    given = {"sums": SUMS, "parameters": [PAIR], "n_rows": 2} | change
    with pytest.raises(SecmixError, match=message):
        invert_sums(given.pop("sums"), given.pop("parameters"), given.pop("n_rows"), rng=0, **given)


def test_a_parameter_that_is_not_finite_is_refused():
    with pytest.raises(DataError, match=r"parameters\[0\] holds values that are not finite"):
        invert_sums(SUMS, [Mixture([np.nan, 1.0], PAIR.means, PAIR.covariances)], 2, rng=0)


def test_hops_start_from_the_best_of_each_start_that_has_not_arrived_and_prove_nothing_among_themselves():
    rows, path, sums = problem(4, 2, 2, 3, seed=0)
    standard = standard_of(sums, path, 4)
    equations, target = standard.equations(path), standard.sums(sums, path).ravel()
    noise = standard.noise(rounding(sums, path, 4), path).ravel()
    true = np.linalg.solve(standard.lower, (rows - standard.centre).T).T
    judged = [
        fit(equations, target, noise, true + shift, start)
        for shift, start in [(0.0, 0), (0.0, 0), (1e-9, 0), (0.3, 1), (0.1, 1), (0.2, 2)]
    ]
    assert judged[0].consistent
    assert agreeing(judged[0], judged) == 1  # three times the same start
    assert agreeing(judged[0], [*judged, fit(equations, target, noise, true, 7)]) == 2
    assert [each.start for each in parents(judged)] == [1, 2]
    assert parents(judged)[0] is judged[4]
    shaken, starts = hop(equations, basis(equations, true.T), target, parents(judged), 16, np.random.default_rng(0))
    assert shaken.shape == (16, 4, 2)
    assert set(starts) == {1, 2}


def test_a_start_without_a_step_does_not_stop_the_others():
    """A singular system among the batch once ended the whole search with an error."""
    draw = np.random.default_rng(0)
    matrices, right = draw.standard_normal((3, 4, 4)), draw.standard_normal((3, 4))
    matrices[1] = 0.0
    found = _solved(matrices, right)
    assert np.isnan(found[1]).all()
    for k in (0, 2):
        np.testing.assert_allclose(matrices[k] @ found[k], right[k], atol=1e-12)


@pytest.mark.build
def test_a_trap_that_most_starts_fall_into_is_no_proof_that_sums_were_altered():
    """Eight starts at one place that does not fit once ended the search; hops leave it."""
    rows, path, sums = audited_problem(20, 2, 8)
    found = invert_sums(sums, path, 20, rng=8)
    assert found.status == "determined"
    assert furthest(found.rows, rows) < 1e-6


@pytest.mark.parametrize(("h", "d"), [(2, 2), (2, 5), (3, 4), (5, 5), (5, 9)])
def test_few_rows_lie_in_a_plane_in_which_the_sums_are_those_of_fewer_columns(h, d):
    rows, path, sums = problem(h, d, 2, 3, seed=4)
    plane = plane_of(sums, path, h)
    assert plane is not None
    inside = plane.standardised(rows)
    assert inside.shape == (h, h - 1)
    assert_allclose(plane.rows(inside), rows, atol=1e-9)
    assert_allclose(inside.mean(axis=0), 0, atol=1e-9)
    assert_allclose(np.cov(inside.T, bias=True), np.eye(h - 1), atol=1e-7)
    values = plane.equations(path).statistics(inside.T).sum(axis=1)
    assert_allclose(values, plane.sums(sums, path).ravel(), atol=1e-8)
    wide = standard_of(sums, path, h)
    of_each = [
        each.statistics(z.T)[:: each.size // 3]
        for each, z in [(plane.equations(path), inside), (wide.equations(path), wide.standardised(rows))]
    ]
    assert_allclose(*of_each, atol=1e-8)  # of each row: the responsibilities are the same


def test_rows_in_general_position_or_along_a_line_have_no_such_plane():
    rows, path, sums = problem(4, 3, 2, 3, seed=0)
    assert plane_of(sums, path, 4) is None
    along = rows[0] + np.outer([0.0, 1.0, 2.5], rows[1] - rows[0])
    assert plane_of(sums_of(along, path), path, 3) is None  # of two directions one is known


@pytest.mark.build
@pytest.mark.parametrize(("h", "d"), [(3, 12), (4, 30)])
def test_few_rows_of_many_columns_come_back(h, d):
    rows, path, sums = problem(h, d, 2, 3, seed=1)
    found = invert_sums(sums, path, h, rng=0)
    assert found.certified
    assert found.rank == h * d  # judged by all sums, in all columns
    assert found.error < 1e-6
    assert furthest(found.rows, rows) < 1e-6


def test_sums_of_many_columns_are_all_held_against_rows_of_a_plane():
    _, path, sums = problem(3, 12, 2, 3, seed=1)
    sums[1, 0, -1] += 1e-6  # of the last column alone
    found = invert_sums(sums, path, 3, rng=0, starts=64)
    assert not found.certified
