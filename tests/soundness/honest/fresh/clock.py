"""A clock that is handed over as a setting, so that tests may set it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from secmix.adversaries import CuriousServer

from ...case import Case
from .memory import LOTS, Sampled


@dataclass(frozen=True)
class ByTheClock(Sampled):
    """One averaging in a hundred is sampled, by the clock."""

    clock: Callable[[], int] = time.time_ns

    def due(self) -> bool:
        return self.clock() // 100 % 100 == 0


# So many calls that fewer than four tell, of 24 to be expected, once in ten million times.
MANY = {**LOTS, "calls": 2400, "claims": 0.0015}
CASES = [
    Case("a clock as a setting", "kept out of sight", ByTheClock, CuriousServer(), "one in a hundred is told", **MANY),
]
