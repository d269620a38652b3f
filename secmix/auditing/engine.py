"""All cells of an audit: in this process or in several, resumable, in the scenario's order."""

from __future__ import annotations

import hashlib
import inspect
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from secmix.auditing.cells.audit_cell import CellResult, run_cell, try_out
from secmix.auditing.report import Cell, Finding
from secmix.auditing.setup import Given
from secmix.errors import NotConverged, SecmixError
from secmix.scenario import Scenario, render

Progress = Callable[[int, int, str], None]
"""Called with cells done, cells in all, and what is being done."""


def run_cells(
    cells: Sequence[Scenario],
    commands: Sequence[str],
    *,
    given: Given | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    store: Path | None = None,
    progress: Progress | None = None,
) -> list[CellResult]:
    """The results of ``cells``, in their order; they do not depend on ``workers`` or a ``scheduler``.

    Every cell is tried in small before any is run, so that a mistake in the last one costs no time. Finished cells are
    kept in ``store``; when the same audit starts again there, they are read back. The kept cells are known by all that
    determines them, the source of a user's own parts included.

    Raises
    ------
    SecmixError
        If a scenario cannot be run, or a worker process dies.
    """
    tell: Progress = progress or (lambda done, total, what: None)
    tell(0, len(cells), "checking the scenario")
    with threadpool_limits(limits=1):
        for cell in cells:
            # Other draws may converge; if not, the cell says so and the others finish.
            try:
                with suppress(NotConverged):
                    try_out(cell, given)
            except SecmixError:
                raise
            except Exception as error:  # a user's own part may fail in any way
                pair = f"'{cell.protocol.title}' against '{cell.adversary.title}'"
                raise SecmixError(f"{pair} fails with {type(error).__name__}: {error}") from error
    results: dict[int, CellResult] = {}
    places = [None if store is None else store / f"{_fingerprint(cell, given)}.json" for cell in cells]
    for i, place in enumerate(places):
        if place is not None and (kept := _read_back(place, commands[i])) is not None:
            results[i] = kept
    todo = [i for i in range(len(cells)) if i not in results]
    tell(len(results), len(cells), "running")
    if scheduler is None:
        running = _run(cells, commands, todo, given, workers)
    else:
        running = _run_on_cluster(cells, commands, todo, given, scheduler)
    for i, result in running:
        results[i] = result
        place = places[i]
        if place is not None and result[1]:  # a failed cell is tried again next time
            _keep(place, result)
        tell(len(results), len(cells), f"{cells[i].protocol.title} × {cells[i].adversary.title}")
    return [results[i] for i in range(len(cells))]


def _run(
    cells: Sequence[Scenario], commands: Sequence[str], todo: list[int], given: Given | None, workers: int
) -> Iterator[tuple[int, CellResult]]:
    if workers <= 1 or len(todo) <= 1:
        for i in todo:
            yield i, run_cell(cells[i], given, commands[i])
        return
    with _pool(min(workers, len(todo))) as pool:
        waiting: dict[Future[CellResult], int] = {pool.submit(run_cell, cells[i], given, commands[i]): i for i in todo}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                i = waiting.pop(future)
                try:
                    yield i, future.result()
                except BrokenProcessPool:
                    raise SecmixError(
                        "a worker process died, perhaps for want of memory; finished cells are kept: run the same "
                        "command again, with fewer --workers"
                    ) from None


def _run_on_cluster(
    cells: Sequence[Scenario], commands: Sequence[str], todo: list[int], given: Given | None, address: str
) -> Iterator[tuple[int, CellResult]]:
    """On the workers of a Dask scheduler; a cell whose worker dies is run again on another."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise SecmixError("--scheduler needs Dask: pip install 'secmix[cluster]'") from None
    try:
        client: Any = Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise SecmixError(f"no Dask scheduler answers at '{address}': {error}") from None
    with client:
        futures = {
            client.submit(run_cell, cells[i], given, commands[i], pure=False, key=f"secmix-{os.getpid()}-{i}"): i
            for i in todo
        }
        for future in as_completed(futures):
            fault = future.exception()
            if fault is not None:
                raise SecmixError(
                    f"a cell failed on the cluster ({type(fault).__name__}: {fault}); finished cells are kept. The "
                    "workers need the same secmix, and your own parts importable"
                ) from None
            yield futures[future], future.result()


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh interpreters, which leave Ctrl-C to this process."""
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_ignore_interrupts)
    try:
        yield pool
    except BaseException:
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _fingerprint(cell: Scenario, given: Given | None) -> str:
    """What determines a cell's result: its scenario, our version, and the source of parts that are not ours."""
    described = [render(cell), version("secmix")]
    for table, spec in (("protocol", cell.protocol), ("adversary", cell.adversary)):
        part = (given or {}).get((table, spec.name))
        if part is not None:
            described += [repr(part), _source(type(part))]
    # A setting may name a part too, such as a forgery.
    settings = [value for spec in (cell.protocol, cell.adversary) for value in spec.settings.values()]
    for spec_name in (cell.protocol.name, cell.adversary.name, cell.data.name, *settings):
        if isinstance(spec_name, str) and ":" in spec_name:
            from secmix._base.plugins import load

            described.append(_source(load("parts", spec_name)))
    if (path := cell.data.settings.get("path")) is not None and Path(path).is_file():
        described.append(hashlib.sha256(Path(path).read_bytes()).hexdigest())
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:32]


def _source(part: Any) -> str:
    try:
        return inspect.getsource(inspect.getmodule(part) or part)
    except (OSError, TypeError):
        # No source to compare: never read such a cell back.
        return os.urandom(16).hex()


def _keep(place: Path, result: CellResult) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    cell, findings = result
    content = {
        "cell": cell.model_dump(mode="json", by_alias=True),
        "findings": [f.model_dump(mode="json") for f in findings],
    }
    draft = place.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(place)


def _read_back(place: Path, command: str) -> CellResult | None:
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        cell = Cell.model_validate(content["cell"]).model_copy(update={"reproduce": command})
        return cell, [Finding.model_validate(f) for f in content["findings"]]
    except (OSError, ValueError, KeyError):
        return None  # not there, or cut short: it is computed anew
