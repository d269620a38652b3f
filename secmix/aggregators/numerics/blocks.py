"""Long messages a few columns at a time, in double precision, with sums that cannot overflow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.aggregators.screened_messages import Messages

_ENTRIES = 2**18  # of a block: 2 MiB, which the caches hold


def blocks(n: int, p: int, most: int = 2**18) -> Iterator[slice]:
    """Yield slices of the p columns, each of at most ``most``."""
    width = min(max(_ENTRIES // n, 64), most)
    for start in range(0, p, width):
        yield slice(start, min(start + width, p))


def deviations(messages: Messages, pivot: Array, shift: int = 0) -> Iterator[Array]:
    """Yield ``(messages − pivot) / 2^shift`` a block at a time; each block is overwritten by the next."""
    n, p = messages.shape
    room: Array | None = None
    for columns in blocks(n, p):
        part = messages[:, columns]
        if room is None or room.shape != part.shape:
            room = np.empty(part.shape)
        if shift:
            np.subtract(np.ldexp(part, -shift), np.ldexp(pivot[columns], -shift), out=room, dtype=np.float64)
        else:
            np.subtract(part, pivot[columns], out=room, dtype=np.float64)
        yield room


def combination(messages: Messages, weights: Array) -> Array:
    """Compute Σ w_i x_i (p,) in float64; for weights (k, n), all k of them (k, p)."""
    if messages.dtype == np.float64 and messages.flags.c_contiguous:
        return np.asarray(weights @ messages)
    n, p = messages.shape
    result = np.empty((*weights.shape[:-1], p))
    for columns in blocks(n, p):
        result[..., columns] = weights @ messages[:, columns].astype(np.float64)
    return result


def moved(messages: Messages, pivot: Array, weights: Array, shift: int = 0) -> Array:
    """Compute c + Σ w_i (x_i − c) (p,): near the pivot c it keeps more digits than Σ w_i x_i, and never overflows."""
    step = np.concatenate([weights @ block for block in deviations(messages, pivot, shift)])
    return np.asarray(np.ldexp(np.ldexp(pivot, -shift) + step, shift) if shift else pivot + step)


def average(messages: Messages, members: Sequence[int] | NDArray[np.intp] | None = None) -> Array:
    """Average all messages, or those at ``members``, in float64: (p,)."""
    return np.asarray(average_of_each(messages[None], None if members is None else np.asarray(members)[None])[0])


def average_of_each(stack: Messages, members: NDArray[np.intp] | None = None) -> Array:
    """Average each set of a stack of messages (s, n, p), or its ``members`` (s, m), in float64: (s, p)."""
    weights = np.ones(stack.shape[:2]) if members is None else np.zeros(stack.shape[:2])
    if members is not None:
        weights[np.arange(len(stack))[:, None], members] = 1.0
    count = float(weights[0].sum())
    with np.errstate(over="ignore", invalid="ignore"):
        means = combination_of_each(stack, weights) / count
    large = ~np.isfinite(means).all(axis=1)
    if large.any():
        # Scaled by a power of two, entries near the largest float can be added; nothing is rounded by it.
        down = 2.0 ** np.ceil(np.log2(count))
        means[large] = combination_of_each(stack[large], weights[large] / down) / (count / down)
    return means


def combination_of_each(stack: Messages, weights: Array) -> Array:
    """Compute Σ w_i x_i (s, p) of each set of a stack (s, n, p), for weights (s, n)."""
    if len(stack) == 1:  # it may be long
        return combination(stack[0], weights[0])[None]
    return np.asarray((weights[:, None] @ stack.astype(np.float64, copy=False))[:, 0])


def moved_of_each(stack: Messages, pivots: Array, weights: Array, shifts: Ints) -> Array:
    """Compute :func:`moved` for each set of a stack (s, n, p)."""
    if len(stack) == 1:  # it may be long
        return moved(stack[0], pivots[0], weights[0], int(shifts[0]))[None]
    down = -shifts[:, None, None]
    away = np.ldexp(stack.astype(np.float64, copy=False), down) - np.ldexp(pivots[:, None], down)
    steps = (weights[:, None] @ away)[:, 0]
    return np.asarray(np.ldexp(np.ldexp(pivots, down[:, 0]) + steps, -down[:, 0]))


def averages(messages: Messages, groups: Sequence[NDArray[np.intp]]) -> Messages:
    """Average each group of rows, (groups, p), in the type of the messages."""
    n, p = messages.shape
    weights = np.zeros((len(groups), n))
    for row, group in zip(weights, groups, strict=True):
        row[group] = 1.0
    counts = weights.sum(axis=1, keepdims=True)
    down = 2.0 ** np.ceil(np.log2(counts))
    result = np.empty((len(groups), p), dtype=messages.dtype)
    for columns in blocks(n, p):
        part = messages[:, columns].astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            means = weights @ part / counts
        if not np.isfinite(means).all():
            means = (weights / down) @ part / (counts / down)
        result[:, columns] = means
    return result
