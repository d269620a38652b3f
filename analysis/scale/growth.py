"""How the cost of an audit grows with a size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from analysis.benchmarks.timing import exponent

NOISE = 0.25
"""Share of the start below which a difference of processor seconds counts for none. In reports/scale the runs differ by
17 %, from 1.6 to 1.9 s on a busy machine, though no more than 500 are made whatever is asked for."""


FEW_RUNS = 2
"""Runs that show how messages are made; where no more are made the audit answers fewer questions."""


def answered(point: dict[str, Any]) -> bool:
    """Say whether a size was audited whole: a verdict, and nothing left out of it."""
    return point["verdict"] is not None and not point["why"]


def growth(points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Fit b in seconds ≈ start + a·sizeᵇ to the points that have an answer.

    The start is what the smallest size took. It is taken off the others, and b is the slope of the least squares of
    the logarithms of what is left, where that is more than ``NOISE`` of the start. Sizes of which only ``FEW_RUNS``
    runs are made are another audit and left out.

    Returns
    -------
    dict
        ``start`` (seconds, None without an answer at the smallest size), larger sizes ``answered``, those of them,
        ``sizes``, that were fitted, and ``exponent``, ``low``, ``high`` (95 %, Student): None where fewer than two, or
        for the interval three, sizes are left.
    """
    found: dict[str, Any] = {"start": None, "answered": [], "sizes": [], "exponent": None, "low": None, "high": None}
    if not points or not answered(points[0]):
        return found
    start = points[0]["seconds"]
    left = {p["size"]: p["seconds"] - start for p in points[1:] if answered(p)}
    found |= {"start": start, "answered": list(left)}
    few = {p["size"] for p in points if p["least"] and p["least"]["runs"] <= FEW_RUNS}
    left = {size: seconds for size, seconds in left.items() if seconds > NOISE * start and size not in few}
    found["sizes"] = list(left)
    if len(left) > 2:
        found |= exponent(list(left), list(left.values()))
    elif len(left) == 2:
        (small, fewer), (large, more) = left.items()
        found["exponent"] = math.log(more / fewer) / math.log(large / small)
    return found
