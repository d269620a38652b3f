"""Colluders inside protocol runs, and the robust server that may see them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import secmix
from secmix import Network
from secmix.adversaries import FIXED, Attack, Colluders, CuriousServer, HonestButCurious
from secmix.adversaries.tampering import Attacked
from secmix.errors import DataError, SecmixError
from secmix.estimators import leaked_subspace
from secmix.protocols import PDMM, DistributedEM, Plain, RobustServer, SecureSum
from secmix.reporting.summary import summary

pytestmark = pytest.mark.delicate

NETWORK = Network.complete(7)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("rule", ["trimmed_mean", "geometric_median", "krum", "coordinate_median", "mda"])
def test_a_robust_server_gives_every_node_what_the_rule_gives(rule):
    from secmix import aggregators

    inputs = rng().normal(size=(4, 7, 3))
    averages, transcript = RobustServer(rule=rule, f=2).average(inputs, NETWORK, rng())
    for run in range(4):
        expected = getattr(aggregators, rule)(inputs[run], f=2)
        np.testing.assert_allclose(averages[run], np.repeat(expected[None], 7, axis=0), rtol=1e-12)
    assert len(CuriousServer().observe(transcript, NETWORK)) == 8  # seven contributions and the result


def test_a_robust_server_sees_everything():
    assert leaked_subspace(RobustServer(rule="mean", f=0), NETWORK, CuriousServer()).rank == 7


def test_an_unknown_rule_is_named_with_its_neighbour():
    with pytest.raises(SecmixError, match="did you mean 'trimmed_mean'"):
        RobustServer(rule="trimed_mean")
    with pytest.raises(SecmixError, match="f must be"):
        RobustServer(f=-1)


def test_too_few_nodes_for_the_rule():
    with pytest.raises(SecmixError, match="n >= 7"):
        RobustServer(rule="krum", f=2).average(np.zeros((1, 5, 2)), Network.complete(5), rng())


@pytest.mark.parametrize("bad", [{"attack": "sign_flp"}, {"scale": 0}, {"corrupt": []}, {"corrupt": 3}])
def test_colluders_that_make_no_sense(bad):
    with pytest.raises(SecmixError):
        Colluders(**{"corrupt": [1], **bad})


def test_messages_that_no_installed_attack_forges_are_named():
    with pytest.raises(SecmixError, match=r"no installed attack .* sends \['model', 'statistics'\]; .*Attack\(kinds"):
        Colluders([1]).against(["statistics", "model"])


def test_colluders_see_what_honest_but_curious_nodes_see():
    _, transcript = PDMM().average(np.ones((1, 7, 2)), NETWORK, rng())
    seen = Colluders(corrupt=[2, 3]).observe(transcript, NETWORK)
    assert seen.sources == HonestButCurious(corrupt=[2, 3]).observe(transcript, NETWORK).sources


@pytest.mark.parametrize("name", sorted(FIXED))
@pytest.mark.parametrize("protocol", [Plain(), SecureSum(sigma=10.0), PDMM(sigma=10.0)], ids=lambda p: type(p).__name__)
def test_what_colluders_contribute_is_what_gets_summed(protocol, name):
    inputs = rng().normal(size=(1, 7, 3))
    averages, _ = Attacked(protocol, FIXED[name], [1, 4], rng()).average(inputs, NETWORK, rng())
    honest = inputs[0, [0, 2, 3, 5, 6]]
    sent = FIXED[name](honest, 2, rng())
    expected = (honest.sum(axis=0) + sent.sum(axis=0)) / 7
    np.testing.assert_allclose(averages[0, 0], expected, rtol=1e-7, atol=1e-7 * (1 + np.abs(sent).max()))


def test_one_colluder_breaks_a_sum_and_not_a_trimmed_mean():
    data = rng().normal(size=(7, 40, 2)) + 3 * (rng().random((7, 40, 1)) < 0.5)
    parts = [part[None] for part in data]
    start = secmix.Mixture(np.array([0.5, 0.5]), np.array([[0.0, 0.0], [3.0, 3.0]]), np.array([np.eye(2)] * 2))
    attacked = {"attack": FIXED["constant"], "corrupt": [6], "rng": rng(), "scale": 1e4}

    def means(sums):
        em = DistributedEM(2, sums=sums, init=start, max_iter=5, tol=None, record=False)
        return em.run(parts, network=NETWORK, rng=rng()).mixtures[-1].means[0, 0]

    honest = means(Plain())
    pushed = means(Attacked(Plain(), **attacked))
    held = means(Attacked(RobustServer(f=1), **attacked))
    assert np.abs(pushed - honest).max() > 1  # parameters are ratios of sums, so that a constant is not without bound
    assert np.abs(held - honest).max() < 0.5


SCENARIO = {
    "network": {"kind": "complete", "nodes": 7},
    "data": {"name": "wine", "features": 2, "rows_per_node": 10},
    "model": {"iterations": 2},
    "runs": 100,
    "measure": {"evidence": ["structure"]},
    "adversary": {"name": "colluders", "corrupt": [5, 6], "attack": "reverse"},
}


def robustness(protocol, **policy):
    report = secmix.audit({**SCENARIO, "protocol": protocol, "policy": policy})
    found = report.cells[0].robustness
    assert found is not None
    return report, found


@pytest.mark.build
def test_sums_break_at_one_colluder():
    for protocol in ({"name": "plain"}, {"name": "secure_sum"}, {"name": "pdmm", "sigma": 100.0}):
        report, found = robustness(protocol, min_breakdown=0.1)
        assert found.breakdown == found.breakdown_proven == 0
        assert all(point.found is None for point in found.points)
        assert report.verdict == "violated"


def test_a_trimmed_mean_breaks_above_its_f_and_holds_up_to_it_by_proof():
    protocol = {"name": "robust_server", "rule": "trimmed_mean", "f": 2, "encrypted": True}
    report, found = robustness(protocol, min_breakdown=2 / 7)
    assert found.breakdown == found.breakdown_proven == pytest.approx(2 / 7)
    assert [point.found is None for point in found.points] == [False, False, True]
    assert all(p.found <= p.proven for p in found.points if p.proven is not None)
    assert found.verdict == report.verdict == "holds"
    assert report.cells[0].assumptions[0].startswith("The theorems of the rule")
    assert "whatever up to 2 of the 7 participants send, an average is off by at most" in summary(report)[0]


@pytest.mark.build
def test_what_is_neither_broken_nor_proven_is_inconclusive():
    protocol = {"name": "robust_server", "rule": "geometric_median", "f": 1, "encrypted": True}
    report, found = robustness(protocol, min_breakdown=2 / 7)
    assert found.breakdown == pytest.approx(3 / 7)
    assert found.breakdown_proven == pytest.approx(1 / 7)
    assert report.verdict == "inconclusive"


def test_an_error_above_the_limit_is_a_violation_and_one_below_needs_a_theorem():
    protocol = {"name": "robust_server", "rule": "trimmed_mean", "f": 2, "encrypted": True}
    assert robustness(protocol, max_error_ratio=1e-3)[0].verdict == "violated"
    assert robustness(protocol, max_error_ratio=10.0)[0].verdict == "holds"
    no_theorem = {"name": "robust_server", "rule": "multi_krum", "f": 2, "encrypted": True}
    assert robustness(no_theorem, max_error_ratio=10.0)[0].verdict == "inconclusive"


@pytest.mark.build
def test_a_passive_adversary_has_no_robustness():
    report = secmix.audit({**SCENARIO, "adversary": {"name": "honest_but_curious", "corrupt": [5]}})
    assert report.cells[0].robustness is None


def test_more_colluders_than_half_break_everything():
    adversary = {"name": "colluders", "corrupt": [2, 3, 4, 5], "attack": "sign_flip"}
    protocol = {"name": "robust_server", "rule": "trimmed_mean", "f": 2, "encrypted": True}
    policy = {"max_error_ratio": 100.0}
    report = secmix.audit({**SCENARIO, "adversary": adversary, "protocol": protocol, "policy": policy})
    assert report.verdict == "violated"


@pytest.mark.build
def test_a_baseline_does_not_hide_a_result_that_breaks_now():
    policy = {"min_breakdown": 2 / 7}
    good = secmix.audit({**SCENARIO, "policy": policy, "protocol": {"name": "robust_server", "f": 2, "label": "x"}})
    bad = {**SCENARIO, "policy": policy, "protocol": {"name": "plain", "label": "x"}}
    assert secmix.audit(bad, baseline=good).verdict == "violated"
    assert secmix.audit(bad, baseline=secmix.audit(bad)).verdict == "no worse"


UNEQUAL = {"name": "breast_cancer", "features": 3, "rows_per_node": [200, 3, 3, 3, 3, 3, 3]}


def test_the_colluders_are_those_of_the_cell_and_the_bound_is_of_whatever_the_honest_send():
    """Six of seven nodes with three rows each lie about equally far; beside the seventh they look like one."""
    protocol = {"name": "robust_server", "rule": "trimmed_mean", "f": 1, "encrypted": True}
    adversary = {"name": "colluders", "corrupt": [0], "attack": "sign_flip"}
    for limit, verdict in ((0.25, "violated"), (0.4, "inconclusive"), (0.45, "holds")):
        scenario = {**SCENARIO, "data": UNEQUAL, "adversary": adversary, "protocol": protocol}
        report = secmix.audit({**scenario, "policy": {"max_error_ratio": limit}})
        assert report.cells[0].robustness.verdict == verdict
        assert report.cells[0].robustness.points[0].proven == pytest.approx(np.sqrt(1 / 5))


def trusts_node_0(messages, f):
    """What the first of them sends."""
    return np.array(messages[0], dtype=np.float64)


@pytest.mark.build
def test_a_rule_that_trusts_one_node_is_broken_by_that_node_alone():
    for node, verdict in ((0, "violated"), (6, "inconclusive")):
        report = secmix.audit(
            {**SCENARIO, "adversary": {"name": "colluders", "corrupt": [node], "attack": "sign_flip"}, "policy": {
                "max_error_ratio": 50.0}},
            protocols={"mine": RobustServer(trusts_node_0, f=1)},
        )  # fmt: skip
        assert report.cells[0].robustness.verdict == verdict


def test_a_rule_that_sets_aside_what_is_no_number_is_not_stopped_by_it() -> None:
    """Whoever deviates does not check its own input; the rule sees the message, and is told apart from a failure."""
    from secmix import aggregators

    nothing = Attack(["contribution"], lambda messages: np.full_like(messages.own, np.nan))
    inputs = rng().normal(size=(2, 7, 3))
    attacked = Attacked(RobustServer(rule="trimmed_mean", f=2), nothing, [5, 6], rng())
    averages, _ = attacked.average(inputs, NETWORK, rng())
    expected = [aggregators.trimmed_mean(run[:5], f=0) for run in inputs]
    np.testing.assert_allclose(averages[:, 0], expected, rtol=1e-12)
    assert np.isnan(Attacked(Plain(), nothing, [5, 6], rng()).average(inputs, NETWORK, rng())[0]).all()
    with pytest.raises(DataError, match="at index"):  # of honest nodes they are checked as ever
        attacked.average(np.where(np.arange(7)[:, None] == 1, np.nan, inputs), NETWORK, rng())


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda messages: np.zeros(3), r"the attack 'odd' made messages of shape \(3,\); expected \(2, 20\), \(f, m\)"),
        (lambda messages: "all", r"the attack 'odd' returned a str; expected an array of numbers \(2, 20\), \(f, m\)"),
    ],
)
def test_a_fault_of_an_attack_is_no_damage(forge: Any, said: str) -> None:
    odd = Attack(["contribution"], forge, name="odd")
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 7},
            "runs": 100,
            "data": {"name": "wine", "features": 3, "rows_per_node": 12},
            "model": {"iterations": 2},
            "policy": {"min_breakdown": 0.2},
        },
        protocols={"trimmed": RobustServer(rule="trimmed_mean", f=2, encrypted=True)},
        adversaries={"odd": Colluders([5, 6], attack=odd, eavesdrops=False)},
    )
    (cell,) = report.cells
    assert cell.verdict == "inconclusive"
    assert cell.robustness is None
    assert re.search(said, " ".join(cell.notes))


def middle(messages: Any, f: int) -> Any:
    """Clip the mean to the median, and take numbers that are none for what they are."""
    median = np.median(messages, axis=0)
    return median + np.clip(messages - median, -1.0, 1.0).mean(axis=0)


@pytest.mark.build
def test_who_pushes_a_rule_by_no_numbers_is_said_and_what_mends_it() -> None:
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 5},
            "runs": 100,
            "data": {"name": "wine", "features": 2, "rows_per_node": 12},
            "model": {"iterations": 1},
            "policy": {"min_breakdown": 0.2},
        },
        protocols={"middle": RobustServer(rule=f"{__name__}:middle", f=1, encrypted=True)},
        adversaries={"one": Colluders([4], attack="sign_flip", eavesdrops=False)},
    )
    (cell,) = report.cells
    assert cell.robustness is not None
    assert "1 of 5 nodes can push the result without bound (messages of nan)" in cell.robustness.why
    (advice,) = (each for each in cell.advice if "push" in each or "rule" in each)
    assert advice.startswith("Have the rule set aside messages that are not finite")
