"""Read the text of a protocol: where it branches, catches, logs and imports, and what it compares by identity.

Of a line that runs, the text around it says whether an error may be caught there, and whether a branch is a *guard*, an
``if`` with nothing but ``raise``.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

from secmix.transcript import outlets

_LIBRARIES = tuple({sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")})


FOLLOWED_AS_THEY_ARE = tuple(os.path.join(path, name) for path in _LIBRARIES for name in ("numpy", "scipy"))


KERNEL = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


TRANSCRIPT = os.path.join(os.path.dirname(KERNEL), "transcript")


_COINS = os.path.join(os.path.dirname(KERNEL), "wrap", "library_coins.py")  # which stand for the system's


SHARES = os.path.join(os.path.dirname(KERNEL), "wrap", "share_sum.py")  # whose ``with`` hands coins over, and no more


_STDLIB = tuple({sysconfig.get_path(each) for each in ("stdlib", "platstdlib")})


def is_protocol(file: str) -> bool:
    """Say whether a file belongs neither to Python, nor to NumPy, nor to this package; a notebook's cell has none."""
    if file.startswith((KERNEL, _COINS, outlets.__file__, *FOLLOWED_AS_THEY_ARE, "<frozen ")):
        return False
    return not is_of_library(file)


def is_of_library(file: str) -> bool:
    """Say whether a file is of Python's library."""
    return file.startswith(_STDLIB) and "site-packages" not in file


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
    for node, is_followed in _with_calls(_tree_of(text) if any(map(_HEARS.search, text)) else None):
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


def _with_calls(tree: Any) -> Iterator[tuple[Any, bool]]:
    """Yield the nodes of a text, and whether they are in a function that a trace meets: not as an object is made."""
    waiting = [(tree, False)] if tree else []
    while waiting:
        node, is_followed = waiting.pop()
        yield node, is_followed
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        makes = getattr(node, "name", "") in ("__init__", "__post_init__", "__new__")
        inside = is_followed or (is_function and not makes)
        waiting += [(each, inside) for each in ast.iter_child_nodes(node)]


def imports_in(file: str) -> list[Any]:
    """List the imports in a protocol's file."""
    return _imports(text_of(file)) if is_protocol(file) else []


@lru_cache(maxsize=1024)
def _imports(text: tuple[str, ...]) -> list[Any]:
    return [node for node in nodes_of(text) if isinstance(node, (ast.Import, ast.ImportFrom))]


def identities_in(file: str) -> dict[int, list[Any]]:
    """Return what is compared by identity in a protocol's file, by line; with None anything may be."""
    return {} if file.startswith(os.path.dirname(KERNEL)) or not is_protocol(file) else _identities(text_of(file))


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
def is_guard(text: tuple[str, ...], line: int, part: tuple[Any, ...]) -> bool:
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


@lru_cache(maxsize=4096)
def written_by(text: tuple[str, ...], line: int) -> Any:
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


def is_quiet(frame: Any) -> bool:
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
    tree = _tree_of(text)
    return tuple(ast.walk(tree))[1:] if tree else ()


@lru_cache(maxsize=256)
def _tree_of(text: tuple[str, ...]) -> ast.Module | None:
    try:
        return ast.parse("".join(text))
    except SyntaxError:
        return None
