"""A part of an audit that fails is a line of the report: what was shown before stays, and nobody is cleared."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import secmix
from secmix.auditing.cells import attempt, audit_cell, confirm
from secmix.auditing.cells.attempt import LATE
from secmix.auditing.cells.groups import gather
from secmix.auditing.engine import run_cell
from secmix.auditing.evidence import interface
from secmix.auditing.evidence.interface import Case, Evidence, Gathered
from secmix.auditing.exposure import policy
from secmix.auditing.report import Cell
from secmix.errors import SecmixError


def audited(name: str = "plain", time_limit: float | None = None, **changes: Any) -> Cell:
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
    return secmix.audit(scenario | changes, time_limit=time_limit).cells[0]


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def with_evidence(monkeypatch: pytest.MonkeyPatch, gather: Callable[..., Gathered]) -> None:
    extra = Evidence("extra", (), applies=lambda case: True, gather=gather, rank=9, always=True)
    everything = (*interface.installed(), extra)
    monkeypatch.setattr(interface, "installed", lambda: everything)


NO_ROOM = "the run failed for want of memory; run it again with fewer --workers or a smaller --memory-limit"
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


def test_nobody_is_cleared_where_an_evidence_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert audited("secure_aggregation").verdict == "holds"
    with_evidence(monkeypatch, failing(MemoryError()))
    cell = audited("secure_aggregation")
    assert cell.verdict == "inconclusive"
    assert all("not measured: evidence 'extra': it ran out of memory" in node.why for node in cell.nodes)


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
    (audit_cell, "confirmed", f"the rest: {NO_ROOM}"),
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
    cell = audited(**(ACTIVE if name == "robustness" else {}), policy={"max_revealed_nodes": 0, "min_colluders": 2})
    assert (cell.verdict, cell.unmeasured) == ("violated", [what])
    assert any(what in note for note in cell.notes)


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

    def gathered(each: Evidence, case: Case) -> Gathered:
        found = gather(each, case)
        if each.name == last:
            object.__setattr__(case, "deadline", 0.0)
        return found

    monkeypatch.setattr(audit_cell, "gather", gathered)


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
    monkeypatch.setattr(attempt, "time", SimpleNamespace(time=lambda: math.inf))
    cell = audited("secure_aggregation", 1e6, measure=measured)
    assert cell.verdict == "inconclusive"
    assert f"evidence 'structure': {LATE}" in cell.unmeasured


def test_cells_that_are_not_begun_in_time_are_named_and_the_same_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = [{"name": "plain"}, {"name": "secure_sum"}]
    swept = {"runs": 100, "measure": {"evidence": ["structure"]}, "sweep": {"protocol": sums}}
    swept |= {"network": {"kind": "cycle", "nodes": 4}, "data": {"name": "wine", "features": 2}}
    now = [0.0]
    done_first: list[int] = []

    def tell(done: int, total: int, what: str) -> None:
        now[0] = math.inf if done == 1 else 0.0
        done_first.extend([done] * (what == "running"))

    with monkeypatch.context() as patched:
        clock = SimpleNamespace(time=lambda: now[0], process_time=time.process_time)
        patched.setattr(run_cell, "time", clock)
        first = secmix.audit(swept, tmp_path, formats=["json"], progress=tell, time_limit=1.0)
    assert [cell.unmeasured for cell in first.cells] == [[], [LATE]]
    assert [cell.verdict for cell in first.cells] == ["violated", "inconclusive"]
    assert LATE in first.cells[1].sentence
    second = secmix.audit(swept, tmp_path, formats=["json"], progress=tell)
    assert done_first == [0, 1]
    assert second.cells[0].nodes == first.cells[0].nodes
    assert second.cells[1].unmeasured == []
    assert second == secmix.audit(swept, tmp_path / "whole", formats=["json"])


def test_a_time_limit_is_a_number_of_seconds() -> None:
    with pytest.raises(SecmixError, match="time_limit must be above 0"):
        secmix.audit({}, time_limit=0)
