"""The processes that cells run in: interpreters of their own, which leave Ctrl-C to the one that audits."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from secmix.auditing.report import Verdict
from secmix.errors import SecmixError

_FORKED = "forkserver"
_PRELOADED = "secmix.auditing.engine.preloaded"
_STANDS: Any = None  # in a worker process: where it tells what stands early
_HANDED: Any = None  # and what it was handed when it began


def import_ahead(workers: int, scheduler: str | None) -> None:
    """Import what cells need, while another process does so for workers; they then begin at once."""
    if workers != 1 and scheduler is None:
        _context()
    with importing():
        import_module("secmix.auditing.engine.run_cells")


@contextmanager
def importing() -> Iterator[None]:
    """While the block imports, no garbage is collected, and what is there afterwards is taken for none.

    To look through all modules again and again takes a tenth of an audit. For a process that is ours alone: what was
    garbage before stays.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _context() -> Any:
    """Workers are copies of a process that has imported everything and done nothing, where the system has that."""
    if _FORKED in multiprocessing.get_all_start_methods():
        from multiprocessing.forkserver import ensure_running

        context = multiprocessing.get_context(_FORKED)
        context.set_forkserver_preload([_PRELOADED])
        # Its socket lies in the folder for temporary files, whose name may be too long for one.
        with suppress(OSError):
            ensure_running()
            return context
    return multiprocessing.get_context("spawn")


@contextmanager
def pool_of(workers: int, handed: Any) -> Iterator[tuple[ProcessPoolExecutor, Any]]:
    """Processes for cells, and the queue on which they tell what stands early.

    Each gets ``handed`` when it begins. What goes with each cell instead is to be small: of a queue that is full when
    workers are ended, Python before 3.11.5 never lets go.
    """
    context = _context()
    stands = context.SimpleQueue()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(stands, handed))
    try:
        yield pool, stands
    except BaseException:
        with suppress(AttributeError, OSError):  # a part of the user's own may be large: what still waits is let go
            pool._call_queue._reader.close()  # type: ignore[attr-defined]
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def tell(i: int, verdict: Verdict) -> None:
    """Tell from a worker process how cell ``i`` stands, before it is done."""
    _STANDS.put((i, verdict))


def handed() -> Any:
    """In a worker process: what it was handed when it began."""
    return _HANDED


def _begin(stands: Any, given: Any) -> None:
    global _STANDS, _HANDED
    _STANDS, _HANDED = stands, given
    signal.signal(signal.SIGINT, signal.SIG_IGN)


UNGUARDED = 79
"""Exit status of a worker process that, on being started, ran the script that started it."""


def leave_unguarded_worker() -> None:
    """End this process where it is a worker that is only importing the script it belongs to.

    Such a script audits at its top level: each worker would start the whole audit anew.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(UNGUARDED)  # an exception would be taken for the worker's own


def died(processes: Sequence[Any]) -> SecmixError:
    """Why the pool is broken, as far as the exit statuses of its processes tell."""
    for process in processes:
        process.join(timeout=5)
    if any(process.exitcode == UNGUARDED for process in processes):
        return SecmixError(
            "the script that calls the audit runs again in every worker process: put the call under "
            'if __name__ == "__main__":, or use workers=1'
        )
    return SecmixError(
        "a worker process died, perhaps for want of memory; finished cells are kept: run the same command again, with "
        "fewer --workers"
    )
