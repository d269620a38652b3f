"""A policy that asks for the iterations that are traced: what holds says of which, wherever it is said."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from example_protocols import Pairwise
from rich.console import Console

import secmix
from secmix.adversaries import CuriousServer
from secmix.auditing.proof import iterations_in_words
from secmix.auditing.report import Report
from secmix.cli.validation import validated
from secmix.errors import ScenarioError
from secmix.kernel import KnownSums, Open
from secmix.reporting import compare, write
from secmix.reporting.formats import html, junit, markdown, sarif, terminal
from secmix.reporting.summary import summary
from secmix.scenario import from_dict

SAID = "in iterations 0 to 2, and no others"


class Scheduled(Pairwise):
    """Masks as large as a table of the first three iterations says."""

    def before(self, channel: Any, s: Any, r: Any, network: Any, rng: Any) -> None:
        r *= [1.0, 2.0, 4.0][channel.iteration]


class ForgetsInLast(Pairwise):
    def before(self, channel: Any, s: Any, r: Any, network: Any, rng: Any) -> None:
        r *= [1.0, 2.0, 0.0][channel.iteration]


class ForgetsLater(Pairwise):
    def before(self, channel: Any, s: Any, r: Any, network: Any, rng: Any) -> None:
        r *= float(channel.iteration < 3)


@cache
def audited(protocol: type, covers: str | None = "traced") -> Report:
    return secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 4},
            "runs": 100,
            "data": {"name": "breast_cancer", "features": 1, "rows_per_node": 20},
            "model": {"components": 1, "iterations": 3},
            "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1e6]},
            "policy": {"max_revealed_nodes": 0, **({"covers": covers} if covers else {})},
        },
        protocols={"mine": protocol()},
        adversaries={"server": CuriousServer()},
    )


@pytest.mark.build
def test_a_schedule_keyed_by_the_iteration_holds_where_the_policy_asks_for_no_more() -> None:
    report = audited(Scheduled)
    assert report.verdict == "holds"
    assert report.cells[0].covers == SAID
    assert f"Proved for this network, {SAID}: every message" in report.cells[0].proof
    assert audited(Scheduled, "all").verdict == "inconclusive"
    assert audited(Scheduled, None).verdict == "inconclusive"


@pytest.mark.build
def test_a_slip_in_an_audited_iteration_is_found_and_a_later_one_is_not_asked() -> None:
    assert audited(ForgetsInLast).verdict == "violated"
    assert audited(ForgetsLater).verdict == "holds"
    assert SAID in audited(ForgetsLater).sentence
    assert audited(ForgetsLater, None).verdict == "violated"


def test_whatever_says_that_it_holds_says_in_which_iterations(tmp_path: Path) -> None:
    report, out = audited(Scheduled), io.StringIO()
    assert report.sentence.startswith(f"The policy holds in 1 combination of protocol and adversary, {SAID}.")
    assert f"that is proved {SAID}" in report.cells[0].sentence
    assert all(SAID in node.why for node in report.cells[0].nodes if node.verdict == "holds")
    assert f"learns nothing beyond the result itself under “mine”, {SAID}." in " ".join(summary(report))
    assert f"“Holds” is proved, {SAID}, under" in markdown.render(report)
    assert "covers traced" in markdown.render(report)
    assert f"“Holds” is proved, {SAID}, <a" in html.render(report)
    assert "covers traced" in html.render(report)
    assert ET.fromstring(junit.render(report))[0].get("name") == f"mine against server, {SAID}"
    assert SAID in json.loads(sarif.render(report))["runs"][0]["properties"]["sentence"]
    terminal.print_report(report, Console(width=500, file=out))
    assert f"What holds is proved, {SAID}, under assumptions" in out.getvalue()
    write(report, tmp_path, formats=["json"])
    content = json.loads((tmp_path / "report.json").read_text())
    assert content["policy"] == {"max_revealed_nodes": 0.0, "covers": "traced"}


def test_a_comparison_shows_that_less_is_claimed() -> None:
    report = audited(Scheduled)
    everywhere = report.model_copy(update={"cells": [report.cells[0].model_copy(update={"covers": ""})]})
    (change,) = compare(everywhere, report)
    assert (change.what, change.before, change.after) == ("what is proved", "in every iteration", SAID)


def test_one_iteration_is_named_alone() -> None:
    assert iterations_in_words(Open("a line")) == ""
    case = KnownSums.__new__(KnownSums)
    object.__setattr__(case, "iterations", (0,))
    assert iterations_in_words(case) == "in iteration 0, and no other"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"covers": "traced"}, "give at least one limit: max_revealed_nodes"),
        ({"max_revealed_nodes": 0, "covers": "some"}, "'all' or 'traced'"),
    ],
)
def test_it_is_no_limit_by_itself_and_has_two_values(policy: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        from_dict({"network": {"kind": "cycle", "nodes": 4}, "policy": policy})


def test_a_scenario_that_is_checked_says_what_it_asks(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text('[network]\nkind = "cycle"\nnodes = 4\n[policy]\nmax_revealed_nodes = 0\ncovers = "traced"\n')
    assert "policy: max_revealed_nodes = 0, covers = traced" in " ".join(validated(str(file))[1].split())
