"""Rows of a pair of columns that lie on one line although their neighbours do not: some of y may be copied from x.

A row in a hundred that is an exact copy leaks without bound and hardly moves a nearest-neighbour estimate. How near x
and y are to each other shows it among strangers only: what y tells of x in the other rows hides it, and so does a copy
in other units. On a line y = a x + b all pairs of copies have the same slope a, however few they are; along the line
they crowd into a strip that others cross as seldom as they cross the strips beside it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from secmix.estimators.samples import Floats, standardised

_ROWS = 1500  # whose pairs are asked for their slope
_STRANGERS = 60  # of each row
_PAIRS = 20, 100  # of like slope
_SLOPES = 4  # tried, of each number of pairs
_APART = 1e-3  # radians
_COPIES = 6, 12, 24  # rows in a strip
_DENSER = 3  # times as dense a strip may be as what is beside it: 2 at an edge
# Logarithm of the chance of so full a strip; about 10⁵ are tried. Of 440 draws of 55 distributions with a density and
# no copies, one was as unlikely, e^-32: on a support with gaps.
_CHANCE = -25.0


def on_a_line(x: Floats, y: Floats, rng: np.random.Generator) -> int:
    """Count rows on a line that the others avoid, as a lower bound; 0 if there is no such line.

    ``x``, ``y`` (N, 1) arrays; ``rng``: which rows are asked for their slope, where there are more than 1,500.

    >>> x, y = np.random.default_rng(0).standard_normal((2, 1000, 1))
    >>> on_a_line(x, x + y, np.random.default_rng(1))
    0
    >>> y[:20] = 0.1 * x[:20] + 3.0
    >>> on_a_line(x, y, np.random.default_rng(1))
    12
    """
    rows = np.unique(np.hstack([x, y]), axis=0)  # a row drawn twice is no copy
    if len(rows) <= 4 * _COPIES[0]:
        return 0
    first, second = standardised("", rng.permutation(rows))[0].T
    crowded = [_crowded(first, second, math.tan(angle)) for angle in _like_angles(first[:_ROWS], second[:_ROWS])]
    chance, count = min(crowded, default=(0.0, 0))
    return count if chance < _CHANCE else 0


def _like_angles(x: Floats, y: Floats) -> list[float]:
    """Find angles to which many pairs of rows lie, more than at the angles around."""
    i, j = np.triu_indices(len(x), 1)
    across, along = x[i] - x[j], y[i] - y[j]
    slanted = (across != 0) & (along != 0)  # values that repeat are no copies
    angles = np.sort(np.arctan(along[slanted] / across[slanted]))
    alike: list[float] = []
    for pairs in _PAIRS:
        around = 20 * pairs
        if len(angles) <= 2 * around:
            continue
        near = angles[pairs:] - angles[:-pairs]
        start = np.clip(np.arange(len(near)) - around // 2, 0, len(angles) - 1 - around)
        ratio = near / np.maximum(angles[start + around] - angles[start], 1e-300)
        apart: list[float] = []
        for at in np.argsort(ratio)[:400]:
            angle = float(angles[at + pairs // 2])
            if len(apart) < _SLOPES and all(abs(angle - other) > _APART for other in apart):
                apart.append(angle)
        alike += apart
    return alike


def _crowded(x: Floats, y: Floats, slope: float) -> tuple[float, int]:
    """Find the fullest strip along a slope: the logarithm of the chance of so many rows there, and how many they are.

    Of the rows in a strip and on one side of it, as many should lie in the strip as of strangers; the side that makes
    it likelier counts, of those that have rows enough (an edge has one).
    """
    n = len(x)
    own = np.sort(y - slope * x)
    shifts = np.unique(np.linspace(1, n - 1, min(_STRANGERS, n - 1)).astype(int))
    strangers = np.sort(np.concatenate([np.roll(y, shift) - slope * x for shift in shifts]))
    rounding = 1e-12 * max(1.0, float(np.abs(own).max()))
    beside = max(n // 32, 24)

    def within(first: Floats, last: Floats) -> Floats:
        upto = np.searchsorted(strangers, last + rounding, "right")
        return np.asarray(upto - np.searchsorted(strangers, first - rounding, "left"), dtype=np.float64)

    best = 0.0, 0
    for count in _COPIES:
        first = np.arange(n - count + 1)
        last = first + count - 1
        inside = within(own[first], own[last])
        chance, asked = np.full(len(first), -np.inf), np.zeros(len(first), bool)
        for begin, end in ((np.maximum(first - beside, 0), last), (first, np.minimum(last + beside, n - 1))):
            rows = end - begin + 1
            share = np.minimum(_DENSER * (1 + inside) / (2 + within(own[begin], own[end])), 1.0)
            enough = rows - count >= beside // 2
            chance = np.where(enough, np.maximum(chance, binom.logsf(count - 1, rows, share)), chance)
            asked |= enough
        best = min(best, (float(np.where(asked, chance, 0.0).min()), count))
    return best
