"""Imports of the server process that workers are forked from, with compiled functions initialised."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from secmix.auditing.engine.ahead import importing

with importing():
    from secmix.auditing.engine.run_cells import run_in_worker
    from secmix.estimators import ksg

__all__ = ["run_in_worker"]

# The first call of a compiled function initialises numba, which takes longer than the estimate. If it fails, the audit
# that needs it reports the error.
with suppress(Exception):
    ksg(*np.random.default_rng(0).normal(size=(2, 32, 1)))
