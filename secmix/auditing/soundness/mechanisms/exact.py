"""Replay without rounding: where coefficients are small fractions, other inputs and masks on a grid look the same.

Then all sums of inputs and masks are exact, and no bit of a message can hide behind rounding.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.soundness.compare import other_view, too_coarse
from secmix.auditing.soundness.model import Bench, Case, Model, sizes_of
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.sight import numbers, other_frames

NAME = "exact replay"
_DENOMINATOR = 1000
_REACH = 64
_SINGLES = 4
_UNIT = float(np.finfo(float).eps) / 2


def exact_replay(bench: Bench, models: list[Model]) -> Check:
    """Move inputs and masks along whole null vectors, and demand the same bits; in every averaging."""
    checks = [_replayed(bench, model) for model in models]
    return next((check for check in checks if check.failed), checks[0])


def _replayed(bench: Bench, model: Model) -> Check:
    if bench.modulus is not None:
        return Check(NAME, "not applicable", "Residues are replayed to the last bit anyway.")
    moves = null_vectors(model, bench.eyes.corrupt)
    if moves is None and (coarse := too_coarse(bench, model)):
        what = (
            f"rounding hides differences of up to {coarse:.1g} of the inputs' spread: use smaller masks, or finer words"
        )
        sentence = "Coefficients are no small fractions, and messages are too coarse to be compared."
        return Check(NAME, "failed", sentence, Witness("all messages", what))
    if moves is None:
        sentence = "Coefficients are no small fractions: what is coded in the last bits is not excluded."
        return Check(NAME, "not applicable", sentence)
    n = bench.network.n
    if not len(moves) or not moves[:, :n].any():
        return Check(NAME, "not applicable", "Every honest input is known already: nothing is left to replay.")
    before, rng = bench.calls, bench.private(4)
    witness = None
    k, m = model.case.masks.shape[1], model.case.inputs.shape[2]
    for place, runs in enumerate([4, 4, *[1] * _SINGLES]):
        fine = place % 2 and float(model.seen.coarseness.max(initial=_UNIT)) <= _UNIT  # as many digits as a double
        step = _step(model.case) if fine else 1.0
        if step == 1.0:
            s, r = (_odd_numbers(rng, (runs, count, m)) for count in (n, k))
        else:  # numbers of the size and nearly the digits that they have in use
            s, r = (_on_grid(part[:runs], step) for part in (model.case.inputs, model.case.masks))
        case = Case(model.case.iteration, s, r, model.case.seed)
        span = 48 if step == 1.0 else max(int(float(np.median(bench.scale)) / step), 1)
        weights = rng.integers(-span, span + 1, size=(len(s), m, len(moves)))
        change = step * (weights @ moves).transpose(0, 2, 1).astype(float)
        moved = case.moved(change[:, :n], change[:, n:])
        one, two = (bench.eyes.see(bench.call(each)) for each in (case, moved))
        witness = other_frames(one, two)
        if witness is None and other_view(model, (case, one), (moved, two), exact=True) is not None:
            witness = _beyond_rounding(model, case, one.rows, two.rows, one.names)
        if witness is not None:
            break
    done = bench.calls - before
    if witness is not None:
        return Check(
            NAME, "failed", "Inputs and masks that are explained without rounding look different.", witness, done
        )
    return Check(
        NAME,
        "passed",
        "Other inputs on a grid, where nothing is rounded, gave the same view to the last bit.",
        calls=done,
    )


def _odd_numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Odd multiples of 1/4, none of them zero."""
    return np.asarray((2 * rng.integers(-2 * _REACH, 2 * _REACH, size=shape) + 1) / 4.0)


def _step(case: Case) -> float:
    """That of a grid on which sums of numbers of this size have no more than 40 digits."""
    top = max(float(np.abs(part).max(initial=1.0)) for part in (case.inputs, case.masks))
    return float(2.0 ** (np.ceil(np.log2(top)) - 36))


def _on_grid(values: Array, step: float) -> Array:
    """The odd multiples of ``step`` next to ``values``."""
    return np.asarray((2 * np.floor(values / (2 * step)) + 1) * step)


def _beyond_rounding(
    model: Model, case: Case, one: list[NDArray[np.float64]], two: list[NDArray[np.float64]], names: list[str]
) -> Witness | None:
    """The first row that differs, but for those whose fractions are not binary: products with them are rounded."""
    linear = model.linear
    scale = np.ones(len(linear.A)) if linear.scale is None else linear.scale
    table = np.hstack([linear.A, linear.M]) / scale[:, None] * 2.0**10
    binary = ((table == np.round(table)) & (np.abs(table) <= 2.0**14)).all(axis=1)  # products have digits to spare
    place = {int(p): row for row, p in enumerate(model.which)}
    sizes = sizes_of(linear, case)
    for p, (a, b) in enumerate(zip(one, two, strict=False)):
        row = place.get(p)
        x, y = numbers(a), numbers(b)
        x, y = (a, b) if a.dtype.char == "g" else (x, y)  # of which a double holds only part
        same = (x == y) & (np.signbit(x) == np.signbit(y)) | (np.isnan(x) & np.isnan(y))
        if row is not None and not binary[row]:
            same |= np.abs(x - y) <= 8 * _UNIT * sizes[row]
        if not same.all() or a.dtype != b.dtype:
            entry = int(np.flatnonzero(~same.all(axis=0))[0]) if not same.all() else None
            return Witness(names[p], "its last bits are others", entry)
    return None


def null_vectors(model: Model, corrupt: frozenset[int]) -> NDArray[np.int64] | None:
    """Whole vectors (count, n + k) of inputs and masks that no message shows; None if none are small.

    Found in floating point, rounded to fractions, and checked in whole numbers.
    """
    linear = model.linear
    n = linear.A.shape[1]
    scale = np.ones(len(linear.A)) if linear.scale is None else linear.scale
    table = np.hstack([linear.A, linear.M]) / scale[:, None]
    tops = np.abs(table).max(axis=1, initial=0.0, keepdims=True)
    table = np.unique(table / np.where(tops > 0, tops, 1.0), axis=0)
    integers = _integer_rows(table)
    if integers is None:
        return None
    own = np.eye(n + linear.M.shape[1], dtype=np.int64)[sorted(corrupt)]
    integers = np.vstack([integers, own]).astype(np.int64)
    reduced, pivots = _reduced(integers.astype(float))
    free = [c for c in range(integers.shape[1]) if c not in set(pivots)]
    found = []
    for column in free:
        vector = np.zeros(integers.shape[1])
        vector[column] = 1.0
        vector[pivots] = -reduced[: len(pivots), column]
        exact = _integer_rows(vector[None])
        if exact is None or np.abs(exact).max() > _REACH or (integers @ exact[0]).any():
            return None
        found.append(exact[0])
    return np.array(found, dtype=np.int64).reshape(len(found), integers.shape[1])


def _integer_rows(table: Array) -> NDArray[np.int64] | None:
    """Each row times its least common denominator; None if a row has no small one."""
    out = []
    for row in table:
        setup = [Fraction(float(value)).limit_denominator(_DENOMINATOR) for value in row]
        if max((abs(float(p) - value) for p, value in zip(setup, row, strict=True)), default=0.0) > 1e-12:
            return None
        common = int(np.lcm.reduce([p.denominator for p in setup])) if setup else 1
        if common > 10**6:
            return None
        out.append([int(p * common) for p in setup])
    return np.array(out, dtype=np.int64).reshape(table.shape)


def _reduced(matrix: Array) -> tuple[Array, list[int]]:
    """Reduced row echelon form and its pivot columns."""
    rows, pivots, rank = matrix.copy(), [], 0
    for column in range(rows.shape[1]):
        if rank == len(rows):
            break
        best = rank + int(np.argmax(np.abs(rows[rank:, column])))
        if abs(rows[best, column]) < 1e-9:
            continue
        rows[[rank, best]] = rows[[best, rank]]
        rows[rank] /= rows[rank, column]
        others = np.arange(len(rows)) != rank
        rows[others] -= rows[others, column][:, None] * rows[rank]
        pivots.append(column)
        rank += 1
    return rows, pivots
