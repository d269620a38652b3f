"""One cell of an audit from its scenario: built, tried, run and judged; a run that fails is a finding too."""

from __future__ import annotations

import math
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from secmix._base.plugins import code_allowed
from secmix.auditing import decide
from secmix.auditing.cells.audit_cell import Notify, Word, audit_cell
from secmix.auditing.cells.fields import failed, without_rest
from secmix.auditing.evidence.interface import LATE, is_exact, place_of, why_failed
from secmix.auditing.exposure.policy import with_coalitions
from secmix.auditing.observation import collaboration_observation
from secmix.auditing.observation.memory import (
    BLOCKS,
    FEW_RUNS,
    SHOWN_BY_FEW,
    TooLong,
    check_memory,
    mebibytes_of_run,
    numbers_summed,
    planned_runs,
    room_for_messages,
    too_large_to_probe,
    too_wide,
    trial_run,
)
from secmix.auditing.observation.observe import seeds_of
from secmix.auditing.released.membership import MOST_RUNS
from secmix.auditing.report import Cell, CellResult
from secmix.auditing.setup import CollaborationSetup, PreparedData, ReadyParts, SumSetup, build_setup, deep_copy
from secmix.errors import SecmixError
from secmix.protocols.released import FittedMixture, Released
from secmix.scenario import FEWEST_RUNS, Scenario
from secmix.transcript import at_most, unrelated

_CELLS = threading.RLock()

# Fitted to audits of 5 to 20 nodes with 2 to 30 columns; a cell may take several times as long.
_LEAST = 2.0  # seconds of any cell
_SUMMED = 300  # summed numbers, over nodes and iterations, per second of measuring
_SENT = 8000  # messages of a sum, over iterations, per second: PDMM of 20 to 100 nodes in reports/scale
_EXACT = 0.1  # share of that time if nothing is measured
_MEASURES = {"decoders", "information", "inversion", "ksg", "reconstruction"}
_BASE = 250  # MiB of any process


def run_cell(
    cell: Scenario,
    ready_parts: ReadyParts | None,
    reproduce: str,
    allow_code: bool = False,
    notify: Notify | None = None,
    prepared: dict[str, PreparedData] | None = None,
    deadline: float = math.inf,
) -> CellResult:
    """Run and judge one cell. A protocol that fails while running is a finding too: *inconclusive*, with the cause.

    Names like ``package.module:name`` are loaded only if ``allow_code`` is set. ``notify`` is called with each new step
    and the result so far; a violation in it stays one whatever fails later. ``prepared`` has rows read before, as in
    :func:`build_setup`. After ``deadline`` (as of ``time.time``) nothing new starts. As many runs are made as
    :func:`planned_runs` says, and allocations beyond ``memory_limit`` fail.
    """
    from threadpoolctl import threadpool_limits

    # Always one thread, since sums inside BLAS depend on the number of threads, and so on the number of workers.
    # One cell at a time in a process, since the kernel replaces names in a protocol's modules while it traces it.
    with _CELLS, threadpool_limits(limits=1), code_allowed(allow_code), unrelated():
        setup = _weighed(cell, build_setup(cell, _new(ready_parts), prepared))
        runs, fewer = planned_runs(cell, setup)
        planned = cell.model_copy(update={"runs": runs})
        shown: list[CellResult] = []

        def report(word: Word) -> None:
            if word.so_far is not None:
                shown[:] = [_noted(word.so_far, fewer)]
                word = replace(word, so_far=shown[0])
            if notify is not None:
                notify(word)

        if time.time() > deadline:
            return failed(cell, setup, LATE, reproduce), []
        try:
            with within(cell.memory_limit):
                result = _audited(planned, setup, reproduce, report, deadline)
        except BaseException as error:  # sys.exit too
            why = _cause(error)
            return without_rest(shown[0], why) if shown else (failed(cell, setup, why, reproduce), [])
        judged, findings = _noted(result, fewer)
        return _with_coalitions(cell, setup, judged, reproduce, deadline), findings


def _audited(
    cell: Scenario, setup: SumSetup | CollaborationSetup, reproduce: str, notify: Notify, deadline: float
) -> CellResult:
    """Audit with the runs that ``cell`` asks for, or with the few that fit."""
    try:
        return audit_cell(cell, setup, seeds_of(cell), reproduce, notify, deadline)
    except TooLong as error:
        few = _few(cell, setup, error)
    made = cell.model_copy(update={"runs": planned_runs(cell, few)[0]})
    return audit_cell(made, few, seeds_of(cell), reproduce, notify, deadline)


def _noted(result: CellResult, note: str) -> CellResult:
    """Put ``note``, if there is one, before the notes of the cell."""
    cell, findings = result
    return (cell.model_copy(update={"notes": [note, *cell.notes]}) if note else cell), findings


def _cause(error: BaseException) -> str:
    why = why_failed(error)  # re-raises interrupts
    if isinstance(error, SecmixError):
        return f"the run failed: {why}"
    if isinstance(error, MemoryError):
        remedy = "run it again with fewer --workers, runs, nodes or columns, or raise memory_limit"
        return f"the run failed for lack of memory; {remedy}"
    return f"the run failed with {type(error).__name__}{place_of(error)}"


def _with_coalitions(
    cell: Scenario, setup: SumSetup | CollaborationSetup, judged: Cell, reproduce: str, deadline: float
) -> Cell:
    """Judge the cell by ``min_colluders``, if the policy sets it; if that fails, nothing holds."""
    if cell.policy.min_colluders is None:
        return judged
    try:
        if time.time() <= deadline:
            return with_coalitions(cell, setup, judged, reproduce)
        why = LATE
    except BaseException as error:
        why = why_failed(error)
    verdict = decide.of_cell([judged.verdict, "inconclusive"])
    return without_rest((judged, []), why, "who would have to collude")[0].model_copy(update={"verdict": verdict})


def lost(
    cell: Scenario,
    ready_parts: ReadyParts | None,
    reproduce: str,
    why: str,
    allow_code: bool,
    prepared: dict[str, PreparedData] | None,
) -> CellResult:
    """Make the result of a cell whose process returned nothing."""
    with code_allowed(allow_code):
        return failed(cell, build_setup(cell, _new(ready_parts), prepared), why, reproduce), []


@dataclass(frozen=True)
class CostEstimate:
    """Seconds of one processor, and MiB, of a cell."""

    seconds: float
    mebibytes: float
    too_wide: str = ""  # why only a few runs are made, which clear nobody; empty where enough are


def try_out(
    cell: Scenario,
    ready_parts: ReadyParts | None,
    allow_code: bool = False,
    prepared: dict[str, PreparedData] | None = None,
) -> CostEstimate:
    """Build the cell's parts and run them once, in small: parts that do not fit together fail here.

    Returns a rough estimate of the whole cell. ``prepared`` has rows read before, as in :func:`build_setup`. Raises
    SecmixError if it cannot be run.
    """
    with code_allowed(allow_code), unrelated():
        setup = _weighed(cell, build_setup(cell, _new(ready_parts), prepared))
        if isinstance(setup, SumSetup):
            check_memory(cell, setup)
        begun = time.process_time()
        try:
            messages = _trial(cell, setup)
        except TooLong as error:
            setup = _few(cell, setup, error)
            messages = _trial(cell, setup)
        return estimate(cell, setup, time.process_time() - begun, messages)


def estimate(cell: Scenario, setup: SumSetup | CollaborationSetup, trial: float, messages: int = 0) -> CostEstimate:
    """Estimate one cell from a trial of one run: its seconds, and its messages in one iteration."""
    base = _BASE + BLOCKS * cell.message_limit
    if isinstance(setup, CollaborationSetup):  # its runs are made one after the other
        released = setup.protocol.inner if isinstance(setup.protocol, Released) else None
        # Distributed EM makes many runs at once.
        by_one = released is not None and not isinstance(released, FittedMixture)
        shadows = cell.measure.work(MOST_RUNS) if by_one else 0
        return CostEstimate(_LEAST + trial * (cell.runs + shadows), base)
    base += BLOCKS * (room_for_messages(cell, setup) - cell.message_limit)
    summed = numbers_summed(cell, setup, setup.rows.shape[1])
    share = 1.0 if _MEASURES & set(cell.measure.evidence) else _EXACT
    share *= FEW_RUNS / FEWEST_RUNS if setup.too_wide else 1.0
    seconds = _LEAST + trial * cell.model.iterations + share * summed / _SUMMED
    seconds += messages * cell.model.iterations / _SENT
    why = setup.too_wide.removeprefix(f"{SHOWN_BY_FEW}: ")
    return CostEstimate(seconds, base + planned_runs(cell, setup)[0] * mebibytes_of_run(summed), why)


def _few(cell: Scenario, setup: SumSetup | CollaborationSetup, error: TooLong) -> SumSetup:
    """Return ``setup`` for a few runs only, where no run fits beside others; otherwise raise ``error``."""
    if not isinstance(setup, SumSetup) or setup.too_wide or not is_exact(cell, setup):
        raise error
    return replace(setup, too_wide=f"{SHOWN_BY_FEW}: {error}", unproved=error.unproved)


def _weighed(cell: Scenario, setup: SumSetup | CollaborationSetup) -> SumSetup | CollaborationSetup:
    """Return ``setup``, with a note if a sum is so wide that only a few runs are made."""
    return replace(setup, too_wide=too_wide(cell, setup)) if isinstance(setup, SumSetup) else setup


def _trial(cell: Scenario, setup: SumSetup | CollaborationSetup) -> int:
    """Run once, in small, and return the messages that a sum sends in an iteration; 0 of other protocols."""
    setup = replace(setup, protocol=deep_copy(setup.protocol))  # what keeps state must start anew in the audit
    if isinstance(setup, CollaborationSetup):
        too_large = SecmixError(
            f"the messages of one run take more than the {cell.message_limit:.1f} MiB that memory_limit = "
            f"{cell.memory_limit} leaves for them; raise memory_limit, or use fewer nodes or rows"
        )
        with at_most(2 * cell.message_limit * 2**20, too_large):  # the messages of a run, and of all runs joined
            collaboration_observation.block_size(cell, setup)
        return 0
    unprobed = too_large_to_probe(cell, setup, exact=is_exact(cell, setup))
    return trial_run(cell, replace(setup, unprobed=unprobed))[1]


def _new(ready_parts: ReadyParts | None) -> ReadyParts | None:
    """Copy the adversaries of ``ready_parts``, since one that keeps state must start anew in every cell."""
    if ready_parts is None:
        return None
    return {key: deep_copy(part) if key[0] == "adversary" else part for key, part in ready_parts.items()}


@contextmanager
def within(mebibytes: float) -> Iterator[None]:
    """Limit this process to ``mebibytes`` MiB beyond its current memory; more is a ``MemoryError``.

    Only Linux enforces this (RLIMIT_DATA of setrlimit(2)); elsewhere nothing is limited.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    before, hardest = resource.getrlimit(resource.RLIMIT_DATA)
    soft = _taken() + int(mebibytes * 2**20)
    limits = [soft, *(limit for limit in (before, hardest) if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hardest))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hardest))


def _taken() -> int:
    """Measure the bytes that this process has reserved for its data."""
    match = re.search(r"^VmData:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    return int(match[1]) * 1024 if match else 0
