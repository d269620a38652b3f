"""Sentences of reports: formats, networks that differ, limits that ask nothing, and what has ended."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from handmade_reports import hostile_cell

import secmix
from secmix._base.checks import Array
from secmix.adversaries import HonestButCurious
from secmix.auditing.assemble import _sentence
from secmix.auditing.baseline import counted
from secmix.auditing.counterexamples.decode import Decoded
from secmix.auditing.counterexamples.evidence import _finding
from secmix.auditing.exposure.exposures import exposures
from secmix.auditing.setup import build_setup
from secmix.errors import ScenarioError, SecmixError
from secmix.estimators.estimate import Estimate
from secmix.protocols import SecureSum
from secmix.reporting import compare, direction
from secmix.scenario import AcceptedSpec, from_dict
from secmix.transcript import Channel, Transcript


def scenario(**changes: Any) -> dict[str, Any]:
    return {
        "network": {"kind": "cycle", "nodes": 4},
        "runs": 100,
        "data": {"name": "wine", "features": 2},
        "protocol": {"name": "plain", "label": "open"},
        "adversary": {"name": "eavesdropper", "label": "ear"},
        "measure": {"evidence": ["structure"]},
        **changes,
    }


@pytest.mark.build
def test_a_network_that_changed_is_a_change() -> None:
    cycle, whole = secmix.audit(scenario()), secmix.audit(scenario(network={"kind": "complete", "nodes": 4}))
    (change, *_) = compare(cycle, whole)
    assert (change.what, change.direction) == ("network", "unclear")
    assert change.before == "4 nodes, 4 lines"
    assert change.after == "4 nodes, 6 lines, only here 0–2, 1–3"
    assert direction(compare(cycle, whole)) == "unclear"
    assert compare(cycle, cycle) == []


def test_one_more_violation_is_named_and_two_are_counted() -> None:
    cells = [hostile_cell(f"p{k}", "a", "violated") for k in range(6)]
    assert _sentence("violated", cells[:5], "policy").endswith("; p3 against a; p4 against a.")
    assert _sentence("violated", cells, "policy").endswith("; p3 against a and 2 more.")


def test_a_limit_above_the_number_of_nodes_is_refused() -> None:
    with pytest.raises(ScenarioError, match="max_revealed_nodes = 100 asks nothing of 4 nodes; give at most 4"):
        build_setup(from_dict(scenario(policy={"max_revealed_nodes": 100})))
    assert build_setup(from_dict(scenario(policy={"max_revealed_nodes": 4})))


def test_an_acceptance_that_has_ended_is_said_where_the_verdict_is() -> None:
    report = secmix.audit(scenario())
    accepted = AcceptedSpec(
        protocol="open", adversary="ear", standing="revealed", reason="replaced", until=date(2026, 3, 1)
    )
    over = counted(report, None, [accepted], date(2026, 3, 2))
    assert over.verdict == "violated"
    assert over.sentence.startswith(report.sentence)
    assert "1 acceptance has ended: 'open' against 'ear'; all nodes up to 'revealed', on 2026-03-01." in over.sentence
    assert "ended" not in counted(report, None, [accepted], date(2026, 3, 1)).sentence


def test_counterexamples_count_the_runs_of_the_first_page() -> None:
    error = Estimate(0.0, 0.0, 0.0, "relative RMSE", "a test", "upper bound")
    told = _finding(
        Decoded("a message", "a line", 0, error, 38, 40), {"protocol": "p", "adversary": "a", "node": 1}, []
    )
    assert (told.hits, told.runs, told.status) == (38, 40, "determined")


class Previewed(SecureSum):
    """A secure sum before which node 0 sends its first two numbers as they are."""

    def average(
        self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Channel | None = None
    ) -> tuple[Array, Transcript]:
        channel = Channel() if channel is None else channel
        channel.send(-1, [0], 1, "preview", np.asarray(inputs)[None, :, 0, :2])
        return super().average(inputs, network, rng, masks=masks, channel=channel)


@pytest.mark.build
@pytest.mark.parametrize(
    ("policy", "is_said"),
    [({"max_revealed_nodes": 0}, True), ({"max_revealed_nodes": 0, "max_normalised_leakage": 0.5}, False)],
)
def test_a_part_that_is_known_is_said_where_the_policy_counts_none(policy: dict[str, Any], is_said: bool) -> None:
    report = secmix.audit(
        scenario(policy=policy), protocols={"sum": Previewed()}, adversaries={"ear": HonestButCurious([1])}
    )
    known = "A part of the data of 1 node is known: max_revealed_nodes counts a node only where all of it is"
    assert {node.standing for node in report.cells[0].nodes if node.node == 0} == {"partly leaked"}
    assert (known in report.sentence) == is_said
    assert (
        report.sentence.startswith("Data leak in part: whether the policy is violated could not be decided") == is_said
    )
    assert report.verdict == ("inconclusive" if is_said else "violated")


class Shifted(SecureSum):
    """Adds to every average what nobody contributed."""

    def average(self, inputs: Any, network: Any, rng: Any, **given: Any) -> tuple[Array, Transcript]:
        averages, transcript = super().average(inputs, network, rng, **given)
        return averages + 1e4 * np.arange(averages.shape[2]), transcript


@pytest.mark.build
def test_a_result_that_is_no_average_is_said_first() -> None:
    report = secmix.audit(
        scenario(), protocols={"shifted": Shifted(), "sum": SecureSum()}, adversaries={"ear": HonestButCurious([1])}
    )
    (off, right) = report.cells
    assert off.output_error > 10 > right.output_error
    assert "What shifted computes is no average: the fitted means are off by" in report.sentence
    assert "no average" not in secmix.audit(scenario()).sentence


def test_costs_are_given_by_the_names_of_nodes() -> None:
    named = scenario(network={"kind": "cycle", "nodes": 4, "names": ["Aarau", "Bern", "Chur", "Davos"]})
    by_name, by_number = (exposures(named, costs=costs)[0].exposure for costs in ({"Aarau": 3.0}, {0: 3.0}))
    assert by_name.to_dict() == by_number.to_dict()
    with pytest.raises(SecmixError, match="costs: unknown node 'Zug'"):
        exposures(named, costs={"Zug": 3.0})


def test_an_acceptance_of_nothing_names_what_there_is(caplog: pytest.LogCaptureFixture) -> None:
    entry = AcceptedSpec(protocol="sum", adversary="ear", standing="revealed", reason="old", until=date(2099, 1, 1))
    counted(secmix.audit(scenario()), None, [entry], date(2026, 1, 1))
    assert "'sum' against 'ear'" in caplog.text
    assert "there are 'open' against 'ear'" in caplog.text
