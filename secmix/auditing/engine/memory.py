"""Limit the memory of a process: allocations beyond the limit fail, and the audit continues without them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def within(mebibytes: float) -> Iterator[None]:
    """Limit this process to ``mebibytes`` MiB beyond its current memory; more is a ``MemoryError``.

    Only Linux enforces this (RLIMIT_DATA of setrlimit(2)); elsewhere nothing is limited.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    before, hardest = resource.getrlimit(resource.RLIMIT_DATA)
    soft = _taken() + int(mebibytes * 2**20)
    limits = [soft, *(limit for limit in (before, hardest) if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hardest))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hardest))


def _taken() -> int:
    """Measure the bytes that this process has reserved for its data."""
    match = re.search(r"^VmData:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    return int(match[1]) * 1024 if match else 0
