"""Checks of numeric input, with errors that name the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix.errors import DataError, SecmixError

Array = NDArray[np.float64]
Ints = NDArray[np.intp]
Progress = Callable[[float, int, str], None]
"""Called with the finished cells, nodes or parts, their total number, and a description of the current step."""


def finite_array(values: ArrayLike, name: str, ndim: int | None = None, *, empty: bool = False) -> Array:
    """Convert ``values`` to a float64 array; raise a DataError that names the first entry that is not finite.

    With ``empty`` it may have no entry at all.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):  # the values may be private and are not repeated
        raise DataError(f"{name} must be an array of numbers, with rows of equal length") from None
    if ndim is not None and array.ndim != ndim:
        raise DataError(f"{name} must have {ndim} axes; the array given has shape {array.shape}")
    if array.size == 0 and not empty:
        raise DataError(f"{name} is empty (shape {array.shape}); give at least one value")
    if not np.isfinite(array).all():
        raise _not_finite(array, name)
    return array


def _not_finite(array: Array, name: str) -> DataError:
    """Make the error that locates the first number that is not finite; called only if there is one."""
    indices = np.argwhere(~np.isfinite(array))
    return DataError(
        f"{name} holds {len(indices)} value(s) that are not finite, the first at index "
        f"{tuple(int(i) for i in indices[0])}; drop or impute those rows first"
    )


def positive(value: Any, name: str) -> float:
    """Convert ``value`` to a finite float above zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise SecmixError(f"{name} must be a number above 0; given {value!r}")
    if not (0 < float(value) < np.inf):
        raise SecmixError(f"{name} must be above 0 and finite; given {value!r}")
    return float(value)


def not_negative(value: Any, name: str) -> float:
    """Convert ``value`` to a finite float of at least zero."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (number and 0 <= float(value) < np.inf):
        raise SecmixError(f"{name} must be a finite number of at least 0; given {value!r}")
    return float(value)


def probability(value: Any, name: str, *, below_one: bool = True) -> float:
    """Convert ``value`` to a float in [0, 1), or in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise SecmixError(f"{name} must be a number between 0 and 1; given {value!r}")
    if not (0 <= value < 1 or (value == 1 and not below_one)):
        bracket = ")" if below_one else "]"
        raise SecmixError(f"{name} must lie in [0, 1{bracket}; given {value!r}")
    return float(value)


def integer(value: Any, name: str, least: int = 1) -> int:
    """Convert ``value`` to an int of at least ``least``; 2.0 and True are not integers."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise SecmixError(f"{name} must be an integer of at least {least}; given {value!r}")
    if value < least:
        raise SecmixError(f"{name} must be at least {least}; given {value}")
    return int(value)


def word(bits: int, fraction_bits: int) -> None:
    """Check that float64 carries words of so many bits exactly, and that integers have bits left."""
    integer(bits, "bits", 8)
    integer(fraction_bits, "fraction_bits", 0)
    if bits > 52 or fraction_bits >= bits - 2:
        raise SecmixError(
            f"bits = {bits}, fraction_bits = {fraction_bits}: allowed are bits <= 52 and fraction_bits < bits - 2"
        )
