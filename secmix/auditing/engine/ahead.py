"""Import what an audit needs, in this process and in the server of worker processes, at the same time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from secmix.auditing.engine.processes import start_server


def import_ahead(workers: int, scheduler: str | None) -> None:
    """Import what cells need, while the server imports it for workers, so that they start at once."""
    if workers != 1 and scheduler is None:
        start_server()
    with importing():
        import secmix.auditing.engine.run_cells  # noqa: F401


@contextmanager
def importing() -> Iterator[None]:
    """Pause garbage collection while the block imports, since scanning all modules repeatedly is slow."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
