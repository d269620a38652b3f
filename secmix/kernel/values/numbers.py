"""Numbers that carry what they are made of.

A number that depends on a secret is a :class:`Number`; a public one is Python's own. Whatever asks a number for its
value, in Python or in C, asks it here: arithmetic is followed, all else is an exit of the trace. Below the class:
functions of numbers, and words, as types of few bits keep them.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
import operator
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from secmix.kernel.values.current_trace import DRAWS, EXACT, INF, TEXT, asks_for_class, here, may_stop, now, tracing
from secmix.kernel.values.forms import (
    Form,
    Shared,
    alone,
    apart,
    common_step,
    is_multiple,
    is_same,
    scaled,
    size_of,
    sum_of,
    times,
    weighted_sum,
)


class Number:
    """A number that depends on a secret."""

    __slots__ = (
        *("below", "depends", "form", "key", "least", "made_of", "modulus", "peak", "pure", "scale", "span", "step"),
        "value",
    )
    __array_priority__ = 1e9

    def __init__(
        self,
        value: Any,
        form: Form | None,
        modulus: Any,
        depends: int,
        step: Any,
        *,
        scale: Any = 1,
        pure: bool = True,
        span: Any = None,
    ) -> None:
        self.value = value.item() if isinstance(value, np.generic) else value  # in this run
        self.form = {} if form is None else form  # a linear combination of variables, by coefficient, times ``scale``
        self.scale = int(scale) if isinstance(scale, float) and scale.is_integer() and abs(scale) < 2**53 else scale
        # Infinite: the value is the form plus a public number. Above 0: so modulo this; if it is ``pure``, it tells no
        # more of the form. 0: nothing of that is known.
        self.modulus = modulus
        self.depends = depends  # bits of the nodes and draws that it depends on
        self.step = step  # it is a whole multiple of this; infinite of zero, 0 where nothing is known
        self.pure = pure  # it is a function of its form alone
        self.below: Any = 0  # it lies in [0, below); 0 where nothing is known
        self.least: Any = -INF  # it is no less
        self.peak: Peak | None = None
        self.made_of: tuple[Number, ...] = ()  # where it is not followed, of which numbers it is a function
        # Its size is at most this, whatever its draws are.
        self.span: Any = (INF if depends & DRAWS else abs(self.value)) if span is None else span
        # The same for the same function of the same numbers, once asked for; until then which, and of which numbers.
        self.key: int | tuple[Any, ...] | None = None

    @property
    def terms(self) -> dict[int, Any]:
        """Return the coefficients of the form, scaled; they are not to be written to."""
        return scaled(self.form, self.scale)

    @property
    def is_zero(self) -> bool:
        """Say whether it is zero, of a sign that is a secret."""
        return bool(self.modulus == 0 and self.step == INF)

    @property
    def is_followed(self) -> bool:
        """Say whether its form says all of it, but for what is public."""
        return bool(self.modulus == INF or self.pure)

    @property
    def is_rounded(self) -> bool:
        """Say whether it was a float too large to have all digits of its form."""
        return bool(self.modulus == INF and not self.pure)

    @property
    def is_real(self) -> bool:
        """Say whether it is a float that is a linear combination and nothing else, of no known step."""
        return self.modulus == INF and self.pure and not self.step and type(self.value) is float

    def _linear(self, name: str, by: Any, value: Any, scale: Any, modulus: Any, step: Any) -> Number:
        out = Number(value, self.form, modulus, self.depends, step, scale=scale, pure=self.pure)
        out.made_of = self.made_of
        size, most = abs(by), self.below or self.span
        if most != INF:
            out.span = most + size if name == "add" else most / size
        out.least = self.least + by if name == "add" else self.least / by if by > 0 else -INF
        return keyed(held(out, self.step, size_of(by) if name == "add" else 0), name, self, by)

    # ------------------------------------------------------------------ followed

    def __add__(self, other: Any) -> Any:
        other = plain(other)
        if type(other) is Number:  # sooner asked than whether it is one of another kind
            return self._plus(other)
        if not isinstance(other, (int, float)):
            return self._with(other, operator.add)
        value = self.value + other
        if self.is_zero:
            return value if other != 0 or math.copysign(1.0, other) > 0 else self
        if type(other) is type(self.value) is int and not other:  # of floats the sign of a zero may be another
            return self
        step = common_step(self.step, size_of(other))
        return self._linear("add", other, value, self.scale, self.modulus, step)

    def _real_sum(self, value: float, other: Number, sign: int) -> Number | None:
        """Add what is real; None where it is not, or where nothing is left."""
        if self.form is other.form or not (self.is_real and other.is_real):
            return None
        form = sum_of(self.form, self.scale, other.form, sign * other.scale, of_floats=True)
        out = Number(value, form, INF, self.depends | other.depends, 0, span=self.span + other.span)
        out.least = self.least + other.least if sign == 1 else -INF
        return (_with_peak(out, self, other, sign) if other.peak else out) if form else None

    def _plus(self, other: Number) -> Any:
        if (real := self._real_sum(self.value + other.value, other, 1)) is not None:
            return real
        if self.is_zero and other.is_zero:
            zero = Number(self.value + other.value, None, 0, self.depends | other.depends, INF, pure=False)
            return keyed(zero, "add", self, other)  # its sign is that of both
        if self.is_zero or other.is_zero:
            return other if self.is_zero else self
        if type(self.value) is not type(other.value) and float in (type(self.value), type(other.value)):
            return (self if isinstance(self.value, float) else self * 1.0) + other * 1.0
        if (
            not (self.modulus and self.form and other.modulus and other.form)
            and (sum_ := sum_with_coins(self, other)) is not None
        ):
            return sum_
        value, depends = self.value + other.value, self.depends | other.depends
        step = common_step(self.step, other.step)
        if self.pure and other.pure and is_same(self.form, other.form):
            scale, modulus = self.scale + other.scale, common_step(self.modulus, other.modulus)
            if scale == 0 and modulus == INF:
                return value
            if any(_is_less(scale, modulus, each.scale, each.modulus) for each in (self, other)):
                modulus = 0
            form = self.form if scale != 0 else None  # a mask is off again: what is left is public once it is reduced
            out = Number(value, form, modulus, depends, step, scale=scale or 1, pure=scale != 0)
            return self._sum(out, other)
        # What is not followed counts as nothing modulo its step.
        modulus = common_step(self.modulus or self.step, other.modulus or other.step)
        modulus = 0 if modulus != INF and (self.is_rounded or other.is_rounded) else modulus
        form = _sum_of(self, other) if modulus else None
        if modulus == INF and not form:
            return value
        pure = bool(modulus == INF and self.pure and other.pure)
        return self._sum(Number(value, form, modulus, depends, step, pure=pure), other)

    def _sum(self, out: Number, other: Number) -> Number:
        spans = [each.below or each.span for each in (self, other)]
        out.span = INF if INF in spans else sum(spans)
        out.least, out.made_of = self.least + other.least, () if out.is_followed else (self, other)
        return encoded(keyed(held(out, self.step, other.step), "add", self, other))

    def __mul__(self, other: Any) -> Any:
        other = plain(other)
        if isinstance(other, Number) or (isinstance(other, (int, float)) and not math.isfinite(other)):
            return function("multiply", operator.mul, self, other)
        if not isinstance(other, (int, float)):
            return self._with(other, operator.mul)
        value = self.value * other
        if type(other) is float and other and not self.step and not self.below and self.is_real:
            span = self.span * abs(other)
            return Number(value, self.form, INF, self.depends, 0, scale=self.scale * other, span=span)
        if other == 0:
            if isinstance(value, int):
                return 0
            return keyed(Number(value, None, 0, self.depends, INF, pure=False), "multiply", self, other)
        law = _law_of_product if self.depends & DRAWS else _law_of_product.__wrapped__  # that of data is its own
        own = self.scale, self.modulus, self.step, self.pure, self.below or self.span, self.least
        scale, modulus, step, span, least = law(other, type(value)(), *own)
        out = Number(value, self.form, modulus, self.depends, step, scale=scale, pure=self.pure, span=span)
        out.least, out.made_of = least, self.made_of
        keyed(held(out, 0), "multiply", self, other)
        if self.below and isinstance(value, int) and other > 0:
            out.below = (self.below - 1) * other + 1
        return out

    def __truediv__(self, other: Any) -> Any:
        other = plain(other)
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Number) or other == 0:
            return function("divide", operator.truediv, self, other, may_fail=True)
        if type(other) is float and math.isfinite(other) and not self.below and self.is_real:
            scale, span = self.scale / other, self.span / abs(other)
            return Number(self.value / other, self.form, INF, self.depends, 0, scale=scale, span=span)
        modulus, step = self.modulus / abs(other), self.step / abs(other)
        return self._linear("divide", other, self.value / other, self.scale / other, modulus, step)

    def __mod__(self, by: Any) -> Any:
        by = plain(by)
        if isinstance(by, np.ndarray):
            return NotImplemented
        if isinstance(by, float) and isinstance(self.value, int):
            return self * 1.0 % by
        if isinstance(by, Number) or not 0 < by < INF or not (self.modulus or self.step) or self.is_rounded:
            return function("remainder", operator.mod, self, by, may_fail=True)
        if self.below and self.below <= by:
            return self
        value, modulus = self.value % by, self.modulus or self.step
        divides = modulus == INF or modulus % by == 0
        form, scale = (self.form, self.scale) if self.modulus or self.pure else ({}, 1)
        if divides:
            left = _without_multiples(self, by) if self.modulus else {}
            if not left:
                return value
            form, scale = (form, scale) if len(left) == len(form) else (left, 1)
        known = by if divides else common_step(modulus, by) if self.modulus else 0
        pure = divides or self.pure
        if not divides and self.pure and _is_less(scale, known, self.scale, self.modulus):
            known = 0
        out = Number(value, form, known, self.depends, common_step(self.step, by), scale=scale, pure=pure)
        out.below, out.made_of = by, () if out.is_followed else (self,)
        return encoded(keyed(out, "remainder", self, by))

    def rounded(self, how: Callable[[Any], Any], name: str, step: Any = 1, *, may_fail: bool = False) -> Any:
        """Return itself where it is a whole multiple of ``step`` already; a function of itself otherwise."""
        return self if is_multiple(self.step, step) else function(name, how, self, step=step, may_fail=may_fail)

    def __or__(self, other: Any) -> Any:
        other = plain(other)
        if isinstance(other, np.ndarray):
            return NotImplemented
        for low, high in ((self, other), (other, self)):
            is_short = isinstance(low, Number) and low.below and not isinstance(low.value, bool)
            if is_short and is_multiple(_step(high), 1 << (int(low.below) - 1).bit_length()):
                return low + high  # their bits do not meet
        return function("or", operator.or_, self, other)

    def __and__(self, other: Any) -> Any:
        other = plain(other)
        if type(other) is int and other > 0 and (other + 1) & other == 0 and not isinstance(self.value, bool):
            return self % (other + 1)
        return NotImplemented if isinstance(other, np.ndarray) else function("and", operator.and_, self, other)

    def __lshift__(self, by: Any) -> Any:
        by = plain(by)
        known = type(by) is int and by >= 0
        return self * 2**by if known else function("left shift", operator.lshift, self, by, may_fail=True)

    def __invert__(self) -> Any:
        return function("not", operator.not_, self) if isinstance(self.value, bool) else -1 * self - 1

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        other = plain(other)
        if type(other) is Number:
            real = self._real_sum(self.value - other.value, other, -1)
            return self._plus(other * -1) if real is None else real
        return NotImplemented if isinstance(other, np.ndarray) else self + -1 * other

    def __rsub__(self, other: Any) -> Any:
        return -1 * self + other

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        other = plain(other)
        if isinstance(other, np.ndarray):
            return NotImplemented
        one = type(other) is int and other == 1 and modulo is None
        return self if one else function(f"power {modulo}", lambda a, b: pow(a, b, modulo), self, other, may_fail=True)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __abs__(self) -> Any:
        return function("absolute", abs, self)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return as_integer(self.rounded(lambda x: float(round(x)), "round", may_fail=True))
        return self.rounded(lambda x: round(x, digits), f"round {digits}", 10.0**-digits)

    def astype(self, dtype: Any, **kw: Any) -> Any:
        return cast(self, np.dtype(dtype))

    __radd__, __rmul__, __ror__, __rand__ = __add__, __mul__, __or__, __and__

    # ------------------------------------------------------------------ exits, and below the class

    def __bool__(self) -> bool:
        return now().truth(self)

    def __reduce__(self) -> Any:
        return float, (self._left("a pickle of a secret"),)

    def __getattr__(self, name: str) -> Any:
        """End the proof where a number of Python's or NumPy's has what this one lacks; a protocol may ask which has."""
        if name[0] == "_" or not any(hasattr(kind, name) for kind in self.kinds):
            raise AttributeError(name)
        return getattr(self._left(f"{name} of a secret"), name)

    @property
    def kinds(self) -> tuple[type, type]:
        """The types that it may have where nothing is followed: Python's, or NumPy's."""
        return type(self.value), np.asarray(self.value).dtype.type

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Return its class to the kernel and NumPy; elsewhere that would be another than in use."""
        return type(self._left("the type of a secret")) if tracing() and asks_for_class(sys._getframe(1)) else Number

    def _with(self, other: Any, f: Callable[[Any, Any], Any]) -> Any:
        """End the proof where the other is a number of another library; what is no number may know what to do."""
        foreign = isinstance(other, numbers.Number)
        return f(self._left(f"a secret and a {type(other).__name__}"), other) if foreign else NotImplemented

    def _left(self, what: str) -> Any:
        now().leave(what)
        return self.value

    # ------------------------------------------------------------------ as an array without axes

    def conjugate(self, *memo: Any) -> Number:
        """Return itself: it is real, immutable and has no axes."""
        return self

    __copy__ = __deepcopy__ = __pos__ = item = as_it_passes = conjugate
    real, imag = property(conjugate), property(lambda self: 0.0)
    ndim, shape, size = 0, (), 1
    dtype = property(lambda self: np.dtype(type(self.value)))


def _exit(what: str, f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: f(self._left(what), *args)


_INDEX = "an index, or a byte of a bytearray (stream += block is followed), made of a secret"
_EXITS: dict[str, tuple[str, Callable[..., Any]]] = {
    **{"__int__": ("int() of a secret", int), "__float__": ("float() of a secret", float)},
    **{"__index__": (_INDEX, int), "__complex__": ("complex() of a secret", complex)},
    **dict.fromkeys(("__str__", "__repr__"), (TEXT, str)),
    **{
        "__hash__": ("the hash of a secret", hash),
        "__format__": (TEXT, format),
        "bit_length": ("the length of a secret", int.bit_length),
    },
}
for _name, (_what, _value) in _EXITS.items():
    setattr(Number, _name, _exit(_what, _value))
OF_ANY_OBJECT = frozenset(
    "__class__ __delattr__ __dir__ __getattribute__ __new__ __reduce_ex__ __setattr__".split()  # noqa: SIM905
)
"""What a number has from ``object``, and says nothing of its value; all else that Python's numbers have is an exit."""
for _name in {*dir(int), *dir(float)} - OF_ANY_OBJECT:
    if _name[:2] == "__" and getattr(Number, _name, None) is getattr(object, _name, None):
        _of_value = lambda value, *args, _name=_name: getattr(value, _name)(*args)  # noqa: E731
        setattr(Number, _name, _exit(f"{_name}() of a secret", _of_value))


def _method(name: str, f: Callable[[Any, Any], Any], *, may_fail: bool = False) -> Callable[[Number, Any], Any]:
    def method(self: Number, other: Any) -> Any:
        other = plain(other)
        fails = may_fail and (name.startswith("other ") or isinstance(other, Number) or other == 0)
        return NotImplemented if isinstance(other, np.ndarray) else function(name, f, self, other, may_fail=fails)

    return method


def _swapped(name: str, f: Callable[[Any, Any], Any]) -> Callable[[Number, Any], Any]:
    return _method(f"other {name}", lambda a, b: f(b, a), may_fail=True)


for _name in ("lt", "le", "gt", "ge", "eq", "ne", "xor"):
    setattr(Number, f"__{_name}__", _method(_name, getattr(operator, _name)))
for _name in ("floordiv", "rshift"):
    setattr(Number, f"__{_name}__", _method(_name, getattr(operator, _name), may_fail=True))
for _name in ("xor", "floordiv", "truediv", "mod", "pow", "lshift", "rshift"):
    setattr(Number, f"__r{_name}__", _swapped(_name, getattr(operator, _name)))


COMPARISONS = frozenset(
    "lt le gt ge eq ne less less_equal greater greater_equal equal not_equal".split()  # noqa: SIM905
)


def function(
    name: str, f: Callable[..., Any], *args: Any, step: Any = None, may_fail: bool = False, key: Any = None
) -> Any:
    """Follow any function of numbers: of one form it is a function of that, else of nothing followed.

    The same function of the same arguments is the same number. Where it may fail on a value and the protocol would
    catch that, it is a branch.
    """
    kind = name.split("[")[0].removeprefix("math.")
    if may_fail and not (kind in _RAISING_FOR_ZERO and _is_finite(kind, args)):
        may_stop(f"{name} of a secret", is_noted=not _is_finite(kind, args))
    value = f(*(each.value if isinstance(each, Number) else each for each in args))
    secret = [each for each in args if isinstance(each, Number)]
    if name in COMPARISONS and len(secret) == 1:
        now().compares(secret[0].value, next(each for each in args if each is not secret[0]))
    depends, form = functools.reduce(operator.or_, (each.depends for each in secret)), secret[0].form
    waits = key is None and bool(depends & DRAWS)  # no encoding: which number it is may be asked for later
    key = None if waits else _numbered((name, key if key is not None else arguments(*args)))
    known = {} if waits else now().known
    if key not in known:
        pure = all(each.pure and is_same(each.form, form) for each in secret)
        if step is None and kind in _CHOOSING:
            step = functools.reduce(common_step, [_step(each) for each in args[_CHOOSING[kind] :]])
        elif step is None:
            step = int(isinstance(value, (bool, int, np.bool_, np.integer)))
        out = Number(value, form if pure else None, 0, depends, step, pure=pure)
        out.made_of = () if pure else tuple(secret)
        fails = name.startswith("math.")  # where NumPy's functions return what is infinite or no number
        if not fails and (waits or _is_of_one_node(out)) and not _is_finite(kind, args):
            how = f"{name} of what a node holds, which may be infinite or no number (bound it by np.maximum)"
            now().infinite.append((out, how, here())) if waits else now().narrow(how)
        out.key, out.least = (name, *args) if waits else key, _least(kind, args)
        out.below = _below(kind, args, out.least)
        out.peak = _peak(kind, args) if kind in ("maximum", "exp") else None
        if kind == "where" and depends & DRAWS:  # no larger than the choices are
            out.span = max(reach(each) if isinstance(each, Number) else _size(each) for each in args[1:])
        known[key] = encoded(out)
    return known[key]


_CHOOSING = {"where": 1, "take": 1, "maximum": 0, "minimum": 0}
"""Functions whose result is one of their arguments, and from which on."""
_TINY, _SMALL = 5e-324, 1e-300  # by the latter much is left of a quotient that is finite
_NEEDS = {
    **{"sqrt": (0, 0.0), "log1p": (0, 2.0**-53 - 1), "divide": (1, _SMALL), "other truediv": (0, _SMALL)},
    **{"log": (0, _TINY), "log2": (0, _TINY), "log10": (0, _TINY), "reciprocal": (0, _SMALL)},
    **dict.fromkeys(("remainder", "fmod", "mod", "floordiv", "floor_divide"), (1, _TINY)),
    **dict.fromkeys(("other mod", "other floordiv"), (0, _TINY)),
    **dict.fromkeys(("arcsin", "arccos", "arccosh", "arctanh", "corrcoef", "cond"), (0, INF)),
    **dict.fromkeys(("asin", "acos", "acosh", "atanh", "gamma", "lgamma", "factorial", "isqrt", "pow"), (0, INF)),
    **dict.fromkeys(("comb", "perm", "log to a base"), (0, INF)),
    **{"left shift": (1, 0), "rshift": (1, 0), "other lshift": (0, 0), "other rshift": (0, 0)},
    **{"gammaln of a library": (0, _TINY), "psi of a library": (0, _SMALL), "entr of a library": (0, 0.0)},
    **{"xlogy of a library": (1, _TINY), "xlog1py of a library": (1, 2.0**-53 - 1), "huber of a library": (0, 0.0)},
}
"""Functions that are finite where one argument is at least so large; all others that are followed always are."""
_RAISING_FOR_ZERO = frozenset(
    {"divide", "other truediv", "remainder", "mod", "other mod", "floordiv", "other floordiv", "sqrt", "log"}
)
"""Functions that raise no error where they are finite; of others a result may be too large for Python."""
_POWERS = {"power": (0, 1), "float_power": (0, 1), "power None": (0, 1), "other pow": (1, 0)}
"""Powers, and which of their arguments is the base, and which the exponent."""
OF_LIBRARY = " of a library"  # behind the name of a ufunc that is not NumPy's
_ALWAYS_FINITE = frozenset({"expit", "log_expit", "erf", "erfc", "ndtr", "log_ndtr", "exprel"})
_BOUNDING = COMPARISONS | {"maximum", "minimum", "isfinite", "isnan", "isinf"}
_RISING = frozenset({"sqrt", "exp"})  # and not negative: a factor below 1 makes up for their rounding
_OF_ORDER = frozenset("median percentile quantile nanmedian nanpercentile nanquantile sort partition".split())  # noqa: SIM905
_NOT_NEGATIVE = frozenset({"absolute", "square", "exp", "exp2", "sqrt", "norm", "std", "var", "ptp", "fabs", "hypot"})


def _bounds(args: Any) -> list[Any]:
    return [each.least if isinstance(each, Number) else each for each in args]


def _step(value: Any) -> Any:
    return value.step if isinstance(value, Number) else size_of(value)


def _size(value: Any) -> Any:
    return abs(value) if math.isfinite(value) else INF


def _is_finite(name: str, args: Any) -> bool:
    """Say whether a function of finite numbers is finite, but for overflow."""
    bounds = _bounds(args)
    known = [x for x, each in zip(bounds, args, strict=True) if isinstance(x, float) and not isinstance(each, Number)]
    if not all(map(math.isfinite, known)) and name not in _BOUNDING:
        return False
    if name in _POWERS:
        return _is_power_finite(*(args[place] for place in _POWERS[name]))
    if name.endswith(OF_LIBRARY) and name not in _NEEDS:
        return name.removesuffix(OF_LIBRARY) in _ALWAYS_FINITE
    place, least = _NEEDS.get("log to a base" if name == "log" and len(args) > 1 else name, (0, None))
    of = bounds[place]
    divides = not isinstance(args[place], Number) and not name.endswith(OF_LIBRARY)  # by a public number, of any sign
    return least is None or (abs(of) if divides else of) >= least


def _is_power_finite(base: Any, exponent: Any) -> bool:
    """Say whether a power is finite.

    It is of what is above zero, of what is not negative to a public power above zero, and of all to a whole one.
    Whole numbers have no inverse that is one: there NumPy raises an error.
    """
    least, exponents = _bounds((base, exponent))
    if not isinstance(exponent, Number) and exponents >= 0:
        return bool(exponents % 1 == 0 or least >= 0)
    are_whole = all(isinstance(getattr(each, "value", each), int) for each in (base, exponent))
    return bool(least >= _TINY and (exponents >= 0 or not are_whole))


def _least(name: str, args: Any) -> Any:
    """Return what a function is no less than."""
    bounds = _bounds(args)
    if name in ("maximum", "minimum", "where"):
        return (max if name == "maximum" else min)(bounds[-2:])
    if name in _OF_ORDER:
        return min(bounds)
    if name in _ROUNDED and math.isfinite(bounds[0]):
        return math.floor(bounds[0])
    if name in _RISING and bounds[0] > -INF:
        return float(getattr(np, name)(bounds[0])) * (1 - 2.0**-50)
    if name in ("multiply", "divide") and min(bounds) >= 0:
        return bounds[0] * bounds[1] if name == "multiply" else 0.0
    if name == "multiply" and _identity(args[0]) == _identity(args[1]):
        return 0.0
    power = bounds[1] if name in _POWERS and name != "other pow" and not isinstance(args[1], Number) else 1
    return 0.0 if name in _NOT_NEGATIVE or power % 2 == 0 or (power != 1 and bounds[0] >= 0) else -INF


_ROUNDED = {"floor": 0, "trunc": 0, "rint": 1, "ceil": 1, "np.round 0": 1}


def _below(name: str, args: Any, least: Any) -> Any:
    """Return a whole number that a function stays below where it is not negative; 0 where none is known."""
    if least < 0 or not (name == "minimum" or name in _ROUNDED):
        return 0
    bounds = [x.below if isinstance(x, Number) else math.floor(x) + 1 if math.isfinite(x) else 0 for x in args]
    return min(filter(None, bounds), default=0) if name == "minimum" else bounds[0] and bounds[0] + _ROUNDED[name]


@dataclass
class Peak:
    """How a number is made of the largest of others: a softmax divides by a sum of which one term is exp(0)."""

    kind: str  # "largest" of all; how far one is "below" that; a sum of "exponentials" of how far several are
    among: Any  # all; once they are asked for, their identities
    those: frozenset[Any] = frozenset()  # of these, of the ones that it is made of

    @property
    def of(self) -> frozenset[Any]:
        """The identities of all: where the largest of many is only compared, nobody asks."""
        if type(self.among) is tuple:
            identities, waiting = set(), [*self.among]
            while waiting:
                peak = getattr(each := waiting.pop(), "peak", None)
                if peak is None or peak.kind != "largest":
                    identities.add(_identity(each))
                elif type(peak.among) is tuple:
                    waiting += peak.among
                else:
                    identities |= peak.among
            self.among = frozenset(identities)
        return self.among  # type: ignore[no-any-return]


def _peak(name: str, args: Any) -> Peak | None:
    first = args[0].peak if isinstance(args[0], Number) else None
    if name == "exp":
        return replace(first, kind="exponentials") if first and first.kind == "below" else None
    return Peak("largest", args)


def _with_peak(out: Number, a: Number, b: Any, sign: int) -> Number:
    """Say of a sum, or difference, of two how it is made of the largest of others."""
    of_a, of_b = a.peak, b.peak  # of ``b`` there is one
    if of_b.kind == "largest" and sign == -1 and (one := _identity(a)) in of_b.of:
        out.peak = replace(of_b, kind="below", those=frozenset({one}))
    elif of_a and of_a.kind == of_b.kind == "exponentials" and of_a.of == of_b.of and sign == 1:
        out.peak = replace(of_a, those=of_a.those | of_b.those)
        out.least = max(out.least, 1.0 if out.peak.those == out.peak.of else 0.0)
    return out


def arguments(*args: Any) -> int:
    """Return a number for these arguments, the same for the same functions of the same variables."""
    return _numbered(tuple([_identity(each) for each in args]))


def _identity(number: Any) -> Any:
    if not isinstance(number, Number):
        return type(number), repr(number)
    waiting = [number]
    while type(number.key) is not int:
        last = waiting[-1]
        made_of = last.key if isinstance(last.key, tuple) else ()
        if left := [each for each in made_of if isinstance(each, Number) and type(each.key) is not int]:
            waiting += left
            continue
        if waiting.pop().key is None:
            last.key = _numbered(("linear", frozenset(last.terms.items()), last.value, last.pure))
        elif type(last.key) is tuple:  # no number: one that was waited for twice has one by now
            last.key = _numbered((made_of[0], *map(_identity, made_of[1:])))
    return number.key


def _numbered(key: Any) -> int:
    keys = now().keys
    return keys.setdefault(key, len(keys))


def keyed(number: Number, name: str, *args: Any) -> Number:
    """Let ``number`` remember that it is this function of these arguments, where it is no linear one."""
    if number.modulus != INF:
        number.key = (name, *args)
    return number


def encoded(number: Number) -> Number:
    """Return a new variable for what is computed, not linearly, from one node's own data; else ``number``."""
    is_code = number.modulus != INF and not number.depends & DRAWS and _is_of_one_node(number)
    return _variable(number) if is_code else number


def sum_with_coins(a: Number, b: Number) -> Any:
    """Add two numbers, one of which a node computes of its own data and draws; None where neither is such a number.

    That is an encoding too: the draws are coins of the node's, which nothing else may be made of. What is computed of
    draws alone goes into the encoding that it is added to.
    """

    def is_lost(number: Number) -> bool:
        return bool(not (number.modulus and number.form) and not number.is_zero and number.depends & DRAWS)

    for one, other in ((a, b), (b, a)):
        if is_lost(one) and one.depends == DRAWS and not other.depends & DRAWS and _is_of_one_node(other):
            return _variable(function("add", operator.add, other, one, step=common_step(one.step, other.step)))
    several = [is_lost(each) and _is_of_one_node(each) for each in (a, b)]
    one, other = (_variable(each) if lost else each for each, lost in zip((a, b), several, strict=True))
    return one + other if any(several) else None


def _is_less(scale: Any, modulus: Any, before: Any, known: Any) -> bool:
    """Say whether ``scale`` times a form, by ``modulus``, tells less of it than ``before`` times it, by ``known``.

    Such a residue tells the form modulo the modulus, divided by what this has in common with the scale.
    """
    return bool(scale != 0 and 0 < modulus < INF and _period(scale, modulus) != _period(before, known))


def _period(scale: Any, modulus: Any) -> Any:
    common = common_step(abs(scale), modulus)
    if type(modulus) is type(common) is int and common:
        return modulus // common
    return modulus / common if common else INF


@functools.lru_cache(maxsize=4096, typed=True)
def _law_of_product(
    by: Any, zero: Any, scale: Any, modulus: Any, step: Any, pure: bool, most: Any, least: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Return scale, modulus, step, size and least value of a number of such a law times ``by``, of the type of zero."""
    known = times(modulus, by, zero)
    if pure and _is_less(scale * by, known, scale, modulus):
        known = 0
    span = None if most == INF else most * abs(by)
    return scale * by, known, times(step, by, zero), span, least * by if by > 0 else -INF


def _is_of_one_node(number: Number) -> bool:
    nodes = number.depends & ~DRAWS
    return nodes > 0 and not nodes & (nodes - 1)


def _variable(number: Number) -> Number:
    depends, known, key = number.depends & ~DRAWS, now().known, ("code", _identity(number))
    if key not in known:
        step = number.step if 0 < number.step < INF else 0
        variable = now().variable("code", depends.bit_length() - 2, number.value, step, place=here())
        known[key] = Number(number.value, alone(variable), INF, depends, number.step)
        known[key].below, known[key].least, known[key].peak = number.below, number.least, number.peak
    return known[key]  # type: ignore[no-any-return]


def held(number: Number, *steps: Any) -> Number:
    """Take from a float its step and modulus where it may be too large to be whole in steps: in those of a sum, too."""
    if isinstance(number.value, float) and not number.step and all(steps) and number.modulus != INF:
        number.modulus = 0  # one step is lost beside the other: the sum is rounded
    if isinstance(number.value, float) and 0 < number.step < INF and reach(number) > EXACT * _unit(number.step):
        number.pure = number.pure and number.modulus != INF
        number.step, number.modulus = 0, number.modulus if number.modulus == INF else 0
    return number


@functools.lru_cache(maxsize=4096)
def _unit(step: Any) -> Any:
    """Return the power of two that a step is a whole multiple of; the step where it is one of decimals."""
    top = step.as_integer_ratio()[0]
    odd = top // (top & -top)
    return step / odd if odd < 2**20 else step


def reach(number: Number) -> Any:
    """Return a size that it never exceeds, whatever its draws are; its data are as they are in this run."""
    most = min(number.span, number.below or INF)
    if number.modulus != INF or most != INF:
        return most
    draws = ((abs(c), now().own(v)) for v, c in number.terms.items())
    return abs(number.value) + sum(c * draw.range * draw.step for c, draw in draws)


def combined(rows: Iterable[Any], numbers: Any, shared: dict[Any, Any]) -> list[Any]:
    """Return sums of numbers times public coefficients, by row of these: what adding them one by one makes, at once.

    ``shared`` is what sums of other entries of the same vectors are made of, which these may have in common with them.
    """
    kind = {type(getattr(x, "value", None)) for x in numbers}
    is_one_kind = len(numbers) > 2 and kind in ({int}, {float}) and not any(x.is_zero for x in numbers)
    column = _Column(numbers, shared) if is_one_kind else None
    return [_combined(tuple(row), numbers, kind, column, shared) for row in rows]


def _combined(
    row: tuple[Any, ...], numbers: Any, kind: set[type], column: _Column | None, shared: dict[Any, Any]
) -> Any:
    used = [(c, x) for c, x in zip(row, numbers, strict=True) if c != 0]
    if column is None or len(used) < 3 or {*map(type, row)} != kind or not all(map(math.isfinite, row)):
        return functools.reduce(operator.add, map(operator.mul, row, numbers))
    if len(used) < len(row):
        return combined([[c for c, _ in used]], [x for _, x in used], shared)[0]
    value = functools.reduce(operator.add, map(operator.mul, row, column.values))
    modulus, step, span, most, form = column.law_of(row, type(value)())
    if modulus == INF and not form:
        return value
    pure = modulus == INF and column.pure
    # No sum on the way is larger than all numbers at their largest, nor of a finer step.
    if most != INF and most < (span if span != INF else sum(abs(c) * reach(x) for c, x in used)):
        pure, step, modulus = False, 0, modulus if modulus == INF else 0
    out = Number(value, form, modulus, column.depends, step, pure=pure)
    out.span, out.made_of = span, () if out.is_followed else tuple(numbers)
    return encoded(keyed(held(out, True), "combination", *itertools.chain.from_iterable(used)))


class _Column:
    """Numbers of one kind that are added up, with what their sums have in common with those of other entries."""

    def __init__(self, numbers: Any, shared: dict[Any, Any]) -> None:
        self.values, self.pure = [x.value for x in numbers], all(x.pure for x in numbers)
        self.depends = functools.reduce(operator.or_, [x.depends for x in numbers])
        # 1 and 1.0 are equal, and not the same step.
        self.laws = tuple([(x.modulus, x.step, x.below or x.span, type(x.modulus), type(x.step)) for x in numbers])
        self.is_rounded = any(x.is_rounded for x in numbers)
        self.terms = [(x.scale, x.form if x.modulus else {}) for x in numbers]
        self.length = sum([len(form) for _, form in self.terms])
        self.first, places = apart([form for _, form in self.terms])
        same = type(self.values[0]), self.laws, self.is_rounded, tuple([scale for scale, _ in self.terms]), places
        self.known: dict[Any, Any] = shared.setdefault(same, {}) if places else {}

    def law_of(self, row: tuple[Any, ...], zero: Any) -> tuple[Any, Any, Any, Any, Form]:
        """Return what :func:`_law_of_sum` does, and the form, which is made once where others differ by place alone."""
        now().terms += self.length
        if row not in self.known:
            modulus, step, span, most = _law_of_sum(row, self.laws, zero)
            modulus = 0 if modulus != INF and self.is_rounded else modulus
            terms = [(c, scale, form) for c, (scale, form) in zip(row, self.terms, strict=True)]
            self.known[row] = modulus, step, span, most, weighted_sum(terms, self.first) if modulus else {}
        modulus, step, span, most, base = self.known[row]
        return modulus, step, span, most, Shared(base, self.first) if base and self.first else base


@functools.lru_cache(maxsize=4096, typed=True)
def _law_of_sum(coefficients: Any, laws: Any, zero: Any) -> tuple[Any, Any, Any, Any]:
    """Return modulus, step and size of a sum of this type, and up to which size all sums on the way are exact."""
    modulus, span, steps = INF, 0, list[Any]()
    for c, (own, step, size, *_) in zip(coefficients, laws, strict=True):
        span += abs(c) * size
        steps.append(times(step, c, zero))
        if not modulus == own == INF:
            modulus = common_step(modulus, times(own, c, zero) or steps[-1])
    steps.append(functools.reduce(common_step, steps))
    known = [_unit(each) for each in steps if 0 < each < INF] if isinstance(zero, float) else []
    return modulus, steps[-1], span, EXACT * min(known) if known else INF


def traced_back(numbers: Iterable[Number]) -> tuple[list[Number], bool]:
    """Return the numbers that are followed of which others are functions, each once; and whether there are no others.

    Whoever knows all of these knows the others.
    """
    left, met, leaves, is_all = [*numbers][::-1], set[int](), list[Number](), True
    while left:
        number = left.pop()
        if id(number) in met:
            continue
        met.add(id(number))
        if number.is_followed:
            leaves.append(number)
        else:
            left += number.made_of[::-1]
            is_all = is_all and bool(number.made_of)
    return leaves, is_all


PLAIN = frozenset({int, float, Number})


def plain(value: Any) -> Any:
    """Return NumPy's scalars, and whole numbers of libraries, as Python's, of which a secret word never loses a bit."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.generic):
        return value.item()
    is_foreign = isinstance(value, Integral) and not isinstance(value, int)
    return value.used() if hasattr(value, "used") else int(value) if is_foreign else value  # of another kind


def _sum_of(a: Number, b: Number) -> Form:
    return sum_of(a.form if a.modulus else {}, a.scale, b.form if b.modulus else {}, b.scale)


def _without_multiples(number: Number, by: Any) -> Form:
    """Return the terms of a form that are not whole multiples of ``by``, whatever their variables are."""
    own = now().own
    return {v: c for v, c in number.terms.items() if (s := abs(c * own(v).step)) < by or not is_multiple(s, by)}


_DOUBLE = np.dtype(float)


def as_integer(number: Any, *, may_fail: bool = True) -> Any:
    """Return a secret as Python's int, cut off towards zero; what is not finite fails in Python, and not in NumPy."""
    cut = number.rounded(lambda x: float(np.trunc(x)), "trunc", may_fail=may_fail)
    if isinstance(cut.value, int):
        return cut
    modulus, step = _unrounded(cut.modulus), _unrounded(cut.step)
    out = Number(int(cut.value), cut.form, modulus, cut.depends, step, scale=cut.scale, pure=cut.pure)
    out.below, out.least, out.span, out.made_of = cut.below, cut.least, cut.span, cut.made_of
    return keyed(out, "whole", cut)


def _unrounded(step: Any) -> Any:
    """Return a whole step, or modulus, as an int: products of words are exact, and those of floats are not."""
    return int(step) if isinstance(step, float) and step.is_integer() else step


def centred(number: Any, width: int) -> Any:
    """Return the residue of ``number`` modulo ``width`` that lies in [-width/2, width/2)."""

    def moved(word: int) -> int:
        return word - width if word >= width // 2 else word

    residue = number % width
    if not isinstance(residue, Number):
        return moved(residue)
    out = function(f"centred {width}", moved, residue, step=common_step(residue.step, width))
    if out.modulus == 0:  # it differs from the residue by nothing or by the width
        out.modulus, out.form, out.scale = common_step(residue.modulus, width), residue.form, residue.scale
        out.span = width // 2
    return out


def cast(number: Any, dtype: np.dtype[Any]) -> Any:
    """Keep ``number`` as an array of ``dtype`` does: words wrap around, and few digits are a function of many."""
    if not isinstance(number, Number):
        if dtype == _DOUBLE:
            return float(number)
        return wrapped(int(number), dtype) if dtype.kind in "iu" else np.asarray(number).astype(dtype).item()
    if dtype.kind == "b":
        return number if isinstance(number.value, bool) else function("bool", bool, number)
    if dtype.kind in "iu":
        return wrapped(as_integer(number, may_fail=False), dtype)
    if dtype.kind == "f" and dtype.itemsize < 8:
        known, key = now().known, ("as", dtype, arguments(number))
        if key not in known:  # and what is one already stays as it is
            known[key] = function(f"as {dtype}", lambda x: float(dtype.type(x)), number)
            known[("as", dtype, arguments(known[key]))] = known[key]
        return known[key]
    return number * 1.0 if isinstance(number.value, int) and dtype.kind == "f" else number


def wrapped(number: Any, dtype: np.dtype[Any]) -> Any:
    """Return a whole number as a word of ``dtype``, for other than sums and products: those wrap around alike.

    A signed word reduces where its draws may carry it beyond its ends; overflow of data is assumed away.
    """
    width = 2 ** (8 * dtype.itemsize)
    is_word = 0 < getattr(number, "below", 0) <= width // 2
    if is_word or dtype.kind == "u":
        return number if is_word else number % width
    largest = abs(2 * (number.value if isinstance(number, Number) else number) + 1)
    if isinstance(number, Number) and number.modulus == INF:
        draws = [(c, now().own(v)) for v, c in number.terms.items()]
        largest = max(largest, sum(2 * abs(c) * draw.range * draw.step for c, draw in draws))
    elif isinstance(number, Number) and is_multiple(number.modulus, width):
        return centred(number, width)  # a sum of residues, whether or not it left the word in this run
    return number if largest <= width else centred(number, width)
