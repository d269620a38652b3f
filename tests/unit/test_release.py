"""The release page: it begins with the verdict, clears nobody the report does not, and lists what was not tried."""

from __future__ import annotations

import json
import re
from datetime import date
from html.parser import HTMLParser
from typing import Any

import jsonschema
import numpy as np
import pytest

from secmix.auditing import decide
from secmix.auditing.baseline import counted
from secmix.auditing.cell_parts import BOUND_ASSUMES, NodeClaim, NodeSummary, PrivacyClaim
from secmix.auditing.recorded import JobAudit
from secmix.auditing.recorded.controls import Control
from secmix.auditing.recorded.recorded_job import LISTENER, Learned
from secmix.auditing.recorded.rows import JobRow
from secmix.auditing.report import Cell, Report
from secmix.cli.job_in_words import headline
from secmix.cli.recorded_audit import audited
from secmix.recording import Recorder
from secmix.reporting import write
from secmix.reporting.formats.release_html import render
from secmix.reporting.release.of_recorded import page_of_job
from secmix.reporting.release.of_report import release_page
from secmix.reporting.release.page import NOT_ANSWERED, PUBLIC, json_schema, published
from secmix.scenario import AcceptedSpec


def cell(verdict: Any = "holds", adversary: str = "eavesdropper", **changes: Any) -> Cell:
    standing: Any = {"violated": "revealed", "holds": "no more than the output itself reveals"}.get(
        verdict, "inconclusive"
    )
    values: dict[str, Any] = {
        "protocol": "sums", "adversary": adversary, "verdict": verdict, "sentence": f"Of all nodes: {verdict}.",
        "n_nodes": 3, "edges": [(0, 1), (1, 2)], "positions": [(0, 0), (0, 1), (1, 0)], "corrupt": [], "tapped": None,
        "leaked": [], "output_error": None, "curves": [], "sigma_curve": [], "advice": [], "notes": [],
        "reproduce": "secmix audit it --cell 1", "proof": "Proved for this network." if verdict == "holds" else "",
        "assumptions": ["the author is honest"] if verdict == "holds" else [],
        "nodes": [NodeSummary(node=k, standing=standing, worst=0.5, why="so it is", verdict=verdict) for k in range(3)],
    }  # fmt: skip
    return Cell(**{**values, **changes})


def report(*cells: Cell, **changes: Any) -> Report:
    cells = cells or (cell(),)
    verdict = decide.of_report(cells)
    values: dict[str, Any] = {
        "secmix_version": "0.1.0", "versions": {}, "title": "A trial", "description": "", "findings": [],
        "verdict": verdict, "sentence": "This is the verdict.",
        "policy": {"max_revealed_nodes": 0.0}, "cells": list(cells), "not_tried": ["a lying server"], "scenario": {},
        "seed": 0, "reproduce": "secmix audit it",
    }  # fmt: skip
    return Report(**{**values, **changes})


class _Words(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.body = ""
        self.feed(text[text.index("<body") :])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids |= {value or "" for name, value in attrs if name == "id"}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.body += data


def answers(page: Any, section: str) -> list[Any]:
    return [each for each in page.questions if each.section == section]


def test_both_files_are_written_and_say_the_same(tmp_path):
    paths = write(report(cell("violated")), tmp_path, ["release"])
    assert [path.name for path in paths] == ["release.html", "release.json"]
    values = json.loads(paths[1].read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(values, json_schema())
    body = " ".join(_Words(paths[0].read_text("utf-8")).body.split())
    said = [values["sentence"], *values["not_tried"]]
    said += [text for each in values["questions"] for text in [each["question"], *each["answer"]]]
    for reader in values["outputs"][0]["readers"]:
        said += [reader["who"], *reader["found"], *reader["holds"], *reader["undecided"], *reader["tried"]]
    for text in said:
        assert " ".join(text.split()) in body
    values["outputs"][0]["verdict"] = "safe"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, json_schema())


def test_the_schema_that_ships_is_that_of_the_code():
    assert published() == json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n", (
        "write release.schema.json anew"
    )


def test_the_first_sentence_is_the_verdict_of_the_report():
    body = _Words(render(release_page(report(cell("violated"))))).body
    before, _, after = body.partition("This is the verdict.")
    assert after
    assert " ".join(before.split()) == "What leaves, and who could learn what A trial"


def test_the_page_loads_nothing_and_its_links_lead_somewhere():
    hostile = "<script>alert(1)</script>\x1b"
    text = render(release_page(report(cell(adversary=hostile, sentence=hostile), title=hostile)))
    page = _Words(text)
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.body
    assert "\x1b" not in text
    assert page.links
    assert {link.removeprefix("#") for link in page.links} <= page.ids
    assert not re.search(r"url\(|@import", text)


@pytest.mark.parametrize("verdict", ["violated", "inconclusive", "holds", "not asked"])
def test_the_public_comes_first_and_is_never_cleared(verdict):
    (output,) = release_page(report(cell(verdict))).outputs
    assert output.verdict == verdict
    first, second = output.readers
    assert (first.who, first.verdict, first.holds, first.tried) == (PUBLIC, "not tried", [], [])
    assert first.undecided
    assert second.verdict == verdict


def test_what_holds_has_its_assumptions_and_what_does_not_hold_has_none():
    (output,) = release_page(report(cell("holds"), cell("inconclusive", "server", server=True))).outputs
    _, outsider, server = output.readers
    assert "Proved for this network." in outsider.holds
    assert outsider.assumptions == ["the author is honest"]
    assert output.verdict == "inconclusive"
    assert not server.holds
    assert not server.assumptions
    assert server.undecided == ["nodes 0, 1, 2: inconclusive; so it is"]


def test_a_proof_without_printed_assumptions_still_names_where_they_stand():
    (output,) = release_page(report(cell("holds", assumptions=[]))).outputs
    assert "What a proof assumes" in output.readers[1].assumptions[0]
    (output,) = release_page(report(cell("holds", assumptions=[BOUND_ASSUMES]))).outputs
    assert output.readers[1].assumptions[0] == BOUND_ASSUMES
    assert "What a proof assumes" in output.readers[1].assumptions[1]


def test_nodes_that_hold_beside_one_that_is_revealed_keep_their_own_verdicts():
    nodes = [
        NodeSummary(node=0, standing="revealed", worst=1.0, why="sent bare", verdict="violated"),
        NodeSummary(node=1, standing="inconclusive", worst=0.5, why="open", verdict="inconclusive"),
        NodeSummary(node=2, standing="corrupt", worst=1.0, why="its own", verdict="not asked"),
    ]
    (output,) = release_page(report(cell("violated", nodes=nodes, corrupt=[2], unmeasured=["ran out"]))).outputs
    reader = output.readers[1]
    assert reader.found[1:] == ["node 0: revealed; sent bare"]
    assert reader.undecided == ["node 1: inconclusive; open", "left out: ran out"]
    assert not reader.holds


def test_readers_go_from_outsiders_to_coalitions():
    cells = [
        cell(adversary="two", corrupt=[0, 1]),
        cell(adversary="server", server=True),
        cell(adversary="one", corrupt=[2]),
    ]
    cells.append(cell(adversary="outside"))
    (output,) = release_page(report(*cells)).outputs
    assert [re.sub(r".*“(\w+)”.*", r"\1", reader.who) for reader in output.readers[1:]] == [
        "outside", "server", "one", "two",
    ]  # fmt: skip


@pytest.mark.parametrize(("until", "ended"), [("2099-01-01", False), ("2001-01-01", True)])
def test_what_was_accepted_is_listed_with_whom_and_until_when(until, ended):
    entry = AcceptedSpec(
        protocol="sums", adversary="eavesdropper", standing="revealed", reason="ticket 118", by="the board", until=until
    )
    page = release_page(counted(report(cell("violated")), None, [entry], date(2030, 1, 1)))
    (accepted,) = page.accepted
    assert (accepted.by, accepted.until, accepted.ended, accepted.reason) == ("the board", until, ended, "ticket 118")
    assert page.outputs[0].readers[1].accepted == (
        [] if ended else [f"nodes 0, 1, 2: ticket 118 (by the board until {until})"]
    )
    assert page.outputs[0].readers[1].verdict == "violated"
    assert page.verdict == ("violated" if ended else "no worse")
    (responsible,) = answers(page, "3.3.05")
    assert "the board" in responsible.answer[0]
    body = _Words(render(page)).body
    assert ("which is over" in body) == ended


def test_what_an_audit_cannot_answer_says_so():
    page = release_page(report())
    assert {each.status for each in page.questions if each.section in ("unit of privacy", "epsilon and delta")} == {
        NOT_ANSWERED
    }
    may = next(each for each in answers(page, "3.3.07") if each.question.startswith("May "))
    assert may.status == NOT_ANSWERED
    memory = next(each for each in answers(page, "3.3.07") if "memorised" in each.question)
    assert memory.status == NOT_ANSWERED
    assert {each.section for each in page.questions} >= {"trust model", "access to intermediate results"}


def test_what_leaks_in_part_is_no_answer_that_nothing_was_found():
    node = NodeSummary(node=0, standing="partly leaked", worst=0.5, why="half of it", verdict="violated")
    page = release_page(report(cell("violated", nodes=[node])))
    memory = next(each for each in answers(page, "3.3.07") if "memorised" in each.question)
    assert memory.status == "answered in part"
    assert "1 partly leaked" in memory.answer[0]


def test_a_refuted_claim_is_a_control_that_fell_short():
    node = NodeClaim(
        node=0,
        proved=None,
        follows="nothing",
        seen=9.0,
        confidence=0.99,
        method="runs",
        fails="line 3",
        verdict="violated",
    )
    claim = PrivacyClaim(
        epsilon=1.0, delta=1e-5, terms="ε of a row", looks=1, nodes=[node], verdict="violated", why="it is at least 9"
    )
    page = release_page(report(cell("violated", claim=claim)))
    (control,) = page.outputs[0].controls
    assert control.acted == "fell short"
    assert "it is at least 9" in control.how
    (epsilon,) = answers(page, "epsilon and delta")
    assert epsilon.status == "answered in part"
    assert "the claim is violated" in epsilon.answer[0]


@pytest.mark.parametrize(("encrypted", "state"), [(True, "in force"), (False, "off")])
def test_settings_of_the_protocol_are_controls_of_which_nothing_is_shown(encrypted, state):
    scenario = {
        "network": {"kind": "cycle", "nodes": 3},
        "protocol": {"name": "plain", "label": "sums", "encrypted": encrypted},
    }
    (control,) = release_page(report(scenario=scenario)).outputs[0].controls
    assert (control.name, control.acted) == (f"encrypted = {encrypted}", "not shown")
    assert f"a setting of the protocol: {state} in every run" in control.how


def test_a_recorded_job_names_each_filter_and_clears_nobody(tmp_path):
    found = JobAudit(
        verdict="violated",
        controls=[
            Control(("a",), "SVTPrivacy", "task_result", ("*/out",), "job", 0, 0, "violated", "it was never called"),
            Control(("b",), "PercentilePrivacy", "task_result", ("train/out",), "job", 2, 2, "in force", "changed 2"),
        ],
        learned=[
            Learned("a", "server", ["train (result), 2 times"], ["a row of 2 numbers: its cluster"], 1),
            Learned("a", LISTENER, [], []),
            Learned("b", "server", ["train (result), 2 times"], []),
        ],
        rows=[JobRow("a", ("server",), np.zeros(2), 0.0, "its cluster")],
        all_failed=False,
        remarks=["the run was cut off"],
    )
    page = page_of_job(found, list(headline(found)), "secmix audit --recorded it")
    assert page.sentence.startswith("SVTPrivacy of a was not in force: it was never called.")
    released, first, second = page.outputs
    assert [(r.who, r.verdict, r.tried) for r in released.readers] == [(PUBLIC, "not tried", [])]
    assert [(r.who, r.verdict) for r in first.readers] == [
        ("A listener on the line", "inconclusive"), ("server", "violated"),
    ]  # fmt: skip
    assert [(r.who, r.verdict) for r in second.readers] == [("server", "inconclusive")]
    assert [(c.name, c.acted) for each in page.outputs for c in each.controls] == [
        ("SVTPrivacy of a (task_result: */out)", "did not act"),
        ("PercentilePrivacy of b (task_result: train/out)", "acted"),
    ]  # fmt: skip
    for output in page.outputs:
        assert not any(reader.holds or reader.verdict == "holds" for reader in output.readers)
    assert (first.verdict, second.verdict) == ("violated", "inconclusive")
    assert page.not_tried == list(found.not_said)
    jsonschema.validate(json.loads(page.to_json()), json_schema())
    assert "did not act" in _Words(render(page)).body


@pytest.mark.parametrize("rows", [1, 2])
def test_a_recorded_run_has_both_files_and_its_verdict(tmp_path, rows):
    draw, row = np.random.default_rng(0), np.array([0.5, -2.0, 3.0])
    recorder, model = Recorder(tmp_path / "recording"), [np.zeros(3), np.zeros(1)]
    for t in range(2):
        kinds = [(f"arrays/{k}", (), array) for k, array in enumerate(model)]
        roles = dict.fromkeys((kind for kind, _, _ in kinds), "model")
        recorder.write(t, 0, -1, 0, kinds, roles=roles)
        step = draw.standard_normal()
        model = [model[0] + step * row, model[1] + step]
        answer = [(f"arrays/{k}", (), array) for k, array in enumerate(model)]
        recorder.write(t, 1, 0, -1, [*answer, ("rows", (), np.array([float(rows)]))], roles=roles | {"rows": "count"})
    found, _, places = audited(tmp_path / "recording", tmp_path / "out", False, ["release", "md"])
    assert [place.name for place in places] == ["release.html", "release.json", "recorded.md"]
    page = json.loads((tmp_path / "out" / "release.json").read_text("utf-8"))
    jsonschema.validate(page, json_schema())
    assert (
        found.verdict
        == page["verdict"]
        == page["outputs"][1]["verdict"]
        == ("violated" if rows == 1 else "inconclusive")
    )
    (public,) = page["outputs"][0]["readers"]
    outsider, server, others = page["outputs"][1]["readers"]
    assert (public["who"], public["verdict"]) == (PUBLIC, "inconclusive")
    assert "arrays/0 (3 numbers)" in public["reads"][0]
    assert public["tried"]
    assert public["undecided"]
    assert (outsider["who"], others["verdict"]) == ("An outsider", "inconclusive")
    assert server["verdict"] == ("violated" if rows == 1 else "inconclusive")
    assert "0.5" not in json.dumps(page)  # the row itself stays private
