"""Arrays of numbers that are followed.

A :class:`Followed` is an object array that says it is one of floats or words. NumPy's functions go number by number, so
that C code has to ask each for its value; a function that is not known to be followed is an exit.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from secmix.kernel.numbers import _PLAIN, Number, function, plain
from secmix.kernel.state import now
from secmix.kernel.words import cast, wrapped

_RING = frozenset({"add", "subtract", "multiply", "negative", "left_shift", "positive", "matmul"})
_PYTHON: dict[str, Callable[..., Any]] = {
    **{"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "remainder": operator.mod},
    **{"negative": operator.neg, "positive": operator.pos, "invert": operator.invert, "conjugate": lambda x: x},
    **{"divide": operator.truediv, "left_shift": operator.lshift, "right_shift": operator.rshift},
    **{"bitwise_and": operator.and_, "bitwise_or": operator.or_},
}
_ROUNDING = ("rint", "floor", "ceil", "trunc")


class Followed(np.ndarray[Any, Any]):
    """An object array of public numbers and :class:`Number`, of the nominal type ``kind``."""

    kind: np.dtype[Any] = np.dtype(float)

    def __array_finalize__(self, other: Any) -> None:
        self.kind = getattr(other, "kind", np.dtype(float))

    @property
    def dtype(self) -> Any:
        """Return the nominal type."""
        return self.kind

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
        return apply(ufunc, method, inputs, **kw)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(values(self, "a plain array of secrets"), dtype=dtype)

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(public(index, "an index made of a secret"))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, Followed) and index.kind.kind == "b" and is_secret(index):
            self[...] = np.where(index, value, self)
            return
        given = followed(value, self.kind)
        super().__setitem__(public(index, "an index made of a secret"), given.astype(self.kind).objects)

    @property
    def objects(self) -> Any:
        """Return the same numbers as a plain object array."""
        return self.view(np.ndarray)

    def each(self, f: Callable[[Any], Any], kind: Any) -> Any:
        """Apply ``f`` to each number."""
        return array_of(np.asarray(np.frompyfunc(f, 1, 1)(self.objects), object), kind)

    def astype(self, dtype: Any, *args: Any, **kw: Any) -> Any:
        """Convert as :func:`numpy.ndarray.astype`; see :func:`secmix.kernel.words.cast`."""
        dtype = np.dtype(dtype)
        if dtype.kind not in "biuf":
            return np.asarray(values(self, f"a secret as {dtype}")).astype(dtype)
        if dtype == self.kind:
            return self.copy()
        return settled(self).each(lambda x: cast(x, dtype), dtype)

    def view(self, *args: Any, **kw: Any) -> Any:
        """Reinterpret words as words of the same length; anything else ends the proof."""
        if not args or (isinstance(args[0], type) and issubclass(args[0], np.ndarray)):
            return super().view(*args)
        dtype = np.dtype(args[0])
        if {dtype.kind, self.kind.kind} <= {"i", "u"} and dtype.itemsize == self.kind.itemsize:
            return self.each(lambda x: wrapped(x, dtype), dtype)
        return values(self, "the bits of a secret").view(dtype)

    def copy(self, order: Any = "C") -> Any:
        """Copy it."""
        return array_of(np.array(self.objects, order=order), self.kind)

    def as_it_passes(self) -> Any:
        """Copy it, as a channel does."""
        return settled(self)

    def sort(self, axis: Any = -1, **kw: Any) -> None:  # type: ignore[override]
        """Sort in place: each number is a function of all along the axis."""
        self[...] = np.sort(self, axis=axis)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return values(self, "a pickle of secrets").__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __repr__(self) -> str:
        return repr(values(self, "the text of secrets"))

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self.item()) if self.size == 1 else bool(super().__bool__())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __round__(self, digits: int = 0) -> Any:
        return np.round(self, digits)


Number.__array_ufunc__ = Followed.__array_ufunc__  # type: ignore[attr-defined]


def _memory(self: Followed, name: str) -> Any:
    return getattr(values(self, f".{name} of secrets"), name)


def _exit(name: str) -> Any:
    def method(self: Followed, *args: Any, **kw: Any) -> Any:
        return _memory(self, name)(*args, **kw)

    return method


for _name in "tobytes tofile dump dumps getfield byteswap searchsorted choose nonzero newbyteorder".split():  # noqa: SIM905
    setattr(Followed, _name, _exit(_name))
for _name in ("data", "ctypes", "__array_interface__", "__array_struct__"):
    setattr(Followed, _name, property(functools.partial(_memory, name=_name)))
for _name in "sum prod mean max min any all std var round clip cumsum cumprod dot argmax argmin argsort trace".split():  # noqa: SIM905
    _call = lambda self, *args, _n=_name, **kw: getattr(np, _n)(self, *args, **kw)  # noqa: E731
    setattr(Followed, _name, _call)


def array_of(numbers: Any, kind: Any) -> Any:
    """Return an object array as one that is followed; a single number as it is."""
    if not isinstance(numbers, np.ndarray):
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
        return followed(value.ravel().tolist(), kind).reshape(value.shape)
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
    elif isinstance(value, (list, tuple, set)):
        for each in value:
            yield from parts(each)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield from (each for each in value.ravel().tolist() if isinstance(each, Number))


def is_secret(value: Any) -> bool:
    """Say whether anything in it is secret."""
    return any(
        isinstance(each, Number) or any(isinstance(x, Number) for x in each.objects.ravel().tolist())
        for each in parts(value)
    )


def values(value: Any, what: str) -> Any:
    """Return the values of what is public, as plain arrays and numbers; a secret ends the proof."""
    if is_secret(value):
        now().leave(what)
    return concrete(value)


def concrete(value: Any) -> Any:
    """Return the values in this run, as plain arrays and numbers."""
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Followed):
        flat = [x.value if isinstance(x, Number) else x for x in settled(value).objects.ravel().tolist()]
        return np.array(flat, dtype=value.kind).reshape(value.shape)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return concrete(followed(value))
    if isinstance(value, dict):
        return {key: concrete(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(concrete(each) for each in value)
    return value


def public(value: Any, what: str) -> Any:
    """Return a plain index, shape or axis; a secret ends the proof."""
    if isinstance(value, (Followed, Number, tuple, list)) and any(True for _ in parts(value)):
        return values(value, what)
    return value


def settled(array: Followed) -> Any:
    """Copy it with its signed words wrapped around; sums and products may go on without."""
    kind = array.kind
    return array.each(lambda x: wrapped(x, kind), kind) if kind.kind == "i" else array.copy()


def apply(ufunc: Any, method: str, inputs: Any, *, out: Any = None, where: Any = True, **kw: Any) -> Any:
    """Apply a ufunc of NumPy's, number by number."""
    name, dtype = ufunc.__name__, kw.pop("dtype", None)
    kw = {key: value for key, value in kw.items() if key in ("axis", "keepdims", "initial")}
    if ufunc.nout > 1 or method not in ("__call__", "reduce", "accumulate", "at", "outer", "reduceat"):
        now().leave(f"np.{name}.{method} of a secret")
    if method == "at":
        target, index, *rest = inputs
        index = public(index, "an index made of a secret")
        scalar(ufunc).at(target.objects, index, *(followed(each).objects for each in rest))
        if target.kind.kind == "u":
            target.objects[...] = target.each(lambda x: cast(x, target.kind), target.kind).objects
        return None
    arrays = [followed(each) for each in (inputs if method != "reduceat" else inputs[:1])]
    kind = np.dtype(dtype) if dtype is not None else _result_kind(ufunc, inputs, arrays)
    if name not in _RING:
        arrays = [settled(each) for each in arrays]
    if name == "matmul":
        found = np.matmul(*(each.objects for each in arrays))
    elif method == "reduce":
        found = _reduced(ufunc, arrays[0].objects, where, **kw)
    elif method == "reduceat":
        found = scalar(ufunc).reduceat(arrays[0].objects, *inputs[1:], **kw)
    else:
        found = getattr(scalar(ufunc), method)(*(each.objects for each in arrays), **kw)
    if kind.kind == "u" or (kind.kind == "f" and kind.itemsize < 8):
        found = np.frompyfunc(lambda x: cast(x, kind), 1, 1)(found)
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        return array_of(found, kind)
    target[...] = array_of(found, kind) if where is True or method == "reduce" else np.where(where, found, target)
    return target


def _reduced(ufunc: Any, x: Any, where: Any, axis: Any = 0, keepdims: Any = False, initial: Any = None) -> Any:
    if where is not True:
        x = np.where(np.broadcast_to(values(where, "where= made of a secret"), x.shape), x, ufunc.identity)
    axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in np.atleast_1d(axis).tolist())
    kept = [a for a in range(x.ndim) if a not in axes]
    lanes = x.transpose(*axes, *kept).reshape(-1, *(x.shape[a] for a in kept))
    start = [] if initial is None or initial is np._NoValue else [np.full(lanes.shape[1:], initial, object)[()]]
    if not len(lanes) and not start:
        start = [np.full(lanes.shape[1:], ufunc.identity, object)[()]]
    # A single number would hand a ufunc over to itself.
    found = functools.reduce(scalar(ufunc) if lanes.ndim > 1 else one_by_one(ufunc), [*start, *lanes])
    if keepdims:
        found = np.reshape(found, [1 if a in axes else n for a, n in enumerate(x.shape)])
    return found


def _result_kind(ufunc: Any, inputs: Any, arrays: list[Followed]) -> np.dtype[Any]:
    """Return the type that NumPy gives the result."""
    if ufunc.__name__ == "matmul":
        return np.result_type(*(each.kind for each in arrays))
    examples = [
        type(plain(each.value if isinstance(each, Number) else each))(1)
        if isinstance(each, (Number, bool, int, float)) and not isinstance(each, np.generic)
        else np.ones(1, each.dtype if isinstance(each, np.generic) else array.kind)
        for each, array in zip(inputs, arrays, strict=False)
    ]
    examples = [int(x) if ufunc.__name__.endswith("shift") and isinstance(x, float) else x for x in examples]
    if ufunc.nin == 2 and len(examples) == 1:  # a reduction
        examples *= 2
    return np.asarray(ufunc(*examples)).dtype


@functools.cache
def scalar(ufunc: Any) -> Any:
    """Return a ufunc that goes number by number."""
    return np.frompyfunc(one_by_one(ufunc), ufunc.nin, 1, identity=ufunc.identity)


@functools.cache
def one_by_one(ufunc: Any) -> Callable[..., Any]:
    """Return what does to single numbers as a ufunc does."""
    name = ufunc.__name__
    followed_as = _PYTHON.get(name)
    if name in _ROUNDING:
        followed_as = lambda x: x.rounded(lambda v: float(ufunc(v)), name)  # noqa: E731

    def one(*args: Any) -> Any:
        kinds = {*map(type, args)}
        if not kinds <= _PLAIN:
            args = tuple(plain(each) for each in args)
            kinds = {*map(type, args)}
        if Number not in kinds:
            exact = name in _PYTHON and all(type(each) is int for each in args) and "divide" not in name
            return _PYTHON[name](*args) if exact else plain(ufunc(*args))
        if followed_as is not None and not (name in ("divide", "remainder") and _by_secret(args)):
            return followed_as(*args)
        return function(name, lambda *v: plain(ufunc(*v)), *args)

    return one


def _by_secret(args: Any) -> bool:
    return isinstance(args[1], Number) or args[1] == 0 or not math.isfinite(args[1])
