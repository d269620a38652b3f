"""A promise of a rule or a protocol, and the test to paste that shows where it is broken."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Adversary
from secmix.kernel import Proof
from secmix.network import Network

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


@dataclass(frozen=True)
class Promise:
    """A function ``check(rule or protocol, ...)`` that raises an AssertionError where the promise is broken.

    Its name is the title, its docstring what must be done, its other parameters what it needs.
    """

    check: Callable[..., Any]
    only_if: str = ""  # the equivariance without which it is not promised
    calls: int = 1  # results that it looks at
    most: int | None = None  # cases that it is tried on, where it takes long
    name: str = ""  # another title, where two promises are of one function

    @cached_property
    def title(self) -> str:
        """The name in words."""
        return self.name or self.check.__name__.replace("_", " ")

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """The names of the values that it is tried on."""
        return tuple(inspect.signature(self.check).parameters)[1:]


@dataclass(frozen=True)
class BrokenPromise:
    """A promise that is broken, and on what."""

    promise: Promise
    values: Mapping[str, Any]  # what the promise needs, by name
    why: BaseException
    where: str  # sizes, in words
    note: str = ""
    layout: str = "C"  # of messages among the values, in memory
    tries: int = 600  # simpler values that are worth a try

    @cached_property
    def cost(self) -> int:
        """Say how hard the values are to read."""
        large = [value.size for value in self.values.values() if isinstance(value, np.ndarray) and value.size > 2000]
        return 20 * sum(large) or len("".join(map(written, self.values.values()))) + 9 * (self.layout != "C")

    def error(self, name: str, subject: str, defined: list[str], command: str) -> AssertionError:
        """Return the error that says which promise is broken and how, with the test to paste.

        ``name`` is that of the ``subject``, a "rule" or a "protocol"; ``defined`` are import lines for it, and last
        what defines it; ``command`` says how to find the failure again.
        """
        must = " ".join(str(inspect.getdoc(self.promise.check)).split())
        cause = f"{type(self.why).__name__}: {self.why}".splitlines()[0][:300]
        cause = cause if isinstance(self.why, AssertionError) else f"the {subject} raises {cause}"
        head = [f'{name} fails "{self.promise.title}": it must {must[0].lower()}{must[1:]}', cause]
        head += [*([self.note] if self.note else []), f"{self.where}; {command}."]
        return AssertionError("\n".join(head) + f"\n\n{self._test(name, subject, defined)}\n")

    def _test(self, name: str, subject: str, defined: list[str]) -> str:
        """Write the test, complete with imports; run as a script it calls itself."""
        *imports, definition = defined
        lines = {key: written(value) for key, value in self.values.items()}
        if "messages" in lines:
            lines["messages"] = LAYOUTS[self.layout][1].format(lines["messages"])
        body = [f"{key} = {line}" for key, line in lines.items()]
        body += ["messages.flags.writeable = False"] * (self.layout == "read-only")
        body.append(f"{self.promise.check.__name__}({', '.join((subject, *self.promise.needs))})")
        used = [each for each in ("Network", "adversaries") if any(f"{each}." in line for line in body)]
        imports += [f"from secmix import {', '.join(used)}"] * bool(used)
        imports += ["from secmix.kernel import prove"] * ("proof" in lines)
        head = ["import numpy as np", *([""] * bool(imports)), *sorted(imports)]
        test = re.sub(r"\W+", "_", f"test_{name}_{self.promise.title}").strip("_")
        function = f"def {test}():\n" + textwrap.indent("\n".join(body), "    ")
        call = f'if __name__ == "__main__":\n    {test}()'
        pieces = ("\n".join(head), definition, inspect.getsource(self.promise.check), function, call)
        return "\n\n\n".join(piece.strip("\n") for piece in pieces if piece.strip())


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
            for axis, first in enumerate((value[:1], value[:, :1])):
                if value.shape[axis] > 1 and (value == first).all():
                    return f"np.repeat({written(first)}, {value.shape[axis]}, axis={axis})"
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
    return f"adversaries.{value!r}" if isinstance(value, Adversary) else repr(value)


def _numbers(value: Any) -> str:
    return re.sub(r"\b(nan|inf)\b", r"np.\1", repr(value))


def name_of(rule: Callable[..., Any]) -> str:
    """Return what to call the rule."""
    return str(getattr(rule, "__name__", getattr(getattr(rule, "func", None), "__name__", type(rule).__name__)))


def rule_defined(rule: Callable[..., Any]) -> list[str]:
    """Return import lines for ``rule``, and last what defines it by that name."""
    if isinstance(rule, functools.partial):
        *imports, definition = rule_defined(rule.func)
        given = ", ".join([*map(written, rule.args), *(f"{k}={written(v)}" for k, v in rule.keywords.items())])
        return ["import functools", *imports, f"{definition}\nrule = functools.partial(rule, {given})"]
    module, name = str(getattr(rule, "__module__", "")), getattr(rule, "__qualname__", "")
    if name.isidentifier() and _importable(module, name, rule):
        return [f"from {_public(module, name, rule)} import {name} as rule", ""]
    try:
        text = textwrap.dedent(inspect.getsource(rule))
        needed = _imports(rule) if text.startswith("def ") else None
    except (OSError, TypeError, ValueError):
        needed = None
    if needed is not None:
        return [*needed, f"\n{text}\n\nrule = {rule.__name__}\n"]
    return [f"# put the rule under test here: rule = {name or rule!r}"]


def _imports(rule: Callable[..., Any]) -> list[str] | None:
    """Return import lines for the names that a function uses; None if one cannot be imported."""
    variables, lines = inspect.getclosurevars(rule), []
    for name, value in variables.globals.items():
        if inspect.ismodule(value):
            lines += [f"import {value.__name__} as {name}"] * ((name, value.__name__) != ("np", "numpy"))
        elif _importable(rule.__module__, name, value):
            lines.append(f"from {rule.__module__} import {name}")
        else:
            return None
    return None if variables.nonlocals else lines


def protocol_defined(protocol: Any) -> list[str]:
    """Return import lines for ``protocol``, and last what defines it, if its class and its repr can be found again."""
    kind, text = type(protocol), repr(protocol)
    try:
        again = eval(text, {kind.__name__: kind, "np": np})
        reproducible = type(again) is kind and repr(again) == text
    except Exception:
        reproducible = False
    if reproducible and _importable(kind.__module__, kind.__qualname__, kind):
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
        spec = importlib.util.find_spec(module) if module != "__main__" else None
        return spec is not None and getattr(importlib.import_module(module), name, None) is value
    except (ImportError, ValueError):
        return False
