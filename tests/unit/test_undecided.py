"""What a node's line says where it is inconclusive: the number, its interval, the limit, and what would decide it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import secmix
from secmix.auditing.cell_parts import NodeSummary
from secmix.auditing.cells.fields import explained, not_measured, reasons, runs_needed, sentence
from secmix.auditing.decide import Premises, of_findings, of_leakage
from secmix.auditing.report import Finding
from secmix.kernel import Clearance, Open, clear_bounds
from secmix.scenario import PolicySpec

CLEARED = clear_bounds([("what is known", 0.0, 1.0)])


def finding(evidence: str, kind: str, status: str, low: float, value: float, high: float) -> Finding:
    return Finding.model_validate(
        {
            "protocol": "p", "adversary": "a", "node": 2, "evidence": evidence, "view": "cumulative", "target": "row",
            "method": "a test", "value": value, "unit": "nats", "low": low, "high": high, "kind": kind,
            "status": status, "normalised_leakage": value, "normalised_low": low, "normalised_high": high,
        }
    )  # fmt: skip


def lines(found: list[Finding], policy: PolicySpec, *known: Premises) -> list[NodeSummary]:
    premises = dict(enumerate(known, 2))
    return explained(of_findings(found, premises, policy), premises, 300)


def why(found: list[Finding], limit: float, clearance: Clearance | Open | None = CLEARED) -> str:
    policy = PolicySpec(max_normalised_leakage=limit)
    exact = finding("gaussian", "exact", "resolved", 0.0, 0.0, 0.0)
    (node,) = lines([exact, *found], policy, Premises(clearance=clearance, output_share=0.2))
    assert node.verdict == "inconclusive"
    return node.why


@pytest.mark.parametrize("clearance", [CLEARED, None])
def test_an_interval_that_reaches_above_the_limit(clearance: Clearance | None) -> None:
    text = why([finding("ksg", "estimate", "resolved", 0.10, 0.14, 0.18)], 0.15, clearance)
    assert "ksg" in text
    assert "0.140 (95 %: 0.100 to 0.180)" in text
    assert "limit 0.150" in text
    # (0.18 − 0.14) / (0.15 − 0.14) = 4: an interval a quarter as wide takes 16 times as many runs.
    assert ("4800 runs in place of 300" in text) == (clearance is CLEARED)
    assert ("only a proof" in text) == (clearance is None)


def test_a_number_above_the_limit_whose_interval_begins_below() -> None:
    text = why([finding("linear decoder", "upper bound", "resolved", 0.10, 0.16, 1.0)], 0.15)
    assert "0.160 (95 %: at least 0.100), limit 0.150" in text
    assert "11000 runs in place of 300 would show it violated" in text


def test_a_number_that_is_not_resolved() -> None:
    text = why([finding("ksg", "lower bound", "unresolved", 0.01, 0.05, 1.0)], 0.15)
    assert "0.050 (95 %: at least 0.010), limit 0.150" in text
    assert "may read low" in text
    assert "1200 runs in place of 300" in text


def test_the_finding_that_reaches_highest_is_named_and_the_others_counted() -> None:
    several = [
        finding("linear decoder", "upper bound", "resolved", 0.10, 0.16, 1.0),
        finding("ksg", "estimate", "resolved", 0.10, 0.14, 0.18),
        finding("ksg", "lower bound", "unresolved", 0.01, 0.5, 1.0),
    ]
    text = why(several, 0.15)
    assert "0.500" in text
    assert "and 2 more findings" in text


@pytest.mark.parametrize(
    ("low", "value", "high", "limit", "expected"),
    [
        (0.1, 0.14, 0.18, 0.15, 4800),
        (0.1, 0.16, 0.18, 0.15, 11000),
        (0.1, 0.15, 0.18, 0.15, None),
        (0.0, 0.1499999, 0.3, 0.15, None),
    ],
)
def test_runs_needed(low: float, value: float, high: float, limit: float, expected: int | None) -> None:
    assert runs_needed(finding("ksg", "estimate", "resolved", low, value, high), limit, 300) == expected


def test_nothing_is_said_of_findings_that_decide() -> None:
    policy = PolicySpec(max_normalised_leakage=0.15)
    for low, value, high in ((0.2, 0.3, 0.4), (0.0, 0.05, 0.1)):
        found = of_leakage(finding("ksg", "estimate", "resolved", low, value, high), policy)
        assert reasons([found], 300, cleared=True) == []


def test_what_is_blurred_is_not_decided_by_runs() -> None:
    blurred = finding("gaussian", "upper bound", "resolved", 0.0, 0.4, 0.4)
    text = why([blurred], 0.15)
    assert "more runs do not move it" in text
    assert "in place of" not in text


def test_a_collaboration_that_leaks_in_part_says_why_it_is_open() -> None:
    found = [finding("ksg", "estimate", "resolved", 0.10, 0.14, 0.18)]
    samples = Premises(clearance=None, output_share=0.0, is_sum=False)
    (told,) = lines(found, PolicySpec(max_revealed_nodes=0), samples)
    assert (told.standing, told.verdict) == ("partly leaked", "inconclusive")
    assert "only a proof clears" in told.why


def test_a_node_that_may_be_revealed_says_what_keeps_it_open() -> None:
    revealed = finding("structure", "exact", "determined", 1.0, 1.0, 1.0)
    policy = PolicySpec(max_revealed_nodes=1)
    out = lines([revealed], policy, *[Premises(clearance=None, output_share=0.2)] * 3)
    assert out[0].verdict == "inconclusive"
    assert "may be revealed" in out[0].why
    assert "3 nodes are not cleared" in out[0].why


def test_the_sentence_of_the_cell_gives_the_reason() -> None:
    nodes = [
        NodeSummary(node=1, standing="revealed", worst=1.0, why="known", verdict="violated"),
        NodeSummary(node=3, standing="partly leaked", worst=0.1, why="0.1, limit 0.05", verdict="inconclusive"),
    ]
    assert "could not be decided (node 3: 0.1, limit 0.05)" in sentence("inconclusive", nodes[1:], None)
    assert "could not be decided" not in sentence("violated", nodes, None)


@pytest.mark.build
def test_an_audit_says_it_on_the_line_of_the_node(tmp_path: Path) -> None:
    secmix.audit(
        {
            "network": {"kind": "cycle", "nodes": 4}, "runs": 120, "data": {"name": "wine", "features": 2},
            "protocol": {"name": "secure_aggregation"}, "adversary": {"name": "curious_server"},
            "model": {"iterations": 2}, "policy": {"max_normalised_leakage": 0.26},
            "measure": {"evidence": ["structure", "gaussian", "ksg"]},
        },
        tmp_path, formats=["json", "md", "html"],
    )  # fmt: skip
    (cell,) = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["cells"]
    undecided = [node for node in cell["nodes"] if node["verdict"] == "inconclusive"]
    assert undecided
    assert any("limit 0.260" in node["why"] and "in place of 120" in node["why"] for node in undecided)
    assert "limit 0.260" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_what_was_not_measured_is_said_once_in_the_sentence_of_a_cell() -> None:
    why = "known is a sum it is part of; not measured: the other runs: not reached"
    node = NodeSummary(node=2, standing="inconclusive", worst=0.1, why=why, verdict="inconclusive")
    said = sentence("inconclusive", [node], None) + not_measured(["the other runs: not reached"])
    assert said.endswith("(node 2: known is a sum it is part of). Not measured: the other runs: not reached."), said
    alone = node.model_copy(update={"why": "not measured: the other runs: not reached"})
    assert "(node" not in sentence("inconclusive", [alone], None)
