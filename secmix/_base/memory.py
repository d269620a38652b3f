"""Memory that was freed, and goes back to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def return_freed_memory() -> None:
    """Return to the system what was freed, where the C library keeps it: glibc does so for arrays of middling size.

    Python's own objects never use it again. On other systems nothing is done.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
