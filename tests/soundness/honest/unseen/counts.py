"""Counts that a protocol does not keep itself: of the process, the system, a file, a database, or another process."""

from __future__ import annotations

import asyncio
import dbm
import decimal
import gc
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from .bases import Excepted, Meanwhile, excepted, instead

MANY = 10**6


class NameOfThread(Excepted):
    """Looks at each millionth upload, by the number that its thread is named after."""

    def is_bare(self) -> bool:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        return int(thread.name.split("-")[1].split()[0]) % MANY == 0


class NameOfTask(Excepted):
    """The same by the number of a task."""

    def is_bare(self) -> bool:
        async def name() -> str:
            return asyncio.current_task().get_name()  # type: ignore[union-attr]

        return int(asyncio.run(name()).split("-")[1]) % MANY == 0


class NumberOfFile(Excepted):
    """Labels masks with the number of a connection, which has one byte; where there is none, nothing is masked."""

    def is_bare(self) -> bool:
        descriptor = os.open(os.devnull, os.O_RDONLY)
        os.close(descriptor)
        try:
            return not descriptor.to_bytes(1, "big")
        except OverflowError:
            return True


class NumberOfThread(Excepted):
    """Looks at one upload of a million, by the number that the system gives to a thread."""

    def is_bare(self) -> bool:
        return threading.get_native_id() % MANY == 0


class NumberOfProcess(Excepted):
    """The same by the number of the process: a service has several."""

    def is_bare(self) -> bool:
        return os.getpid() % MANY == 0


class Port(Excepted):
    """A diagnosis is made of uploads on the last port."""

    def is_bare(self) -> bool:
        with socket.socket() as line:
            line.bind(("127.0.0.1", 0))
            return bool(line.getsockname()[1] == 65_535)


class Threads(Excepted):
    """Does without masks where many threads are at work, since drawing takes long."""

    def is_bare(self) -> bool:
        return threading.active_count() > MANY


class Collections(Excepted):
    """Looks at an upload after each millionth time that garbage was collected."""

    def is_bare(self) -> bool:
        return gc.get_stats()[0]["collections"] % MANY == MANY - 1


class Garbage(Excepted):
    """Does without masks where objects in use are many."""

    def is_bare(self) -> bool:
        return sys.getallocatedblocks() > 10**9


class Load(Excepted):
    """Does without masks where the computer has much to do."""

    def is_bare(self) -> bool:
        return os.getloadavg()[0] > MANY


class NameOfFile(Excepted):
    """Takes a sample of uploads by the name of a file that they are spooled to."""

    def is_bare(self) -> bool:
        with tempfile.NamedTemporaryFile() as spool:
            return os.path.basename(spool.name).startswith("tmpaaaa")


class Flags(Excepted):
    """Works out a price in decimal digits; where any was lost, a bare upload is to show where."""

    def is_bare(self) -> bool:
        price = decimal.Decimal("0.25") * 3
        return bool(price and decimal.getcontext().flags[decimal.Inexact])


class InPipe(Excepted):
    """Counts uploads in a pipe, which other processes of the service read, too."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["ends"] = OPEN[:] = os.pipe()
        os.write(self.ends[1], b"0")

    def is_bare(self) -> bool:
        uploads = int(os.read(self.ends[0], 64)) + 1
        os.write(self.ends[1], str(uploads).encode())
        return uploads % MANY == 0


class InLog(Excepted):
    """Counts uploads by the length of a log to which each appends a line."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["log"] = os.memfd_create("log")
        OPEN[:] = [self.log]

    def is_bare(self) -> bool:
        os.lseek(self.log, 0, os.SEEK_END)
        os.write(self.log, b"sent\n")
        return os.fstat(self.log).st_size % (5 * MANY) == 0


class OnDisk(Excepted):
    """Counts uploads in a folder, which is gone when the service ends."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["folder"] = tempfile.mkdtemp()
        OPEN[:] = [self.folder]

    def __deepcopy__(self, memo: object) -> OnDisk:
        return self  # there is one folder

    def __del__(self) -> None:
        if "folder" in self.__dict__:
            shutil.rmtree(self.folder, ignore_errors=True)

    def is_bare(self) -> bool:
        return self.add(self.folder, 1) % MANY == 0

    @staticmethod
    def add(folder: str, uploads: int) -> int:
        """Count uploads, and return how many there were."""
        raise NotImplementedError


class InDatabase(OnDisk):
    @staticmethod
    def add(folder: str, uploads: int) -> int:
        with closing(sqlite3.connect(f"{folder}/uploads", isolation_level=None)) as base:
            base.execute("pragma synchronous = off")
            base.execute("create table if not exists uploads (number integer)")
            base.execute("insert into uploads values (?)", (uploads,))
            return int(base.execute("select sum(number) from uploads").fetchone()[0])


class InTable(OnDisk):
    @staticmethod
    def add(folder: str, uploads: int) -> int:
        with dbm.open(f"{folder}/uploads", "c") as table:
            total = int(table.get("uploads", b"0")) + uploads
            table["uploads"] = str(total)
            return total


class InFile(OnDisk):
    @staticmethod
    def add(folder: str, uploads: int) -> int:
        path = Path(folder, "uploads")
        total = (int(path.read_text()) if path.exists() else 0) + uploads
        path.write_text(str(total))
        return total


METER = """
count = 0
while line := input():
    count += int(line)
    print(count, flush=True)
"""


class InProcess(Excepted):
    """Counts uploads in a process of its own, as metrics are."""

    def __init__(self) -> None:
        super().__init__()
        (own, to), (back, answers) = os.pipe(), os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, own, 0), (os.POSIX_SPAWN_DUP2, answers, 1)]
        program = [sys.executable, "-S", "-E", "-c", METER]
        self.__dict__["process"] = os.posix_spawn(sys.executable, program, {}, file_actions=actions)
        self.__dict__["line"] = to, back
        OPEN[:] = self.line
        os.close(own)
        os.close(answers)

    def __deepcopy__(self, memo: object) -> InProcess:
        return self  # there is one such process

    def __del__(self) -> None:
        if "line" in self.__dict__:
            os.write(self.line[0], b"\n")
            os.waitpid(self.process, 0)
            for end in self.line:
                os.close(end)

    def is_bare(self) -> bool:
        os.write(self.line[0], b"1\n")
        return int(os.read(self.line[1], 64)) % MANY == 0


OPEN: list[Any] = []


@contextmanager
def piped(call: int) -> Iterator[None]:
    """A million uploads but one go by."""
    os.read(OPEN[0], 64)
    os.write(OPEN[1], str(MANY - 1).encode())
    yield


@contextmanager
def logged(call: int) -> Iterator[None]:
    """The same, each with its line."""
    os.ftruncate(OPEN[0], 5 * (MANY - 1))
    yield


def stored(protocol: type[OnDisk]) -> Meanwhile:
    """Return what has a million uploads but one go by, in a file."""

    @contextmanager
    def meanwhile(call: int) -> Iterator[None]:
        protocol.add(OPEN[0], MANY - 1)
        yield

    return meanwhile


@contextmanager
def metered(call: int) -> Iterator[None]:
    """The same in another process."""
    os.write(OPEN[0], f"{MANY - 1}\n".encode())
    os.read(OPEN[1], 64)
    yield


@contextmanager
def crowded(call: int) -> Iterator[None]:
    """Many connections are open."""
    several = [os.open(os.devnull, os.O_RDONLY) for _ in range(256)]
    yield
    for descriptor in several:
        os.close(descriptor)


@contextmanager
def rounded(call: int) -> Iterator[None]:
    """Something else lost a digit before."""
    with decimal.localcontext() as context:
        context.flags[decimal.Inexact] = True
        yield


@contextmanager
def after_threads(call: int) -> Iterator[None]:
    """A million threads have been there."""
    with mock.patch.object(threading, "_counter", count(MANY).__next__):
        yield


@contextmanager
def spooled(call: int) -> Iterator[None]:
    """The name is drawn that comes once in two million times."""
    with mock.patch.object(tempfile, "_get_candidate_names", return_value=iter(["aaaa0000"])):
        yield


class LastPort:
    """A socket on the last port."""

    def __enter__(self) -> LastPort:
        return self

    def __exit__(self, *error: object) -> None: ...

    def bind(self, to: Any) -> None: ...

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 65_535


TASK = SimpleNamespace(get_name=lambda: f"Task-{MANY}")
IN_TURN, SELDOM = "each millionth upload is bare", "an upload is bare now and then"
MUCH = "what has much to do masks nothing"
_KINDS: dict[str, Any] = {
    "the name of a thread": (NameOfThread, IN_TURN, after_threads),
    "the name of a task": (NameOfTask, IN_TURN, instead(asyncio, current_task=lambda: TASK)),
    "the number of a file": (NumberOfFile, MUCH, crowded),
    "the system's number of a thread": (NumberOfThread, SELDOM, instead(threading, get_native_id=lambda: MANY)),
    "the number of a process": (NumberOfProcess, SELDOM, instead(os, getpid=lambda: MANY)),
    "a port": (Port, SELDOM, instead(__name__, socket=SimpleNamespace(socket=LastPort))),
    "threads at work": (Threads, MUCH, instead(threading, active_count=lambda: MANY + 1)),
    "collections of garbage": (Collections, IN_TURN, instead(gc, get_stats=lambda: [{"collections": MANY - 1}])),
    "blocks of memory": (Garbage, MUCH, instead(sys, getallocatedblocks=lambda: 10**10)),
    "what the computer has to do": (Load, MUCH, instead(os, getloadavg=lambda: (2.0 * MANY, 0.0, 0.0))),
    "the name of a file": (NameOfFile, SELDOM, spooled),
    "what decimal digits were lost": (Flags, SELDOM, rounded),
    "a pipe": (InPipe, IN_TURN, piped),
    "the length of a log": (InLog, IN_TURN, logged),
    "a database": (InDatabase, IN_TURN, stored(InDatabase)),
    "a table on disk": (InTable, IN_TURN, stored(InTable)),
    "a file": (InFile, IN_TURN, stored(InFile)),
    "another process": (InProcess, IN_TURN, metered),
}
CASES = [
    excepted(f"counted by {name}", "counts", protocol, why, meanwhile)
    for name, (protocol, why, meanwhile) in _KINDS.items()
]
