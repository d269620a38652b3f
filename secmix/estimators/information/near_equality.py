"""The near-equality critics: rare rows that leak exactly, or all but exactly.

A share of 2 % of copies moves no correlation and no neighbour count, but ln ‖x − y‖ and ln min |x_a − y_b| of a true
pair fall where those of two strangers never do. Both are read in raw units: a copy is a copy only there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from secmix.estimators.information.critic import Family, Rows, Score
from secmix.estimators.neighbours.compiled import compiled
from secmix.estimators.samples import Floats

_SHIFTS = 40  # strangers for every training row
_TRUE, _STRANGERS = 2.0, 4.0  # by how much a quantile of each grows from one cut to the next
_FEWEST = 5  # distances below the first cut
_PRIOR = 2.0  # counts that a bin of the joint histogram starts from,
_FADES = 5.0  # and over how many counts they fade: where five or more rows agree, the ratio is what was counted

Distance = Callable[[Floats, Floats], Floats]


def _fit(distance: Distance) -> Callable[[Rows, Rows, np.random.Generator], dict[str, Score]]:
    def fit(train: Rows, validation: Rows, rng: np.random.Generator) -> dict[str, Score]:
        if distance is euclidean and train.x.shape[1] != train.y.shape[1]:
            return {}
        if distance is nearest_entries and train.x.shape[1] == train.y.shape[1] == 1:
            return {}  # the other one already
        return {"": _histogram_score(train, distance, rng)}

    return fit


def _histogram_score(train: Rows, distance: Distance, rng: np.random.Generator) -> Score:
    """ln((c + a) / (n q + a)) by the bin of the log-distance: c counts true pairs, q is the share among strangers.

    a = 2 e^(−c/5) keeps bins that few true pairs met near ln 1, and vanishes where many did.
    """
    n = len(train.x)
    order = rng.permutation(n)
    train = train.at(order)
    true = _logs(_aligned(distance, train.x, train.y))
    shifts = np.unique(np.linspace(1, n - 1, min(_SHIFTS, n - 1)).astype(int))
    strangers = np.concatenate(
        [_logs(_aligned(distance, train.x, np.roll(train.y, shift, axis=0))) for shift in shifts]
    )
    # Bins halve towards equality, where the few are that leak, and towards the edge of a support, where strangers
    # are and true pairs end; equality itself has a bin of its own.
    cuts = np.unique(np.concatenate([[-745.0], _tail_quantiles(true, _TRUE), _tail_quantiles(strangers, _STRANGERS)]))
    counts = np.bincount(np.searchsorted(cuts, true), minlength=len(cuts) + 1)
    share = np.bincount(np.searchsorted(cuts, strangers), minlength=len(cuts) + 1) / len(strangers)
    prior = _PRIOR * np.exp(-counts / _FADES)
    heights = np.log((counts + prior) / np.maximum(n * share + prior, 1e-9))
    return lambda x, y: np.asarray(heights[np.searchsorted(cuts, _logs(distance(x, y)))])


def _tail_quantiles(logs: Floats, factor: float) -> Floats:
    """Quantiles at ½, and on by a ``factor`` towards both ends, of what is no equality."""
    logs = logs[np.isfinite(logs)]
    steps = int(math.log(max(0.5 * len(logs) / _FEWEST, 1.0)) / math.log(factor))
    tails = 0.5 / factor ** np.arange(steps + 1)
    levels = np.r_[tails, 1 - tails]
    return np.asarray(np.quantile(logs, levels)) if len(logs) else logs


def _logs(distances: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(distances))


def _aligned(distance: Distance, x: Floats, y: Floats) -> Floats:
    """Distances of x_i and y_i, (n,)."""
    if distance is euclidean:
        with np.errstate(over="ignore"):
            return np.asarray(np.sqrt(((x - y) ** 2).sum(axis=1)))
    return np.asarray(_nearest_aligned(np.sort(x, axis=1), np.sort(y, axis=1)))


def euclidean(x: Floats, y: Floats) -> Floats:
    """‖x_i − y_j‖ (b, b), by differences: products would round away what is nearly equal."""
    squares = np.zeros((len(x), len(y)))
    with np.errstate(over="ignore"):  # beyond 1e154 all are equally far, in the last bin
        for column, other in zip(x.T, y.T, strict=True):
            squares += (column[:, None] - other[None, :]) ** 2
    return np.sqrt(squares)


def nearest_entries(x: Floats, y: Floats) -> Floats:
    """min over a and b of |x_ia − y_jb|, (b, b)."""
    return np.asarray(_nearest_crossed(np.sort(x, axis=1), np.sort(y, axis=1)))


@compiled
def _least_gap(a, b):  # type: ignore[no-untyped-def]
    """The least distance of an entry of ``a`` and one of ``b``, both sorted."""
    i = j = 0
    least = np.inf
    while i < len(a) and j < len(b):
        gap = a[i] - b[j]
        least = min(least, abs(gap))
        if gap < 0:
            i += 1
        else:
            j += 1
    return least


@compiled
def _nearest_aligned(x, y):  # type: ignore[no-untyped-def]
    found = np.empty(len(x))
    for i in range(len(x)):
        found[i] = _least_gap(x[i], y[i])
    return found


@compiled
def _nearest_crossed(x, y):  # type: ignore[no-untyped-def]
    found = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            found[i, j] = _least_gap(x[i], y[j])
    return found


FAMILIES = (
    Family("near equality of x and y", _fit(euclidean), refitted=True),
    Family("near equality of entries", _fit(nearest_entries), refitted=True),
)
