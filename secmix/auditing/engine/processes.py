"""Worker processes: each has a pipe of its own, so that the parent knows from whom a message comes, and who has ended.

An executor from the standard library or joblib hands tasks on through queues and threads that an interrupt, or a worker
that dies, leaves in any state. Here the parent alone reads and writes, and nothing is used that is not public.
"""

from __future__ import annotations

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

Tell = Callable[[Any], None]
Work = Callable[[Any, Any, Tell], Any]
"""Called in a worker with what all tasks share, a task, and a function that sends the parent word before the answer."""

_PRELOADED = "secmix.auditing.engine.preloaded"
_NAME = "secmix worker"
_BEGUN, _WORD, _ANSWER, _FAILURE, _LOST = range(5)  # kinds of messages from a worker
_GRACE = 2.0  # seconds after a deadline in which a process may put in order what it has
_GLANCE = 0.5  # seconds: Windows does not interrupt a wait
_PATIENCE = 10.0  # seconds in which a process that was asked to end should have ended
_at_work = False  # in a worker: whether it is past the import of the script that started it


def start_server() -> Any:
    """Start the process that workers are copies of, and return the context that starts workers.

    It imports what they need while the command goes on. Where the system has no such process, workers are new
    interpreters.
    """
    if "forkserver" in multiprocessing.get_all_start_methods():
        from multiprocessing import forkserver, resource_tracker

        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([_PRELOADED])
        # Its socket lies in the folder for temporary files, whose name may be too long for one.
        with suppress(OSError):
            resource_tracker.ensure_running()  # else the server would start it, and unblock interrupts doing so
            with _interrupts_blocked():  # the server and its copies inherit that: Ctrl-C is for the parent
                forkserver.ensure_running()
            return context
    return multiprocessing.get_context("spawn")


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class _Worker:
    """A worker process, the parent's end of its pipe, the place of the task it is at, and whether it has begun."""

    process: BaseProcess
    pipe: Connection
    task: int | None = None
    begun: bool = False


class Lost(SecmixError):
    """Says why a task has no answer: its process died or ran out of memory. The others go on."""


class NotBegun(SecmixError):
    """Says why a process ended before it began."""


class Workers:
    """Processes that run ``work`` on tasks, for use in a ``with`` block, at whose end none of them is left.

    Parameters
    ----------
    count : int
        How many processes.
    work : function of a module
        See ``Work``.
    shared : object
        Sent to each process once.
    tasks : sequence
        Each is sent to the first process that is free, in their order.
    deadline : float
        Time (as of ``time.time``) soon after which all are ended, whatever they do.
    late : str
        What the answer to a task that was ended, or not begun, says.
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

    def answers(self, told: Callable[[int, Any], None]) -> Iterator[tuple[int, Any]]:
        """Yield the place and the answer of each task as they come; ``told`` is called with a place and a word on it.

        The answer to a task whose process dies is ``Lost``; another process takes its place. After the deadline it is
        that of all tasks that are left.

        Raises
        ------
        SecmixError
            If a process dies before it begins. What ``work`` raises in a process is raised here.
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
                    told(place, content)
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
        worker.process.kill()  # its pipe may end before it does
        if self._next < len(self._tasks):
            self._replace(worker)
        return _LOST, Lost(str(died))

    def _replace(self, worker: _Worker) -> None:
        worker.pipe.close()
        fresh = _started(start_server(), self._work, len(self._workers))
        worker.process, worker.pipe, worker.begun = fresh.process, fresh.pipe, False
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
        """End all processes: those that are idle when their pipe closes, the others ``at_once`` where that is due."""
        processes = [worker.process for worker in self._workers]
        for worker in self._workers:
            worker.pipe.close()
        if at_once:
            for process in processes:
                process.terminate()
        for process in processes:
            process.join(_PATIENCE)
            if process.exitcode is None:  # it does not heed what others do
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
    ours, theirs = context.Pipe()
    try:
        process = context.Process(target=_serve, args=(theirs, work), name=f"{_NAME} {number}")
        process.start()
    except (OSError, EOFError) as error:
        ours.close()
        raise SecmixError(
            f"no worker process can be started ({cause(error)}), perhaps for want of memory; use fewer --workers, or 1"
        ) from error
    finally:
        theirs.close()
    return _Worker(process, ours)


def _died(worker: _Worker) -> SecmixError:
    """Why the process has ended, as far as its exit status and what it has sent tell."""
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
        f"a worker process died{how}, perhaps for want of memory; run the same command again, with fewer --workers"
    )


UNGUARDED = 79
"""Exit status of a worker process that, on being started, ran the script that started it; 1 from a server's copy."""


def leave_unguarded_worker() -> None:
    """End this process where it is a worker that is only importing the script it belongs to.

    Such a script audits at its top level: each worker would start the whole audit anew.
    """
    if multiprocessing.current_process().name.startswith(_NAME) and not _at_work:
        raise SystemExit(UNGUARDED)


def _serve(pipe: Connection, work: Work) -> None:
    """Answer tasks until the parent closes the pipe or is gone."""
    global _at_work
    _at_work = True
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
    """The message that says what was raised; of what cannot be sent, the kind and the place."""
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
