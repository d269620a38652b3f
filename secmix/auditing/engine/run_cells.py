"""Run all cells of an audit: in this process or in several, resumable, in the scenario's order."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from secmix._base.checks import Progress
from secmix.auditing import proof
from secmix.auditing.cells.attempt import LATE
from secmix.auditing.cells.fields import without_rest
from secmix.auditing.cells.steps import CellResult, Word
from secmix.auditing.engine import cell_cache
from secmix.auditing.engine.estimate import CostEstimate, warning
from secmix.auditing.engine.processes import Lost, NotBegun, Notify, Workers
from secmix.auditing.engine.run_cell import lost, run_cell, try_out
from secmix.auditing.report import Cell, covered
from secmix.auditing.setup import PreparedData, ReadyParts
from secmix.errors import NotConverged, SecmixError, cause, shown
from secmix.scenario import Scenario


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
    ``time.time``) nothing new starts.

    Raises
    ------
    SecmixError
        If a scenario cannot be run, or a worker process dies.
    """
    proof.forget()
    notify: Progress = progress or (lambda done, total, what: None)
    notify(0, len(cells), "checking the scenario")
    prepared: dict[str, PreparedData] = {}
    estimates: dict[int, CostEstimate] = {}
    tried: list[float] = []  # processor seconds of each trial
    with threadpool_limits(limits=1):
        for i, cell in enumerate(cells):
            begun = time.process_time()
            # Other draws may converge; if not, the cell says so and the others finish.
            try:
                with suppress(NotConverged):
                    estimates[i] = try_out(cell, ready_parts, allow_code, prepared)
            except KeyboardInterrupt:
                raise
            except SecmixError as error:
                error.cell = i
                raise
            except MemoryError as error:
                raise SecmixError(f"{_pair(cell)} does not fit into memory; use fewer nodes, rows or rounds") from error
            except BaseException as error:  # a user's part may raise anything, including SystemExit
                raise SecmixError(
                    f"{_pair(cell)} fails with {cause(error)}; if the part is your own, fix it there (--debug shows "
                    "the traceback)"
                ) from error
            tried.append(time.process_time() - begun)
    results: dict[int, CellResult] = {}
    files = [None if store is None else store / f"{cell_cache.fingerprint(cell, ready_parts)}.json" for cell in cells]
    for i, file in enumerate(files):
        if file is not None and (stored := cell_cache.load(file, commands[i])) is not None:
            results[i] = stored
    todo = [i for i in range(len(cells)) if i not in results]
    if ahead := warning([estimates[i] for i in todo if i in estimates], workers):
        notify(len(results), len(cells), ahead)
    notify(len(results), len(cells), "running")

    shown: dict[int, CellResult] = {}
    shares: dict[int, float] = {}  # finished share of each running cell

    def early(i: int, word: Word) -> None:
        if i in results:
            return
        shares[i], what = word.share, f"{cells[i].protocol.title} × {cells[i].adversary.title}: {word.what}"
        if word.so_far is not None:
            if word.so_far[0].verdict == "violated" and (i not in shown or shown[i][0].verdict != "violated"):
                what = _verdict_line(cells[i], word.so_far[0])
            shown[i] = word.so_far
        notify(len(results) + sum(shares.values()), len(cells), what)

    if workers > 1:  # the longest first, so that no worker is idle at the end
        todo.sort(key=lambda i: -tried[i])
    if scheduler is None:
        running = _run(cells, commands, todo, ready_parts, allow_code, workers, early, meanwhile, prepared, deadline)
    else:
        running = _run_on_cluster(cells, commands, todo, ready_parts, allow_code, scheduler, deadline)
    with closing(running):  # the end of the audit ends its processes at once
        for i, answer in running:
            if not isinstance(answer, Lost):
                judged = answer
            elif i in shown:
                judged = without_rest(shown[i], str(answer))
            else:
                judged = lost(cells[i], ready_parts, commands[i], str(answer), allow_code, prepared)
            results[i] = judged
            shares.pop(i, None)
            file = files[i]
            if file is not None and judged[1] and not judged[0].unmeasured:  # otherwise it runs again next time
                cell_cache.store(file, judged)
            notify(len(results) + sum(shares.values()), len(cells), _verdict_line(cells[i], judged[0]))
    return [results[i] for i in range(len(cells))]


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
    # A process can be ended at the deadline; objects of the caller may not be importable there.
    in_processes = workers > 1 and len(todo) > 1
    if in_processes or (deadline < math.inf and not ready_parts):
        shared = ready_parts, allow_code, prepared, deadline  # so that rows need not be read again there
        tasks = [(cells[i], commands[i]) for i in todo]
        try:
            with Workers(min(workers, len(todo)), run_in_worker, shared, tasks, deadline, LATE) as pool:
                meanwhile()
                for place, result in pool.answers(lambda place, word: early(todo[place], word)):
                    yield todo[place], result
            return
        except NotBegun as why:
            if in_processes:
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
        client: Any = Client(address, timeout="10s")
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
