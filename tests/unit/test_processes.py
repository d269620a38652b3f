"""Worker processes: what each is sent and answers, and what is said when one fails, dies or cannot begin."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing import active_children
from typing import Any

import pytest

from secmix.auditing.engine import processes
from secmix.auditing.engine.processes import Workers
from secmix.errors import NotConverged, SecmixError


def halved(shared: int, task: Any, tell: Callable[[Any], None]) -> int:
    """Tell the task, then answer with half of it; a task that is not a number says how the work fails."""
    if task == "unforeseen":
        raise ZeroDivisionError
    if task == "foreseen":
        raise NotConverged("no end of it", residual=0.5)
    if task == "no memory":
        raise MemoryError
    if task == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tell(task)
        threading.Event().wait()
    if task == "unsendable":
        return threading.Lock()  # type: ignore[return-value]
    tell(task)
    return shared * task // 2


def answered(tasks: list[Any], count: int = 2) -> tuple[dict[int, int], set[tuple[int, Any]]]:
    told = set()
    with Workers(count, halved, 10, tasks) as workers:
        answers = dict(workers.answers(lambda place, word: told.add((place, word))))
    return answers, told


@pytest.mark.build
def test_every_task_is_answered_once_and_words_come_before() -> None:
    tasks = list(range(0, 14, 2))
    answers, told = answered(tasks)
    assert answers == {place: 5 * task for place, task in enumerate(tasks)}
    assert told == set(enumerate(tasks))
    assert not active_children()


@pytest.mark.build
@pytest.mark.parametrize(
    ("task", "kind", "says"),
    [
        ("unforeseen", ZeroDivisionError, "(?s)In a worker process.*in halved"),
        ("foreseen", NotConverged, "no end of it"),
        ("unsendable", TypeError, "cannot pickle"),
    ],
)
def test_what_ends_a_task_ends_the_block_and_all_its_processes(task: str, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        answered([2, task, 4, 6])
    assert not active_children()


@pytest.mark.build
@pytest.mark.parametrize(
    ("task", "says"),
    [
        ("no memory", "a worker process ran out of memory; run the same command again, with fewer --workers"),
        ("killed", "a worker process died (SIGKILL), perhaps for lack of memory; run the same command again"),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_a_task_whose_worker_dies_is_lost_and_the_others_are_answered(task: str, says: str, count: int) -> None:
    answers, _ = answered([2, task, 4, task, 6, task], count)
    assert [answers[place] for place in (0, 2, 4)] == [10, 20, 30]
    for place in (1, 3, 5):
        assert isinstance(answers[place], processes.Lost)
        assert str(answers[place]).startswith(says)
    assert not active_children()


def test_a_worker_that_does_not_heed_its_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PATIENCE", 0.2)

    class Interrupted(Exception):
        pass

    def interrupt(place: int, word: Any) -> None:
        raise Interrupted

    with pytest.raises(Interrupted), Workers(1, halved, 10, ["deaf"]) as workers:
        list(workers.answers(interrupt))
    assert not active_children()


def test_a_part_that_cannot_be_sent_is_told_so_before_any_process_begins() -> None:
    with pytest.raises(SecmixError, match="define it at the top level of a module, or use workers=1"):
        Workers(2, halved, lambda: None, [1])


@pytest.mark.build
def test_workers_find_the_collector_at_work() -> None:
    script = f"import gc, {processes._PRELOADED}\nprint(gc.isenabled())\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["True"]


def test_importing_collects_nothing_and_goes_on_collecting_after_an_error() -> None:
    collecting = []

    def fails() -> None:
        with processes.importing():
            collecting.append(gc.isenabled())
            raise ImportError

    with pytest.raises(ImportError):
        fails()
    assert (collecting, gc.isenabled()) == ([False], True)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no server of processes")
def test_interrupts_are_blocked_for_a_moment_only() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())
    with processes._interrupts_blocked():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set())
    assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) == before
