"""Numbers prepared by what is no number, or another one, where they lie beyond what was audited."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer

from ...case import Case, each
from ...right.preparing import Prepared
from .kinds import FAR, MANY, is_far

FEW: dict[str, Any] = {"data": {"name": "breast_cancer", "features": 2, "rows_per_node": 2}}


class OfFirst(Prepared):
    """Prepares the first entry, how many rows the first component has: audited it is always above one."""

    def first(self, count: Array) -> Array:
        raise NotImplementedError

    def prepared(self, s: Array) -> Array:
        return np.concatenate([self.first(s[..., :1]), s[..., 1:]], axis=2)


class Calibrated(OfFirst):
    """Calibrates it by a table, beyond whose ends there is no number."""

    def first(self, count: Array) -> Array:
        of_node = [[np.interp(of_run, [1.0, 1e3], [1.1, 1.1e3], left=np.nan) for of_run in each] for each in count]
        return np.array(of_node)


LEVELS = [np.array([0.0, 1.0, 1e3]), np.array([-np.inf, 1.1, 1.1e3])]


class Infinite(OfFirst):
    """Calibrates it by a table that begins at minus infinity."""

    def first(self, count: Array) -> Array:
        return np.array([[np.interp(of_run, *LEVELS) for of_run in each] for each in count])


class Signed(OfFirst):
    """Odd numbers of rows count a little less than even ones; less than one row is a half."""

    def first(self, count: Array) -> Array:
        return count + 1e-3 * self.sign(np.where(count < 1, 0.5, np.rint(count)))

    def sign(self, rows: Array) -> Array:
        return np.power(-1.0, rows)


class SignedByFloats(Signed):
    def sign(self, rows: Array) -> Array:
        return np.float_power(-1.0, rows)


class NoRoom(Prepared):
    """Weighs numbers by how much room is left to the end of the scale, which is to be no nought."""

    def prepared(self, s: Array) -> Array:
        return np.asarray(s / np.maximum(FAR - np.abs(s), np.finfo(float).tiny))


def is_no_number(heard: Any) -> float:
    return float(not np.isfinite(heard.one("masked", 0)).all())


def is_below(truth: Any) -> float:
    return float(truth.inputs[0][0, 0, 0] < 1)


SERVED, NAME = CuriousServer(), "beyond"
BITS: dict[str, Any] = {"goal": "bits", "calls": 60, "deployed": FEW}
CASES = [
    Case("a table without numbers beyond its ends", NAME, Calibrated, SERVED, "a mask does not hide what is no number",
         attack=each(is_no_number), secret=is_below, **BITS),
    Case("a table that begins at infinity", NAME, Infinite, SERVED, "a mask does not hide what is infinite",
         attack=each(is_no_number), secret=is_below, **BITS),
    Case("a negative number to the power of a secret", NAME, Signed, SERVED, "a root of it is no real number",
         attack=each(is_no_number), secret=is_below, **BITS),
    Case("a negative number to the power of a secret, as floats", NAME, SignedByFloats, SERVED, "the same",
         attack=each(is_no_number), secret=is_below, **BITS),
    Case("divided by the smallest of floats", NAME, NoRoom, SERVED, "what is divided by so little is infinite",
         attack=each(is_no_number), secret=is_far, goal="bits", calls=60, deployed=MANY),
]  # fmt: skip
