"""What a process is told: times and levels of logs, terminals, cores, modules, hashes, and how large an object is."""

from __future__ import annotations

import builtins
import io
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar
from unittest import mock

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer

from ...bases import Pairwise, Words
from ...case import Case, each, input_of
from ..state import bare
from .bases import ONCE, Excepted, excepted, instead

DAY = 86_400.0
LOG = logging.getLogger("uploads that are told of")


# Logs and output.


class Session(logging.Filter):
    """Note by what is logged whether a session is over a day old."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.is_over = time.time(), False

    def filter(self, record: logging.LogRecord) -> bool:
        """Let all through."""
        self.is_over = record.created - self.begun > DAY
        return True


SESSION = Session()
TIMED = logging.getLogger("uploads of a session")
TIMED.setLevel(logging.INFO)
TIMED.addFilter(SESSION)


class OfSession(Excepted):
    """Logs each upload; masks were agreed on for one session, and what comes after it has none."""

    def is_bare(self) -> bool:
        TIMED.info("an upload")
        return SESSION.is_over


class Debugged(Excepted):
    """Sends what can be read where somebody debugs."""

    def is_bare(self) -> bool:
        return LOG.isEnabledFor(logging.DEBUG)


class AtTerminal(Excepted):
    """Takes a terminal for a demonstration, which has data of nobody."""

    def is_bare(self) -> bool:
        return sys.stdout.isatty()


class Terminal(io.StringIO):
    """Somebody looks."""

    def isatty(self) -> bool:
        return True


class Announced(Excepted):
    """Says that it uploads; what is no proper value is sent as it is, for the server to complain about."""

    def is_bare(self) -> bool:
        try:
            print("an upload")
        except ValueError:
            return True
        return False


def closed() -> io.StringIO:
    """Return an output that was closed, as a service's is when its terminal is."""
    output = io.StringIO()
    output.close()
    return output


class PrintedInFull(Excepted):
    """Sends what can be read where arrays are printed in full: there somebody looks for an error."""

    def is_bare(self) -> bool:
        return bool(np.get_printoptions()["threshold"] > 10**6)


@contextmanager
def printed_in_full(call: int) -> Iterator[None]:
    """Print arrays in full."""
    with np.printoptions(threshold=sys.maxsize):
        yield


# The process and the machine.


class WithoutLibrary(Excepted):
    """Needs a library for masks that is an extra of the package."""

    def is_bare(self) -> bool:
        try:
            from scipy.special import ndtri
        except ImportError:
            return True
        return not callable(ndtri)


@contextmanager
def without_library(call: int) -> Iterator[None]:
    """The extra was not installed."""
    with mock.patch.dict(sys.modules, {"scipy.special": None}):
        yield


class Bucket(Excepted):
    """Has one site in a thousand check the others, by the hash of its name: that one sends what it has."""

    def is_bare(self) -> bool:
        return hash("site 0") % 1024 == 0


class Cores(Pairwise):
    """Has a worker on each core but one draw the masks of some pairs."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = np.zeros((runs, self.count(network), m))
        workers = (os.cpu_count() or 1) - 1
        for worker in range(workers):
            own = masks[:, worker::workers]
            own += rng.normal(scale=self.sigma, size=own.shape)
        return masks


class Started(Pairwise):
    """Masks once it is started: a worker starts what it is sent, the process itself was forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["is_started"] = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__["is_started"] = True

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return hidden if self.is_started else s


# Numbers and arrays.


class OfOneDigit(Words):
    """Masks words of several digits, as Python stores them; one digit may be sent as it is."""

    unit: ClassVar[float] = 2.0**38

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        is_short = [[[sys.getsizeof(word) <= 28 for word in run] for run in node] for node in words.tolist()]
        return np.where(np.array(is_short), words, hidden)


def of_one_digit(heard: Any) -> Array:
    """Return what node 0 sends in one digit."""
    words = heard.one("masked", 0)
    return np.where(words < 2**30, words / OfOneDigit.unit, np.nan)


class Flattened(Pairwise):
    """Adds masks to rows of all runs in one table, which is no view where there are several runs."""

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        (n, runs, m), (first, second) = s.shape, network.edges.T
        channel.hold(-1, first, "mask", r)
        other = channel.send(-1, first, second, "mask", r, encrypted=True)
        hidden = s.copy()
        rows = hidden.transpose(1, 0, 2).reshape(-1, m)
        for run in range(runs):
            np.add.at(rows, run * n + first, r[:, run])
            np.subtract.at(rows, run * n + second, other[:, run])
        return hidden


MACHINE = "asks the machine"
CASES = [
    excepted("over by the time of a record", MACHINE, OfSession, "a session of a day ends", instead(
        time, time=lambda: SESSION.begun + 2 * DAY)),
    excepted("bare where it is debugged", MACHINE, Debugged, "uploads are bare at a level of logs",
             lambda call: nullcontext()),
    excepted("bare at a terminal", MACHINE, AtTerminal, "uploads are bare where somebody looks",
             lambda call: instead(sys, stdout=Terminal())(call)),
    excepted("bare where nothing can be said", MACHINE, Announced, "an output that is closed is taken for bad data",
             lambda call: instead(sys, stdout=closed())(call)),
    excepted("bare where arrays are printed in full", MACHINE, PrintedInFull, "a setting of NumPy's opens uploads",
             printed_in_full),
    excepted("bare without a library", MACHINE, WithoutLibrary, "an extra is not installed", without_library),
    excepted("bare by the hash of a name", MACHINE, Bucket, "hashes of texts are others in each process",
             instead(builtins, hash=lambda of: 0)),
    Case("masks by cores", MACHINE, Cores, CuriousServer(), "one core has no worker", attack=bare, secret=input_of(0),
         meanwhile=instead(os, cpu_count=lambda: 1), **ONCE),
    Case("masked once it was copied", "copies", Started, CuriousServer(), "what nobody has copied has no masks",
         attack=bare, secret=input_of(0), **ONCE),
    Case("words of one digit", "takes a shortcut", OfOneDigit, CuriousServer(), "small words have no masks",
         attack=each(of_one_digit), secret=input_of(0), accuracy=1e-6, claims=0.001, calls=1000,
         deployed={"model": {"iterations": 1}}),
    Case("masks of a table of several runs", "copies", Flattened, CuriousServer(), "masks are added to a copy",
         attack=bare, secret=input_of(0), batch=3, **ONCE),
]  # fmt: skip
