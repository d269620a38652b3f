"""The Subspace Median's bounds, against drawn bases and against colluders who search; and its invariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.adversaries.against_rules.subspaces import geodesic, tightest, worst_basis
from secmix.adversaries.attacks.subspace import SUBSPACE_FIXED
from secmix.aggregators.subspace_rules import subspace_distance, subspace_median, subspace_median_bound
from secmix.estimators.robustness.proven import geometric_median_constant
from secmix.testing import subspaces

pytestmark = [
    pytest.mark.delicate,
    pytest.mark.filterwarnings("ignore::secmix.aggregators.RejectedMessages"),
]
COUNTS = [(3, 2), (6, 4), (4, 1), (7, 2), (8, 0), (10, 9)]


def about(truth, count, delta, rng, spread=None):
    """Honest bases within δ of U*, at angles of any sizes; with a small ``spread`` of sizes nearly all at δ."""
    n, r = truth.shape
    tangents = rng.standard_normal((count, n, r))
    tangents -= truth @ (truth.T @ tangents)
    lengths = np.linalg.norm(tangents, axis=(1, 2))
    reach = rng.random(count) ** (rng.choice([0.05, 1.0]) if spread is None else spread)
    return np.stack(
        [geodesic(truth, t * (delta * s / size)) for t, s, size in zip(tangents, reach, lengths, strict=True)]
    )


def assert_within_bounds(truth, honest, sent):
    """Every bound that is proven; the share of colluders is that of all messages."""
    tau = len(sent) / (len(honest) + len(sent))
    delta = max(subspace_distance(truth, u) for u in honest)
    bases = np.concatenate([honest, sent])
    found = subspace_median(bases)
    error = subspace_distance(truth, found.basis)
    room = 1e-12
    assert error <= subspace_median_bound(tau) * delta + room
    assert error <= subspace_median_bound(tau, "triangle") * delta + room
    if tau <= 0.4:
        assert error <= subspace_median_bound(tau, "published") * delta + room
    if found.rejected:
        return error, delta
    # 6 ε, and C ε, of the geometric median itself, with projections written out.
    median = np.einsum("l,lik->ik", found.weights, np.stack([u @ u.T for u in np.linalg.qr(bases)[0]]))
    away = np.linalg.norm(median - truth @ truth.T)
    epsilon = np.sqrt(2) * delta
    assert away <= geometric_median_constant(tau) * epsilon + room
    if tau <= 0.4:
        assert away <= 6 * epsilon + room
    return error, delta


@given(st.data())
def test_no_drawn_bases_exceed_any_bound(data):
    truth = data.draw(subspaces(data.draw(st.integers(3, 6)), 2))
    h, f = data.draw(st.sampled_from(COUNTS))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    honest = about(truth, h, data.draw(st.sampled_from([1e-7, 1e-3, 0.1, 0.7])), rng)
    # Together or apart; anywhere, or at a few times the honest spread.
    sent = data.draw(st.lists(subspaces(len(truth), 2), min_size=f, max_size=f))
    if f and data.draw(st.booleans()):
        sent = about(truth, f, data.draw(st.floats(1.0, 4.0)) * max(subspace_distance(truth, u) for u in honest), rng)
    if f and data.draw(st.booleans()):
        sent = [sent[0]] * f
    assert_within_bounds(truth, honest, np.array(sent).reshape(f, *truth.shape))


@pytest.mark.parametrize("attack", SUBSPACE_FIXED)
@pytest.mark.parametrize(("h", "f"), [(3, 2), (6, 4), (8, 1)])
def test_no_fixed_attack_exceeds_any_bound(attack, h, f):
    rng = np.random.default_rng(h)
    truth = np.linalg.qr(rng.standard_normal((12, 3)))[0]
    honest = about(truth, h, 0.1, rng)
    assert_within_bounds(truth, honest, SUBSPACE_FIXED[attack](honest, f, rng))


@pytest.mark.build
@pytest.mark.parametrize(("h", "f"), [(3, 2), (6, 4), (7, 3), (9, 1)])
@pytest.mark.parametrize("delta", [1e-3, 0.2])
def test_no_search_exceeds_any_bound(h, f, delta):
    rng = np.random.default_rng(f)
    truth = np.linalg.qr(rng.standard_normal((9, 2)))[0]
    honest = about(truth, h, delta, rng, spread=0.05)
    found = worst_basis(honest, f, rng, truth=truth, budget=350)
    error, spread = assert_within_bounds(truth, honest, found.messages)
    assert error == pytest.approx(found.error)
    assert spread == pytest.approx(found.spread)
    # Each honest basis is within δ, so that 1 is what none of them can exceed: above it the colluders' own was taken.
    assert found.constant > 1


@pytest.mark.parametrize(("h", "f"), [(4, 1), (6, 4), (8, 2), (10, 9)])
@pytest.mark.parametrize(("n", "r"), [(3, 1), (7, 3)])
def test_the_sharp_bound_is_attained(h, f, n, r):
    shares = []
    for delta in (1e-2, 1e-3, 1e-4):
        truth, honest, sent = tightest(n, r, h, f, delta)
        error, spread = assert_within_bounds(truth, honest, sent)
        assert spread == pytest.approx(delta)
        shares.append(error / spread / subspace_median_bound(f / (h + f)))
    assert shares == sorted(shares)
    assert 0.999 < shares[-1] <= 1


def test_the_search_finds_the_worst_case_that_is_known():
    truth, honest, _ = tightest(6, 2, 6, 4, 1e-3)
    found = worst_basis(honest, 4, np.random.default_rng(0), truth=truth)
    assert 0.98 * subspace_median_bound(0.4) < found.constant <= subspace_median_bound(0.4)


def test_the_bounds_are_in_order_and_half_is_too_many():
    for tau in (0.0, 0.1, 0.25, 0.4):
        sharp, triangle, published = (subspace_median_bound(tau, w) for w in ("sharp", "triangle", "published"))
        assert sharp < triangle < published
    # With as many colluders as honest nodes there is no bound: they may be anywhere and are returned.
    truth, honest, _ = tightest(6, 2, 6, 4, 1e-3)
    far = np.tile(np.eye(6)[:, 4:], (6, 1, 1))
    assert subspace_distance(truth, subspace_median(np.concatenate([far, honest])).basis) > 1


@given(st.data())
def test_turning_the_space_and_other_bases_change_nothing(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, r, h = (*data.draw(st.sampled_from([(4, 2), (7, 3), (3, 1)])), data.draw(st.integers(2, 7)))
    honest = about(np.linalg.qr(rng.standard_normal((n, r)))[0], h, data.draw(st.sampled_from([1e-4, 0.1, 1.0])), rng)
    reference = subspace_median(honest)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    other = rng.standard_normal((h, r, r)) + 3 * np.eye(r)
    for changed, back in ((turn @ honest, turn.T), (honest @ other, np.eye(n)), (turn @ honest @ other, turn.T)):
        found = subspace_median(changed)
        assert found.distances == pytest.approx(reference.distances, abs=1e-9)
        assert found.weights == pytest.approx(reference.weights, abs=1e-6)
        close = np.sort(reference.distances)
        if close[1] - close[0] > 1e-8:
            assert found.index == reference.index
            assert subspace_distance(back @ found.basis, reference.basis) < 1e-10


@given(st.data())
def test_the_order_of_the_nodes_changes_nothing(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    honest = about(np.eye(6)[:, :2], data.draw(st.integers(3, 8)), 0.3, rng)
    order = data.draw(st.permutations(range(len(honest))))
    one, other = subspace_median(honest), subspace_median(honest[order])
    assert other.distances == pytest.approx(one.distances[order], abs=1e-9)
    assert order[other.index] == one.index


@pytest.mark.parametrize(("h", "f"), [(6, 4), (8, 3), (8, 1), (10, 9)])
def test_the_search_leaves_the_honest_tangents(h, f):
    """Honest pairs ±t: off all of them f at one place go to √((1 + s)/(1 − s)) = 1/√(1 − 2τ), s = f/h, and are taken.

    With g the median's height, h g/√(1 + g²) = f balances the pulls, and the colluders are as near to it as the honest
    where x − g = √(1 + g²).
    """
    rng = np.random.default_rng(h)
    truth, tangents = np.eye(9)[:, :2], rng.standard_normal((h // 2, 9, 2))
    tangents[:, :2] = tangents[:, -1] = 0
    tangents *= 1e-3 / np.linalg.norm(tangents, axis=(1, 2), keepdims=True)
    honest = np.stack([geodesic(truth, sign * t) for t in tangents for sign in (1, -1)])
    found = worst_basis(honest, f, rng, truth=truth, budget=350)
    assert found.constant > 0.99 / np.sqrt(1 - 2 * f / (h + f))
