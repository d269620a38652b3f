"""Tables: vectors of real numbers of which all entries are the same combinations, of variables one after the other.

A protocol that adds vectors up treats their entries alike. Such vectors are followed as one: a matrix of coefficients
in place of a :class:`~secmix.kernel.values.numbers.Number` an entry. They add up as those do; whatever else is asked
of them asks the numbers.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from secmix.kernel.values.current_trace import INF, now
from secmix.kernel.values.forms import CHEAP, EACH, LONG, Packed, Shared, alone, kept_once
from secmix.kernel.values.numbers import Number

MOST_VECTORS = 2**12
"""Vectors that are drawn, or given, at once: more are followed by number, which takes a hundred times as long."""
_MOST = MOST_VECTORS**2  # coefficients, zeros among them: of more a form by number is shorter
_VALUES = 10  # values that take as long as one of the terms that are counted
_REWRITTEN = 4  # times that a table is written anew, until which variables are looked for that are gone
_KEEPING = 2  # terms for each coefficient that is kept: 400 MiB of them are the most that a call may keep
_NOBODY = np.empty(0, np.int64)
WIDTH = 4
"""Random vectors with which a trace multiplies coefficients that it does not carry."""
PROJECTED = np.arange(-WIDTH, 0)
"""The columns of a table that carries these products."""


@dataclass(frozen=True)
class Vectors:
    """Name the variables of one call of which a table was made."""

    call: int
    shape: tuple[int, ...]  # of the table's leading axes, and how many entries it has
    columns: Any  # (V,) of the entry 0


class Projections:
    """Random vectors in place of variables: in each call the same, one after the other, times a number of each run.

    These numbers are others in each trace: a secret that was kept elsewhere is found out. ``weights`` (V,) are those of
    the variables of a run.
    """

    _COUNT = itertools.count()

    def __init__(self, weights: Any) -> None:
        self._trace, self._call, self._rng = next(self._COUNT), -1, np.random.default_rng(0)
        self._weights, self._left = weights, weights

    def of(self, call: int, lead: tuple[int, ...]) -> Any:
        """Return those of the next variables (runs, ...), (V, WIDTH)."""
        if call != self._call:
            self._call, self._rng, self._left = call, np.random.default_rng(0), self._weights
        own, weights = self._rng.standard_normal((math.prod(lead[1:]), WIDTH)), np.ones(math.prod(lead[1:]))
        first, self._left = self._left[: len(own)], self._left[len(own) :]
        weights[: len(first)] = first
        return (self.factors(call, lead[0])[:, None] * own * weights[:, None]).reshape(-1, WIDTH)

    def factors(self, call: int, runs: int) -> Any:
        """Return the numbers of runs of a call, (runs, WIDTH)."""
        return np.random.default_rng([self._trace, call]).uniform(1, 2, (runs, WIDTH))


@dataclass(slots=True)
class Table:
    """Floats (..., m): at [..., e] ``scale`` times what ``coefficients`` make of the variables ``columns`` + e.

    They are public where all coefficients are zero. Nothing writes to a table but :meth:`put` to one of its own making.
    """

    values: Any  # (..., m), in this run
    columns: Any  # (V,) in order, of the entry 0
    coefficients: Any  # (..., V)
    scale: Any  # (...,)
    depends: Any  # (...,) of the numbers; 0 where they are public
    span: Any  # (..., m) of the numbers
    is_own: bool = False  # no other table has its arrays
    written: int = 0  # how many vectors were written since variables that are not in it were left out

    @property
    def is_projected(self) -> bool:
        """Say whether it carries products of coefficients with random vectors in place of these."""
        return bool((self.columns < 0).any())

    @property
    def is_public(self) -> Any:
        """Say which vectors are public, (..., 1)."""
        return ~self.coefficients.any(axis=-1, keepdims=True)

    @property
    def numberless(self) -> tuple[Any, ...]:
        """Return all that does not hang on the variables' values, but for the columns."""
        return self.coefficients, self.scale, self.depends

    def each(self, f: Callable[[Any], Any]) -> Table:
        """Apply ``f`` to each of its arrays, of which the leading axes are the same."""
        arrays = map(f, (self.coefficients, self.scale, self.depends, self.span))
        self.is_own = False
        return Table(f(self.values), self.columns, *arrays)

    def at(self, index: Any) -> Table | None:
        """Return the part at an index of the leading axes; None where it is another index, or leaves none of them."""
        several = index if isinstance(index, tuple) else (index,)
        if len(several) == self.values.ndim and _is_all(several[-1]):
            several = several[:-1]
        axes = sum(np.ndim(each) if np.asarray(each).dtype == bool else 1 for each in several)
        if axes >= self.values.ndim or any(each is None or each is Ellipsis for each in several):
            return None
        was_own, is_copy = self.is_own, any(isinstance(each, (np.ndarray, list)) and np.ndim(each) for each in several)
        found = self.each(lambda x: x[several])
        self.is_own = was_own and is_copy  # else both see the same memory
        return found if isinstance(found.scale, np.ndarray) else None

    def put(self, index: Any, other: Table) -> Table | None:
        """Return it with another at an index of the first axis; None where that does not fit."""
        if isinstance(index, int):  # what is left keeps an axis
            index = slice(index, index + 1 or None)
        index = slice(None) if index is Ellipsis else np.asarray(index) if isinstance(index, list) else index
        if self.values.ndim < 2 or not _entries_fit(other, self) or not _is_plain(index):
            return None
        joined = _joined(self, other)
        if joined is None:
            return None
        columns, own, added = joined
        out = Table(self.values, columns, own, self.scale, self.depends, self.span, is_own=True)
        if not self.is_own:
            shared = self.values, self.scale, self.depends, self.span
            out.values, out.scale, out.depends, out.span = (each.copy() for each in shared)
            out.coefficients = own.copy() if own is self.coefficients else own
        self.is_own = False
        for to, what in zip(out._arrays(), (other.values, added, other.scale, other.depends, other.span), strict=True):
            to[index] = what
        out.written = self.written + other.scale.size
        if out.written >= _REWRITTEN * out.scale.size:  # masks may be gone that all later sums would carry as zeros
            out._leave_out()
        return out

    @property
    def _used(self) -> Any:
        """Say which of its variables are in it, (V,)."""
        return self.coefficients.any(axis=tuple(range(self.scale.ndim)))

    def _leave_out(self) -> None:
        """Leave out variables that are not in it."""
        if self.is_projected:
            return
        used, self.written = self._used, 0
        self.columns = _shared(self.columns[used].tobytes())
        if not used.all():  # else it is a copy, which may be large
            self.coefficients = self.coefficients.compress(used, -1)

    def _arrays(self) -> tuple[Any, ...]:
        return self.values, self.coefficients, self.scale, self.depends, self.span

    def times(self, by: Any, how: Callable[[Any, Any], Any]) -> Table | None:
        """Multiply, or divide, by public numbers (..., 1) that are finite and not zero; None where they are others."""
        by = np.asarray(by, dtype=float)
        if (by.ndim and by.shape[-1] != 1) or not np.isfinite(by).all() or not by.all():
            return None
        scale, span = how(self.scale, by[..., 0] if by.ndim else by), how(self.span, abs(by))
        depends, coefficients, self.is_own = self.depends, self.coefficients, False
        if scale.shape != depends.shape:
            depends = np.broadcast_to(depends, scale.shape)
            coefficients = np.broadcast_to(coefficients, (*scale.shape, len(self.columns)))
        return Table(how(self.values, by), self.columns, coefficients, scale, depends, span)

    def shifted(self, by: Any, how: Callable[[Any, Any], Any]) -> Table:
        """Add, or subtract, public numbers of a shape that does not repeat its entries."""
        values, size = how(self.values, by), abs(np.asarray(by, dtype=float))
        span = np.where(self.span == INF, INF, self.span + size)
        lead = values.shape[:-1]
        found = self.each(lambda x: np.broadcast_to(x, lead + x.shape[self.scale.ndim :]))
        found.values, found.span = values, span
        return found

    def plus(self, other: Table, sign: int) -> Table | None:
        """Add another, times 1 or -1, as numbers do one by one; None where its entries are no numbers of the same."""
        if not (_entries_fit(self, other) or _entries_fit(other, self)):
            return None
        how = np.add if sign == 1 else np.subtract
        if not len(other.columns):
            return self.shifted(other.values, how)
        joined = _joined(self, other)
        if joined is None:
            return None
        columns, own, theirs = joined
        values, coefficients = how(self.values, other.values), how(_times(own, self.scale), _times(theirs, other.scale))
        depends, span = np.asarray(self.depends | other.depends, object), self.span + other.span
        return _summed(values, columns, coefficients, depends, span, 1)

    def total(self, axis: Any) -> Table | None:
        """Add up its vectors along one of several leading axes; None where it is none of these."""
        lead = self.scale.shape
        if type(axis) is not int or not 0 <= axis < len(lead) or len(lead) < 2 or not lead[axis]:
            return None
        values, span = self.values.sum(axis=axis), self.span.sum(axis=axis)
        coefficients = _times(self.coefficients, self.scale).sum(axis=axis)
        depends = np.asarray(np.bitwise_or.reduce(self.depends, axis=axis), object)
        return _summed(values, self.columns, coefficients, depends, span, lead[axis] - 1)

    def keep(self) -> None:
        """Leave out variables that are not in it, and share what a kept table has the same of: calls repeat."""
        self._leave_out()
        self.coefficients, self.is_own = kept_once(self.coefficients), False
        _count(_KEEPING * self.coefficients.size)

    def numbers(self) -> Any:
        """Return its numbers one by one, (..., m); what they are made of, if that is not carried, is new draws."""
        if self.is_projected:
            return self._of_new_draws()
        out = np.empty(self.values.shape, object)
        flat, spans = (x.reshape(self.scale.size, x.shape[-1]).tolist() for x in (self.values, self.span))
        *lead, there = places = self.coefficients.nonzero()
        variables, terms = self.columns[there], self.coefficients[places]
        rows = np.ravel_multi_index(lead, self.scale.shape)
        ends = rows.searchsorted(np.arange(len(flat) + 1)).tolist()
        into, used = out.reshape(len(flat), out.shape[-1]), self.depends.ravel().tolist()
        for k, scale in enumerate(self.scale.ravel().tolist()):
            begin, end = ends[k : k + 2]
            if begin == end:
                into[k] = flat[k]
                continue
            base: Any = Packed(variables[begin:end], terms[begin:end])
            if len(base) < LONG:
                base = dict(zip(base, base.values(), strict=True))
            into[k] = [
                Number(value, Shared(base, e), INF, used[k], 0, scale=scale, span=span)
                for e, (value, span) in enumerate(zip(flat[k], spans[k], strict=True))
            ]
        return out

    def _of_new_draws(self) -> Any:
        numbers, entries = [], self.values.shape[-1]
        public, used = self.is_public.ravel().tolist(), self.depends.ravel().tolist()
        # No value is noted of new draws: what is largest on the way is as where all is followed.
        for k, (value, span) in enumerate(zip(self.values.ravel().tolist(), self.span.ravel().tolist(), strict=True)):
            row = k // entries
            form = alone(now().variable("draw", -1, 0.0, 0)) if not public[row] else {}
            numbers.append(Number(value, form, INF, used[row], 0, span=span) if form else value)
        out = np.empty(len(numbers), object)
        out[:] = numbers
        return out.reshape(self.values.shape)

    def variables(self) -> Any:
        """Return the variables that are in it, (k,); where these are not carried, the columns, which no trace has."""
        if self.is_projected:
            return self.columns
        return np.add.outer(self.columns[self._used], np.arange(self.values.shape[-1])).ravel()


def constants(values: Any) -> Table:
    """Return a table of public numbers (..., m)."""
    lead = values.shape[:-1]
    depends = np.zeros(lead, object)
    return Table(values, _NOBODY, np.zeros((*lead, 0)), np.ones(lead), depends, abs(values))


def unknowns(values: Any, variables: Sequence[int], depends: Any, span: Any) -> Table | None:
    """Return a table of variables (..., m) one by one; None where they are too many, or not one after the other."""
    lead, count = values.shape[:-1], values.size // max(values.shape[-1], 1)
    if values.ndim < 2 or not 0 < count <= _MOST**0.5 or variables[-1] - variables[0] + 1 != values.size:
        return None
    columns, trace = variables[0] + values.shape[-1] * np.arange(count), now()
    trace.vectors.append(Vectors(trace.call, values.shape, columns))
    if trace.projects is None:
        own = _identity(count).reshape(*lead, count)
    else:
        own, columns = trace.projects.of(trace.call, lead).reshape(*lead, WIDTH), PROJECTED
    depends, span = np.broadcast_to(depends, lead), np.broadcast_to(span, values.shape)
    return Table(values, columns, own, np.ones(lead), depends, span)


def _identity(count: int) -> Any:
    """Return the identity matrix, to be read: each row is a stretch of one band."""
    band = np.zeros(2 * count - 1)
    band[count - 1] = 1.0
    return as_strided(band[count - 1 :], (count, count), (-band.itemsize, band.itemsize), writeable=False)


def are_apart(tables: Iterable[Table]) -> bool:
    """Say whether vectors of variables in some tables are the same, or have no variable in common."""
    several = {(id(each.columns), each.values.shape[-1]): each.columns for each in tables}
    vectors = sorted({(first, length) for (_, length), columns in several.items() for first in columns.tolist()})
    return all(first + length <= after for (first, length), (after, _) in itertools.pairwise(vectors))


def chosen(condition: Any, a: Table | None, b: Table | None) -> Table | None:
    """Return the numbers of ``a`` where a public condition (..., 1) is true, of ``b`` elsewhere; None: by number."""
    if a is None or b is None or a.values.shape != b.values.shape:
        return None
    if condition.ndim != a.values.ndim or condition.shape[-1] != 1:
        return None
    joined = _joined(a, b)
    if joined is None:
        return None
    columns, of_a, of_b = joined
    lead = condition[..., 0]
    scale, depends = (np.where(lead, x, y) for x, y in ((a.scale, b.scale), (a.depends, b.depends)))
    values, span = (np.where(condition, x, y) for x, y in ((a.values, b.values), (a.span, b.span)))
    return Table(values, columns, np.where(condition, of_a, of_b), scale, depends, span)


def _is_all(index: Any) -> bool:
    return isinstance(index, slice) and index == slice(None)


def _is_plain(index: Any) -> bool:
    """Say whether an index of one axis writes to each place once."""
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu":
        return len({*index.ravel().tolist()}) == index.size
    return isinstance(index, slice)


def _entries_fit(one: Table, other: Table) -> bool:
    """Say whether the entries of ``one`` stand beside those of ``other``, or are public and the same for all."""
    return one.values.shape[-1] == other.values.shape[-1] or (one.values.shape[-1] == 1 and not len(one.columns))


def _joined(a: Table, b: Table) -> tuple[Any, Any, Any] | None:
    """Return the columns of two tables, and their coefficients by these; None where they are too many."""
    if a.columns is b.columns:
        return a.columns, a.coefficients, b.coefficients
    columns, of_a, of_b = _union(a.columns.tobytes(), b.columns.tobytes())
    if len(columns) * max(a.scale.size, b.scale.size) > _MOST:
        return None
    return columns, _placed(a.coefficients, of_a, len(columns)), _placed(b.coefficients, of_b, len(columns))


@functools.lru_cache(maxsize=64)
def _union(a: bytes, b: bytes) -> tuple[Any, Any, Any]:
    one, other = np.frombuffer(a, np.int64), np.frombuffer(b, np.int64)
    columns = _shared(np.union1d(one, other).tobytes())
    return columns, columns.searchsorted(one), columns.searchsorted(other)


@functools.lru_cache(maxsize=64)
def _shared(columns: bytes) -> Any:
    return np.frombuffer(columns, np.int64)


def _times(coefficients: Any, scale: Any) -> Any:
    return coefficients if (scale == 1.0).all() else scale[..., None] * coefficients


def _placed(coefficients: Any, places: Any, count: int) -> Any:
    if len(places) == count:
        return coefficients
    out = np.zeros((*coefficients.shape[:-1], count))
    out[..., places] = coefficients
    return out


def _summed(values: Any, columns: Any, coefficients: Any, depends: Any, span: Any, sums: int) -> Table:
    """Return the table of sums of so many, and one, of which what is left without variables is public."""
    _count(EACH * LONG + sums * coefficients.size // CHEAP, sums * values.size // _VALUES)
    gone = ~coefficients.any(axis=-1)
    if gone.any():
        depends[gone], span[gone] = 0, abs(values[gone])
    return Table(values, columns, coefficients, np.ones(gone.shape), depends, span)


def _count(once: int, by_entry: int = 0) -> None:
    """Count work as the terms that take as long: some of it is there ``once`` for all entries."""
    trace = now()
    trace.terms += once + by_entry
    trace.shared += once
    if trace.terms > trace.most_terms:
        trace.leave("a call that adds up more terms than are followed (use fewer nodes or entries)")
