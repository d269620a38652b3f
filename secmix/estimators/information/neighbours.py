"""The neighbours critic: a density ratio counted in balls, whatever the shape of the dependence.

f = ln(k n / (n_x n_y)): k of n training rows lie within ε of (x, y) in the maximum norm, n_x and n_y within ε of x and
of y. It is the ratio that Kraskov et al. (2004) average, as a function of any pair.
"""

from __future__ import annotations

import numpy as np

from secmix.estimators.information.critic import Rows, Score
from secmix.estimators.information.normal_scores import Embedding
from secmix.estimators.neighbours.compiled import compiled
from secmix.estimators.samples import Floats

NEIGHBOURS = (5, 15, 40)
_MOST_ROWS = 1200


def fit_neighbours(
    train: Rows, of_x: Embedding, of_y: Embedding, rng: np.random.Generator, counts: tuple[int, ...] = NEIGHBOURS
) -> dict[str, Score]:
    """Fit the ratio for several k in the space of the embeddings, from at most 1,200 of the training rows."""
    kept = rng.permutation(len(train.x))[:_MOST_ROWS]
    x, y = of_x(train.x[kept]), of_y(train.y[kept])
    usable = [k for k in counts if k < len(x) // 2]
    if not (usable and x.shape[1] and y.shape[1]):
        return {}
    cached: list[tuple[Floats, Floats, Floats]] = []  # all k of a batch are counted together

    def ratios(rows_x: Floats, rows_y: Floats) -> Floats:
        for known_x, known_y, counted in cached:
            if known_x is rows_x and known_y is rows_y:
                return counted
        asked_y = of_y(rows_y)
        to_x, to_y = _distances(of_x(rows_x), x), _distances(asked_y, y)
        log_ratios: Floats = _log_ratios(
            np.sort(to_x, axis=1),
            np.argsort(to_x, axis=1, kind="stable"),
            to_y,
            np.sort(to_y, axis=1),
            np.argsort(asked_y[:, 0], kind="stable"),
            np.array(usable),
        )
        cached.append((rows_x, rows_y, log_ratios))
        return log_ratios

    def score(index: int) -> Score:
        return lambda rows_x, rows_y: np.asarray(ratios(rows_x, rows_y)[index])

    return {f"k = {k}": score(index) for index, k in enumerate(usable)}


def _distances(rows: Floats, train: Floats) -> Floats:
    """Return maximum-norm distances (b, n)."""
    most = np.zeros((len(rows), len(train)))
    for column, other in zip(rows.T, train.T, strict=True):
        np.maximum(most, np.abs(column[:, None] - other[None, :]), out=most)
    return most


@compiled
def _log_ratios(sorted_x, order_x, to_y, sorted_y, order, ks):  # type: ignore[no-untyped-def]
    """Compute ln(k n / (n_x n_y)) of every pair, for every k of ``ks`` (increasing): (k, b, b).

    Training rows are visited from the nearest in x on, until none further can be among the nearest k in both. The y
    are taken in ``order``: the k rows that were nearest to the last one say how near the nearest k of this one are at
    least, and rows beyond that need not be sorted in.
    """
    b, n = sorted_x.shape
    c = to_y.shape[0]
    most = ks[-1]
    log_ratios = np.empty((len(ks), b, c))
    nearest, places = np.empty(most), np.empty(most, np.int64)
    for i in range(b):
        places[:] = np.arange(most)
        for j in order:
            within = 0.0
            for place in places:
                within = max(within, sorted_x[i, place], to_y[j, order_x[i, place]])
            nearest[:] = np.inf
            for place in range(n):
                along_x = sorted_x[i, place]
                if along_x >= nearest[most - 1] or along_x > within:
                    break
                distance = max(along_x, to_y[j, order_x[i, place]])
                if distance <= within and distance < nearest[most - 1]:
                    at = most - 1
                    while at > 0 and nearest[at - 1] > distance:
                        nearest[at], places[at] = nearest[at - 1], places[at - 1]
                        at -= 1
                    nearest[at], places[at] = distance, place
            for index in range(len(ks)):
                radius = nearest[ks[index] - 1]
                in_x = np.searchsorted(sorted_x[i], radius, side="right")
                in_y = np.searchsorted(sorted_y[j], radius, side="right")
                log_ratios[index, i, j] = np.log(ks[index] * n / (in_x * in_y))
    return log_ratios
