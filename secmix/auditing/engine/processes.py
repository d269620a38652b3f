"""Worker processes, each with its own pipe; the parent handles interrupts.

Executors of the standard library and of joblib use queues and threads, which an interrupt or a dead worker leaves in an
undefined state. Here only the parent reads and writes, and only public functions are used.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import pickle
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any

from secmix.errors import SecmixError, cause

Notify = Callable[[Any], None]
Work = Callable[[Any, Any, Notify], Any]
"""Called in a worker with the data shared by all tasks, a task, and a function that sends reports to the parent."""

_PRELOADED = "secmix.auditing.engine.preloaded"
_NAME = "secmix worker"
_BEGUN, _WORD, _ANSWER, _FAILURE, _LOST = range(5)  # kinds of messages from a worker
_GRACE = 2.0  # seconds after a deadline in which a process may send its results
_GLANCE = 0.5  # seconds, since Windows does not interrupt a wait
_PATIENCE = 10.0  # seconds that a process has to end after it was asked to
_at_work = False  # in a worker: whether it is past the import of the script that started it


def start_server() -> Any:
    """Start the server process that workers are forked from, and return the context that starts workers.

    It imports what they need while the command continues. On systems without fork, workers are new interpreters.
    """
    if "forkserver" in multiprocessing.get_all_start_methods():
        from multiprocessing import forkserver, resource_tracker

        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([_PRELOADED])
        # Its socket is in the temporary folder, whose name may be too long for a socket.
        with suppress(OSError):
            resource_tracker.ensure_running()  # otherwise the server would start it, and unblock interrupts
            with _interrupts_blocked():  # inherited by the server and workers: the parent handles Ctrl-C
                forkserver.ensure_running()
            return context
    return multiprocessing.get_context("spawn")


def are_needed(workers: int, cells: int, deadline: float, ready_parts: Any) -> bool:
    """Say whether processes run so many cells: side by side, or since they can be ended at the deadline.

    Ready-made parts of the caller may not be importable there: for a deadline alone they are not sent.
    """
    return (workers > 1 and cells > 1) or (deadline < math.inf and not ready_parts)


@contextmanager
def importing() -> Iterator[None]:
    """Pause garbage collection while the block imports, since scanning all modules repeatedly is slow."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def collect_seldom() -> None:
    """Collect garbage every 20,000 new objects, not every 700: that takes a twelfth of an audit's time for nothing.

    For a process of our own, the command or a worker; what it imported before is not scanned again.
    """
    gc.freeze()
    gc.set_threshold(20_000)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class _Worker:
    """A worker process, the parent's end of its pipe, its current task, and whether it has begun."""

    process: BaseProcess
    pipe: Connection
    task: int | None = None
    begun: bool = False


class Lost(SecmixError):
    """Raised if a task has no answer because its process died or ran out of memory. Other tasks continue."""


class NotBegun(SecmixError):
    """Raised if a process ended before it began."""


class Workers:
    """Processes that run ``work`` on tasks, in a ``with`` block; all have ended at its end.

    Parameters
    ----------
    count : int
        Number of processes.
    work : function of a module
        See ``Work``.
    shared : object
        Sent to each process once.
    tasks : sequence
        Each is sent, in order, to the first process that is free.
    deadline : float
        Time (as of ``time.time``) shortly after which all processes are ended.
    late : str
        Reason in the answer to a task that was ended, or not begun.
    """

    def __init__(
        self, count: int, work: Work, shared: Any, tasks: Sequence[Any], deadline: float = math.inf, late: str = ""
    ) -> None:
        self._count, self._work = count, work
        self._deadline, self._late = deadline + _GRACE, late
        self._shared = _pickled(shared)
        self._tasks = [_pickled(task) for task in tasks]
        self._next = 0
        self._workers: list[_Worker] = []

    def __enter__(self) -> Workers:
        context = start_server()
        try:
            for k in range(self._count):
                self._workers.append(_started(context, self._work, k))
            for worker in self._workers:
                self._send(worker, self._shared)
                self._send_next(worker)
        except BaseException:
            self._end(at_once=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end(at_once=kind is not None)

    def answers(self, progress: Callable[[int, Any], None]) -> Iterator[tuple[int, Any]]:
        """Yield the place and the answer of each task as they arrive; call ``progress`` with a place and a report.

        If the process of a task dies, its answer is ``Lost``, and another process replaces it. After the deadline this
        is the answer to all remaining tasks. Raises SecmixError if a process dies before it begins. Errors of ``work``
        in a process are raised here.
        """
        while busy := {w.pipe: w for w in self._workers if w.task is not None}:
            ended = {w.process.sentinel: w for w in busy.values()}
            ready = wait([*busy, *ended], min(_GLANCE, max(self._deadline - time.time(), 0.0)))
            for worker in [w for w in busy.values() if w.pipe in ready or w.process.sentinel in ready]:
                place = worker.task
                kind, content = self._received(worker)
                if kind == _BEGUN:
                    worker.begun = True
                elif kind == _FAILURE:
                    raise content
                elif kind == _WORD and place is not None:
                    progress(place, content)
                elif place is not None:
                    self._send_next(worker)
                    yield place, content
            if time.time() > self._deadline:
                yield from self._ended_for_time()

    def _ended_for_time(self) -> Iterator[tuple[int, Any]]:
        left = [worker.task for worker in self._workers if worker.task is not None]
        for worker in self._workers:
            worker.process.kill()
            worker.task = None
        left += range(self._next, len(self._tasks))
        self._next = len(self._tasks)
        for place in left:
            yield place, Lost(self._late)

    def _received(self, worker: _Worker) -> tuple[int, Any]:
        try:
            if worker.pipe.poll():
                kind, content = worker.pipe.recv()
                return kind, content
        except (EOFError, OSError):
            pass
        died = _died(worker)
        if not worker.begun:
            raise NotBegun(str(died))
        worker.process.kill()  # its pipe may close before it ends
        if self._next < len(self._tasks):
            self._replace(worker)
        return _LOST, Lost(str(died))

    def _replace(self, worker: _Worker) -> None:
        worker.pipe.close()
        new = _started(start_server(), self._work, len(self._workers))
        worker.process, worker.pipe, worker.begun = new.process, new.pipe, False
        self._send(worker, self._shared)

    def _send_next(self, worker: _Worker) -> None:
        worker.task = None
        if self._next < len(self._tasks):
            worker.task, self._next = self._next, self._next + 1
            self._send(worker, self._tasks[worker.task])

    def _send(self, worker: _Worker, content: bytes) -> None:
        try:
            worker.pipe.send_bytes(content)
        except OSError:
            died = _died(worker)
            raise (died if worker.begun else NotBegun(str(died))) from None

    def _end(self, at_once: bool) -> None:
        """End all processes: idle ones when their pipe closes, others ``at_once`` if asked to."""
        processes = [worker.process for worker in self._workers]
        for worker in self._workers:
            worker.pipe.close()
        if at_once:
            for process in processes:
                process.terminate()
        for process in processes:
            process.join(_PATIENCE)
            if process.exitcode is None:  # it ignored the request
                process.kill()
                process.join()


def _pickled(content: Any) -> bytes:
    try:
        return pickle.dumps(content)
    except Exception as error:
        raise SecmixError(
            f"a part of your own cannot be sent to worker processes ({cause(error)}): define it at the top level of a "
            "module, or use workers=1"
        ) from error


def _started(context: Any, work: Work, number: int) -> _Worker:
    parent_end, worker_end = context.Pipe()
    try:
        process = context.Process(target=_serve, args=(worker_end, work), name=f"{_NAME} {number}")
        process.start()
    except (OSError, EOFError) as error:
        parent_end.close()
        raise SecmixError(
            f"cannot start a worker process ({cause(error)}), perhaps for lack of memory; use fewer --workers, or 1"
        ) from error
    finally:
        worker_end.close()
    return _Worker(process, parent_end)


def _died(worker: _Worker) -> SecmixError:
    """Explain why the process has ended, as far as its exit status and its messages show."""
    process = worker.process
    process.join(_PATIENCE)
    status = process.exitcode
    if not worker.begun and status in (1, UNGUARDED):
        return SecmixError(
            "every worker process imports the script that calls the audit, and ended there: put the call under "
            'if __name__ == "__main__":, or use workers=1'
        )
    how = f" ({signal.Signals(-status).name})" if status is not None and -status in set(signal.Signals) else ""
    return SecmixError(
        f"a worker process died{how}, perhaps for lack of memory; run the same command again, with fewer --workers"
    )


UNGUARDED = 79
"""Exit status of a new worker process that ran the script that started it; a forked one exits with 1."""


def leave_unguarded_worker() -> None:
    """End this process if it is a worker that is only importing its script.

    Such a script audits at its top level, so that each worker would start the whole audit again.
    """
    if multiprocessing.current_process().name.startswith(_NAME) and not _at_work:
        raise SystemExit(UNGUARDED)


def _serve(pipe: Connection, work: Work) -> None:
    """Answer tasks until the parent closes the pipe or has ended."""
    global _at_work
    _at_work = True
    collect_seldom()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        pipe.send((_BEGUN, None))
        pickled, shared = pipe.recv_bytes(), None
        while True:
            task = pipe.recv_bytes()
            try:
                if pickled:
                    shared, pickled = pickle.loads(pickled), b""
                answer = work(shared, pickle.loads(task), lambda word: pipe.send((_WORD, word)))
                message = pickle.dumps((_ANSWER, answer))
            except BaseException as error:
                message = _failure(error)
            pipe.send_bytes(message)


def _failure(error: BaseException) -> bytes:
    """Make the message that reports an error; if it cannot be sent, its kind and place."""
    if isinstance(error, MemoryError):
        why = "a worker process ran out of memory; run the same command again, with fewer --workers"
        return pickle.dumps((_LOST, Lost(why)))
    error.add_note(f"In a worker process:\n{''.join(traceback.format_exception(error))}")
    try:
        message = pickle.dumps((_FAILURE, error))
        pickle.loads(message)
    except Exception:
        message = pickle.dumps((_FAILURE, SecmixError(f"a worker process failed with {cause(error)}")))
    return message
