"""A rule of a user's inside a protocol, audited from end to end: what it declares, what it does not, what is broken."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest

from secmix import audit
from secmix.aggregators import TRAITS, Traits, nnm, trimmed_mean
from secmix.protocols import FederatedPCA, RobustServer

pytestmark = pytest.mark.build

SCENARIO = {
    "network": {"kind": "complete", "nodes": 5},
    "runs": 100,
    "data": {"name": "wine", "features": 2, "rows_per_node": 12},
    "model": {"components": 2, "iterations": 2},
    "protocol": {"name": "robust_server", "rule": "trimmed_mean", "f": 1},
    "adversary": {"name": "colluders", "corrupt": [4], "attack": "worst_case"},
    "measure": {"evidence": ["structure"]},
    "policy": {"min_breakdown": 0.2},
}


def audit_cell(rule=None, **policy):
    scenario = {**SCENARIO, "policy": {"min_breakdown": 0.2, **policy}}
    if isinstance(rule, str):
        scenario["protocol"] = {"name": "robust_server", "rule": rule, "f": 1}
        return audit(scenario, allow_code=True).cells[0].robustness
    return audit(scenario, protocols={"mine": RobustServer(rule=rule, f=1)}).cells[0].robustness


def sound(messages, f):
    if not 0 <= f < len(messages) / 2 or not np.isfinite(messages).all():
        raise ValueError("not for these")
    return np.sort(messages, axis=0)[f : len(messages) - f].mean(axis=0)


def average(messages, f):
    return np.mean(messages, axis=0)


def declared(rule, name="mine"):
    rule = partial(rule)
    rule.traits = Traits(name, "a theorem of ours", tolerates=lambda n, f: f)
    return rule


def test_a_rule_that_declares_nothing_is_searched_and_never_cleared():
    found = audit_cell(sound)
    assert found.breakdown == pytest.approx(0.2)
    assert found.breakdown_proven == 0.0
    assert found.verdict == "inconclusive"
    assert found.points[0].found is not None
    assert found.points[0].proven is None


def test_what_a_rule_declares_is_said_and_clears_nobody():
    found = audit_cell(declared(sound))
    assert found.breakdown_proven == 0.0
    assert found.verdict == "inconclusive"
    assert "the rule itself declares that it withstands 1 (a theorem of ours)" in found.why
    ours = audit_cell(trimmed_mean)
    assert "declares" not in ours.why
    assert ours.points[0].found == pytest.approx(found.points[0].found)
    assert ours.points[0].proven is not None


def test_what_an_attack_breaks_is_not_proven_whatever_it_declares():
    found = audit_cell(declared(average))
    assert (found.breakdown, found.breakdown_proven, found.verdict) == (0.0, 0.0, "violated")
    assert "and 1 broke it" in found.why


class Borrowing(RobustServer):
    """Says that it is the trimmed mean, and is another rule."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        return RobustServer(rule=with_a_password, f=1).average(inputs, network, rng, channel=channel)


def with_a_password(messages, f):
    """No search comes upon what carries it off."""
    kept = messages[np.isfinite(messages).all(axis=1)]
    return np.median(kept, axis=0) + 1e12 * (np.abs(kept[:, 0]) == 0.12345).any()


def test_a_theorem_is_not_borrowed_by_a_protocol():
    cell = audit(SCENARIO, protocols={"mine": Borrowing(rule=trimmed_mean, f=1)}).cells[0].robustness
    assert (cell.breakdown_proven, cell.verdict) == (0.0, "inconclusive")


def test_a_theorem_is_not_borrowed_by_a_method_of_ones_own():
    server = RobustServer(rule=trimmed_mean, f=1)
    object.__setattr__(server, "average", RobustServer(rule=with_a_password, f=1).average)
    assert audit(SCENARIO, protocols={"mine": server}).cells[0].robustness.verdict == "inconclusive"


def test_a_theorem_is_not_borrowed_by_saying_what_is_wrapped():
    def stolen(messages, f):
        return with_a_password(messages, f)

    stolen.wraps_rule, stolen.traits = trimmed_mean, TRAITS["trimmed_mean"]
    found = audit_cell(stolen, max_error_ratio=100.0)
    assert (found.points[0].proven, found.breakdown_proven, found.verdict) == (None, 0.0, "inconclusive")


def test_what_wrappers_of_ours_make_keeps_its_theorem():
    assert audit_cell(nnm(trimmed_mean)).verdict == "holds"


def test_a_theorem_is_not_borrowed_by_its_name():
    stolen = partial(sound)
    stolen.traits = TRAITS["trimmed_mean"]
    found = audit_cell(stolen, max_error_ratio=100.0)
    assert found.points[0].proven is None
    assert found.verdict == "inconclusive"


def test_a_rule_named_in_a_scenario_is_the_rule_itself(tmp_path, monkeypatch):
    (tmp_path / "rule_of_a_scenario.py").write_text(
        "import numpy as np\n\ndef middle(messages, f):\n"
        "    if not np.isfinite(messages).all():\n        raise ValueError('not finite')\n"
        "    return np.median(messages, axis=0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = audit_cell("rule_of_a_scenario:middle")
    assert (found.breakdown, found.breakdown_proven, found.verdict) == (0.4, 0.0, "inconclusive")
    sys.modules.pop("rule_of_a_scenario")


def test_colluders_who_can_stop_the_rule_count_as_pushing_without_bound():
    def touchy(messages, f):
        if np.ptp(messages, axis=0).max() > 1e7:
            raise ValueError("too far apart")
        return np.median(messages, axis=0)

    scenario = {**SCENARIO, "adversary": {"name": "colluders", "corrupt": [4], "attack": "constant", "scale": 1e7}}
    found = audit(scenario, protocols={"mine": RobustServer(rule=touchy, f=1)}).cells[0].robustness
    assert found.damages[0].aggregate is None


class Sure(FederatedPCA):
    """As ours, and certain that nobody can push it."""

    def bound(self, transcript, reference, colluders):
        return 1e-9


def test_a_bound_is_not_taken_at_the_word_of_a_collaboration():
    scenario = {
        "network": {"kind": "complete", "nodes": 5},
        "runs": 100,
        "data": {"name": "breast_cancer", "rows_per_node": 110},
        "adversary": {"name": "forgers", "corrupt": [2]},
        "measure": {"evidence": ["reconstruction"]},
        "policy": {"min_breakdown": 0.2},
    }
    found = audit(scenario, protocols={"mine": Sure(r=1, rule="subspace_median")}).cells[0].robustness
    assert (found.verdict, found.breakdown_proven, found.points[0].proven) == ("inconclusive", 0.0, None)
