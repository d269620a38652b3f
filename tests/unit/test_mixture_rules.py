"""Rules for mixtures on small cases worked out by hand, and what they do with input that makes no sense."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from secmix import Mixture
from secmix.adversaries.attacks.mixture_failures import (
    FAILURES,
    component_failure,
    touched_components,
)
from secmix.aggregators.mixture_rules import (
    RejectedMixtures,
    aligned,
    ared,
    ared_factor,
    coat,
    component_wise,
    cred,
    dfmr,
    gmr,
    ise_matrix,
    oracle,
    stacked,
    trim,
    wasserstein,
)
from secmix.errors import DataError, SecmixError
from secmix.protocols.mixture.local_mixture import fit_mixtures

pytestmark = pytest.mark.delicate

RULES = [cred, ared, dfmr, gmr, trim, component_wise]


def line(*centres):
    """Machines that each send one Gaussian of variance 1."""
    m = len(centres)
    return Mixture(np.ones((m, 1)), np.reshape(np.array(centres, dtype=float), (m, 1, 1)), np.ones((m, 1, 1, 1)))


def machines(m=20, seed=0, noise=0.05, k=3, d=2):
    rng = np.random.default_rng(seed)
    wobble = np.eye(d) + noise * rng.normal(size=(m, k, d, d))
    means = 4 * rng.normal(size=(k, d)) + noise * rng.normal(size=(m, k, d))
    return Mixture(rng.dirichlet(np.full(k, 200.0), m), means, wobble @ wobble.swapaxes(-1, -2))


def replaced(mixtures, j, **fields):
    arrays = {name: np.array(getattr(mixtures, name)) for name in ("weights", "means", "covariances")}
    for name, value in fields.items():
        arrays[name][j] = value
    return Mixture(**arrays)


def test_coat_is_the_row_with_the_least_median_zero_included():
    given = machines(11)
    squared = ise_matrix(given)
    medians = [np.quantile(row, 0.5) for row in squared]
    found = coat(given)
    assert medians[found.index] == pytest.approx(min(medians))
    assert found.median == pytest.approx(min(medians))
    assert found.radius == pytest.approx(np.sqrt(np.sort(squared[found.index])[5]))
    assert_allclose(found.mixture.means, given.means[found.index])
    # An even number: the midpoint of the two in the middle.
    even = machines(10)
    assert coat(even).median == pytest.approx(min(np.quantile(row, 0.5) for row in ise_matrix(even)))


def test_the_rules_keep_whom_their_definitions_say():
    given = machines(20, noise=0.1)
    squared = ise_matrix(given)
    centre = int(np.argmin(np.quantile(squared, 0.5, axis=1)))
    row, root = squared[centre], np.sqrt(squared[centre])
    c = np.sort(row)[10]
    assert_array_equal(cred(given).kept, np.sort(np.argsort(row)[:10]))
    assert_array_equal(ared(given).kept, np.flatnonzero(row <= np.log(10) * np.log(np.log(20)) * c / 2))
    assert_array_equal(dfmr(given).kept, np.flatnonzero(root <= 20**0.1 * np.sqrt(c)))
    assert_array_equal(dfmr(given, p=0).kept, np.flatnonzero(row <= c))
    assert len(dfmr(given, p=0).kept) == 11
    assert_array_equal(gmr(given).kept, np.arange(20))
    kept = dfmr(given, 0.05)
    assert_array_equal(np.flatnonzero(kept.margins > 1), kept.rejected)
    assert math.sqrt(ared_factor(20)) == pytest.approx(1.12, abs=0.005)


def test_reduction_to_one_component_is_the_matched_moments():
    found = gmr(line(0.0, 1.0, 5.0))
    assert_allclose(found.mixture.means, [[2.0]])
    assert_allclose(found.mixture.covariances, [[[1 + 14 / 3]]])
    assert found.objective == pytest.approx(0.5 * math.log(1 + 14 / 3))
    weighted = gmr(line(0.0, 1.0), shares=[3, 1])
    assert_allclose(weighted.mixture.means, [[0.25]])


def test_start_is_where_the_reduction_starts():
    pair = Mixture([0.5, 0.5], [[0.0], [9.0]], [[[1.0]], [[1.0]]])
    found = gmr(line(0.0, 0.1, 9.0), start=pair)
    assert_allclose(found.mixture.weights, [2 / 3, 1 / 3])
    assert_allclose(found.mixture.means, [[0.05], [9.0]])
    for rule in (cred, ared, dfmr, trim):
        assert rule(machines(), start=machines(seed=0)[3]).mixture.n_components == 3
    with pytest.raises(DataError, match="features"):
        gmr(line(0.0, 1.0), start=machines()[0])


def test_trimming_leaves_out_half_of_the_weight_the_last_in_part():
    found = trim(line(0.0, 0.1, 50.0), start=line(0.0)[0])
    assert_allclose(found.shares.ravel(), [1.0, 0.5, 0.0])
    assert_array_equal(found.kept, [0, 1])
    assert_allclose(found.mixture.means, [[0.1 / 3]])


def test_a_centre_that_loses_its_members_is_moved_and_that_is_said():
    start = Mixture([0.5, 0.5], [[0.0], [1e4]], [[[1.0]], [[1.0]]])
    found = gmr(line(0.0, 0.1, 30.0), start=start)
    assert_allclose(np.sort(found.mixture.means.ravel()), [0.05, 30.0])
    assert any("moved" in note for note in found.notes)
    assert (np.diff(found.history) <= 1e-12).all()


def test_component_permuted_copies_break_nothing():
    """Two colluders who send one estimate in two orders make an unclipped distance slightly negative."""
    rng = np.random.default_rng(3)
    for seed in range(12):
        given = machines(9, seed=seed, k=5, d=4)
        copy = given[0]
        for j in range(7, 9):
            order = rng.permutation(5)
            given = replaced(
                given, j, weights=copy.weights[order], means=copy.means[order], covariances=copy.covariances[order]
            )
        squared = ise_matrix(given)
        assert np.isfinite(np.sqrt(squared)).all()
        assert squared[7, 8] <= 1e-15 * squared.max() + 1e-14
        found = coat(given)
        assert np.isfinite(found.radius)
        # Nobody is nearer to COAT than half of the others by being two.
        assert found.median == pytest.approx(np.quantile(squared, 0.5, axis=1).min())
        for rule in RULES:
            assert np.isfinite(rule(given).mixture.means).all()


def test_identical_machines_are_all_kept_whatever_their_order_of_components():
    one = machines(1, k=4, d=3)[0]
    rng = np.random.default_rng(0)
    copies = []
    for _ in range(20):
        order = rng.permutation(4)
        copies.append(Mixture(one.weights[order], one.means[order], one.covariances[order]))
    for rule in (ared, dfmr, gmr, component_wise):
        found = rule(copies)
        assert len(found.kept) == 20
        assert wasserstein(found.mixture, one) < 1e-6
    assert len(cred(copies).kept) == 10
    assert wasserstein(cred(copies).mixture, one) < 1e-6


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"means": np.nan}, "NaN"),
        ({"covariances": np.inf}, "NaN"),
        ({"weights": [1.5, -0.5, 0.0]}, "weight"),
        ({"weights": [0.2, 0.2, 0.2]}, "weight"),
        ({"covariances": np.zeros((2, 2))}, "singular"),
        ({"covariances": np.array([[1.0, 2.0], [2.0, 1.0]])}, "positive definite"),
        ({"covariances": np.array([[1.0, 1.0], [1.0, 1.0]])}, "singular"),
        ({"covariances": np.array([[1.0, 0.5], [0.0, 1.0]])}, "symmetric"),
        ({"covariances": 1e-120 * np.eye(2)}, "variances"),
        ({"means": 1e200}, "1e"),
    ],
)
def test_machines_that_send_no_mixture_are_rejected_and_counted(fields, word):
    given = machines()
    bad = replaced(given, 4, **fields)
    with pytest.raises(DataError, match=word):
        ise_matrix(bad)
    for rule in RULES:
        with pytest.warns(RejectedMixtures, match="machine 4") as caught:
            found = rule(bad)
        assert list(caught[0].message.reasons) == [4]
        assert 4 in found.rejected
        assert any("machine 4" in note for note in found.notes)
        assert np.isfinite(found.mixture.means).all()
    assert found.coat.distances[4] == np.inf


def test_half_of_the_machines_without_a_mixture_is_an_error():
    given = machines(4)
    for j in (0, 1):
        given = replaced(given, j, means=np.nan)
    with pytest.raises(DataError, match="majority"):
        coat(given)


def test_nearly_singular_covariances_are_handled():
    thin = np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]])
    given = machines(9)
    given = Mixture(given.weights, given.means, given.covariances)
    given.covariances[:, 0] = thin
    for rule in (cred, dfmr, gmr):
        assert np.isfinite(rule(given).mixture.covariances).all()
    units = np.diag([1e-8, 1e8])  # only the units differ: as good as the identity
    scaled = Mixture(given.weights, given.means @ np.sqrt(units), np.sqrt(units) @ given.covariances @ np.sqrt(units))
    assert_array_equal(cred(scaled).kept, cred(given).kept)


def test_different_numbers_of_components_and_weights_of_zero():
    given = machines()
    blank = replaced(given, 2, weights=[0.6, 0.4, 0.0])
    junk = replaced(blank, 2, means=np.array([blank.means[2, 0], blank.means[2, 1], [np.nan, 1e300]]))
    assert_allclose(ise_matrix(junk), ise_matrix(blank))
    two = Mixture(blank.weights[2, :2], blank.means[2, :2], blank.covariances[2, :2])
    mixed = [two if j == 2 else given[j] for j in range(20)]
    assert_allclose(ise_matrix(mixed), ise_matrix(blank), atol=1e-15)
    for rule in RULES:
        assert_allclose(rule(mixed).mixture.means, rule(blank).mixture.means, atol=1e-12)
    with pytest.raises(DataError, match="features"):
        stacked([two, line(0.0)[0]])
    with pytest.raises(DataError, match="empty"):
        stacked([])
    with pytest.raises(DataError, match="one leading axis"):
        ise_matrix(two)


def test_ared_refuses_few_machines_and_says_when_its_radius_is_small():
    with pytest.raises(SecmixError, match="more than two machines"):
        ared(line(0.0, 1.0))
    assert any("fewer than half" in note for note in ared(machines(10)).notes)
    assert not ared(machines(20)).notes
    assert cred(line(0.0, 1.0)).kept.tolist() == [0]
    assert cred(line(3.0)).kept.tolist() == [0]


def test_arguments_out_of_range_are_refused():
    given = machines()
    for p in (-0.1, 0.2, math.nan):
        with pytest.raises(SecmixError, match="p "):
            dfmr(given, p)
    with pytest.raises(SecmixError, match="alpha"):
        trim(given, 1.0)
    with pytest.raises(DataError, match="shares"):
        gmr(given, shares=[1.0])
    with pytest.raises(DataError, match="squared distances"):
        gmr(given, squared=np.zeros((3, 3)))
    for honest in ([], [True], [99]):
        with pytest.raises(DataError, match="honest"):
            oracle(given, honest)


def test_transport_distance_by_hand():
    a = Mixture([0.25, 0.75], [[0.0], [10.0]], [[[1.0]], [[1.0]]])
    b = Mixture([0.5, 0.5], [[10.0], [0.0]], [[[1.0]], [[9.0]]])
    # 1/4 moves from 10 to 0 and its deviation by 2; the 1/4 at 0 changes its deviation by 2.
    assert wasserstein(a, b) == pytest.approx(0.25 * 12 + 0.25 * 2)
    assert wasserstein(a, a) == pytest.approx(0, abs=1e-12)
    assert wasserstein(a, b) == pytest.approx(wasserstein(b, a))
    assert_array_equal(aligned(a, to=b), [1, 0])


def test_components_that_are_equal_but_for_rounding_are_aligned_by_place():
    b = Mixture([0.5, 0.5], [[0.0], [1.0]], np.ones((2, 1, 1)))
    for last_bits in (-1e-15, 1e-15):
        a = Mixture([0.5, 0.5], [[0.3], [0.3 + last_bits]], np.ones((2, 1, 1)))
        assert_array_equal(aligned(a, to=b), [0, 1])
    with pytest.raises(DataError, match="features"):
        wasserstein(a, machines()[0])


def test_failures_touch_only_whom_they_name():
    given, rng = machines(), np.random.default_rng(0)
    for failure in FAILURES.values():
        sent = failure(given, [1, 5], rng)
        changed = [
            j for j in range(20) if any((getattr(sent, n)[j] != getattr(given, n)[j]).any() for n in vars(given))
        ]
        assert changed == [1, 5]
        assert ise_matrix(sent).shape == (20, 20)
    one_sided = FAILURES["weight"](given, [1], rng, concentration=1e-6).weights[1]
    assert one_sided.max() == pytest.approx(1)
    touched = touched_components(20, 3, 0.4, rng)
    assert touched.sum(axis=0).tolist() == [8, 8, 8]
    for kind in ("mean", "covariance"):
        sent = component_failure(given, touched, rng, kind)
        same = (sent.means == given.means).all(-1) & (sent.covariances == given.covariances).all((-1, -2))
        assert_array_equal(~same, touched.astype(bool))
    with pytest.raises(DataError, match="from 0 to 19"):
        FAILURES["mean"](given, [20], rng)


def test_local_fits_of_machines_do_not_depend_on_their_company():
    rng = np.random.default_rng(0)
    truth = machines(1, seed=4)[0]
    parts = [truth.sample(size, rng) for size in (200, 300, 200)]
    together = fit_mixtures(parts, truth)
    for j, part in enumerate(parts):
        alone = fit_mixtures([part], truth)
        assert_allclose(together.mixture.means[j], alone.mixture.means[0], rtol=1e-9)
        assert together.iterations[j] == alone.iterations[0]
    assert together.converged.all()
    assert not fit_mixtures(parts, truth, max_iterations=1).converged.all()


def test_local_fits_refuse_what_they_cannot_fit():
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="machine 1 do not span"):
        fit_mixtures([rng.normal(size=(9, 2)), np.ones((9, 2))], 2, rng=rng)
    with pytest.raises(DataError, match="give rng"):
        fit_mixtures([rng.normal(size=(9, 2))], 2)
    with pytest.raises(DataError, match="not finite"):
        fit_mixtures([np.full((9, 2), np.nan)], 2, rng=rng)
    with pytest.raises(DataError, match="start is one"):
        fit_mixtures([rng.normal(size=(9, 2))], machines(3))
