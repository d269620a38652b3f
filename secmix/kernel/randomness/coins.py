"""Public numbers that may be others in the next call: coins, the iteration, and numbers that a protocol keeps.

What they may be is listed where that is little: every option is traced on which a branch, an index or a text hangs. Of
others a comparison is traced both ways, and a use by value is noted: a claim then covers what was traced. Noted too are
draws of the system's, and how floating-point errors are reported.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import operator
import pickle
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from secmix.kernel.values.arrays import parts, within
from secmix.kernel.values.current_trace import asks_for_class, is_of_call, may_be_caught, now, tracing, writes_text
from secmix.kernel.values.protocol_text import is_of_library, is_protocol

MOST_OPTIONS = 128
"""Options that are traced one by one; five items in any order are 120."""
_MOST_RESIDUES, _MOST_BITS = 64, 7
_PURE = frozenset(
    """
    all any append argsort array_equal atleast_1d atleast_2d broadcast_to column_stack concatenate count_nonzero cumsum
    expand_dims flatnonzero flip hstack isin mean ravel repeat reshape roll setdiff1d sort squeeze stack sum tile
    transpose vstack where
    """.split()  # noqa: SIM905
)
"""NumPy's functions that write to nothing they are given."""


_FAILING = ("truediv", "floordiv", "mod", "pow", "lshift", "rshift")  # by some numbers


OfIteration = Callable[[Any], Any]
"""What a public number is in an iteration, by its number or an array of these."""
ITSELF: OfIteration = operator.pos
"""The iteration, as a function of itself."""


class Coin:
    """The options of one draw in one call, those that are left, and which of them it is."""

    def __init__(self, options: int, drawn: int, name: str, of: OfIteration | None = None) -> None:
        self.left, self.drawn, self.name, self.of = list(range(options)), drawn, name, of
        self.trace, self.call = now(), now().call

    @property
    def is_known(self) -> bool:
        """Say whether its options are listed: those of an earlier call may have been others."""
        return self.trace is now() and self.call == now().call

    def each(self, f: Callable[[int], Any]) -> dict[int, Any] | None:
        """Return what ``f`` makes of every option that is left; None where it fails on one."""
        try:
            return {option: f(option) for option in self.left}
        except Exception:
            return None

    def settle(self, values: dict[int, Any]) -> None:
        """Have the trace decide between what differs among ``values``, and keep the options that agree with it."""
        kinds: dict[str, list[int]] = {}
        for option in self.left:
            kinds.setdefault(_text(values[option]), []).append(option)
        several = list(kinds.values())
        option = next(k for k, options in enumerate(several) if self.drawn in options)
        self.left = several[now().turn(option, len(several), self.name)]
        if (of := self.of) is not None and len(several) > 1:
            left = tuple(self.left)
            now().conditions[len(now().turns) - 1] = lambda iteration: np.isin(of(iteration), left)
        self.drawn = self.drawn if self.drawn in self.left else self.left[0]


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.shape} {value.tolist()}"
    return f"{type(value)} {[*map(_text, value)] if isinstance(value, (list, tuple)) else repr(value)}"


class Public:
    """A public number or array, which is no subclass of Python's or NumPy's: those would be used by value in silence.

    Either what it is for every option of a coin, or of one value: then nothing else is known of it.
    """

    __array_priority__ = 1e8

    def __init__(self, value: Any, name: str, coin: Coin | None = None, of: OfIteration | None = None) -> None:
        self.name, self.coin, self.of = name, coin, of
        self.values: dict[int, Any] = value if coin else {0: value}
        # Whole numbers are polynomials of one whose residues are listed.
        self.base, self.polynomial = self, operator.pos  # of itself
        self.residues: dict[int, Coin] = {}
        self.answers: dict[tuple[str, int], tuple[Any, int, Any]] = {}  # each with the trace and the call that it is of

    @property
    def value(self) -> Any:
        """Return its value in this run."""
        return self.values[self.coin.drawn if self.coin else 0]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Return its class to the kernel; elsewhere that of its value."""
        return type(self.value) if tracing() and asks_for_class(sys._getframe(1)) else Public

    @property
    def is_known(self) -> bool:
        """Say whether all that it may be is listed."""
        return self.coin is not None and self.coin.is_known

    def plainly(self, f: Callable[..., Any], *args: Any) -> Any:
        """Return ``f`` of its value: every outcome is traced, or that it was used by value is noted."""
        if self.coin is None or not self.coin.is_known:
            now().narrow(self.name)
        else:
            values = self.coin.each(lambda option: f(self.values[option], *args))
            self.coin.settle(self.values if values is None else values)
        return f(self.value, *args)

    def used(self) -> Any:
        return self.plainly(lambda value: value)

    def as_it_passes(self) -> Any:
        """Return what a channel carries: that is public, whatever it is in another call."""
        return np.array(self.value) if isinstance(self.value, np.ndarray) else float(self.value)

    def residue(self, by: int) -> Any:
        """Return the remainder of a whole number of which nothing else is known."""
        base = self.base
        if by not in base.residues or not base.residues[by].is_known:
            of = base.of and (lambda iteration: base.of(iteration) % by)  # type: ignore[misc]
            base.residues[by] = now().met(Coin(by, base.value % by, self.name, of))
        coin = base.residues[by]
        if now().is_plain:
            return self.polynomial(coin.drawn) % by
        return Public({r: self.polynomial(r) % by for r in coin.left}, self.name, coin)

    def __iter__(self) -> Iterator[Any]:
        return iter([lifted(operator.getitem, self, place) for place in range(self.plainly(len))])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.used(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
        pure = method == "__call__" and "out" not in kw
        _note_overflow(self, *_kinds(inputs))
        return (lifted if pure else by_value)(getattr(ufunc, method), *inputs, **kw)

    def __array_function__(self, func: Any, types: Any, args: Any, kw: Any) -> Any:
        return (lifted if func.__name__ in _PURE and "out" not in kw else by_value)(func, *args, **kw)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if callable(getattr(self.value, name)):
            return lambda *args, **kw: lifted(lambda value, *a, **k: getattr(value, name)(*a, **k), self, *args, **kw)
        return lifted(lambda value: getattr(value, name), self)

    def __deepcopy__(self, memo: Any) -> Public:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return copy.copy, (self.used(),)


def is_iteration(number: Any) -> bool:
    """Say whether a public number is the iteration itself: it is never the same in two calls.

    What was made of it may be: a half of it, its last byte, the smaller of it and another.
    """
    return isinstance(number, Public) and number.of is ITSELF


def _note_overflow(public: Public, *kinds: Any) -> None:
    """Note a public number that one of these types may not hold, where a protocol may catch what that raises."""
    may_fail = any(kind.kind in "iu" and kind != np.int64 for kind in kinds)
    if may_fail and not public.is_known and may_be_caught():
        now().narrow(public.name)


def as_type(f: Callable[[Any], Any], public: Public, dtype: Any) -> Any:
    """Return what ``f`` makes of a public number, in numbers of this type."""
    _note_overflow(public, *(() if dtype is None else (np.dtype(dtype),)))
    return lifted(f, public)


def by_value(f: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """Call ``f`` with the values of public numbers."""
    return f(*_at(args, Public.used), **_at(kw, Public.used))


def lifted(f: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """Return what ``f`` makes of public numbers, as a public number; by value where secrets are among them."""
    publics = list(_publics([args, kw]))
    if any(True for _ in parts([args, kw])):
        return by_value(f, *args, **kw)
    unknown = next((each for each in publics if not each.is_known), None)
    if unknown is not None:
        plain = lambda each: each.used() if each.is_known else each.value  # noqa: E731

        def at(iteration: Any) -> Any:
            then = lambda each: each.of(iteration) if each.of else each.value  # noqa: E731
            return f(*_at(args, then), **_at(kw, then))

        known = all(each.is_known or each.of for each in publics)
        return _unknown(f(*_at(args, plain), **_at(kw, plain)), unknown.name, at if known else None)
    coin = publics[0].coin
    assert coin is not None

    def of(option: int) -> Any:
        pick = lambda each: each.values[option] if each.coin is coin else each.used()  # noqa: E731
        return f(*_at(args, pick), **_at(kw, pick))

    values = coin.each(of)
    if values is None:
        return by_value(f, *args, **kw)
    out = Public(values, publics[0].name, coin)
    return out if all(map(_is_numeric, values.values())) else out.used()


def _unknown(value: Any, name: str, of: OfIteration | None = None) -> Any:
    """Return a public number of which nothing is known; of a few truth values each may be either."""
    kind = np.asarray(value).dtype.kind
    if kind == "b" and np.size(value) <= _MOST_BITS:
        shape = np.shape(value)
        options = [np.array(bits).reshape(shape) for bits in itertools.product((False, True), repeat=np.size(value))]
        out = coin_among([bool(each) if not shape else each for each in options], value, name, None if shape else of)
        return out.used() if type(out) is Public and not shape else out
    if _is_numeric(value):
        return Public(value, name, of=of)
    now().narrow(name)
    return value


def coin_among(options: Sequence[Any], coin: Any, name: str, of: OfIteration | None = None) -> Any:
    """Return a public number, which may be any of ``options``; any at all where these are none."""
    drawn = next((k for k, each in enumerate(options) if np.array_equal(each, coin)), None)
    if drawn is None:
        return Public(coin, name)
    met = now().met(Coin(len(options), drawn, name, of))
    return options[met.drawn] if now().is_plain else Public(dict(enumerate(options)), name, met)


def _kinds(several: Iterable[Any]) -> list[Any]:
    """List the types of NumPy's numbers among others."""
    return [each.dtype for each in several if isinstance(each, (np.ndarray, np.generic))]


def _is_numeric(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _publics(value: Any) -> Iterator[Public]:
    if isinstance(value, Public):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _publics(each)


def _at(value: Any, pick: Callable[[Public], Any]) -> Any:
    return within(lambda each: pick(each) if isinstance(each, Public) else each, value)


_NEVER: tuple[Any, int, Any] = None, 0, None


def _operator(name: str, f: Callable[[Any, Any], Any]) -> Callable[[Public, Any], Any]:
    def method(self: Public, other: Any) -> Any:
        _note_overflow(self, *_kinds([other]))
        other = other.item() if isinstance(other, np.generic) else other
        are_integers = type(self.value) is int and type(other) is int and not self.is_known
        op, is_by_it = name.split()[-1], name.startswith("other ") or isinstance(other, Public)
        if op in _FAILING and is_by_it and not self.is_known and may_be_caught():
            now().narrow(self.name)
        if are_integers and name == "mod" and 1 < other <= _MOST_RESIDUES:
            return self.residue(other)
        is_one_number = type(self.value) in (int, float) and type(other) is int and not self.is_known
        trace, call, out = self.answers.get((name, other), _NEVER) if is_one_number else _NEVER
        if trace is now() and call == now().call:  # it is the same number, of which the same comes out
            return out
        out = lifted(f, self, other)
        if is_one_number:
            self.answers[name, other] = now(), now().call, out
        if are_integers and op in ("add", "sub", "mul") and isinstance(out, Public):
            out.base, out.polynomial = self.base, lambda x: f(self.polynomial(x), other)
        return out

    return method


def _in_place(name: str) -> Callable[[Public, Any], Any]:
    f = getattr(operator, f"__i{name}__")
    return lambda self, other: f(self.used(), other) if isinstance(self.value, np.ndarray) else NotImplemented


def _swapped(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: f(b, a)


def _as_index(value: Any) -> int:
    """Return an integer; of a float its floor, as dates are made of a clock: elsewhere an untraced call fails."""
    return math.floor(value) if isinstance(value, float) else operator.index(value)


_BY_VALUE: dict[str, Callable[..., Any]] = {
    **{"int": int, "index": _as_index, "float": float, "complex": complex, "round": round, "len": len},
    **{"hash": hash, "setitem": operator.setitem, "sizeof": operator.methodcaller("__sizeof__")},
}
for _name, _f in _BY_VALUE.items():
    setattr(Public, f"__{_name}__", functools.partialmethod(Public.plainly, _f))


def _as_text(f: Callable[..., str]) -> Callable[..., str]:
    """Return text, by value unless that is written and no more: what is written is watched, and may be public."""

    def method(self: Public, *how: Any) -> str:
        return f(self.value, *how) if writes_text(sys._getframe(1)) else self.plainly(f, *how)

    return method


_TEXTS: dict[str, Callable[..., str]] = {"str": str, "repr": repr, "format": format}
for _name, _f in _TEXTS.items():
    setattr(Public, f"__{_name}__", _as_text(_f))
for _name in ("bool", "neg", "pos", "abs", "invert", "getitem"):
    _f = bool if _name == "bool" else getattr(operator, _name)
    setattr(Public, f"__{_name}__", lambda self, *args, _f=_f: lifted(_f, self, *args))
for _name in "lt le gt ge eq ne add sub mul mod floordiv truediv pow and or xor lshift rshift matmul".split():  # noqa: SIM905
    _f = getattr(operator, f"__{_name}__")
    setattr(Public, f"__{_name}__", _operator(_name, _f))
    if hasattr(operator, f"__i{_name}__"):
        setattr(Public, f"__i{_name}__", _in_place(_name))
        setattr(Public, f"__r{_name}__", _operator(f"other {_name}", _swapped(_f)))
_POWER: Callable[[Public, Any], Any] = vars(Public)["__pow__"]


def _power(self: Public, exponent: Any, modulo: Any = None) -> Any:
    if modulo is None:
        return _POWER(self, exponent)
    return (by_value if may_be_caught() else lifted)(pow, self, exponent, modulo)  # there may be no inverse


setattr(Public, "__pow__", _power)  # noqa: B010 (its operators are none of the class statement's)


NOTES = "secmix notes"
"""The name under which what stands for a function says what it notes."""
SYSTEM = "coins of the system"
OF_NUMPY, OF_PYTHON = "coins of NumPy's global generator", "coins of the module random"


def global_coins() -> dict[str, Any]:
    """Return the states of generators that all code shares: whoever draws from one, in a library too, changes it."""
    return {OF_NUMPY: pickle.dumps(np.random.get_state(legacy=False)), OF_PYTHON: random.getstate()}  # noqa: NPY002


def noted(f: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Note that what a function returns may be other in the next call: a claim covers what was traced."""

    def call(*args: Any, **kw: Any) -> Any:
        if tracing():
            now().narrow(what)
        return f(*args, **kw)

    call.__dict__[NOTES] = what
    return call


def clock(f: Callable[[], Any]) -> Callable[[], Any]:
    """Return a clock that tells a public number: how long something took may be logged."""
    return lambda: Public(f(), "the clock") if tracing() else f()


def noted_limit(original: Any, place: int) -> Any:
    """Note that a call hangs on the clock where its code waits for a limited time."""

    def wait_for(self: Any, *args: Any, **kw: Any) -> Any:
        limit = args[place] if len(args) > place else kw.get("timeout")
        is_short = limit is not None or kw.get("block", True) is False or any(each is False for each in args[:place])
        if is_short and is_of_call() and _asked_by_protocol():
            now().narrow("the clock, by a wait with a limit of time")
        return original(self, *args, **kw)

    return wait_for


def _asked_by_protocol() -> bool:
    """Say whether a protocol asks what is under way, by Python's library, and has it do more than sleep."""
    frame: Any = sys._getframe(2)
    while frame is not None and is_of_library(frame.f_code.co_filename) and frame.f_code.co_name != "sleep":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name != "sleep" and is_protocol(frame.f_code.co_filename)


def _reporting(f: Callable[..., Any]) -> Callable[..., Any]:
    """Note that numbers may decide what is raised, kept or called: of floating-point errors, or of warnings."""

    def call(*args: Any, **kw: Any) -> Any:
        given = {*args, *kw.values()} & {"raise", "call", "log", "print", "error"}
        if tracing() and (given or kw.get("record")):
            now().narrow("floating-point errors or warnings that are raised, recorded or handed on")
        return f(*args, **kw)

    return call


ERRORS = {name: _reporting(getattr(np, name)) for name in ("errstate", "seterr")}
WARNINGS = {n: _reporting(getattr(warnings, n)) for n in ("simplefilter", "filterwarnings", "catch_warnings")}
