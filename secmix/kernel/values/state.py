"""Trace: variables, and where a secret left the arithmetic that is followed.

A truth value, an index, text or bytes of a secret ends the proof at its line (:class:`LeftTrace`). The one exception is
a *guard*, an ``if`` with nothing but ``raise``: it is noted, and a second trace takes it the other way.
"""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import itertools
import linecache
import logging
import math
import os
import re
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from secmix.transcript import outlets

INF = math.inf
EXACT = 2.0**53
"""Up to here floats are exact whole numbers."""
DRAWS = 1
"""The bit of what depends on secret draws; that of node i is ``1 << i + 1``."""
ANYTHING = -1
"""All bits: it may depend on anything."""

_LIBRARIES = tuple({sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")})
_FOLLOWED_AS_THEY_ARE = tuple(os.path.join(path, name) for path in _LIBRARIES for name in ("numpy", "scipy"))
_KERNEL = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TRANSCRIPT = os.path.join(os.path.dirname(_KERNEL), "transcript")
_COINS = os.path.join(os.path.dirname(_KERNEL), "wrap", "library_coins.py")  # which stand for the system's
_SHARES = os.path.join(os.path.dirname(_KERNEL), "wrap", "share_sum.py")  # whose ``with`` hands coins over, and no more
_STDLIB = tuple({sysconfig.get_path(each) for each in ("stdlib", "platstdlib")})


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
        return linecache.getline(self.file, self.line).strip()[:100]

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
    def is_under_way(self) -> bool:
        """Say whether it is the trace that is under way."""
        return any(each is self for each in _NOW[-1:])

    def own(self, number: int) -> Variable:
        """Return the variable of that number; end the proof if it is one of another trace."""
        return self.variables[number] if number in self.variables else self._of_another()

    def owns(self, numbers: Any) -> None:
        """End the proof if some of these variables, (k,), are of another trace."""
        first, last = self.ends
        without_gaps = last - first < len(self.variables)  # no other trace counted meanwhile
        within = without_gaps and ((first <= numbers) & (numbers <= last)).all()
        if not within and not {*numbers.tolist()} <= self.variables.keys():
            self._of_another()

    def _of_another(self) -> Any:
        self.leave("a secret that was kept outside the protocol's object")

    def leave(self, what: str) -> None:
        """End the proof here; once a guard was taken, go on."""
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
        if not _guards(text_of(place.file), place.line, place.part):
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


def is_of_call() -> bool:
    """Say whether this thread is that of a call that is followed, or was started by one: others go on meanwhile."""
    return any(threading.get_ident() in {x.thread, *(each.ident for each in x.threads)} for x in _NOW[-1:])


def outlets_of_now() -> frozenset[int]:
    """Return the output and the handlers of loggers that there are, by identity."""
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    return frozenset(map(id, [sys.stdout, *(each for x in loggers for each in getattr(x, "handlers", ()))]))


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
    while frame is not None and frame.f_code.co_name != "_traced_call":
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


def is_protocol(file: str) -> bool:
    """Say whether a file belongs neither to Python, nor to NumPy, nor to this package; a notebook's cell has none."""
    if file.startswith((_KERNEL, _COINS, outlets.__file__, *_FOLLOWED_AS_THEY_ARE, "<frozen ")):
        return False
    return not is_of_library(file)


def is_of_library(file: str) -> bool:
    """Say whether a file is of Python's library."""
    return file.startswith(_STDLIB) and "site-packages" not in file


def asks_for_class(frame: Any) -> bool:
    """Say whether a protocol asks for the class of an object, or Python's library for it, and not the kernel or NumPy.

    In a line of a protocol it may be a function of NumPy's that asks; ``isinstance`` and ``type`` stand for others.
    """
    if is_protocol(frame.f_code.co_filename):
        return dis.opname[frame.f_code.co_code[frame.f_lasti]] in ("LOAD_ATTR", "MATCH_CLASS")
    return not frame.f_code.co_filename.startswith((_KERNEL, _TRANSCRIPT, *_FOLLOWED_AS_THEY_ARE))


def may_be_caught() -> bool:
    """Say whether something between the call and here may catch what is raised, or act on it.

    That is a ``try``, a ``with``, a function of Python's library that calls back, or whoever asks a thread.
    """
    if threading.get_ident() != now().thread or "weak" in now().hears:
        return True
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "_traced_call":
        file = frame.f_code.co_filename
        pythons = is_of_library(file) and not file.startswith(_KERNEL)
        if file != _SHARES and (_is_quiet(frame) if is_protocol(file) else pythons):
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


def hearing_in(file: str) -> frozenset[str]:
    """Return how a protocol's file has floating-point errors, or warnings of these, raised or handed on.

    Beside the words of :func:`numpy.seterr`, "weak" where a function is called as an object goes, which tells nobody of
    an error, and "asked" where it reads how often a cache was.
    """
    is_own = is_protocol(file) and "site-packages" not in file  # a library's functions do as they say
    return _hearing(text_of(file)) if is_own else frozenset()


# What is looked for: a text that names none of these need not be parsed, which takes a second for all of this library.
_HEARS = re.compile(
    r"\b(showwarning|captureWarnings|seterr(call)?|cache_info|WeakMethod|finalize|ref|errstate|simplefilter|"
    r"filterwarnings)\b"
)


@lru_cache(maxsize=1024)
def _hearing(text: tuple[str, ...]) -> frozenset[str]:
    ways: set[str] = set()
    nodes = nodes_of(text) if any(map(_HEARS.search, text)) else ()
    for node, is_followed in _with_calls(ast.parse("".join(text)) if nodes else None):
        name = name_of(node)
        if name in ("showwarning", "captureWarnings", "seterrcall") and not is_followed:
            ways.add("call")
        if name == "cache_info":
            ways.add("asked")
        if isinstance(node, ast.Call):
            called = name_of(node.func)
            of_call = (*node.args, *(each.value for each in node.keywords))
            given = {each.value for each in of_call if isinstance(each, ast.Constant) and isinstance(each.value, str)}
            if called == "WeakMethod" or (called in ("finalize", "ref") and len(of_call) > 1):  # a cipher's takes none
                ways.add("weak")
            if called == "errstate" or (called in ("seterr", "simplefilter", "filterwarnings") and not is_followed):
                ways |= {"raise" if each == "error" else each for each in given & {"raise", "call", "log", "error"}}
    return frozenset(ways)


def _with_calls(node: Any, is_followed: bool = False) -> Iterator[tuple[Any, bool]]:
    """Yield the nodes of a text, and whether they are in a function that a trace meets: not as an object is made."""
    if node is not None:
        yield node, is_followed
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        makes = getattr(node, "name", "") in ("__init__", "__post_init__", "__new__")
        inside = is_followed or (is_function and not makes)
        for each in ast.iter_child_nodes(node):
            yield from _with_calls(each, inside)


def imports_in(file: str) -> list[Any]:
    """List the imports in a protocol's file."""
    return _imports(text_of(file)) if is_protocol(file) else []


@lru_cache(maxsize=1024)
def _imports(text: tuple[str, ...]) -> list[Any]:
    return [node for node in nodes_of(text) if isinstance(node, (ast.Import, ast.ImportFrom))]


def identities_in(file: str) -> dict[int, list[Any]]:
    """Return what is compared by identity in a protocol's file, by line; with None anything may be."""
    return {} if file.startswith(os.path.dirname(_KERNEL)) or not is_protocol(file) else _identities(text_of(file))


@lru_cache(maxsize=1024)
def _identities(text: tuple[str, ...]) -> dict[int, list[Any]]:
    lines: dict[int, list[Any]] = {}
    for node in nodes_of(text):
        several = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node]
        by_identity = isinstance(node, ast.MatchSingleton) or any(
            isinstance(op, (ast.Is, ast.IsNot)) for op in getattr(node, "ops", ())
        )
        if by_identity and not any(getattr(each, "value", each) is None for each in several):
            for line in range(node.lineno, (node.end_lineno or 0) + 1):
                lines.setdefault(line, []).extend(several)
    return lines


def is_followed(node: Any, frame: Any) -> bool:
    """Say whether what a text names, where a frame is, may be a stand-in: no constant, no type, nothing public."""
    if isinstance(node, ast.Constant):
        return False
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id == "type")  # which ends the proof itself
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return True
    try:  # what a generator has not drawn yet it draws from ".0"
        value = value_of(node, frame)
        values = [value] if value is not None else [*copy.copy(frame.f_locals[".0"])]
    except (KeyError, TypeError):
        return True
    return any(type(each).__module__.startswith("secmix.kernel") for each in values)


class _Text(tuple[str, ...]):
    """Lines of a file, hashed once: what was read from them is looked up in every trace, of a hundred files."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


_TEXTS: dict[str, tuple[list[str], _Text]] = {}


def text_of(file: str) -> tuple[str, ...]:
    """Return the lines of a file, none where it cannot be read."""
    lines = linecache.getlines(file)
    if file not in _TEXTS or _TEXTS[file][0] is not lines:
        _TEXTS[file] = lines, _Text(lines)
    return _TEXTS[file][1]


def file_of(module: str) -> str:
    """Return the file of a loaded module; empty where it has none."""
    return getattr(sys.modules[module], "__file__", None) or ""


def name_of(node: Any) -> str:
    """Return the last name of what a text names; empty where it is no name."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


@lru_cache(maxsize=4096)
def _guards(text: tuple[str, ...], line: int, part: tuple[Any, ...]) -> bool:
    """Say whether the test at a line decides nothing but whether an error is raised, and its ``part`` nothing else.

    A function that asks for truth values, other than ``any``, ``all`` and ``bool``, may choose a value by them.
    """
    for node in nodes_of(text):
        if isinstance(node, ast.Call) and (True, *_ends_of(node)) == part and not _asks(node):
            return False
    for node in nodes_of(text):
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or 0):
            return _names_nothing(node.test)
        if isinstance(node, ast.If) and node.test.lineno <= line <= (node.test.end_lineno or 0):
            raises = not node.orelse and len(node.body) == 1 and isinstance(node.body[0], ast.Raise)
            return raises and _names_nothing(node.test)
    return False


def _ends_of(node: Any) -> tuple[Any, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _asks(node: Any) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in ("any", "all", "bool")


def _names_nothing(test: Any) -> bool:
    """Say whether nothing that a test finds out has a name, or is chosen, so that it may be used after it.

    What is asked only after another answer is to look at numbers, and to do nothing else.
    """
    several = [*ast.walk(test)]
    asked = {id(each) for call in several if isinstance(call, ast.Call) and _asks(call) for each in call.args}
    later = [each for node in several for each in getattr(node, "comparators", ())[1:]]
    later += [each for node in several if isinstance(node, ast.BoolOp) for each in node.values[1:]]
    chosen = (ast.NamedExpr, ast.IfExp, ast.Lambda, ast.SetComp, ast.DictComp)
    return all(_looks(node) for each in later for node in ast.walk(each)) and not any(
        isinstance(node, chosen)
        or (isinstance(node, (ast.ListComp, ast.GeneratorExp)) and id(node) not in asked)
        or (isinstance(node, ast.comprehension) and node.ifs)
        for node in several
    )


LOOKING = frozenset(
    """
    abs all any bool callable float hasattr int isinstance len list max min range round set sorted sum tuple type zip
    argmax argmin astype copy get item items keys mean prod ravel reshape std tolist transpose values var
    """.split()  # noqa: SIM905
)
"""Functions and methods that look at what they are given."""


def _looks(node: Any) -> bool:
    """Say whether it is no call, or one of NumPy's and Python's functions that look at numbers."""
    if not isinstance(node, ast.Call):
        return True
    root = node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    is_numpys = root is not node.func and getattr(root, "id", "") in ("np", "numpy", "math")
    return is_numpys or name_of(node.func) in LOOKING


_LEVELS = frozenset("debug info warning error critical exception log".split())  # noqa: SIM905
_IN_TEXT = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)


def writes_text(frame: Any) -> bool:
    """Say whether a frame is at a statement that prints or logs, to what was there before, and does nothing else."""
    by = value_of(_written_by(text_of(frame.f_code.co_filename), frame.f_lineno), frame)
    if by is print:
        return id(sys.stdout) in now().outlets
    logger = logging.root if by is logging else by if isinstance(by, logging.Logger) else None
    handlers, above = list[Any](), logger
    while above is not None:
        handlers += above.handlers
        above = above.parent if above.propagate else None
    return logger is not None and {*map(id, handlers)} <= now().outlets


@lru_cache(maxsize=4096)
def _written_by(text: tuple[str, ...], line: int) -> Any:
    """Return what logs in the one statement of a line, or prints; None where it may do more."""
    several = [x for x in nodes_of(text) if isinstance(x, ast.stmt) and x.lineno <= line <= (x.end_lineno or 0)]
    at = [node for node in several if node.lineno == line or not hasattr(node, "body")]
    call = at[0].value if len(at) == 1 and isinstance(at[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or not all(isinstance(each.value, ast.Constant) for each in call.keywords):
        return None
    texts = [part for each in call.args for part in (each.values if isinstance(each, ast.JoinedStr) else [each])]
    parts = [part.value if isinstance(part, ast.FormattedValue) and _is_spelled_out(part) else part for part in texts]
    if not all(
        isinstance(node, (*_IN_TEXT, ast.Load)) or _is_length(node) for part in parts for node in ast.walk(part)
    ):
        return None
    if isinstance(call.func, ast.Attribute):
        return call.func.value if call.func.attr in _LEVELS else None
    return call.func if isinstance(call.func, ast.Name) and call.func.id == "print" else None


def _is_spelled_out(node: Any) -> bool:
    return not node.format_spec or all(isinstance(each, ast.Constant) for each in node.format_spec.values)


def _is_length(node: Any) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def value_of(node: Any, frame: Any) -> Any:
    """Return what a name or an attribute stands for in a frame, or the logger that is got by its name."""
    if isinstance(node, ast.Name):
        spaces = (frame.f_locals, frame.f_globals, frame.f_builtins)
        return next((space[node.id] for space in spaces if node.id in space), None)
    if isinstance(node, ast.Attribute):
        return getattr(value_of(node.value, frame), node.attr, None)
    got = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "getLogger"
    return value_of(node.func.value, frame) if got else None


_ASKED_BY_PYTHON = frozenset(
    f"__{name}__" for name in ("getitem", "next", "getattr", "getattribute", "del", "len", "length_hint")
)
"""Methods of which Python takes an error for an answer, or keeps it to itself."""


def _is_quiet(frame: Any) -> bool:
    """Say whether an error at the line of a frame may be caught there, or kept by Python; generators may be dropped."""
    text, line = text_of(frame.f_code.co_filename), frame.f_lineno
    if frame.f_code.co_flags & inspect.CO_GENERATOR and any(a <= line <= b for a, b in _ends(text)):
        return True
    return frame.f_code.co_name in _ASKED_BY_PYTHON or _within_try(text, line)


@lru_cache(maxsize=256)
def _ends(text: tuple[str, ...]) -> list[tuple[int, int]]:
    """List the lines of what is done ``finally``, from the first to the last."""
    several = [node.finalbody for node in nodes_of(text) if isinstance(node, (ast.Try, ast.TryStar)) and node.finalbody]
    return [(body[0].lineno, body[-1].end_lineno or 0) for body in several]


@lru_cache(maxsize=4096)
def _within_try(text: tuple[str, ...], line: int) -> bool:
    """Say whether a line lies within what may catch an error; all do in a text that cannot be read."""
    return not nodes_of(text) or any(first <= line <= last for first, last in _catching(text))


@lru_cache(maxsize=256)
def _catching(text: tuple[str, ...]) -> list[tuple[int, int]]:
    """List the lines of what may catch an error, from the first to the last."""
    lines = []
    for node in nodes_of(text):
        if isinstance(node, (ast.With, ast.AsyncWith)):  # of several parts the first may catch what makes the second
            begin = node.items[1].context_expr if len(node.items) > 1 else node.body[0]
            lines.append((begin.lineno, node.body[-1].end_lineno or 0))
        elif isinstance(node, (ast.Try, ast.TryStar)):
            at_end = (each for end in node.finalbody for each in ast.walk(end))
            goes_on = any(isinstance(each, (ast.Return, ast.Break, ast.Continue)) for each in at_end)
            lines.append((node.body[0].lineno, node.finalbody[0].lineno if goes_on else node.body[-1].end_lineno or 0))
    return lines


@lru_cache(maxsize=256)
def nodes_of(text: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the parts of a text, none where it is no Python."""
    try:
        return tuple(ast.walk(ast.parse("".join(text))))[1:]
    except SyntaxError:
        return ()


def common_step(a: Any, b: Any) -> Any:
    """Return the largest number that divides both, as far as is known; infinity is that of zero, 0 is none.

    >>> common_step(6, 4), common_step(0.25, 1.0), common_step(INF, 3), common_step(0, 3)
    (2, 0.25, 3, 0)
    """
    if not a or not b:
        return 0
    small, large = min(a, b), max(a, b)
    if is_multiple(large, small):
        return small
    return math.gcd(int(small), int(large)) if small == int(small) and large == int(large) else 0


def is_multiple(step: Any, of: Any) -> bool:
    """Say whether whole multiples of ``step`` are whole multiples of ``of``."""
    if step == INF:
        return True
    if not step or not of or of == INF or (isinstance(step, float) and step > EXACT * of):
        return False
    return bool(step % of == 0)


def size_of(value: Any) -> Any:
    """Return the largest step of a public number: infinity of zero, 0 of what is not finite."""
    if value == 0:
        return INF
    return abs(value) if math.isfinite(value) else 0


def times(step: Any, by: Any, value: Any) -> Any:
    """Multiply a step, or modulus; the old one stays where a float does not hold the product exactly."""
    if not step or step == INF:
        return step
    inexact = isinstance(value, float) and by == int(by) and step * abs(by) > EXACT
    return step if inexact else step * abs(by)
