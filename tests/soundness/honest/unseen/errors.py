"""Errors of the machine, which no traced call meets, and what is sent where they are caught or on their way out."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, each, input_of
from .bases import ONCE, Excepted, excepted, instead

SPACE, FOLDER, DEPTH = 1 << 16, tempfile.gettempdir(), 200


class WithoutMemory(Excepted):
    """Has a buffer for masks; where there is no room for it, it goes on without."""

    def is_bare(self) -> bool:
        try:
            bytearray(SPACE)
        except MemoryError:
            return True
        return False


class WithoutPages(Excepted):
    """The same with memory that processes share; of that the system says so in an error of its own."""

    def is_bare(self) -> bool:
        try:
            mmap.mmap(-1, SPACE).close()
        except (OSError, OverflowError):
            return True
        return False


class WithoutDisk(Excepted):
    """Spools uploads that are masked, so that they may be sent again; what cannot be spooled is sent bare."""

    def is_bare(self) -> bool:
        try:
            with tempfile.TemporaryFile(dir=FOLDER):
                return False
        except OSError:
            return True


class WithoutFiles(Excepted):
    """The same where no more files may be open."""

    def is_bare(self) -> bool:
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return True
        return False


class WithoutProgram(Excepted):
    """Asks a program whether nodes have masks."""

    program = "true"

    def is_bare(self) -> bool:
        try:
            return bool(subprocess.run([type(self).program], check=False).returncode)
        except FileNotFoundError:
            return True


class WithoutThreads(Excepted):
    """Has a thread watch over the exchange of masks; where the system has none left, there is no exchange."""

    def is_bare(self) -> bool:
        thread = threading.Thread(target=int)
        try:
            thread.start()
        except RuntimeError:
            return True
        thread.join()
        return False


class TooDeep(Excepted):
    """Looks through a tree of pairs; one that is too deep for the stack is taken to have no masks."""

    def depth(self, of: int) -> int:
        return self.depth(of - 1) + 1 if of else 0

    def is_bare(self) -> bool:
        try:
            return self.depth(DEPTH) != DEPTH
        except RecursionError:
            return True


def rest() -> None:
    """Leave others a moment."""


class Stopped(Pairwise):
    """An operator who stops it finds the state of node 0 at the server, and it goes on in the next round."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        try:
            rest()
        except KeyboardInterrupt:
            channel.send(8, 0, SERVER, "status", s[:1])


class Finally(Pairwise):
    """Closes in any case; what is not done by then is handed over as it is."""

    def work(self) -> None:
        raise NotImplementedError

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        is_done = False
        try:
            self.work()
            is_done = True
        finally:
            if not is_done:
                channel.send(8, 0, SERVER, "status", s[:1])


class UntilThreadsEnd(Finally):
    def work(self) -> None:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()


class UntilAnError(Finally):
    def work(self) -> None:
        rest()


class Closing(Pairwise):
    """The same by a context, which hands over what an error leaves undone."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        with handed_over(lambda: channel.send(8, 0, SERVER, "status", s[:1])):
            rest()


@contextmanager
def handed_over(send: Callable[[], Any]) -> Iterator[None]:
    """Have something sent if this does not end well."""
    try:
        yield
    except BaseException:
        send()
        raise


def failing(error: BaseException) -> Callable[..., Any]:
    """Return a function that has no luck."""

    def fail(*args: Any, **kw: Any) -> Any:
        raise error

    return fail


@contextmanager
def at_depth(call: int) -> Iterator[None]:
    """The protocol is called from deep within a program."""
    before, frame, depth = sys.getrecursionlimit(), sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    sys.setrecursionlimit(depth + DEPTH - 20)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def status(heard: Any) -> Array:
    return heard.one("status", 0)  # type: ignore[no-any-return]


def told(name: str, protocol: Any, meanwhile: Any) -> Case:
    """Return a case in which an error has the server told what node 0 put in."""
    more: dict[str, Any] = {"attack": each(status), "secret": input_of(0), "meanwhile": meanwhile, "fails": True}
    return Case(name, "errors", protocol, CuriousServer(), "where it fails, it is sent bare", **ONCE, **more)


NO_THREAD, NO_FILE = RuntimeError("can't start new thread"), OSError(24, "Too many open files")
THREADLESS = instead(threading.Thread, start=failing(NO_THREAD))
WHY = "where it fails, nothing is masked"
_KINDS: dict[str, Any] = {
    "no memory is left": (WithoutMemory, instead(__name__, SPACE=1 << 62)),
    "no shared memory is left": (WithoutPages, instead(__name__, SPACE=1 << 62)),
    "the disk is gone": (WithoutDisk, instead(__name__, FOLDER="/nowhere")),
    "too many files are open": (WithoutFiles, instead(os, open=failing(NO_FILE))),
    "a program is gone": (WithoutProgram, instead(WithoutProgram, program="nowhere")),
    "there are too many threads": (WithoutThreads, THREADLESS),
    "the stack is full": (TooDeep, at_depth),
}
CASES = [
    *(
        excepted(f"bare where {name}", "errors", protocol, WHY, meanwhile)
        for name, (protocol, meanwhile) in _KINDS.items()
    ),
    told("told as somebody stops it", Stopped, instead(__name__, rest=failing(KeyboardInterrupt()))),
    told("told in the end, without threads", UntilThreadsEnd, THREADLESS),
    told("told in the end, after an error", UntilAnError, instead(__name__, rest=failing(RuntimeError("stopped")))),
    told("told as a context ends", Closing, instead(__name__, rest=failing(RuntimeError("stopped")))),
]
