"""Imports of the server process that workers are forked from."""

from __future__ import annotations

from secmix.auditing.engine.processes import importing

with importing():
    from secmix.auditing.engine.run_cells import run_in_worker

__all__ = ["run_in_worker"]
