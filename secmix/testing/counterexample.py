"""A failure as a test to paste: the values, the code under test, and the function that it fails."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Adversary, HonestButCurious
from secmix.kernel import Proof
from secmix.network import Network
from secmix.testing.promise import Promise

LAYOUTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "C": (lambda a: a, "{}"),
    "F": (np.asfortranarray, "np.asfortranarray({})"),
    "every second row": (lambda a: np.repeat(a, 2, axis=0)[::2], "np.repeat({}, 2, axis=0)[::2]"),
    "every second column": (lambda a: np.repeat(a, 2, axis=1)[:, ::2], "np.repeat({}, 2, axis=1)[:, ::2]"),
    "backwards": (lambda a: np.ascontiguousarray(a[::-1])[::-1], "np.ascontiguousarray({}[::-1])[::-1]"),
    "transposed view": (lambda a: np.ascontiguousarray(a.T).T, "np.ascontiguousarray({}.T).T"),
    "part of a larger array": (lambda a: np.pad(a, 1)[1:-1, 1:-1], "np.pad({}, 1)[1:-1, 1:-1]"),
    "read-only": (lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape), "{}"),
}
"""Ways for the same numbers to lie in memory, and Python that makes each of an expression."""


def laid_out(array: Array, layout: str) -> Any:
    """Return the same values, lying in memory as ``layout`` says."""
    return LAYOUTS[layout][0](np.ascontiguousarray(array))


def written(value: Any) -> str:
    """Write a value as Python that evaluates to it, to the last bit.

    >>> written(np.array([[1.0, float("nan")]]))
    'np.array([[1.0, np.nan]])'
    >>> written(Network.cycle(3))
    'Network.from_edges(3, [(0, 1), (0, 2), (1, 2)])'
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
    if isinstance(value, Proof):  # of the calls that check_protocol proves
        shape = (3, *np.shape(value.fits[0].results[0]))
        alone = ", in_other_calls=False" if shape[1] > 1 else ""
        return f"prove(protocol, network, np.random.default_rng(0).uniform(-1, 1, {shape}){alone})"
    if isinstance(value, Network):
        return f"Network.from_edges({value.n}, {[(int(a), int(b)) for a, b in value.edges]})"
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, HonestButCurious):
        return f"adversaries.HonestButCurious({sorted(map(int, value.corrupt))}, eavesdrops={value.eavesdrops})"
    return f"adversaries.{value!r}" if isinstance(value, Adversary) else repr(value)


def _numbers(value: Any) -> str:
    return re.sub(r"\b(nan|inf)\b", r"np.\1", repr(value))


def as_test(
    name: str, subject: str, defined: list[str], one: Promise, values: Mapping[str, Any], layout: str = "C"
) -> str:
    """Write the test, complete with imports; run as a script it calls itself.

    ``defined`` are import lines for the ``subject``, "rule" or "protocol", and last what defines it. Messages among the
    ``values`` lie in memory as ``layout`` says.
    """
    *imports, definition = defined
    lines = {key: written(value) for key, value in values.items()}
    if "messages" in lines:
        lines["messages"] = LAYOUTS[layout][1].format(lines["messages"])
    body = [f"{key} = {line}" for key, line in lines.items()]
    body += ["messages.flags.writeable = False"] * (layout == "read-only") + [one.call(subject)]
    used = [each for each in ("Network", "adversaries") if any(f"{each}." in line for line in body)]
    imports += [f"from secmix import {', '.join(used)}"] * bool(used)
    imports += ["from secmix.kernel import prove"] * ("proof" in lines)
    head = ["import numpy as np", *([""] * bool(imports)), *sorted(imports)]
    test = re.sub(r"\W+", "_", f"test_{name}_{one.title}").strip("_")
    function = f"def {test}():\n" + textwrap.indent("\n".join(body), "    ")
    call = f'if __name__ == "__main__":\n    {test}()'
    pieces = ("\n".join(head), definition, one.source, function, call)
    return "\n\n\n".join(piece.strip("\n") for piece in pieces if piece.strip())


def name_of(rule: Callable[..., Any]) -> str:
    """Return what to call the rule."""
    return str(getattr(rule, "__name__", getattr(getattr(rule, "func", None), "__name__", type(rule).__name__)))


def rule_defined(rule: Callable[..., Any]) -> list[str]:
    """Return import lines for ``rule``, and last what defines it by that name."""
    if isinstance(rule, functools.partial):
        *imports, definition = rule_defined(rule.func)
        given = ", ".join([*map(written, rule.args), *(f"{k}={written(v)}" for k, v in rule.keywords.items())])
        return ["import functools", *imports, f"{definition}\nrule = functools.partial(rule, {given})"]
    module, name = getattr(rule, "__module__", ""), getattr(rule, "__qualname__", "")
    if module and module != "__main__" and name.isidentifier() and _importable(module, name, rule):
        return [f"from {_public(module, name, rule)} import {name} as rule", ""]
    try:
        text = textwrap.dedent(inspect.getsource(rule))
    except (OSError, TypeError):
        text = ""
    needed = _imports(rule) if text.startswith("def ") else None
    if needed is not None:
        return [*needed, f"\n{text}\n\nrule = {rule.__name__}\n"]
    return [f"# put the rule under test here: rule = {name or rule!r}"]


def _imports(rule: Callable[..., Any]) -> list[str] | None:
    """Return import lines for what a function names; None where it needs what cannot be imported."""
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


def protocol_defined(protocol: Any) -> list[str]:
    """Return import lines for ``protocol``, and last what defines it, if its class and its repr can be found again."""
    kind = type(protocol)
    text = repr(protocol)
    try:
        again = eval(text, {kind.__name__: kind, "np": np})
        same = type(again) is kind and repr(again) == text
    except Exception:
        same = False
    if same and kind.__module__ != "__main__" and _importable(kind.__module__, kind.__qualname__, kind):
        return [f"from {_public(kind.__module__, kind.__name__, kind)} import {kind.__name__}", f"protocol = {text}"]
    return [f"# put the protocol under test here: protocol = {kind.__name__}(...)"]


def _public(module: str, name: str, value: Any) -> str:
    """Name the outermost package that has this name."""
    parts = module.split(".")
    outer = (".".join(parts[: k + 1]) for k in range(len(parts)))
    return next(each for each in outer if _importable(each, name, value))


def _importable(module: str, name: str, value: Any) -> bool:
    """Say whether a fresh interpreter would find this under this name."""
    try:
        spec = importlib.util.find_spec(module)
        return spec is not None and getattr(importlib.import_module(module), name, None) is value
    except (ImportError, ValueError):
        return False


def readable(messages: Array) -> Array:
    """Round the messages to three significant digits."""
    return np.array([float(f"{x:.3g}") for x in messages.ravel()]).reshape(messages.shape)
