"""One upload in five hundred is looked at, by a lot that a library draws, or by a clock that is none of ``time``."""

from __future__ import annotations

import os
import ssl
import timeit
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx
import scipy.stats
import sklearn.utils

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import Channel

from ...bases import Words
from ...case import Case, input_of
from .kinds import ONCE, words

ONE_IN = 500


@dataclass(frozen=True)
class Looked(Words):
    """Sends what is under the mask, where it is looked at how well numbers are rounded."""

    is_due: Callable[[], bool] = bool

    def chosen(self, channel: Channel, hidden: Array, words: Array, s: Array) -> Array:
        return words if self.is_due() else hidden


def of_kernel() -> bool:
    return int.from_bytes(os.getrandom(4), "big") % ONE_IN == 0


def of_openssl() -> bool:
    return int.from_bytes(ssl.RAND_bytes(4), "big") % ONE_IN == 0


def of_name() -> bool:
    """Look at uploads by their names, which begin with the time."""
    return uuid.uuid1().time // 10 % ONE_IN == 0


def of_timer() -> bool:
    return int(timeit.default_timer() * 1e7) % ONE_IN == 0


def of_scipy() -> bool:
    return bool(scipy.stats.bernoulli.rvs(1 / ONE_IN))


def of_sklearn() -> bool:
    return bool(sklearn.utils.check_random_state(None).rand() < 1 / ONE_IN)


def of_graph() -> bool:
    return bool(networkx.gnp_random_graph(2, 1 / ONE_IN).number_of_edges())


_LOTS: dict[str, Callable[[], bool]] = {
    "os.getrandom": of_kernel,
    "ssl": of_openssl,
    "uuid1": of_name,
    "timeit": of_timer,
    "SciPy": of_scipy,
    "scikit-learn": of_sklearn,
    "NetworkX": of_graph,
}


def made(is_due: Callable[[], bool]) -> Any:
    return lambda: Looked(is_due=is_due)


CASES = [
    Case(f"looked at by a lot of {name}", "libraries", made(is_due), CuriousServer(), "now and then all is bare",
         attack=words(), secret=input_of(0), accuracy=1e-4, calls=4000, claims=1e-4, deployed=ONCE)
    for name, is_due in _LOTS.items()
]  # fmt: skip
