# ruff: noqa: E501
"""Calls of NumPy's with all their arguments: what is followed has NumPy's numbers, also in buffers; else the proof ends."""

import contextlib
import math
import statistics
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.special  # noqa: F401
from unit.kernel.examples import evaluated

from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.arrays import Followed, array_of, concrete
from secmix.kernel.values.current_trace import INF, LeftTrace, Trace, following
from secmix.kernel.values.numbers import Number

pytestmark = pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")

FOLLOWED = """
np.clip(x, 0, None, out=o) | np.clip(x, None, 0.5, o) | np.clip(x, -1, 1, out=o) | np.clip(x, min=0) | np.clip(x, max=0, out=o) | x.clip(0, None, o) | x.clip(max=0, out=o) | x.clip(min=-1)
np.round(x, out=o) | np.round(x, 1, o) | np.around(x, decimals=2, out=o) | x.round(1, out=o) | x.round(out=o) | np.fix(x, out=o) | np.fix(x, o) | np.round(i, 2) | np.round(i, -1) | i.round(out=n)
np.cumsum(x, axis=1, out=o) | np.cumsum(x, axis=-1, dtype=float, out=o) | x.cumsum(axis=0, out=o) | np.cumprod(x, axis=1, out=o) | x.cumprod(1, None, o) | np.cumsum(i.astype(np.int8), axis=1) | np.cumsum(x)
np.sum(x, axis=0, out=r) | np.sum(x, 0, None, r) | x.sum(axis=0, out=r) | np.sum(x, axis=0, initial=5) | np.sum(x, 1, keepdims=True) | np.sum(x > 0, axis=0)
np.mean(x, axis=0, out=r) | x.mean(axis=0, out=r) | np.mean(x, axis=1, keepdims=True) | np.mean(i, axis=0) | np.mean(s, axis=0) | np.mean(s.astype(np.float16), axis=0) | np.mean(x, axis=0, dtype=np.float32)
np.max(x, axis=0, out=r) | x.max(axis=0, out=r) | np.max(x, initial=0.5) | np.min(x, axis=0, keepdims=True) | np.amax(x, 0, r) | x.min(0, r) | np.prod(x, axis=0, out=r) | np.prod(x, initial=2)
np.any(x > 0, axis=0, out=b) | np.all(x > 0, axis=0, out=b) | (x > 0).any(axis=0, out=b) | np.any(x > 9, axis=0, keepdims=True) | np.any(x) | np.all(x, axis=0)
np.concatenate([x, x], out=w) | np.concatenate([x, x], 0, w) | np.concatenate([x, i]) | np.concatenate([x, x], dtype=np.float32) | np.concatenate([i, i], dtype=float) | np.concatenate([x, x], dtype=np.int8, casting="unsafe") | np.concatenate([s, s], out=w) | np.stack([x, x], axis=0, dtype=np.float32) | np.vstack([i, x])
np.take(x, [0, 2], axis=1, out=v) | x.take([0, 2], axis=1, out=v) | np.take(x, [0, 3], axis=1, mode="wrap") | x.take([1]) | np.compress([1, 0, 1], x, axis=1, out=v) | x.compress([True, False, True], axis=1, out=v) | np.repeat(x, 2, axis=0) | x.repeat(2)
np.argmax(x, axis=0, out=z) | x.argmin(0, z) | np.median(x, axis=0, out=r) | np.std(x, axis=0, out=r) | np.std(x, axis=0, ddof=1) | np.left_shift(i, i % 5) | np.right_shift(i, i % 3) | s.std(axis=0) * 1 | x.std(0, None, r) | np.quantile(x, 0.5, axis=0, out=r) | np.quantile(x, [0.1, 0.9], axis=1) | np.ptp(x, axis=0, out=r) | np.nansum(x, axis=0, out=r)
np.sort(x, axis=0) | np.sort(x, axis=-1, kind="stable") | np.partition(x, 1) | np.partition(x, 1, axis=0)
np.add(x, 1, out=o) | np.add(x, x, o) | np.add(x, 1, dtype=np.float32) | np.multiply(s, s, dtype=np.float64) | np.add.reduce(x, axis=0, out=r) | np.add.reduce(x > 0) | np.add.accumulate(x, axis=1, out=o) | np.multiply.outer(x[0], r + 2)
np.add(x > 0, x > 1) | np.multiply(x > 0, x > 1) | np.add.reduce(i.astype(np.uint8) + np.uint8(250), axis=0) | i.astype(np.int8).sum(axis=0) | np.sum(i.astype(np.int8) + np.int8(120), axis=0, dtype=np.int8) | np.sum(i.astype(np.uint8) + np.uint8(250), dtype=np.uint8)
np.add(s, s) | s + x | s * 3 | s.sum(axis=0) | np.cumsum(s, axis=1) | np.sum(x, axis=0, dtype=np.float32) | s.sum(axis=0, dtype=float) | np.add(x, x, out=f) | np.concatenate([x[0], x[1]], out=f.reshape(6)) | s - x | np.where(m, s, 0.0) | np.where(m, i, x) | np.outer(i[0], x[0])
np.dot(x, r, out=d) | x.dot(r + 1) | np.einsum("ij->i", x, out=d) | np.outer(x[0], r, out=np.zeros((3, 3))) | np.trace(x, out=np.zeros(())) | x.trace(0, 0, 1) | np.trace(x > 0) | np.average(i, axis=0) | np.diff(x > 0) | np.matmul(x, r, out=d) | np.average(x, axis=0, weights=[1, 2])
o.__setitem__(..., x) | f.__setitem__(..., x) | n.__setitem__(..., i) | e.__setitem__(..., i * 100) | o.fill(x[0, 0]) | f.fill(x[0, 0]) | o.T.__setitem__(0, x[:, 0]) | o.ravel().__setitem__(1, x[0, 0]) | np.ravel(o).__setitem__(1, x[0, 0]) | np.reshape(o, 6).__setitem__(slice(0, 3), x[0])
np.copyto(o, x) | np.copyto(f, x, casting="same_kind") | np.copyto(o, x, where=m) | np.copyto(o, x, "same_kind", x > 0)
np.copyto(o, 2.0) | o.partition(1) | o.sort() | o.fill(2.0) | np.add(o, 1, out=o) | o.round(out=o)
x.copy().sort(axis=0) | q.sort(axis=0) | q.__iadd__(1) | q.__imul__(x) | f.__iadd__(x) | np.add.at(f, [0], x[:1]) | np.add.at(f, [0, 0], x) | np.subtract.at(o, [1], x[:1]) | np.maximum.at(o, [0], x[:1]) | np.add.at(n, [0, 0], i) | np.add.at(u, [0, 0], i.astype(np.uint8))
np.full_like(n, x[0, 0]) | np.full_like(x, x[0, 0], dtype=np.float32) | np.full((2,), x[0, 0], dtype=np.float32) | np.full(2, x[0, 0], np.int8) | np.ones_like(x, dtype=np.float32) + x | np.zeros_like(x, shape=(3,)) + x[0]
np.sum([x[0], x[1]], axis=0) | np.mean([x[0, 0], x[0, 1]]) | np.max([x[0], x[1]], axis=0) | np.clip([x[0, 0]], 0, None) | np.round([x[0], x[1]], 1) | np.round(x[0, 0], 1) | np.rint(x[0, 0]) | np.floor(x[0, 0]) | np.sqrt(np.abs(x[0, 0])) | np.median([x[0, 0], 2.0, 1.0]) | np.sum((x[0], s[0]), axis=0)
(i.astype(np.int8) + np.int8(120)) + i | np.multiply((i.astype(np.int8) + np.int8(120)), 0.5) | np.maximum.at(h, [0], h[:1] + np.int8(120)) or h | (x > 0) @ (x > 0).T | np.add.at(e, [0], (i.astype(np.int8) + np.int8(120))[:1]) or np.maximum(e, 0) | q.astype(float, copy=False).__iadd__(1)
np.sum(x[:0], axis=0) | np.broadcast_arrays(x, i) | np.append(i[0], x[0, 0]) | np.insert(i[0], 1, x[0, 0]) | np.meshgrid(x[0], i[0]) | np.add(x[0, 0], [1, 2]) | np.add.reduceat(x, [0, 2], axis=1) | np.add.reduceat(i.astype(np.uint8), np.array([1, 0, 1])) | np.subtract.reduceat(x, [0, 1], axis=1, out=v) | np.maximum.reduceat(x, (2, 1, 0), -1) | np.add.reduceat(x > 0, [1, 0]) | np.multiply.reduceat(x, [1, 0, 1], 0, np.float32) | np.add.reduceat([x[0, 0], 2.0], [0])
u[0, 0] + i.astype(np.uint8)[0, 0] + np.uint8(250) | sum(i.astype(np.uint8)[:, 0]) | s[0, 0] / 3 | float(s[0, 0]) / 3 | [s[0, 0], 1.0] | np.array([s[0, 0], s[0, 1]]) | max(s[0, 0], s[0, 0]) | math.exp(s[0, 0]) | int(h[0, 0]) * 100 | h[0, 0] * np.int8(2)
math.fsum(x[0]) | math.fsum([x[0, 0], 2.0]) | math.fsum(v * 2 for v in x[0].tolist()) | math.fsum(i[0])
"""
"""Followed to the end."""
MAY_END = """
np.add(x, 1, where=m) | np.add(x, 1, where=x > 0) | np.add(x, 1, where=m, out=None) | np.sum(x, where=m) | x.sum(where=m, axis=1) | x.sum(0, initial=2.0, where=m) | np.max(x, axis=1, initial=0.0, where=m) | np.all(x > 0, where=m) | np.nan_to_num(x, nan=1.0) | np.nan_to_num(x, True, 2.0) | np.isclose(x, 0, 1.0, 0.5) | np.isposinf(x) | np.isclose(x, x, equal_nan=True) | np.add(x, 1, where=m, out=o) | np.add(x, 1, o, where=x > 0) | np.add.reduceat(x, i[0, :1]) | list(x.T.flat) | x.flat[3] | np.put(o, [0, 4], x[0, :2]) | o.put([1], x[0, 0]) | np.put(f, [0], x[0, 0]) | np.place(o, m, x[0]) | np.putmask(o, m, x) | np.fill_diagonal(o, x[0, 0]) | np.put_along_axis(o, np.array([[0], [1]]), x[:, :1], 1) | np.put(o, [0, 4], 5.0) | np.place(o, m, [1.0, 2.0]) | np.fill_diagonal(o, 3.0) | np.putmask(o, m, 4.0) | q.partition(1, axis=0) | q.partition(1)
np.sum(x, axis=0, where=x > 0) | np.mean(x, where=m) | np.clip(x, 0, 1, where=m, out=o) | np.clip(x, 0, 1, dtype=np.float32, casting="unsafe") | np.var(x, axis=0, mean=0.0) | np.add(x, 1, signature="dd->d") | np.median(q, overwrite_input=True) | np.nan_to_num(q, copy=False)
np.matmul(x, x.T, axes=[(0, 1), (0, 1), (0, 1)]) | np.vecdot(x, x) | np.vecdot(x, np.ones(3)) | np.divmod(x, 2.0) | np.modf(x) | np.percentile(q, 50, overwrite_input=True) | q.resize((3, 2), refcheck=False) | np.choose([0, 1, 0], x, out=r) | np.cumsum(x, axis=0, out=n, dtype=int) | np.select([m], [x]) | np.apply_along_axis(np.sum, 0, x)
np.put(n[0], [1], i[0, 0]) | np.place(o, x > 0, [1.0]) | np.putmask(o, x > 0, x) | np.einsum("ij,j->i", s, s[0]) | np.dot(s, s[0]) | s @ s[0] | np.average(s, axis=0) | np.diff(s) | np.setdiff1d(x, x) | np.linalg.norm(x, axis=0) | np.linalg.norm(x, 1, 0) | np.linalg.trace(x) | np.einsum("ij->i", x, dtype=float)
np.random.default_rng(0).shuffle(q) | o.byteswap(inplace=True) | np.unique(q) | np.ndarray.sort(q) | np.ndarray.fill(q, x[0, 0]) | q.setfield(1.0, np.float64) | np.nanmedian(q, axis=0, overwrite_input=True) | np.add(x, 1, out=np.zeros((2, 3), np.intp), casting="unsafe") | np.logical_and.reduce(x) | np.maximum.reduce(x, axis=1, initial=0.0, where=m)
"""
"""Followed, or the proof ends there."""


def _names(x: Any = 0.0) -> dict[str, Any]:
    """Arguments of the calls: made of secrets, buffers, and what is public."""
    x = x + np.zeros((2, 3))
    shapes = {"o": (2, 3), "r": 3, "d": 2, "w": (4, 3), "v": (2, 2)}
    kinds = {"f": np.float32, "n": np.int64, "e": np.int8, "u": np.uint8}
    made = {
        "x": x,
        "i": np.rint(x * 8).astype(np.int64),
        "h": np.rint(x * 8).astype(np.int8),
        "s": x.astype(np.float32),
        "q": x * 1,
    }
    made |= {key: np.zeros(shape) for key, shape in shapes.items()}
    made |= {key: np.zeros((2, 3), kind) for key, kind in kinds.items()}
    made |= {"b": np.zeros_like(x[0] > 0), "z": np.zeros_like(np.argsort(x[0]))}
    return made | {"m": np.array([[True, False, True], [True, True, False]])}


def _evaluated(call: str, names: dict[str, Any]) -> Any:
    return evaluated(call, globals() | names)


def traced_call(call: str, x: Any, how: Any = _evaluated) -> Any:
    names = _names(x)
    with np.errstate(all="ignore"):
        found = how(call, names)
    return [found, *names.values()], [key for key, each in names.items() if each is found]


def _plain(seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(2, 3))


def _follow(call: str, how: Any = _evaluated) -> tuple[Any, list[str], Trace]:
    trace, values = Trace(), _plain(0)
    with following(trace):
        numbers = np.empty((2, 3), object)
        for place, value in np.ndenumerate(values):
            numbers[place] = Number(value, {trace.variable("input", place[0], value, 0): 1}, INF, 2 << place[0], 0)
        with replaced([__name__]):
            try:
                return *traced_call(call, array_of(numbers, float), how), trace
            except LeftTrace:
                return None, [], trace


def _is_as_in_numpy(call: str, found: Any, same: list[str], trace: Trace) -> None:
    plain, same_plainly = traced_call(call, _plain(0))
    assert same == same_plainly
    with following(trace):
        for a, b in zip(found, plain, strict=True):
            a = concrete(a)
            if b is not None:
                assert np.shape(a) == np.shape(b)
                assert np.asarray(a).dtype.kind.replace("u", "i") == np.asarray(b).dtype.kind.replace("u", "i")
                assert np.allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=1e-9, atol=1e-12)


def _calls(text: str) -> list[str]:
    return [each.strip() for line in text.strip().split("\n") for each in line.split(" | ")]


@pytest.mark.parametrize("call", _calls(FOLLOWED))
def test_a_call_does_what_numpy_does_to_results_buffers_and_arguments(call: str) -> None:
    found, same, trace = _follow(call)
    assert not trace.left
    _is_as_in_numpy(call, found, same, trace)


@pytest.mark.parametrize("call", _calls(FOLLOWED) + _calls(MAY_END))
def test_what_is_said_of_numbers_after_a_call_is_true_of_other_secrets(call: str) -> None:
    found, _, trace = _follow(call)
    runs = [] if trace.left else [(_plain(seed).ravel(), traced_call(call, _plain(seed))[0]) for seed in range(5)]
    inputs = [number for number, variable in trace.variables.items() if variable.kind == "input"]
    for place, after in enumerate(found or ()):
        numbers = after.objects.ravel().tolist() if isinstance(after, Followed) else [after]
        for k, number in enumerate(numbers):
            values = [float(np.ravel(np.asarray(each[place], float))[k]) for _, each in runs if each[place] is not None]
            if type(number) in (int, float, bool):
                assert {*values} <= {float(number)}  # public
            elif isinstance(number, Number) and number.modulus == INF and number.terms.keys() <= {*inputs}:
                forms = [sum(c * x[inputs.index(v)] for v, c in number.terms.items()) for x, _ in runs]
                assert np.ptp(np.subtract(values, forms)) < 1e-12  # linear


@pytest.mark.parametrize("call", _calls(MAY_END))
def test_what_is_not_followed_of_a_call_ends_the_proof(call: str) -> None:
    found, same, trace = _follow(call)
    if not trace.left:
        _is_as_in_numpy(call, found, same, trace)


@pytest.mark.parametrize("call", ["np.add.reduceat(x, [2])", "np.add.reduceat(x, [-1])", "np.add.reduceat(x, [[0]])"])
def test_stretches_that_numpy_refuses_are_refused(call: str) -> None:
    with pytest.raises((IndexError, ValueError)):
        traced_call(call, _plain(0))
    with pytest.raises((IndexError, ValueError)):
        _follow(call)


SHORT = """
s + s | s - x.astype(np.float32) | s.sum(axis=0) | np.cumsum(s, axis=0) | s.mean(axis=0) | np.add.reduce(s) | np.sum(x, axis=0, dtype=np.float32) | np.add(x[0], x[1], dtype=np.float32)
np.add.at(f, [0, 0], x) or f[0] | f.__setitem__(0, x[0] + x[1]) or f[0] | np.add(x[0], x[1], out=f[0]) | np.concatenate([x[0] + x[1]], dtype=np.float32) | np.full((2,), x[0, 0] + x[1, 0], dtype=np.float32)
np.copyto(f, x + x[::-1]) or f | np.sum([s[0], s[1]], axis=0) | f.fill(x[0, 0] + x[1, 0]) or f
s[0, 0] + s[1, 0] | [a + b for a, b in zip(s[0], s[1])][0] | np.max(s[0]) + np.min(s[1]) | s[0, 0] * np.float32(3) + s[1, 0] | sum(s[:, 0]) | s[0].sum() + s[1].sum()
"""


@pytest.mark.parametrize("call", _calls(SHORT))
def test_what_is_rounded_to_short_floats_is_no_linear_form_of_two_nodes(call: str) -> None:
    found, _, trace = _follow(call)
    assert not trace.left
    for number in found[0].objects.ravel().tolist() if isinstance(found[0], np.ndarray) else [found[0]]:
        if isinstance(number, Number) and number.depends == 6:
            assert not number.modulus


CAUGHT = """
np.array([i[0, 0]], dtype=np.int8) | np.array([int(x[0, 0])], dtype=np.int8) | np.asarray([x[0, 0]], dtype=int) | int(x[0, 0]) | round(x[0, 0]) | math.log(x[0, 0]) | math.floor(x[0, 0]) | i[0, 0] // i[0, 1] | i[0, 0] % i[0, 1]
2 ** i[0, 0] | i[0, 0] ** i[0, 1] | 1 << i[0, 0] | i[0, 0] << abs(i[0, 1]) | i[0, 0] >> abs(i[0, 1]) | x[0, 0] / x[0, 1] | e.__setitem__((0, 0), i[0, 0]) | n.__setitem__((0, 0), x[0, 0]) | np.power(i, abs(i)) | math.fsum(x[0]) | np.linalg.inv(x[:, :2])
np.full(2, i[0, 0], np.int8) | x[0, 0] ** 0.5
"""


NEVER_CAUGHT = """
x ** 2 | x ** 0.5 | np.power(x, -1) | np.power(i, 2) | i ** 3 | np.float_power(i, 2) | np.power(2.0, x) | np.linalg.norm(x) | np.linalg.norm(x, axis=1) | np.sort(x) | np.median(x, axis=0) | np.argmax(x) | np.std(x) | 1 / np.maximum(x[0, 0], 0.5) | 9.0 / (abs(x[0, 0]) + 1) | x[0, 0] % (abs(x[0, 1]) + 0.5) | 7.0 // np.maximum(x[0, 0], 2.0) | math.sqrt(abs(x[0, 0])) | math.log(abs(x[0, 0]) + 1.0) | scipy.special.softmax(x, axis=1) | scipy.special.logsumexp(x)
"""
MAY_BE_CAUGHT = """
1 / x[0, 0] | 1 / abs(x[0, 0]) | math.exp(x[0, 0]) | (abs(x[0, 0]) + 1.0) ** 2 | math.sqrt(x[0, 0]) | math.log(abs(x[0, 0])) | 7.0 // x[0, 0] | 1 / np.maximum(x[0, 0], 0.0)
i ** i | np.power(i, i) | np.power(2, i) | np.linalg.norm(x, ord=2) | np.linalg.norm(x, 2) | np.quantile(x, x[0, 0]) | np.linalg.inv(x[:, :2]) | np.histogram(x, 4)[0]
"""


def divided(x: Any) -> Any:
    with np.errstate(all="raise"):
        return 1.0 / x


def in_the_end(x: Any) -> Any:
    try:
        return math.sqrt(x[0, 0])
    finally:
        x = x * 2


def in_a_stack(x: Any) -> Any:
    with contextlib.ExitStack():
        return math.sqrt(x[0, 0])


def in_a_thread(x: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        root = pool.submit(math.sqrt, x[0, 0])
    return root.exception()


def called_back(x: Any) -> Any:
    return statistics.harmonic_mean(math.sqrt(each) for each in x[0].tolist())


@pytest.mark.parametrize("call", ["divided(x)", "in_the_end(x)", "in_a_stack(x)", "in_a_thread(x)", "called_back(x)"])
def test_a_failure_that_something_may_catch_is_a_branch(call: str) -> None:
    assert _follow(call)[2].left
    assert not _follow("math.sqrt(abs(x[0, 0]))")[2].left


def test_a_failure_that_a_protocol_is_called_for_is_a_branch() -> None:
    assert _follow("noting(x)")[2].left


def noting(x: Any) -> Any:
    with np.errstate(all="call", call=lambda *failure: None):
        return np.log(x)


def _tried(call: str, names: dict[str, Any]) -> Any:
    try:
        return evaluated(call, globals() | names)
    finally:
        names.clear()


@pytest.mark.parametrize(
    ("call", "is_left"),
    [*((each, False) for each in _calls(NEVER_CAUGHT)), *((each, True) for each in _calls(MAY_BE_CAUGHT))],
)
def test_what_never_fails_is_no_branch_where_a_failure_is_caught(call: str, is_left: bool) -> None:
    assert bool(_follow(call, _tried)[2].left) == is_left


def _attempted(call: str, names: dict[str, Any]) -> Any:
    try:
        return evaluated(call, globals() | names)
    except (ValueError, OverflowError, ZeroDivisionError, FloatingPointError):
        return None


@pytest.mark.parametrize("call", _calls(CAUGHT))
def test_a_failure_that_the_protocol_catches_is_a_branch(call: str) -> None:
    assert _follow(call, _attempted)[2].left
    assert not _follow(call)[2].left
