"""Run all cells of an audit: in this process or in several, resumable, in the scenario's order."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from secmix._base.checks import Progress
from secmix.auditing import proof
from secmix.auditing.cells.audit_cell import Word
from secmix.auditing.cells.fields import without_rest
from secmix.auditing.engine import cell_cache
from secmix.auditing.engine.processes import Lost, NotBegun, Notify, Workers, are_needed
from secmix.auditing.engine.run_cell import CostEstimate, lost, run_cell, try_out
from secmix.auditing.evidence.interface import LATE, place_of
from secmix.auditing.observation.memory import FEW_RUNS
from secmix.auditing.report import Cell, CellResult, covered
from secmix.auditing.setup import PreparedData, ReadyParts
from secmix.errors import NotConverged, SecmixError, cause, kind_of, shown
from secmix.scenario import Scenario

_ANSWERS_WITHIN = "10s"  # or there is no scheduler
_LONG, _LARGE = 30, 2048  # seconds, and MiB, above which a warning is given
_ESTIMATE = "estimate: "  # begins what is said before the start


def run_cells(
    cells: Sequence[Scenario],
    commands: Sequence[str],
    *,
    ready_parts: ReadyParts | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    store: Path | None = None,
    progress: Progress | None = None,
    allow_code: bool = False,
    meanwhile: Callable[[], None] = lambda: None,
    deadline: float = math.inf,
) -> list[CellResult]:
    """Run ``cells``; the results, in the same order, do not depend on ``workers`` or a ``scheduler``.

    Every cell is tried in small before any is run, so that a mistake in the last one costs no time. Finished cells are
    stored in ``store`` and read back when the same audit starts again. Stored cells are identified by all that
    determines them, including the source of a user's own parts, and are read only if this user stored them.
    ``meanwhile`` is called once while other processes run the cells, if they do. After ``deadline`` (as of
    ``time.time``) nothing new starts. Raises SecmixError if a scenario cannot be run, or a worker process dies.
    """
    proof.forget()
    notify: Progress = progress or (lambda done, total, what: None)
    notify(0, len(cells), "checking the scenario")
    prepared: dict[str, PreparedData] = {}
    with threadpool_limits(limits=1):
        trials = [_tried_out(i, cell, ready_parts, allow_code, prepared) for i, cell in enumerate(cells)]
    files = [None if store is None else store / f"{cell_cache.fingerprint(cell, ready_parts)}.json" for cell in cells]
    results = _Results(cells, files, notify)
    todo = results.read(commands)
    costs = [cost for i in todo if (cost := trials[i].cost) is not None]
    for ahead in filter(None, [warning(costs, workers), *clearing_nobody(costs)]):
        results.notify_of(ahead)
    results.notify_of("running")
    if workers > 1:  # the longest first, so that no worker is idle at the end
        todo.sort(key=lambda i: -trials[i].seconds)
    if scheduler is None:
        early = results.report
        running = _run(cells, commands, todo, ready_parts, allow_code, workers, early, meanwhile, prepared, deadline)
    else:
        running = _run_on_cluster(cells, commands, todo, ready_parts, allow_code, scheduler, deadline)
    with closing(running):  # the end of the audit ends its processes at once
        for i, answer in running:
            if not isinstance(answer, Lost):
                results.finish(i, answer)
            elif i in results.shown:
                results.finish(i, without_rest(results.shown[i], str(answer)))
            else:
                results.finish(i, lost(cells[i], ready_parts, commands[i], str(answer), allow_code, prepared))
    return [results.finished[i] for i in range(len(cells))]


@dataclass(frozen=True)
class _Trial:
    """One run of a cell in small."""

    cost: CostEstimate | None  # of the whole cell; None where the trial did not converge
    seconds: float  # of the processor


def _tried_out(
    i: int, cell: Scenario, ready_parts: ReadyParts | None, allow_code: bool, prepared: dict[str, PreparedData]
) -> _Trial:
    """Try cell ``i`` in small; an error is one that a user can read."""
    begun = time.process_time()
    cost = None
    try:
        # Other draws may converge; if not, the cell says so and the others finish.
        with suppress(NotConverged):
            cost = try_out(cell, ready_parts, allow_code, prepared)
    except KeyboardInterrupt:
        raise
    except SecmixError as error:
        error.cell = i
        raise
    except MemoryError as error:
        raise SecmixError(f"{_pair(cell)} does not fit into memory; use fewer nodes, rows or rounds") from error
    except BaseException as error:  # a user's part may raise anything, including SystemExit
        own = place_of(error)
        what = f"{kind_of(error)}{own}" if own else cause(error)
        raise SecmixError(
            f"{_pair(cell)} fails with {what}; if the part is your own, fix it there (--debug shows the traceback, "
            "in Python the error that this one comes from)"
        ) from error
    return _Trial(cost, time.process_time() - begun)


def cost_in_words(estimates: Sequence[CostEstimate], workers: int = 1) -> str:
    """Describe estimates of cells in words.

    >>> cost_in_words([CostEstimate(10.0, 300.0), CostEstimate(150.0, 5000.0)])
    'roughly 3 min on one processor and up to 4.9 GiB of memory, by its sizes and a trial'
    >>> cost_in_words([CostEstimate(10.0, 300.0)] * 4, workers=2)
    'roughly 20 s on 2 processors and up to 300 MiB of memory each, by its sizes and a trial'
    """
    used = min(workers, len(estimates))
    longest = max(cell.seconds for cell in estimates)
    seconds = max(longest, sum(cell.seconds for cell in estimates) / used)
    most = max(cell.mebibytes for cell in estimates)
    on = "one processor" if used == 1 else f"{used} processors"
    memory = f"{most:.0f} MiB" if most < 1000 else f"{most / 1024:.1f} GiB"
    return (
        f"roughly {_time(seconds)} on {on} and up to {memory} of memory{' each' * (used > 1)}, by its sizes and a trial"
    )


def warning(estimates: Sequence[CostEstimate], workers: int) -> str:
    """Warn before the start if an audit is long or large; otherwise return ""."""
    if sum(cell.seconds for cell in estimates) < _LONG * workers and all(e.mebibytes < _LARGE for e in estimates):
        return ""
    number = len(estimates)
    return f"{_ESTIMATE}{number} combination{'s' * (number > 1)}, {cost_in_words(estimates, workers)}"


def clearing_nobody(estimates: Sequence[CostEstimate]) -> list[str]:
    """Warn before the start where only a few runs fit, which clear nobody, and name the first key to change.

    >>> clearing_nobody([CostEstimate(10.0, 300.0), CostEstimate(9.0, 300.0, "a run takes 9 GiB; raise it, or wait")])
    ['estimate: only 2 runs are made, which clear nobody: a run takes 9 GiB; raise it']
    """
    reasons = dict.fromkeys(each.too_wide.partition(", or ")[0] for each in estimates if each.too_wide)
    return [f"{_ESTIMATE}only {FEW_RUNS} runs are made, which clear nobody: {why}" for why in reasons]


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


@dataclass(frozen=True)
class _Results:
    """Results of the cells so far: stored in files, if there are any, and reported as they come."""

    cells: Sequence[Scenario]
    files: Sequence[Path | None]
    notify: Progress
    finished: dict[int, CellResult] = field(default_factory=dict)
    shown: dict[int, CellResult] = field(default_factory=dict)  # what was reported of running cells
    shares: dict[int, float] = field(default_factory=dict)  # finished share of each running cell

    def read(self, commands: Sequence[str]) -> list[int]:
        """Load the stored results; return the cells that are left."""
        for i, file in enumerate(self.files):
            if file is not None and (stored := cell_cache.load(file, commands[i])) is not None:
                self.finished[i] = stored
        return [i for i in range(len(self.cells)) if i not in self.finished]

    def notify_of(self, what: str) -> None:
        """Tell what is happening, and how much is done."""
        self.notify(len(self.finished) + sum(self.shares.values()), len(self.cells), what)

    def report(self, i: int, word: Word) -> None:
        """Tell what a running cell is at, or that it is violated."""
        if i in self.finished:
            return
        cell = self.cells[i]
        self.shares[i], what = word.share, f"{cell.protocol.title} × {cell.adversary.title}: {word.what}"
        if word.so_far is not None:
            before = self.shown.get(i)
            if word.so_far[0].verdict == "violated" and (before is None or before[0].verdict != "violated"):
                what = _verdict_line(cell, word.so_far[0])
            self.shown[i] = word.so_far
        self.notify_of(what)

    def finish(self, i: int, result: CellResult) -> None:
        """Keep a result; one that lacks something is not stored, so that it runs again next time."""
        self.finished[i] = result
        self.shares.pop(i, None)
        file = self.files[i]
        if file is not None and result[1] and not result[0].unmeasured:
            cell_cache.store(file, result)
        self.notify_of(_verdict_line(self.cells[i], result[0]))


def _verdict_line(cell: Scenario, judged: Cell) -> str:
    where = covered([judged]) if judged.verdict == "holds" else ""
    return f"{cell.protocol.title} × {cell.adversary.title}{where}: {judged.verdict}"


def _pair(cell: Scenario) -> str:
    return f"{shown(cell.protocol.title)} against {shown(cell.adversary.title)}"


def _run(
    cells: Sequence[Scenario],
    commands: Sequence[str],
    todo: list[int],
    ready_parts: ReadyParts | None,
    allow_code: bool,
    workers: int,
    early: Callable[[int, Word], None],
    meanwhile: Callable[[], None],
    prepared: dict[str, PreparedData],
    deadline: float,
) -> Generator[tuple[int, CellResult | Lost], None, None]:
    if are_needed(workers, len(todo), deadline, ready_parts):
        shared = ready_parts, allow_code, prepared, deadline  # so that rows need not be read again there
        tasks = [(cells[i], commands[i]) for i in todo]
        try:
            with Workers(min(workers, len(todo)), run_in_worker, shared, tasks, deadline, LATE) as pool:
                meanwhile()
                for place, result in pool.answers(lambda place, word: early(todo[place], word)):
                    yield todo[place], result
            return
        except NotBegun as why:
            if workers > 1 and len(todo) > 1:
                raise SecmixError(str(why)) from None
    for i in todo:
        raised: list[BaseException] = []
        report = partial(_report, early, i, raised)
        result = run_cell(cells[i], ready_parts, commands[i], allow_code, report, prepared, deadline)
        for error in raised:
            raise error
        yield i, result


def _report(early: Callable[[int, Word], None], i: int, raised: list[BaseException], word: Word) -> None:
    """Report on a running cell; an error of the report does not fail the cell."""
    try:
        early(i, word)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raised.append(error)


def run_in_worker(
    shared: tuple[ReadyParts | None, bool, dict[str, PreparedData], float], task: tuple[Scenario, str], notify: Notify
) -> CellResult:
    """Run a cell and its command in a worker process; ``notify`` sends reports to the parent."""
    (ready_parts, allow_code, prepared, deadline), (cell, command) = shared, task
    return run_cell(cell, ready_parts, command, allow_code, notify, prepared, deadline)


def _run_on_cluster(
    cells: Sequence[Scenario],
    commands: Sequence[str],
    todo: list[int],
    ready_parts: ReadyParts | None,
    allow_code: bool,
    address: str,
    deadline: float,
) -> Generator[tuple[int, CellResult], None, None]:
    """Run cells on the workers of a Dask scheduler; a cell whose worker dies runs again on another."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise SecmixError("--scheduler needs Dask: pip install 'secmix[cluster]'") from None
    try:
        client: Any = Client(address, timeout=_ANSWERS_WITHIN)
    except (OSError, ValueError, TimeoutError) as error:
        raise SecmixError(
            f"no Dask scheduler answers at {shown(address)}; start one there, or give another address"
        ) from error
    with client:
        futures = {
            client.submit(
                run_cell,
                cells[i],
                ready_parts,
                commands[i],
                allow_code,
                deadline=deadline,
                pure=False,
                key=f"secmix-{os.getpid()}-{i}",
            ): i
            for i in todo
        }
        for future in as_completed(futures):
            fault = future.exception()
            if fault is not None:
                raise SecmixError(
                    f"a cell failed on the cluster ({fault if isinstance(fault, SecmixError) else cause(fault)}); "
                    "finished cells are stored. The workers need the same secmix, and must be able to import your parts"
                ) from fault
            yield futures[future], future.result()
