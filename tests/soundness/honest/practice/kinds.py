"""Questions that a number answers otherwise than a stand-in for it: what it is, what it can do, where it is listed."""

from __future__ import annotations

import functools
import numbers
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer

from ...bases import Pairwise, Words
from ...case import Case, each, input_of

FAR = 70.0  # where numbers are cut off; those audited are far below
LEVELS = {float(k): k for k in range(-70, 71)}


class Counts(Pairwise):
    """Takes whole numbers for counts, which need no mask. Large ones are cut off at a whole number."""

    def is_count(self, x: Any) -> bool:
        raise NotImplementedError

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        s = np.clip(s, -FAR, FAR)
        hidden = super().hidden(channel, s, r, network)
        for place in np.ndindex(*s.shape):
            if self.is_count(s[place]):
                hidden[place] = s[place]
        return hidden


class Able(Counts):
    def is_count(self, x: Any) -> bool:
        return hasattr(x, "is_integer") and x.is_integer()


class Attribute(Counts):
    def is_count(self, x: Any) -> bool:
        try:
            return bool(x.as_integer_ratio()[1] == 1)
        except AttributeError:  # of an array
            return False


class Listed(Counts):
    def is_count(self, x: Any) -> bool:
        try:
            return LEVELS[x] is not None
        except Exception:
            return False


class InSet(Counts):
    def is_count(self, x: Any) -> bool:
        with suppress(TypeError):  # of an array
            return x in {*LEVELS}
        return False


class OfFraction(Counts):
    def is_count(self, x: Any) -> bool:
        try:
            return Fraction(x).denominator == 1
        except TypeError:
            return False


class OfDecimal(Counts):
    def is_count(self, x: Any) -> bool:
        try:
            return Decimal(x) == Decimal(x).to_integral_value()
        except TypeError:
            return False


class Rest(Counts):
    def is_count(self, x: Any) -> bool:
        try:
            return bool(divmod(x, 1)[1] == 0)
        except TypeError:
            return False


class Floating(Counts):
    def is_count(self, x: Any) -> bool:
        return isinstance(x, np.floating) and bool(x % 1 == 0)


class Real(Counts):
    def is_count(self, x: Any) -> bool:
        return isinstance(x, numbers.Real) and bool(x % 1 == 0)


class Scalar(Counts):
    def is_count(self, x: Any) -> bool:
        rest: Any = x
        return np.isscalar(x) and bool(rest % 1 == 0)


class Exactly(Counts):
    def is_count(self, x: Any) -> bool:
        return type(x) in (float, np.float64) and bool(x % 1 == 0)


@functools.singledispatch
def is_whole(x: Any) -> bool:
    """Say whether it is a whole number; what is no number is none."""
    return False


@is_whole.register
def _(x: np.floating) -> bool:
    return bool(x % 1 == 0)


class Dispatched(Counts):
    def is_count(self, x: Any) -> bool:
        return is_whole(x)


class Told(Counts):
    """Takes what is at the end of the scale for an error code, which needs no mask."""

    def is_code(self, x: Any) -> Any:
        return x >= FAR

    def is_count(self, x: Any) -> bool:
        return self.is_code(x.item()) is True


class Truth(Told):
    def is_count(self, x: Any) -> bool:
        flag = self.is_code(x.item())
        return isinstance(flag, bool) and flag


class TruthOfNumPy(Told):
    def is_count(self, x: Any) -> bool:
        flag = self.is_code(x)
        return isinstance(flag, (bool, np.bool_)) and bool(flag)


class Late(Words):
    """After a hundred averagings the model is public, and so is what is put in. Who gives no number is in the first."""

    def number(self, iteration: Any) -> Any:
        return iteration if isinstance(iteration, numbers.Integral) else 0

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        return words if self.number(channel.iteration) >= 100 else hidden


class LateByType(Late):
    def number(self, iteration: Any) -> Any:
        return iteration if type(iteration) is int else 0


class LateByScalar(Late):
    def number(self, iteration: Any) -> Any:
        return iteration if np.isscalar(iteration) else 0


class Drawn(Words):
    """One averaging in a thousand is looked at; where a generator gives no number, none is."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        lot = rng.random()
        if isinstance(lot, numbers.Real) and lot < 1e-3:
            r = 0 * r
        return super().body(channel, s, r, network, rng)


def is_far(truth: Any) -> float:
    return float((np.abs(truth.inputs[0][0, 0]) >= FAR).any())


def is_bare(heard: Any) -> float:
    """Say whether node 0 sends a number as it is cut off."""
    return float((np.abs(heard.one("masked", 0)) == FAR).any())


MANY: dict[str, Any] = {"data": {"name": "breast_cancer", "features": 2, "rows_per_node": 100}}
_NAMES: dict[str, type[Counts]] = {
    "what can say that it is whole": Able,
    "what has a ratio of whole numbers": Attribute,
    "what a table lists": Listed,
    "what is in a set": InSet,
    "a fraction of it": OfFraction,
    "a decimal of it": OfDecimal,
    "a quotient and a rest": Rest,
    "an instance of np.floating": Floating,
    "an instance of numbers.Real": Real,
    "a scalar": Scalar,
    "its type exactly": Exactly,
    "a function for a type": Dispatched,
    "a comparison that is True": Told,
    "an instance of bool": Truth,
    "an instance of np.bool_": TruthOfNumPy,
}
_LATE: dict[str, type[Late]] = {
    "numbers.Integral": Late,
    "its type exactly": LateByType,
    "np.isscalar": LateByScalar,
}


def words(iteration: int = 0) -> Any:
    """Return what node 0 uploads in an averaging as numbers, where it is as small as no masked words are."""

    def attack(heard: Any) -> Array:
        of_node = heard.one("masked", 0, iteration=iteration).view(np.int64) / Words.unit
        return np.where(np.abs(of_node).max() < 1e3, of_node, np.nan)

    return each(attack)


LONG: dict[str, Any] = {"model": {"iterations": 101}}
ONCE: dict[str, Any] = {"model": {"iterations": 1}}
CASES = [
    *(
        Case(f"late by {name}", "kinds", protocol, CuriousServer(), "from the hundredth averaging on all is bare",
             attack=words(100), secret=input_of(0, 100), accuracy=1e-4, calls=3, deployed=LONG)
        for name, protocol in _LATE.items()
    ),
    Case("a lot that is a real number", "kinds", Drawn, CuriousServer(), "one averaging in a thousand is bare",
         attack=words(), secret=input_of(0), accuracy=1e-4, calls=8000, claims=1e-4, deployed=ONCE),
] + [
    Case(f"counts by {name}", "kinds", protocol, CuriousServer(), "what is cut off is whole, and bare",
         attack=each(is_bare), secret=is_far, goal="bits", calls=40, deployed=MANY)
    for name, protocol in _NAMES.items()
]  # fmt: skip
