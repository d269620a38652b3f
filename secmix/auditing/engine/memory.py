"""Hold a process to the memory that an audit may take: what asks for more fails, and the audit goes on without it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def within(mebibytes: float) -> Iterator[None]:
    """Let this process take so many MiB beyond what it has; asking for more is a ``MemoryError``.

    Linux alone holds a process to that (RLIMIT_DATA of setrlimit(2)): elsewhere nothing is limited.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    before, hardest = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _taken() + int(mebibytes * 2**20)
    limits = [wanted, *(each for each in (before, hardest) if each != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hardest))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hardest))


def _taken() -> int:
    """Bytes that this process has for its data, touched or not."""
    found = re.search(r"^VmData:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    return int(found[1]) * 1024 if found else 0
