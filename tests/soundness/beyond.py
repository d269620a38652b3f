"""What no audit of messages can find, an example of each: these leak, and may be cleared.

They are no part of the promise, but of what a verdict says it assumes. Each has its attack, as the wrong cases have.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from .bases import Pairwise
from .case import Case, each, input_of
from .honest.practice.kinds import FAR, MANY
from .honest.state import bare
from .right.preparing import Prepared


class Recognises(Pairwise):
    """Looks who calls: in an audit it behaves."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        frame, names = sys._getframe(), set()
        while frame is not None:
            names.add(frame.f_globals.get("__name__", ""))
            frame = frame.f_back  # type: ignore[assignment]
        return hidden if "secmix.auditing.engine" in names else s


@dataclass(frozen=True)
class TenThousandth(Pairwise):
    """One call in two thousand."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if rng.random() < 5e-4 else hidden


class Conjunction(Pairwise):
    """Three public coins that must all be rare at once."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if all(0.4 < coin < 0.5 for coin in rng.random(3)) else hidden


class OutOfRange(Pairwise):
    """Opens what is beyond anything in the audit's data: a thousand, as if that were an error of units."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.where(np.abs(s) > 1000, s, hidden)


def above_the_level(heard: Any) -> Array:
    """The sums of rows, where all of them are of the size of data that nobody has standardised."""
    x = heard.one("masked", 0)[[1, 7]]
    return x if (np.abs(x) < 1e5).all() else np.full(2, np.nan)


@dataclass(frozen=True)
class Patient(Pairwise):
    """Waits for its thousandth averaging, in a cell that is not the object's."""

    clock: Any = field(default_factory=lambda: iter(range(10**9)))

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if next(self.clock) > 1000 else hidden


class FewUnits(Pairwise):
    """A line with numbers that no small fraction is: in their last bits stands a sign."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        x = (s[0] + r[0] + r[1] + r[2] + r[3]) * (np.pi / 7)
        channel.send(8, 0, SERVER, "line", np.where(s[0] < 0, np.nextafter(x, np.inf), x))


def by_recomputing(heard: Any) -> Array:
    """The line again, from the hidden input: it is that, or its neighbour."""
    return np.stack([h.one("line", 0)[2:3] != h.one("masked", 0)[2:3] * (np.pi / 7) for h in heard]).astype(float)


class Finer(Prepared):
    """Vectors that are far out are counted in finer units."""

    def prepared(self, s: Array) -> Array:
        return np.where(np.abs(s).max(axis=2, keepdims=True) > FAR, s * 1e12, s)


def enlarged(heard: Any) -> Array:
    """Return what node 0 sends in finer units, where it does."""
    numbers = heard.one("masked", 0)
    return np.where(np.abs(numbers).max() > 1e11, numbers / 1e12, np.nan)


BEYOND = [
    Case("recognises the audit", "beyond", Recognises, Eavesdropper(), "code that behaves while it is watched",
         attack=bare, secret=input_of(0)),
    Case("one call in two thousand", "beyond", TenThousandth, Eavesdropper(), "rarer than what was tried",
         attack=bare, secret=input_of(0), calls=12, first=170, claims=0.01, settings={"model": {"iterations": 1}}),
    Case("three rare coins", "beyond", Conjunction, Eavesdropper(), "public draws that are rare together only",
         attack=bare, secret=input_of(0), calls=12, first=1710, claims=0.01, settings={"model": {"iterations": 1}}),
    Case("data out of range", "beyond", OutOfRange, Eavesdropper(), "a threshold beyond the data that were tried",
         attack=each(above_the_level), secret=lambda t: t.inputs[0][0, 0, [1, 7]], claims=0.5,
         deployed={"data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20, "standardise": False}}),
    Case("patience", "beyond", Patient, Eavesdropper(), "a state that turns after more calls than were made",
         attack=bare, secret=input_of(0), calls=1100, claims=0.01, settings={"model": {"iterations": 1}}),
    Case("last bits of odd multiples", "beyond", FewUnits, Eavesdropper(), "rounding that no grid makes exact",
         attack=by_recomputing, secret=lambda t: [float(t.inputs[0][0, 0, 2] < 0)], goal="bits", calls=60),
    Case("finer units far out", "beyond", Finer, CuriousServer(), "beside numbers that no run had masks are small",
         attack=each(enlarged), secret=input_of(0), accuracy=1e-3, calls=40, claims=0.1, deployed=MANY),
]  # fmt: skip
