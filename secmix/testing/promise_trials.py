"""A promise tried on inputs: which values it needs, whether it is kept, and whether a failure counts."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from secmix.adversaries.against_rules.oracle import Rule, quietly
from secmix.testing.counterexample import Promise
from secmix.testing.rule_inputs import RuleInputs
from secmix.testing.rule_promises import AGREEING, F_LIMITS, REACH, WORST

UNBOUNDED = 1e3
"""Without a bound given, an error of so many honest spreads counts as one."""
ROUNDING = {"float32": 2e-4, "float16": 3e-2}
"""What a rule may be wrong by, in units of the largest entry; 1e-7 for the other number types."""
_REMEMBERED = 40  # inputs that passed


@dataclass
class Trials:
    """Tries promises of a rule, and counts."""

    rule: Rule
    allowed: Callable[[int, int], float]  # of (n, f): the largest error, in honest spreads
    uncalled: Rule | None = None  # a copy of the rule that has not been called
    cases: Counter[str] = field(default_factory=Counter)  # by title
    calls: int = 0
    shapes: Counter[tuple[int, int, int, str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[int, int, int, str, str]] = field(default_factory=Counter)  # whatever messages hold
    passed: list[tuple[Promise, RuleInputs]] = field(default_factory=list)  # to be tried again when something fails
    written_on: bool = False  # the messages of the last inputs were others afterwards

    def hold(self, promise: Promise, inputs: RuleInputs) -> BaseException | None:
        """Try the promise, and count it; return what was raised, or None where the promise is kept."""
        why = self.fails(promise, inputs)
        self.cases[promise.title] += 1
        self.calls += promise.calls * int(inputs.extra.get("calls", 1))
        self.shapes[inputs.shape] += 1
        if why is None and promise in AGREEING and len(self.passed) < _REMEMBERED:
            self.passed.append((promise, inputs))
        return why

    def changed(self, promise: Promise, inputs: RuleInputs) -> bool:
        """Say whether failing inputs sometimes pass, or one that passed fails now: the rule counts or draws."""
        if any(self.fails(promise, inputs) is None for _ in range(3)):
            return True
        if (
            self.uncalled is not None
            and Trials(copy.deepcopy(self.uncalled), self.allowed).fails(promise, inputs) is None
        ):
            return True
        return any(self.fails(*before) is not None for before in self.passed)

    def fades(self, promise: Promise, inputs: RuleInputs) -> bool:
        """Say whether inputs of numbers a little larger pass: the rule may know the old ones from another call."""
        step = 1e-9 if inputs.dtype in ("float64", ">f8") else 3.0  # fewer digits, or integers
        more = {name: getattr(inputs, name) * (1 + step) + step for name in ("honest", "byzantine")}
        return self.fails(promise, replace(inputs, **more)) is None

    def fails(self, promise: Promise, inputs: RuleInputs) -> BaseException | None:
        """Return what is raised; None too where the rule refuses all messages of this shape."""
        values = values_of(promise, inputs, self.allowed)
        before = np.array(values["messages"]) if "messages" in values else None
        self.written_on = False
        try:
            quietly(lambda: promise.check(self.rule, **values))
            self.written_on = before is not None and not np.array_equal(before, values["messages"], equal_nan=True)
        except AssertionError as error:
            return error
        except (Exception, SystemExit) as error:
            # Refused are messages of this shape, such as differ and such as are all alike.
            if promise is not F_LIMITS and all(self._refuses(inputs, alike=alike) for alike in (False, True)):
                self.refused[inputs.shape] += 1
                return None
            return error
        return None

    def _refuses(self, inputs: RuleInputs, *, alike: bool) -> bool:
        try:
            quietly(lambda: self.rule(inputs.harmless(alike=alike), f=inputs.f))
        except ValueError:
            return True
        except Exception as error:  # a number type that the rule does not take
            return isinstance(error, TypeError) and inputs.dtype != "float64"
        return False


def values_of(promise: Promise, inputs: RuleInputs, allowed: Callable[[int, int], float]) -> dict[str, Any]:
    """Return what a promise needs, by name."""
    values: dict[str, Any] = {**inputs.arrays(), **inputs.extra, "f": inputs.f}
    if "tolerance" in promise.needs:
        size = float(np.abs(values["honest"]).max())
        if promise not in (*AGREEING, REACH, WORST):
            added = [inputs.extra[name] for name in ("shift", "axis", "common") if name in inputs.extra]
            numbers = [np.asarray(values["messages"], dtype=np.float64), *added]
            size = max(size, *(float(np.abs(array).max()) for array in numbers))
        size = max(size, inputs.extra.get("unit", 1.0)) or 1.0
        values["tolerance"] = float(f"{ROUNDING.get(inputs.dtype, 1e-7) * size:.3g}")
    if "allowed" in promise.needs:
        values["allowed"] = float(allowed(inputs.n, inputs.f))
    return {name: values[name] for name in promise.needs}
