"""Screening of messages: those that are not finite are set aside and counted as Byzantine."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import integer
from secmix.aggregators.traits import TRAITS, Traits
from secmix.errors import DataError

Messages = NDArray[Any]  # (n, p), float64 or float32
Vector = NDArray[Any]  # (p,), of the same type


class RejectedMessages(UserWarning):
    """Some messages held NaN or infinity; they were set aside and counted as Byzantine.

    Attributes
    ----------
    indices : tuple of int
        Which ones, as rows of the messages given.
    n, f : int
        How many messages there were, and how many Byzantine ones were allowed for.
    """

    def __init__(self, indices: tuple[int, ...], n: int, f: int) -> None:
        super().__init__(indices, n, f)
        self.indices, self.n, self.f = indices, n, f

    def __str__(self) -> str:
        named = ", ".join(map(str, self.indices[:10])) + (", ..." if len(self.indices) > 10 else "")
        text = (
            f"{len(self.indices)} of {self.n} messages (rows {named}) hold NaN or infinity: "
            "rejected, and counted as Byzantine"
        )
        if len(self.indices) > self.f:
            text += f"; that is more than the f = {self.f} allowed for, so no guarantee of the rule covers this input"
        return text


class Screened(NamedTuple):
    """The messages that can be used, how many of them may still be Byzantine, and the rows rejected."""

    kept: Messages
    f: int
    rejected: tuple[int, ...]


def screened(messages: ArrayLike, f: int = 0) -> Screened:
    """Select the finite messages, with what is left of the budget f.

    A message that is not finite can only come from a faulty or a Byzantine node, so that each one rejected
    leaves one fewer to fear: n' = n − rejected, f' = max(f − rejected, 0).

    Parameters
    ----------
    messages : (n, p)
        One message a row. float32 stays float32, other real numbers become float64.
    f : int
        How many of the n may be Byzantine.

    Raises
    ------
    DataError
        Not an array of n >= 1 rows and p >= 1 columns of real numbers, or no row is finite.
    SecmixError
        f is not an integer of at least 0, or not below n.

    Examples
    --------
    >>> kept, f, rejected = screened([[1.0, 2.0], [float("nan"), 0.0], [3.0, 4.0]], f=1)
    >>> kept.shape, f, rejected
    ((2, 2), 0, (1,))
    """
    array = _real(messages)
    n = len(array)
    f = integer(f, "f", least=0)
    if f >= n:
        raise DataError(f"f = {f} of {n} messages may be Byzantine: nothing honest is left; f must be below n")
    with np.errstate(all="ignore"):  # the sum of a row is finite only if each entry is
        doubtful = np.flatnonzero(~np.isfinite(array.sum(axis=1)))
    rejected = tuple(int(i) for i in doubtful if not np.isfinite(array[i]).all())
    if not rejected:
        return Screened(array, f, ())
    if len(rejected) == n:
        raise DataError(f"none of the {n} messages is finite: give at least one row of finite numbers")
    return Screened(np.delete(array, rejected, axis=0), max(f - len(rejected), 0), rejected)


def admitted(messages: ArrayLike, f: int, rule: str | Traits | None, *, stacklevel: int = 3) -> tuple[Messages, int]:
    """Screen the messages for a rule, and check f by its traits; a warning reports the rejected.

    The rule itself calls this: the warning points at the caller of the rule.
    """
    traits = TRAITS[rule] if isinstance(rule, str) else rule
    usable, left, rejected = screened(messages, f)
    n = len(usable) + len(rejected)
    if traits is not None:
        traits.check(n, f)
    if rejected:
        warnings.warn(RejectedMessages(rejected, n, f), stacklevel=stacklevel)
        if traits is not None:
            traits.check(len(usable), left, rejected=len(rejected))
    return usable, left


def returned(result: Vector, messages: Messages) -> Vector:
    """Convert ``result`` to the type of the messages; one that is not finite is an error."""
    if not np.isfinite(result).all():
        raise DataError("the aggregate overflows; divide the messages by a power of two first")
    return result.astype(messages.dtype, copy=False)


def _real(messages: ArrayLike) -> Messages:
    if isinstance(messages, np.ma.MaskedArray) and np.ma.is_masked(messages):
        raise DataError("messages are masked; drop or fill the masked entries first")
    try:
        array = np.asarray(messages)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"entries of type {array.dtype}")
        if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
            with np.errstate(over="ignore"):  # what float64 cannot hold is rejected as infinite
                array = array.astype(np.float32 if array.dtype == np.float32 else np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"messages must be an (n, p) array of real numbers; got {error}") from None
    if array.ndim != 2:
        hint = "; for n single numbers give messages[:, None]" if array.ndim == 1 else ""
        raise DataError(f"messages must have shape (n, p), one a row; given {array.shape}{hint}")
    if array.size == 0:
        raise DataError(f"messages are empty (shape {array.shape}); give n >= 1 of p >= 1 entries")
    return array
