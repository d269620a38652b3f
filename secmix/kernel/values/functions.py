"""NumPy's functions of arrays that are followed: those that move numbers, those that are worked out, and the rest.

A function that stands in no table here ends the proof where it is given a secret.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

from secmix.kernel.values.arrays import (
    Followed,
    apply,
    are_below,
    array_of,
    concrete,
    followed,
    is_narrow,
    is_of_objects,
    is_secret,
    mapped,
    numbers_in,
    of_table,
    parts,
    plainly,
    public,
    unwritten,
    values,
    within,
)
from secmix.kernel.values.current_trace import ANYTHING, may_stop, now
from secmix.kernel.values.numbers import Number, arguments, cast, function, plain
from secmix.kernel.values.tables import chosen, constants

_MOVING = frozenset(
    """
    append array_split atleast_1d atleast_2d atleast_3d average block broadcast_arrays broadcast_to column_stack
    concatenate concat cross delete diag diagonal diff dot dsplit dstack ediff1d einsum expand_dims flip fliplr flipud
    hsplit hstack inner insert kron matrix_transpose meshgrid moveaxis ndim outer pad permute_dims ravel repeat reshape
    resize roll rollaxis rot90 row_stack shape size split squeeze stack swapaxes take take_along_axis tensordot tile
    trace transpose tril triu unstack vdot vecdot vsplit vstack copy compress extract
    """.split()  # noqa: SIM905
)
_OF_ALL = frozenset(
    """
    argmax argmin argsort partition argpartition sort median percentile quantile nanmedian nanpercentile nanquantile std
    var nanstd nanvar ptp norm allclose array_equal count_nonzero cov corrcoef det inv pinv solve
    eigh eigvalsh cholesky lstsq qr slogdet svd matrix_rank matrix_power cond fft ifft rfft irfft interp polyfit polyval
    convolve correlate unwrap nanmax nanmin nansum nanmean trapezoid gradient softmax log_softmax
    """.split()  # noqa: SIM905
)
OF_SCIPY = ("softmax", "log_softmax", "logsumexp")
"""Functions of ``scipy.special`` that are followed, beside its ufuncs; of finite numbers they are finite."""
_NEVER_FAILING = frozenset(
    """
    argmax argmin argsort sort median percentile quantile std var ptp norm count_nonzero array_equal softmax log_softmax
    logsumexp
    """.split()  # noqa: SIM905
)
"""Functions that raise no error whatever the numbers are; ``norm`` where no order is asked for."""
_OF_MATRICES = frozenset("cholesky det eigh eigvalsh inv pinv qr slogdet solve svd".split())  # noqa: SIM905
"""Functions of the last two axes of an array; ``solve`` takes vectors besides."""
_FAILING = _OF_MATRICES - {"det", "qr", "slogdet"} | {"lstsq", "matrix_power"}
_ADDING = frozenset(
    "average cross diff dot ediff1d einsum inner kron outer tensordot trace vdot vecdot".split()  # noqa: SIM905
)
_IN_C: dict[str, Callable[..., Any]] = {
    "concatenate": lambda arrays, /, axis=0, out=None, **kwargs: None,
    "dot": lambda a, b, out=None: None,
}


def call(func: Any, args: Any, kw: Any) -> Any:
    """Call a function of NumPy's with arrays that are followed; ``out`` is written in any case."""
    args, kw = _named(func, args, kw)
    out = kw.pop("out", None)
    result = _call(func, args, kw)
    if out is None:
        return result
    out[...] = result
    return out


def _named(func: Any, args: Any, kw: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Give arguments by their names, as far as NumPy tells these."""
    kw = {key: value for key, value in kw.items() if value is not np._NoValue}
    if (places := _places(func, len(args), tuple(kw))) is None:
        return args, kw
    first, named = places
    given = [*args, *kw.values()]
    return tuple(given[k] for k in first), {name: given[k] for name, k in named if given[k] is not np._NoValue}


@functools.cache
def _places(func: Any, count: int, names: tuple[str, ...]) -> tuple[list[int], list[tuple[str, int]]] | None:
    """Return which of so many arguments, and these names, have no name, and which one; None where any number may."""
    signature = _signature(func)
    if any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values()):
        return None
    places = signature.bind(*range(count), **{name: count + k for k, name in enumerate(names)}).arguments
    places |= places.pop("kwargs", {})
    unnamed = [n for n, each in signature.parameters.items() if each.kind is each.POSITIONAL_ONLY and n in places]
    return [places.pop(name) for name in unnamed], [*places.items()]


@functools.cache
def _signature(func: Any) -> inspect.Signature:
    try:
        return inspect.signature(func)
    except ValueError:  # of a function in C, before NumPy 2.4
        return inspect.signature(_IN_C.get(func.__name__, lambda *args, **kw: None))


def _call(func: Any, args: Any, kw: Any) -> Any:
    name = func.__name__
    if name in _WORKED_OUT and _takes(_WORKED_OUT[name], len(args), tuple(kw)):
        return _WORKED_OUT[name](*args, **kw)
    secret, what = is_secret([args, kw]), f"{'scipy.special' if name in OF_SCIPY else 'np'}.{name} of a secret"
    if name in _MOVING and (secret or any(each.dtype.kind == "f" for each in parts([args, kw]))):
        return _moved(func, args, kw)
    if secret and name in _OF_MATRICES and np.ndim(kw["a"]) > 2:
        return _of_each_matrix(func, kw)
    if secret and name in _OF_ALL and not args:
        return _along(func, kw)
    return plainly(func, values(args, what), values(kw, what))


@functools.cache
def _takes(worked_out: Callable[..., Any], count: int, names: tuple[str, ...]) -> bool:
    """Say whether a function takes so many arguments, and these by name."""
    with contextlib.suppress(TypeError):
        return bool(_signature(worked_out).bind(*range(count), **dict.fromkeys(names)))
    return False


def of_all(func: Callable[..., Any], name: str, args: Any, kw: Any) -> Any:
    """Call any function: each of its numbers is one of all that is given, of what is public if that is not finite."""
    if name not in _NEVER_FAILING or is_secret(kw.get("q")) or kw.get("ord") is not None:
        may_stop(f"{name} of a secret", is_noted=name in _FAILING or is_secret(kw.get("q")))
    result = plainly(func, concrete(args), concrete(kw))
    given = [*numbers_in([args, kw]), *_not_finite([args, kw])]
    key = arguments(*given), repr((_shapes(args), _shapes(kw)))

    if isinstance(result, tuple):
        several = [_numbered(each, f"{name}.{k}", given, key) for k, each in enumerate(result)]
        if name == "lstsq":
            several[1] = Residuals()  # how many there are hangs on the numbers
        return getattr(type(result), "_make", tuple)(several)
    return _numbered(result, name, given, key)


class Residuals:
    """Stand for what ``np.linalg.lstsq`` leaves over: whatever is asked of it ends the proof."""

    def __getattr__(self, name: str) -> Any:
        now().leave("residuals of lstsq, of which there are none where columns are dependent,")


def _numbered(result: Any, name: str, given: list[Any], key: Any) -> Any:
    """Return an array, or number, each of whose numbers is a function of all that is given."""
    if not isinstance(result, (np.ndarray, np.generic, int, float)) or np.iscomplexobj(result):
        now().leave(f"{name} of a secret, of complex numbers or other results,")
    flat = np.asarray(result)
    out = np.empty(flat.shape, object)
    for k, value in enumerate(flat.ravel().tolist()):
        out.flat[k] = function(f"{name}[{k}]", lambda *_, _v=value: _v, *given, key=key)
    return array_of(out, flat.dtype) if out.ndim else out.item()


def _not_finite(value: Any) -> Iterator[float]:
    """Yield what among plain numbers is infinite or no number."""
    if isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _not_finite(each)
    elif not is_of_objects(value) and np.asarray(value).dtype.kind == "f":
        yield from np.ravel(value)[~np.isfinite(np.ravel(value))].tolist()


def _shapes(value: Any) -> Any:
    """Return what of arguments is no number that is followed."""
    if isinstance(value, (Followed, Number)):
        return np.shape(value)
    if isinstance(value, np.ndarray):  # its text leaves out digits, and entries of a long one
        return value.shape, value.dtype.str, value.tolist()
    if isinstance(value, dict):
        return {key: _shapes(each) for key, each in value.items()}
    return [_shapes(each) for each in value] if isinstance(value, (list, tuple)) else value


def _of_each_matrix(func: Any, given: dict[str, Any]) -> Any:
    """Call a function of matrices with each of an array of them, and of those that it has besides."""
    stacked = {key: followed(each) for key, each in given.items() if key in ("a", "b") and np.ndim(each) > 2}
    lead = np.broadcast_shapes(*(each.shape[:-2] for each in stacked.values()))
    stacked = {key: np.broadcast_to(each, (*lead, *each.shape[-2:])) for key, each in stacked.items()}
    parts = [given | {key: each[k] for key, each in stacked.items()} for k in np.ndindex(lead)]
    return _stacked([of_all(func, func.__name__, [], part) for part in parts], lead)


def _stacked(results: list[Any], lead: tuple[int, ...]) -> Any:
    """Put results of several calls together: arrays, numbers, or tuples of these."""
    if isinstance(results[0], tuple):
        parts = [_stacked(list(part), lead) for part in zip(*results, strict=True)]
        return getattr(type(results[0]), "_make", tuple)(parts)
    arrays = [followed(each) for each in results]
    out = np.stack([each.objects for each in arrays])
    return array_of(out.reshape(*lead, *out.shape[1:]), arrays[0].kind)


def _along(func: Any, given: dict[str, Any]) -> Any:
    """Call a function of what lies along an axis, lane by lane; of everything where no one axis is named."""
    name, data = func.__name__, next(iter(given))
    rest = {key: each for key, each in given.items() if key not in (data, "axis", "keepdims")}
    x, axis, keepdims = followed(given[data]), given.get("axis"), given.get("keepdims", False)
    if name in ("sort", "argsort", "partition", "argpartition") and "axis" not in given:
        axis = -1
    if not isinstance(axis, int) or is_secret(rest) or np.ndim(rest.get("q", 0)):
        return of_all(func, name, [], given)
    lanes = np.moveaxis(x.objects, axis, -1)
    results = [of_all(func, name, [array_of(lanes[k].copy(), x.kind)], rest) for k in np.ndindex(lanes.shape[:-1])]
    if isinstance(results[0], Followed):
        stacked = _stacked(results, lanes.shape[:-1])
        return array_of(np.moveaxis(stacked.objects, -1, axis), stacked.kind)
    out = np.empty(len(results), object)
    out[:] = results
    out = out.reshape(lanes.shape[:-1])
    kind = np.asarray(func(**{data: np.ones(lanes.shape[-1], x.kind)}, **concrete(rest))).dtype
    return array_of(np.expand_dims(out, axis) if keepdims else out, kind)


def _moved(func: Any, args: Any, kw: Any) -> Any:
    """Move numbers, or add them up; they stay what they are, and views stay views, where no type is another."""
    result = func(*within(_objects, args), **within(_objects, {k: each for k, each in kw.items() if k != "dtype"}))
    kinds, name = {*_kinds([args, kw])}, func.__name__
    among = {*_kinds([*parts([args, kw])])}  # of what is followed: words of these may go on without wrapping around
    if len(kinds) == 1 and "dtype" not in kw and name not in _ADDING:
        return _wrapped(result, kinds.pop(), None)

    def wrapped_as(moved: Any, example: Any) -> Any:
        if isinstance(moved, (list, tuple)):
            return type(moved)(map(wrapped_as, moved, example))
        kind = getattr(example, "dtype", np.dtype(object))  # of objects NumPy returns one as it is
        if kind.kind not in "biuf" and not (among == {kind} and {each.kind for each in kinds} <= {*"iuO"}):
            now().leave(f"np.{name} of a secret as {kind}")
        if name in _ADDING and is_narrow(kind):
            now().leave(f"np.{name} of secrets as {kind}, where each sum on the way is rounded,")
        other = kinds != {kind} or "dtype" in kw or kind.kind in "bu"
        return _wrapped(moved, kind, (lambda x: cast(x, kind)) if other else None)

    return wrapped_as(result, func(*within(_example, args), **within(_example, kw)))


def _objects(value: Any) -> Any:
    return followed(value).objects if isinstance(value, Number) or is_of_objects(value) else value


def _example(value: Any) -> Any:
    """Return numbers of the same shape and type."""
    if isinstance(value, Number):
        return type(value.value)(1)
    if is_of_objects(value) and is_secret(value):
        return np.ones(value.shape, followed(value).kind)
    return concrete(value)


def _kinds(value: Any) -> Iterator[np.dtype[Any]]:
    if isinstance(value, (np.ndarray, Number)):
        yield (followed(value) if value.dtype == object else value).dtype
    elif isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _kinds(each)


def _wrapped(moved: Any, kind: Any, how: Callable[[Any], Any] | None) -> Any:
    return within(lambda each: array_of(each if how is None else mapped(how, each), kind), moved)


def where(condition: Any, *choices: Any) -> Any:
    """Stand for ``np.where``: a function of all three, or the choice that a public condition makes."""
    if not choices:
        return np.where(values(condition, "np.where of a secret"))
    a, b = (followed(each) for each in choices)
    of_both = type(condition) is np.ndarray and condition.dtype == bool and chosen(condition, a.table, b.table)
    if of_both:
        return of_table(of_both)

    def one(c: Any, x: Any, y: Any) -> Any:
        if not isinstance(c, Number):
            return x if c else y
        if x is y or (not isinstance(x, Number) and not isinstance(y, Number) and repr(x) == repr(y)):
            return x
        return function("where", lambda c, x, y: x if c else y, c, x, y)

    given = [x.kind if isinstance(each, (np.ndarray, list)) else each for each, x in zip(choices, (a, b), strict=True)]
    kind = np.result_type(*(each.value if isinstance(each, Number) else each for each in given))
    found = np.asarray(np.frompyfunc(one, 3, 1)(followed(condition).reading, a.reading, b.reading), object)
    return array_of(found if a.kind == b.kind == kind else mapped(lambda x: cast(x, kind), found), kind)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Stand for ``np.select``: the first choice whose condition is true."""
    for condition, choice in reversed([*zip(condlist, choicelist, strict=True)]):
        default = where(condition, choice, default)
    return default


def _reducing(ufunc: Any) -> Callable[..., Any]:
    def go(a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, initial: Any = None) -> Any:
        more = {} if initial is None else {"initial": initial}
        return apply(ufunc, "reduce", [a], axis=axis, dtype=dtype, keepdims=keepdims, **more)

    return go


def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    """Stand for ``np.mean``."""
    a = followed(a)
    kind = np.mean(np.ones(1, a.kind), dtype=dtype).dtype
    count = a.size if axis is None else math.prod(a.shape[each] for each in np.atleast_1d(axis).tolist())
    short = np.dtype(np.float32) if kind == np.float16 and dtype is None else kind
    found = _reducing(np.add)(a, axis, short, keepdims) / count
    return found if getattr(found, "dtype", kind) == kind else found.astype(kind)  # a number where all are public


def _running(ufunc: Any) -> Callable[..., Any]:
    def go(a: Any, axis: Any = None, dtype: Any = None) -> Any:
        a = followed(a)
        return apply(ufunc, "accumulate", [a.ravel() if axis is None else a], axis=axis or 0, dtype=dtype)

    return go


def along(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kw: Any) -> Any:
    """Stand for ``np.apply_along_axis``."""
    lanes = np.moveaxis(followed(arr), axis, -1)
    lead = lanes.shape[:-1]
    results = followed([func1d(lanes[k], *args, **kw) for k in np.ndindex(lead)])
    more = range(results.ndim - 1)
    places = [axis % lanes.ndim + k for k in more]
    return np.moveaxis(results.reshape(*lead, *results.shape[1:]), [len(lead) + k for k in more], places)


def take(a: Any, indices: Any, axis: Any = None) -> Any:
    """Stand for ``np.take``: at a secret place any of the numbers along an axis, one of which is taken."""
    if not is_secret(indices):
        return _moved(np.take, (), {"a": a, "indices": indices, "axis": axis})
    a, indices = followed(a), followed(indices)
    lanes = a.reading.ravel() if axis is None else np.moveaxis(a.reading, axis, 0)
    parts, count = lanes.reshape(len(lanes), -1).T.tolist(), len(lanes)

    def at(place: Any) -> list[Any]:
        if not isinstance(place, Number):
            return [part[place] for part in parts]
        if not 0 < place.below <= count:
            may_stop("take of a secret")
        return [function("take", lambda k, *lane: lane[k], place, *part) for part in parts]

    taken = np.array([at(each) for each in indices.reading.ravel().tolist()], object)
    taken = taken.reshape((*indices.shape, *lanes.shape[1:]))
    places, first = range(indices.ndim), 0 if axis is None else axis % a.ndim
    return array_of(np.moveaxis(taken, places, [first + k for k in places])[()], a.kind)


def _of_bits(func: Any) -> Callable[..., Any]:
    """Return what stands for ``np.packbits``, or ``np.unpackbits``: what comes out is a function of all of its lane."""

    def go(a: Any, axis: Any = None, **more: Any) -> Any:
        of_lane = lambda a, axis=None: func(a, axis, **more)  # noqa: E731
        of_lane.__name__ = f"{func.__name__} {sorted(more.items())}"
        return _along(of_lane, {"a": a, "axis": axis})

    return go


def put_along(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Stand for ``np.put_along_axis``: at secret places each number of a lane may be written to."""
    indices, count = followed(indices), np.shape(arr)[axis or 0]
    if not isinstance(arr, Followed) or not isinstance(axis, int):
        now().leave("np.put_along_axis of a secret in an array that is not followed, or along no axis")
    if not are_below(indices, count):
        may_stop("np.put_along_axis at a secret place")
    lane = np.arange(count).reshape(-1, *[1] * (arr.ndim - 1 - axis % arr.ndim))
    values = np.broadcast_to(followed(values).objects, indices.shape)
    for k in range(indices.shape[axis]):
        at, value = np.take(indices, [k], axis), array_of(np.take(values, [k], axis), arr.kind)
        arr[...] = np.where(at == lane, value, arr)


def histogram(a: Any, bins: Any = 10, range: Any = None) -> Any:
    """Stand for ``np.histogram`` of so many bins: each count is a function of all numbers, and so is each edge."""
    if isinstance(bins, str):
        now().leave("np.histogram with as many bins as a secret says")
    one, other = (functools.partial(lambda k, **kw: np.histogram(**kw)[k], k) for k in (0, 1))
    given = {"a": a, "bins": bins, "range": range}
    return tuple(of_all(f, f"np.histogram {k}", [], given) for k, f in enumerate((one, other)))


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Stand for ``np.bincount`` of numbers that are known to stay below ``minlength``: else its length is a secret."""
    if not are_below(x, minlength):
        now().leave("np.bincount of a secret (cut it off below minlength by np.clip)")
    return of_all(np.bincount, "np.bincount", [x, weights, minlength], {})


def _placed(func: Callable[[Any], Any], name: str, x: Any) -> Any:
    """Say of each number at which place of a public table it belongs."""

    def one(number: Any) -> Any:
        return function(name, func, number, step=1) if isinstance(number, Number) else func(number)

    return array_of(mapped(one, followed(x).reading[()]), np.intp)


def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    """Stand for ``np.searchsorted``."""
    table = np.asarray(values(a, "np.searchsorted in a table of secrets"))
    return _placed(lambda x: int(np.searchsorted(table, x, side)), f"np.searchsorted {side} {table.tolist()}", v)  # type: ignore[call-overload]


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Stand for ``np.digitize``."""
    edges = np.asarray(values(bins, "np.digitize between secrets"))
    return _placed(lambda v: int(np.digitize(v, edges, right)), f"np.digitize {right} {edges.tolist()}", x)


def fsum(numbers: Any) -> Any:
    """Stand for ``math.fsum``."""
    several = [plain(each) for each in numbers]
    if not is_secret(several):
        return math.fsum(several)
    may_stop("math.fsum of a secret", is_noted=False)
    return functools.reduce(operator.add, several, 0.0)


def of_all_arguments(func: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of NumPy's take what is followed wherever it stands: in lists and tuples, or not in front."""

    @functools.wraps(func)
    def go(*args: Any, **kw: Any) -> Any:
        return call(func, args, kw) if any(True for _ in parts([args, kw])) else func(*args, **kw)

    return go


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Stand for ``np.clip``."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    a = followed(a).copy() if low is None else np.maximum(followed(a), low)
    return a if high is None else np.minimum(a, high)


def logsumexp(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Stand for SciPy's ``logsumexp``; with weights it may be no number."""
    return _along(scipy.special.logsumexp, {"a": a, "axis": axis, "keepdims": keepdims})


def digits(a: Any, decimals: int = 0) -> Any:
    """Stand for ``np.round``."""
    a, name, step = followed(a), f"np.round {decimals}", 10.0**-decimals if decimals else 1

    def plain_one(v: Any) -> Any:
        return np.round(v, decimals).item()

    def one(e: Any) -> Any:
        return cast(e.rounded(plain_one, name, step) if isinstance(e, Number) else plain_one(e), a.kind)

    if a.kind.kind != "f" and decimals >= 0:
        return a.copy()
    found = np.asarray(mapped(one, a.objects), object)
    return array_of(found if found.ndim else found.item(), a.kind)


def full(shape: Any, value: Any, dtype: Any = None, **kw: Any) -> Any:
    """Stand for ``np.full``, of numbers that may become secrets."""
    kind = np.dtype(dtype) if dtype is not None else followed(value).kind
    shape = public(shape, "a shape made of a secret")
    if kind == np.dtype(float) and isinstance(value, (int, float)) and np.size(shape) > 1:
        return of_table(constants(np.full(shape, float(value))))
    out = array_of(np.empty(shape, object), kind)
    if isinstance(value, Number) and value.depends == ANYTHING:
        out.objects[...] = value
    else:
        out[...] = value
    return out


def _like(value: Any) -> Callable[..., Any]:
    def go(a: Any, dtype: Any = None, order: Any = None, subok: Any = True, shape: Any = None) -> Any:
        kind = np.dtype(dtype if dtype is not None else getattr(a, "dtype", float))
        number = unwritten(kind) if value is None else kind.type(value).item()
        return full(np.shape(a) if shape is None else shape, number, kind)

    return go


_WORKED_OUT: dict[str, Callable[..., Any]] = {
    **{"where": where, "select": select, "sum": _reducing(np.add), "mean": mean, "clip": clip, "logsumexp": logsumexp},
    "copyto": lambda dst, src, casting="", where=True: dst.__setitem__(..., np.where(where, src, dst)),
    **{"apply_along_axis": along, "take": take, "histogram": histogram, "bincount": bincount},
    **{"packbits": _of_bits(np.packbits), "unpackbits": _of_bits(np.unpackbits), "put_along_axis": put_along},
    **{"searchsorted": searchsorted, "digitize": digitize},
    **{"round": digits, "around": digits, "fix": lambda x: np.trunc(followed(x))},
    **{"any": _reducing(np.logical_or), "all": _reducing(np.logical_and), "prod": _reducing(np.multiply)},
    **dict.fromkeys(("max", "amax"), _reducing(np.maximum)),
    **dict.fromkeys(("min", "amin"), _reducing(np.minimum)),
    **{"cumsum": _running(np.add), "cumprod": _running(np.multiply)},
    **{"zeros_like": _like(0), "empty_like": _like(None), "ones_like": _like(1)},
    "full_like": lambda a, fill_value, dtype=None, order=None, subok=True, shape=None: full(
        np.shape(a) if shape is None else shape, fill_value, a.dtype if dtype is None else dtype
    ),
    **{"shape": lambda a: followed(a).shape, "ndim": lambda a: followed(a).ndim, "size": lambda a: followed(a).size},
    **{"real": lambda val: val, "isrealobj": lambda x: True, "iscomplexobj": lambda x: False},
    "imag": lambda val: full(np.shape(val), 0.0),
    "result_type": lambda *given: np.result_type(*(each.dtype if hasattr(each, "dtype") else each for each in given)),
}
Followed.__array_function__ = lambda self, func, types, args, kw: call(func, args, kw)  # type: ignore[method-assign, assignment]
Number.__array_function__ = Followed.__array_function__  # type: ignore[attr-defined]
FOLLOWED = sorted(_WORKED_OUT.keys() | _MOVING | _OF_ALL)
