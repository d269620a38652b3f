"""Minimum diameter averaging: the n − f messages that lie closest together, found exactly."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array
from secmix.aggregators.numerics.blocks import average
from secmix.aggregators.numerics.geometry import distances
from secmix.aggregators.numerics.ordering import compare
from secmix.aggregators.screened_messages import Messages, Vector, admitted, returned
from secmix.errors import SecmixError

_MOST_F = 12  # at most 2^f sets are tried
_MOST_SETS = 50_000  # or all of them
_TIED = 1e-12

Bools = NDArray[np.bool_]


def mda(messages: ArrayLike, f: int) -> Vector:
    """Average the n − f messages whose largest distance among each other is least.

    Where several sets have the same diameter, the one with the least sum of squared distances counts, and then
    the one whose mean comes first by value. The search is exact. To leave out f messages so that no two of the rest are
    farther apart than t, every pair farther apart must lose one of its two; a search tree of at most 2^f leaves decides
    whether f suffice.

    Parameters
    ----------
    messages : (n, p)
    f : int
        Below n/2, and either at most 12 or with at most 50 000 sets to choose from.

    Raises
    ------
    SecmixError
        If the exact search would be too long.

    Source: El Mhamdi et al. 2020, minimum-diameter averaging.

    Examples
    --------
    >>> mda([[0.0], [1.0], [2.0], [4.0], [1e9]], f=2)
    array([1.])
    """
    usable, f = admitted(messages, f, "mda")
    n = len(usable)
    if f > _MOST_F and math.comb(n, f) > _MOST_SETS:
        raise SecmixError(
            f"mda searches for the best set exactly, which with f = {f} of n = {n} may take too long; "
            f"f <= {_MOST_F} is searched for any n; or use multi_krum or nnm(trimmed_mean), which cost little"
        )
    if f == 0:
        return returned(average(usable), usable)
    return returned(_best(usable, distances(usable), f), usable)


def _best(messages: Messages, apart: Array, f: int) -> Array:
    levels = np.unique(apart)
    # The least level at which f messages cover all pairs farther apart; at the highest they do.
    least_level = bisect_left(levels[:-1], True, key=lambda level: bool(_covers(apart > level, f, first=True)))
    far = apart > levels[least_level] * (1 + _TIED)
    # Beside the diameter no square of what is left overflows, and none that underflows matters.
    squares = (np.where(far, np.inf, apart) / (levels[least_level] or 1.0)) ** 2
    best: Array | None = None
    least = np.inf
    for members in _completed(_covers(far, f), np.argmax(apart == 0, axis=1), f):
        spread = float(squares[np.ix_(members, members)].sum())
        if best is not None and spread > least * (1 + _TIED):
            continue
        mean = average(messages, members)
        if best is None or spread < least * (1 - _TIED) or compare(mean, best) < 0:
            best, least = mean, min(spread, least)
    assert best is not None  # all pairs at once are covered at the highest level
    return best


def _covers(far: Bools, f: int, *, first: bool = False) -> list[frozenset[int]]:
    """Find sets of at most f messages that touch each far pair; every minimal one, or one if ``first``."""
    covers: set[frozenset[int]] = set()

    def search(left: Bools, chosen: frozenset[int]) -> bool:
        degrees = left.sum(axis=1)
        v = int(np.argmax(degrees))
        if degrees[v] == 0:
            covers.add(chosen)
            return first
        budget = f - len(chosen)
        # Each further message covers at most as many pairs as the busiest one has.
        if int(degrees.sum()) // 2 > budget * int(degrees[v]):
            return False
        neighbours = np.flatnonzero(left[v])
        for out in ([v], neighbours.tolist()):
            if len(out) <= budget:
                rest = left.copy()
                rest[out] = False
                rest[:, out] = False
                if search(rest, chosen | set(out)):
                    return True
        return False

    search(far, frozenset())
    return list(covers)


def _completed(covers: list[frozenset[int]], place: NDArray[np.intp], f: int) -> list[list[int]]:
    """List the messages outside each cover; of a cover below f, any others leave too (only with equal distances).

    Among messages at one ``place`` (n,) only the number that leave matters.
    """
    n = len(place)
    size = np.bincount(place, minlength=n)
    rank = [int((place[:i] == place[i]).sum()) for i in range(n)]
    out: set[tuple[int, ...]] = set()  # how many leave each place
    for cover in covers:
        gone = np.bincount(place[list(cover)], minlength=n)
        for more in _left_by(f - len(cover), (size - gone).tolist()):
            out.add(tuple((gone + more).tolist()))
            if len(out) > _MOST_SETS:
                raise SecmixError(
                    f"mda: more than {_MOST_SETS} sets of messages have the same diameter; use multi_krum"
                )
    return [[i for i in range(n) if rank[i] >= leaving[place[i]]] for leaving in out]


def _left_by(count: int, room: list[int]) -> Iterator[NDArray[np.intp]]:
    """Yield all ways in which ``count`` leave places, each of so many as there are."""
    if max(room) <= 1:
        for chosen in combinations([k for k, size in enumerate(room) if size], count):
            yield np.bincount(np.array(chosen, dtype=np.intp), minlength=len(room))
        return
    crowded = int(np.argmax(room))
    for leaving in range(min(count, room[crowded]) + 1):
        for others in _left_by(count - leaving, [*room[:crowded], 0, *room[crowded + 1 :]]):
            others[crowded] = leaving
            yield others
