"""Advice is tried: no report recommends what its own trial, or another of its cells, refutes."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import secmix
from secmix.adversaries import HonestButCurious
from secmix.auditing.advice import changed_scenario, in_words, tried
from secmix.auditing.cell_parts import IN_VAIN
from secmix.auditing.cells.observed import observed
from secmix.auditing.observation.observe import seeds_of
from secmix.auditing.report import Cell, Report
from secmix.auditing.setup import build_setup
from secmix.errors import SecmixError
from secmix.protocols import Advice, Plain, SecureSum
from secmix.scenario import from_dict

EDGES = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2], [2, 4]]
NEIGHBOURS = {"name": "honest_but_curious", "corrupt": [1, 3]}
LISTENER = {"name": "eavesdropper"}
SERVER = {"name": "curious_server"}
SUM = {"name": "secure_sum"}
PDMM = {"name": "pdmm"}
PLAIN = {"name": "plain"}


def scenario(protocol: Any, adversary: Any, **more: Any) -> dict[str, Any]:
    return {
        "network": {"nodes": 5, "edges": EDGES},
        "data": {"name": "wine", "features": 2, "rows_per_node": 6},
        "model": {"iterations": 1},
        "runs": 100,
        "protocol": protocol,
        "adversary": adversary,
        "measure": {"evidence": ["structure"]},
        **more,
    }


@cache
def _audited(content: str) -> Report:
    return secmix.audit(json.loads(content))


def audited(content: dict[str, Any], **parts: Any) -> Report:
    """The report; of the same scenario it is worked out once, as tests lead to the same changes."""
    return secmix.audit(content, **parts) if parts else _audited(json.dumps(content))


def revealed(cell: Cell) -> set[int]:
    return {node.node for node in cell.nodes if node.standing == "revealed"}


@pytest.mark.build
@pytest.mark.parametrize(
    ("protocol", "adversary"),
    [
        ({"name": "secure_sum", "encrypted": False}, LISTENER),
        (PLAIN, LISTENER),
        (PLAIN, SERVER),
    ],
)
def test_what_a_trial_says_is_what_an_audit_of_the_changed_scenario_finds(protocol: Any, adversary: Any) -> None:
    content = scenario(protocol, adversary)
    (cell,) = audited(content).cells
    assert cell.trials
    exact = [trial for trial in cell.trials if "Tried with exact evidence" in trial.found]
    assert exact
    for trial in exact:
        (after,) = audited(changed_scenario(from_dict(content), trial.change).to_dict()).cells
        nobody = "summed vector of" not in trial.found
        assert nobody == (not revealed(after)), trial
        if trial.outcome == "helps":
            # Somebody is better off by exact evidence, and nobody new is known.
            assert revealed(after) <= revealed(cell)
            assert trial.effect in ("closed", "reduced")
        if trial.effect == "closed":
            assert not revealed(after)
            assert not any(node.standing == "partly leaked" for node in after.nodes)
        assert (in_words(trial) in cell.advice) == (trial.outcome not in IN_VAIN)


class Unadvised:
    """Plain sums, which advise nothing about themselves."""

    inner = Plain()

    def draw_masks(self, *given: Any) -> Any:
        return self.inner.draw_masks(*given)

    def average(self, *given: Any, **more: Any) -> Any:
        return self.inner.average(*given, **more)


def test_what_is_sent_unmasked_is_advised_to_be_masked_where_the_protocol_advises_nothing() -> None:
    (cell,) = audited(scenario(SUM, LISTENER), protocols={"it": Unadvised()}).cells
    assert cell.verdict == "violated"
    assert "sent unmasked" in cell.nodes[0].why
    said = "Add a secret mask to what each of nodes 0, 1, 2, 3, 4 sends: it is read as it stands. Not tried: audit the "
    assert cell.advice == [said + "changed scenario before you rely on it."]


def test_encrypting_the_lines_is_of_no_use_against_the_server() -> None:
    (cell,) = audited(scenario(PLAIN, SERVER)).cells
    (trial,) = [trial for trial in cell.trials if trial.change == {"protocol.encrypted": True}]
    assert trial.outcome == "no use"
    assert not any("Encrypt" in said for said in cell.advice)
    assert any("secure summation" in said for said in cell.advice)


@pytest.mark.build
def test_no_report_recommends_a_protocol_that_it_finds_violated() -> None:
    # Node 2's neighbours are all corrupt: PDMM, tried by itself or in the same report, reveals it.
    against = {"name": "honest_but_curious", "corrupt": [0, 1, 3, 4]}
    content = scenario(SUM, against, data={"name": "wine", "features": 2, "rows_per_node": 1})
    for sweep in ({}, {"protocol": [SUM, {"name": "pdmm", "sigma": 100.0, "label": "Masked"}]}):
        cell = audited({**content, "sweep": sweep}).cells[0]
        assert not any("PDMM" in said for said in cell.advice)
        (trial,) = [trial for trial in cell.trials if trial.change == {"protocol": {"name": "pdmm"}}]
        assert trial.outcome == "no use"
        assert ("This report audits it in full, as Masked: violated" in trial.found) == bool(sweep)


@pytest.mark.build
def test_a_cell_of_the_report_speaks_for_objects_of_python_too() -> None:
    report = audited(
        scenario(SUM, NEIGHBOURS),
        protocols={"as it is": Plain(), "hidden": Plain(encrypted=True), "ring": SecureSum()},
        adversaries={"outsider": secmix.adversaries.Eavesdropper(), "inside": HonestButCurious({1, 3})},
    )
    cell = next(c for c in report.cells if (c.protocol, c.adversary) == ("as it is", "outsider"))
    found = {trial.found for trial in cell.trials if trial.change == {"protocol": {"name": "secure_sum"}}}
    assert found == {"This report audits it in full, as ring: holds."}


class Chatty(Plain):
    """Reveals by design: everything."""

    def advise(self, shown: Any) -> list[str | Advice]:
        return [
            "Say less.",
            Advice("Say nothing.", {"protocol.silent": True}),
            Advice("Go.", {"network": {"nodes": 1}}),
            Advice("Run more.", {"runs.more": 3}),  # runs is no table
        ]


def test_what_cannot_be_tried_is_said_to_be_untried_and_what_cannot_run_is_left_out() -> None:
    (cell,) = audited(scenario(PLAIN, LISTENER), protocols={"chatty": Chatty()}).cells
    assert [trial.outcome for trial in cell.trials] == ["not tried", *["cannot be run"] * 3]
    assert cell.advice == ["Say less. Not tried: audit the changed scenario before you rely on it."]


def test_a_key_below_a_value_that_is_no_table_is_named() -> None:
    with pytest.raises(SecmixError, match=r"'runs\.more' cannot be changed: 'runs' is no table"):
        changed_scenario(from_dict({**scenario(PLAIN, LISTENER), "runs": 200}), {"runs.more": 3})


def test_a_leak_that_exact_evidence_does_not_see_is_not_called_closed() -> None:
    content = scenario(PLAIN, LISTENER)
    (cell,) = audited(content).cells
    assert "closed" in {trial.effect for trial in cell.trials}
    asked = from_dict(content)
    case, _ = observed(asked, build_setup(asked), seeds_of(asked))
    advice = [Advice("Encrypt.", {"protocol.encrypted": True})]
    assert [trial.effect for trial in tried(case, advice, 0, [0, 1])] == ["closed"]
    assert [trial.effect for trial in tried(case, advice, 0, [0, 99])] == ["reduced"]


@pytest.mark.build
def test_more_rows_are_advised_as_far_as_they_must_go() -> None:
    few = {"name": "wine", "features": 2, "rows_per_node": 1}
    content = scenario({"name": "plain", "encrypted": True}, NEIGHBOURS, data=few, model={"iterations": 3})
    (cell,) = audited(content).cells
    (rows,) = [trial for trial in cell.trials if "data.rows_per_node" in trial.change]
    assert rows.outcome == "helps"
    (after,) = audited(changed_scenario(from_dict(content), rows.change).to_dict()).cells
    assert not any("may be solved" in node.why for node in after.nodes)
    fewer = changed_scenario(from_dict(content), {"data.rows_per_node": rows.change["data.rows_per_node"] // 2})
    (before,) = audited(fewer.to_dict()).cells
    assert any("may be solved" in node.why for node in before.nodes)
