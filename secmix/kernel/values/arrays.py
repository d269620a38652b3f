"""Arrays of numbers that are followed.

A :class:`Followed` is an object array that says it is one of floats or words. NumPy's functions go number by number, so
that C code has to ask each for its value; a function that is not known to be followed is an exit.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from secmix.kernel.values.current_trace import ANYTHING, EXACT, TEXT, may_be_caught, may_stop, now
from secmix.kernel.values.forms import variables_in
from secmix.kernel.values.numbers import (
    COMPARISONS,
    OF_LIBRARY,
    PLAIN,
    Number,
    cast,
    combined,
    function,
    plain,
    reach,
    traced_back,
    wrapped,
)
from secmix.kernel.values.tables import Table, constants

_RING = frozenset({"add", "subtract", "multiply", "negative", "left_shift", "positive", "matmul"})
_PYTHON: dict[str, Callable[..., Any]] = {
    **{"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "remainder": operator.mod},
    **{"negative": operator.neg, "positive": operator.pos, "invert": operator.invert, "conjugate": lambda x: x},
    **{"divide": operator.truediv, "left_shift": operator.lshift, "right_shift": operator.rshift},
    **{"bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor},
}
_OF_OBJECTS = {*_PYTHON, *COMPARISONS} - {"invert"}  # which Python does to truth values as to whole numbers
_ROUNDING = ("rint", "floor", "ceil", "trunc")
_AS_IN_PYTHON = (np.dtype(bool), np.dtype(np.int64), np.dtype(float), np.dtype(object))
_DOUBLE = np.dtype(float)
_NOT_AS_PYTHON = ("divide", "remainder", "left_shift", "right_shift")  # by a secret, by zero, by less than that
_OF_TRUTHS = {np.add: np.logical_or, np.multiply: np.logical_and, np.maximum: np.logical_or, np.minimum: np.logical_and}
_UNASKED = {"dtype": None, "where": True, "keepdims": False, "initial": np._NoValue}
_NO_MATTER = frozenset({"order", "subok", "casting"})
"""How arrays lie in memory, and whether NumPy refuses a conversion: then the untraced call ends in an error."""
_OF_CALLS = _NO_MATTER | {"dtype"}
_OF_OTHERS = _OF_CALLS | {"axis", "keepdims", "initial"}
_AT_SECRET = "an index made of a secret"


class Followed(np.ndarray[Any, Any]):
    """An object array of public numbers and :class:`Number`, of the nominal type ``kind``.

    While it has a table, that says what it holds, and its memory is of nobody's: what reads it ends the proof. A view
    has a table of its own, until one of its family is written to, or asked for its numbers.
    """

    kind: np.dtype[Any] = np.dtype(float)
    table: Table | None = None
    root: Followed | None = None  # of a view with a table: whose memory it sees
    views: tuple[Any, ...] = ()  # references to these

    def __array_finalize__(self, other: Any) -> None:
        self.kind = getattr(other, "kind", np.dtype(float))
        if getattr(other, "table", None) is not None:
            other.spread()

    def spread(self) -> None:
        """Write the numbers of its table into its memory, which views of it share."""
        root = self if self.root is None else self.root
        if root.table is None:
            return
        views = [view for each in root.views if (view := each()) is not None]
        np.copyto(root.view(np.ndarray), root.table.numbers())
        for each in (root, *views):
            each.table = each.root = None
        root.views = ()

    def _viewed(self, table: Table | None, look: Callable[[], Any]) -> Any:
        """Return what ``look`` sees of the same memory, with the table that is a part of its own; else numbers."""
        if table is None:
            self.spread()
            return look()
        table_before, self.table = self.table, None
        out = look()
        self.table = table_before
        if out.shape != table.values.shape or not np.may_share_memory(out.view(np.ndarray), self.view(np.ndarray)):
            return of_table(table)
        root = self if self.root is None else self.root
        out.table, out.root = table, root
        root.views = (*(each for each in root.views if each() is not None), weakref.ref(out))
        return out

    @property
    def dtype(self) -> Any:
        """Return the nominal type."""
        return self.kind

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
        return apply(ufunc, method, inputs, **kw)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (Followed, Number)) and index.dtype.kind in "iu" and is_secret(index):
            return np.take(self, index, axis=0)
        if _is_secret_mask(index, self):
            return Selected(self.copy(), index)
        index = public(index, _AT_SECRET)
        if self.table is not None and (part := self.table.at(index)) is not None:
            is_copy = isinstance(index, (np.ndarray, list))  # it is a copy
            return of_table(part) if is_copy else self._viewed(part, lambda: np.ndarray.__getitem__(self, index))
        self.spread()
        found = super().__getitem__(index)
        return found if isinstance(found, np.ndarray) else array_of(found, self.kind)

    def __setitem__(self, index: Any, value: Any) -> None:
        fitting(value, self.kind)
        if _is_secret_mask(index, self):
            if isinstance(value, Selected):
                value = value.put_back(index, self.shape)
            elif np.ndim(value) > self.ndim - index.ndim and np.shape(value)[-1 - self.ndim + index.ndim] != 1:
                may_stop("as many numbers as a secret mask selects")  # or as others, where NumPy raises an error
            self[...] = np.where(_beside(index, self), value, self)
            return
        if self._put(index, value):
            return
        given = followed(value, self.kind)
        self.spread()
        # A number without axes, not an array of none: that would become an entry.
        super().__setitem__(public(index, _AT_SECRET), given.astype(self.kind).objects[()])

    def _put(self, index: Any, value: Any) -> bool:
        """Write to the table, where nobody else sees the same memory; False where that cannot be."""
        if self.table is None or self.root is not None or any(each() is not None for each in self.views):
            return False
        given, index = table_of(value), public(index, _AT_SECRET)
        made = None if given is None else self.table.put(index, given)
        self.table = self.table if made is None else made
        return made is not None

    @property
    def objects(self) -> Any:
        """Return the same numbers as a plain object array."""
        self.spread()
        return self.view(np.ndarray)

    @property
    def reading(self) -> Any:
        """Return the same numbers as a plain object array, which is not to be written to."""
        return self.view(np.ndarray) if self.table is None else self.table.numbers()

    def transpose(self, *axes: Any) -> Any:
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        last = self.ndim - 1
        fits = self.table is not None and len(order) == self.ndim and order[-1] in (last, -1)
        lead = [axis % self.ndim for axis in order[:-1]] if fits else []
        table = self.table.each(lambda x: x.transpose(*lead, *range(last, x.ndim))) if fits and self.table else None
        return self._viewed(table, lambda: np.ndarray.transpose(self, *axes))

    def reshape(self, *shape: Any, **kw: Any) -> Any:
        new = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        fits = self.table is not None and not kw and len(new) > 1 and new[-1] == self.shape[-1] and self.size
        lead, table = self.ndim - 1, None
        if fits and self.table:
            leading = np.broadcast_to(0, self.shape[:lead]).reshape(new[:-1]).shape  # one axis may be left to NumPy
            table = self.table.each(lambda x: x.reshape(*leading, *x.shape[lead:]))
        return self._viewed(table, lambda: np.ndarray.reshape(self, *shape, **kw))

    def each(self, f: Callable[[Any], Any], kind: Any) -> Any:
        return array_of(np.asarray(np.frompyfunc(f, 1, 1)(self.reading), object), kind)

    def astype(self, dtype: Any, *args: Any, **kw: Any) -> Any:
        """Convert as :func:`numpy.ndarray.astype`; see :func:`secmix.kernel.values.numbers.cast`."""
        dtype = np.dtype(dtype)
        if dtype.kind not in "biufO":
            return np.asarray(values(self, f"a secret as {dtype}")).astype(dtype)
        if dtype == self.kind:
            return self if kw.get("copy") is False else self.copy()
        if self.kind.kind == "O" and (may_be_caught() or not all(_holds(dtype, each) for each in secrets_in(self))):
            now().leave(f"a secret in an array of objects as {dtype}, which may not hold it,")
        return as_words(self).each(lambda x: cast(x, dtype), dtype)

    def view(self, *args: Any, **kw: Any) -> Any:
        """Reinterpret words as words of the same length; anything else ends the proof."""
        if not args or (isinstance(args[0], type) and issubclass(args[0], np.ndarray)):
            return super().view(*args)
        dtype = np.dtype(args[0])
        if {dtype.kind, self.kind.kind} <= {"i", "u"} and dtype.itemsize == self.kind.itemsize:
            return self.each(lambda x: wrapped(x, dtype), dtype)
        return values(self, "the bits of a secret").view(dtype)

    def copy(self, order: Any = "C") -> Any:
        if self.table is not None:
            return of_table(self.table.each(lambda x: x))
        return array_of(np.array(self.objects, order=order), self.kind)

    def as_it_passes(self) -> Any:
        """Copy it, as a channel does."""
        return as_words(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return values(self, "a pickle of secrets").__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(values(self, TEXT))

    __str__ = __repr__


def _is_secret_mask(index: Any, array: Followed) -> bool:
    is_mask = isinstance(index, Followed) and index.kind.kind == "b" and is_secret(index)
    return is_mask and index.ndim > 0 and index.shape == array.shape[: index.ndim]


def _beside(mask: Followed, array: Followed) -> Any:
    """Return a mask of leading axes with as many axes as the array has."""
    return mask.reshape(*mask.shape, *[1] * (array.ndim - mask.ndim))


class Selected(np.lib.mixins.NDArrayOperatorsMixin):
    """Hold what a secret mask selects, as many numbers as are a secret: to be changed one by one, put back, and summed.

    All numbers of the array are computed with, whether they are selected or not.
    """

    __slots__ = ("_mask", "_numbers", "_was")

    def __init__(self, numbers: Followed, mask: Followed) -> None:
        self._numbers, self._mask, self._was = numbers, mask, mask.reading.ravel().tolist()

    def put_back(self, mask: Any, shape: Any) -> Any:
        """Return all numbers of an array of this shape, for those at the same mask to be put back."""
        is_same_mask = mask is self._mask and all(map(operator.is_, self._was, mask.reading.ravel().tolist()))
        if not is_same_mask or shape != self._numbers.shape:
            now().leave(_AT_SECRET)
        return self._numbers

    @property
    def _all(self) -> Any:
        return self.put_back(self._mask, self._numbers.shape)

    def astype(self, dtype: Any) -> Selected:
        """Return the numbers as another type."""
        return Selected(self._numbers.astype(dtype), self._mask)

    def copy(self) -> Selected:
        """Return a copy."""
        return Selected(self._numbers.copy(), self._mask)

    def sum(self) -> Any:
        """Add them up."""
        numbers = self._all
        return np.where(_beside(self._mask, numbers), numbers, numbers.kind.type(0)).sum()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kw: Any) -> Any:
        if method != "__call__" or kw:
            now().leave(_AT_SECRET)
        shape = self._numbers.shape
        all_numbers = [each.put_back(self._mask, shape) if isinstance(each, Selected) else each for each in inputs]
        if any(np.ndim(each) for each in inputs if not isinstance(each, Selected)):  # as many as are selected
            now().leave(_AT_SECRET)
        if not out:
            return Selected(ufunc(*all_numbers), self._mask)
        ufunc(*all_numbers, out=out[0].put_back(self._mask, shape))
        return out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kw: Any) -> Any:
        if func in (np.clip, np.round) and not any(map(np.ndim, (*args[1:], *kw.values()))):
            return Selected(func(self._all, *args[1:], **kw), self._mask)
        return self.sum() if func is np.sum and len(args) == 1 and not kw else now().leave(_AT_SECRET)

    def __getattr__(self, name: str) -> Any:
        return now().leave(_AT_SECRET)


for _name in """array bool contains float format getitem index int iter len reduce_ex repr setitem str""".split():  # noqa: SIM905
    setattr(Selected, f"__{_name}__", lambda self, *args, **kw: now().leave(_AT_SECRET))


UNWRITTEN = Number(0.0, None, 0, ANYTHING, 0, pure=False)
"""Stands in the memory of an array that has a table."""


def of_table(table: Table) -> Followed:
    """Return an array that a table says all of."""
    out: Followed = np.ndarray.__new__(Followed, table.values.shape, object)
    np.ndarray.fill(out, UNWRITTEN)
    out.table = table
    return out


def table_of(value: Any) -> Table | None:
    """Return the table of an array, or one of public numbers of its type; None where there is none."""
    if isinstance(value, Followed):
        return value.table
    if type(value) is float or (type(value) is int and abs(value) < EXACT):
        return constants(np.full((1, 1), float(value)))
    plain = type(value) is np.ndarray and value.dtype == _DOUBLE and value.ndim > 0
    return constants(value.copy() if value.ndim > 1 else value[None].copy()) if plain else None


Number.__array_ufunc__ = Followed.__array_ufunc__  # type: ignore[attr-defined]


def _memory(self: Followed, name: str) -> Any:
    return getattr(values(self, f".{name} of secrets"), name)


def _exit(name: str) -> Any:
    def method(self: Followed, *args: Any, **kw: Any) -> Any:
        return plainly(_memory(self, name), args, kw)

    return method


for _name in "tofile dump dumps getfield byteswap searchsorted choose nonzero newbyteorder __array__".split():  # noqa: SIM905
    setattr(Followed, _name, _exit(_name))
_METHODS: dict[str, Callable[..., Any]] = {
    "fill": lambda self, value: self.__setitem__(..., value),
    "sort": lambda self, axis=-1, **kw: self.__setitem__(..., np.sort(self, axis=axis, **kw)),
}
for _name, _method in _METHODS.items():
    setattr(Followed, _name, _method)
for _name in ("resize", "setfield", "put", "__buffer__"):  # the last of memory that C reads, from Python 3.12 on
    setattr(Followed, _name, lambda self, *args, _n=_name, **kw: now().leave(f".{_n} of an array that is followed"))
for _name in ("flat", "data", "ctypes", "__array_interface__", "__array_struct__"):
    setattr(Followed, _name, property(functools.partial(_memory, name=_name)))
for _name in "tolist item partition __float__ __int__ __bool__".split():  # noqa: SIM905
    _method = lambda self, *args, _n=_name, **kw: getattr(self.objects, _n)(*args, **kw)  # noqa: E731
    setattr(Followed, _name, _method)
for _name in """sum prod mean max min any all std var round clip cumsum cumprod dot argmax argmin argsort argpartition
        trace take repeat""".split():  # noqa: SIM905
    _call = lambda self, *args, _n=_name, **kw: getattr(np, _n)(self, *args, **kw)  # noqa: E731
    setattr(Followed, _name, _call)


def array_of(numbers: Any, kind: Any) -> Any:
    """Return an object array as one that is followed; a single number as it is, but for secrets of few bits."""
    if not isinstance(numbers, np.ndarray) and (not isinstance(numbers, Number) or np.dtype(kind) in _AS_IN_PYTHON):
        return numbers
    out = np.asarray(numbers, object).view(Followed)
    out.kind = np.dtype(kind)
    return out


def followed(value: Any, kind: Any = float) -> Any:
    """Return anything that NumPy takes for an array, followed."""
    if isinstance(value, Followed):
        return value
    value = value.used() if hasattr(value, "used") else value  # a public number that may be another
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return array_of(value.astype(object), value.dtype)
        several = value.ravel().tolist()
        if any(isinstance(each, np.ndarray) for each in several) and is_secret(several):
            now().leave("an array of arrays of secrets")
        return followed(several, kind).reshape(value.shape)
    if isinstance(value, (list, tuple)) and any(isinstance(each, (list, tuple, np.ndarray)) for each in value):
        rows = [followed(each, kind) for each in value]
        return array_of(np.stack([row.objects for row in rows]), np.result_type(*(row.kind for row in rows)))
    flat = np.empty(len(value) if isinstance(value, (list, tuple)) else (), object)
    flat[...] = value
    kinds = [each.dtype if isinstance(each, Number) else np.asarray(each).dtype for each in np.ravel(flat).tolist()]
    return array_of(flat, np.result_type(*kinds) if kinds else kind)


def parts(value: Any) -> Iterator[Any]:
    """Yield everything followed within lists, tuples and mappings."""
    if isinstance(value, (Followed, Number)):
        yield value
    elif isinstance(value, dict):
        yield from parts(list(value.values()))
    elif isinstance(value, (list, tuple, set)) or (isinstance(value, np.ndarray) and value.dtype == object):
        for each in value.ravel().tolist() if isinstance(value, np.ndarray) else value:
            yield from parts(each)


def numbers_in(value: Any) -> Iterator[Any]:
    """Yield the numbers of everything followed within lists, tuples and mappings, public ones too."""
    for each in parts(value):
        yield from each.reading.ravel().tolist() if isinstance(each, Followed) else (each,)


def secrets_in(value: Any) -> Iterator[Number]:
    """Yield the numbers among these that are secret."""
    return (each for each in numbers_in(value) if isinstance(each, Number))


def are_below(numbers: Any, bound: int) -> bool:
    """Say whether all secrets among some numbers are known to be whole, not negative and below a bound."""
    return all(0 < each.below <= bound for each in secrets_in(numbers))


def variables_of(rows: Followed) -> Any:
    """Return the variables that these are made of, (k,), some more than once."""
    if rows.table is not None:
        return rows.table.variables()
    return variables_in([each.form for each in traced_back(secrets_in(rows))[0]])


def is_secret(value: Any) -> bool:
    """Say whether anything in it is secret."""
    return any(_is_secret(each) for each in parts(value))


def _is_secret(part: Any) -> bool:
    if getattr(part, "table", None) is not None:
        return bool(part.table.depends.any())
    return any(True for _ in secrets_in(part))


def within(f: Callable[[Any], Any], value: Any) -> Any:
    """Apply ``f`` to everything within lists, tuples and mappings."""
    if isinstance(value, dict):
        return {key: within(f, each) for key, each in value.items()}
    return type(value)(within(f, each) for each in value) if type(value) in (list, tuple) else f(value)


def values(value: Any, what: str) -> Any:
    """Return the values of what is public, as plain arrays and numbers; a secret ends the proof."""
    if is_secret(value):
        now().leave(what)
    return concrete(value)


def plainly(func: Callable[..., Any], args: Any, kw: Any) -> Any:
    """Call NumPy itself; where it writes to what are copies of values, the proof ends."""
    try:
        return func(*args, **kw)
    except ValueError as error:
        if "read-only" in str(error):
            now().leave(f"{func.__name__}() in place, which is not followed")
        raise


def fitting(value: Any, kind: np.dtype[Any]) -> None:
    """End the proof where Python's numbers may not fit a type, or be no numbers, and the protocol catches that."""
    if kind.kind in "iu" and not isinstance(value, np.ndarray):
        most, several = 2 ** (8 * kind.itemsize - 1), (each for each in parts(value) if isinstance(each, Number))
        if any(each.dtype != kind or reach(each) >= most for each in several):
            may_stop(f"a secret as {kind}", is_noted=False)


def concrete(value: Any) -> Any:
    """Return the values in this run, as plain arrays and numbers."""
    return within(_concrete, value)


def _concrete(value: Any) -> Any:
    if isinstance(value, Number):
        return value.value
    if not is_of_objects(value):
        return value
    array = followed(value)
    if array.table is None:
        flat = [x.value if isinstance(x, Number) else x for x in as_words(array).objects.ravel().tolist()]
        concrete = np.array(flat, dtype=array.kind).reshape(array.shape)
    else:
        concrete = array.table.values.copy()
    concrete.setflags(write=False)  # nobody is to write to what is a copy
    return concrete


def is_of_objects(value: Any) -> bool:
    """Say whether it is an array whose entries may be secret."""
    return isinstance(value, np.ndarray) and (isinstance(value, Followed) or value.dtype == object)


def public(value: Any, what: str) -> Any:
    """Return a plain index, shape or axis; a secret ends the proof."""
    if isinstance(value, (Followed, Number, tuple, list)) and any(True for _ in parts(value)):
        return values(value, what)
    return value


def _holds(kind: np.dtype[Any], number: Number) -> bool:
    """Say whether a type holds a number of Python's whatever its draws are: NumPy fails where one does not."""
    bits = 8 * kind.itemsize
    return kind.kind not in "iu" or (
        0 < number.below <= 2**bits if kind.kind == "u" else reach(number) < 2 ** (bits - 1)
    )


def unwritten(kind: np.dtype[Any]) -> Number:
    """Return what memory holds that nobody wrote to: it may be anything that anybody computed before."""
    return Number(kind.type(0).item(), None, 0, ANYTHING, 0, pure=False)


def as_words(array: Followed) -> Any:
    """Copy it with its signed words wrapped around; sums and products may go on without."""
    kind = array.kind
    return array.each(lambda x: wrapped(x, kind), kind) if kind.kind == "i" else array.copy()


def apply(ufunc: Any, method: str, inputs: Any, *, out: Any = None, **kw: Any) -> Any:
    """Apply a ufunc of NumPy's, number by number."""
    _check(ufunc, method, inputs, kw)
    if method in ("at", "reduceat"):
        return _written((_at if method == "at" else _of_stretches)(ufunc, *inputs, **kw), out)
    if is_of_python(ufunc):  # which is followed itself
        along = {key: each for key, each in kw.items() if key in ("axis", "keepdims", "initial")}
        numbers = getattr(ufunc, method)(*(as_words(followed(each)).reading for each in inputs), **along)
        return _written(array_of(numbers, object), out)
    if (table := _of_tables(ufunc, method, inputs, kw)) is not None:
        return _written(of_table(table), out)
    dtype, name = kw.pop("dtype", None), ufunc.__name__
    kw = {key: each for key, each in kw.items() if key not in _NO_MATTER and key != "where"}
    arrays = [followed(each) for each in inputs]
    for number, other in itertools.permutations(zip(inputs, arrays, strict=True), 2):
        if isinstance(number[0], Number) and not isinstance(other[0], Number):
            fitting(number[0], other[1].kind)
    kind = _result_kind(ufunc, method, inputs, arrays, dtype)
    if dtype is not None or (method not in ("__call__", "outer") and kind.kind != "b"):
        arrays = [each.astype(kind) for each in arrays]
    else:
        arrays = [x if x.kind.kind != "i" or (name in _RING and x.kind == kind) else as_words(x) for x in arrays]
    each_as = kind if kind.kind in "bO" or is_narrow(kind) else None
    if name == "matmul":
        result = _product(*(each.reading for each in arrays))
        if is_narrow(kind):
            now().leave(f"np.matmul of secrets as {kind}, where each sum on the way is rounded,")
        result = mapped(lambda x: cast(x, kind), result) if each_as else result
    elif method == "reduce":
        result = _reduced(ufunc, arrays[0].reading, each_as, **kw)
    else:
        result = getattr(scalar(ufunc, each_as), method)(*(each.reading for each in arrays), **kw)
    return _written(array_of(mapped(lambda x: cast(x, kind), result) if kind.kind == "u" else result, kind), out)


def _written(result: Any, out: Any) -> Any:
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        return result
    target[...] = result
    return target


def _of_tables(ufunc: Any, method: str, inputs: Any, kw: dict[str, Any]) -> Table | None:
    """Add up, or multiply, what has a table; None where that says not what comes out."""
    tables, name = [x.table if isinstance(x, Followed) else None for x in inputs], ufunc.__name__
    first = next((each for each in tables if each is not None), None)
    if first is None:
        return None
    asked = {key for key, each in kw.items() if key not in _NO_MATTER and each is not _UNASKED.get(key, object)}
    if method == "reduce" and name == "add" and asked <= {"axis"}:
        return first.total(kw.get("axis", 0))
    if method != "__call__" or asked:
        return None
    if name in ("add", "subtract"):
        one, other = (table_of(x) for x in inputs)
        return None if one is None or other is None else one.plus(other, 1 if name == "add" else -1)
    if name == "negative":
        return first.times(-1.0, np.multiply)
    if name == "multiply" and None in tables:
        return first.times(_factor(inputs[0 if tables[0] is None else 1]), np.multiply)
    return first.times(_factor(inputs[1]), np.divide) if name == "divide" and tables[1] is None else None


def _factor(by: Any) -> Any:
    """Return a public factor of a type that takes part as it is; none where it is another."""
    plain = type(by) in (float, np.float64) or (type(by) is int and abs(by) < EXACT)
    return by if plain or (type(by) is np.ndarray and by.dtype == _DOUBLE) else math.nan


def _product(a: Any, b: Any) -> Any:
    """Multiply matrices; where the first is public each number is one combination of those of a column."""
    if not a.ndim == b.ndim == 2 or not a.size or any(isinstance(each, Number) for each in a.ravel().tolist()):
        return np.matmul(a, b)
    rows, shared = a.tolist(), dict[Any, Any]()
    return np.array([combined(rows, column, shared) for column in b.T.tolist()], object).T


def _check(ufunc: Any, method: str, inputs: Any, kw: dict[str, Any]) -> None:
    """End the proof where anything of a call is not followed."""
    known = _OF_CALLS if method == "__call__" else _OF_OTHERS
    strange = [f"{key}= of" for key, each in kw.items() if key not in known and not (key == "where" and each is True)]
    if ufunc.nout > 1 or (ufunc.signature and ufunc.__name__ != "matmul"):
        strange.append("what is not followed of")
    if any(isinstance(x, Followed) and x.kind.kind == "O" for x in inputs) and ufunc.__name__ not in _OF_OBJECTS:
        strange.append("an array of objects in")
    errors = {*np.geterr().values()} | now().hears
    if errors & {"call", "log"} or ("raise" in errors and may_be_caught()):
        strange.append("a failure that the protocol hears of, of")
    if strange:
        now().leave(f"{strange[0]} np.{ufunc.__name__}.{method} of a secret")


def _at(ufunc: Any, target: Any, index: Any, *rest: Any) -> None:
    """Write a ufunc's results in place, one by one."""
    if not isinstance(target, Followed):
        now().leave("a secret in an array that is not followed")
    if ufunc.__name__ not in _RING:
        target.objects[...] = as_words(target).objects
    if isinstance(index, Followed) and is_secret(index):
        return _at_secret_places(ufunc, target, index, *rest)
    rounds = target.kind if target.kind.kind in "buO" or is_narrow(target.kind) else None
    index = public(index, _AT_SECRET)
    scalar(ufunc, rounds).at(target.objects, index, *(as_words(followed(each)).objects for each in rest))


def _at_secret_places(ufunc: Any, target: Followed, index: Followed, amounts: Any) -> None:
    """Add numbers to, or subtract them from, a vector at secret places: to each number what is meant for its place."""
    if target.ndim != 1 or ufunc.__name__ not in ("add", "subtract"):
        now().leave(_AT_SECRET)
    if not are_below(index, len(target)):
        may_stop(_AT_SECRET)
    given = np.broadcast_to(followed(amounts).reading, index.shape).ravel().tolist()
    for place, amount in zip(index.reading.ravel().tolist(), given, strict=True):
        target[...] = ufunc(target, np.where(np.equal(place, np.arange(len(target))), amount, 0))


def _of_stretches(ufunc: Any, numbers: Any, begins: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Reduce stretches that begin at public places, each to where the next begins; a number, where that is before."""
    lanes, places = np.moveaxis(followed(numbers), axis, 0), public(begins, _AT_SECRET)
    np.add.reduceat(np.ones(len(lanes)), places)  # which NumPy may refuse
    ends = [*places[1:], len(lanes)]
    stretches = (lanes[begin : max(end, begin + 1)] for begin, end in zip(places, ends, strict=True))
    reduced = [ufunc.reduce(each, axis=0, dtype=dtype) for each in stretches]
    return np.moveaxis(np.stack(reduced), 0, axis)


def is_narrow(kind: np.dtype[Any]) -> bool:
    """Say whether it is a type of floats that are shorter than Python's."""
    return kind.kind == "f" and kind.itemsize < 8


def mapped(f: Callable[[Any], Any], numbers: Any) -> Any:
    """Apply ``f`` to each number of an object array, or to a single number."""
    return np.asarray(np.frompyfunc(f, 1, 1)(numbers), object) if isinstance(numbers, np.ndarray) else f(numbers)


def _reduced(ufunc: Any, x: Any, kind: Any, axis: Any = 0, keepdims: Any = False, initial: Any = None) -> Any:
    axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in np.atleast_1d(axis).tolist())
    kept = [a for a in range(x.ndim) if a not in axes]
    lanes = x.transpose(*axes, *kept).reshape(-1, *(x.shape[a] for a in kept))
    start = [] if initial is None or initial is np._NoValue else [np.full(lanes.shape[1:], initial, object)[()]]
    if not len(lanes) and not start:
        start = [np.full(lanes.shape[1:], ufunc.identity, object)[()]]
    # A single number would hand a ufunc over to itself.
    reduced = functools.reduce(scalar(ufunc, kind) if lanes.ndim > 1 else one_by_one(ufunc, kind), [*start, *lanes])
    if keepdims:
        reduced = np.reshape(reduced, [1 if a in axes else n for a, n in enumerate(x.shape)])
    return reduced


def _result_kind(ufunc: Any, method: str, inputs: Any, arrays: list[Followed], dtype: Any) -> np.dtype[Any]:
    """Return the type that NumPy gives the result."""
    if method not in ("__call__", "outer"):
        is_kept = arrays[0].kind.kind == "O" and dtype is None
        return arrays[0].kind if is_kept else _kind_of(getattr(ufunc, method), (arrays[0].kind,), dtype)
    if ufunc.__name__ == "matmul":
        return np.result_type(*(each.kind for each in arrays)) if dtype is None else np.dtype(dtype)
    kinds: Any = [
        type(plain(operand.value if isinstance(operand, Number) else operand))
        if isinstance(operand, (Number, bool, int, float)) and not isinstance(operand, np.generic)
        else operand.dtype
        if isinstance(operand, np.generic)
        else array.kind
        for operand, array in zip(inputs, arrays, strict=False)
    ]
    kinds = [int if ufunc.__name__.endswith("shift") and kind is float else kind for kind in kinds]
    return _kind_of(ufunc, tuple(kinds), dtype)


@functools.lru_cache(maxsize=1024)
def _kind_of(go: Callable[..., Any], kinds: tuple[Any, ...], dtype: Any) -> np.dtype[Any]:
    examples = [kind(1) if isinstance(kind, type) else np.ones(1, kind) for kind in kinds]
    return np.asarray(go(*examples, **({} if dtype is None else {"dtype": dtype}))).dtype


@functools.lru_cache(maxsize=1024)
def is_of_python(ufunc: Any) -> bool:
    """Say whether a ufunc is one of a function in Python."""
    return {*"".join(getattr(ufunc, "types", "."))} <= {*"O->"}


@functools.cache
def scalar(ufunc: Any, kind: Any = None) -> Any:
    """Return a ufunc that goes number by number; see :func:`one_by_one`."""
    return np.frompyfunc(one_by_one(ufunc, kind), ufunc.nin, 1, identity=ufunc.identity)


@functools.cache
def one_by_one(ufunc: Any, kind: Any = None) -> Callable[..., Any]:
    """Return what does to single numbers as a ufunc does, and keeps the result as ``kind``, if that is given."""
    if kind is not None and kind.kind == "O" and ufunc.__name__ in _PYTHON:  # it may fail where NumPy does not
        return lambda *args: _PYTHON[ufunc.__name__](*map(plain, args))
    if kind is not None:
        go = one_by_one(ufunc if kind.kind != "b" else _OF_TRUTHS.get(ufunc, ufunc))
        return lambda *args: cast(go(*args), kind)
    name = ufunc.__name__ if hasattr(np, ufunc.__name__) else f"{ufunc.__name__}{OF_LIBRARY}"
    followed_as = _PYTHON.get(name)
    if name in _ROUNDING:
        followed_as = lambda x: x.rounded(lambda v: float(ufunc(v)), name)  # noqa: E731

    def one(*args: Any) -> Any:
        kinds = {*map(type, args)}
        if not kinds <= PLAIN:
            args = tuple(plain(each) for each in args)
            kinds = {*map(type, args)}
        if Number not in kinds:
            exact = name in _PYTHON and all(type(each) is int for each in args) and "divide" not in name
            return _PYTHON[name](*args) if exact else plain(ufunc(*args))
        if followed_as is not None and not (name in _NOT_AS_PYTHON and _by_secret(name, args[1])):
            return followed_as(*args)
        return function(name, lambda *v: plain(ufunc(*v)), *args, may_fail=name == "power" and _may_raise(*args))

    return one


def _may_raise(base: Any, exponent: Any) -> bool:
    """Say whether NumPy may raise an error for a power: it does for whole numbers to negative ones alone."""
    are_whole = not any(
        isinstance(each.value if isinstance(each, Number) else each, float) for each in (base, exponent)
    )
    return are_whole and (isinstance(exponent, Number) or exponent < 0)


def _by_secret(name: str, by: Any) -> bool:
    return isinstance(by, Number) or not math.isfinite(by) or (by < 0 if "shift" in name else by == 0)
