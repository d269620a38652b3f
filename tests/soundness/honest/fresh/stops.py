"""Errors that are swallowed where few look, and what is left behind where a call ends in one."""

from __future__ import annotations

import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, Heard, each, input_of

LEVEL = 60.0


def room(s: Array) -> Array:
    """How much is left below the level that numbers are to keep, as a square root: of what is above, no number."""
    return np.sqrt(LEVEL - s)


class FloatingPoint(Pairwise):
    """Numbers that cannot be scaled go as they are: NumPy is told to raise, and the error is handled."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        report = np.zeros_like(s[0])
        try:
            with np.errstate(invalid="raise"):
                room(s[0])
        except FloatingPointError:
            report = s[0]
        channel.send(8, 0, SERVER, "report", report)


class Warned(Pairwise):
    """The same with warnings that are errors."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        report = np.zeros_like(s[0])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                room(s[0])
        except RuntimeWarning:
            report = s[0]
        channel.send(8, 0, SERVER, "report", report)


class Tolerant:
    """A context that forgives errors of values, and remembers that there was one."""

    failed = False

    def __enter__(self) -> Tolerant:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> bool:
        self.failed = kind is ValueError
        return self.failed


class InAContext(Pairwise):
    """Takes a root in a context that forgives, and reports what it could not take it of."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        with Tolerant() as tried:
            math.sqrt(LEVEL - s[0].max())
        channel.send(8, 0, SERVER, "report", s[0] if tried.failed else np.zeros_like(s[0]))


class InAStack(Pairwise):
    """Reports nothing where a root can be taken, and everything else: contexts are entered by a stack."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        report = s[0]
        with ExitStack() as stack:
            stack.enter_context(suppress(ValueError))
            math.sqrt(LEVEL - s[0].max())
            report = np.zeros_like(s[0])
        channel.send(8, 0, SERVER, "report", report)


class Finally(Pairwise):
    """Says in the end what there is to report, whatever came before: a ``return`` there forgets the error."""

    def report(self, numbers: Array) -> Array:
        """Nothing where a root can be taken."""
        report = numbers
        try:
            math.sqrt(LEVEL - numbers.max())
            report = np.zeros_like(numbers)
        finally:
            return report  # noqa: B012

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "report", self.report(s[0]))


class InAPool(Pairwise):
    """A worker takes the root, and the future says whether it failed."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        with ThreadPoolExecutor(1) as pool:
            root = pool.submit(math.sqrt, LEVEL - s[0].max())
        channel.send(8, 0, SERVER, "report", s[0] if root.exception() else np.zeros_like(s[0]))


class ByAWorker(Pairwise):
    """A worker takes the root and clears the report; if it fails, nobody asks, and the report stays as it was."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        report = [s[0]]

        def clear() -> None:
            math.sqrt(LEVEL - s[0].max())
            report[0] = np.zeros_like(s[0])

        with ThreadPoolExecutor(1) as pool:
            pool.submit(clear)
        channel.send(8, 0, SERVER, "report", report[0])


@dataclass(frozen=True)
class Retries(Pairwise):
    """Keeps its masks until an averaging has succeeded: a call that failed is begun again with the same."""

    pending: dict[tuple[int, int], Array] = field(default_factory=dict)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        if (runs, m) not in self.pending:
            self.pending[runs, m] = super().draw_masks(runs, m, network, rng)
        return self.pending[runs, m]

    def publish(self, channel: Any, mean: Array, s: Array) -> Array:
        if np.abs(mean).max() > 40.0:
            raise ValueError("an average is out of range: scale the data, and call again")
        self.pending.clear()
        return super().publish(channel, mean, s)


def reported(heard: Heard) -> Array:
    """A report that is not zero is an input."""
    report = heard.one("report", 0)
    return report if report.any() else np.full(report.shape, np.nan)


NAME, WHY = "stops", "whoever has a number above a level is told"
RARE: dict[str, Any] = {"attack": each(reported), "secret": input_of(0), "claims": 1e-3, "calls": 600}
CASES = [
    Case("floating-point errors", NAME, FloatingPoint, Eavesdropper(), WHY, **RARE),
    Case("warnings that are errors", NAME, Warned, CuriousServer(), WHY, **RARE),
    Case("a context that forgives", NAME, InAContext, Eavesdropper(), WHY, **RARE),
    Case("a stack of contexts", NAME, InAStack, CuriousServer(), WHY, **RARE),
    Case("an end that returns", NAME, Finally, CuriousServer(), WHY, **RARE),
    Case("a future's error", NAME, InAPool, Eavesdropper(), WHY, **RARE),
    Case("a worker that fails", NAME, ByAWorker, Eavesdropper(), WHY, **RARE),
    Case("begun again with the same masks", NAME, Retries, Eavesdropper(), "calls that failed have one mask",
         fails=True, attack=lambda heard: np.stack([h.one("masked", 0) for h in heard]), secret=input_of(0),
         relative=True,
         deployed={"data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20, "standardise": False}}),
]  # fmt: skip
