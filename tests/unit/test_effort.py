"""measure.effort: how many starts and evaluations searches make, and what the report says of it."""

from __future__ import annotations

from html import unescape
from typing import Any

import numpy as np
import pytest
from inversion_problems import furthest, problem

import secmix
from secmix import Network
from secmix.adversaries import KnownMessages, RoundMessages, invert_sums
from secmix.adversaries.against_rules import outcome
from secmix.adversaries.against_rules.spending import SearchBudget, spent
from secmix.adversaries.attacks import mixture, subspace, worst_case
from secmix.adversaries.attacks.attack import CONTRIBUTION
from secmix.adversaries.reconstructions import graphfed
from secmix.adversaries.reconstructions import mixture as rows_of_mixture
from secmix.adversaries.tampering import TamperingChannel
from secmix.auditing.engine.cell_cache import fingerprint
from secmix.auditing.evidence import inversion
from secmix.auditing.report import Report
from secmix.auditing.robustness import sums
from secmix.errors import ScenarioError
from secmix.protocols import DistributedMixture, FederatedPCA, RobustServer
from secmix.protocols.mixture.distributed_mixture import packed
from secmix.reporting import write
from secmix.scenario import Scenario
from secmix.scenario.settings import MeasureSpec
from secmix.transcript import SERVER, Origin

pytestmark = pytest.mark.delicate

QUICK, STANDARD, THOROUGH = (MeasureSpec(effort=effort) for effort in ("quick", "standard", "thorough"))


def audit(**changes: Any) -> Report:
    return secmix.audit(scenario(**changes))


def scenario(effort: str | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "runs": 100,
        "network": {"kind": "complete", "nodes": 5},
        "data": {"name": "breast_cancer", "features": 2},
        "model": {"iterations": 3},
        "measure": {"evidence": ["inversion"], **({} if effort is None else {"effort": effort})},
        "protocol": {"name": "secure_sum"},
        "adversary": {"name": "honest_but_curious", "corrupt": [1, 3]},
        **changes,
    }


def test_standard_is_the_default_and_makes_what_each_search_usually_makes():
    assert MeasureSpec() == STANDARD
    usual = [inversion._STARTS, inversion._TRIED, rows_of_mixture._STARTS, graphfed._STARTS, sums._BUDGET]
    usual += [outcome.TRIES, mixture._BUDGET, subspace._BUDGET, worst_case._BUDGET]
    for count in usual:
        assert SearchBudget().of(count) == STANDARD.work(count) == count
        assert QUICK.work(count) == count // 4
        assert THOROUGH.work(count) == 4 * count
    assert QUICK.work(1) == QUICK.work(2) == 2  # a search of one start cannot be certain


def test_an_effort_that_is_not_known_is_an_error_that_names_those_that_are():
    with pytest.raises(ScenarioError, match=r"measure\.effort.*'quick', 'standard' or 'thorough'; given 'fast'"):
        audit(effort="fast")


def test_a_finished_cell_is_not_read_back_for_another_effort():
    prints = [
        fingerprint(cell, None)
        for effort in (None, "standard", "quick", "thorough")
        for cell in Scenario.model_validate(scenario(effort)).cells()
    ]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


def test_on_sums_that_determine_nothing_quick_makes_a_quarter_of_the_starts():
    _, path, table = problem(6, 2, 2, 4, seed=0)
    table[..., 3:] *= 1.0 + 0.01 * np.random.default_rng(0).standard_normal(table[..., 3:].shape)
    quick, standard = (invert_sums(table, path, 6, rng=0, starts=spec.work(64)) for spec in (QUICK, STANDARD))
    assert not quick.certified
    assert not standard.certified
    assert (quick.starts, standard.starts) == (16, 64)


@pytest.mark.build
@pytest.mark.parametrize("seed", [0, 3, 5])
def test_more_starts_find_what_fewer_found(seed):
    rows, path, table = problem(8, 2, 2, 5, seed=seed)
    found = [invert_sums(table, path, 8, rng=0, starts=spec.work(8)) for spec in (QUICK, STANDARD, THOROUGH)]
    assert [one.certified for one in found] == [seed == 0, True, True]
    assert all(furthest(one.rows, rows) < 1e-4 for one in found if one.certified)


@pytest.mark.parametrize(("effort", "most"), [("quick", 192), (None, 768), ("thorough", 3072)])
def test_the_notes_say_how_many_starts_were_made_of_how_many(monkeypatch, effort, most):
    monkeypatch.setattr(inversion, "_SOLVED", 1)
    notes = [note for finding in audit(effort=effort).findings for note in finding.notes]
    assert any(f"of at most {most:,} starts were made" in note for note in notes), notes


@pytest.mark.parametrize(("effort", "larger"), [("quick", "standard"), ("standard", "thorough"), ("thorough", "")])
def test_a_search_that_used_up_its_budget_names_the_effort_that_makes_more(effort, larger):
    measure = MeasureSpec(effort=effort)
    open_, certain, unspent = SearchBudget(measure.work), SearchBudget(measure.work), SearchBudget(measure.work)
    most = open_.of(8)
    open_.spend(most, most, certain=False)
    certain.spend(most, most, certain=True)
    unspent.spend(1, most, certain=False)
    told = f"{most} of at most {most} starts were made"
    more = f'; measure.effort = "{larger}" makes up to four times as many' if larger else ""
    assert spent({"starts": open_}, measure.more_work) == told + more
    assert spent({"starts": certain}, measure.more_work) == told
    assert spent({"starts": unspent}, measure.more_work) == f"1 of at most {most} starts were made"
    assert spent({"starts": SearchBudget()}, measure.more_work) == ""


@pytest.mark.parametrize(("spec", "most"), [(QUICK, 16), (None, 64), (THOROUGH, 256)])
def test_a_reconstruction_has_its_starts_from_the_effort_and_without_one_its_usual_ones(spec, most):
    rng = np.random.default_rng(0)
    protocol = DistributedMixture(2, tolerance=1e-12)
    message = packed(protocol.fit_local([rng.normal(size=(1, 3, 1))], rng).mixture)[0]
    sent = ((Origin(0, 0, "mixture", "plain", 0, (SERVER,)), message),)
    budget = {} if spec is None else {"budget": SearchBudget(spec.work)}
    known = KnownMessages(0, sent, 3, 1, protocol, Network.complete(3), rng, **budget)
    assert rows_of_mixture.reconstruct_mixture(known) is not None
    assert known.budget.most == most
    assert 0 < known.budget.spent <= most


RULE, BASES = RobustServer("coordinate_median", f=1), FederatedPCA(1)
ATTACKS = [
    (QUICK, "contribution", worst_case.worst_case, RULE, 100),  # with fewer the search is none
    (THOROUGH, "contribution", worst_case.worst_case, RULE, 600),
    (QUICK, "basis", subspace.basis_worst, BASES, 75),
    (STANDARD, "basis", subspace.basis_worst, BASES, 300),
]


@pytest.mark.parametrize(("spec", "kind", "attack", "protocol", "most"), ATTACKS)
def test_an_attack_that_searches_tries_the_rule_as_often_as_the_effort_allows(spec, kind, attack, protocol, most):
    budget, rng = SearchBudget(spec.work), np.random.default_rng(0)
    channel = TamperingChannel(attack, [3], rng, protocol=protocol, budget=budget)
    channel.send(0, [0, 1, 2, 3], SERVER, kind, np.ones((4, 1, 3)) + 0.1 * rng.standard_normal((4, 1, 3)))
    assert most / 2 < budget.spent <= 1.1 * most  # CMA-ES ends with a whole generation


@pytest.mark.parametrize("rule", ["coordinate_median", "geometric_median", "krum"])
def test_a_thorough_attack_does_at_least_what_the_standard_one_does_and_draws_no_more(rule):
    honest = np.random.default_rng(1).standard_normal((6, 3))
    errors, states = [], []
    for spec in (STANDARD, THOROUGH):
        rng, budget, protocol = np.random.default_rng(0), SearchBudget(spec.work), RobustServer(rule, f=2)
        messages = RoundMessages(CONTRIBUTION, np.zeros((2, 3)), honest, 1.0, protocol, rng, budget=budget)
        sent = np.concatenate([honest, worst_case.worst_case.send(messages)])
        errors.append(np.linalg.norm(protocol.aggregate(sent, f=2) - honest.mean(axis=0)))
        states.append(rng.bit_generator.state)
    assert errors[1] >= errors[0] * (1 - 1e-9)
    assert states[0] == states[1]  # so that later messages are those of the standard attack, or worse


@pytest.mark.parametrize(
    ("effort", "told"),
    [
        ("quick", '1,950 of at most 1,950 tries of the rule and 30 of at most 30 runs of the protocol were made; '
         'measure.effort = "standard" makes up to four times as many'),
        (None, '4,050 of at most 4,050 tries of the rule and 120 of at most 120 runs of the protocol were made; '
         'measure.effort = "thorough" makes up to four times as many'),
    ],
)  # fmt: skip
def test_the_search_for_the_worst_case_says_in_the_report_what_it_spent(tmp_path, effort, told):
    report = audit(
        effort=effort,
        model={"iterations": 1},
        network={"kind": "complete", "nodes": 3},
        protocol={"name": "robust_server", "rule": "coordinate_median", "f": 1},
        adversary={"name": "colluders", "corrupt": [0], "attack": "worst_case"},
    )
    assert report.cells[0].robustness is not None
    assert report.cells[0].robustness.spent == told
    write(report, tmp_path, ["md", "html"])
    assert told in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert told in unescape((tmp_path / "report.html").read_text(encoding="utf-8"))


@pytest.mark.build
def test_a_search_in_a_collaboration_spends_by_effort_too():
    report = audit(
        effort="quick",
        network={"kind": "complete", "nodes": 4},
        model={},
        data={"name": "gaussian", "features": 1, "rows_per_node": 10},
        measure={"evidence": ["reconstruction"], "effort": "quick"},
        protocol={"name": "distributed_mixture", "components": 2, "encrypted": True},
        adversary={"name": "colluders", "corrupt": [0], "attack": "under_the_threshold"},
    )
    assert report.cells[0].robustness is not None
    assert report.cells[0].robustness.spent.startswith("200 of at most 200 tries of the rule were made")
