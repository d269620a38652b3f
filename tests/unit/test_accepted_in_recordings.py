"""Accepted findings of a recorded run: what is named does not count until its day, and everything is still shown."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from secmix.auditing.recorded import JobAudit, RecordedAudit, audit_recording
from secmix.auditing.recorded.accepted_in_recordings import concluded, faults_of
from secmix.auditing.recorded.controls import Control
from secmix.auditing.recorded.rows import JobRow
from secmix.auditing.released.last_arrays import LastArrays
from secmix.cli.app import app
from secmix.cli.recorded_audit import as_lines, audited
from secmix.errors import ScenarioError
from secmix.recording import Recorder, read_recording
from secmix.scenario import AcceptedInRecordingSpec
from secmix.scenario.accepted import read_accepted_in_recording

LATER = "2099-01-01"


def entry(**what: Any) -> AcceptedInRecordingSpec:
    return AcceptedInRecordingSpec(**{"reason": "ticket 118", "by": "the board", "until": LATER, **what})


def one_row(folder: Path) -> Path:
    """A client with one row, whose model moves along it in two rounds."""
    recorder, row, model = Recorder(folder), np.array([0.5, -2.0, 3.0]), [np.zeros(3), np.zeros(1)]
    for t, step in enumerate((0.5, -1.5)):
        roles = {"w": "model", "b": "model"}
        recorder.write(t, 0, -1, 0, [("w", (), model[0]), ("b", (), model[1])], roles=roles)
        model = [model[0] + step * row, model[1] + step]
        told = ("rows", (), np.array([1.0]))
        recorder.write(t, 1, 0, -1, [("w", (), model[0]), ("b", (), model[1]), told], roles=roles | {"rows": "count"})
    return recorder.folder


@pytest.fixture
def found(tmp_path: Path) -> RecordedAudit:
    return audit_recording(read_recording(one_row(tmp_path / "run")))


def a_job(**more: Any) -> JobAudit:
    control = Control(("a",), "SVTPrivacy", "task_result", ("*/out",), "job", 0, 0, "violated", "it was never called")
    rows = [JobRow("a", ("server",), np.zeros(2), 0.0, "its cluster")]
    values = {"controls": [control], "learned": [], "rows": rows, "all_failed": False, "remarks": []}
    return JobAudit(verdict="violated", **{**values, **more})


def test_what_is_accepted_does_not_count_and_one_run_still_clears_nobody(found):
    assert [fault.whom for fault in faults_of(found)] == ["node 0", "what one run leaves open"]
    assert concluded(found, []).verdict == found.verdict == "violated"
    rows = concluded(found, [entry(rows_of=["node 0"])])
    assert rows.verdict == "inconclusive"
    assert "node 0" in rows.sentence
    assert LATER in rows.sentence
    assert concluded(found, [entry(rows_of=["node 0"], leaves_open=True)]).verdict == "no worse"
    assert concluded(found, [entry(leaves_open=True)]).verdict == "violated"


def test_each_fault_has_to_be_named():
    job = a_job(last=LastArrays("the last arrays", ("a row of a",)))
    every = {"rows_of": ["a"], "control": "SVTPrivacy", "result": True}
    assert concluded(job, [entry(**every)]).verdict == "inconclusive"
    for left_out in every:
        some = {key: value for key, value in every.items() if key != left_out}
        assert concluded(job, [entry(**some)]).verdict == "violated"
    assert concluded(job, [entry(rows_of=["b"], control="PercentilePrivacy", result=True)]).verdict == "violated"
    apart = [entry(**{key: value}) for key, value in every.items()]
    assert concluded(job, apart).verdict == "inconclusive"
    assert len(concluded(job, apart).accepted) == 3


def test_an_acceptance_ends(found):
    named = [entry(rows_of=["node 0"], until="2030-01-01")]
    assert concluded(found, named, date(2030, 1, 1)).verdict == "inconclusive"
    over = concluded(found, named, date(2030, 1, 2))
    assert (over.verdict, over.reasons, over.sentence) == ("violated", {}, "")
    assert over.accepted[0].ended


def test_an_entry_of_nothing_is_told(found, caplog):
    assert not concluded(found, [entry(rows_of=["site-9"])]).accepted
    assert "none of this recording: rows of site-9" in caplog.text


def test_files_say_who_accepts_what(tmp_path):
    folder = one_row(tmp_path / "run")
    named = [entry(rows_of=["node 0"])]
    found, _, places = audited(folder, tmp_path / "out", False, ["md", "json", "html", "release"], accepted=named)
    texts = {place.name: place.read_text("utf-8") for place in places}
    assert texts["recorded.md"].startswith(
        "# A recorded run: inconclusive\n\n**Accepted, the first until 2099-01-01: node 0"
    )
    assert "rows of node 0: ticket 118 (by the board until 2099-01-01)" in texts["recorded.md"]
    assert "What somebody accepts" in texts["recorded.html"]
    plain = json.loads(texts["recorded.json"])
    assert (plain["verdict"], plain["conclusion"]) == ("violated", "inconclusive")
    assert plain["accepted"][0]["by"] == "the board"
    page = json.loads(texts["release.json"])
    assert (page["verdict"], page["accepted"][0]["reason"]) == ("inconclusive", "ticket 118")
    (server,) = [reader for reader in page["outputs"][1]["readers"] if reader["verdict"] == "violated"]
    assert server["accepted"] == ["ticket 118 (by the board until 2099-01-01)"]
    (asked,) = [each for each in page["questions"] if each["section"] == "3.3.05"]
    assert "the board accepts rows of node 0" in asked["answer"][0]
    assert "Accepted" not in "\n".join(as_lines(found))


@pytest.mark.parametrize(("what", "status"), [("rows_of = ['node 0']", 3), ("result = true", 1)])
def test_the_command_takes_a_file(tmp_path, monkeypatch, what, status):
    monkeypatch.chdir(tmp_path)
    one_row(tmp_path / "run")
    Path("accepted.toml").write_text(f"[[accepted]]\n{what}\nreason = 'it'\nuntil = {LATER}\n")
    done = CliRunner().invoke(app, ["audit", "--recorded", "run", "--accepted", "accepted.toml"])
    assert done.exit_code == status, done.output
    Path("accepted.toml").write_text(f"[[accepted]]\nreason = 'it'\nuntil = {LATER}\n")
    refused = CliRunner().invoke(app, ["audit", "--recorded", "run", "--accepted", "accepted.toml"])
    assert refused.exit_code == 2
    with pytest.raises(ScenarioError, match="what is accepted"):
        read_accepted_in_recording("accepted.toml")
