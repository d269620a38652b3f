"""Distances among long messages, from one Gram matrix of their deviations from a pivot.

The Gram matrix costs one pass over the messages; everything else is then n × n. It loses digits where two messages
are much closer to each other than to the pivot; those pairs are found and worked out again from nearby.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.aggregators.numerics.blocks import deviations
from secmix.aggregators.screened_messages import Messages

_TINY, _HUGE = 1e-270, 1e290  # squares between these are as accurate as any
FAR = 1e60  # in units of a typical distance: to a rule that weighs by distance, further away only direction counts
_TOO_FAR = 1e200  # in the same units; weights that are smaller still would underflow
_LARGE = 2.0**900  # from here on sizes are taken in units of 2^64
_FEW = 2**14  # coordinates of all differences: up to here they cost less than the calls that go round them
_SAMPLE = 256  # coordinates that tell which message is in the thick of all
_CLOSE = 1e-3  # a squared distance below this share of the squared sizes has lost three digits or more

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Cloud:
    """Messages around a pivot: x_i = pivot + 2^shift · sizes_i · u_i, with unit vectors u_i."""

    sizes: Array  # (n,)
    cosines: Array  # (n, n): u_i · u_j; zero where a message equals the pivot
    shift: int = 0  # above 0 only where sizes would overflow otherwise


def gram(messages: Messages, pivot: Array) -> Array:
    """Compute (x_i − c)·(x_j − c) (n, n) in float64; overflows where the messages are huge."""
    n = len(messages)
    total = np.zeros((n, n))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in deviations(messages, pivot):
            total += block @ block.T
    return total


def cloud(messages: Messages, pivot: Array) -> Cloud:
    """Compute sizes and cosines of the messages (n, p) around ``pivot`` (p,), whatever their range."""
    products = gram(messages, pivot)
    squares = np.diag(products)
    exponents, shift = np.zeros(len(messages), dtype=np.intp), 0
    if not _representable(messages, pivot, squares):
        products, exponents, shift = _scaled_gram(messages, pivot)
        squares = np.diag(products)
    sizes, cosines = _directions(products, squares)
    return Cloud(np.ldexp(sizes, exponents), cosines, shift)


def clouds(stack: Messages, pivots: Array) -> tuple[Array, Array, Ints]:
    """Compute :func:`cloud` for each set of a stack (s, n, p) around its pivot (s, p): sizes, cosines and shifts."""
    if len(stack) == 1:  # it may be long
        only = cloud(stack[0], pivots[0])
        return only.sizes[None], only.cosines[None], np.array([only.shift])
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is worked out again, set by set
        away = stack - pivots[:, None]
        products = away @ away.swapaxes(1, 2)
        squares = np.diagonal(products, axis1=1, axis2=2)
        sizes, cosines = _directions(products, squares)
        plain = np.isfinite(squares).all(axis=1) & (squares.max(axis=1) <= _HUGE)
    plain &= ((squares >= _TINY) | (away == 0).all(axis=2)).all(axis=1)
    shifts = np.zeros(len(stack), dtype=np.intp)
    for k in np.flatnonzero(~plain):
        single = cloud(stack[k], pivots[k])
        sizes[k], cosines[k], shifts[k] = single.sizes, single.cosines, single.shift
    return sizes, cosines, shifts


def _directions(products: Array, squares: Array) -> tuple[Array, Array]:
    """Compute sizes (..., n) and cosines (..., n, n) from a Gram matrix and its diagonal."""
    roots = np.sqrt(squares)
    safe = np.where(roots > 0, roots, 1.0)
    with np.errstate(invalid="ignore"):
        cosines = products / safe[..., None, :] / safe[..., None]
    return roots, np.clip(cosines, -1.0, 1.0)


def too_far(sizes: Array, units: Array | float) -> Bools:
    """Mark the messages so many units away that their weight would underflow."""
    return np.asarray(sizes / _TOO_FAR > units)


def brought_nearer(messages: Messages, pivot: Array, sizes: Array, unit: float, shift: int) -> Messages:
    """Move messages (n, p) that are :func:`too_far` to FAR units on their ray; ``sizes`` and unit in 2^shift."""
    moved = np.array(messages, dtype=np.float64)
    for i in np.flatnonzero(too_far(sizes, unit)):
        ray = np.ldexp(moved[i], -shift) - np.ldexp(pivot, -shift)
        moved[i] = pivot + np.ldexp(ray / sizes[i] * (FAR * unit), shift)
    return moved


def distances(messages: Messages) -> Array:
    """Compute ‖x_i − x_j‖ (n, n), in units of 2^64 where messages are huge (above 2^900); of a stack for each set.

    A distance keeps its digits however small it is beside others: it is never infinite and, in units of 1, never zero
    between messages that differ. Squared distances could overflow. For few and short messages (..., n, p) all
    differences are computed, for others the Gram matrix.
    """
    n, p = messages.shape[-2:]
    if n * n * p <= _FEW:
        return _one_by_one(messages)
    if messages.ndim > 2:
        return np.stack([distances(part) for part in messages])
    at = central(messages)
    shift = _shift(messages)
    lengths, doubtful = _measured(messages, at, shift)
    _refine(messages, lengths, doubtful, shift)
    return lengths


def _one_by_one(messages: Messages) -> Array:
    """Compute the distances (..., n, n) from all differences."""
    rows = messages.astype(np.float64, copy=False)
    top = np.abs(rows).max(axis=(-2, -1))
    shift = np.where(top > _LARGE, 64, 0)[..., None, None]
    # In units in which no entry is above 1, no square overflows; what underflows is worked out again.
    exponent = np.frexp(top)[1][..., None, None]
    scaled = np.ldexp(rows, -exponent)
    apart = scaled[..., :, None, :] - scaled[..., None, :, :]
    squares = np.einsum("...k,...k->...", apart, apart)
    lengths = np.ldexp(np.sqrt(squares), exponent - shift)
    indices = np.nonzero(squares < _TINY)
    lost = indices[-2] < indices[-1]  # each pair once, and no message with itself
    if lost.any():
        *stack, i, j = (index[lost] for index in indices)
        rows = np.ldexp(rows, -shift)
        gap = np.abs(rows[(*stack, i)] - rows[(*stack, j)])
        largest = gap.max(axis=-1)
        shares = gap / np.where(largest > 0, largest, 1.0)[:, None]
        lengths[(*stack, i, j)] = lengths[(*stack, j, i)] = largest * np.sqrt((shares**2).sum(axis=-1))
    return np.asarray(lengths)


def central(messages: Messages) -> int:
    """Choose a message in the midst of all, judged by some coordinates: a good pivot, without a proof."""
    return int(central_of_each(messages[None])[0])


def central_of_each(stack: Messages) -> Ints:
    """Choose as :func:`central` does for each set of a stack (s, n, p): (s,)."""
    s, n, p = stack.shape
    if n <= 2:
        return np.zeros(s, dtype=np.intp)
    some = slice(None) if p <= _SAMPLE else np.unique(np.linspace(0, p - 1, _SAMPLE).astype(np.intp))
    sample = stack[..., some].astype(np.float64)
    # Where some are huge, only those can be told apart, and none of them is chosen.
    sample = np.ldexp(sample, -np.frexp(np.abs(sample).max(axis=(1, 2)))[1][:, None, None])
    sample = sample - sample[:, :1]
    apart = _apart(sample @ sample.swapaxes(1, 2))
    return np.asarray(np.argmin(np.median(apart, axis=2), axis=1))


def _measured(messages: Messages, at: int, shift: int) -> tuple[Array, Bools]:
    """Measure all distances from message ``at``, and mark those that have lost digits: those far below the sizes."""
    pivot = np.array(messages[at], dtype=np.float64)
    products = gram(messages, pivot)
    squares = np.diag(products)
    if _representable(messages, pivot, squares):
        apart = _apart(products)
        lengths, doubtful = np.ldexp(np.sqrt(apart), -shift), apart < _CLOSE * (squares[:, None] + squares)
    else:
        around = cloud(messages, pivot)
        smaller = np.minimum(around.sizes[:, None], around.sizes)
        larger = np.maximum(around.sizes[:, None], around.sizes)
        ratio = smaller / np.where(larger > 0, larger, 1.0)
        share = np.maximum(1 + ratio * (ratio - 2 * around.cosines), 0.0)
        lengths, doubtful = np.ldexp(larger * np.sqrt(share), around.shift - shift), share < _CLOSE * (1 + ratio**2)
    # From x_i itself the distances to it are exact.
    doubtful[at], doubtful[:, at] = False, False
    np.fill_diagonal(doubtful, False)
    np.fill_diagonal(lengths, 0.0)
    return lengths, doubtful


def _apart(products: Array) -> Array:
    """Compute squared distances (..., n, n) from a Gram matrix."""
    squares = np.diagonal(products, axis1=-2, axis2=-1)
    squared = np.maximum(squares[..., None] + squares[..., None, :] - 2 * products, 0.0)
    diagonal = np.arange(squared.shape[-1])
    squared[..., diagonal, diagonal] = 0.0
    return np.asarray(squared)


def _refine(messages: Messages, lengths: Array, doubtful: Bools, shift: int) -> None:
    """Work out the doubtful distances again, from pivots nearby; in place."""
    while doubtful.any():
        i = int(np.argmax(doubtful.sum(axis=1)))
        group = np.flatnonzero(doubtful[i] | (np.arange(len(lengths)) == i))
        again, still = _measured(messages[group], int(np.searchsorted(group, i)), shift)
        pairs = np.ix_(group, group)
        update = ~still & doubtful[pairs]
        lengths[pairs] = np.where(update, again, lengths[pairs])
        doubtful[pairs] &= ~update


def _representable(messages: Messages, pivot: Array, squares: Array) -> bool:
    """Check that no square has overflowed, or lost digits below the smallest float."""
    if not np.isfinite(squares).all() or squares.max() > _HUGE or squares[squares > 0].min(initial=1) < _TINY:
        return False
    return all(np.array_equal(messages[i], pivot) for i in np.flatnonzero(squares == 0))


def _shift(messages: Messages, pivot: Array | float = 0.0) -> int:
    """Choose the power of two to divide by, so that no deviation or size overflows."""
    top = max(abs(float(messages.max())), abs(float(messages.min())), float(np.abs(pivot).max()))
    return 64 if top > _LARGE else 0


def _scaled_gram(messages: Messages, pivot: Array) -> tuple[Array, NDArray[np.intp], int]:
    """Compute the Gram matrix of deviations divided by 2^exponent, each row by its own, after all by 2^shift."""
    n = len(messages)
    shift = _shift(messages, pivot)
    largest = np.zeros(n)
    for block in deviations(messages, pivot, shift):
        np.maximum(largest, np.abs(block).max(axis=1), out=largest)
    exponents = np.frexp(largest)[1].astype(np.intp)
    total = np.zeros((n, n))
    for block in deviations(messages, pivot, shift):
        unit = np.ldexp(block, -exponents[:, None])
        total += unit @ unit.T
    return total, exponents, shift
