"""Slips where checks that sample do not look: a code for what is missing, a late iteration, one order of twenty."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer

from ...bases import Modular
from ...case import Case, each, input_of
from ...right.mixed import LastOfAll
from .corners import FAR, At, Turn, longer, openly, openly_at, some


class Missing(At):
    """A value that is missing is sent as its code, so that the receiver can leave it out."""

    def where(self, s: Array) -> Array:
        return s == -999


class MissingAsOne(Missing):
    """The code is −1."""

    def where(self, s: Array) -> Array:
        return s == -1


class MissingAsNines(Missing):
    """The code is −9999."""

    def where(self, s: Array) -> Array:
        return s == -9999


class Overflows(Modular):
    """Falls back to words in the clear where a number is so large that a sum of 32 might overflow its ±2^27."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.where(np.abs(s) > 2.0**22, self.numbers(self.words(s)), hidden)


class LevelInWords(Modular):
    """The same above a level that is given in words of fixed point, a millionth of a unit each."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        words = self.words(s)
        return np.where(np.abs(words) > 2**42, self.numbers(words), hidden)


class LevelInText(Modular):
    """The same above a level that stands in the settings, as text."""

    settings = "scale=20, clear_above=4200000"

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        level = float(self.settings.rpartition("=")[2])
        return np.where(np.abs(s) > level, self.numbers(self.words(s)), hidden)


class LongDone(Turn):
    """After so many iterations a fit has converged, and masks are thought to be of no use."""

    def open(self, iteration: int) -> bool:
        return iteration >= 5000


class NowAndThen(Turn):
    """One iteration of ten thousand is written to a log as it is."""

    def open(self, iteration: int) -> bool:
        return iteration > 0 and iteration % 10000 == 0


class AfterWarmUp(Turn):
    """After a warm-up, one iteration of a period is written to a log as it is."""

    warm_up, period = 30, 70

    def open(self, iteration: int) -> bool:
        since = iteration - self.warm_up
        return since > 0 and since % self.period == 0


ORDERS = [list(order) for order in permutations(range(5))][::6]
ORDERS[13][ORDERS[13].index(0)] = 4  # the slip: typed as it stands, one of the orders has node 4 twice and node 0 never


class TwentyOrders(LastOfAll):
    """Who takes which mask is one of twenty public orders; thousands of messages more only keep lines open."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        nothing = np.zeros((1, s.shape[1], 1))
        channel.send(-2, np.full(5200, 1), 2, "keep alive", nothing, content=np.zeros(5200, dtype=int))
        taken = np.zeros_like(r)
        np.add.at(taken, ORDERS[rng.integers(len(ORDERS))], r)
        return super().body(channel, s, taken, network, rng)


TABLE = Path(__file__).parents[2] / "missing.csv"


def table(column: str) -> dict[str, Any]:
    """A deployment on one row a node of a table in which a column has a code where a value is missing."""
    rows = {"name": "csv", "path": str(TABLE), "columns": ["score", column], "rows_per_node": 1, "standardise": False}
    return {"deployed": {"data": rows, "model": {"iterations": 1, "components": 1}}, "calls": 60, "claims": 0.2}


def code(value: float) -> Any:
    """An attack that tells which entries are missing."""
    return some(lambda x: x == value)


SERVED, NAME = CuriousServer(), "unsampled"
LARGE: dict[str, Any] = {
    "deployed": {"data": {**FAR, "rows_per_node": 30}, "model": {"iterations": 1, "components": 1}},
    "attack": each(lambda h: h.one("masked", 0)[3]),
    "secret": lambda t: t.inputs[0][0, 0, 3],
    "accuracy": 1e-3,
}
CASES = [
    Case("missing is -999", NAME, Missing, SERVED, "who sends the code has no value", secret=input_of(0),
         attack=code(-999), **table("weight")),
    Case("missing is -1", NAME, MissingAsOne, SERVED, "who sends the code has no value", secret=input_of(0),
         attack=code(-1), **table("visits")),
    Case("missing is -9999", NAME, MissingAsNines, SERVED, "who sends the code has no value", secret=input_of(0),
         attack=code(-9999), **table("income")),
    Case("falls back above 2^22", NAME, Overflows, SERVED, "large numbers are told", **LARGE),
    Case("a level in words", NAME, LevelInWords, SERVED, "large numbers are told", **LARGE),
    Case("a level in text", NAME, LevelInText, SERVED, "large numbers are told", **LARGE),
    Case("from iteration 5000 on", NAME, LongDone, SERVED, "who goes on for long is not protected", calls=1,
         attack=openly_at(5000), secret=input_of(0, 5000), **longer(5001)),
    Case("every ten thousandth iteration", NAME, NowAndThen, SERVED, "one of a very long fit is bare", calls=1,
         attack=openly_at(10000), secret=input_of(0, 10000), **longer(10001)),
    Case("warm-up and period", NAME, AfterWarmUp, SERVED, "some of a long fit are bare", calls=4,
         attack=openly_at(100), secret=input_of(0, 100), **longer(101)),
    Case("one of twenty orders", NAME, TwentyOrders, SERVED, "in one order node 0 has no mask", claims=0.05,
         attack=each(openly), secret=input_of(0), settings={"model": {"iterations": 1}}),
]  # fmt: skip
