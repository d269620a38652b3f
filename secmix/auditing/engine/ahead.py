"""Import what an audit needs, in this process and in the one that workers are copies of, at the same time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from secmix.auditing.engine.processes import start_server


def import_ahead(workers: int, scheduler: str | None) -> None:
    """Import what cells need, while another process does so for workers; they then begin at once."""
    if workers != 1 and scheduler is None:
        start_server()
    with importing():
        import secmix.auditing.engine.run_cells  # noqa: F401


@contextmanager
def importing() -> Iterator[None]:
    """Collect no garbage while the block imports: to look through all modules again and again takes a while."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
