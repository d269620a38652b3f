"""Keep glue out of collection, and have large batches smaller: libraries take milliseconds where our own take none."""

from __future__ import annotations

import pytest

from secmix.kernel.tracing import checks

collect_ignore_glob = ["*/glue.py"]  # it imports libraries that may not be installed


@pytest.fixture(autouse=True)
def _smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call batches of up to 101 runs, where an audit calls 1,009: the kernel's own tests do that."""
    monkeypatch.setattr(checks, "_MOST_RUNS", 101)
