"""The rule as colluders see it: they try messages and read off how far the result is pushed."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.attacks.sums import centre
from secmix.aggregators import rule_named
from secmix.errors import SecmixError

Rule = Callable[..., Any]
"""``rule(messages (n, p), f=...) -> (p,)``."""


def configured(rule: Rule | str) -> tuple[Rule, int | None]:
    """A rule that takes f, and the f that it is fixed to, if it is; ``rule`` may be a name.

    ``functools.partial(rule, f=2)`` is a rule set to 2 whoever attacks; so is a function that takes no f.
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


@dataclass
class Oracle:
    """Counts evaluations and keeps the best.

    Messages are written ``z`` (f, p): message = mean + spread · z, so that the search works in units in which the
    honest messages lie within distance 1 of the origin. An error is in units of the spread too.

    Attributes
    ----------
    rule, honest, f, rule_f
        ``rule_f`` is the f that the rule is set to, which may differ from the f messages sent.
    budget : int
    last : (p,)
        Where the rule went in the latest evaluation, from the honest mean, in units of the spread.
    """

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
        """The messages (f, p) that ``z`` stands for."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.mean + self.unit * z)

    def __call__(self, z: Array, found_by: str) -> float:
        """The error that ``z`` causes, in units of the spread; −1 where the rule refuses such messages."""
        return self.send(self.messages(z), z, found_by)

    def send(self, messages: Array, z: Array, found_by: str, *, keep: bool = True) -> float:
        """As a call, with the messages themselves given, so that they reach the rule to the last bit.

        ``keep`` says whether it may become the best; a result that is not finite always may.
        """
        if self.used >= self.budget:
            raise Spent
        self.used += 1
        try:
            result = np.asarray(self.rule(np.concatenate([self.honest, messages]), f=self.rule_f), dtype=np.float64)
        except (ValueError, ArithmeticError):
            self.refused += 1
            return -1.0
        if result.shape != self.mean.shape:
            raise SecmixError(f"the rule returned shape {result.shape}; one vector of shape {self.mean.shape} is due")
        with np.errstate(over="ignore", invalid="ignore"):
            self.last = (result - self.mean) / self.unit
            error = norm(self.last[None]) if np.isfinite(self.last).all() else np.inf
        if (keep or not np.isfinite(error)) and (self.best is None or error > self.best.error):
            self.best = Try(error, np.array(z), found_by)
            self.winning = messages.copy()
            self.history.append((self.used, error * self.unit))
        return error


def norm(rows: Array) -> float:
    """The largest Euclidean norm of the rows, without overflow."""
    largest = float(np.abs(rows).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(((rows / largest) ** 2).sum(axis=1).max()))


def quietly(search: Callable[[], Any]) -> Any:
    """Run a search without the warnings that rejected or huge messages cause by the thousand."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return search()
