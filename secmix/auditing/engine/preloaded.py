"""What the process holds that workers are copied from: all that they import, and compiled functions made ready."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from secmix.auditing.engine.ahead import importing

with importing():
    from secmix.auditing.engine.run_cells import run_in_worker
    from secmix.estimators import ksg

__all__ = ["run_in_worker"]

# The first call of a compiled function makes numba ready, which takes longer than the reading. Should it fail, whoever
# needs it will say so.
with suppress(Exception):
    ksg(*np.random.default_rng(0).normal(size=(2, 32, 1)))
