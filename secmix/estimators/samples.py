"""Samples for nearest-neighbour estimators: checked once at the door, then standardised."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix.errors import DataError

Floats = NDArray[np.float64]
Samples = tuple[Floats, Floats, Floats]  # x, y and what is given, z; z has no columns if nothing is

_TIE_BREAK = 1e-10  # standard deviations


def validated(x: ArrayLike, y: ArrayLike, z: ArrayLike | None, k: int) -> tuple[Samples, int]:
    """Return (N, d) arrays of floats, all finite and equally long, and k as an integer below N."""
    k = positive("k", k)
    first, second = columns("x", x), columns("y", y)
    third = np.empty((len(first), 0)) if z is None else columns("z", z)
    for name, other in (("y", second), ("z", third)):
        if len(other) != len(first):
            raise DataError(f"x has {len(first)} rows and {name} has {len(other)}; each row is one sample of both")
    enough_rows(len(first), k)
    return (first, second, third), k


def columns(name: str, values: ArrayLike) -> Floats:
    """Make (N, d) floats of (N, d) or (N,) real numbers, all finite."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # ragged rows
        raise DataError(f"{name} is not an array: {error}; give (N, d) or (N,) numbers") from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} holds {array.dtype}; real numbers are needed: encode or convert them first")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise DataError(f"{name} has shape {array.shape}; give (N, d), or (N,) for one variable")
    if array.size == 0:
        raise DataError(f"{name} has shape {array.shape}: it is empty; give at least one column and more than k rows")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        bad = ~np.isfinite(array)
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"{name} has {int(bad.sum())} values that are not finite, the first ({array[row, column]}) in "
            f"row {row}, column {column}; drop or fill those rows"
        )
    return array


def enough_rows(n: int, k: int) -> None:
    """Refuse N ≤ k, where there is no k-th neighbour."""
    if n <= k:
        raise DataError(f"{n} rows have no neighbour number k = {k}; give more than k rows, or a smaller k")


def positive(name: str, value: Any) -> int:
    """Check a positive integer of any integer type."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise DataError(f"{name} = {value!r} must be a positive integer, such as 3")
    return number


def logarithm_base(base: float | None, default: float) -> float:
    """Return the base given, which must exceed 1, or the default."""
    if base is None:
        return default
    if isinstance(base, bool) or not isinstance(base, (int, float, np.number)) or not 1 < base < math.inf:
        raise DataError(f"base = {base!r} must be above 1: math.e for nats, 2 for bits")
    return float(base)


def standardised(name: str, array: Floats) -> tuple[Floats, float]:
    """Return columns of mean 0 and variance 1, and the sum of the logarithms of their scales."""
    still = np.flatnonzero(array.min(axis=0) == array.max(axis=0))
    if still.size:
        raise DataError(
            f"column {still[0]} of {name} is constant ({array[0, still[0]]:g} in all {len(array)} rows): "
            "it carries nothing; drop it"
        )
    # A power of two takes every finite column near 1 without rounding: squares neither over- nor underflow.
    exponents = np.frexp(np.abs(array).max(axis=0))[1]
    scaled = np.ldexp(array, -exponents)
    scaled = scaled - scaled.mean(axis=0)
    deviations = scaled.std(axis=0)
    return scaled / deviations, float((np.log(deviations) + exponents * math.log(2)).sum())


def standardised_samples(samples: Samples) -> Samples:
    """Return x, y and z with standardised columns."""
    x, y, z = samples
    return standardised("x", x)[0], standardised("y", y)[0], standardised("z", z)[0]


def untied(samples: Samples, rng: np.random.Generator) -> Samples:
    """Return standardised samples in which no column repeats a value: those that do get uniform noise of 1e-10.

    Repeated values (data rows drawn again and again, rounded numbers) stand at one distance, and counting all
    or none of them as closer shifts the estimate: independent data of 569 values read 0.03 nats. Noise far
    below their spacing breaks the ties at random and leaves the information as it is, since the value can be
    read off the noisy value.
    """
    x, y, z = (_untied(part, generator) for part, generator in zip(samples, rng.spawn(3), strict=True))
    return x, y, z


def _untied(array: Floats, rng: np.random.Generator) -> Floats:
    array = array.copy()
    for column in array.T:
        ordered = np.sort(column)
        if (ordered[1:] == ordered[:-1]).any():
            column += _TIE_BREAK * rng.random(len(column))
    return array
