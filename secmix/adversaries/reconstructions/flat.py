"""Models that are sent as one flat vector: where their arrays lie in it, and the row of a client behind it.

Some messages of a run may hold the arrays one by one, or their very numbers: then it is known where each lies in a flat
vector. Else a first layer is searched for, of any number of units and inputs, its biases behind its weights: of one row
x, all units move along x, and their biases by the same factor (Phong et al. 2018, section 3), in every round. Two
kinds are not found so: a layer of one unit, where any number may be the bias, and weights stored column by column,
where the last column may be biases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.adversaries.reconstructions.interfaces import Reconstruction
from secmix.adversaries.reconstructions.layer_ratios import Ratio, Unit, agreed, ratio

_ROUNDING = 8.0
_LONGEST = 100_000  # numbers; there are about p·log p layouts of p numbers
_MOST_CHECKED = 5_000  # layouts that pass the first check
_COMPARED = 20  # models of one layout
_ROUNDS = 3  # that are looked at first
_PAIRS = 6  # of units that are looked at first: some may be dead
_FIRM = 1e-3
_ROUGHLY = 1e-2  # what rounding leaves of moves is checked in full afterwards
Layout = tuple[slice, ...]


def layouts(models: Iterable[Sequence[Array]]) -> dict[int, Layout]:
    """Find where the arrays of a model lie in flat vectors, by the length of the vector.

    A model of several arrays tells how a vector of as many numbers is cut, in the same order, or in the order in which
    the vector holds the very numbers of all arrays. Lengths that may be cut in several ways are left out. ``models``,
    iterable of lists of (m,) arrays: all models of a run, flat ones and others.

    >>> layouts([[np.zeros(4), np.zeros(2)], [np.ones(6)]])
    {6: (slice(0, 4, None), slice(4, 6, None))}
    """
    by_length: dict[int, set[tuple[tuple[int, int], ...]]] = {}
    several: list[list[Array]] = []
    flat: list[list[Array]] = []
    for model in models:
        (several if len(model) > 1 else flat).append(list(model))
    several, flat = _few(several), _few(flat)
    shapes = {tuple(map(len, model)) for model in several}
    for (vector,) in (model for model in flat if model):
        for sizes in sorted(shapes):
            cuts = _by_numbers(vector, [m for m in several if tuple(map(len, m)) == sizes])
            if cuts is None and sum(sizes) == len(vector):
                ends = np.cumsum(sizes).tolist()
                cuts = tuple(zip([0, *ends[:-1]], ends, strict=True))
            if cuts is not None:
                by_length.setdefault(len(vector), set()).add(cuts)
    return {n: tuple(slice(*cut) for cut in cuts.pop()) for n, cuts in by_length.items() if len(cuts) == 1}


def _few(models: list[list[Array]]) -> list[list[Array]]:
    """Select the first models of each layout: a recording may hold thousands, and all pairs are compared."""
    counts: Counter[tuple[int, ...]] = Counter()
    chosen = []
    for model in models:
        sizes = tuple(map(len, model))
        counts[sizes] += 1
        if counts[sizes] <= _COMPARED:
            chosen.append(model)
    return chosen


def _by_numbers(vector: Array, models: Iterable[Sequence[Array]]) -> tuple[tuple[int, int], ...] | None:
    """Find all arrays of one of the models in ``vector``, each at one place; None where they are not there."""
    content = np.ascontiguousarray(vector)
    for model in models:
        cuts = [_place(content, array.astype(content.dtype)) for array in model]
        known = sorted(cut for cut in cuts if cut is not None)
        apart = all(before[1] <= after[0] for before, after in pairwise(known))
        if len(known) == len(model) and apart:
            return tuple(cut for cut in cuts if cut is not None)
    return None


def _place(content: Array, array: Array) -> tuple[int, int] | None:
    """Find where the numbers of ``array`` lie side by side, if at one place alone; zeros tell nothing."""
    if len(array) < 1 or not np.any(array):
        return None
    size, raw, wanted = content.dtype.itemsize, content.tobytes(), array.tobytes()
    places: list[int] = []
    at = raw.find(wanted)
    while at >= 0 and len(places) < 2:
        if at % size == 0:
            places.append(at // size)
        at = raw.find(wanted, at + 1)
    return (places[0], places[0] + len(array)) if len(places) == 1 else None


def row_in_flat(updates: Sequence[tuple[Array, Array]]) -> Reconstruction | None:
    """Recover the row of a client with one row from flat models, if one first layer alone explains how they moved.

    ``updates``, sequence of ((p,) array, (p,) array): the vector that the client got and the one that it sent back, for
    each round.
    """
    rounds = [
        (before.astype(float), after.astype(float), _off(after))
        for before, after in updates
        if len(before) == len(after) <= _LONGEST
    ]
    if len({len(after) for _, after, _ in rounds}) != 1:
        return None
    rows: list[Ratio] = []
    for units, width in _candidates([after - before for before, after, _ in rounds[:_ROUNDS]]):
        common = _in_layout(rounds, units, width)
        if common is not None and not any(_is_same(common, known) for known in rows):
            rows.append(common)
            if len(rows) > 1:  # several layouts explain it, with other rows
                return None
    if not rows:
        return None
    how = "it has one row, and one first layer alone explains how its flat vector moved: its weights along the row"
    return Reconstruction(rows[0].x[None], True, how, error=rows[0].error)


def _off(array: Array) -> float:
    return _ROUNDING * float(np.finfo(array.dtype).eps * np.abs(array).max(initial=0.0))


def _is_same(first: Ratio, second: Ratio) -> bool:
    return len(first.x) == len(second.x) and bool(np.abs(first.x - second.x).max() <= first.error + second.error)


def _candidates(moved: list[Array]) -> list[tuple[int, int]]:
    """List (units, inputs) of layers whose first units fit at some inputs, in every round."""
    p = len(moved[0])
    candidates: list[tuple[int, int]] = []
    there = [np.append(0, np.cumsum(m != 0)) for m in moved]  # numbers that moved, up to each place
    for units in range(2, p // 3 + 1):
        widths = np.arange(2, p // units)
        biases = [count[units * (widths + 1)] - count[units * widths] for count in there]
        widths = widths[np.max(biases, axis=0, initial=0) > 1]
        for m, k, part in product(moved, range(min(units - 1, _PAIRS)), (0.0, 0.5, 1.0)):
            if not len(widths):
                break
            widths = widths[_fit(m, units, widths, k, (part * (widths - 1)).astype(int))]
        candidates += [(units, int(width)) for width in widths]
        if len(candidates) > _MOST_CHECKED:
            return []
    return candidates


def _fit(m: Array, units: int, widths: NDArray[Any], k: int, at: NDArray[Any]) -> NDArray[Any]:
    """Check for each width that input ``at`` of two neighbouring units moved like their biases: (widths,) of bool."""
    one = m[k * widths + at] * m[units * widths + k + 1]
    other = m[(k + 1) * widths + at] * m[units * widths + k]
    return np.asarray(np.abs(one - other) <= _ROUGHLY * (np.abs(one) + np.abs(other)))


def _in_layout(rounds: Sequence[tuple[Array, Array, float]], units: int, width: int) -> Ratio | None:
    """Return the row that all units of all rounds give in this layout; None where they do not."""
    split, ratios = units * width, []
    for before, after, off in rounds:
        weights, trained = (each[:split].reshape(units, width) for each in (before, after))
        if not _is_product(trained - weights, (after - before)[split : split + units]):
            return None
        layer = [
            Unit(weights[j], trained[j], float(before[split + j]), float(after[split + j]), off) for j in range(units)
        ]
        still = [unit for unit in layer if not unit.moved]
        if any(np.abs(unit.trained - unit.weights).max() > 4 * off for unit in still):
            return None
        ratios.append([ratio(unit) for unit in layer if unit.moved])
    if not any(_is_telling(each) for each in ratios):
        return None
    return agreed([each for here in ratios for each in here], firm=_FIRM)


def _is_product(moved: Array, biases: Array) -> bool:
    """Check that weights (units, inputs) moved roughly like the outer product of the biases' moves and one row."""
    most = int(np.argmax(np.abs(biases)))
    if biases[most] == 0:
        return not np.any(moved)
    left = np.abs(moved - np.outer(biases / biases[most], moved[most])).max()
    return bool(left <= _ROUGHLY * np.abs(moved).max())


def _is_telling(ratios: Sequence[Ratio]) -> bool:
    """Check that two units moved by other amounts, along a row of two other numbers: zeros and equals agree anyway."""
    steps = [abs(each.moved) for each in ratios]
    if len(steps) < 2 or min(steps) > (1 - _FIRM) * max(steps):
        return False
    size = np.abs(ratios[0].x)
    there = size[size > _FIRM * size.max()]
    return len(there) > 1 and bool(np.ptp(there) > _FIRM * size.max())
