"""The worst-case search: never below its starts, up to the known optima, above the peer."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secmix import aggregators
from secmix.adversaries import FIXED, WorstCase
from secmix.adversaries.against_rules.worst_of_a_rule import RuleRefuses
from secmix.errors import SecmixError
from secmix.testing import honest_clouds

pytestmark = pytest.mark.delicate

RULES = [name for name in aggregators.TRAITS if name != "mda"] + ["nnm(krum)"]


def rule_named(name):
    return aggregators.nnm(aggregators.krum) if name == "nnm(krum)" else getattr(aggregators, name)


def rng(seed=0):
    return np.random.default_rng(seed)


def harm(rule, honest, sent):
    try:
        with warnings.catch_warnings():  # the worst may be messages that the rule rejects, and says so
            warnings.simplefilter("ignore", aggregators.RejectedMessages)
            result = rule(np.concatenate([honest, sent]), f=len(sent))
    except ValueError:
        return 0.0
    return float(np.linalg.norm(result - honest.mean(axis=0)))


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=4)
@given(data=st.data())
def test_never_below_a_fixed_attack(name, data):
    rule = rule_named(name)
    honest = data.draw(honest_clouds(data.draw(st.integers(6, 8)), high=12))
    found = WorstCase(rule, f=1, budget=data.draw(st.sampled_from([100, 250]))).search(honest, rng())
    slack = 1e-9 * (1 + np.abs(honest).max())
    for attack, error in found.starts.items():
        assert error <= found.error + slack
        if attack != "large_gaussian":  # which is drawn anew
            assert harm(rule, honest, FIXED[attack](honest, 1, rng())) <= found.error + slack
    assert found.error == pytest.approx(harm(rule, honest, found.messages), rel=1e-6, abs=slack)


@pytest.mark.build
@pytest.mark.parametrize("name", RULES)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), sizes=st.sampled_from([(5, 4), (6, 3), (7, 3), (5, 3)]))
def test_what_is_found_does_not_hang_on_last_bits(name, seed, sizes):
    # A rule that picks one message errs as much whichever way the colluders went: which way is not for rounding to say.
    h, f = sizes
    bare, draw = rule_named(name), rng(seed)
    columns = draw.standard_normal((h, 3))
    honest = np.hstack([columns, 1.0 - columns])
    moved = honest + 2e-15 * np.abs(honest).max() * draw.standard_normal(honest.shape)
    search = WorstCase(lambda messages, f: bare(messages, f=f), f=f, rule_f=2, budget=600)
    try:
        first, second = (search.search(each, rng(1)) for each in (honest, moved))
    except RuleRefuses:
        return
    assert first.error == pytest.approx(second.error, rel=1e-9)


def test_the_mean_is_unbounded():
    found = WorstCase(aggregators.mean, f=2).search(rng().standard_normal((8, 3)), rng())
    assert found.unbounded
    assert found.error == pytest.approx(0.2 * 1e8 * found.spread, rel=0.5)


def test_few_who_hide_among_many_are_found():
    def beyond_its_limit(messages, f):
        return aggregators.trimmed_mean(messages, f=f - 1)

    assert WorstCase(beyond_its_limit, f=3).search(rng().standard_normal((8, 3)), rng()).unbounded


@pytest.mark.parametrize(("h", "f"), [(5, 2), (6, 3), (7, 2), (6, 4), (9, 1)])
@pytest.mark.parametrize("name", ["coordinate_median", "geometric_median"])
def test_the_median_in_one_dimension_reaches_the_honest_order_statistic(name, h, f):
    """With all colluders on one side the median is an honest order statistic, or the midpoint of two."""
    honest = rng(h).standard_normal((h, 1)) ** 3
    x, n = np.sort(honest[:, 0]), h + f
    up = (x[(n - 1) // 2] + x[n // 2]) / 2
    down = (x[(n - 1) // 2 - f] + x[n // 2 - f]) / 2
    optimum = max(abs(up - x.mean()), abs(down - x.mean()))
    found = WorstCase(rule_named(name), f, budget=600).search(honest, rng())
    assert found.error == pytest.approx(optimum, rel=1e-6)


def test_the_trimmed_mean_and_the_median_reach_the_optimum_of_every_coordinate():
    honest = rng(3).standard_normal((9, 5))
    for rule in (aggregators.trimmed_mean, aggregators.coordinate_median):
        ends = [rule(np.concatenate([honest, np.full((4, 5), side)]), f=4) for side in (1e6, -1e6)]
        optimum = np.linalg.norm(np.max([np.abs(end - honest.mean(0)) for end in ends], axis=0))
        assert WorstCase(rule, 4, budget=400).search(honest, rng()).error == pytest.approx(optimum, rel=1e-12)


def test_krum_in_one_dimension_against_every_point_of_a_grid():
    honest = rng(1).standard_normal((7, 1))
    grid = np.linspace(-6, 6, 97)
    brute = max(harm(aggregators.krum, honest, np.array([[a], [b]])) for a, b in product(grid, grid))
    assert WorstCase(aggregators.krum, 2, budget=1000).search(honest, rng()).error >= brute * 0.995


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_what_is_not_finite_is_tried(poison):
    def trusting(messages, f):
        return np.median(messages, axis=0) + 0 * messages.sum(axis=0)

    found = WorstCase(trusting, f=1).search(rng().standard_normal((6, 2)), rng())
    assert found.unbounded
    assert found.error == np.inf
    assert not np.isfinite(found.messages).all()


def test_deterministic_within_budget_and_history_rises():
    honest = rng(2).standard_normal((8, 4))
    attack = WorstCase(aggregators.multi_krum, f=2, budget=700)
    first, again = attack.search(honest, rng(7)), attack.search(honest, rng(7))
    assert np.array_equal(first.messages, again.messages)
    assert first.history == again.history
    assert first.evaluations <= 700
    errors = [error for _, error in first.history]
    assert errors == sorted(errors)
    assert errors[-1] == first.error
    assert np.array_equal(attack.attack(honest, rng(7)), first.messages)


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_any_scale_of_messages(size):
    honest = rng(4).standard_normal((8, 3)) * size
    found = WorstCase(aggregators.coordinate_median, f=3, budget=400).search(honest, rng())
    assert not found.unbounded
    assert 0.5 < found.error / found.spread < 1.5


def test_bad_input_is_refused():
    for wrong in ({"f": 0}, {"f": 1.5}, {"f": 2, "budget": 10}, {"f": 1, "rule_f": -1}):
        with pytest.raises(SecmixError):
            WorstCase(aggregators.krum, **wrong)
    with pytest.raises(SecmixError, match="not finite"):
        WorstCase(aggregators.mean, 1).search([[np.nan], [1.0]], rng())
    with pytest.raises(RuleRefuses, match="more honest messages"):
        WorstCase(aggregators.krum, 3).search(rng().standard_normal((5, 2)), rng())


def opt_alie(rule, honest, f):
    """The peer: ALIE's z by 20 evaluations of a growing, then shrinking step (Opt-ALIE, from its definition)."""
    mean, deviation = honest.mean(axis=0), honest.std(axis=0, ddof=1)

    def at(z):
        return harm(rule, honest, np.tile(mean + z * deviation, (f, 1)))

    best_z, best, z, step, left, growing = 0.0, at(0.0), 0.0, 10.0, 19, True
    while left:
        if growing or z < best_z:
            z = z + step if not growing else best_z + step
        else:
            before, z = z, z - step
            while z < 0:
                z = (z + before) / 2
        error, left = at(z), left - 1
        better = error > best
        if better:
            best_z, best = z, error
        growing = growing and better
        step *= 2 if growing else 0.8
    return best


@pytest.mark.build
@pytest.mark.parametrize(
    ("name", "least"),
    [(name, 1.2 if name in ("krum", "multi_krum") else 1.0) for name in [*RULES, "mda"] if name != "mean"],
)
def test_at_least_the_peer(name, least):
    f = 4 if name == "bulyan" else 6
    honest = rng(11).standard_normal((20 - f, 30))
    found = WorstCase(rule_named(name), f).search(honest, rng())
    assert found.error >= least * opt_alie(rule_named(name), honest, f)
    assert not found.unbounded
