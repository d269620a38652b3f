"""A module that counts for everybody who imports it, as a service's metrics do."""

from __future__ import annotations

CALLS = 0


def tick() -> int:
    """Count one more call, and say how many there were."""
    global CALLS
    CALLS += 1
    return CALLS
