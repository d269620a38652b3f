"""Take masks of seeds off: the steps that attacks have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array

from ...case import Heard
from ...right.expanded import Group, Own, Ring, Seeded, words

__all__ = ["Group", "Own", "Ring", "Seeded", "between_rounds", "net", "signed", "words"]


def signed(given: Any) -> Array:
    """Return words in two's complement as the numbers that they stand for."""
    return np.asarray(given).astype(np.uint64).view(np.int64) / Seeded.unit


def between_rounds(heard: Heard) -> Array:
    """Return how what node 0 sends changes in the second round: the same masks are gone."""
    return signed(heard.one("masked", 0, iteration=1) - heard.one("masked", 0))


def net(node: int, mask: Any, n: int = 5) -> Array:
    """Return what a node adds to its words, where ``mask(i, j)`` is that of a pair."""
    total = np.zeros_like(mask(0, 1))
    for other in set(range(n)) - {node}:
        total = total + mask(node, other) if node < other else total - mask(other, node)
    return total
