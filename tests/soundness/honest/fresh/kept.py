"""Slips that keep something in what a cached function returned, on a logger, in a generator made on first use."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from secmix.adversaries import CuriousServer, Eavesdropper

from ...case import Case
from .memory import LOTS, SECOND, Sampled

LOG = logging.getLogger("service")


class ByLateLot(Sampled):
    """One averaging in fifty is sampled, by a generator that is made on first use, so that runs can be repeated."""

    @functools.cached_property
    def lots(self) -> np.random.Generator:
        return np.random.default_rng(4)

    def due(self) -> bool:
        return bool(self.lots.random() < 0.02)


@functools.cache
def metrics() -> dict[str, int]:
    """The metrics of this process, of which there is one."""
    return {"calls": 0}


class InACache(Sampled):
    """Counts in metrics that a cached function hands out."""

    def due(self) -> bool:
        metrics()["calls"] += 1
        return metrics()["calls"] % 600 == 0


class OnALogger(Sampled):
    """Counts on the logger, to tell averagings apart in the log."""

    def due(self) -> bool:
        LOG.averagings = getattr(LOG, "averagings", 0) + 1  # type: ignore[attr-defined]
        return bool(LOG.averagings % 600 == 0)  # type: ignore[attr-defined]


class CountingPool(ThreadPoolExecutor):
    """A pool that counts what it was given."""

    submitted = 0

    def submit(self, *args: Any, **kw: Any) -> Any:
        self.submitted += 1
        return super().submit(*args, **kw)


class InAPool(Sampled):
    """Works in a pool that counts its jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["pool"] = CountingPool(1)

    def __deepcopy__(self, memo: Any) -> InAPool:
        return InAPool()

    def due(self) -> bool:
        self.__dict__["pool"].submit(int).result()
        return bool(self.__dict__["pool"].submitted % 600 == 0)


def from_nought(kind: Callable[[], Any]) -> Callable[[], Any]:
    """Make one that begins to count."""

    def make() -> Any:
        metrics.cache_clear()
        LOG.averagings = 0  # type: ignore[attr-defined]
        return kind()

    return make


NAME, WHY = "kept out of sight", "every so often one is told"
CASES = [
    Case("a lot drawn late", NAME, ByLateLot, CuriousServer(), WHY, **LOTS),
    Case("metrics in a cache", NAME, from_nought(InACache), Eavesdropper(), WHY, **SECOND),
    Case("a number on a logger", NAME, from_nought(OnALogger), CuriousServer(), WHY, **SECOND),
    Case("a pool that counts", NAME, InAPool, Eavesdropper(), WHY, **SECOND),
]
