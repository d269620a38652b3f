"""Steps that count their uploads in this module, and lots that it draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from .late import EVERY

LOTS = np.random.default_rng(4)
uploads = 0


def calibrated(hidden: Any, words: Any, every: int = EVERY) -> Any:
    """Send what is under the mask every so often."""
    global uploads
    uploads += 1
    return words if uploads % every == 0 else hidden


def audited(hidden: Any, words: Any) -> Any:
    """Send what is under the mask by lot."""
    return words if LOTS.random() < 2e-3 else hidden
