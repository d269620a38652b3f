"""What the rules claim in their table, as properties; and the geometric median's optimality and its bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from secmix import aggregators
from secmix.aggregators import (
    TRAITS,
    bucketing,
    coordinate_median,
    geometric_median,
    krum,
    mda,
    meamed,
    nnm,
    traits_of,
    trimmed_mean,
)

pytestmark = pytest.mark.delicate

ENROLLED = [*(getattr(aggregators, name) for name in TRAITS), nnm(trimmed_mean), nnm(krum), bucketing(krum)]
EVERY = pytest.mark.parametrize("rule", ENROLLED, ids=lambda rule: rule.__name__)


def claiming(equivariance):
    rules = [rule for rule in ENROLLED if equivariance in traits_of(rule).equivariances]
    return pytest.mark.parametrize("rule", rules, ids=lambda rule: rule.__name__)


@st.composite
def clouds(draw, rule=None, least=1):
    """Messages and an f that the rule allows: Gaussian, with repetitions, on a grid, or with some far away."""
    n = draw(st.integers(max(least, 7), 16))
    p = draw(st.sampled_from([1, 2, 3, 6, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.normal(size=(n, p))
    kind = draw(st.sampled_from(["plain", "repeated", "far", "near"]))
    some = n // 3
    if kind == "repeated":
        x[:some] = x[-1]
    elif kind == "far":
        x[:some] *= 1e4
    elif kind == "near":
        x[:some] = x[-1] + 1e-3 * x[:some]
    largest = (n - 1) // 2 if rule is None else traits_of(rule).largest_f(n)
    return rng.permutation(x), draw(st.integers(0, largest))


@claiming("permutation")
@given(st.data())
def test_permutation(rule, data):
    x, f = data.draw(clouds(rule))
    order = data.draw(st.permutations(range(len(x))))
    assert rule(x[order], f=f) == pytest.approx(rule(x, f=f), abs=1e-9 * np.abs(x).max())


@claiming("permutation")
@given(st.data())
def test_permutation_on_a_grid_full_of_ties(rule, data):
    n, p = data.draw(st.integers(7, 12)), data.draw(st.integers(1, 2))
    entry = st.integers(-2, 2)
    x = np.array(data.draw(st.lists(st.lists(entry, min_size=p, max_size=p), min_size=n, max_size=n)), dtype=float)
    f = data.draw(st.integers(0, traits_of(rule).largest_f(n)))
    order = data.draw(st.permutations(range(n)))
    assert rule(x[order], f=f) == pytest.approx(rule(x, f=f), abs=1e-9)


@claiming("translation")
@given(st.data(), st.sampled_from([1.0, -1e3, 1e6]))
def test_translation(rule, data, size):
    x, f = data.draw(clouds(rule))
    shift = size * np.random.default_rng(0).normal(size=x.shape[1])
    assert rule(x + shift, f=f) - shift == pytest.approx(rule(x, f=f), abs=1e-8 * max(1, np.abs(x).max()))


@claiming("scale")
@given(st.data(), st.sampled_from([1e-6, 0.3, 7.0, 1e9, 2.0**700]))
def test_scale(rule, data, factor):
    x, f = data.draw(clouds(rule))
    assert rule(factor * x, f=f) / factor == pytest.approx(rule(x, f=f), abs=1e-9 * np.abs(x).max())


@claiming("orthogonal")
@given(st.data())
def test_orthogonal(rule, data):
    x, f = data.draw(clouds(rule))
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(x.shape[1],) * 2))[0]
    assert rule(x @ turn, f=f) == pytest.approx(rule(x, f=f) @ turn, abs=1e-8 * np.abs(x).max())


def test_what_is_not_claimed_does_not_hold():
    x = np.random.default_rng(0).normal(size=(15, 3))
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    for rule in (rule for rule in ENROLLED if rule.__name__ != "nnm(krum)"):  # turns only where there are ties
        claims = traits_of(rule).equivariances
        if "orthogonal" not in claims:
            assert np.abs(rule(x @ turn, f=2) - rule(x, f=2) @ turn).max() > 1e-3, rule.__name__
        if "permutation" not in claims:
            order = np.random.default_rng(2).permutation(15)
            assert np.abs(rule(x[order], f=2) - rule(x, f=2)).max() > 1e-3, rule.__name__


def far_messages(honest, count, size, rng):
    """Some ways to shoot: together, apart, along one axis, just beyond the honest, mirrored."""
    p = honest.shape[1]
    one = rng.normal(size=p)
    yield np.tile(size * one, (count, 1))
    yield size * rng.normal(size=(count, p))
    yield size * np.eye(p)[rng.integers(p, size=count)]
    yield -size * honest[rng.integers(len(honest), size=count)]
    yield size * one * np.arange(1, count + 1)[:, None]


@EVERY
@pytest.mark.parametrize("size", [1e6, 1e9, 1e12])
def test_bounded_as_far_as_claimed(rule, size):
    rng = np.random.default_rng(0)
    traits = traits_of(rule)
    for n in (9, 15, 16):
        for f in range(traits.largest_f(n) + 1):
            count = traits.tolerates(n, f)
            honest = rng.normal(size=(n - count, 3))
            spread = np.linalg.norm(honest - honest.mean(axis=0), axis=1).max()
            limit = 10 * np.sqrt(n) * spread  # above any of the proven constants at these n
            for byzantine in far_messages(honest, count, size, rng):
                found = rule(rng.permutation(np.vstack([honest, byzantine])), f=f)
                assert np.linalg.norm(found - honest.mean(axis=0)) < limit


def residual(x, z):
    """First-order optimality of z, as a share of n (Vardi and Zhang 2000)."""
    away = (x - z) / np.abs(x - z).max()
    distances = np.linalg.norm(away, axis=1)
    here = distances == 0
    pull = np.linalg.norm((away[~here] / distances[~here, None]).sum(axis=0))
    return max(pull - here.sum(), 0.0) / len(x)


def resolution(x, z):
    """What rounding z to floating point can do to the residual."""
    distances = np.linalg.norm(x - z, axis=1)
    rounding = np.sqrt(len(z)) * np.spacing(np.abs(z).max())
    return np.minimum(rounding / distances[distances > 0], 2).mean() if (distances > 0).any() else 0.0


@given(clouds(), st.sampled_from([0.0, 1.0, 1e6]))
def test_geometric_median_is_optimal(drawn, offset):
    x = drawn[0] + offset
    z = geometric_median(x)
    assert residual(x, z) <= 1e-10 + 2 * resolution(x, z)


@pytest.mark.parametrize("p", [2, 5, 400])
@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8, 1e-11])
def test_geometric_median_among_messages_that_nearly_coincide(p, gap):
    rng = np.random.default_rng(0)
    for n, near in ((9, 2), (9, 4), (20, 9), (21, 11)):
        x = rng.normal(size=(n, p))
        x[:near] = x[near:].mean(axis=0) + gap * rng.normal(size=(near, p))
        z = geometric_median(x)
        assert residual(x, z) <= 1e-10 + 2 * resolution(x, z)


@pytest.mark.parametrize("thickness", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("p", [2, 3, 300])
def test_geometric_median_of_messages_nearly_on_a_line(p, thickness):
    rng = np.random.default_rng(1)
    for n in (4, 7, 10):
        x = rng.normal(size=(n, 1)) * rng.normal(size=p) + thickness * rng.normal(size=(n, p))
        z = geometric_median(x)
        assert residual(x, z) <= 1e-10 + 2 * resolution(x, z)


def test_geometric_median_just_inside_and_outside_a_message():
    # Around the limit at which a message stops to be the minimiser; the pull of the others passes 1 there.
    for angle in np.deg2rad(120) + np.array([-1e-2, -1e-5, -1e-8, 0, 1e-8, 1e-5, 1e-2]):
        x = np.array([[0.0, 0.0], [1.0, 0.0], [np.cos(angle), np.sin(angle)]])
        assert residual(x, geometric_median(x)) <= 1e-10


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([2, 3, 20]))
@example(0, 4, 2)
def test_geometric_median_within_its_bound_however_far_one_shoots(seed, f, p):
    rng = np.random.default_rng(seed)
    n = 10
    honest = rng.normal(size=(n - f, p))
    honest -= honest.mean(axis=0)
    spread = np.linalg.norm(honest, axis=1).max()
    tau = f / n
    bound = (1 - tau) / np.sqrt(1 - 2 * tau) * spread
    worst = 0.0
    for size in (1.0, 1e2, 1e5, 1e12):
        for byzantine in far_messages(honest, f, size * spread, rng):
            worst = max(worst, np.linalg.norm(geometric_median(np.vstack([honest, byzantine]), f=f)))
    assert 0.01 * bound < worst <= bound * (1 + 1e-9)


def test_the_bound_of_the_geometric_median_is_attained():
    # Honest messages at ±h e1 ... shifted so that the pull of the colluders is just balanced.
    for f, n in ((1, 5), (2, 5), (4, 10), (9, 20)):
        tau = f / n
        h = n - f
        # Each honest message at the same distance from z, pulling back by tau/(1 − tau) along the first axis.
        back = tau / (1 - tau)
        across = np.sqrt(1 - back**2)
        turns = np.arange(h) * 2 * np.pi / h
        ring = np.stack([np.full(h, -back), across * np.cos(turns), across * np.sin(turns)], axis=1)
        z = geometric_median(np.vstack([ring, np.tile([1e9, 0.0, 0.0], (f, 1))]), f=f)
        spread = np.linalg.norm(ring - ring.mean(axis=0), axis=1).max()
        found = np.linalg.norm(z - ring.mean(axis=0)) / spread
        assert found <= (1 - tau) / np.sqrt(1 - 2 * tau) * (1 + 1e-9)
        assert found == pytest.approx(back / across, rel=1e-7)


@given(clouds())
def test_shared_truths(drawn):
    x, f = drawn
    n = len(x)
    assert trimmed_mean(x, f=0) == pytest.approx(x.mean(axis=0), abs=1e-9 * np.abs(x).max())
    assert meamed(x, f=0) == pytest.approx(x.mean(axis=0), abs=1e-9 * np.abs(x).max())
    assert trimmed_mean(x, f=(n - 1) // 2) == pytest.approx(coordinate_median(x), abs=1e-12 * np.abs(x).max())
    one = x[:, :1]
    assert geometric_median(one) == pytest.approx(coordinate_median(one))
    if f <= (n - 3) // 2:
        assert (krum(x, f=f) == x).all(axis=1).any()
    same = np.tile(x[:1], (n, 1))
    for rule in ENROLLED:
        if traits_of(rule).least(f) <= n:
            assert rule(same, f=f) == pytest.approx(x[0], rel=1e-15)


def test_the_geometric_median_far_from_the_origin_keeps_its_digits():
    x = np.random.default_rng(3).normal(size=(11, 50))
    z = geometric_median(x)
    for offset in (1e3, 1e6, 1e9):
        moved = geometric_median(np.round(x, 6) + offset) - offset
        assert moved == pytest.approx(z, abs=2e-6 + 4 * np.spacing(offset))


def test_mda_diameter_is_least_among_random_choices():
    rng = np.random.default_rng(4)
    for _ in range(20):
        x = rng.normal(size=(12, 3))
        average = mda(x, f=3)
        sets = [rng.permutation(12)[:9] for _ in range(200)]

        def diameter(members, x=x):
            return np.linalg.norm(x[members][:, None] - x[members], axis=2).max()

        means = np.array([x[s].mean(axis=0) for s in sets])
        match = np.abs(means - average).max(axis=1) < 1e-12
        least = min(map(diameter, sets))
        assert all(diameter(s) <= least for s, same in zip(sets, match, strict=True) if same)
