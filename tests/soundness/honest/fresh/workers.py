"""Slips in what the threads of a pool keep, each of its own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from secmix.adversaries import CuriousServer

from ...case import Case
from .memory import SECOND, Sampled

OF_THREAD = threading.local()


def job() -> bool:
    """Say whether this is the thread's six-hundredth."""
    OF_THREAD.jobs = getattr(OF_THREAD, "jobs", 0) + 1
    return bool(OF_THREAD.jobs % 600 == 0)


class InWorkers(Sampled):
    """Works in a pool, of which each thread counts its jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["pool"] = ThreadPoolExecutor(1)

    def __deepcopy__(self, memo: object) -> InWorkers:
        return InWorkers()

    def due(self) -> bool:
        return bool(self.__dict__["pool"].submit(job).result())


WHY = "every six-hundredth averaging is told"
CASES = [Case("threads that count", "kept with the process", InWorkers, CuriousServer(), WHY, **SECOND)]
