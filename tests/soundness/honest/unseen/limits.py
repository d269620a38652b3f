"""Waits that have a limit of time: an answer that comes too late is taken to say that there are no masks."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any

from . import polls
from .bases import Excepted, excepted

Ask = Callable[[Callable[[], Any]], threading.Thread]


class Queued(polls.Answered):
    """Takes the answer from a queue."""

    def answer_in(self, answers: Any) -> bool:
        return bool(answers.get(timeout=polls.LIMIT))

    def is_in_time(self, ask: Ask) -> bool:
        answers: Any = queue.Queue()
        thread = ask(lambda: answers.put(True))
        try:
            answer = self.answer_in(answers)
        except queue.Empty:
            return False
        if answer:
            thread.join()
        return answer


class AtOnce(Queued):
    """Looks into the queue every now and then."""

    def answer_in(self, answers: Any) -> bool:
        def ready() -> bool:
            with suppress(queue.Empty):
                return bool(answers.get_nowait())
            return False

        return polls.asked(ready)


class OfEvent(polls.Answered):
    def is_in_time(self, ask: Ask) -> bool:
        event = threading.Event()
        thread = ask(event.set)
        if not event.wait(polls.LIMIT):
            return False
        thread.join()
        return True


class OfCondition(polls.Answered):
    def is_in_time(self, ask: Ask) -> bool:
        condition, came = threading.Condition(), []

        def say() -> None:
            with condition:
                came.append(True)
                condition.notify()

        thread = ask(say)
        with condition:
            if not condition.wait_for(lambda: came, timeout=polls.LIMIT):
                return False
        thread.join()
        return True


class OfBarrier(polls.Answered):
    def is_in_time(self, ask: Ask) -> bool:
        barrier = threading.Barrier(2)

        def say() -> None:
            with suppress(threading.BrokenBarrierError):
                barrier.wait()

        thread = ask(say)
        try:
            barrier.wait(polls.LIMIT)
        except threading.BrokenBarrierError:
            return False
        thread.join()
        return True


class OfThread(polls.Answered):
    def is_in_time(self, ask: Ask) -> bool:
        came: list[bool] = []
        ask(lambda: came.append(True)).join(timeout=polls.LIMIT)
        return bool(came)


class OfFuture(polls.Answered):
    """Waits for a future."""

    def result_of(self, future: Future[bool]) -> bool:
        return future.result(timeout=polls.LIMIT)

    def is_in_time(self, ask: Ask) -> bool:
        future: Future[bool] = Future()
        thread = ask(lambda: future.set_result(True))
        try:
            came = self.result_of(future)
        except TimeoutError:
            return False
        if came:
            thread.join()
        return came


class OfFutures(OfFuture):
    def result_of(self, future: Future[bool]) -> bool:
        return bool(wait([future], timeout=polls.LIMIT).done)


class OfTask(Excepted):
    """Waits for a coroutine, which waits for a lock."""

    def is_bare(self) -> bool:
        async def free() -> None:
            while polls.BUSY.locked():
                await asyncio.sleep(0)

        async def is_late() -> bool:
            try:
                await asyncio.wait_for(free(), polls.LIMIT)
            except TimeoutError:
                return True
            return False

        return asyncio.run(is_late())


_KINDS: dict[str, Any] = {
    "a queue with a limit": Queued,
    "a queue that is asked at once": AtOnce,
    "an event with a limit": OfEvent,
    "a condition with a limit": OfCondition,
    "a barrier with a limit": OfBarrier,
    "a thread with a limit": OfThread,
    "a future with a limit": OfFuture,
    "futures with a limit": OfFutures,
    "a coroutine with a limit": OfTask,
}
CASES = [
    excepted(f"too late for {name}", "waits", protocol, polls.WHY, polls.busy) for name, protocol in _KINDS.items()
]
