"""A promise tried on inputs: which values it needs, whether it is kept, and whether a failure counts."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.search.oracle import Rule, quietly
from secmix.testing.counterexample import Promise
from secmix.testing.rule_inputs import RuleInputs
from secmix.testing.rule_promises import AGREEING, F_LIMITS, ITSELF, REACH, WORST

UNBOUNDED = 1e3
"""Without a bound given, an error of so many honest spreads counts as one."""
ROUNDING = {"float32": 2e-4, "float16": 3e-2}
"""What a rule may be wrong by, in units of the largest entry; 1e-7 for the other number types."""
_REMEMBERED = 40  # inputs that passed
_NEARBY = (24, 160)  # moves by a few digits to find a tie; more if most is explained
_EPS = float(np.finfo(float).eps)


@dataclass
class Trials:
    """Tries promises of a rule, and counts."""

    rule: Rule
    allowed: Callable[[int, int], float]  # of (n, f): the largest error, in honest spreads
    fresh: Rule | None = None  # a copy of the rule that has not been called
    cases: Counter[str] = field(default_factory=Counter)  # by title
    calls: int = 0
    shapes: Counter[tuple[int, int, int, str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[int, int, int, str, str]] = field(default_factory=Counter)  # whatever messages hold
    passed: list[tuple[Promise, RuleInputs]] = field(default_factory=list)  # to be tried again when something fails
    written_on: bool = False  # the messages of the last inputs were others afterwards

    def hold(self, one: Promise, inputs: RuleInputs) -> BaseException | None:
        """Try the promise, and count it; return what was raised, or None where the promise is kept."""
        why = self.fails(one, inputs)
        self.cases[one.title] += 1
        self.calls += one.calls * int(inputs.extra.get("calls", 1))
        self.shapes[inputs.shape] += 1
        if why is None and one in AGREEING and len(self.passed) < _REMEMBERED:
            self.passed.append((one, inputs))
        return why

    def changed(self, one: Promise, inputs: RuleInputs) -> bool:
        """Say whether failing inputs sometimes pass, or one that passed fails now: the rule counts or draws."""
        if any(self.fails(one, inputs) is None for _ in range(3)):
            return True
        if self.fresh is not None and Trials(copy.deepcopy(self.fresh), self.allowed).fails(one, inputs) is None:
            return True
        return any(self.fails(*before) is not None for before in self.passed)

    def fades(self, one: Promise, inputs: RuleInputs) -> bool:
        """Say whether inputs of numbers a little larger pass: the rule may know the old ones from another call."""
        step = 1e-9 if inputs.dtype in ("float64", ">f8") else 3.0  # fewer digits, or whole numbers
        more = {name: getattr(inputs, name) * (1 + step) + step for name in ("honest", "byzantine")}
        return self.fails(one, replace(inputs, **more)) is None

    def fails(self, one: Promise, inputs: RuleInputs) -> BaseException | None:
        """Return what is raised; None too where the rule refuses all messages of this shape."""
        values = values_of(one, inputs, self.allowed)
        before = np.array(values["messages"]) if "messages" in values else None
        self.written_on = False
        try:
            quietly(lambda: one.check(self.rule, **values))
            self.written_on = before is not None and not np.array_equal(before, values["messages"], equal_nan=True)
        except AssertionError as error:
            return None if a_tie(one, self.rule, values, error) else error
        except (Exception, SystemExit) as error:
            # Refused are messages of this shape, such as differ and such as are all alike.
            if one is not F_LIMITS and all(self._refuses(inputs, alike=alike) for alike in (False, True)):
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


def values_of(one: Promise, inputs: RuleInputs, allowed: Callable[[int, int], float]) -> dict[str, Any]:
    """Return what a promise needs, by name."""
    found: dict[str, Any] = {**inputs.arrays(), **inputs.extra, "f": inputs.f}
    if "tolerance" in one.needs:
        size = float(np.abs(found["honest"]).max())
        if one not in (*AGREEING, REACH, WORST):
            added = [inputs.extra[name] for name in ("shift", "axis", "common") if name in inputs.extra]
            numbers = [np.asarray(found["messages"], dtype=np.float64), *added]
            size = max(size, *(float(np.abs(array).max()) for array in numbers))
        size = max(size, inputs.extra.get("unit", 1.0)) or 1.0
        found["tolerance"] = float(f"{ROUNDING.get(inputs.dtype, 1e-7) * size:.3g}")
    if "allowed" in one.needs:
        found["allowed"] = float(allowed(inputs.n, inputs.f))
    return {name: found[name] for name in one.needs}


def a_tie(one: Promise, rule: Rule, values: dict[str, Any], failed: AssertionError) -> bool:
    """Return whether the rule takes the other result, too, on messages that are off by a last digit, or half of them.

    Of two results that are equally good, as two midmost messages are, nobody can choose alike in another guise. Scores
    that are equal whatever the numbers are, as those of two messages that are each other's nearest, are no excuse: a
    rule that then takes the first to come does depend on the order of arrival.
    """
    pair = _pair_of(failed)
    if not (one.only_if or one in ITSELF) or pair is None or np.shape(pair[0]) != np.shape(pair[1]):
        return False
    (result, expected), messages = pair, values["messages"]
    if messages.dtype != np.float64:
        messages = messages.astype(np.float64)  # as it lies in memory
    rng = np.random.default_rng(0)
    # Entry by entry: a rule may choose in each by itself.
    one_way = other_way = np.abs(result - expected) <= values["tolerance"]
    for tried in range(_NEARBY[1]):
        if tried == _NEARBY[0] and max(np.mean(one_way), np.mean(other_way)) < 0.9:
            return False
        moved = _moved(messages, tried, rng)
        widened = moved.shape != messages.shape
        pair = _compared(one, rule, {**values, "messages": moved})
        if pair is None and not widened:
            return False
        if pair is None:  # the rule, or the promise's own numbers, may be for one dimension
            continue
        theirs, mine = (each[:1] if widened else each for each in pair)
        one_way = one_way | (np.abs(result - mine) <= values["tolerance"])
        other_way = other_way | (np.abs(expected - theirs) <= values["tolerance"])
        if np.all(one_way) or np.all(other_way):
            return True
    return False


def _moved(messages: Array, tried: int, rng: np.random.Generator) -> Array:
    """Return messages that are off by a last digit or by half of them; on a line, every second time in a plane."""
    moved = messages.copy(order="K")
    # Scores that are sums of squares part only where messages do by half of their digits.
    few = (16 * _EPS if tried % 4 < 2 else 4 * _EPS**0.5) * np.abs(messages).max(axis=0, initial=0.0)
    moved[...] += few * rng.uniform(-1.0, 1.0, messages.shape)
    if tried % 2 == 1 and moved.ndim == 2 and moved.shape[1] == 1:
        # On a line, sums of distances are equal all over a region: only another dimension takes that away.
        moved = np.hstack([moved, 1e-4 * np.abs(moved).max() * rng.uniform(-1.0, 1.0, moved.shape)])
    return moved


def _compared(one: Promise, rule: Rule, values: dict[str, Any]) -> tuple[Array, Array] | None:
    """Return the two results that a promise compares, agreeing or not; None where there are none."""
    try:
        return quietly(lambda: one.check(rule, **values))  # type: ignore[no-any-return]
    except AssertionError as error:
        return _pair_of(error)
    except (Exception, SystemExit):
        return None


def _pair_of(error: AssertionError) -> tuple[Array, Array] | None:
    said = error.args[0] if error.args else None
    return said if isinstance(said, tuple) and len(said) == 2 else None
