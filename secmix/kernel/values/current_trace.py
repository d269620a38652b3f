"""The trace under way: its variables, and where a secret left the arithmetic that is followed.

A truth value, an index, text or bytes of a secret ends the proof at its line (:class:`LeftTrace`). The one exception is
a *guard*, an ``if`` with nothing but ``raise``: it is noted, and a second trace takes it the other way.
"""

from __future__ import annotations

import ast
import dis
import inspect
import itertools
import linecache
import logging
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from secmix.kernel.values.protocol_text import (
    FOLLOWED_AS_THEY_ARE,
    KERNEL,
    SHARES,
    TRANSCRIPT,
    is_guard,
    is_of_library,
    is_protocol,
    is_quiet,
    nodes_of,
    text_of,
    value_of,
    written_by,
)

INF = math.inf


EXACT = 2.0**53


"""Up to here floats are exact whole numbers."""


DRAWS = 1


"""The bit of what depends on secret draws; that of node i is ``1 << i + 1``."""


ANYTHING = -1


"""All bits: it may depend on anything."""


@dataclass(frozen=True)
class Place:
    """A line of the protocol, and the lines that called it."""

    file: str
    line: int
    callers: tuple[tuple[str, int], ...] = ()
    part: tuple[Any, ...] = ()  # of a test: whether a call asks there, and where in the text that begins and ends

    @property
    def code(self) -> str:
        """Return the text of the line."""
        return text if len(text := linecache.getline(self.file, self.line).strip()) <= 100 else f"{text[:99]}…"

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}, line {self.line}: {self.code}"


@dataclass(frozen=True)
class Variable:
    """An unknown that numbers are made of: an entry of an input, an encoding of one node's own data, or a draw."""

    kind: Literal["input", "code", "draw"]
    node: int  # whose it is; -1 of a draw
    value: Any  # in this run
    step: float  # it is a whole multiple of this; 0 where it may be any number
    spread: float = 0.0  # standard deviation of a draw; 0 of others
    centre: float = 0.0  # where its law lies: its mean, or the least that it may be
    law: str = ""  # of a draw, by NumPy's name
    range: int = 0  # how many values a uniform whole draw takes; 0 of other laws
    place: Place | None = None  # where it was made
    entry: int = 0  # of an input: which of the vector
    stream: int = -1  # of a draw: the stream that it was read of, if any


_NUMBERS = itertools.count()


TEXT = "the text of a secret (log what is public; what others are to have goes through the channel)"


class LeftTrace(BaseException):
    """Raised where a secret leaves what is followed; no ``except Exception`` of a protocol catches it."""


@dataclass
class Trace:
    """State of a trace while a protocol is followed."""

    # The guard that is taken the other way, or the function that fails: from which call on, and which time it is met.
    flip: tuple[Place, int, int] | None = None
    script: tuple[int, ...] = ()  # how the first turns are to come out
    in_order: bool = False  # the calls are iterations one after the other; else each may be any
    # By numbers that no other trace uses: a secret that was kept elsewhere is found out.
    variables: dict[int, Variable] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict)  # functions and encodings that were met before
    keys: dict[Any, int] = field(default_factory=dict)  # of numbers: which function of which others each is
    # Truth values of secrets that only decide whether an error is raised, in which call if these are in order, and how
    # often each was met.
    guards: dict[tuple[Place, int], int] = field(default_factory=dict)
    call: int = 0
    begins: int = 0  # the first variable of this call
    lasting: range = range(0)  # draws that are handed to all calls of a fit
    lasting_streams: range = range(0)  # and what the system drew with them
    # What hangs on public numbers that may differ in another call: which outcome of how many, in which call, of what.
    turns: list[tuple[int, int, int, str]] = field(default_factory=list)
    # Of turns that hang on the iteration alone: which iterations take them as they came out.
    conditions: dict[int, Callable[[Any], Any]] = field(default_factory=dict)
    # Public numbers that secrets were compared with: where first, and the largest of these secrets.
    compared: dict[Any, tuple[Place, Any]] = field(default_factory=dict)
    # How such public numbers were used whose values cannot be listed: a claim then covers what was traced.
    by_value: dict[str, Place] = field(default_factory=dict)
    outlets: frozenset[int] = frozenset()  # to which text may be written, by identity
    # What may be infinite, or no number, of what is made of draws too: that matters where it is encoded.
    infinite: list[tuple[Any, str, Place]] = field(default_factory=list)
    # Where secrets left, also where a protocol caught what was raised.
    left: list[tuple[str, Place]] = field(default_factory=list)
    answering: bool = False  # a guard was taken: secrets then answer, and the call must end in an error
    flipped: Any = None  # the secret whose truth value was changed then
    tells: list[Place] = field(default_factory=list)  # where the text of a secret was asked for after that
    stops: dict[Place, int] = field(default_factory=dict)  # where a function may fail on what a node holds; how often
    stopped: bool = False  # one did
    coins: list[Any] = field(default_factory=list)  # of which the options are listed, in order
    outcomes: Iterator[Any] | None = None  # in a plain call nothing is secret, and coins come out as these did
    projects: Any = None  # random vectors, where tables carry what these make of their coefficients in place of them
    vectors: list[Any] = field(default_factory=list)  # of variables that tables were made of, one after the other
    secret_draws: int = 0  # above 0 within draw_masks
    system_seeds: int = 0  # generators that the system seeded
    streams: list[Any] = field(default_factory=list)  # that follow from secret seeds
    words: list[Any] = field(default_factory=list)  # that were computed, and are passed as bytes
    places: dict[int, int] = field(default_factory=dict)  # of these, by identity
    octets: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # bytes of them as numbers, and which, by identity
    terms: int = 0  # that sums were made of: the work so far
    most_terms: float = INF  # what ends the proof
    shared: int = 0  # terms of sums that were another's: those of the same entries of other vectors
    # The last sum of shared combinations: of which, how, what came out, and of how many terms.
    last_sum: tuple[Any, Any, Any, Any, int] = None, None, None, None, 0
    takes_turns: bool = True  # while no task of a pool waits for another
    thread: int = field(default_factory=threading.get_ident)  # that follows; a protocol may start others
    hears: frozenset[str] = frozenset()  # how a protocol hears of floating-point errors, as of :func:`numpy.seterr`
    threads: list[threading.Thread] = field(default_factory=list)  # that a protocol has started
    tasks: list[Any] = field(default_factory=list)  # that it has handed over to pools in this call

    def variable(self, kind: Literal["input", "code", "draw"], node: int, value: Any, step: float, **law: Any) -> int:
        """Add a variable, and return its number."""
        number = next(_NUMBERS)
        self.variables[number] = Variable(kind, node, value, step, **law)
        return number

    @property
    def ends(self) -> tuple[int, int]:
        """The numbers of the first and the last variable."""
        return next(iter(self.variables), 0), next(reversed(self.variables), -1)

    @property
    def next(self) -> int:
        """The least number that the next variable may have."""
        return self.ends[1] + 1

    @property
    def is_under_way(self) -> bool:
        """Say whether it is the trace that is under way."""
        return any(each is self for each in _NOW[-1:])

    def own(self, number: int) -> Variable:
        """Return the variable of that number; end the proof if it is one of another trace."""
        return self.variables[number] if number in self.variables else self._of_another()

    def owns(self, numbers: Any) -> None:
        """End the proof if some of these variables, (k,), are of another trace; of products that is asked later."""
        first, last = self.ends
        without_gaps = last - first < len(self.variables)  # no other trace counted meanwhile
        within = without_gaps and ((first <= numbers) & (numbers <= last)).all()
        if not within and self.projects is None and not {*numbers.tolist()} <= self.variables.keys():
            self._of_another()

    def _of_another(self) -> Any:
        self.leave("a secret that was kept outside the protocol's object")

    @property
    def is_plain(self) -> bool:
        """Say whether nothing is followed but public numbers."""
        return self.outcomes is not None

    def met(self, coin: Any) -> Any:
        """Note a coin; in a plain call, let it come out as the next one of the trace did."""
        self.coins.append(coin)
        if self.outcomes is not None:
            before = next(self.outcomes, None)
            if before is None or before.name != coin.name:
                raise LeftTrace("other coins come up in a plain call")
            coin.drawn = before.drawn
        return coin

    def leave(self, what: str) -> None:
        """End the proof here; once a guard was taken, go on, and where nothing is secret."""
        if self.is_plain:
            return
        if not self.answering:
            place = here()
            self.left.append((what, place))
            raise LeftTrace(f"{what} at {place}")
        if what == TEXT:
            self.tells.append(here())

    def truth(self, secret: Any) -> bool:
        """Return the truth value of a secret: an exit, unless it is a guard's; one that was changed stays so."""
        outcome = bool(secret.value)
        if self.answering:
            return outcome != (secret is self.flipped)
        place = here(in_part=True)
        if not is_guard(text_of(place.file), place.line, place.part):
            self.leave("a branch on a secret")
        elif may_be_caught():
            self.leave("a branch on a secret, whose error the protocol may catch,")
        key = place, self.call * self.in_order
        self.guards[key] = self.guards.get(key, 0) + 1
        self.answering = self._is_flipped(place, self.guards[key])
        self.flipped = secret if self.answering else None
        return outcome != self.answering

    def _is_flipped(self, place: Place, times: int) -> bool:
        return self.flip is not None and self.flip[0] == place and self.flip[1] <= self.call and self.flip[2] <= times

    def stop(self) -> None:
        """Note that a function may end the call here, or end it."""
        place = here()
        self.stops[place] = self.stops.get(place, 0) + 1
        if not self.answering and self._is_flipped(place, self.stops[place]):
            self.answering = self.stopped = True
            raise ArithmeticError("what a node holds has no such number")

    def compares(self, secret: Any, public: Any) -> None:
        """Note that a secret is compared with a public number."""
        place, largest = self.compared.get(public) or (here(), 0)
        # A word of 64 bits may stand for a negative number.
        self.compared[public] = place, max(largest, min(abs(secret), abs(2**64 - secret)))

    def turn(self, outcome: int, count: int, name: str) -> int:
        """Return which of ``count`` outcomes of public numbers comes about, or what the script says."""
        if count > 1:
            if self.answering:  # the other outcomes are not tried there
                raise LeftTrace(f"{name} decides what is done after a guard has found an error")
            outcome = self.script[len(self.turns)] if len(self.turns) < len(self.script) else outcome
            self.turns.append((outcome, count, self.call, name))
        return outcome

    def narrow(self, how: str) -> None:
        """Note that a public number was used by its value: the claim covers what was traced."""
        if how not in self.by_value:
            self.by_value[how] = here()


_NOW: list[Trace] = []


def now() -> Trace:
    """Return the trace that is under way."""
    return _NOW[-1]


def tracing() -> bool:
    """Say whether a trace is under way."""
    return bool(_NOW)


def is_plain() -> bool:
    """Say whether a plain call is under way, in which nothing is followed but public numbers."""
    return any(each.is_plain for each in _NOW[-1:])


def is_of_call() -> bool:
    """Say whether this thread is that of a call that is followed, or was started by one: others go on meanwhile."""
    return any(threading.get_ident() in {x.thread, *(each.ident for each in x.threads)} for x in _NOW[-1:])


def loggers() -> dict[str, logging.Logger]:
    """Return all loggers by name."""
    named = logging.root.manager.loggerDict.items()
    return {"root": logging.root} | {name: x for name, x in named if isinstance(x, logging.Logger)}


def outlets_of_now() -> frozenset[int]:
    """Return the output and the handlers of loggers that there are, by identity."""
    return frozenset(map(id, [sys.stdout, *(each for x in loggers().values() for each in x.handlers)]))


@contextmanager
def following(trace: Trace) -> Iterator[Trace]:
    """Make ``trace`` the one under way, for all threads: a protocol may start some."""
    _NOW.append(trace)
    try:
        # What may fail on a value is silenced as it is in a plain call; where it raises, it ends the trace.
        with np.errstate(all="ignore"):
            yield trace
    finally:
        _NOW.remove(trace)


def here(*, in_part: bool = False) -> Place:
    """Return the line of the protocol that is being executed, and which part of it if that is asked."""
    frames: list[tuple[str, int]] = []
    part: tuple[Any, ...] = ()
    frame = inspect.currentframe()
    while frame is not None and not _makes_calls(frame):
        if is_protocol(frame.f_code.co_filename):
            part = _part(frame.f_code, frame.f_lasti) if in_part and not frames else part
            frames.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return Place(*frames[0], tuple(frames[1:]), part) if frames else Place("unknown", 0)


@lru_cache(maxsize=4096)
def _part(code: Any, instruction: int) -> tuple[Any, ...]:
    """Return whether an instruction of two bytes is a call, and its lines and columns: first line, last, and so on."""
    is_call = "CALL" in dis.opname[code.co_code[instruction]]
    return is_call, *next(itertools.islice(code.co_positions(), instruction // 2, None))


def asks_for_class(frame: Any) -> bool:
    """Say whether a protocol asks for the class of an object, or Python's library for it, and not the kernel or NumPy.

    In a line of a protocol it may be a function of NumPy's that asks; ``isinstance`` and ``type`` stand for others.
    """
    if is_protocol(frame.f_code.co_filename):
        return dis.opname[frame.f_code.co_code[frame.f_lasti]] in ("LOAD_ATTR", "MATCH_CLASS")
    return not frame.f_code.co_filename.startswith((KERNEL, TRANSCRIPT, *FOLLOWED_AS_THEY_ARE))


_CALLING = {"traced_call": "", "follow": KERNEL}  # functions that call a protocol, or have it draw, and where they lie


def _makes_calls(frame: Any) -> bool:
    """Say whether a frame is the kernel's that calls a protocol, or has it draw masks."""
    return bool(frame.f_code.co_filename.startswith(_CALLING.get(frame.f_code.co_name, "nowhere")))


def may_be_caught() -> bool:
    """Say whether something between the call and here may catch what is raised, or act on it.

    That is a ``try``, a ``with``, a function of Python's library that calls back, or whoever asks a thread.
    """
    if threading.get_ident() != now().thread or "weak" in now().hears:
        return True
    frame = inspect.currentframe()
    while frame is not None and not _makes_calls(frame):
        file = frame.f_code.co_filename
        pythons = is_of_library(file) and not file.startswith(KERNEL)
        if file != SHARES and (is_quiet(frame) if is_protocol(file) else pythons):
            return True
        frame = frame.f_back
    return False


def may_stop(what: str, *, is_noted: bool = True) -> None:
    """Note that ``what`` may end a call with an error, where ``is_noted``; if that may be caught, the proof ends."""
    if may_be_caught():
        now().leave(f"{what}, whose failure the protocol catches,")
    if is_noted:
        now().stop()


def is_raise(place: Place) -> bool:
    """Say whether a line is one of a ``raise``, or of an ``assert``."""
    return any(
        isinstance(node, (ast.Raise, ast.Assert)) and node.lineno <= place.line <= (node.end_lineno or 0)
        for node in nodes_of(text_of(place.file))
    )


def writes_text(frame: Any) -> bool:
    """Say whether a frame is at a statement that prints or logs, to what was there before, and does nothing else."""
    by = value_of(written_by(text_of(frame.f_code.co_filename), frame.f_lineno), frame)
    if by is print:
        return id(sys.stdout) in now().outlets
    logger = logging.root if by is logging else by if isinstance(by, logging.Logger) else None
    handlers, above = list[Any](), logger
    while above is not None:
        handlers += above.handlers
        above = above.parent if above.propagate else None
    return logger is not None and {*map(id, handlers)} <= now().outlets
