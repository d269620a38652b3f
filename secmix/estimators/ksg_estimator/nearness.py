"""Dependence of x and y that their nearness alone shows: a few rows that nearly agree leak much.

Strangers crowd the neighbourhood of rows that nearly agree, so that a nearest-neighbour estimate reads low there, the
lower the fewer such rows there are and the more they leak. How many pairs lie within t of each other, compared with
strangers, is a function of x and y: it carries no more than they do (the data-processing inequality; Cover and Thomas
2006, theorem 2.8.1, for the divergence of the joint distribution from the product).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from secmix.estimators.samples import Floats

_STRANGERS = 60  # of each row
_LEAST = 5  # pairs within reach


class Nearness(NamedTuple):
    """Information in whether a pair is within some distance, in nats, its standard error, and the share that is."""

    nats: float
    error: float
    share: float

    @property
    def sure(self) -> float:
        """One standard error below."""
        return self.nats - self.error

    @property
    def high(self) -> float:
        """Upper end of its 95 % interval."""
        return self.nats + 1.96 * self.error


def nearness(x: Floats, y: Floats) -> Nearness:
    """Compute the most that any distance tells, by Bernoulli's divergence of pairs from strangers.

    ``x``, ``y`` (N, dx) and (N, dy): rows, in units in which they may be equal. All columns are compared where there
    are as many, else the nearest two.

    >>> x, y = np.random.default_rng(0).standard_normal((2, 1000, 1))
    >>> nearness(x, y).sure < 0.01
    True
    >>> y[:50] = x[:50]  # one row in twenty is a copy
    >>> nearness(x, y).sure > 0.15
    True
    """
    n = len(x)
    own = np.sort(_distances(x, y))
    shifts = np.unique(np.linspace(1, n - 1, min(_STRANGERS, n - 1)).astype(int))
    others = np.sort(np.concatenate([_distances(x, np.roll(y, shift, axis=0)) for shift in shifts]))
    counts = np.unique(np.geomspace(_LEAST, max(n // 2, _LEAST), 30).astype(int))
    counts = counts[counts <= n]
    reach = own[counts - 1]
    p = np.minimum(np.searchsorted(own, reach, side="right") / n, 1 - 0.5 / n)
    among = np.searchsorted(others, reach, side="right")
    q = np.minimum((among + 1.0) / (len(others) + 2.0), 1 - 0.5 / n)
    nats = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    error = np.sqrt(p * (1 - p) / n) * np.abs(np.log(p * (1 - q) / (q * (1 - p))))
    nats = np.where(p > q, nats, 0.0)
    best = int(np.argmax(nats - error))
    if not len(nats):
        return Nearness(0.0, math.inf, 1.0)
    return Nearness(float(nats[best]), float(error[best]), float(p[best]))


def _distances(x: Floats, y: Floats) -> Floats:
    if x.shape[1] == y.shape[1]:
        return np.asarray(np.abs(x - y).max(axis=1))
    return np.asarray(np.abs(x[:, :, None] - y[:, None, :]).min(axis=(1, 2)))
