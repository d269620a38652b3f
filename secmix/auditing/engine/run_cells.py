"""All cells of an audit: in this process or in several, resumable, in the scenario's order."""

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
from secmix.auditing.engine import cell_cache as keeping
from secmix.auditing.engine.estimate import Estimate, warning
from secmix.auditing.engine.processes import Lost, NotBegun, Tell, Workers
from secmix.auditing.engine.run_cell import lost, run_cell, try_out
from secmix.auditing.report import Verdict
from secmix.auditing.setup import Given, Ready
from secmix.errors import NotConverged, SecmixError, cause, shown
from secmix.scenario import Scenario


def run_cells(
    cells: Sequence[Scenario],
    commands: Sequence[str],
    *,
    given: Given | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    store: Path | None = None,
    progress: Progress | None = None,
    allow_code: bool = False,
    meanwhile: Callable[[], None] = lambda: None,
    deadline: float = math.inf,
) -> list[CellResult]:
    """The results of ``cells``, in their order; they do not depend on ``workers`` or a ``scheduler``.

    Every cell is tried in small before any is run, so that a mistake in the last one costs no time. Finished cells are
    kept in ``store``; when the same audit starts again there, they are read back. The kept cells are known by all that
    determines them, the source of a user's own parts included, and are read only as this user kept them.
    ``meanwhile`` is called once while other processes run the cells, where they do. After ``deadline`` (as of
    ``time.time``) nothing more is begun.

    Raises
    ------
    SecmixError
        If a scenario cannot be run, or a worker process dies.
    """
    proof.forget()
    tell: Progress = progress or (lambda done, total, what: None)
    tell(0, len(cells), "checking the scenario")
    ready: dict[str, Ready] = {}
    estimates: dict[int, Estimate] = {}
    tried: list[float] = []  # seconds of the processor that each trial took
    with threadpool_limits(limits=1):
        for i, cell in enumerate(cells):
            begun = time.process_time()
            # Other draws may converge; if not, the cell says so and the others finish.
            try:
                with suppress(NotConverged):
                    estimates[i] = try_out(cell, given, allow_code, ready)
            except KeyboardInterrupt:
                raise
            except SecmixError as error:
                error.cell = i
                raise
            except MemoryError as error:
                raise SecmixError(f"{_pair(cell)} does not fit into memory; use fewer nodes, rows or rounds") from error
            except BaseException as error:  # a user's own part may fail in any way, and may call sys.exit
                raise SecmixError(
                    f"{_pair(cell)} fails with {cause(error)}; if the part is your own, mend it there (--debug shows "
                    "the traceback)"
                ) from error
            tried.append(time.process_time() - begun)
    results: dict[int, CellResult] = {}
    places = [None if store is None else store / f"{keeping.fingerprint(cell, given)}.json" for cell in cells]
    for i, place in enumerate(places):
        if place is not None and (kept := keeping.read_back(place, commands[i])) is not None:
            results[i] = kept
    todo = [i for i in range(len(cells)) if i not in results]
    if ahead := warning([estimates[i] for i in todo if i in estimates], workers):
        tell(len(results), len(cells), ahead)
    tell(len(results), len(cells), "running")

    shown: dict[int, CellResult] = {}
    shares: dict[int, float] = {}  # of the cells that run, which part of each is done

    def early(i: int, word: Word) -> None:
        if i in results:
            return
        shares[i], what = word.share, f"{cells[i].protocol.title} × {cells[i].adversary.title}: {word.what}"
        if word.so_far is not None:
            if word.so_far[0].verdict == "violated" and (i not in shown or shown[i][0].verdict != "violated"):
                what = _stands(cells[i], "violated")
            shown[i] = word.so_far
        tell(len(results) + sum(shares.values()), len(cells), what)

    if workers > 1:  # the longest first, or the last of them would leave the other workers idle
        todo.sort(key=lambda i: -tried[i])
    if scheduler is None:
        running = _run(cells, commands, todo, given, allow_code, workers, early, meanwhile, ready, deadline)
    else:
        running = _run_on_cluster(cells, commands, todo, given, allow_code, scheduler, deadline)
    with closing(running):  # whatever ends the audit ends its processes at once
        for i, answer in running:
            if not isinstance(answer, Lost):
                judged = answer
            elif i in shown:
                judged = without_rest(shown[i], str(answer))
            else:
                judged = lost(cells[i], given, commands[i], str(answer), allow_code, ready)
            results[i] = judged
            shares.pop(i, None)
            place = places[i]
            if place is not None and judged[1] and not judged[0].unmeasured:  # else it is tried again next time
                keeping.keep(place, judged)
            tell(len(results) + sum(shares.values()), len(cells), _stands(cells[i], judged[0].verdict))
    return [results[i] for i in range(len(cells))]


def _stands(cell: Scenario, verdict: Verdict) -> str:
    return f"{cell.protocol.title} × {cell.adversary.title}: {verdict}"


def _pair(cell: Scenario) -> str:
    return f"{shown(cell.protocol.title)} against {shown(cell.adversary.title)}"


def _run(
    cells: Sequence[Scenario],
    commands: Sequence[str],
    todo: list[int],
    given: Given | None,
    allow_code: bool,
    workers: int,
    early: Callable[[int, Word], None],
    meanwhile: Callable[[], None],
    ready: dict[str, Ready],
    deadline: float,
) -> Generator[tuple[int, CellResult | Lost], None, None]:
    # What runs in another process can be ended in time; objects that were given may not be known there.
    apart = workers > 1 and len(todo) > 1
    if apart or (deadline < math.inf and not given):
        shared = given, allow_code, ready, deadline  # rows need not be read again there, nor what reads them imported
        tasks = [(cells[i], commands[i]) for i in todo]
        try:
            with Workers(min(workers, len(todo)), run_in_worker, shared, tasks, deadline, LATE) as pool:
                meanwhile()
                for place, result in pool.answers(lambda place, word: early(todo[place], word)):
                    yield todo[place], result
            return
        except NotBegun as why:
            if apart:
                raise SecmixError(str(why)) from None
    for i in todo:
        raised: list[BaseException] = []
        passed_on = partial(_pass_on, early, i, raised)
        result = run_cell(cells[i], given, commands[i], allow_code, passed_on, ready, deadline)
        for error in raised:
            raise error
        yield i, result


def _pass_on(early: Callable[[int, Word], None], i: int, raised: list[BaseException], word: Word) -> None:
    """What is said of a cell while it runs; where that fails, the cell has not failed."""
    try:
        early(i, word)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raised.append(error)


def run_in_worker(
    shared: tuple[Given | None, bool, dict[str, Ready], float], task: tuple[Scenario, str], tell: Tell
) -> CellResult:
    """Run the cell of a task and its command in a worker process; ``tell`` sends what is said of it meanwhile."""
    (given, allow_code, ready, deadline), (cell, command) = shared, task
    return run_cell(cell, given, command, allow_code, tell, ready, deadline)


def _run_on_cluster(
    cells: Sequence[Scenario],
    commands: Sequence[str],
    todo: list[int],
    given: Given | None,
    allow_code: bool,
    address: str,
    deadline: float,
) -> Generator[tuple[int, CellResult], None, None]:
    """On the workers of a Dask scheduler; a cell whose worker dies is run again on another."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise SecmixError("--scheduler needs Dask: pip install 'secmix[cluster]'") from None
    try:
        client: Any = Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise SecmixError(f"no Dask scheduler answers at {shown(address)}; start one, and see its log") from error
    with client:
        futures = {
            client.submit(
                run_cell,
                cells[i],
                given,
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
                    "finished cells are kept. The workers need the same secmix, and your own parts importable"
                ) from fault
            yield futures[future], future.result()
