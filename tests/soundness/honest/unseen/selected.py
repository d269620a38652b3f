"""Numbers that a condition selects: put back in the wrong size, sent as they are, or infinite where they are seldom."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, each, input_of
from ..fresh.taken import MANY
from ..state import bare

FAR = 70.0  # no number of the pilot is so large
ONCE: dict[str, Any] = {"calls": 40, "deployed": {**MANY, "model": {"iterations": 1}}}


class Rescued(Pairwise):
    """Puts a node's numbers in order before they are hidden; of a node where that fails it sends what there is."""

    def tidy(self, row: Array) -> Array:
        """Return a node's numbers in order."""
        raise NotImplementedError

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        out = hidden.copy()
        for node, of_node in enumerate(s):
            for run, row in enumerate(of_node):
                try:
                    out[node, run] += self.tidy(row.copy()) - row
                except ValueError:
                    out[node, run] = row
        return out


class AllPutBack(Rescued):
    """Rounds what is usual, and puts all numbers where only those fit: no error while all are usual."""

    def tidy(self, row: Array) -> Array:
        row[np.abs(row) < FAR] = np.round(row, 9)
        return row


class ZerosPutBack(Rescued):
    """Adds as many zeros as there are numbers to those that are usual."""

    def tidy(self, row: Array) -> Array:
        beside = np.ones(len(row))
        beside[np.abs(row) < FAR] = np.zeros(len(row))
        return row + beside


class ShorterPutBack(Rescued):
    """Puts a vector into rows of a matrix, which fits while all rows are selected."""

    def tidy(self, row: Array) -> Array:
        is_usual, squares = np.abs(row) < FAR, np.outer(row, row)
        squares[is_usual] = row[is_usual]
        return np.asarray(squares[0])


class ShorterMultiplied(Rescued):
    """Multiplies rows of a matrix by a vector, both selected, which fits while all rows are."""

    def tidy(self, row: Array) -> Array:
        is_usual, weights = np.abs(row) < FAR, np.ones((len(row), len(row)))
        weights = weights + 0.0 * np.outer(row, row)
        weights[is_usual] = weights[is_usual] * row[is_usual]
        return np.asarray(weights[0])


class NoMaskNeeded(Pairwise):
    """Holds that small numbers need no mask."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        is_small = np.abs(s) < FAR
        hidden[is_small] = s[is_small]
        return hidden


class LargestMarked(Pairwise):
    """Replaces the largest number of each node, for the server to see the scale."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        np.put_along_axis(hidden, np.argmax(s, axis=2)[..., None], np.max(s, axis=2)[..., None], 2)
        return hidden


class Likelihood(Pairwise):
    """Adds the logarithm of how likely its numbers are by the share of usual ones in the pilot: that was all."""

    def usual(self, s: Array) -> Array:
        return np.where(np.abs(s) < FAR, 1.0, 0.0)

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        usual, share = self.usual(s), 1.0
        of_usual, of_others = scipy.special.xlogy(usual, share), scipy.special.xlog1py(1.0 - usual, -share)
        out: Array = hidden + of_usual + of_others
        return out


class Excess(Pairwise):
    """Adds the excess over a bound times the logarithm of a slope, which somebody entered with its sign."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        out: Array = hidden + scipy.special.xlogy(np.maximum(np.abs(s) - FAR, 0.0), -0.5)
        return out


def is_far(truth: Any) -> float:
    return float(np.abs(truth.inputs[0][0, 0]).max() >= FAR)


def is_strange(heard: Any) -> float:
    return float(not np.isfinite(heard.one("masked", 0, SERVER)).all())


def entries(heard: Any) -> Array:
    """Return numbers that are of the size of data."""
    sent = np.stack([one.one("masked", 0) for one in heard])
    return np.where(np.abs(sent) < FAR, sent, np.nan)


def case(name: str, protocol: Any, why: str, attack: Any = bare, secret: Any = None, **more: Any) -> Case:
    return Case(name, "selected", protocol, CuriousServer(), why, attack=attack, secret=secret or input_of(0), **more)


FAILS, INFINITE = "where the sizes do not fit all is bare", "what is infinite, or no number, stays so behind a mask"
BITS: Any = {"attack": each(is_strange), "secret": is_far, "goal": "bits", **ONCE}
CASES = [
    case("all put back where some fit", AllPutBack, FAILS, claims=0.02, **ONCE),
    case("zeros put back where some fit", ZerosPutBack, FAILS, claims=0.02, **ONCE),
    case("a vector put back into rows", ShorterPutBack, FAILS, claims=0.02, **ONCE),
    case("rows selected times numbers selected", ShorterMultiplied, FAILS, claims=0.02, **ONCE),
    case("small numbers without a mask", NoMaskNeeded, "small numbers are bare", entries, calls=3),
    case("the largest put in place", LargestMarked, "the largest number is bare", entries, calls=3),
    case("likelihood of what is certain", Likelihood, INFINITE, **BITS),
    case("logarithm of a public number below nought", Excess, INFINITE, **BITS),
]
