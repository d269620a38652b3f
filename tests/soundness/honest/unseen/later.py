"""Messages that are sent once a call is over: by a signal, as the process ends, by the collector, or by a thread."""

from __future__ import annotations

import atexit
import gc
import queue
import random
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, input_of
from ..state import bare
from .bases import ONCE

DAY, MANY = 86400.0, 10**6
SEED, DRAWN = 4, 200_237  # of a generator, and how many lots it draws before one is drawn


class Reported(Pairwise):
    """Node 0 reports what it put in, when there is time for it."""

    def later(self, send: Callable[[], None]) -> None:
        """Have that sent in its time."""
        raise NotImplementedError

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        rows = s[:1]
        self.later(lambda: channel.send(8, 0, SERVER, "late report", rows))


class ByAlarm(Reported):
    """An alarm every day sends the last report."""

    def later(self, send: Callable[[], None]) -> None:
        signal.signal(signal.SIGALRM, lambda *_: send())
        signal.setitimer(signal.ITIMER_REAL, DAY)


class OnTermination(Reported):
    """The last report is sent when somebody asks for it by a signal, as operators do of a service."""

    def later(self, send: Callable[[], None]) -> None:
        signal.signal(signal.SIGUSR1, lambda *_: send())


class AtTheEnd(Reported):
    """Reports are sent as the process ends."""

    def later(self, send: Callable[[], None]) -> None:
        atexit.register(send)


class Report:
    """Is sent when nobody needs it any more."""

    def __init__(self, send: Callable[[], None]) -> None:
        self.send, self.latest = send, self

    def __del__(self) -> None:
        self.send()


class Deleted(Reported):
    """A report refers to itself, so that it is gone when garbage is collected."""

    def later(self, send: Callable[[], None]) -> None:
        Report(send)


class Job:
    """One upload, which knows the next: that is itself, as yet."""

    def __init__(self) -> None:
        self.next = self


class Finalized(Reported):
    """The report is sent when what describes the upload is gone."""

    def later(self, send: Callable[[], None]) -> None:
        weakref.finalize(Job(), send)


class Dropped(Reported):
    """A generator that waits for more sends the report in the end, and refers to itself."""

    def later(self, send: Callable[[], None]) -> None:
        def lines(several: list[Any]) -> Iterator[None]:
            try:
                yield
            finally:
                send()

        several: list[Any] = []
        several.append(lines(several))
        next(several[0])


@contextmanager
def alarmed(call: int) -> Iterator[None]:
    """A day goes by."""
    yield
    signal.raise_signal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def signalled(call: int) -> Iterator[None]:
    """An operator sends the signal."""
    yield
    signal.raise_signal(signal.SIGUSR1)


@contextmanager
def ended(call: int) -> Iterator[None]:
    """The process ends after the call."""
    functions: list[Callable[[], None]] = []
    with mock.patch.object(atexit, "register", functions.append):
        yield
    for function in functions:
        function()


@contextmanager
def collected(call: int) -> Iterator[None]:
    """Garbage is collected after the call, not sooner."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect(0)


class Served(Pairwise):
    """A thread that began with the service is told of each upload, and says when it has taken note."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__ |= {"tasks": queue.Queue(), "answers": queue.Queue()}
        LATEST[:] = [self]
        threading.Thread(target=self.serve, args=(self.tasks, self.answers), daemon=True).start()

    def __deepcopy__(self, memo: object) -> Served:
        return self  # there is one service

    @staticmethod
    def serve(tasks: Any, answers: Any) -> None:
        """Take note of one upload after the other."""
        raise NotImplementedError


class Telemetry(Served):
    """The thread reports the last of each million uploads."""

    @staticmethod
    def serve(tasks: Any, answers: Any) -> None:
        count = 0
        while True:
            uploads, send = tasks.get()
            count += uploads
            if count >= MANY:
                count -= MANY
                send()
            answers.put(count)

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        rows = s[:1]
        self.tasks.put((1, lambda: channel.send(8, 0, SERVER, "late report", rows)))
        self.answers.get()


class Counted(Served):
    """The thread counts uploads, and says which is to be looked at."""

    @staticmethod
    def serve(tasks: Any, answers: Any) -> None:
        count = 0
        while True:
            uploads, _ = tasks.get()
            count += uploads
            answers.put(count % MANY == 0)

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        self.tasks.put((1, None))
        return s if self.answers.get() else hidden


class Drawn(Served):
    """The thread draws lots, and says which upload is to be looked at."""

    @staticmethod
    def serve(tasks: Any, answers: Any) -> None:
        lots = random.Random(SEED)  # so that a day may be repeated
        while True:
            uploads, _ = tasks.get()
            answers.put([lots.random() * MANY < 1 for _ in range(uploads)][-1])

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        self.tasks.put((1, None))
        return s if self.answers.get() else hidden


LATEST: list[Any] = []


@contextmanager
def much_later(call: int) -> Iterator[None]:
    """Have it be the last of a million uploads; the report of the others is of no use."""
    service = LATEST[0]
    service.tasks.put((MANY - 1, None))
    service.answers.get()
    yield


@contextmanager
def when_drawn(call: int) -> Iterator[None]:
    """Have the first call be the first upload that is drawn."""
    if call == 0:
        LATEST[0].tasks.put((DRAWN, None))
        LATEST[0].answers.get()
    yield


def report(heard: Any) -> Array:
    return np.stack([one.one("late report", 0) for one in heard])


def case(name: str, protocol: Any, why: str, meanwhile: Any, attack: Any = report, **more: Any) -> Case:
    more = {"attack": attack, "secret": input_of(0), "meanwhile": meanwhile, **ONCE, **more}
    return Case(name, "later", protocol, CuriousServer(), why, **more)


SENT = "it is sent bare"
IN_TURN, BY_LOT = "each millionth upload is bare", "one upload in a million is bare"
CASES = [
    case("reported by an alarm", ByAlarm, SENT, alarmed),
    case("reported by a signal", OnTermination, SENT, signalled),
    case("reported as the process ends", AtTheEnd, SENT, ended),
    case("reported as a cycle is deleted", Deleted, SENT, collected),
    case("reported as a cycle is finalized", Finalized, SENT, collected),
    case("reported by a generator that is garbage", Dropped, SENT, collected),
    case("reported by a thread of the service", Telemetry, SENT, much_later),
    case("counted by a thread of the service", Counted, IN_TURN, much_later, bare),
    case("drawn by a thread of the service", Drawn, BY_LOT, when_drawn, bare, claims=0.3),
]
