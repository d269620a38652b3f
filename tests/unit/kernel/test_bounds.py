"""What a number is known not to fall below, or to stay below, it does not, whatever a node's data are."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.arrays import array_of, secrets_in
from secmix.kernel.values.current_trace import INF, Trace, following
from secmix.kernel.values.forms import alone
from secmix.kernel.values.numbers import Number

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


def traced_call(function: Callable[..., Any], *args: Any) -> Any:
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
    (trace,) = (traced_call(computed, x, steps) for x in unknowns(values))
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
        # One of the terms is exp(0), where all numbers are there of which the largest is subtracted.
        (lambda x: np.exp(x - x.max()).sum(), 1.0, 0),
        (lambda x: np.exp(3 * x - (3 * x).max(keepdims=True)).sum(keepdims=True) + 2.0, 3.0, 0),
        (lambda x: np.exp(np.abs(x) - np.maximum.reduce(np.abs(x))).sum(), 1.0, 0),
        (lambda x: np.exp(x[:2] - (m := x[:2].max())).sum() + np.exp(x - np.maximum(m, x[2])).sum(), 2.0, 0),
        (lambda x: np.exp(x - x.max())[1:].sum(), 0.0, 0),
        (lambda x: np.exp(x[1:] - x.max()).sum(), 0.0, 0),
        (lambda x: np.exp(x - x[1:].max()).sum(), 0.0, 0),
        (lambda x: np.exp(x - x.min()).sum(), 0.0, 0),
        (lambda x: np.exp((x - x.max()).sum()), 0.0, 0),
        (lambda x: np.exp(x - np.maximum(x.max(), 0.0)).sum(), 0.0, 0),
        (lambda x: np.exp(x[:2] - x[:2].max()).sum() - np.exp(x[2] - x[1:].max()), -INF, 0),
        (lambda x: np.exp(x[0] - x[:2].max()) + np.exp(x[2] - x[1:].max()), 0.0, 0),
    ],
)
def test_bounds_are_known(function: Callable[[Any], Any], least: float, below: int) -> None:
    for x in unknowns([1.0, 2.0, 3.0]):
        (number,) = secrets_in([traced_call(function, x)])
        assert number.least == pytest.approx(least)
        assert number.below == below


def whole(x: Any) -> Any:
    """Return a number cut off, as Python has it."""
    return x.item().astype(int) if isinstance(x.item(), Number) else int(x.item())


# What fails, or is no finite number, at a number that audited data do not have.
FAILING: dict[str, tuple[Callable[[Any], Any], float]] = {
    "a table with no number below its first": (lambda x: np.interp(x, [0.0, 9.0], [1.0, 2.0], left=np.nan), -1.0),
    "a table that begins at infinity": (lambda x: np.interp(x, np.arange(3), np.array([-INF, 1.0, 2.0])), 0.5),
    "a power of a negative number": (lambda x: np.power(-2.0, x), 0.5),
    "a power of a negative number, as a float": (lambda x: np.float_power(-2.0, x), 0.5),
    "a power of nought": (lambda x: 0.0 ** x.item(), -1.0),
    "a power of whole numbers": (lambda x: np.power(np.array([2]), x.astype(int)), -1.0),
    "a root of a power of a matrix": (
        lambda x: np.sqrt(np.linalg.matrix_power(np.array([[x.item(), 0.0], [0.0, 1.0]]), 3)),
        -1.0,
    ),
    "a logarithm to a base": (lambda x: math.log(5.0, x.item()), 1.0),
    "combinations": (lambda x: math.comb(9, whole(x)), -1.0),
    "arrangements": (lambda x: math.perm(9, whole(x)), -1.0),
    "a shift by less than nought": (lambda x: 1 << whole(x), -1.0),
    "a shift back by less than nought": (lambda x: 8 >> whole(x), -1.0),
    "a quantile out of range": (lambda x: np.quantile(np.arange(9.0), x / 4), -1.0),
}


def noted(function: Callable[[Any], Any], value: float) -> bool:
    """Say whether it is noted that a function of a node's number may fail, or be no finite number."""
    trace = Trace()
    with replaced({__name__}), following(trace):
        variable = trace.variable("input", 0, value, 0)
        x = array_of(np.array([Number(value, alone(variable), INF, 2, 0)], object), float)
        traced_call(function, x)
    return bool(trace.by_value or trace.stops)


@pytest.mark.parametrize("name", FAILING)
def test_what_may_fail_on_other_data_is_noted(name: str) -> None:
    function, worst = FAILING[name]
    with np.errstate(all="ignore"), contextlib.suppress(ValueError, ZeroDivisionError):
        assert not np.isfinite(function(np.array([worst]))).all()
    assert noted(function, 2.0)


FINITE: dict[str, Callable[[Any], Any]] = {
    "a table of numbers": lambda x: np.interp(x, [0.0, 9.0], [1.0, 2.0], left=-1.0),
    "a power of a number above nought": lambda x: np.power(2.0, x),
    "a power of whole numbers": lambda x: np.power(np.array([2]), np.clip(x, 0, 9).astype(int)),
    "a square": lambda x: x**2,
    "a shift": lambda x: 1 << np.clip(x, 0, 9).astype(int).item(),
    "a quantile": lambda x: np.quantile(x, 0.5),
}


@pytest.mark.parametrize("name", FINITE)
def test_what_is_finite_for_all_data_is_not(name: str) -> None:
    assert not noted(FINITE[name], 2.0)
