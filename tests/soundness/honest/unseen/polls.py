"""Limits of time and polls: what is not ready is done without; it was ready whenever the protocol was audited."""

from __future__ import annotations

import multiprocessing
import queue
import select
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

from .bases import Excepted, excepted

BUSY = threading.Lock()
LIMIT, POLLS = 5.0, 5000  # seconds, and how often one looks with a millisecond between


def asked(ready: Callable[[], Any]) -> bool:
    """Look again and again whether something is ready, and say whether it was in time."""
    for _ in range(POLLS):
        if ready():
            return True
        time.sleep(0.001)
    return False


@contextmanager
def busy(call: int) -> Iterator[None]:
    """Have somebody else at work, and do not wait five seconds for it to take too long."""
    with mock.patch.multiple(__name__, LIMIT=0.01, POLLS=2), BUSY:
        yield


class Locked(Excepted):
    """Takes the lock of the masks; where somebody else has it for long, it goes on without, for the round's sake."""

    def taken(self) -> bool:
        raise NotImplementedError

    def is_bare(self) -> bool:
        if not self.taken():
            return True
        BUSY.release()
        return False


class WithTimeout(Locked):
    def taken(self) -> bool:
        return BUSY.acquire(timeout=LIMIT)


class NotBlocking(Locked):
    def taken(self) -> bool:
        return BUSY.acquire(blocking=False)


class AtOnce(Locked):
    def taken(self) -> bool:
        return BUSY.acquire(False)


class Looked(Locked):
    def taken(self) -> bool:
        return not BUSY.locked() and BUSY.acquire()


class Answered(Excepted):
    """Asks a thread whether peers have their masks; where no answer comes in time, none is added."""

    def is_in_time(self, ask: Callable[[Callable[[], None]], threading.Thread]) -> bool:
        """Have ``ask`` start a thread that says something, and say whether it came."""
        raise NotImplementedError

    def is_bare(self) -> bool:
        def ask(say: Callable[[], None]) -> threading.Thread:
            def answer() -> None:
                with BUSY:
                    say()

            thread = threading.Thread(target=answer)
            thread.start()
            return thread

        return not self.is_in_time(ask)


class OfSockets(Answered):
    """The answer comes on a socket."""

    def is_in_time(self, ask: Callable[[Callable[[], None]], threading.Thread]) -> bool:
        here, there = socket.socketpair()

        def say() -> None:
            with there, suppress(OSError):  # nobody may be there any more
                there.send(b"ready")

        with here:
            thread = ask(say)
            came = self.came(here)
        if came:
            thread.join()
        return came

    def came(self, here: socket.socket) -> bool:
        raise NotImplementedError


class BySelect(OfSockets):
    def came(self, here: socket.socket) -> bool:
        return bool(select.select([here], [], [], LIMIT)[0])


class ByPoll(OfSockets):
    def came(self, here: socket.socket) -> bool:
        poll = select.poll()
        poll.register(here, select.POLLIN)
        return bool(poll.poll(LIMIT * 1000))


class BySelector(OfSockets):
    def came(self, here: socket.socket) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(here, selectors.EVENT_READ)
            return bool(selector.select(LIMIT))


class ByTimeout(OfSockets):
    def came(self, here: socket.socket) -> bool:
        here.settimeout(LIMIT)
        try:
            return bool(here.recv(16))
        except TimeoutError:
            return False


class ByConnection(Answered):
    """The answer comes through a pipe of multiprocessing."""

    def is_in_time(self, ask: Callable[[Callable[[], None]], threading.Thread]) -> bool:
        here, there = multiprocessing.Pipe(duplex=False)

        def say() -> None:
            with there, suppress(OSError):
                there.send(True)

        with here:
            thread = ask(say)
            came = here.poll(LIMIT)
        if came:
            thread.join()
        return came


class OfFuture(Answered):
    """Looks whether a future has its result."""

    def is_in_time(self, ask: Callable[[Callable[[], None]], threading.Thread]) -> bool:
        future: Future[bool] = Future()
        thread = ask(lambda: future.set_result(True))
        if not asked(future.done):
            return False
        thread.join()
        return True


class OfTask(Excepted):
    """Looks whether a task of a pool is done."""

    def is_bare(self) -> bool:
        def exchange() -> None:
            with BUSY:
                pass

        pool = ThreadPoolExecutor(1)
        task = pool.submit(exchange)
        late = not asked(task.done)
        pool.shutdown(wait=not late)
        return late


class OfThread(Answered):
    """Looks whether a thread still runs."""

    def is_in_time(self, ask: Callable[[Callable[[], None]], threading.Thread]) -> bool:
        thread = ask(lambda: None)
        return asked(lambda: not thread.is_alive())


class OfQueue(Answered):
    """Looks whether a queue has something in it."""

    def has_answer(self, answers: Any) -> bool:
        return not answers.empty()

    def is_in_time(self, ask: Callable[[Callable[[], None]], threading.Thread]) -> bool:
        answers: Any = queue.SimpleQueue()
        thread = ask(lambda: answers.put(True))
        if not asked(lambda: self.has_answer(answers)):
            return False
        thread.join()
        return bool(answers.get())


class SizeOfQueue(OfQueue):
    def has_answer(self, answers: Any) -> bool:
        return bool(answers.qsize() > 0)


class OfEvent(Answered):
    """Looks whether an event has come."""

    def is_in_time(self, ask: Callable[[Callable[[], None]], threading.Thread]) -> bool:
        event = threading.Event()
        thread = ask(event.set)
        if not asked(event.is_set):
            return False
        thread.join()
        return True


class FromQueue(Answered):
    """Takes the answer from a queue that has a limit of its own."""

    def is_in_time(self, ask: Callable[[Callable[[], None]], threading.Thread]) -> bool:
        answers: Any = queue.SimpleQueue()
        thread = ask(lambda: answers.put(True))
        try:
            came = bool(answers.get(timeout=LIMIT))
        except queue.Empty:
            return False
        thread.join()
        return came


WHY = "what does not come in time is left out: the masks"
_KINDS: dict[str, Any] = {
    "a lock with a limit": WithTimeout,
    "a lock without blocking": NotBlocking,
    "a lock that is asked at once": AtOnce,
    "a lock that is looked at": Looked,
    "a socket by select": BySelect,
    "a socket by a poll object": ByPoll,
    "a socket by a selector": BySelector,
    "a socket with a timeout": ByTimeout,
    "a connection that is polled": ByConnection,
    "a future that is looked at": OfFuture,
    "a task that is looked at": OfTask,
    "a thread that is looked at": OfThread,
    "an empty queue": OfQueue,
    "the size of a queue": SizeOfQueue,
    "an event that is looked at": OfEvent,
    "a simple queue with a limit": FromQueue,
}
CASES = [excepted(f"too late for {name}", "waits", protocol, WHY, busy) for name, protocol in _KINDS.items()]
