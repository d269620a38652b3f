"""Subspace rules: what they take, what they refuse and report, and how they stand attacks."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest

from secmix.adversaries.against_rules.subspaces import consensus, geodesic, tightest, worst_basis
from secmix.adversaries.attacks.subspace import SUBSPACE_FIXED, orthogonal, reverse, speaking
from secmix.aggregators import RejectedMessages
from secmix.aggregators.subspace_rules import (
    RejectedBases,
    orthonormal,
    power_method,
    resilient_power_method,
    subspace_distance,
    subspace_median,
    subspace_median_bound,
    subspace_median_of_means,
    svd_rce,
)
from secmix.errors import DataError, SecmixError
from secmix.estimators.robustness.proven import geometric_median_constant

pytestmark = pytest.mark.delicate


def honest_bases(count=5, n=8, r=2, spread=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return np.linalg.qr(np.eye(n)[:, :r] + spread * rng.standard_normal((count, n, r)))[0]


def node_data(nodes=6, n=30, r=3, q=150, seed=0):
    """Samples as columns: r directions of variance 15, the others of variance 1; and U*."""
    rng = np.random.default_rng(seed)
    truth = np.linalg.qr(rng.standard_normal((n, r)))[0]
    noise = rng.standard_normal((nodes, n, q))
    return list(noise + (np.sqrt(15) - 1) * truth @ (truth.T @ noise)), truth


def test_result_is_one_of_the_messages():
    bases = honest_bases()
    found = subspace_median(bases)
    assert np.array_equal(found.basis, bases[found.index])
    assert found.weights.sum() == pytest.approx(1)
    assert found.index == np.argmin(found.distances)
    assert found.rejected == ()
    found.basis[:] = 0
    assert np.array_equal(bases, honest_bases())


BAD = {
    "not a number": lambda u: np.where(np.arange(u.size).reshape(u.shape) == 3, np.nan, u),
    "infinite": lambda u: np.where(np.arange(u.size).reshape(u.shape) == 3, np.inf, u),
    "rank": lambda u: np.hstack([u[:, :1], 3 * u[:, :1]]),
    "nearly of lower rank": lambda u: np.hstack([u[:, :1], u[:, :1] * (1 + 1e-15)]),
    "zero column": lambda u: u * [1, 0],
    "zero": lambda u: 0 * u,
    "more columns": lambda u: np.hstack([u, u[:, :1]]),
    "fewer rows": lambda u: u[1:],
    "a vector": lambda u: u[:, 0],
    "a number": lambda u: 1.0,
    "ragged": lambda u: [[1.0, 2.0], [3.0]],
    "complex": lambda u: u + 0j,
    "words": lambda u: u.astype(str),
    "nothing": lambda u: None,
}


@pytest.mark.parametrize("kind", BAD)
def test_messages_that_are_no_bases_are_rejected_and_reported(kind):
    bases = list(honest_bases())
    alone = subspace_median(bases[:2] + bases[3:])
    bases[2] = BAD[kind](bases[2])
    with pytest.warns(RejectedBases, match=r"1 of 5 messages rejected, and counted as Byzantine \(2: ") as caught:
        found = subspace_median(bases)
    assert caught[0].filename == __file__
    assert found.rejected == caught[0].message.indices == (2,)
    assert (found.weights[2], found.distances[2]) == (0, np.inf)
    assert np.delete(found.weights, 2) == pytest.approx(alone.weights, abs=1e-12)
    assert found.index == alone.index + (alone.index >= 2)


def test_the_report_of_rejections():
    bases = np.array(honest_bases())
    bases[:3] = np.nan
    with pytest.warns(RejectedMessages, match="more than the f = 2 allowed for, so no guarantee") as caught:
        subspace_median(bases)
    again = pickle.loads(pickle.dumps(caught[0].message))
    assert str(again) == str(caught[0].message)
    assert again.reasons == ("NaN or infinity",) * 3
    with pytest.warns(RejectedBases, match="f = 0 allowed"):
        subspace_median(np.r_[honest_bases(), np.full((1, 8, 2), np.nan)], f=0)


@pytest.mark.parametrize("factor", [2.0, 1e-3, 1e200, 1e-200, -1.0])
def test_bases_that_are_not_orthonormal_are_repaired(factor):
    bases = honest_bases()
    reference = subspace_median(bases)
    skewed = bases @ (np.array([[1.0, 0.9], [0.0, 0.5]]) * factor)
    found = subspace_median(skewed)
    assert found.index == reference.index
    assert found.weights == pytest.approx(reference.weights, abs=1e-12)
    assert found.basis.T @ found.basis == pytest.approx(np.eye(2), abs=1e-14)
    assert subspace_distance(found.basis, reference.basis) < 1e-13
    mixed = subspace_median((bases * 1e3).astype(np.float32))
    assert subspace_distance(mixed.basis, reference.basis) < 1e-6


def test_columns_of_very_different_sizes_still_count():
    bases = honest_bases()
    found = subspace_median(bases * [1e150, 1e-150])
    assert found.weights == pytest.approx(subspace_median(bases).weights, abs=1e-12)


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        (np.eye(3), "shape \\(L, n, r\\)"),
        ([], "no bases"),
        (3.0, "list of \\(n, r\\)"),
        (np.ones((2, 1, 3)), "1 <= r <= n"),
        (np.full((3, 4, 2), np.nan), "none of the 3 bases can be used; the first: NaN"),
        ([np.eye(3)[:, :1], np.eye(4)[:, :1]], "none of them in the majority"),
    ],
)
def test_what_cannot_be_bases_is_refused(bases, message):
    with pytest.raises(DataError, match=message):
        subspace_median(bases)


def test_arguments_are_checked():
    bases = honest_bases()
    with pytest.raises(SecmixError, match="f can be at most 2"):
        subspace_median(bases, f=3)
    with pytest.raises(SecmixError, match="'fro' or 2"):
        subspace_distance(bases[0], bases[1], ord="nuc")
    with pytest.raises(DataError, match="V cannot be used: rank 1 instead of 2"):
        subspace_distance(bases[0], np.ones((8, 2)))
    with pytest.raises(DataError, match="8 dimensions, V in 5"):
        subspace_distance(bases[0], np.eye(5))
    with pytest.raises(SecmixError, match="published bound"):
        subspace_median_bound(0.41, "published")
    with pytest.raises(SecmixError, match="tau in"):
        subspace_median_bound(0.5)
    data, _ = node_data()
    for rule in (power_method, resilient_power_method, svd_rce):
        with pytest.raises(SecmixError, match="at most that"):
            rule(data, 31)
        with pytest.raises(DataError, match="of one n"):
            rule([data[0], data[1][1:]], 2)
    with pytest.raises(DataError, match="data of node 1"):
        power_method([data[0], data[1] * np.nan], 2)
    with pytest.raises(DataError, match="rank 2 instead of 3"):
        power_method([d[:, :1] for d in data[:2]], 3)
    with pytest.raises(SecmixError, match="cannot form 7 groups"):
        subspace_median_of_means(data, 3, 7)
    with pytest.raises(SecmixError, match="exchange returned"):
        power_method(data, 3, exchange=lambda t, sent: sent[1:])


def test_orthonormal_leaves_alone_what_is_so_already():
    basis = honest_bases()[0]
    assert orthonormal(basis) is basis
    assert orthonormal(np.eye(3, dtype=int)[:, :2]) == pytest.approx(np.eye(3)[:, :2])


def test_no_n_by_n_array():
    # The size, 100 000 x 20 by 50 nodes, is in the benchmarks; here n × n alone would take 1.8 GB.
    n, r, count = 15_000, 5, 12
    rng = np.random.default_rng(0)
    skewed = rng.standard_normal((count, n, r))
    bases = np.linalg.qr(skewed)[0]
    data = [rng.standard_normal((n, 8)) for _ in range(3)]
    # In columns of n numbers, by what has to lie side by side at the most.
    for work, columns in (
        (lambda: subspace_median(bases), r),  # the basis returned, a copy
        (lambda: subspace_median(skewed), (count + 1) * r),  # all bases repaired, each in one copy; the last one
        (
            lambda: power_method(data, 2, iterations=2),
            3 * 3 * 2 + 2 * 2,
        ),  # products thrice; two bases
        (lambda: svd_rce(data, 2), 4 * 3 * 8),  # factors, weighted, side by side, and their left singular vectors
    ):
        tracemalloc.start()
        try:
            work()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak <= columns * n * 8 + 2**20


@pytest.mark.parametrize("attack", SUBSPACE_FIXED)
def test_under_attack_the_median_of_groups_stays_within_its_bound(attack):
    # Six groups of one node, two of them Byzantine: √(2(1 − τ)/(1 − 2τ)) = 2 times what the worst honest one is off.
    data, truth = node_data()
    delta = max(subspace_distance(power_method([data[i]], 3), truth) for i in (0, 2, 3, 5))
    exchange = speaking(SUBSPACE_FIXED[attack], [1, 4], np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RejectedMessages)
        found = subspace_median_of_means(data, 3, 6, exchange=exchange)
    assert subspace_median_bound(1 / 3) == pytest.approx(2)
    assert subspace_distance(found.basis, truth) <= 2 * delta


@pytest.mark.parametrize("attack", SUBSPACE_FIXED)
def test_under_attack_a_round_of_the_resilient_power_method_stays_within_its_bound(attack):
    """The combined product is within C ε of Φ U, Φ the honest nodes' mean covariance, ε their products' spread.

    With V the top r eigenvectors of Φ, σ its eigenvalues, s and s₂ the distances of U from V in either norm,
    Vᵀ(Φ U + E) has no singular value below σ_r √(1 − s₂²) − e and the rest is at most σ_{r+1} s + e, e = C ε; their
    quotient bounds the tangent of the angles after the round.
    """
    data, truth = node_data(q=600)
    honest = [data[i] for i in (0, 2, 3, 5)]
    values, vectors = np.linalg.eigh(sum(d @ d.T for d in honest) / (4 * 600))
    top = vectors[:, -3:]
    spread = []

    def exchange(t, sent):
        good = sent[[0, 2, 3, 5]]
        spread.append(np.linalg.norm(good - good.mean(axis=0), axis=(1, 2)).max())
        return speaking(SUBSPACE_FIXED[attack], [1, 4], np.random.default_rng(t))(t, sent)

    before = resilient_power_method(data, 3, iterations=29, exchange=exchange)
    del spread[:]
    after = resilient_power_method(data, 3, iterations=30, exchange=exchange)
    e = geometric_median_constant(1 / 3) * spread[-1]
    s, largest = (subspace_distance(top, before, norm) for norm in ("fro", 2))
    bound = (values[-4] * s + e) / (values[-3] * np.sqrt(1 - largest**2) - e)
    assert subspace_distance(top, after) <= bound < 0.5  # of at most √3: the bound says something
    assert subspace_distance(after, truth) < 0.5 + subspace_distance(top, truth)


@pytest.mark.parametrize("attack", ["alternating", "ones", "orthogonal"])
def test_what_is_large_enough_takes_the_plain_power_method_where_it_wants(attack):
    data, truth = node_data()
    false, agreed = [], []

    def huge(honest, f, rng):
        false[:] = [1e9 * SUBSPACE_FIXED[attack](honest, f, rng)]
        agreed[:] = [consensus(honest)]
        return false[0]

    broken = power_method(data, 3, exchange=speaking(huge, [1, 4], np.random.default_rng(0)))
    left, sizes, _ = np.linalg.svd(false[0][0], full_matrices=False)
    span = left[:, sizes > 1e-9 * sizes[0]]
    # The result holds what was sent, all directions of it, and is at least as far off as that.
    assert np.linalg.norm(span - broken @ (broken.T @ span)) < 1e-6
    away = np.linalg.norm(span - truth @ (truth.T @ span))
    assert subspace_distance(broken, truth) >= away - 1e-6
    if attack == "orthogonal":  # to what the honest products of the last round agree on, which is not quite U*
        assert away >= np.sqrt(3 - subspace_distance(agreed[0], truth) ** 2) - 1e-12
    else:  # a direction that has nothing to do with U*, of which 3/30 lie in it
        assert away == pytest.approx(np.sqrt(0.9), abs=0.1)


def test_reversing_products_does_a_power_method_no_harm():
    # The mean is then a negative multiple of the honest mean, and spans the same.
    data, _ = node_data()
    exchange = speaking(reverse, [1, 4], np.random.default_rng(0))
    honest = power_method([data[i] for i in (0, 2, 3, 5)], 3)
    assert subspace_distance(power_method(data, 3, exchange=exchange), honest) < 1e-9


def test_groups_are_judged_as_one():
    data, truth = node_data(nodes=9)
    exchange = speaking(
        lambda honest, f, rng: np.full((f, *honest.shape[1:]), np.nan), [0, 1], np.random.default_rng(0)
    )
    with pytest.warns(RejectedBases, match="1 of 3 messages"):
        found = subspace_median_of_means(data, 3, 3, exchange=exchange)
    assert found.rejected == (0,)
    assert found.index in (1, 2)
    assert len(found.weights) == 3
    # Three nodes' samples are better than one node's.
    alone = subspace_median_of_means(data, 3, 9).basis
    together = subspace_median_of_means(data, 3, 3).basis
    assert subspace_distance(together, truth) < subspace_distance(alone, truth)


def test_runs_repeat_and_the_start_is_drawn():
    data, _ = node_data()
    for rule in (power_method, resilient_power_method):
        assert np.array_equal(rule(data, 3), rule(data, 3))
        one, other = (rule(data, 3, iterations=1, rng=np.random.default_rng(k)) for k in (1, 2))
        assert subspace_distance(one, other) > 0.1


def test_colluders_may_not_stop_the_power_methods():
    data, truth = node_data()

    def cancelling(honest, f, rng):
        return np.tile(-honest.sum(axis=0) / f, (f, 1, 1))

    def huge(honest, f, rng):
        return np.full((f, *honest.shape[1:]), 1e308)

    for attack in (cancelling, huge):
        exchange = speaking(attack, [1, 4], np.random.default_rng(0))
        broken = power_method(data, 3, exchange=exchange)
        assert broken.T @ broken == pytest.approx(np.eye(3), abs=1e-12)
        assert subspace_distance(broken, truth) > 1
        assert subspace_distance(resilient_power_method(data, 3, exchange=exchange), truth) < 1


def test_svd_rce_sets_aside_what_it_cannot_use():
    data, truth = node_data()
    reference = svd_rce(data[2:], 3)
    data[0], data[1] = data[0] * np.nan, data[1] * 1e160
    with pytest.warns(RejectedMessages, match="2 of 6 messages") as caught:
        found = svd_rce(data, 3)
    assert caught[0].message.indices == (0, 1)
    assert subspace_distance(found, reference) < 1e-10
    assert subspace_distance(found, truth) < 0.5
    with pytest.raises(DataError, match="none of the 6"):
        svd_rce([d * np.nan for d in data], 3)


def test_the_attacks_are_what_they_say():
    honest = honest_bases(n=7, r=3)
    rng = np.random.default_rng(0)
    fixed = {name: attack(honest, 2, rng) for name, attack in SUBSPACE_FIXED.items()}
    assert {m.shape for m in fixed.values()} == {(2, 7, 3)}
    assert fixed["alternating"][0, :2, :2].tolist() == [[10, -10], [-10, 10]]
    assert (fixed["ones"] == 100).all()
    assert fixed["reverse"] == pytest.approx(np.tile(-10 / 7 * honest.sum(axis=0), (2, 1, 1)))
    assert reverse(honest, 1, rng, C=6.0)[0] == pytest.approx(-honest.sum(axis=0))
    away = fixed["orthogonal"][0]
    assert np.abs(consensus(honest).T @ away).max() < 1e-14
    assert subspace_distance(away, consensus(honest)) == pytest.approx(np.sqrt(3))
    # No complement of three dimensions in five: as far as there is one.
    tight = orthogonal(honest_bases(n=5, r=3), 1, rng)[0]
    assert tight.T @ tight == pytest.approx(np.eye(3), abs=1e-14)
    assert subspace_distance(tight, consensus(honest_bases(n=5, r=3))) == pytest.approx(np.sqrt(2))


def test_geodesics_turn_by_the_angles_asked():
    start = np.eye(6)[:, :2]
    tangent = np.zeros((6, 2))
    tangent[3, 0], tangent[4, 1] = 0.3, 0.2
    end = geodesic(start, tangent)
    assert subspace_distance(start, end) == pytest.approx(np.hypot(np.sin(0.3), np.sin(0.2)))
    assert subspace_distance(start, end, ord=2) == pytest.approx(np.sin(0.3))


def test_searches_check_what_they_are_given():
    honest, rng = honest_bases(), np.random.default_rng(0)
    with pytest.raises(SecmixError, match="needs f < h"):
        worst_basis(honest, 5, rng)
    with pytest.raises(DataError, match="bases that differ"):
        worst_basis(np.tile(np.eye(4)[:, :2], (5, 1, 1)), 2, rng, truth=np.eye(4)[:, :2])
    with pytest.raises(SecmixError, match="h even"):
        tightest(6, 2, 5, 2, 0.1)
    with pytest.raises(SecmixError, match="choose delta below"):
        tightest(6, 2, 6, 2, 0.9)
