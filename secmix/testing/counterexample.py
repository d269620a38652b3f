"""A failure as a test to paste: values, the rule, and the very lines that were checked."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from secmix._base.checks import Array

LAYOUTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "C": (lambda a: a, "{}"),
    "F": (np.asfortranarray, "np.asfortranarray({})"),
    "every second row": (lambda a: np.repeat(a, 2, axis=0)[::2], "np.repeat({}, 2, axis=0)[::2]"),
    "every second column": (lambda a: np.repeat(a, 2, axis=1)[:, ::2], "np.repeat({}, 2, axis=1)[:, ::2]"),
    "backwards": (lambda a: np.ascontiguousarray(a[::-1])[::-1], "np.ascontiguousarray({}[::-1])[::-1]"),
    "transposed view": (lambda a: np.ascontiguousarray(a.T).T, "np.ascontiguousarray({}.T).T"),
    "part of a larger array": (lambda a: np.pad(a, 1)[1:-1, 1:-1], "np.pad({}, 1)[1:-1, 1:-1]"),
    "read-only": (lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape), ""),
}
"""Ways for the same numbers to lie in memory, and Python that makes each of an expression."""


def laid_out(array: Array, layout: str) -> Any:
    """``array`` with the same values, lying in memory as ``layout`` says."""
    return LAYOUTS[layout][0](np.ascontiguousarray(array))


def written(value: Any) -> str:
    """A value as Python that evaluates to it, to the last bit.

    >>> written(np.array([[1.0, float("nan")]]))
    'np.array([[1.0, np.nan]])'
    """
    if isinstance(value, np.ndarray):
        kind = "" if value.dtype in (np.float64, np.intp) else f", dtype={value.dtype.str!r}"
        if value.size > 60 and value.ndim == 2:  # rows or columns that are all alike, or many zeros
            if len(value) > 1 and (value == value[:1]).all():
                return f"np.repeat({written(value[:1])}, {len(value)}, axis=0)"
            if value.shape[1] > 1 and (value == value[:, :1]).all():
                return f"np.repeat({written(value[:, :1])}, {value.shape[1]}, axis=1)"
        return f"np.array({_numbers(value.tolist())}{kind})"
    if isinstance(value, (float, np.floating)):
        return _numbers(float(value))
    return repr(value)


def _numbers(value: Any) -> str:
    return re.sub(r"\b(nan|inf)\b", r"np.\1", repr(value))


def as_test(rule: Callable[..., Any], title: str, values: dict[str, Any], lines: str, layout: str = "C") -> str:
    """The test, complete with imports; run as a script it calls itself. The messages lie in memory as ``layout``."""
    imports, definition = _source(rule)
    name = re.sub(r"\W+", "_", f"test_{name_of(rule)}_{title}").strip("_")
    shape = LAYOUTS[layout][1] or "{}"
    body = [f"{key} = {(shape if key == 'messages' else '{}').format(written(value))}" for key, value in values.items()]
    body += ["messages.flags.writeable = False"] * (layout == "read-only") + [lines.strip("\n")]
    head = "\n".join(["import numpy as np", *imports])
    function = f"def {name}():\n" + textwrap.indent("\n".join(body), "    ")
    call = f'if __name__ == "__main__":\n    {name}()'
    return "\n\n\n".join(part.strip("\n") for part in (head, definition, function, call) if part.strip())


def name_of(rule: Callable[..., Any]) -> str:
    """What to call the rule."""
    return str(getattr(rule, "__name__", getattr(getattr(rule, "func", None), "__name__", type(rule).__name__)))


def _source(rule: Callable[..., Any]) -> tuple[list[str], str]:
    """Import lines, and lines that define ``rule``."""
    if isinstance(rule, functools.partial):
        imports, definition = _source(rule.func)
        given = ", ".join([*map(written, rule.args), *(f"{k}={written(v)}" for k, v in rule.keywords.items())])
        return ["import functools", *imports], f"{definition}\nrule = functools.partial(rule, {given})"
    module, name = getattr(rule, "__module__", ""), getattr(rule, "__qualname__", "")
    if module and module != "__main__" and name.isidentifier() and _importable(module, name, rule):
        return [f"from {module} import {name} as rule"], ""
    try:
        text = textwrap.dedent(inspect.getsource(rule))
    except (OSError, TypeError):
        text = ""
    needed = _imports(rule) if text.startswith("def ") else None
    if needed is not None:
        return needed, f"\n{text}\n\nrule = {rule.__name__}\n"
    return [], f"# put the rule under test here: rule = {name or rule!r}"


def _imports(rule: Callable[..., Any]) -> list[str] | None:
    """Import lines for what a function names; None where it needs what cannot be imported."""
    try:
        variables = inspect.getclosurevars(rule)
    except (TypeError, ValueError):
        return None
    if variables.nonlocals:
        return None
    lines = []
    for name, value in variables.globals.items():
        if inspect.ismodule(value):
            if (name, value.__name__) != ("np", "numpy"):
                lines.append(f"import {value.__name__} as {name}")
        elif rule.__module__ != "__main__" and _importable(rule.__module__, name, value):
            lines.append(f"from {rule.__module__} import {name}")
        else:
            return None
    return lines


def source_of(protocol: Any) -> tuple[list[str], str]:
    """Import lines, and lines that define ``protocol``, where its class and its repr can be found again."""
    kind = type(protocol)
    text = repr(protocol)
    try:
        again = eval(text, {kind.__name__: kind, "np": np})
        same = type(again) is kind and repr(again) == text
    except Exception:
        same = False
    if same and kind.__module__ != "__main__" and _importable(kind.__module__, kind.__qualname__, kind):
        return [f"from {kind.__module__} import {kind.__name__}"], f"protocol = {text}"
    return [], f"# put the protocol under test here: protocol = {kind.__name__}(...)"


def _importable(module: str, name: str, rule: Callable[..., Any]) -> bool:
    """Whether a fresh interpreter would find this rule under this name."""
    try:
        spec = importlib.util.find_spec(module)
        return spec is not None and getattr(importlib.import_module(module), name, None) is rule
    except (ImportError, ValueError):
        return False


def readable(messages: Array) -> Array:
    """The messages to three significant digits."""
    return np.array([float(f"{x:.3g}") for x in messages.ravel()]).reshape(messages.shape)
