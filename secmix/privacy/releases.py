"""Clip vectors and add noise: functions of plain arrays, which an audit can note and play back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, finite_array, integer, positive
from secmix.errors import DataError, SecmixError
from secmix.privacy.noted_releases import Clip, Noise, clipped, current


def clip(x: ArrayLike, norm: float, axis: int | tuple[int, ...] | None = None, ord: int = 2) -> Array:
    """Shorten vectors to a norm of at most ``norm``; shorter ones stay as they are.

    Parameters
    ----------
    x : array_like
        It may have no vectors, as a batch that is drawn row by row: their sum is zero.
    norm : float
        Public, above 0: one that follows from the data tells of them, and bounds nothing.
    axis : int, tuple of int or None
        The axes of a vector; all others count vectors. None: all of ``x`` is one vector. In a collaboration the first
        axis is that of runs, so name those of a vector there, unless it is written for one run (``run_by_run``).
    ord : {2, 1}
        The norm: Euclidean for Gaussian noise, the sum of absolute values for Laplace noise.

    Returns
    -------
    ndarray
        Of the shape of ``x``.

    Raises
    ------
    DataError
        If ``x`` holds what is no finite number, or vectors without any.
    SecmixError
        If a setting lies outside its range.

    Examples
    --------
    >>> clip([[3.0, 4.0], [0.3, 0.4]], 1.0, axis=-1).round(3).tolist()
    [[0.6, 0.8], [0.3, 0.4]]
    >>> clip([3.0, -1.0], 2.0, ord=1).tolist()
    [1.5, -0.5]
    """
    values, radius = finite_array(x, "x", empty=True), positive(norm, "norm")
    if integer(ord, "ord") > 2:
        raise SecmixError(f"ord must be 2, for Gaussian noise, or 1, for Laplace noise; given {ord!r}")
    axes = _axes(axis, values.ndim)
    if 0 in (values.shape[a] for a in axes):
        raise DataError(f"x has vectors without entries (shape {values.shape}, axis {axis!r}); give each at least one")
    with np.errstate(over="ignore"):  # of an infinite length nothing is left
        size = np.abs(values) if ord == 1 else values**2
        length = size.sum(axis=axes, keepdims=True) if axes else size
    length = length if ord == 1 else np.sqrt(length)
    result = np.asarray(values * np.minimum(1.0, radius / np.maximum(length, radius * 1e-300)))
    ledger = current()
    if ledger is None:
        return result
    ledger.clips += 1
    trailing = tuple(range(result.ndim - len(axes), result.ndim))
    last = result if axes == trailing else np.moveaxis(result, axes, trailing)
    width = math.prod(result.shape[a] for a in axes)
    return clipped(result, Clip(radius, int(ord), last.reshape(-1, width).copy()), axes)


def gaussian(x: ArrayLike, scale: float, rng: np.random.Generator) -> Array:
    """Release ``x`` with Gaussian noise of standard deviation ``scale`` on every entry.

    Parameters
    ----------
    x : array_like
        What is released; :func:`clip` it right before, or a sum of clipped vectors, for a bound on what it tells.
    scale : float
        Public, above 0.
    rng : numpy.random.Generator
        One of the releasing node's own, such as one of ``rng.spawn(n)``.

    Raises
    ------
    DataError
        If ``x`` holds what is no finite number.
    SecmixError
        If ``scale`` or ``rng`` is not what it should be.

    Examples
    --------
    >>> gaussian(clip([3.0, 4.0], 1.0), 0.5, np.random.default_rng(0)).round(2).tolist()
    [0.66, 0.73]
    """
    values, scale = finite_array(x, "x"), positive(scale, "scale")
    draws = _generator(rng).standard_normal(values.shape)
    return _released("gaussian", x, values, scale, draws, rng)


def laplace(x: ArrayLike, scale: float, rng: np.random.Generator) -> Array:
    """Release ``x`` with Laplace noise of ``scale`` on every entry; parameters and errors as of :func:`gaussian`.

    Examples
    --------
    >>> laplace(clip([3.0, 4.0], 1.0, ord=1), 0.5, np.random.default_rng(0)).round(2).tolist()
    [0.59, 0.26]
    """
    values, scale = finite_array(x, "x"), positive(scale, "scale")
    draws = _generator(rng).laplace(size=values.shape)
    return _released("laplace", x, values, scale, draws, rng)


def _released(noise: Noise, x: Any, values: Array, scale: float, draws: Any, rng: np.random.Generator) -> Array:
    ledger, draws = current(), np.asarray(draws, dtype=np.float64)
    if ledger is None:
        return np.asarray(values + scale * draws)
    return ledger.note(noise, x, values, scale, draws, rng)


def _generator(rng: Any) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise SecmixError(
            f"rng must be a numpy.random.Generator, such as the protocol's own or one of rng.spawn(n); given "
            f"{type(rng).__name__}"
        )
    return rng


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a vector, each once and at least 0."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = [integer(a, "axis", least=-ndim) for a in given]
    if not axes or any(a >= ndim for a in axes) or len({a % ndim for a in axes}) < len(axes):
        raise SecmixError(
            f"axis must name different axes of an array of {ndim}, from {-ndim} to {ndim - 1}; given {axis!r}"
        )
    return tuple(a % ndim for a in axes)
