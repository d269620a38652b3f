"""Races of two lines, of which one has masks and the other was meant for an emergency: the first decides."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from .bases import Excepted, excepted


class Line:
    """Answers when it is up; whoever waits for it comes back when it is closed."""

    def __init__(self, name: str) -> None:
        self.name, self.up = name, threading.Event()

    def answer(self) -> str:
        """Wait until it is up, and say which it is."""
        self.up.wait()
        return self.name


MASKED, BARE = Line("masked"), Line("bare")
MASKED.up.set()


class First(Excepted):
    """Asks both lines, and takes the one that answers first; then it closes both."""

    def first(self) -> str:
        """Return the name of the line that answers first."""
        raise NotImplementedError

    def is_bare(self) -> bool:
        before = [(line, line.up.is_set()) for line in (MASKED, BARE)]
        try:
            return self.first() == "bare"
        finally:
            for line, was_up in before:
                if not was_up:
                    line.up.clear()

    def close(self) -> None:
        """Have whoever still waits come back."""
        MASKED.up.set()
        BARE.up.set()


class OfThreads(First):
    """Two threads write down when they have come."""

    def first(self) -> str:
        came: list[str] = []
        one = threading.Semaphore(0)

        def ask(line: Line) -> None:
            came.append(line.answer())
            one.release()

        threads = [threading.Thread(target=ask, args=(line,)) for line in (MASKED, BARE)]
        for thread in threads:
            thread.start()
        one.acquire()
        self.close()
        for thread in threads:
            thread.join()
        return came[0]


class Overwritten(First):
    """A thread that has masks says so, and one that has none overwrites it, unless it comes too late."""

    def first(self) -> str:
        said = {"line": "none"}
        one = threading.Semaphore(0)

        def ask(line: Line) -> None:
            answer = line.answer()
            if said["line"] == "none":
                said["line"] = answer
            one.release()

        threads = [threading.Thread(target=ask, args=(line,)) for line in (MASKED, BARE)]
        for thread in threads:
            thread.start()
        one.acquire()
        self.close()
        for thread in threads:
            thread.join()
        return said["line"]


class OfPool(First):
    """Takes the first of two tasks that is done."""

    def first(self) -> str:
        with ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(line.answer) for line in (MASKED, BARE)]
            done = next(as_completed(tasks))
            self.close()
            return done.result()


async def answer_of(line: Line) -> str:
    """Look at a line in turn with others."""
    while not line.up.is_set():
        await asyncio.sleep(0)
    return line.name


class Gathered(First):
    """Two coroutines write down when they have come; the first has the other come back."""

    def first(self) -> str:
        came: list[str] = []

        async def ask(line: Line) -> None:
            came.append(await answer_of(line))
            self.close()

        async def ask_all() -> None:
            await asyncio.gather(ask(MASKED), ask(BARE))

        asyncio.run(ask_all())
        return came[0]


class FirstCompleted(First):
    """Takes the first coroutine that is done, and cancels the other."""

    def first(self) -> str:
        async def ask_all() -> str:
            tasks = [asyncio.ensure_future(answer_of(line)) for line in (MASKED, BARE)]
            done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for other in others:
                other.cancel()
            return done.pop().result()

        return asyncio.run(ask_all())


class AsCompleted(First):
    """The same by another function of the library's."""

    def first(self) -> str:
        async def ask_all() -> str:
            tasks = [asyncio.ensure_future(answer_of(line)) for line in (MASKED, BARE)]
            first = await next(iter(asyncio.as_completed(tasks)))
            for task in tasks:
                task.cancel()
            return str(first)

        return asyncio.run(ask_all())


@contextmanager
def other_way_round(call: int) -> Iterator[None]:
    """The line that has masks is down, and the other is up."""
    MASKED.up.clear()
    BARE.up.set()
    yield
    MASKED.up.set()
    BARE.up.clear()


WHY = "numbers on the line that answers first are not masked"
_KINDS: dict[str, Any] = {
    "of two threads": OfThreads,
    "of two threads that write": Overwritten,
    "of two tasks": OfPool,
    "of coroutines that are gathered": Gathered,
    "of coroutines that are waited for": FirstCompleted,
    "of coroutines as they are done": AsCompleted,
}
CASES = [excepted(f"the first {name}", "races", protocol, WHY, other_way_round) for name, protocol in _KINDS.items()]
