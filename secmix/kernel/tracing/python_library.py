"""Note what a protocol asks of the machine: files, clocks, processes, who ended first. Another call may be told others.

Of Python's library only what is named here answers by what it is given alone, or is followed. Whatever else a call asks
for narrows a claim to what was traced, whether or not anybody has thought of it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import io
import os
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from secmix.kernel.randomness.coins import noted
from secmix.kernel.values.current_trace import Place, is_of_call, loggers, now, tracing
from secmix.kernel.values.protocol_text import LOOKING, is_protocol, name_of, nodes_of, text_of, value_of
from secmix.transcript import outlets

_OF_DATA = frozenset(
    """
    __future__ abc array ast base64 binascii bisect builtins bz2 calendar cmath codecs collections colorsys contextlib
    copy copyreg csv dataclasses decimal difflib enum errno fractions functools genericpath graphlib gzip hashlib heapq
    hmac html io itertools json keyword logging lzma math numbers operator pathlib pickle posixpath pprint queue random
    re reprlib secrets sre_compile statistics string stringprep struct textwrap time token tokenize types typing
    unicodedata unittest.mock warnings zlib zoneinfo
    """.split()  # noqa: SIM905
)
"""Modules that answer by what they are given, or are followed; what they ask of files is noted where that is asked."""
_MEMBERS = {
    "asyncio": """
    BoundedSemaphore Condition Event Lock Queue Runner Semaphore TaskGroup create_task ensure_future gather
    get_event_loop get_running_loop iscoroutine iscoroutinefunction new_event_loop run set_event_loop sleep timeout
    to_thread wait wait_for""",
    "concurrent.futures": "ALL_COMPLETED Executor Future ThreadPoolExecutor wait",
    "contextvars": "Context ContextVar copy_context",
    "datetime": "timedelta timezone tzinfo",
    "importlib": "import_module",
    "os": "PathLike environ fsdecode fsencode fspath getenv getrandom path strerror urandom",
    "ssl": "RAND_bytes",
    "sys": """
    byteorder exc_info exception executable exit float_info getdefaultencoding getsizeof hexversion implementation
    int_info intern maxsize maxunicode modules path platform stderr stdin stdout version version_info""",
    "threading": "Barrier BoundedSemaphore Condition Event Lock RLock Semaphore Thread Timer local",
    "timeit": "default_timer",
    "uuid": "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 UUID uuid1 uuid3 uuid4 uuid5",
    "weakref": "ref",
}
"""Members of other modules of which the same is so; threads and tasks are followed."""
_OF_FILES = "access getcwd listdir lstat mkdir open remove rename replace rmdir scandir stat unlink".split()  # noqa: SIM905
_HOUSE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_BESIDE = ("logging", "/coverage/", "warnings.py", "linecache.py", "traceback.py", "<frozen importlib")
"""Files of Python's library, and of what watches a protocol, that ask for files of their own."""
_LOOKING = LOOKING | frozenset(
    "allclose array_equal isclose isfinite isin isnan issubclass issubdtype ndim shape size unique".split()  # noqa: SIM905
)
"""Functions and methods that may stand in an assertion."""
_AUDITS = ("secmix.auditing", "secmix.kernel.proving", "secmix.kernel.tracing.trace", "secmix.testing")
"""Modules whose code a thread runs that audits."""
_POLLS = frozenset(
    """
    asctime cancelled created done empty fileno get_debug get_name getEffectiveLevel hasHandlers isEnabledFor is_alive
    is_set isatty locked msecs poll qsize relativeCreated running tell threadName
    """.split()  # noqa: SIM905
)
"""Members that look at who is done, or at how a log or an output is set up."""
_LOGGED = frozenset("critical debug error exception info log warning".split())  # noqa: SIM905
_SPEAKING = _LOGGED | frozenset("flush open print write writelines write_bytes write_text".split())  # noqa: SIM905
"""What fails where a file or an output is full, closed, or of another encoding, in ways that no list names."""
_LATER = frozenset({"__del__", "atexit", "setitimer", "alarm"})
"""Names of what is done once calls are over."""
_AT_THE_END = "what is done at the end, after an error of the machine too"
_TIDYING = frozenset(
    "cancel clear close debug error exception info join release set shutdown stop unlink warning".split()  # noqa: SIM905
)
_ERRORS = "what is done about an error of the machine"
_ENDS = frozenset({"FIRST_COMPLETED", "FIRST_EXCEPTION"})
_FAILURES = frozenset(
    """
    BaseException BrokenPipeError CancelledError Exception IOError KeyboardInterrupt MemoryError NotImplementedError
    OSError RecursionError RuntimeError SystemError
    """.split()  # noqa: SIM905
)
"""Errors that the machine may raise at any line, or where something is printed or drawn: no trace does.

A line that is lost, or a wait that is over, is raised by what is noted itself.
"""


@functools.cache
def _allowed() -> dict[int, Any]:
    """Return the members that may be asked for, by identity."""
    several = [(importlib.import_module(name), members.split()) for name, members in _MEMBERS.items()]
    members = [getattr(module, name) for module, names in several for name in names if hasattr(module, name)]
    return {id(each): each for each in members}


def _is_of_data(module: str) -> bool:
    top = module.split(".")[0]
    return not {module, top, top.lstrip("_")}.isdisjoint(_OF_DATA) or top not in sys.stdlib_module_names


def answers_by_data(value: Any) -> bool:
    """Say whether a class or a function answers by what it is given alone, or is followed."""
    module = getattr(value, "__module__", None)
    owner = getattr(value, "__self__", None)
    if not isinstance(module, str):  # a function of C that is bound to a class, or a module
        module = getattr(owner, "__module__", getattr(owner, "__name__", "builtins"))
    return id(value) in _allowed() or _is_of_data(str(module))


class _AskedModule(types.ModuleType):
    """Stands for a module of Python's library, and notes what is asked of it."""

    def __init__(self, original: types.ModuleType, stands_for: dict[int, Any]) -> None:
        self.__dict__.update(__name__=original.__name__, __wrapped__=original, __stands_for__=stands_for)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self.__wrapped__, name)
        if isinstance(member, types.ModuleType):
            return instead_of(member, self.__stands_for__)
        if id(member) in self.__stands_for__:
            return self.__stands_for__[id(member)]
        if name not in _MEMBERS.get(self.__name__, "").split() and name[:2] != "__":
            _note(self.__name__, name)
        return member

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__wrapped__, name, value)


class _AskedType(type):
    """Stands for a class of Python's library, and notes what is asked of it."""

    original: Any

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.original)

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, cls.original)

    def __call__(cls, *args: Any, **kw: Any) -> Any:
        _note(cls.original.__module__, cls.original.__qualname__)
        return cls.original(*args, **kw)

    def __getattr__(cls, name: str) -> Any:
        _note(f"{cls.original.__module__}.{cls.original.__qualname__}", name)
        return getattr(cls.original, name)


def by_machine(*names: str) -> str:
    """Say that something of this name was asked of the machine."""
    return f"the machine, by {'.'.join(names)}"


def _note(owner: str, name: str) -> None:
    if tracing() and is_of_call():
        now().narrow(by_machine(owner, name))


def instead_of(value: Any, stands_for: dict[int, Any]) -> Any:
    """Return what stands for a module, a class or a function; what answers by data is itself."""
    if id(value) in stands_for:
        return stands_for[id(value)]
    stand_in = value
    if isinstance(value, types.ModuleType):
        stand_in = value if _is_of_data(value.__name__) else _AskedModule(value, stands_for)
    elif isinstance(value, type | types.FunctionType | types.BuiltinFunctionType) and not answers_by_data(value):
        if not isinstance(value, type):
            stand_in = noted(value, by_machine(str(value.__module__), value.__name__))
        elif not issubclass(value, BaseException):
            stand_in = _AskedType(value.__name__, (), {"original": value})
    if stand_in is not value:
        stands_for[id(value)] = stand_in
    return stand_in


def files_noted() -> dict[types.ModuleType, dict[str, Any]]:
    """Return functions of files that note whether a protocol asks, by way of a library too, by module."""
    of_os = {name: _asked(getattr(os, name), f"os.{name}") for name in _OF_FILES}
    opened = _asked(io.open, "open")
    return {os: of_os, io: {"open": opened}, builtins: {"open": opened}}


def _asked(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(f)
    def call(*args: Any, **kw: Any) -> Any:
        mode = str(kw.get("mode", (*args, "r", "r")[1]))  # of a file that is opened
        reads = name != "open" or "r" in mode or "+" in mode
        if reads and tracing() and is_of_call() and _is_asked_by_protocol():
            now().narrow(by_machine(name))
        return f(*args, **kw)

    return call


def _is_asked_by_protocol() -> bool:
    frame: Any = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if (file.startswith(_HOUSE) and file != outlets.__file__) or any(each in file for each in _BESIDE):
            return False
        if is_protocol(file):
            return True
        frame = frame.f_back
    return False  # pragma: no cover (a call is followed by the kernel, which is of this package)


def asked_in(file: str) -> dict[int, list[tuple[str, Any]]]:
    """Return what the lines of a protocol's file ask of the machine, and of which object, if it is of any; by line.

    Line 0 is what is asked once the calls are over, with where it stands.
    """
    return {} if file.startswith(_HOUSE) or not is_protocol(file) else _asked_by(text_of(file))


@functools.lru_cache(maxsize=1024)
def _asked_by(text: tuple[str, ...]) -> dict[int, list[tuple[str, Any]]]:
    lines: dict[int, list[tuple[str, Any]]] = {}
    nodes = nodes_of(text)
    tests = [x for x in nodes if isinstance(x, ast.FunctionDef) and not x.col_offset and x.name.startswith("test_")]
    of_tests = {id(each) for test in tests for each in ast.walk(test)}  # which no call runs: to watch them takes long
    of_logs = {id(each) for x in nodes if isinstance(x, ast.If) and _only_logs(x) for each in ast.walk(x.test)}
    for node in nodes:
        for line, how, of in _questions(node) if id(node) not in of_tests | of_logs else ():
            lines.setdefault(line, []).append((how, of))
    return lines


def _questions(node: Any) -> Iterator[tuple[int, str, Any]]:
    """Yield what a part of a text asks: the line, what it is, and the object that is asked."""
    name = getattr(node, "name", name_of(node))
    if name in _LATER:
        yield 0, by_machine(name), node
    if name in _ENDS:
        yield node.lineno, by_machine(name), None
    if isinstance(node, ast.Attribute) and name in _POLLS:
        yield node.lineno, by_machine(f"{name}()"), node.value
    if isinstance(node, ast.Call):
        yield from _questions_of_call(node)
    does_more = isinstance(node, ast.Assert) and not all(map(_only_looks, ast.walk(node.test)))
    if does_more or name == "__debug__":
        yield node.lineno, "what python -O leaves out", node if does_more else None
    is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    if is_function and name in ("__exit__", "__aexit__") and not all(map(_tidies, node.body)):
        yield node.body[-1].lineno, _AT_THE_END, None
    if isinstance(node, ast.Try | ast.TryStar):
        yield from _questions_of_try(node)


def _questions_of_call(node: ast.Call) -> Iterator[tuple[int, str, Any]]:
    is_given = bool(node.args or node.keywords)
    if isinstance(node.func, ast.Attribute):
        called, limits = node.func.attr, {each.arg for each in node.keywords} & {"timeout", "block", "blocking"}
        if limits or (called == "acquire" and is_given) or (called == "time" and not is_given):
            yield node.lineno, by_machine(f"{called}()"), node.func.value
        if called == "pop" and not is_given:
            yield node.lineno, "which member of a set comes out (take the least, or keep a list)", node
    if name_of(node.func) == "suppress" and not _FAILURES.isdisjoint(map(name_of, node.args)):
        yield node.lineno, _ERRORS, None


def _questions_of_try(node: ast.Try | ast.TryStar) -> Iterator[tuple[int, str, Any]]:
    speaks = any(_speaks(each) for statement in node.body for each in ast.walk(statement))
    if any(_catches_failures(each, speaks) for each in node.handlers):
        yield node.body[0].lineno, _ERRORS, None
    if not all(map(_tidies, node.finalbody)):
        yield node.body[0].lineno, _AT_THE_END, None


def _only_logs(node: ast.If) -> bool:
    """Say whether a test decides on lines of a log, and on nothing else."""
    calls = [each.value for each in node.body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)]
    return len(calls) == len(node.body) and {name_of(each.func) for each in calls} <= _LOGGED and not node.orelse


def _speaks(node: Any) -> bool:
    """Say whether part of a text writes, or loads a module: what is raised there then is of the machine."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    return isinstance(node, ast.Call) and (name_of(node.func) in _SPEAKING or name_of(node.func) == "import_module")


def _only_looks(node: Any) -> bool:
    """Say whether part of an assertion gives nothing a name, and calls nothing but what looks at numbers."""
    if isinstance(node, ast.Call):
        return name_of(node.func) in _LOOKING and not any(each.arg == "out" for each in node.keywords)
    return not isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))


def _catches_failures(handler: ast.ExceptHandler, speaks: bool) -> bool:
    """Say whether an error of the machine is caught there, and something is done about it; any is where one speaks."""
    parts = getattr(handler.type, "elts", [handler.type])
    kinds = {name_of(each) or "BaseException" for each in parts}
    *before, last = handler.body
    is_caught = speaks or not kinds.isdisjoint(_FAILURES)
    return is_caught and not (isinstance(last, ast.Raise) and all(map(_tidies, before)))


def _tidies(node: Any) -> bool:
    """Say whether a statement leaves something, such as by ``close()``, tells it, or sets a constant, and no more."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        given = (*node.value.args, *(each.value for each in node.value.keywords))
        return name_of(node.value.func) in _TIDYING and all(isinstance(each, ast.Constant) for each in given)
    value = getattr(node, "value", None)
    sets = isinstance(node, (ast.Assign, ast.Return, ast.Expr)) and isinstance(
        value, (ast.Constant, ast.Name, type(None))
    )
    return sets or isinstance(node, ast.Pass)


def is_of_machine(node: Any, frame: Any) -> bool:
    """Say whether what a text names, where a frame is, may be of Python's library, and is no value or module."""
    if isinstance(node, ast.Assert):
        return bool(frame.f_code.co_name != "<lambda>")  # which may stand in what is asserted
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop":
        return isinstance(value_of(node.func.value, frame), set)
    value = value_of(node, frame) if node is not None else None
    module = type(value).__module__
    return value is None or module == outlets.__name__ or module.split(".")[0] in sys.stdlib_module_names - {"builtins"}


def goes_on_beside(modules: Iterable[str]) -> str:
    """Name a thread that runs code of these modules, and none of an audit's; empty: none."""
    own = {*modules}
    frames = sys._current_frames()
    for thread in {*threading.enumerate()} - {threading.current_thread()}:
        of_thread = list(_frames(frames.get(thread.ident or 0)))
        made = (getattr(thread, name, None) for name in ("_target", "function"))
        of_thread += [str(getattr(each, "__module__", "")) for each in (*made, type(thread))]
        if not own.isdisjoint(of_thread) and not any(name.startswith(_AUDITS) for name in of_thread):
            return by_machine(f"a thread that goes on beside the calls ({thread.name})")
    return ""


def begins_files(modules: Iterable[str]) -> str:
    """Name a log that begins a new file by code of these modules: when it does hangs on what the file holds."""
    for handler in {each for logger in loggers().values() for each in logger.handlers if hasattr(each, "rotator")}:
        made_by = (type(handler), *(getattr(handler, name, None) for name in ("rotator", "namer")))
        if not {*modules}.isdisjoint(getattr(x, "__module__", "") for x in made_by):
            return by_machine("a log that begins a new file")
    return ""


def _frames(frame: Any) -> Iterator[str]:
    while frame is not None:
        yield str(frame.f_globals.get("__name__"))
        frame = frame.f_back


def done_later(files: Iterable[str]) -> dict[str, Place]:
    """Return what is done once calls are over, by a protocol's files, and where."""
    return {how: Place(file, node.lineno) for file in files for how, node in asked_in(file).get(0, ())}
