"""What a number is known not to fall below, or to stay below, it does not, whatever a node's data are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.kernel.arrays import array_of, secrets_in
from secmix.kernel.forms import alone
from secmix.kernel.numbers import Number
from secmix.kernel.state import INF, Trace, following

DATA = st.lists(st.floats(-40, 40), min_size=3, max_size=3)
ONE: dict[str, Callable[[Any], Any]] = {
    "absolute": np.abs,
    "square": np.square,
    "power": lambda x: x**2,
    "odd power": lambda x: x**3,
    "exponential": lambda x: np.exp(np.minimum(x, 3.0)),
    "median": lambda x: np.median(x) + 0 * x,
    "sorted": np.sort,
    "power of a size": lambda x: np.abs(x) ** 1.5,
    "root": lambda x: np.sqrt(np.abs(x)),
    "root above 2": lambda x: np.sqrt(np.maximum(x, 2.0)),
    "cut off": lambda x: np.clip(x, 0, 6.5),
    "cut off at whole numbers": lambda x: np.clip(x, 1, 6),
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "trunc": np.trunc,
    "round": np.round,
    "shifted": lambda x: x - 1.5,
    "negative": lambda x: -x,
    "half": lambda x: x / 2,
    "sum": lambda x: x.sum() + 0 * x,
    "mean": lambda x: x.mean() - 0 * x,
    "turned": lambda x: x[::-1],
}
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "quotient": lambda a, b: a / (1.0 + np.abs(b)),
    "where": lambda a, b: np.where(a > b, a, b),
}
STEPS = st.lists(st.tuples(st.sampled_from([*ONE, *TWO]), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8)


def unknowns(values: list[float]) -> Any:
    trace = Trace()
    numbers = [(value, trace.variable("input", 0, value, 0)) for value in values]
    with following(trace):
        yield array_of(np.array([Number(v, alone(k), INF, 2, 0) for v, k in numbers], object), float)


def _traced_call(function: Callable[..., Any], *args: Any) -> Any:
    """Call it as a trace does: beyond this nobody catches an error."""
    return function(*args)


def computed(first: Any, steps: Any) -> list[Any]:
    several = [first]
    for name, one, other in steps:
        args = (several[one % len(several)], several[other % len(several)])
        several.append(ONE[name](args[0]) if name in ONE else TWO[name](*args))
    return several


@given(DATA, DATA, STEPS)
def test_bounds_hold_for_other_data(values: list[float], others: list[float], steps: Any) -> None:
    """Of one trace, whose bounds are compared with what the same functions make of other data."""
    (trace,) = (_traced_call(computed, x, steps) for x in unknowns(values))
    for array, plain in zip(trace, computed(np.array(others), steps), strict=True):
        several = zip(array.reading.ravel().tolist(), np.asarray(plain).ravel().tolist(), strict=True)
        for number, value in several:
            if isinstance(number, Number) and math.isfinite(value):
                assert value >= number.least - 1e-12 * abs(value)
                assert not number.below or 0 <= value < number.below


@pytest.mark.parametrize(
    ("function", "least", "below"),
    [
        (lambda x: np.sqrt((x**2).sum()), 0.0, 0),
        (lambda x: np.sqrt(x.var() + 1e-5), 1e-5**0.5, 0),
        (lambda x: np.einsum("i,i->", x, x), 0.0, 0),
        (lambda x: x[0] * x[1], -INF, 0),
        (lambda x: x[0] ** 3, -INF, 0),
        (lambda x: x[0] ** np.maximum(x[1], 0.0), -INF, 0),
        (lambda x: np.maximum(x[0], 3) / 5 - 3 / 5, 0.0, 0),
        (lambda x: np.exp(x).sum(), 0.0, 0),
        (lambda x: np.median(np.maximum(x, 0.5)), 0.5, 0),
        (lambda x: np.abs(x[0]) ** 0.5, 0.0, 0),
        (lambda x: np.power(np.abs(x[0]), 1.5), 0.0, 0),
        (lambda x: np.power(x[0], 1.5), -INF, 0),
        (lambda x: np.exp(np.maximum(x[0], 1.0)), math.e, 0),
        (lambda x: np.clip(x[0], 0, 4.5).astype(int), 0, 5),
        (lambda x: np.rint(np.clip(x[0], 0, 4.5)).astype(int), 0, 6),
        (lambda x: np.clip(x[0], 0, INF), 0, 0),
        (lambda x: np.clip(x[0], -1, 4), -1, 0),
    ],
)
def test_bounds_are_known(function: Callable[[Any], Any], least: float, below: int) -> None:
    for x in unknowns([1.0, 2.0, 3.0]):
        (number,) = secrets_in([_traced_call(function, x)])
        assert number.least == pytest.approx(least)
        assert number.below == below
