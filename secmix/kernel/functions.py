"""NumPy's functions of arrays that are followed: those that move numbers, those that are worked out, and the rest.

A function that stands in no table here ends the proof where it is given a secret.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from secmix.kernel.arrays import Followed, apply, array_of, concrete, followed, is_secret, parts, public, values
from secmix.kernel.numbers import Number, arguments, function, plain
from secmix.kernel.state import ANYTHING, common_step, now, size_of
from secmix.kernel.words import cast

_MOVING = frozenset(
    """
    append array_split atleast_1d atleast_2d atleast_3d average block broadcast_arrays broadcast_to column_stack
    concatenate concat cross delete diag diagonal diff dot dsplit dstack ediff1d einsum expand_dims flip fliplr flipud
    hsplit hstack inner insert kron matrix_transpose meshgrid moveaxis ndim outer pad permute_dims ravel repeat reshape
    resize roll rollaxis rot90 row_stack shape size split squeeze stack swapaxes take take_along_axis tensordot tile
    trace transpose tril triu unstack vdot vecdot vsplit vstack copy compress extract select
    """.split()  # noqa: SIM905
)
_OF_ALL = frozenset(
    """
    argmax argmin argsort partition argpartition sort median percentile quantile nanmedian nanpercentile nanquantile std
    var nanstd nanvar ptp norm allclose array_equal count_nonzero cov corrcoef det slogdet inv pinv solve lstsq qr svd
    eig eigh eigvals eigvalsh cholesky matrix_rank matrix_power cond fft ifft rfft irfft interp polyfit polyval convolve
    correlate logsumexp unwrap nanmax nanmin nansum nanmean trapezoid gradient
    """.split()  # noqa: SIM905
)
_EACH = frozenset({"isclose", "nan_to_num", "sinc", "isposinf", "isneginf", "i0", "real_if_close", "angle"})


def call(func: Any, args: Any, kw: Any) -> Any:
    """Call a function of NumPy's with arrays that are followed."""
    name = func.__name__
    kw = {key: value for key, value in kw.items() if value is not np._NoValue}
    if name in _WORKED_OUT:
        return _WORKED_OUT[name](*args, **kw)
    if not is_secret([args, kw]):
        return _again(func(*values(args, ""), **values(kw, "")))
    if name in _MOVING:
        kinds = [each.kind if isinstance(each, Followed) else each.dtype for each in parts([args, kw])]
        return _wrapped(func(*_objects(args), **_objects(kw)), np.result_type(*kinds))
    if name in _EACH:
        return _each(func, *args, **kw)
    if name in _OF_ALL:
        return _along(func, *args, **kw)
    return func(*values(args, f"np.{name} of a secret"), **values(kw, f"np.{name} of a secret"))


def of_all(func: Callable[..., Any], name: str, args: Any, kw: Any) -> Any:
    """Call any function: each of its numbers is one of all that is given."""
    found = func(*concrete(args), **concrete(kw))
    given = [
        x
        for each in parts([args, kw])
        for x in (each.objects.ravel().tolist() if isinstance(each, Followed) else [each])
    ]
    key = arguments(*given), repr((_shapes(args), _shapes(kw)))

    def wrap(result: Any, place: str) -> Any:
        if isinstance(result, (tuple, list)):
            several = [wrap(each, f"{place}.{k}") for k, each in enumerate(result)]
            return type(result)(*several) if hasattr(result, "_fields") else type(result)(several)
        if not isinstance(result, (np.ndarray, np.generic, int, float)) or np.iscomplexobj(result):
            now().leave(f"{name} of a secret, or complex numbers,")
        flat = np.asarray(result)
        out = np.empty(flat.shape, object)
        for k, value in enumerate(flat.ravel().tolist()):
            out.flat[k] = function(f"{name}{place}[{k}]", lambda *_, _v=value: _v, *given, may_fail=True, key=key)
        return array_of(out, flat.dtype) if out.ndim else out.item()

    return wrap(found, "")


def _shapes(value: Any) -> Any:
    """Return what of arguments is no number that is followed."""
    if isinstance(value, (Followed, Number)):
        return np.shape(value)
    if isinstance(value, dict):
        return {key: _shapes(each) for key, each in value.items()}
    return [_shapes(each) for each in value] if isinstance(value, (list, tuple)) else value


def _along(func: Any, x: Any, *args: Any, axis: Any = None, keepdims: Any = False, **kw: Any) -> Any:
    """Call a function of what lies along an axis, lane by lane; of everything where no one axis is named."""
    name = func.__name__
    if name in ("sort", "argsort") and axis is None:
        axis = -1
    if not isinstance(axis, int) or not isinstance(x, Followed) or is_secret([args, kw]):
        more = {key: each for key, each in (("axis", axis), ("keepdims", keepdims)) if each}
        return of_all(func, name, [x, *args], kw | more)
    lanes = np.moveaxis(x.objects, axis, -1)
    found = [of_all(func, name, [array_of(lanes[k].copy(), x.kind), *args], kw) for k in np.ndindex(lanes.shape[:-1])]
    if isinstance(found[0], Followed):
        stacked = np.stack([each.objects for each in found]).reshape(*lanes.shape[:-1], -1)
        return array_of(np.moveaxis(stacked, -1, axis), found[0].kind)
    out = np.empty(len(found), object)
    out[:] = found
    out = out.reshape(lanes.shape[:-1])
    return array_of(np.expand_dims(out, axis) if keepdims else out, np.asarray(concrete(found[0])).dtype)


def _each(func: Any, *args: Any, **kw: Any) -> Any:
    name = func.__name__ + repr(kw)
    go = np.frompyfunc(lambda *x: function(name, lambda *v: plain(func(*v, **kw)), *x), len(args), 1)
    kind = np.asarray(func(*(np.ones(1) for _ in args), **kw)).dtype
    return array_of(go(*(followed(each).objects for each in args)), kind)


def _objects(value: Any) -> Any:
    if isinstance(value, Followed):
        return value.objects
    if isinstance(value, dict):
        return {key: _objects(each) for key, each in value.items()}
    return type(value)(map(_objects, value)) if type(value) in (list, tuple) else value


def _wrapped(found: Any, kind: np.dtype[Any]) -> Any:
    if isinstance(found, (list, tuple)):
        return type(found)(_wrapped(each, kind) for each in found)
    if isinstance(found, np.ndarray) and found.dtype == object:
        if kind.kind == "u":
            found = np.frompyfunc(lambda x: cast(x, kind), 1, 1)(found)
        return array_of(found, kind)
    return found


def _again(found: Any) -> Any:
    """Follow public arrays of floats: they may be written to later, by secrets too."""
    if isinstance(found, (list, tuple)) and not hasattr(found, "_fields"):
        return type(found)(map(_again, found))
    return followed(found) if isinstance(found, np.ndarray) and found.dtype.kind == "f" else found


def where(condition: Any, *choices: Any) -> Any:
    """Stand for ``np.where``: a function of all three, or the choice that a public condition makes."""
    if not choices:
        return np.where(values(condition, "np.where of a secret"))
    a, b = (followed(each) for each in choices)

    def one(c: Any, x: Any, y: Any) -> Any:
        if not isinstance(c, Number):
            return x if c else y
        if x is y or (not isinstance(x, Number) and not isinstance(y, Number) and repr(x) == repr(y)):
            return x
        step = common_step(*(each.step if isinstance(each, Number) else size_of(each) for each in (x, y)))
        return function("where", lambda c, x, y: x if c else y, c, x, y, step=step)

    kinds = [
        each.kind if isinstance(given, (np.ndarray, list)) else given
        for given, each in zip(choices, (a, b), strict=True)
    ]
    kinds = [each.value if isinstance(each, Number) else each for each in kinds]
    found = np.frompyfunc(one, 3, 1)(followed(condition).objects, a.objects, b.objects)
    return array_of(np.asarray(found, object), np.result_type(*kinds))


def total(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **kw: Any) -> Any:
    """Stand for ``np.sum``."""
    x = followed(x)
    x = x.astype(int) if x.kind.kind == "b" else x
    return apply(np.add, "reduce", [x], out=out, axis=axis, keepdims=keepdims, dtype=dtype, **kw)


def mean(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """Stand for ``np.mean``."""
    x = followed(x)
    count = x.size if axis is None else math.prod(x.shape[a] for a in np.atleast_1d(axis).tolist())
    found = total(x, axis, keepdims=keepdims) / count
    if out is not None:
        out[...] = found
    return found


def _reducing(ufunc: Any) -> Callable[..., Any]:
    def go(x: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **kw: Any) -> Any:
        return apply(ufunc, "reduce", [x], out=out, axis=axis, keepdims=keepdims, **kw)

    return go


def _running(ufunc: Any) -> Callable[..., Any]:
    def go(x: Any, axis: Any = None, **kw: Any) -> Any:
        x = followed(x)
        return apply(ufunc, "accumulate", [x.ravel() if axis is None else x], axis=axis or 0)

    return go


def clip(x: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **kw: Any) -> Any:
    """Stand for ``np.clip``."""
    low, high = kw.get("min", a_min), kw.get("max", a_max)
    x = x if low is None else np.maximum(x, low)
    return np.minimum(x, high, **({} if out is None else {"out": out})) if high is not None else x


def digits(x: Any, decimals: int = 0, out: Any = None) -> Any:
    """Stand for ``np.round``."""
    step = 10.0**-decimals if decimals else 1

    def one(e: Any) -> Any:
        name = f"np.round {decimals}"
        return (
            e.rounded(lambda v: float(np.round(v, decimals)), name, step)
            if isinstance(e, Number)
            else np.round(e, decimals)
        )

    x = followed(x)
    return array_of(np.asarray(np.frompyfunc(one, 1, 1)(x.objects), object), x.kind)


def full(shape: Any, value: Any, dtype: Any = None, **kw: Any) -> Any:
    """Stand for ``np.full``, of numbers that may become secrets."""
    out = np.empty(public(shape, "a shape made of a secret"), object)
    out[...] = value.objects if isinstance(value, Followed) else value
    kind = (
        np.dtype(dtype) if dtype is not None else value.dtype if isinstance(value, Number) else np.asarray(value).dtype
    )
    return array_of(out, kind)


def unwritten(kind: np.dtype[Any]) -> Number:
    """Return what memory holds that nobody wrote to: it may be anything that anybody computed before."""
    return Number(kind.type(0).item(), None, 0, ANYTHING, 0, pure=False)


def _like(value: Any) -> Callable[..., Any]:
    def go(x: Any, dtype: Any = None, order: Any = None, subok: Any = True, shape: Any = None, **kw: Any) -> Any:
        kind = np.dtype(dtype if dtype is not None else getattr(x, "dtype", float))
        number = unwritten(kind) if value is None else kind.type(value).item()
        return full(np.shape(x) if shape is None else shape, number, kind)

    return go


def _copyto(target: Any, source: Any, casting: Any = "same_kind", where: Any = True) -> None:
    target[...] = source if where is True else np.where(where, source, target)


_WORKED_OUT: dict[str, Callable[..., Any]] = {
    **{"where": where, "sum": total, "mean": mean, "clip": clip, "copyto": _copyto},
    **{"round": digits, "around": digits, "fix": lambda x, **kw: np.trunc(x)},
    **{"any": _reducing(np.logical_or), "all": _reducing(np.logical_and), "prod": _reducing(np.multiply)},
    **dict.fromkeys(("max", "amax"), _reducing(np.maximum)),
    **dict.fromkeys(("min", "amin"), _reducing(np.minimum)),
    **{"cumsum": _running(np.add), "cumprod": _running(np.multiply)},
    **{"zeros_like": _like(0), "empty_like": _like(None), "ones_like": _like(1)},
    "full_like": lambda x, value, dtype=None, **kw: full(np.shape(x), value, dtype or getattr(x, "dtype", None)),
    **{"real": lambda x: x, "isrealobj": lambda x: True, "iscomplexobj": lambda x: False},
    "imag": lambda x: full(np.shape(x), 0.0),
    "result_type": lambda *given: np.result_type(*(each.dtype if hasattr(each, "dtype") else each for each in given)),
}
Followed.__array_function__ = lambda self, func, types, args, kw: call(func, args, kw)  # type: ignore[method-assign, assignment]
