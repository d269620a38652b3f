"""Compiled kernels, and the threads that run them.

Threads are Python threads over kernels that release the interpreter lock, not numba's own pool, which is
unsafe to enter from two threads at once (dask workers do). Each query writes its own slot: results do not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

_WORTH_A_THREAD = 1024  # queries below which starting a thread costs more than it saves


def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without the interpreter lock; cached on disk wherever a cache can be written."""
    try:
        return numba.njit(nogil=True, cache=True)(kernel)
    except RuntimeError:  # no writable place for the cache: compile anew in each process
        return numba.njit(nogil=True)(kernel)


def in_threads(work: Callable[[int, int], None], n: int) -> None:
    """Run ``work(begin, end)`` over pieces of 0..n, on as many threads as numba would use."""
    threads = min(
        numba.config.NUMBA_NUM_THREADS,  # type: ignore[attr-defined]
        n // _WORTH_A_THREAD,
    )
    if threads <= 1:
        work(0, n)
        return
    cuts = np.linspace(0, n, 4 * threads + 1).astype(int).tolist()  # four pieces each evens out the load
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, cuts[:-1], cuts[1:]))
