"""Draws: variables where they are secret, in ``draw_masks`` and from the system; public coins elsewhere.

A public number that may be another in the next call, a single coin or the iteration, is a :class:`Public`: compared,
both ways are traced; used by value, that is noted, and a claim covers what was traced.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from secmix.kernel.arrays import array_of, is_secret, values
from secmix.kernel.numbers import Number
from secmix.kernel.state import DRAWS, INF, here, now

_LAWS: dict[str, tuple[str, ...]] = {
    **{"standard_normal": (), "random": (), "uniform": ("low", "high"), "integers": ("low", "high")},
    **dict.fromkeys(("normal", "laplace", "logistic"), ("loc", "scale")),
}
"""Laws that are known, and their parameters: of those with heavy tails the spread is no size."""
_SPREAD = {"normal": 1.0, "standard_normal": 1.0, "uniform": 12**-0.5, "random": 12**-0.5, "integers": 12**-0.5}
_SPREAD |= {"laplace": 2**0.5, "logistic": np.pi / 3**0.5}


class Public:
    """A public number, which is no subclass of Python's: those would be used by value in silence."""

    __array_priority__ = 1e8

    def __init__(self, value: Any, name: str) -> None:
        self.value, self.name = value, name

    def used(self) -> Any:
        """Return its value, and note that."""
        now().narrow(self.name)
        return self.value

    def __bool__(self) -> bool:
        return now().turn(bool(self.value))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.used(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
        return getattr(ufunc, method)(*(each.used() if isinstance(each, Public) else each for each in inputs), **kw)


def _computed(f: Callable[[Any, Any], Any], *, swap: bool) -> Callable[[Public, Any], Any]:
    def method(self: Public, other: Any) -> Any:
        if isinstance(other, (np.ndarray, Number)) or not isinstance(other, (int, float, Public, np.number)):
            return f(other, self.used()) if swap else f(self.used(), other)
        number = other.value if isinstance(other, Public) else other
        found = f(number, self.value) if swap else f(self.value, number)
        return now().turn(bool(found)) if isinstance(found, (bool, np.bool_)) else Public(found, self.name)

    return method


def _by_value(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: f(self.used(), *args)


_BY_VALUE: dict[str, Callable[..., Any]] = {
    "int": int,
    "index": operator.index,
    "float": float,
    "hash": hash,
    "str": str,
    "format": format,
}
for _name, _f in _BY_VALUE.items():
    setattr(Public, f"__{_name}__", _by_value(_f))
for _name in ["lt", "le", "gt", "ge", "eq", "ne", "add", "sub", "mul", "mod", "floordiv", "truediv", "pow"]:
    setattr(Public, f"__{_name}__", _computed(getattr(operator, _name), swap=False))
for _name in ["add", "sub", "mul", "mod", "floordiv", "truediv", "pow"]:
    setattr(Public, f"__r{_name}__", _computed(getattr(operator, _name), swap=True))


class Draws(np.random.Generator):
    """A generator whose draws are variables while secrets are drawn, and public coins otherwise.

    ``secret`` says that they always are (seeded by the system) or never (seeded by a public number).
    """

    secret: bool | None = None

    def spawn(self, n_children: int) -> Any:
        """Return generators like this one."""
        children = [Draws(each) for each in self.bit_generator.spawn(n_children)]
        for each in children:
            each.secret = self.secret
        return children

    def drawn(self, name: str, args: Any, kw: Any) -> Any:
        """Return what a method of NumPy's draws, as variables or as coins."""
        args, kw = values(args, "a parameter of a draw"), values(kw, "a parameter of a draw")
        before = repr(self.bit_generator.state)
        found = getattr(np.random.Generator, name)(self, *args, **kw)
        trace = now()
        if self.secret is False:
            return found
        if not (trace.secret_draws or self.secret):
            return coin(found)
        if before in trace.states and before != repr(self.bit_generator.state):
            trace.leave("secret draws that were made before: a generator was set back, or has a twin,")
        trace.states.add(before)
        single = np.asarray(found).dtype
        if name not in _LAWS or (single.kind == "f" and single.itemsize < 8):
            trace.leave(f"secret draws by {name}(), a law that is not followed,")
        return _variables(found, *_law(name, np.shape(found), args, kw))


def _law(name: str, shape: tuple[int, ...], args: Any, kw: Any) -> tuple[Any, Any, int]:
    """Return standard deviations, of whole draws how many values they take, and the least value."""
    given = dict(zip((*_LAWS[name], "size"), args, strict=False)) | kw
    low, high = given.get("low", 0), given.get("high", 1)
    if name == "integers":
        low, high = (0, low) if given.get("high") is None else (low, high)
        high = high + bool(given.get("endpoint", False))
    width = given.get("scale", 1.0) if "scale" in _LAWS[name] else np.subtract(high, low, dtype=object)
    count = width if name == "integers" else 0
    least = int(np.min(low)) if name == "integers" else 0
    spread = np.asarray(width, dtype=float) * _SPREAD[name]
    return np.broadcast_to(spread, shape), np.broadcast_to(np.asarray(count, object), shape), least


def _variables(found: Any, spread: Any, count: Any, least: int) -> Any:
    trace, place = now(), here()

    def one(value: Any, size: float, values: Any) -> Number:
        step = 1 if values else 0
        variable = trace.variable("draw", -1, value, step, spread=size, range=int(values), place=place)
        number = Number(value, {variable: 1}, INF, DRAWS, step)
        number.below = least + int(values) if values and least >= 0 else 0
        return number

    if np.ndim(found) == 0:
        return one(found.item() if isinstance(found, np.generic) else found, float(spread), count.item())
    return array_of(np.frompyfunc(one, 3, 1)(found.astype(object), spread, count), found.dtype)


def coin(found: Any) -> Any:
    """Return a public coin: one number is tried both ways where it is compared; of more those drawn are covered."""
    if np.ndim(found) == 0 and isinstance(found, (int, float, np.number)):
        return Public(found.item() if isinstance(found, np.generic) else found, "a public coin")
    now().narrow("public coins")
    return found


def _method(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kw: self.drawn(name, args, kw)


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in ("bit_generator", "spawn"):
        setattr(Draws, _name, _method(_name))


def generator(seed: Any = None) -> Any:
    """Stand for ``default_rng``: seeded by the system its draws are secret, by a public number they are public."""
    if is_secret(seed):
        now().leave("a seed made of a secret")
    if isinstance(seed, np.random.Generator):
        return seed
    seed = seed.used() if isinstance(seed, Public) else seed
    trace = now()
    trace.system_seeds += seed is None
    made = Draws(np.random.default_rng([7, trace.system_seeds] if seed is None else seed).bit_generator)
    made.secret = seed is None
    return made


def randbelow(bound: int) -> Any:
    """Stand for ``secrets.randbelow``: a secret draw of the system's."""
    return generator().integers(0, bound, **({"dtype": np.uint64} if bound > 2**63 else {}))
