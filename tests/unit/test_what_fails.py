"""A part of an audit that fails is a line of the report: what was shown before stays, and nobody is cleared."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import secmix
from secmix.auditing import proof
from secmix.auditing.cells import audit_cell, confirm, observed
from secmix.auditing.engine import processes, run_cell, run_cells
from secmix.auditing.engine.run_cell import within
from secmix.auditing.evidence import interface
from secmix.auditing.evidence.interface import LATE, CellContext, Evidence, Gathered
from secmix.auditing.exposure import policy
from secmix.auditing.observation import observe
from secmix.auditing.report import Cell
from secmix.errors import SecmixError
from secmix.protocols import Plain, SecureAggregation, SecureSum


def audited(name: str = "plain", time_limit: float | None = None, given: Any = None, **changes: Any) -> Cell:
    scenario = {
        "network": {"kind": "cycle", "nodes": 4},
        "runs": 100,
        "data": {"name": "wine", "features": 2, "rows_per_node": 30},
        "model": {"iterations": 1},
        "protocol": {"name": name},
        "adversary": {"name": "curious_server"},
        "measure": {"evidence": ["structure"], "sigmas": [1.0]},
        "policy": {"max_revealed_nodes": 0},
    }
    protocols = None if given is None else {name: given}
    return secmix.audit(scenario | changes, protocols=protocols, time_limit=time_limit).cells[0]


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def with_evidence(monkeypatch: pytest.MonkeyPatch, gather: Callable[..., Gathered]) -> None:
    extra = Evidence("extra", (), applies=lambda case: True, gather=gather, rank=9, always=True)
    everything = (*interface.installed(), extra)
    monkeypatch.setattr(interface, "installed", lambda: everything)


MEND = "run it again with fewer --workers, runs, nodes or columns, or raise memory_limit"
NO_ROOM = f"the run failed for lack of memory; {MEND}"
FAILURES = [
    (MemoryError(), "it ran out of memory"),
    (SecmixError("it does not fit"), "it does not fit"),
    (ZeroDivisionError("a private number"), "it failed with ZeroDivisionError"),
    (SystemExit(3), "it failed with SystemExit"),
]


@pytest.mark.parametrize(("error", "why"), FAILURES, ids=[type(error).__name__ for error, _ in FAILURES])
def test_a_violation_stays_where_another_evidence_fails(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, why: str
) -> None:
    with_evidence(monkeypatch, failing(error))
    cell = audited()
    assert (cell.verdict, [node.standing for node in cell.nodes]) == ("violated", ["revealed"] * 4)
    (line,) = cell.unmeasured
    assert line.startswith(f"evidence 'extra': {why}")
    assert "private" not in line
    assert f"not measured: {line}" in cell.notes


@pytest.mark.build
def test_nobody_is_cleared_where_an_evidence_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert audited("secure_aggregation").verdict == "holds"
    with_evidence(monkeypatch, failing(MemoryError()))
    cell = audited("secure_aggregation")
    assert cell.verdict == "inconclusive"
    assert all("not measured: evidence 'extra': it ran out of memory" in node.why for node in cell.nodes)


@pytest.mark.build
def test_no_collaboration_is_cleared_where_an_evidence_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    unheard: dict[str, Any] = {**PCA, "adversary": {"name": "eavesdropper", "tapped": []}}
    assert audited(**unheard).verdict == "holds"
    with_evidence(monkeypatch, failing(MemoryError()))
    assert audited(**unheard).verdict == "inconclusive"


def test_an_interrupt_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with_evidence(monkeypatch, failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        audited()


PARTS = [
    (audit_cell, "robustness", "what colluders can do to the result: it ran out of memory"),
    (audit_cell, "sigma_curve", "the curve over sizes of masks: it ran out of memory"),
    (audit_cell, "advised", "what to change: it ran out of memory"),
    (audit_cell, "tried", "what to change: it ran out of memory"),
    (audit_cell, "is_counted", f"the rest: {NO_ROOM}"),
    (audit_cell, "solvable", "what to change: it ran out of memory"),
    (run_cell, "with_coalitions", "who would have to collude: it ran out of memory"),
]
PCA: dict[str, Any] = {"protocol": {"name": "federated_pca", "r": 1}, "model": {}}
ACTIVE: dict[str, Any] = {
    "adversary": {"name": "colluders", "corrupt": [1]},
    "network": {"kind": "complete", "nodes": 4},
}


@pytest.mark.parametrize(("module", "name", "what"), PARTS, ids=[name for _, name, _ in PARTS])
def test_a_violation_stays_where_another_part_fails(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, what: str
) -> None:
    monkeypatch.setattr(module, name, failing(MemoryError()))
    needed = {"robustness": ACTIVE, "sigma_curve": {"measure": {"evidence": ["structure", "gaussian"]}}}
    cell = audited(**needed.get(name, {}), policy={"max_revealed_nodes": 0, "min_colluders": 2})
    assert cell.verdict == "violated"
    assert [line for line in cell.unmeasured if not line.endswith(": not reached")] == [what]
    assert any(what in note for note in cell.notes)


@pytest.mark.build
def test_nothing_holds_where_the_coalitions_that_the_policy_asks_for_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"max_revealed_nodes": 0, "min_colluders": 1}
    assert audited("secure_aggregation", policy=limits).verdict == "holds"
    monkeypatch.setattr(run_cell, "with_coalitions", failing(MemoryError()))
    assert audited("secure_aggregation", policy=limits).verdict == "inconclusive"


def test_nothing_holds_where_the_error_that_the_policy_limits_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = {"policy": {"max_error_ratio": 1e9}, **ACTIVE}
    assert audited("robust_server", **limited).verdict == "holds"
    monkeypatch.setattr(audit_cell, "robustness", failing(MemoryError()))
    assert audited("robust_server", **limited).verdict == "inconclusive"


def test_a_coalition_that_exposes_stays_where_no_repair_can_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "proposals", failing(MemoryError()))
    cell = audited("pdmm", policy={"min_colluders": 3})
    assert cell.coalitions is not None
    assert (cell.verdict, cell.coalitions.verdict) == ("violated", "violated")
    assert "repairs were not tried: it ran out of memory" in cell.coalitions.notes


def test_no_repair_is_proposed_whose_audit_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    ring: dict[str, Any] = {"name": "pdmm", "policy": {"min_colluders": 3}}
    coalitions = audited(**ring).coalitions
    assert coalitions is not None
    assert coalitions.repairs
    with_evidence(monkeypatch, failing(MemoryError()))
    coalitions = audited(**ring, seed=1).coalitions
    assert coalitions is not None
    assert (coalitions.verdict, coalitions.repairs) == ("violated", [])


def test_what_fresh_runs_could_not_confirm_accuses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm, "again", failing(ZeroDivisionError()))
    cell = audited(**PCA, measure={"evidence": ["ksg"]}, policy={"max_normalised_leakage": 0.01})
    assert cell.verdict == "inconclusive"
    (line,) = cell.unmeasured
    assert line.startswith("what would accuse, again on fresh runs: it failed with ZeroDivisionError")


# --- time ------------------------------------------------------------------------------------------------------------


def ends_with(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    """Let the time of a cell be up once the evidence ``last`` has been gathered."""

    def until_late(evidence: Evidence) -> Evidence:
        def gather(case: CellContext) -> Gathered:
            gathered = evidence.gather(case)
            object.__setattr__(case, "deadline", 0.0)
            return gathered

        return replace(evidence, gather=gather) if evidence.name == last else evidence

    everything = tuple(map(until_late, interface.installed()))
    monkeypatch.setattr(interface, "installed", lambda: everything)


def test_a_violation_stays_where_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ends_with(monkeypatch, "structure")
    cell = audited(
        measure={"evidence": ["structure", "gaussian"]}, policy={"max_revealed_nodes": 0, "min_colluders": 2}
    )
    assert cell.verdict == "violated"
    assert f"evidence 'gaussian': {LATE}" in cell.unmeasured
    assert f"evidence 'gaussian': {LATE}" in cell.sentence


def test_only_an_evidence_that_a_clearance_does_not_need_may_be_left_out_for_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = {"evidence": ["structure", "ksg"]}
    with monkeypatch.context() as patched:
        ends_with(patched, "structure")
        cell = audited("secure_aggregation", measure=measured)
        assert cell.verdict == "holds"
        assert f"evidence 'ksg': {LATE}" in cell.unmeasured
    monkeypatch.setattr(interface, "time", SimpleNamespace(time=lambda: math.inf, monotonic=time.monotonic))
    # An object that is given stays in this process.
    cell = audited("secure_aggregation", 1e6, SecureAggregation(), measure=measured)
    assert cell.verdict == "inconclusive"
    assert f"evidence 'structure': {LATE}" in cell.unmeasured


def test_cells_that_are_not_begun_in_time_are_named_and_the_same_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: dict[str, Any] = {"runs": 100, "measure": {"evidence": ["structure"]}}
    swept |= {"network": {"kind": "cycle", "nodes": 4}, "data": {"name": "wine", "features": 2}}
    sums = {"plain": Plain(), "secure_sum": SecureSum()}  # objects that are given stay in this process
    now = [0.0]
    done_first: list[int] = []

    def tell(done: float, total: int, what: str) -> None:
        now[0] = math.inf if done >= 1 else 0.0
        done_first.extend([done] * (what == "running"))

    with monkeypatch.context() as patched:
        clock = SimpleNamespace(time=lambda: now[0], process_time=time.process_time)
        patched.setattr(run_cell, "time", clock)
        first = secmix.audit(swept, tmp_path, protocols=sums, formats=["json"], progress=tell, time_limit=1e6)
    assert [cell.unmeasured for cell in first.cells] == [[], [LATE]]
    assert [cell.verdict for cell in first.cells] == ["violated", "inconclusive"]
    assert LATE in first.cells[1].sentence
    second = secmix.audit(swept, tmp_path, protocols=sums, formats=["json"], progress=tell)
    assert done_first == [0, 1]
    assert second.cells[0].nodes == first.cells[0].nodes
    assert second.cells[1].unmeasured == []
    assert second == secmix.audit(swept, tmp_path / "whole", protocols=sums, formats=["json"])


SLEEPERS = """
import pathlib, time
from secmix.protocols import Plain
FLAG = pathlib.Path(__file__).parent / "asleep"
def sleep():
    FLAG.touch()
    time.sleep(3600)
class AfterAll(Plain):
    def advise(self, shown):
        sleep()
class InItsRuns(Plain):
    def average(self, inputs, *given, **more):
        if len(inputs) > 50:
            sleep()
        return super().average(inputs, *given, **more)
"""


@pytest.mark.build
@pytest.mark.parametrize(
    ("name", "verdict", "left_out"),
    [
        ("AfterAll", "violated", ["what to change: not reached", f"the rest: {LATE}"]),
        ("InItsRuns", "inconclusive", [LATE]),
    ],
)
def test_what_runs_when_the_time_is_up_is_ended_and_what_was_shown_stays(
    name: str, verdict: str, left_out: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sleepers.py").write_text(SLEEPERS)
    monkeypatch.syspath_prepend(tmp_path)
    asleep = tmp_path / "asleep"
    clock = SimpleNamespace(time=lambda: math.inf if asleep.exists() else 0.0)
    monkeypatch.setattr(processes, "time", clock)
    scenario = {
        "network": {"kind": "cycle", "nodes": 4},
        "runs": 100,
        "data": {"name": "wine", "features": 2},
        "protocol": {"name": f"sleepers:{name}"},
        "adversary": {"name": "curious_server"},
        "measure": {"evidence": ["structure"]},
    }
    (cell,) = secmix.audit(scenario, time_limit=1e6, allow_code=True).cells
    assert cell.verdict == verdict
    assert cell.unmeasured[-len(left_out) :] == left_out
    assert LATE in cell.sentence


def test_a_script_that_starts_no_processes_is_audited_in_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_cells, "Workers", failing(processes.NotBegun("put the call under a guard")))
    assert audited(time_limit=1e6).verdict == "violated"


def test_progress_tells_the_steps_of_a_cell() -> None:
    told: list[tuple[float, str]] = []
    scenario = {"network": {"kind": "cycle", "nodes": 4}, "runs": 100, "data": {"name": "wine", "features": 2}}
    scenario |= {"protocol": {"name": "secure_aggregation"}, "measure": {"evidence": ["structure", "gaussian"]}}
    secmix.audit(scenario, progress=lambda done, total, what: told.append((done, what)))
    done = [each for each, _ in told]
    assert done == sorted(done)
    assert len({each for each in done if 0 < each < 1}) >= 6
    for what in ("evidence 'structure'", "evidence 'gaussian'", "what to change"):
        assert any(said.endswith(f": {what}") for _, said in told)


def test_an_early_look_tells_a_violation_before_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_cell, "_SELDOM", -1.0)
    monkeypatch.setattr(proof, "_proved", failing(MemoryError()))
    cell = audited()
    assert cell.verdict == "violated"
    assert cell.unmeasured[0] == "the proof, and what follows: not reached"
    cell = audited("secure_aggregation")
    assert (cell.verdict, {node.verdict for node in cell.nodes}) == ("inconclusive", {"inconclusive"})


def test_the_first_runs_tell_a_violation_before_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of a hundred columns take half a minute in all: what the first runs show need not wait for it."""
    monkeypatch.setattr(audit_cell, "_SELDOM", -1.0)
    monkeypatch.setattr(observe, "block_size", lambda cell, setup: 120)
    monkeypatch.setattr(observed, "sends_alike", failing(MemoryError()))
    cell = audited(runs=300)
    assert cell.verdict == "violated"
    assert cell.unmeasured[0] == "the other 180 runs, and what follows: not reached"
    cell = audited("secure_aggregation", runs=300)
    assert (cell.verdict, {node.verdict for node in cell.nodes}) == ("inconclusive", {"inconclusive"})


# --- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux holds a process to a limit on its data")
def test_more_memory_than_the_limit_is_not_had() -> None:
    with within(64), pytest.raises(MemoryError):
        np.empty(2**27)
    with within(64):
        np.empty(2**20)
    np.empty(2**27)  # a gibibyte, which nobody touches


@pytest.mark.build
def test_no_more_runs_are_made_than_fit_and_the_report_says_so() -> None:
    decoder = {"evidence": ["structure", "decoders"]}  # which reads more from more runs
    few = audited(data={"name": "breast_cancer", "features": 20}, memory_limit=100, runs=3000, measure=decoder)
    note = "of 3000 runs were made: memory_limit = 100 MiB allows no more"
    assert any(note in each for each in few.notes)
    assert not any("runs were made" in each for each in audited().notes)


def test_a_report_states_no_finding_about_what_was_not_measured(tmp_path: Path) -> None:
    scenario = {
        "network": {"kind": "cycle", "nodes": 4},
        "data": {"name": "wine", "features": 2},
        "protocol": {"name": "plain"},
        "adversary": {"name": "curious_server"},
    }
    secmix.audit(scenario, tmp_path, formats=["html", "md", "sarif"], time_limit=1e-3)
    page, text, alerts = (Path(tmp_path, f"report.{form}").read_text() for form in ("html", "md", "sarif"))
    assert "<p>Not measured.</p>" in page
    assert "No combination of inputs" not in page
    assert "Known exactly: not measured." in text
    assert "| inconclusive | not measured | the time limit had passed |" in text
    assert "normalised leakage not measured)" in alerts


def test_a_time_limit_is_a_number_of_seconds() -> None:
    with pytest.raises(SecmixError, match="time_limit must be above 0"):
        secmix.audit({}, time_limit=0)
