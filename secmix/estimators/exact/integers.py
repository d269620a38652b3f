"""Linear algebra of residues in integers: combinations that no mask reaches, without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

import numpy as np

from secmix._base.checks import Array

_Row = dict[int, int]
Combination = Mapping[int, int]
"""Integer coefficients of some rows, by row."""


def integer_null_space(matrix: Array) -> list[Combination]:
    """Find independent combinations of the rows of an integer matrix (F, k) that vanish, without common divisors.

    Fraction-free elimination, row by row. Over the rationals: what vanishes there vanishes modulo any modulus.

    >>> integer_null_space(np.array([[1.0, 0.0], [6.0, 0.0], [0.0, 2.0], [3.0, 3.0]]))
    [{0: -6, 1: 1}, {0: -6, 2: -3, 3: 2}]
    """
    pivots: list[tuple[int, _Row, _Row]] = []
    vanishing: list[Combination] = []
    for at, numbers in enumerate(np.asarray(matrix)):
        used = np.flatnonzero(numbers)  # few, as a rule
        left: _Row = {column: int(value) for column, value in zip(used.tolist(), numbers[used].tolist(), strict=True)}
        combination: _Row = {at: 1}
        for column, row, pivot_combination in pivots:
            if column in left:
                common = gcd(left[column], row[column])
                a, b = row[column] // common, -left[column] // common
                left, combination = _sum(left, a, row, b), _sum(combination, a, pivot_combination, b)
        common = gcd(*left.values(), *combination.values())
        left, combination = ({key: value // common for key, value in part.items()} for part in (left, combination))
        if left:
            pivots.append((min(left, key=lambda column: (abs(left[column]), column)), left, combination))
        else:
            vanishing.append(
                dict(sorted(combination.items()))
                if combination[at] > 0
                else {k: -v for k, v in sorted(combination.items())}
            )
    return vanishing


def combined_residues(combination: Combination, values: Array, modulus: float) -> Array:
    """Compute Σ c_i values_i modulo ``modulus``, nearest to zero, for residues (F, runs, m) of at most 52 bits.

    This is done by doubling, so that no intermediate number has more digits than float64: exact.

    >>> combined_residues({0: -7, 1: 2**40}, np.array([[[3.0]], [[0.5]]]), 11.0).tolist()
    [[-4.0]]
    """
    total = np.zeros(values.shape[1:])
    for row, factor in combination.items():
        double = nearest(values[row], modulus)
        for digit in reversed(bin(abs(factor))[2:]):
            if digit == "1":
                total = nearest(total + double if factor > 0 else total - double, modulus)
            double = nearest(2 * double, modulus)
    return total


def nearest(values: Array, modulus: float) -> Array:
    """Choose the representative nearest to zero."""
    return np.asarray(values - modulus * np.floor(values / modulus + 0.5))


def _sum(first: _Row, factor: int, second: _Row, by: int) -> _Row:
    out = {key: factor * value for key, value in first.items()}
    for key, value in second.items():
        out[key] = out.get(key, 0) + by * value
    return {key: value for key, value in out.items() if value}
