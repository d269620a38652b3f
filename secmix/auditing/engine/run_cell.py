"""One cell of an audit from its scenario: built, tried, run and judged; a run that fails is a finding too."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace

from secmix._base.plugins import code_allowed
from secmix.auditing import decide
from secmix.auditing.cells.attempt import LATE, place_of, why_failed
from secmix.auditing.cells.audit_cell import audit_cell
from secmix.auditing.cells.fields import failed, without_rest
from secmix.auditing.cells.steps import CellResult, Tell, Word
from secmix.auditing.engine.estimate import Estimate, estimate, runs_that_fit
from secmix.auditing.engine.memory import within
from secmix.auditing.engine.weighing import weigh
from secmix.auditing.exposure.policy import with_coalitions
from secmix.auditing.observation import collaborations, observe
from secmix.auditing.observation.observe import seeds_of
from secmix.auditing.report import Cell
from secmix.auditing.setup import CollaborationSetup, Given, Ready, SumSetup, build_setup
from secmix.auditing.soundness import fresh
from secmix.errors import SecmixError
from secmix.scenario import Scenario
from secmix.transcript import at_most, unrelated

_CELLS = threading.RLock()


def run_cell(
    cell: Scenario,
    given: Given | None,
    reproduce: str,
    allow_code: bool = False,
    tell: Tell | None = None,
    ready: dict[str, Ready] | None = None,
    deadline: float = math.inf,
) -> CellResult:
    """Run and judge one cell. A protocol that fails while running is a finding too: *inconclusive*, with the cause.

    Names like ``package.module:name`` are loaded only where ``allow_code`` says so. ``tell`` is told what begins, and
    the result so far; a violation in it stays one whatever fails later. ``ready`` holds rows, as in
    :func:`build_setup`. After ``deadline`` (as of ``time.time``) nothing more is begun. No more runs are made than
    ``memory_limit`` holds, and what asks for more memory fails.
    """
    from threadpoolctl import threadpool_limits

    # One thread, always: the sums inside BLAS would else depend on how many there are, and so on the workers.
    # One cell at a time in a process: the kernel replaces names in the modules of a protocol while it follows it.
    with _CELLS, threadpool_limits(limits=1), code_allowed(allow_code), unrelated():
        setup = build_setup(cell, _new(given), ready)
        fitting = cell.model_copy(update={"runs": runs_that_fit(cell, setup)})
        shown: list[CellResult] = []

        def noted(word: Word) -> None:
            if word.so_far is not None:
                shown[:] = [_with_runs(word.so_far, cell, fitting)]
                word = replace(word, so_far=shown[0])
            if tell is not None:
                tell(word)

        if time.time() > deadline:
            return failed(cell, setup, LATE, reproduce), []
        try:
            with within(cell.memory_limit):
                result = audit_cell(fitting, setup, seeds_of(cell), reproduce, noted, deadline)
        except BaseException as error:  # sys.exit too
            why = _cause(error)
            return without_rest(shown[0], why) if shown else (failed(cell, setup, why, reproduce), [])
        judged, findings = _with_runs(result, cell, fitting)
        return _with_coalitions(cell, setup, judged, reproduce, deadline), findings


def _with_runs(result: CellResult, asked: Scenario, made: Scenario) -> CellResult:
    """Return the result with a note where fewer runs were made than the scenario asks for."""
    if made.runs == asked.runs:
        return result
    note = f"{made.runs} of {asked.runs} runs were made: memory_limit = {asked.memory_limit} MiB holds no more"
    cell, findings = result
    return cell.model_copy(update={"notes": [note, *cell.notes]}), findings


def _cause(error: BaseException) -> str:
    why = why_failed(error)  # raises what interrupts
    if isinstance(error, SecmixError):
        return f"the run failed: {why}"
    if isinstance(error, MemoryError):
        mend = "run it again with fewer --workers, runs, nodes or columns, or raise memory_limit"
        return f"the run failed for want of memory; {mend}"
    return f"the run failed with {type(error).__name__}{place_of(error)}"


def _with_coalitions(
    cell: Scenario, setup: SumSetup | CollaborationSetup, judged: Cell, reproduce: str, deadline: float
) -> Cell:
    """Return the cell judged by ``min_colluders``, where the policy sets it; where that fails, nothing holds."""
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
    cell: Scenario, given: Given | None, reproduce: str, why: str, allow_code: bool, ready: dict[str, Ready] | None
) -> CellResult:
    """Return the result of a cell of which nothing came back."""
    with code_allowed(allow_code):
        return failed(cell, build_setup(cell, _new(given), ready), why, reproduce), []


def try_out(
    cell: Scenario, given: Given | None, allow_code: bool = False, ready: dict[str, Ready] | None = None
) -> Estimate:
    """Build what the cell names and run them once, in small: whatever does not fit together shows here.

    Return what the whole cell takes, roughly. ``ready`` holds rows, as in :func:`build_setup`.

    Raises
    ------
    SecmixError
        If it cannot be run.
    """
    with code_allowed(allow_code), unrelated():
        setup = build_setup(cell, _new(given), ready)
        begun = time.process_time()
        _trial(cell, setup)
        return estimate(cell, setup, time.process_time() - begun)


def _trial(cell: Scenario, setup: SumSetup | CollaborationSetup) -> None:
    setup = replace(setup, protocol=fresh(setup.protocol))  # an object that remembers begins its life in the audit
    if isinstance(setup, CollaborationSetup):
        too_large = (
            f"its messages take more in one run than the {cell.message_limit:.1f} MiB that memory_limit = "
            f"{cell.memory_limit} leaves for them; raise it, or use less"
        )
        with at_most(2 * cell.message_limit * 2**20, too_large):  # the messages of a run, and of all runs joined
            collaborations.block_size(cell, setup)
    else:
        weigh(cell, setup)
        observe.block_size(cell, setup)


def _new(given: Given | None) -> Given | None:
    """``given`` with copies of the adversaries: one that remembers is asked for the first time in every cell."""
    if given is None:
        return None
    return {key: fresh(part) if key[0] == "adversary" else part for key, part in given.items()}
