"""Rules by name: ours, an entry point's, module and function, or the function itself, wherever a rule is asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from secmix import Network, aggregators
from secmix.adversaries import WorstCase
from secmix.aggregators import TRAITS, Traits, is_ours, nnm, rule_named, traits_of
from secmix.errors import SecmixError
from secmix.estimators.robustness import proven
from secmix.estimators.robustness.bias_curves import bias_curve, breakdown_point
from secmix.protocols import DistributedMixture, GraphFedEM, RobustServer
from secmix.testing import check_aggregator

SOURCE = """
import numpy as np
from secmix.aggregators import Traits

def middle(messages, f):
    if not 0 <= f < len(messages) / 2 or not np.isfinite(messages).all():
        raise ValueError("not for these")
    return np.median(messages, axis=0)

middle.traits = Traits("middle", "a book", tolerates=lambda n, f: min(f, (n - 1) // 2))

def plain(messages, f):
    return np.mean(messages, axis=0)

wrong_traits = lambda messages, f: np.median(messages, axis=0)
wrong_traits.traits = {"breakdown": 0.5}

class Rule:
    def __call__(self, messages, f):
        return middle(messages, f)

an_object = Rule()
number = 5
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A module of a user's, installed with an entry point."""
    (tmp_path / "rules_of_a_user.py").write_text(SOURCE)
    info = tmp_path / "rules_of_a_user-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rules-of-a-user\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[secmix.aggregators]\nmiddle_of_a_user = rules_of_a_user:middle\n")
    monkeypatch.syspath_prepend(tmp_path)
    import rules_of_a_user

    yield rules_of_a_user
    sys.modules.pop("rules_of_a_user", None)


def names(own):
    return ["rules_of_a_user:middle", "middle_of_a_user", own.middle, own.an_object, "rules_of_a_user:an_object"]


INPUTS = np.random.default_rng(0).normal(size=(2, 5, 3))


def test_every_built_in_rule_is_an_entry_point_and_is_itself():
    for name in TRAITS:
        assert rule_named(name) is getattr(aggregators, name)
        assert rule_named(f"secmix.aggregators:{name}") is getattr(aggregators, name)


def test_a_server_takes_a_rule_by_any_name(own):
    for rule in names(own):
        averages, _ = RobustServer(rule=rule).average(INPUTS, Network.complete(5), np.random.default_rng(0))
        np.testing.assert_array_equal(averages[:, 0], np.median(INPUTS, axis=1))


@pytest.mark.build
def test_searches_curves_and_checks_take_a_rule_by_any_name(own):
    cloud = np.random.default_rng(1).normal(size=(4, 2))
    for rule in names(own)[:4]:
        found = WorstCase(rule, f=1, budget=200).search(cloud, np.random.default_rng(0))
        assert not found.unbounded
        [point] = bias_curve(rule, cloud, fs=[1], rng=np.random.default_rng(0), budget=150)
        assert point.ratio is None  # no theorem is about it
        assert breakdown_point(rule, n=6, p=2, rng=np.random.default_rng(0)).value == 0.5
        assert check_aggregator(rule, f=1, examples=2, budget=120, seed=0).calls


def test_graphfed_and_mixtures_take_a_users_rule(own):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(20, 2)) for _ in range(4)]
    ours = GraphFedEM(1, n_rounds=1, rule="coordinate_median", f=1).fit(parts, network=Network.complete(4), rng=0)
    theirs = GraphFedEM(1, n_rounds=1, rule="rules_of_a_user:middle", f=1).fit(
        parts, network=Network.complete(4), rng=0
    )
    np.testing.assert_allclose(ours.mixtures_.means, theirs.mixtures_.means)
    named = DistributedMixture(2, rule="secmix.aggregators.mixture_rules:dfmr")
    assert named.aggregate is aggregators.mixture_rules.dfmr


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("trimed_mean", "trimmed_mean"),
        ("rules_of_a_user:none", "cannot be loaded"),
        ("rules_of_a_user:number", "a rule is a function"),
        ("rules_of_a_user:Rule", "give an object of it"),
        ("rules_of_a_user:wrong_traits", r"secmix\.aggregators\.Traits"),
        (None, "a rule is a function"),
    ],
)
def test_what_is_no_rule_is_refused_with_an_error_that_teaches(own, rule, says):
    for use in (lambda: RobustServer(rule=rule), lambda: WorstCase(rule, f=1)):
        with pytest.raises(SecmixError, match=says):
            use()


def test_traits_are_those_declared_and_a_name_alone_proves_nothing(own):
    assert traits_of(own.middle).tolerates(9, 2) == 2
    assert traits_of(own.plain) is None

    def trimmed_mean(messages, f):
        return np.mean(messages, axis=0)

    assert traits_of(trimmed_mean) is None
    trimmed_mean.__module__ = "secmix.aggregators.vector_rules.coordinatewise"
    assert traits_of(trimmed_mean) is None  # nor its module
    trimmed_mean.traits = Traits("trimmed_mean", "itself", tolerates=lambda n, f: f)
    assert not is_ours(trimmed_mean)
    assert proven.bounds(trimmed_mean, n=9, f=2) == ()
    assert proven.bounds(nnm(trimmed_mean), n=9, f=2) == ()
    assert proven.bounds(aggregators.trimmed_mean, n=9, f=2) == proven.bounds("trimmed_mean", n=9, f=2) != ()
    assert proven.bounds(nnm(aggregators.trimmed_mean), n=9, f=2)


def test_undeclared_traits_claim_nothing():
    bare = Traits("mine", "nobody")
    assert (bare.least(2), bare.breakdown(9, 2), bare.tolerates(9, 2)) == (5, 0.0, 0)


def test_a_rule_that_fails_or_returns_another_shape_is_named():
    def fails(messages, f):
        raise IndexError("list index out of range")

    def matrix(messages, f):
        return np.asarray(messages)

    for rule, says in ((fails, "the rule fails fails on messages"), (matrix, r"returned shape \(5, 3\)")):
        with pytest.raises(SecmixError, match=says):
            RobustServer(rule=rule).average(INPUTS, Network.complete(5), np.random.default_rng(0))
