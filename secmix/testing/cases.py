"""One case that a rule is tried on, kept in parts, so that it can be made smaller while it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from secmix._base.checks import Array
from secmix.testing.counterexample import laid_out

T = TypeVar("T")
_STEPS = 1500  # attempts to make a case smaller
_MANY = 40  # entries beyond which numbers are made simpler first, and rows and columns are not left out one by one


@dataclass(frozen=True)
class Case:
    """What a promise is tried on."""

    cloud: Array  # (h, p), honest messages
    byzantine: Array  # (b, p)
    keys: Array  # (h + b,), the messages arrive in ascending order of these
    f: int  # what the rule is set to
    agree: bool = False  # all honest nodes send the first row of the cloud
    dtype: str = "float64"
    layout: str = "C"
    vectors: dict[str, Array] = field(default_factory=dict)  # a shift, an axis: (p,) or (p + pad,)
    numbers: dict[str, Any] = field(default_factory=dict)  # what else the promise needs

    @property
    def n(self) -> int:
        """Count the messages."""
        return len(self.cloud) + len(self.byzantine)

    @property
    def p(self) -> int:
        """Count the entries of each."""
        return int(self.cloud.shape[1])

    @property
    def shape(self) -> tuple[int, int, int, str, str]:
        """Return all for which a rule may refuse messages whatever they are: n, p, f, type and layout."""
        return self.n, self.p, self.f, self.dtype, self.layout

    @property
    def honest(self) -> Array:
        """Return what honest nodes send (h, p), before it is of the number type."""
        return np.repeat(self.cloud[:1], len(self.cloud), axis=0) if self.agree else self.cloud

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by the names that promises use: messages, honest, byzantine, agreed."""
        order, h = np.argsort(self.keys, kind="stable"), len(self.cloud)
        plain = _typed(np.concatenate([self.honest, self.byzantine]), self.dtype)
        values = np.asarray(plain, dtype=np.float64)
        arrays = {"honest": values[:h], "byzantine": values[h:], "agreed": values[0]}
        return {"messages": laid_out(plain[order], self.layout), **arrays}

    def harmless(self, *, alike: bool = False) -> Any:
        """Return messages of the same shape, type and layout of which no rule has a reason to refuse any."""
        integers = np.random.default_rng(0).integers(-9, 10, (self.n, self.p)).astype(np.float64)
        return laid_out(_typed(np.ones_like(integers) if alike else integers, self.dtype), self.layout)


def of_zeros(n: int, f: int, p: int, byzantine: int, numbers: dict[str, Any]) -> Case:
    """Return a case whose messages are zeros in their order, since they do not matter."""
    keys = np.arange(n, dtype=np.float64)
    return Case(np.zeros((n - byzantine, p)), np.zeros((byzantine, p)), keys, f, numbers=numbers)


def _typed(values: Array, dtype: str) -> Any:
    with np.errstate(all="ignore"):
        if dtype.startswith("uint"):
            values = np.abs(values)
        return np.rint(values).astype(dtype) if "int" in dtype else values.astype(dtype)


def smallest(
    case: T, why: BaseException, smaller: Callable[[T], Iterable[T]], fails: Callable[[T], BaseException | None]
) -> tuple[T, BaseException]:
    """Return the smallest case found that fails with an error of the same type, and that error."""
    candidates = iter(smaller(case))
    for _ in range(_STEPS):
        if (candidate := next(candidates, None)) is None:
            break
        if type(error := fails(candidate)) is type(why):
            case, why, candidates = candidate, error, iter(smaller(candidate))
    return case, why


def smaller(case: Case) -> Iterator[Case]:
    """Yield cases like this one but simpler, the boldest first: fewer messages and entries, simpler numbers."""
    h, b = len(case.cloud), len(case.byzantine)
    if case.layout != "C":
        yield replace(case, layout="C")
    if case.dtype != "float64":
        yield replace(case, dtype="float64")
    if (np.diff(case.keys) < 0).any():
        yield replace(case, keys=np.arange(case.n, dtype=np.float64))
    yield from (_rows(case, rows, np.arange(b)) for rows in _cuts(h) if len(rows))
    yield from (_rows(case, np.arange(h), rows) for rows in _cuts(b))
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


def _rows(case: Case, honest: Any, byzantine: Any) -> Case:
    rows = np.concatenate([honest, len(case.cloud) + byzantine]).astype(np.intp)
    vectors = {name: v[rows] if name == "second order" else v for name, v in case.vectors.items()}
    numbers = {name: v[: len(rows)] if name == "other" else v for name, v in case.numbers.items()}
    parts = {"cloud": case.cloud[honest], "byzantine": case.byzantine[byzantine], "keys": case.keys[rows]}
    return replace(case, **parts, vectors=vectors, numbers=numbers)


def _columns(case: Case, columns: Any) -> Case:
    vectors = dict(case.vectors)
    for name in {"shift", "axis"} & set(vectors):  # an axis may have more entries than messages have
        vectors[name] = np.concatenate([vectors[name][: case.p][columns], vectors[name][case.p :]])
    return replace(case, cloud=case.cloud[:, columns], byzantine=case.byzantine[:, columns], vectors=vectors)


def _simpler_numbers(case: Case) -> Iterator[Case]:
    """Yield it with zeros, then small whole numbers, in whole arrays, rows and single entries."""
    yield from (replace(case, cloud=other) for other in _simpler(case.honest, alike=case.agree))
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
