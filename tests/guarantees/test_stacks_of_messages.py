"""Several sets of messages at once: bit for bit what each gives by itself, in rules, in a server and in searches."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from secmix import aggregators
from secmix.adversaries import WorstCase
from secmix.adversaries.attacks.worst_case import rule_of
from secmix.aggregators import RejectedMessages, krum, traits_of, trimmed_mean
from secmix.aggregators.numerics import geometry
from secmix.aggregators.numerics.median_of_points import median_of_points, medians_of_points
from secmix.aggregators.stacks import apply_to_each, takes_stacks
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import RobustServer

pytestmark = pytest.mark.delicate

NAMES = ["mean", "coordinate_median", "trimmed_mean", "meamed", "geometric_median", "krum", "multi_krum", "bulyan"]
RULES = [getattr(aggregators, name) for name in NAMES]
EVERY = pytest.mark.parametrize("rule", RULES, ids=NAMES)
KINDS = ("plain", "ties", "repeated", "far", "very far", "near", "line", "huge", "largest", "tiny", "not finite")


def drawn(kind, n, p, rng):
    """One set of messages of that kind."""
    x, some = rng.normal(size=(n, p)), n // 3
    if kind == "ties":
        x = rng.integers(-2, 3, size=(n, p)).astype(float)
    elif kind == "repeated":
        x[:some] = x[-1]
    elif kind in ("far", "very far"):
        x[:some] = x[0] * (1e4 if kind == "far" else 1e12)
    elif kind == "near":
        x[:some] = x[-1] + 1e-9 * x[:some]
    elif kind == "line":
        x = rng.integers(-3, 4, size=(n, 1)) * x[0]
    elif kind in ("huge", "largest"):
        x[:some] = np.clip(x[:some], -1, 1) * (1e200 if kind == "huge" else 1.7e308)
    elif kind == "tiny":
        x *= 1e-200
    elif kind == "not finite":
        x[0, 0], x[1] = np.nan, np.inf
    return rng.permutation(x)


def outcome(call):
    """What comes of it, or that it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RejectedMessages)
        try:
            return call().tobytes()
        except SecmixError:
            return "refused"


@EVERY
@given(
    n=st.integers(7, 16),
    p=st.sampled_from([1, 2, 3, 6, 12, 40]),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=20),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_a_stack_gives_bit_for_bit_what_its_parts_give(rule, n, p, kinds, seed, data):
    rng = np.random.default_rng(seed)
    f = data.draw(st.integers(0, traits_of(rule).largest_f(n)))
    stack = np.stack([drawn(kind, n, p, rng) for kind in kinds])
    alone = [outcome(lambda x=x: rule(x, f=f)) for x in stack]
    together = outcome(lambda: apply_to_each(rule, stack, f))
    assert together == ("refused" if "refused" in alone else b"".join(alone))


@EVERY
def test_long_messages_go_in_parts(rule):
    stack = np.random.default_rng(0).normal(size=(5, 11, 4000))
    assert np.array_equal(apply_to_each(rule, stack, 2), np.stack([rule(x, f=2) for x in stack]))


def test_a_strangers_rule_is_called_set_by_set_whatever_it_is_called():
    stack, shapes = np.random.default_rng(0).normal(size=(4, 7, 3)), []

    @functools.wraps(krum)
    def mine(messages, f):
        shapes.append(messages.shape)
        return messages[0]

    assert np.array_equal(apply_to_each(mine, stack, 1), stack[:, 0])
    assert shapes == [(7, 3)] * 4
    assert [takes_stacks(rule) for rule in (mine, krum, functools.partial(krum, f=1))] == [False, True, False]
    with pytest.raises(SecmixError, match="n >= 9"):
        apply_to_each(krum, stack, 3)


@pytest.mark.parametrize("rule", NAMES)
def test_a_server_makes_of_many_runs_what_it_makes_of_each(rule):
    inputs = np.random.default_rng(1).normal(size=(12, 9, 5))
    server, network, rng = RobustServer(rule, f=0 if rule == "mean" else 1), Network.complete(9), np.random.default_rng
    together, _ = server.average(inputs, network, rng(0))
    alone = [server.average(inputs[run : run + 1], network, rng(0))[0] for run in range(12)]
    assert np.array_equal(together, np.concatenate(alone))


def test_a_server_with_its_own_way_to_aggregate_keeps_it():
    class First(RobustServer):
        def aggregate(self, messages, f=None):
            return messages[0]

    inputs = np.random.default_rng(1).normal(size=(3, 5, 2))
    averages, _ = First("krum").average(inputs, Network.complete(5), np.random.default_rng(0))
    assert np.array_equal(averages[:, 4], inputs[:, 0])
    rule, f = rule_of(First("krum"))
    assert np.array_equal(rule.of_each(inputs, f), inputs[:, 0])


class OneByOne:
    """A protocol of somebody else's that combines by the same rule, and knows nothing of stacks."""

    def __init__(self, server):
        self.aggregate, self.f = server.aggregate, server.f


@pytest.mark.build
@pytest.mark.parametrize("budget", [100, 150, 333, 700])
@pytest.mark.parametrize("rule", [*NAMES[1:], "mda"])
def test_a_search_finds_the_same_side_by_side_and_one_after_the_other(rule, budget):
    honest = np.random.default_rng(2).normal(size=(9, 4)) + 3
    server = RobustServer(rule, f=2)
    both = [
        WorstCase(rule_of(protocol)[0], f=2, rule_f=2, budget=budget).search(honest, np.random.default_rng(5))
        for protocol in (server, OneByOne(server))
    ]
    assert np.array_equal(both[0].messages, both[1].messages)
    for member in ("error", "unbounded", "found_by", "starts", "history", "evaluations", "refused"):
        assert getattr(both[0], member) == getattr(both[1], member), member


@given(st.sampled_from(KINDS[:-1]), st.integers(2, 12), st.sampled_from([1, 2, 5]), st.integers(0, 2**32 - 1))
@example("tiny", 5, 2, 0)
@example("largest", 9, 5, 0)
def test_distances_are_the_same_from_differences_and_from_the_gram_matrix(kind, n, p, seed):
    x = drawn(kind, n, p, np.random.default_rng(seed))
    direct = geometry.distances(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometry, "_FEW", 0)
        gram = geometry.distances(x)
    assert np.array_equal(direct, direct.T)
    assert np.array_equal(direct == 0, (x[:, None] == x).all(axis=2))
    assert direct == pytest.approx(gram, rel=1e-6, abs=1e-14 * direct.max())
    order = np.random.default_rng(seed).permutation(n)
    assert np.array_equal(geometry.distances(x[order]), direct[np.ix_(order, order)])


@given(st.integers(3, 9), st.integers(1, 4), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_medians_of_points_go_side_by_side(n, r, s, seed):
    rng = np.random.default_rng(seed)
    points = np.where(rng.random((s, 1, 1)) < 0.3, rng.integers(-1, 2, size=(s, n, r)), rng.normal(size=(s, n, r)))
    together = medians_of_points(points)
    for k in range(s):
        one = median_of_points(points[k])
        assert together.at[k] == (-1 if one.at is None else one.at)
        assert np.array_equal(together.distances[k], one.distances)
        assert together.residual[k] == one.residual


def test_f_of_a_stack_is_checked_as_of_one_set():
    for f in (-1, 1.0, 4):
        with pytest.raises(SecmixError):
            apply_to_each(trimmed_mean, np.zeros((3, 7, 2)), f)
