"""A claim is narrowed by what a call asks of the machine: files, clocks, counts, who ended first, what fails."""

from __future__ import annotations

import ast
import asyncio
import concurrent.futures
import dataclasses
import datetime
import decimal
import logging
import logging.handlers
import os
import queue
import resource
import select
import socket
import sqlite3
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, as_completed
from contextlib import suppress
from datetime import datetime as moment
from os import times
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest
from unit.kernel.examples import RingSum

from secmix.kernel.tracing import python_library
from secmix.kernel.tracing.trace import follow
from secmix.network import Network

NETWORK = Network.complete(3)
LOCK = threading.Lock()
LOG = logging.getLogger(__name__)
RECORD = logging.makeLogRecord({})
DUTIES = [1, 2, 3]
SET = set(range(100))


class Asking(RingSum):
    """Asks something in each call."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self.ask = ask

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        self.ask()


def narrowed(protocol: Any) -> list[str]:
    fit = follow(protocol, NETWORK, [np.ones((1, 3, 2))] * 2)
    assert not fit.error
    return [*fit.trace.by_value]


def pooled(ask: Callable[[Any], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return ask(pool.submit(int))


def first_of_two() -> None:
    pooled(lambda future: concurrent.futures.wait([future], return_when=FIRST_COMPLETED))


async def named() -> str:
    task = asyncio.current_task()
    return task.get_name() if task else ""


async def ticks() -> float:
    return asyncio.get_running_loop().time()


def imported() -> Any:
    import platform

    return platform.node()


def locked() -> None:
    if LOCK.acquire(False):
        LOCK.release()


def named_thread() -> str:
    threading.Thread(target=int).start()
    return threading.current_thread().name


def kept_going() -> None:
    try:
        len("")
    except MemoryError:
        print("less")


def kept_going_somehow() -> None:
    try:
        len("")
    except (KeyError, OSError) as error:
        print("less", error)


def left_in_the_end() -> None:
    rows = [1]
    try:
        len("")
    finally:
        print(rows)


class Leaving:
    """Does something as it is left."""

    def __enter__(self) -> Leaving:
        return self

    def __exit__(self, *error: object) -> None:
        print("left")


class Closing(Leaving):
    """Closes something as it is left."""

    def close(self) -> None:
        """Do nothing."""

    def __exit__(self, *error: object) -> None:
        self.close()


def left() -> None:
    with Leaving():
        len("")


def closed() -> None:
    with Closing():
        len("")


def suppressed() -> None:
    with suppress(OSError):
        len("")


def asserted() -> None:
    several: list[int] = []
    assert several.append(1) is None


def debugged() -> int:
    return 1 if __debug__ else 0


def said() -> None:
    try:
        print("said")
    except ValueError:
        len("")


def loaded() -> None:
    try:
        import platform  # noqa: F401
    except ImportError:
        len("")


def logged_and_more() -> None:
    if LOG.isEnabledFor(logging.INFO):
        LOG.info("it is told")
        len("")


ASKED: dict[str, Callable[[], Any]] = {
    "a date": lambda: datetime.datetime.now(),
    "a date by another name": lambda: moment.now(),
    "today's date": lambda: datetime.date.today(),
    "a date of NumPy's": lambda: np.datetime64("now"),
    "times of the process": lambda: os.times(),
    "times by their own name": lambda: times(),
    "use of the process": lambda: resource.getrusage(resource.RUSAGE_SELF),
    "a function that is imported where it is used": imported,
    "a loop's clock": lambda: asyncio.run(ticks()),
    "a task's name": lambda: asyncio.run(named()),
    "a thread's name": named_thread,
    "the age of a file": lambda: os.stat(__file__).st_mtime,
    "the age of a file, by its path": lambda: Path(__file__).stat().st_mtime,
    "a file": lambda: open(__file__).close(),
    "a file, by its path": lambda: Path(__file__).read_bytes(),
    "a file of NumPy's": lambda: np.fromfile(__file__, np.uint8, 1),
    "a folder": lambda: os.listdir(os.path.dirname(__file__)),
    "a name of a file": lambda: tempfile.mktemp(),
    "a database": lambda: sqlite3.connect(":memory:").close(),
    "a pipe": lambda: [os.close(each) for each in os.pipe()],
    "a socket": lambda: [each.close() for each in socket.socketpair()],
    "who can be read": lambda: select.select([], [], [], 0),
    "a lock": locked,
    "who is done": lambda: pooled(lambda future: future.done()),
    "who ended first": first_of_two,
    "in which order they end": lambda: pooled(lambda future: list(as_completed([future]))),
    "in which order they end, by a module": lambda: pooled(lambda f: list(concurrent.futures.as_completed([f]))),
    "how long a queue is": lambda: queue.Queue().empty(),
    "a limit": lambda: sys.getrecursionlimit(),
    "a context": lambda: decimal.getcontext().prec,
    "a weak dictionary": lambda: weakref.WeakValueDictionary(),
    "an error of the machine": kept_going,
    "an error of the machine among others": kept_going_somehow,
    "an error that is suppressed": suppressed,
    "what is done in the end": left_in_the_end,
    "what is done as it is left": left,
    "an assertion that does something": asserted,
    "what is for debugging": debugged,
    "an error where something is said": said,
    "an error where a module is loaded": loaded,
    "what is done at a level of logs": logged_and_more,
    "the level of a log": lambda: LOG.getEffectiveLevel(),
    "the time of a record": lambda: RECORD.created,
    "whether there is a terminal": lambda: sys.stdout.isatty(),
    "how arrays are printed": lambda: np.get_printoptions(),
    "how errors of numbers are reported": lambda: np.geterr(),
    "how many cores there are": lambda: os.cpu_count(),
    "in which folder it is": lambda: os.path.abspath("a"),
    "the hash of a text": lambda: hash("text"),
    "the hash of an object among numbers": lambda: hash((1, "text")),
    "where an object lies": lambda: id(OWN),
    "some member of a set": lambda: {*DUTIES}.pop() or SET.pop(),
}


@pytest.mark.parametrize("name", ASKED)
def test_it_narrows_the_claim(name: str) -> None:
    assert narrowed(Asking(ASKED[name]))


class Own:
    """Has methods of the same names as Python's library."""

    def done(self) -> bool:
        return True

    def time(self) -> float:
        return 1.0

    def acquire(self, whom: str) -> str:
        return whom


OWN = Own()


def raised_again() -> None:
    try:
        len("")
    except Exception:
        logging.exception("it is told")
        raise


def tidied() -> None:
    done = False
    LOCK.acquire()
    try:
        done = True
    finally:
        LOCK.release()
        done = False
    assert not done


def looked_at() -> None:
    assert len([1]) == 1
    assert np.isfinite(1.0)


def caught() -> int:
    try:
        return int("1")
    except (ValueError, ConnectionError):
        return 0


def logged_at_a_level() -> None:
    if LOG.isEnabledFor(logging.INFO):
        LOG.info("it is told")


@dataclasses.dataclass(frozen=True)
class Key:
    """Name something."""

    name: str


def replaced_by_a_mock() -> Any:
    with patch.object(OWN, "time", Mock(return_value=2.0)):
        return OWN.time()


PLAIN: dict[str, Callable[[], Any]] = {
    "a mock": replaced_by_a_mock,
    "a line of a log at some level": logged_at_a_level,
    "the hash of a key": lambda: {Key("text"): 1}[Key("text")],
    "the hash of numbers": lambda: hash((1, 2.5)),
    "the last of a list": lambda: [*DUTIES].pop() or DUTIES.pop() or DUTIES.append(1),
    "methods of its own": lambda: (OWN.done(), OWN.time(), OWN.acquire("me")),
    "a lock": lambda: LOCK.acquire() and LOCK.release(),
    "a variable of the environment": lambda: os.environ.get("HOME"),
    "a path": lambda: os.path.join("a", "b"),
    "an interval": lambda: datetime.timedelta(seconds=1),
    "the size of a number": lambda: sys.maxsize,
    "a log": lambda: logging.getLogger("of this").warning("a call"),
    "an error that is raised again": raised_again,
    "a lock that is left": tidied,
    "what is closed": closed,
    "assertions that look": looked_at,
    "errors of numbers": caught,
    "a class of data": lambda: dataclasses.field(),
    "a pool": lambda: pooled(lambda future: future.result()),
    "whether it is of a class": lambda: isinstance(3, moment),
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_answers_by_data_does_not(name: str) -> None:
    assert not narrowed(Asking(PLAIN[name]))


def test_outside_a_call_nothing_is_noted() -> None:
    before = os.stat, open, datetime.datetime
    assert narrowed(Asking(ASKED["a date by another name"])) == ["the machine, by datetime.datetime.now"]
    assert (os.stat, open, datetime.datetime) == before


def test_what_stands_for_a_module_or_a_class_is_as_that() -> None:
    module, kind = python_library.instead_of(tempfile, {}), python_library.instead_of(datetime.datetime, {})
    module.counted = 3
    assert vars(tempfile).pop("counted") == 3
    assert issubclass(datetime.datetime, kind)
    assert kind(2026, 1, 1) == datetime.datetime(2026, 1, 1)
    assert python_library.instead_of(sqlite3.Error, {}) is sqlite3.Error


@pytest.mark.parametrize(
    ("text", "is_of_it"),
    [
        ("LOCK", True),
        ("nobody", True),
        ("OWN", False),
        ("np", False),
        ("SET.pop()", True),
        ("DUTIES.pop()", False),
        ("nobody.pop()", False),
    ],
)
def test_of_whom_a_line_asks_is_found(text: str, is_of_it: bool) -> None:
    assert python_library.is_of_machine(ast.parse(text, mode="eval").body, sys._getframe()) is is_of_it


def test_an_assertion_asks_where_it_stands_itself() -> None:
    asserted = ast.parse("assert print()").body[0]
    assert python_library.is_of_machine(asserted, sys._getframe())
    assert not (lambda: python_library.is_of_machine(asserted, sys._getframe()))()


KEPT: dict[str, Callable[[], Any]] = {
    "a database": lambda: sqlite3.connect(":memory:", check_same_thread=False),
    "a clock": lambda: datetime.datetime.now,
    "a function of files": lambda: tempfile.gettempdir,
}


@pytest.mark.parametrize("name", KEPT)
def test_what_asks_the_machine_and_is_kept_is_unlike_itself(name: str) -> None:
    protocol = Asking(int)
    kept: Any = KEPT[name]()
    protocol.kept = kept  # type: ignore[attr-defined]
    fit = follow(protocol, NETWORK, [np.ones((1, 3, 2))] * 2)
    assert fit.kept[1] != fit.kept[2]
    getattr(kept, "close", int)()


def test_a_date_that_is_kept_is_a_value() -> None:
    protocol = Asking(int)
    protocol.kept = datetime.datetime(2026, 1, 1)  # type: ignore[attr-defined]
    fit = follow(protocol, NETWORK, [np.ones((1, 3, 2))] * 2)
    assert fit.kept[1] == fit.kept[2]


@pytest.fixture
def _waiting() -> Iterator[None]:
    items: queue.Queue[int] = queue.Queue()
    thread = threading.Thread(target=lambda: items.get(), daemon=True)
    thread.start()
    yield
    items.put(1)
    thread.join()


@pytest.mark.usefixtures("_waiting")
def test_a_thread_of_the_protocols_beside_its_calls_narrows_the_claim() -> None:
    assert any("a thread that goes on beside the calls" in each for each in narrowed(Asking(int)))
    assert not python_library.goes_on_beside({"another"})


def test_who_leaves_a_context_by_its_method_asks_nothing() -> None:
    assert not python_library._asked_by(("def leave(one):\n", "    one.__exit__(None, None, None)\n"))


class Naming(logging.handlers.BaseRotatingHandler):
    """Begins files of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write nothing."""


@pytest.mark.parametrize("is_own", [True, False])
def test_a_log_that_begins_files_by_code_of_the_protocols_narrows_the_claim(is_own: bool, tmp_path: Path) -> None:
    kind = Naming if is_own else logging.handlers.RotatingFileHandler
    handler = kind(tmp_path / "log", "a", delay=True)
    LOG.addHandler(handler)
    try:
        assert bool(narrowed(Asking(lambda: None))) == is_own
    finally:
        LOG.removeHandler(handler)


def test_what_is_done_once_calls_are_over_is_found_in_the_text() -> None:
    text = ("class A:\n", "    def __del__(self):\n", "        atexit.register(print)\n")
    asked = python_library._asked_by(text)[0]
    assert [how for how, _ in asked] == ["the machine, by __del__", "the machine, by atexit"]
