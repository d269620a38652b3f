"""Limits of a rate of which some of the runs are counted (Clopper and Pearson 1934)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import beta

from secmix._base.checks import Array


def lower_limit(hits: Any, runs: Any, level: float) -> Array:
    """Compute the lower limit of rates (...) with ``hits`` (...) in so many runs; too high with a chance of ``level``.

    >>> float(lower_limit(10, 10, 0.05).round(3)), float(lower_limit(0, 10, 0.05))
    (0.741, 0.0)
    """
    hits = np.asarray(hits)
    return np.where(hits > 0, beta.ppf(level, np.maximum(hits, 1e-300), runs - hits + 1), 0.0)


def upper_limit(hits: Any, runs: Any, level: float) -> Array:
    """Compute the upper limit of rates (...); too low with a chance of ``level``.

    >>> float(upper_limit(0, 10, 0.05).round(3)), float(upper_limit(10, 10, 0.05))
    (0.259, 1.0)
    """
    hits = np.asarray(hits)
    return np.where(hits < runs, beta.isf(level, hits + 1, np.maximum(runs - hits, 1e-300)), 1.0)
