"""The near-equality critics: rare rows that leak exactly, or all but exactly.

A share of 2 % of copies moves no correlation and no neighbour count, but ln ‖x − y‖ and ln min |x_a − y_b| of a true
pair fall where those of two strangers never do. Both are read in raw units: a copy is a copy only there.

What is near where rows crowd is far where they are few. So a distance is read twice: as it is, and by the share of
strangers that are nearer to the same x, which is uniform for strangers wherever x lies. The score is the mean of the
two log-ratios; their errors in the few rows that leak are not the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from secmix._base.checks import Ints
from secmix.estimators.information.critic import Family, Rows, Score
from secmix.estimators.neighbours.compiled import compiled
from secmix.estimators.samples import Floats

_SHIFTS = 40  # strangers for every training row
_TRUE, _STRANGERS = 2.0, 4.0  # by how much a quantile of each grows from one cut to the next
_FEWEST = 5  # distances below the first cut
_PRIOR = 2.0  # counts that a bin of the joint histogram starts from,
_FADES = 5.0  # and over how many counts they fade: where five or more rows agree, the ratio is what was counted
_MOST_RANKED = 2400  # training rows that are ranked,
_MOST_KNOWN = 1000  # among so many strangers
_ABREAST = 8  # rows that are gone through side by side

Distance = Callable[[Floats, Floats], Floats]


def _fit(distance: Distance) -> Callable[[Rows, Rows, np.random.Generator], dict[str, Score]]:
    def fit(train: Rows, validation: Rows, rng: np.random.Generator) -> dict[str, Score]:
        if distance is euclidean and train.x.shape[1] != train.y.shape[1]:
            return {}
        if distance is nearest_entries and train.x.shape[1] == train.y.shape[1] == 1:
            return {}  # the other one already
        train = train.at(rng.permutation(len(train.x)))
        absolute, relative = _absolute_height(train, distance), _relative_height(train, distance)

        def score(x: Floats, y: Floats) -> Floats:
            apart = distance(x, y)
            return np.asarray(0.5 * (absolute(apart) + relative(x, apart)))

        return {"": score}

    return fit


def _absolute_height(train: Rows, distance: Distance) -> Callable[[Floats], Floats]:
    """Fit the height of distances (b, b), by the distance itself."""
    distances = _aligned(distance, train)
    return _heights(distances[0], distances[1:])


def _relative_height(train: Rows, distance: Distance) -> Distance:
    """Fit the height of x (b, d) and distances from it (b, b), by the share of strangers that are nearer to x.

    Each half of the training rows is ranked among the other.
    """
    train = train.at(np.arange(len(train.x))[:_MOST_RANKED])
    halves = [train.at(half) for half in np.array_split(np.arange(len(train.x)), 2)]
    shares = []
    for half, other in (halves, halves[::-1]):
        asked = np.ascontiguousarray(_aligned(distance, half).T)
        shares.append(_shares(np.sort(distance(half.x, other.y[:_MOST_KNOWN]), axis=1), asked))
    height = _heights(np.concatenate([each[:, 0] for each in shares]), np.concatenate([each[:, 1:] for each in shares]))
    known = train.y[:_MOST_KNOWN]
    return lambda x, apart: height(_shares(np.sort(distance(x, known), axis=1), apart))


def _shifts(rows: Rows) -> Ints:
    """Return by how many places y is turned against x: not at all, then to strangers."""
    n = len(rows.x)
    return np.asarray(np.r_[0, np.unique(np.linspace(1, n - 1, min(_SHIFTS, n - 1)).astype(int))], dtype=np.int64)


def _heights(true: Floats, strangers: Floats) -> Callable[[Floats], Floats]:
    """Fit ln((c + a) / (n q + a)) by the bin of the log-distance: c counts true pairs, q is the share among strangers.

    a = 2 e^(−c/5) keeps bins that few true pairs met near ln 1, and vanishes where many did.
    """
    n, true, strangers = len(true), _logs(true), _logs(strangers.ravel())
    # Bins halve towards equality, where the few are that leak, and towards the edge of a support, where strangers
    # are and true pairs end; equality itself has a bin of its own.
    cuts = np.unique(np.concatenate([[-745.0], _tail_quantiles(true, _TRUE), _tail_quantiles(strangers, _STRANGERS)]))
    counts = np.bincount(np.searchsorted(cuts, true), minlength=len(cuts) + 1)
    share = np.bincount(np.searchsorted(cuts, strangers), minlength=len(cuts) + 1) / len(strangers)
    prior = _PRIOR * np.exp(-counts / _FADES)
    heights = np.log((counts + prior) / np.maximum(n * share + prior, 1e-9))
    return lambda distances: np.asarray(heights[np.searchsorted(cuts, _logs(distances))])


def _tail_quantiles(logs: Floats, factor: float) -> Floats:
    """Return quantiles at ½, and on by a ``factor`` towards both ends, of what is no equality."""
    logs = logs[np.isfinite(logs)]
    steps = int(math.log(max(0.5 * len(logs) / _FEWEST, 1.0)) / math.log(factor))
    tails = 0.5 / factor ** np.arange(steps + 1)
    levels = np.r_[tails, 1 - tails]
    return np.asarray(np.quantile(logs, levels)) if len(logs) else logs


def _logs(distances: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(distances))


def _aligned(distance: Distance, rows: Rows) -> Floats:
    """Measure distances of x_i and y_i, and of x_i and the strangers that y_i is turned to: (1 + shifts, n)."""
    x, y = rows.x, rows.y
    if distance is euclidean:
        with np.errstate(over="ignore"):
            return np.stack([np.sqrt(((x - np.roll(y, by, axis=0)) ** 2).sum(axis=1)) for by in _shifts(rows)])
    x, y = np.sort(x, axis=1), np.sort(y, axis=1)
    return np.stack([_nearest_aligned(x, np.roll(y, by, axis=0)) for by in _shifts(rows)])


def euclidean(x: Floats, y: Floats) -> Floats:
    """Compute ‖x_i − y_j‖ (b, b), by differences: products would round away what is nearly equal."""
    squares, part = np.zeros((2, len(x), len(y)))
    with np.errstate(over="ignore"):  # beyond 1e154 all are equally far, in the last bin
        for column, other in zip(x.T, y.T, strict=True):
            np.subtract(column[:, None], other[None, :], out=part)
            squares += np.multiply(part, part, out=part)
    return np.sqrt(squares, out=squares)


def nearest_entries(x: Floats, y: Floats) -> Floats:
    """Compute min over a and b of |x_ia − y_jb|, (b, b)."""
    ends = ((0, 0), (0, 1))
    return np.asarray(
        _nearest_crossed(*(np.pad(np.sort(each, axis=1), ends, constant_values=np.inf) for each in (x, y)))
    )


@compiled
def _shares(known, asked):  # type: ignore[no-untyped-def]
    """Return the share of the sorted ``known`` (b, n) below ``asked`` (b, c), interpolated between two of them."""
    b, n = known.shape
    shares = np.empty(asked.shape)
    for i in range(b):
        for j in range(asked.shape[1]):
            place = np.searchsorted(known[i], asked[i, j])
            below = known[i, place - 1] if place > 0 else 0.0
            part = 0.0
            if place < n and below < known[i, place] < np.inf:
                part = (asked[i, j] - below) / (known[i, place] - below)
            shares[i, j] = (place + part) / n
    return shares


@compiled
def _least_gap(a, b):  # type: ignore[no-untyped-def]
    """Return the least distance of an entry of ``a`` and one of ``b``, both sorted."""
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
    gaps = np.empty(len(x))
    for i in range(len(x)):
        gaps[i] = _least_gap(x[i], y[i])
    return gaps


@compiled
def _nearest_crossed(x, y):  # type: ignore[no-untyped-def]
    """Return the least gaps of all pairs of rows, which are sorted and end with an infinity.

    As :func:`_least_gap`, for some rows of ``y`` side by side: one step waits for the last, those of other rows do not.
    """
    n, m, steps = len(x), len(y), x.shape[1] + y.shape[1] - 2
    least = np.full((n, m), np.inf)
    passed = np.empty(_ABREAST, dtype=np.int64)  # entries of x that lie behind
    for i in range(n):
        for first in range(0, m, _ABREAST):
            passed[:] = 0
            for step in range(steps):
                for k in range(min(_ABREAST, m - first)):
                    gap = x[i, passed[k]] - y[first + k, step - passed[k]]
                    least[i, first + k] = min(least[i, first + k], abs(gap))
                    passed[k] += gap < 0
    return least


FAMILIES = (
    Family("near equality of x and y", _fit(euclidean), refitted=True),
    Family("near equality of entries", _fit(nearest_entries), refitted=True),
)
