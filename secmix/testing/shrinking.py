"""Make a failing case smaller: fewer messages and entries, simpler numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.testing.cases import Case

_MANY = 40  # entries beyond which numbers are made simpler first, and rows and columns are not left out one by one


def smaller(case: Case) -> Iterator[Case]:
    """Yield cases like this one but simpler, the boldest first."""
    h, b = len(case.cloud), len(case.byzantine)
    if case.layout != "C":
        yield replace(case, layout="C")
    if case.dtype != "float64":
        yield replace(case, dtype="float64")
    if (np.diff(case.keys) < 0).any():
        yield replace(case, keys=np.arange(case.n, dtype=np.float64))
    yield from (_kept(case, rows, np.arange(b)) for rows in _cuts(h) if len(rows))
    yield from (_kept(case, np.arange(h), rows) for rows in _cuts(b))
    if case.p > _MANY:
        yield from islice(_simpler_numbers(case), 12)
    yield from (_columns(case, columns) for columns in _cuts(case.p) if len(columns))
    yield from _simpler_numbers(case)


def _cuts(count: int) -> Iterator[Any]:
    """Yield ways to keep fewer of ``count``: halves, quarters, ..., all but one."""
    size = count // 2
    while size >= 1 and (count <= _MANY or size >= count // 16):
        for start in range(0, count, size):
            yield np.delete(np.arange(count), slice(start, start + size))
        size //= 2


def _kept(case: Case, honest: Any, byzantine: Any) -> Case:
    rows = np.concatenate([honest, len(case.cloud) + byzantine]).astype(np.intp)
    vectors = {name: v[rows] if name == "second order" else v for name, v in case.vectors.items()}
    numbers = {name: v[: len(rows)] if name == "other" else v for name, v in case.numbers.items()}
    parts = {"cloud": case.cloud[honest], "byzantine": case.byzantine[byzantine], "keys": case.keys[rows]}
    return replace(case, **parts, vectors=vectors, numbers=numbers)


def _columns(case: Case, columns: Any) -> Case:
    vectors = dict(case.vectors)
    if "shift" in vectors:
        vectors["shift"] = vectors["shift"][columns]
    if "axis" in vectors:
        vectors["axis"] = np.concatenate([vectors["axis"][: case.p][columns], vectors["axis"][case.p :]])
    return replace(case, cloud=case.cloud[:, columns], byzantine=case.byzantine[:, columns], vectors=vectors)


def _simpler_numbers(case: Case) -> Iterator[Case]:
    """Yield it with zeros, then small whole numbers, in whole arrays, rows and single entries."""
    cloud = np.repeat(case.cloud[:1], len(case.cloud), axis=0) if case.agree else case.cloud
    yield from (replace(case, cloud=other) for other in _simpler(cloud, alike=case.agree))
    yield from (replace(case, byzantine=other) for other in _simpler(case.byzantine))
    for name in {"shift", "common"} & set(case.vectors):
        others = _simpler(case.vectors[name][None])
        yield from (replace(case, vectors={**case.vectors, name: other[0]}) for other in others)


def _simpler(array: Array, *, alike: bool = False) -> Iterator[Array]:
    """Yield simpler arrays; of rows that are ``alike`` all at once."""
    cost = _complexity(array)
    rows, columns = array.shape
    small = np.rint(np.clip(array, -9, 9))
    first = np.where(small[:, :1] == 0, 1.0, small[:, :1])
    wholes = [np.zeros_like(array), np.repeat(first, columns, axis=1), small, np.rint(array), np.sign(array)]
    yield from (other for other in wholes if _complexity(other) < cost)
    every = slice(None)
    pieces: list[Any] = [(every, j) for j in range(columns)] if rows > 1 and columns <= 60 else []
    if not alike:
        pieces += [(i, every) for i in range(rows)]
        pieces += [(i, j) for i in range(rows) for j in range(columns)] if rows * columns <= 120 else []
    for piece in pieces:
        for value in (0.0, 1.0, -1.0, np.rint(array[piece])):
            other = array.copy()
            other[piece] = value
            if _complexity(other) < cost:
                yield other


def _complexity(array: Array) -> float:
    """Return how hard an array is to read: digits, signs, entries that are not zero."""
    size = np.abs(array)
    broken = array != np.rint(array)
    costs = 1.0 * (size > 0) + 0.2 * (array < 0) + np.log2(1 + np.where(np.isfinite(size), size, 1e9)) + 20 * broken
    return float(np.sum(costs))
