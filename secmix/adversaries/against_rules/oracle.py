"""The rule as colluders use it: they try messages and read off how far the result moves."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.adversaries.against_rules.ties import above
from secmix.adversaries.attacks.sums import centre
from secmix.aggregators import rule_named
from secmix.aggregators.stacks import apply_to_each, at_once, parts, takes_stacks
from secmix.errors import SecmixError

Rule = Callable[..., Any]
"""``rule(messages (n, p), f=...) -> (p,)``."""


@dataclass(frozen=True)
class Combining:
    """A rule that can say what it makes of each of several sets of messages: ``of_each(stack (s, n, p), f)``."""

    rule: Rule
    of_each: Callable[[Array, int], Array]

    def __call__(self, messages: Array, f: int) -> Any:
        """Apply the rule to one set of messages."""
        return self.rule(messages, f=f)


def configured(rule: Rule | str) -> tuple[Rule, int | None]:
    """Split a rule into one that takes f and the f that it is fixed to, if it is; ``rule`` may be a name.

    ``functools.partial(rule, f=2)`` is a rule set to 2 however many attack; so is a function that takes no f.
    """
    rule = rule_named(rule)
    if isinstance(rule, functools.partial) and "f" in rule.keywords:
        rest = {key: value for key, value in rule.keywords.items() if key != "f"}
        inner = functools.partial(rule.func, *rule.args, **rest) if rest or rule.args else rule.func
        return inner, int(rule.keywords["f"])
    try:
        parameters = inspect.signature(rule).parameters
    except (TypeError, ValueError):
        return rule, None
    if "f" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return rule, None
    return lambda messages, f: rule(messages), None


class Spent(Exception):
    """The budget of evaluations is used up."""


@dataclass(frozen=True)
class Try:
    """Messages that were tried, in units of the honest spread from the honest mean, and what they did."""

    error: float
    z: Array
    found_by: str


@dataclass(frozen=True)
class Tried:
    """The outcomes of several messages that were tried."""

    # (k,): in units of the spread; −1 where the rule refuses the messages, infinite where its result is not finite
    errors: Array
    shifts: Array  # (k, p): where the rule went, from the honest mean, in units of the spread; NaN where it refuses
    messages: Array  # (k, f, p)

    def part(self, which: slice) -> Tried:
        """Select some of them."""
        return Tried(self.errors[which], self.shifts[which], self.messages[which])


@dataclass
class Oracle:
    """Counts evaluations and keeps the best.

    Messages are written ``z`` (f, p): message = mean + spread · z, so that the search works in units in which the
    honest messages lie within distance 1 of the origin. An error is in units of the spread too.
    """

    # rule, honest, f, rule_f: ``rule_f`` is the f that the rule is set to, which may differ from the f messages sent
    rule: Rule
    honest: Array
    f: int
    rule_f: int
    budget: int
    used: int = 0
    refused: int = 0
    best: Try | None = None
    history: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mean = centre(self.honest)
        with np.errstate(over="ignore"):
            largest = float(np.abs(self.honest - self.mean).max())
            if not np.isfinite(largest):
                raise SecmixError("the honest messages lie further apart than a float can say; scale them down")
            self.spread = largest * norm((self.honest - self.mean) / largest) if largest > 0 else 0.0
        # Messages that all agree have no spread; their own size then sets the scale of an attack.
        self.unit = self.spread or float(np.abs(self.mean).max()) or 1.0
        if not np.isfinite(self.unit):
            raise SecmixError("the honest messages lie further apart than a float can say; scale them down")
        self.cloud = (self.honest - self.mean) / self.unit

    def messages(self, z: Array) -> Array:
        """Convert ``z`` to the messages (f, p) that it stands for."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.mean + self.unit * z)

    def __call__(self, z: Array, found_by: str) -> float:
        """Return the error that ``z`` causes, in units of the spread; −1 where the rule refuses such messages."""
        return float(self.errors_of(z[None], found_by)[0])

    def errors_of(self, zs: Array, found_by: str | Sequence[str]) -> Array:
        """Try several ``z`` (k, f, p), as of one call after the other, and return their errors: (k,)."""
        return self.note(self.tried(zs), zs, found_by)

    def send(self, messages: Array, found_by: str | Sequence[str], *, keep: bool = True) -> Array:
        """Try the messages themselves (k, f, p), as :meth:`errors_of` does: they reach the rule to the last bit.

        ``keep`` says whether one may become the best; a result that is not finite always may.
        """
        zs = (messages - self.mean) / self.unit if keep else messages
        return self.note(self.tried(zs, messages), zs, found_by, keep=keep)

    def tried(self, zs: Array, messages: Array | None = None) -> Tried:
        """Try several ``z`` (k, f, p), as many as the budget still allows, and leave it to :meth:`note` to count them.

        A search may then try messages side by side, and note them one after the other.
        """
        zs = zs[: self.budget - self.used]
        sent = self.messages(zs) if messages is None else messages[: len(zs)]
        shifts = np.empty((len(zs), len(self.mean)))
        refused = np.zeros(len(zs), dtype=bool)
        n = len(self.honest) + self.f
        for part in parts(np.arange(len(zs)), n * len(self.mean)):
            stack = np.empty((len(part), n, len(self.mean)))
            stack[:, : -self.f], stack[:, -self.f :] = self.honest, sent[part]
            shifts[part], refused[part] = self._answers(stack)
        with np.errstate(over="ignore", invalid="ignore"):
            shifts = (shifts - self.mean) / self.unit
            errors = np.where(np.isfinite(shifts).all(axis=1), _norms(shifts), np.inf)
        return Tried(np.where(refused, -1.0, errors), np.where(refused[:, None], np.nan, shifts), sent)

    @property
    def at_once(self) -> int:
        """The number of messages that it pays to try side by side."""
        return at_once((len(self.honest) + self.f) * len(self.mean))

    def note(self, tried: Tried, zs: Array, found_by: str | Sequence[str], *, keep: bool = True) -> Array:
        """Count what was tried, and keep the best, the first of those that are equal but for rounding; the errors.

        Raises Spent: not all of ``zs`` could be tried.
        """
        best = -np.inf if self.best is None else self.best.error
        for k, error in enumerate(tried.errors.tolist()):
            self.used += 1
            if error < 0:
                self.refused += 1
            elif above(error, best) and (keep or math.isinf(error)):
                best, name = error, found_by if isinstance(found_by, str) else found_by[k]
                self.best = Try(error, np.array(zs[k]), name)
                self.winning = tried.messages[k].copy()
                self.history.append((self.used, error * self.unit))
        if len(tried.errors) < len(zs):
            raise Spent
        return tried.errors

    def _answers(self, stack: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Apply the rule to each of some sets of messages, and mark those that it refuses."""
        try:
            results = self._of_each(stack)
        except (ValueError, ArithmeticError):
            results = None  # which of them it is shows below
        if results is not None and results.shape == (len(stack), len(self.mean)):
            return results, np.zeros(len(stack), dtype=bool)
        results, refused = np.zeros((len(stack), stack.shape[2])), np.zeros(len(stack), dtype=bool)
        for k, messages in enumerate(stack):
            try:
                result = np.asarray(self.rule(messages, f=self.rule_f), dtype=np.float64)
            except (ValueError, ArithmeticError):
                refused[k] = True
                continue
            if result.shape != self.mean.shape:
                raise SecmixError(
                    f"the rule returned shape {result.shape}; expected one vector of shape {self.mean.shape}"
                )
            results[k] = result
        return results, refused

    def _of_each(self, stack: Array) -> Array | None:
        if isinstance(self.rule, Combining):
            return np.asarray(self.rule.of_each(stack, self.rule_f), dtype=np.float64)
        return apply_to_each(self.rule, stack, self.rule_f) if takes_stacks(self.rule) else None


def norm(rows: Array) -> float:
    """Compute the largest Euclidean norm of the rows, without overflow."""
    return float(_norms(rows).max(initial=0.0))


def _norms(rows: Array) -> Array:
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    return np.asarray(unit * np.sqrt(((rows / unit[:, None]) ** 2).sum(axis=1)))


def quietly(search: Callable[[], Any]) -> Any:
    """Run a search without the warnings that rejected or huge messages cause by the thousand."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return search()
