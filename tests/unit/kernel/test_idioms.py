# ruff: noqa: E501, F401
"""How strangers write NumPy: what becomes of a secret is followed, or ends the proof; nothing is lost in silence."""

import array
import contextlib
import copy
import decimal
import functools
import hashlib
import itertools
import json
import math
import pickle
import random
import statistics
import struct
import zlib
from typing import Any

import numba
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.spatial
import scipy.special
from scipy import special
from scipy.special import logsumexp
from unit.kernel.examples import evaluated

from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.arrays import Followed, array_of, concrete, is_secret
from secmix.kernel.values.current_trace import INF, LeftTrace, Trace, following
from secmix.kernel.values.numbers import Number


@numba.njit
def jitted(x: Any) -> Any:
    return x.sum()


LINEAR = """
lazy_numpy(x) | x + 1 | x - x[0] | 2 * x | x / 4 | -x | x.sum() | x.sum(axis=1) | np.sum(x, axis=0, keepdims=True) | x.mean(axis=0) | np.mean(x)
np.cumsum(x, axis=0) | np.einsum("ij->j", x) | np.einsum("ij,jk->ik", x, np.ones((3, 2))) | np.tensordot(x, np.ones(3), 1)
x @ np.ones(3) | np.ones(2) @ x | np.dot(np.ones((4, 2)), x) | np.kron(x, np.ones(2)) | np.matmul(x, np.ones((3, 1)))
scipy.sparse.csr_array(np.eye(2)) @ x | scipy.sparse.eye(2, format="csr") @ x | scipy.sparse.coo_matrix(np.ones((2, 2))) @ x
scipy.sparse.csc_array((np.ones(2), ([0, 1], [1, 0])), shape=(2, 2)) @ x | np.roll(x, 1) | np.tril(x) | np.trace(x)
np.array([x[0], x[1]]) | np.array([[1.0, x[0, 0]]]) | np.block([[x], [x]]) | np.pad(x, 1)
np.stack([x[0], np.ones(3)]) | np.concatenate([x, x]) | np.vstack([x, x]) | np.hstack([x, x]) | np.take(x, [0], axis=1)
np.array_split(x, 2) | np.diff(x) | np.where(True, x, 0.0) | np.average(x, axis=0, weights=[1, 3]) | np.flip(x) | x.T | x.ravel()
x.reshape(3, 2) | x.swapaxes(0, 1) | np.moveaxis(x, 0, 1) | np.broadcast_to(x, (4, 2, 3)) | np.repeat(x, 2) | np.tile(x, 2)
x[::-1] | x[[1, 0]] | x[np.array([True, False])] | x.copy() | np.copy(x) | copy.deepcopy(x) + 1 | np.asarray(x) | np.array(x)
list(x[0]) | x.tolist() | sum(x[0]) | functools.reduce(lambda a, b: a + b, x[0]) | [float(v) for v in x.ravel()] | next(iter(x))
list(map(float, x[0])) | np.squeeze(x[:1]) | np.expand_dims(x, 0) | np.atleast_3d(x) | np.add.reduce(x) | np.subtract(x, 1)
np.negative(x) | np.positive(x) | x.astype(float) | np.real(x) | filled(x) | written(x) | added_at(x) | np.outer(x[0], [1, 2])
np.frombuffer(x.tobytes()) | np.frombuffer(x[0].tobytes(), np.uint8) | np.vdot(np.ones(3), x[0]) | np.inner(x, np.ones(3)) | np.ediff1d(x[0]) | np.fliplr(x) | np.rot90(x) | np.insert(x[0], 1, 5.0)
np.append(x[0], 2.0) | np.delete(x[0], 1) | np.compress([True, False], x, axis=0) | np.diagonal(x) | np.transpose(x) | np.zeros_like(x) + x
np.full((2,), x[0, 0]) | np.full_like(x, x[0, 0]) | dict(a=x)["a"] | itertools.chain(x[0]).__next__() | max(x[0, 0], x[0, 0])
np.where(x > 0, x, x) | x[0, 0] / np.ones(2) | x[0, 0] - np.ones(2) | np.add.accumulate(x, axis=0) | np.convolve(np.ones(1), [2.0]) * x | np.multiply.outer(np.ones(2), x[0]) | np.array([np.zeros(3), x[0]])
np.tensordot(np.array([[0.0, 0.0], [0.0, 1.0]]), x, 1)[1] | np.tensordot(np.array([0.0, 0.0, 1.0]), np.stack([x[0], x[1], x[0]]), 1)
"""
FOLLOWED = """
np.sqrt(np.abs(x)) | math.sqrt(abs(x[0, 0])) | math.exp(x[0, 0]) | math.floor(x[0, 0]) | np.exp(x) | np.clip(x, 0, 1) | x.clip(-1, 1) | np.sign(x) | x * x
1 / x | x ** 2 | abs(x) | np.rint(x * 8) / 8 | np.round(x, 2) | round(x[0, 0]) | round(x[0, 0], 1) | int(x[0, 0]) | np.floor_divide(x, 2)
np.hypot(x, x) | np.copysign(1, x) | np.nextafter(x, 0) | np.where(x > 0, x, 0) | np.maximum(x, 0) | max(x[0, 0], 0.0) | min(x[0])
np.linalg.norm(x) | np.linalg.norm(x, axis=1) | np.linalg.solve(np.eye(2), x) | np.vectorize(lambda a: a * 2)(x) | np.frompyfunc(abs, 1, 1)(x) | np.frompyfunc(lambda a, b: a + b * b, 2, 1).reduce(x, axis=1)
np.sort(x) | np.sort(x, axis=0) | np.sort([x[0, 0], x[1, 0]], axis=0) | np.median(x) | np.median(x, axis=0) | np.median(x[0], axis=0) | np.quantile(x, 0.5) | np.percentile(x, 10, axis=1) | np.std(x)
x.var(axis=0) | np.argmax(x) | x.argmin(axis=1) | np.argsort(x[0]) | np.cov(x) | np.interp(x, [0, 1], [0, 2]) | np.allclose(x, 0)
np.array_equal(x, x) | np.count_nonzero(x > 0) | x > 0 | x == x[0] | (x > 0) & (x < 1) | ~(x > 0) | np.isfinite(x)
np.any(x > 0) | np.all(x > 0, axis=0) | np.max(x) | np.min(x, axis=1) | np.ptp(x) | np.prod(x) | np.mod(x, 1.0) | x % 0.5
x.astype(np.float32) | x.astype(np.float32) - x | x.astype(np.int64) | x.astype(np.int64) >> 2 | x.astype(np.int64) % 7 | np.bitwise_xor(x.astype(np.int64), 5)
np.asarray(np.dot((abs(x[0]) * 64).astype(np.uint8), np.array([3, 5, 7], np.uint8))) + 200
np.take(np.arange(9.0), np.clip(x, 0, 5).astype(int)) | np.take(x, np.clip(x, 0, 2).astype(int), axis=1) | np.take([1.0, x[0, 0], 3.0], np.clip(np.rint(x), 0, 2).astype(int)) | np.take(np.eye(3), np.clip(abs(x), 0, 2.5).astype(int), axis=-1)
np.ones(3)[int(x[0, 0]) % 3] | np.array([1.0, 2.0, 3.0])[np.clip(x, 0, 2).astype(int)] | x[np.clip(x[0], 0, 1).astype(int)] | x[0][np.clip(x, 0, 2).astype(int)[0, 0]] | x[1].tolist()[0] * x[np.clip(x[0], 0, 1).astype(int)[1]]
np.take(np.arange(9.0), [x[0, 0].astype(int) + 3, 5]) | np.take(np.eye(3), np.clip(np.ceil(x), 0, 2).astype(int), axis=0) | np.take(np.eye(3, dtype=np.uint8), np.clip(np.round(x), 0, 2).astype(int)[0, 0], axis=1) | np.take(np.arange(90.0), x.astype(int) - 5)
np.eye(3)[np.clip(x, 0, 2).astype(int)] | np.identity(3, dtype=int)[int(abs(x[0, 0])) % 3] | np.eye(3)[[0, 2]] * abs(x[0, 0]) | np.eye(4, 3, 1, dtype=np.int8)[np.argmin(x, axis=1)] | np.eye(2, dtype=bool) * abs(x[0, 0])
np.apply_along_axis(lambda v: v / abs(v).max(), 1, x) | np.apply_along_axis(lambda v, k: (v * v)[:k], 0, x, 1) | np.apply_along_axis(np.max, 0, x) | np.apply_along_axis(np.outer, 1, x, np.ones(2)) * x[0, 0]
np.digitize(x, [0.0]) | np.searchsorted([0.0, 1.0], x) | np.searchsorted([0.0, 1.0], x[0], side="right") | np.digitize(x[0, 0], [0.0, 0.5]) | np.take(np.ones(3), np.searchsorted([0.0, 1.0], x))
np.median(np.abs(x)) ** 0.5 | np.percentile(np.abs(x), 50) | np.histogram(x, 4, (-2, 2))[0] | np.histogram(x, bins=[-1.0, 0.0, 3.0])[0] | np.histogram(x)[1] | np.bincount(np.clip(np.floor(x[0]), 0, 4).astype(int), minlength=5) | np.bincount(np.clip(np.trunc(x[0]), 0, 4).astype(int), [1.0, 2.0, 3.0], 5)
x.astype(np.uint64) | (x * 2**20).astype(np.int64).view(np.uint64) | x.astype(bool) | np.polyfit([0, 1, 2], x[0], 1) | np.correlate(x[0], [1.0, 2.0])
scipy.special.softmax(x) | scipy.special.softmax(x, axis=1) | scipy.special.log_softmax(x, axis=0) | scipy.special.logsumexp(x) | scipy.special.logsumexp(x, axis=0) | scipy.special.logsumexp(x, 1, keepdims=True) | special.softmax(x, axis=-1) | logsumexp(x, axis=(0, 1)) | imported(x)
scipy.special.expit(x) | np.trunc(x) | np.ceil(x) | np.log1p(np.abs(x)) | np.heaviside(x, 0.5) | np.square(x) | np.tanh(x)
np.linalg.inv(x[:, :2]) | np.linalg.det(x[:, :2]) | math.log(abs(x[0, 0])) | np.multiply.reduce(x) | math.ceil(x[0, 0]) | x[0, 0] // 1 | np.linalg.qr(x)[1] | np.linalg.svd(x)[1]
statistics.mean(x[0]) | statistics.median(x[0].tolist()) | statistics.fmean(v for v in x[1]) | statistics.pstdev(list(x[0])) | statistics.pvariance(x[0]) | statistics.median([1, 2, 4]) * abs(x) | counted(x) | placed(x) | np.packbits(x > 0, axis=1) | np.packbits(x[0] > 0, bitorder="little") | np.unpackbits(np.packbits(x > 0, axis=1), axis=1, count=3) | masked(x) | refilled(x) | lowered(x) | changed(x) | rows_changed(x) | x[x > 0].sum() + x[x < 0].astype(np.float32).astype(float).copy().sum() | np.ldexp(x, 3) | math.isfinite(x[0, 0]) | np.power(x, 2) | np.cumprod(x, axis=1) | x[0, 0] > 3 | np.logical_not(x > 0)
np.select([x > 1, x > 0], [x, 2 * x], 5.0) | np.select([x < 0], [-1]) | np.select([np.array([True, False, True]), x > 0], [x, 3.0]) | np.rint(np.rint(x * 8) / 4) | np.rint(x * 0.0) | np.where(x > 0, [1.0, 2.0, 0.0], 1.0)
x[0, 0] % np.ones(2) | x[0, 0] ** np.ones(2) | x[0, 0].astype(np.int64)|np.arange(2) | np.arange(2) % x[0, 0] | x[0, 0].astype(np.int64) & np.arange(4) | x[0, 0].astype(np.int64) ^ np.arange(4)
scipy.sparse.eye(2, format="csr") @ np.ones(2) * abs(x[:, 0]) | math.fsum([1.0, 2.0]) * abs(x) | isinstance(x[0, 0], bytes) * 1 + abs(x) | abs(x) + len(bytes.fromhex("0a")) | np.array([1, 2, 3], copy=True) * abs(x) | x * 0.0 | x * 0.0 + -0.0 | x * -0.0 - 0.0 | x[0] * 0.0 + x[1] * 0.0
"""
LEFT = """
np.frompyfunc(lambda a: 1.0 if a > 0 else 0.0, 1, 1)(x) | np.vectorize(lambda a: 1.0 if a > 0 else 0.0)(x)
np.frombuffer((x > 0).tobytes(), np.uint8) | np.frombuffer(x[0].tobytes(), np.uint16) | np.isclose(x, 0) | np.nan_to_num(written(x)) | np.sinc(written(x)) | np.nan_to_num(x)
scipy.sparse.csr_array(x) @ np.ones(3) | memoryview(x) | struct.pack("d", x[0, 0]) | json.dumps(x.tolist()) | hash(x.tobytes()) | pickle.dumps(x) | "%f" % x[0, 0] | f"{x}"
repr([x[0, 0]]) | str(x) | sorted(x[0]) | max(x[0].tolist(), key=lambda v: -v) | x[0, 0] in [1.0] | {x[0, 0]: 1} | statistics.mode(x[0]) | statistics.mean(x[0], 1)
np.fromiter(x[0], float) | np.r_[x[0], x[1]] | np.c_[x[0], x[1]] | np.fft.fft(x).real | np.piecewise(x, [x > 0], [1, -1]) | np.unique(x) | np.histogram(x, "auto") | np.apply_along_axis(lambda v: 1.0 if v[0] > 0 else 0.0, 0, x)
np.where(x > 0) | len(x[x > 0]) | list(x[x > 0]) | x[x > 0].mean() | x[x > 0][0] | np.sort(x[x > 0]) | np.concatenate([x[0], x[x > 0]]) | x[x > 0] + x[x < 1] | x[x > 0] * np.ones(1) | np.asarray(x[x > 0]) | np.array([x[x > 0]])
x[x > 0].shape | str(x[x > 0]) | 1.0 if x[x > 0] else 0.0 | np.add.reduce(x[x > 0]) | np.sum(x[x > 0], axis=0) | np.add(x[x > 0], 1, where=True) | elsewhere(x) | of_another_shape(x) | another(x) | rewritten(x) | copy.copy(x[x > 0]) | x[x[0] > 0, 0] | np.zeros((2, 3)) + x[x > 0] | float(x[x > 9].sum()) + len({x[x > 0].size}) | np.nonzero(x) | scipy.linalg.solve(np.eye(2), x) | scipy.special.logsumexp(x, b=x) | scipy.special.logsumexp(x, 0, np.ones((2, 1))) | scipy.special.logsumexp(x, return_sign=True)[0]
scipy.spatial.distance.cdist(x, x) | jitted(x) | np.random.default_rng(0).permutation(x) | np.random.default_rng(0).normal(x) | x.astype(str)
x.view(np.uint64) | np.maximum.at(np.zeros(3), np.clip(x[0], 0, 2).astype(int), 1.0) | np.add.at(np.zeros((3, 2)), np.clip(x[0], 0, 2).astype(int), 1.0) | np.put_along_axis(np.zeros((2, 3)), np.clip(x, 0, 2).astype(int), 1.0, None) | x.data | x.ctypes | bytes(x) | bytearray(x) | hashlib.sha256(x).hexdigest() | zlib.crc32(x)
lazy_hash(x) | array.array("d", x[0]) | decimal.Decimal(x[0, 0]) | 1.0 if x[0, 0] > 0 else 0.0 | [v for v in x[0] if v > 0]
[1.0, 2.0][int(x[0, 0]) % 2] | range(int(abs(x[0, 0]))) | np.zeros(int(abs(x[0, 0])) + 1) | any(v > 0 for v in x[0]) | bool(x[0, 0]) | while_loop(x)
np.digitize([0.5], np.sort(x[0])) | np.searchsorted(np.sort(x[0]), 0.5) | np.bincount(x[0].astype(int) ** 2) | random.choice(x[0]) | x.dump("/dev/null")
np.save("/dev/null", x) | np.array2string(x) | id(x) | complex(x[0, 0]) | x.nonzero() | x.searchsorted(0.0) | np.asarray(x, dtype=object).astype(str)
np.savetxt("/dev/null", x) | x.tofile("/dev/null") | np.random.default_rng(x[0, 0].astype(np.int64)) | format(x[0, 0], ".1f")
caught(x) | suppressed(x) | x.item(0).to_bytes() | np.float64(x[0, 0]) | operator_index(x) | np.lexsort(x) | np.roots(x[0]) | stacked_objects(x) | x.__array__() | 1.0 if x[:1, 0] > 0 else 0.0 | pickle.dumps(x[0, 0]) | hash(objects(x)) | np.put(np.zeros(3, int), [0], x[0, 0])
x[0, 0] * 1j | [0] * x[0, 0] | np.concatenate([x[0], np.array([1j])]) | np.append(x[0], np.array(["text"])) | np.add.at(np.zeros(3, int), [0], x[0, 0]) | x[0, 0] + "text" | hashlib.sha256(objects(x)) | list(objects(x)) and bytes(objects(x))
"""


def imported(x: Any) -> Any:
    from scipy.special import log_softmax

    return log_softmax(x, axis=1)


def filled(x: Any) -> Any:
    out = np.zeros((2, 3))
    out[...] = x
    return out


def written(x: Any) -> Any:
    out = np.empty((4, 3))
    out[:2] = x
    out[2:] = 0
    out[2:] += x
    out[0, 0] = 5
    return out


def added_at(x: Any) -> Any:
    out = np.zeros((3, 3))
    np.add.at(out, [0, 2], x)
    np.subtract.at(out, [2, 2], x)
    return out


def masked(x: Any) -> Any:
    out = x.copy()
    out[x > 1] = 1.0
    return out


def counted(x: Any) -> Any:
    counts, labels = np.zeros(3), np.clip(np.floor(x), 0, 2).astype(int)
    np.add.at(counts, labels, x)
    np.subtract.at(counts, labels[0], 2.0)
    np.subtract.at(counts, np.abs(np.sign(x[0])).astype(int), 2.0)
    np.add.at(counts, (10 * x[0]).astype(int) % 3, [1.0, 2.0, 3.0])
    return counts


def placed(x: Any) -> Any:
    out = np.zeros((2, 4))
    np.put_along_axis(out, np.clip(np.floor(x), 0, 3).astype(int), x, axis=1)
    np.put_along_axis(out, np.argmax(out, axis=0)[None], 5.0, 0)
    return out


def refilled(x: Any) -> Any:
    out = x[0].copy()
    out[x[0] > -99] = np.round(8 * x[0]) / 8
    return out


def lowered(x: Any) -> Any:
    out = np.ceil(x).astype(np.int32)
    out[out - x > 0.5] -= 1
    return out


def changed(x: Any) -> Any:
    is_large = np.abs(x) > 0.5
    out = x.copy()
    out[is_large] = 2 * np.clip(np.abs(out[is_large]), 0.0, 1.0) - x[is_large]
    return out


def rows_changed(x: Any) -> Any:
    out, is_positive = x.copy(), x[:, 0] > 0
    out[is_positive] = 0.0
    out[x[:, 1] > 0] *= 2.0
    return out


def elsewhere(x: Any) -> Any:
    out = x.copy()
    out[x > 0] = x[x > 0]
    return out


def of_another_shape(x: Any) -> Any:
    squares, is_positive = np.ones((3, 3)), x[0] > 0
    squares[is_positive] = x[0][is_positive]
    return squares


def another(x: Any) -> Any:
    out = x.copy()
    out[x < 0] = x[x > 0]
    return out


def rewritten(x: Any) -> Any:
    out, mask = x.copy(), x > 0
    positive = x[mask]
    mask[...] = x > 0.5
    out[mask] = positive
    return out


def lazy_hash(x: Any) -> Any:
    import hashlib as local

    return local.sha256(x).digest()


def lazy_numpy(x: Any) -> Any:
    import numpy as local

    return local.array(x, dtype=float)


def while_loop(x: Any) -> int:
    count = 0
    while x[0, 0] + count < 3:
        count += 1
    return count


def caught(x: Any) -> Any:
    try:
        return 1 / x[0, 0]
    except ZeroDivisionError:
        return 0.0


def suppressed(x: Any) -> Any:
    with contextlib.suppress(ZeroDivisionError):
        return 1 / x[0, 0]


def operator_index(x: Any) -> Any:
    return [10, 20, 30][x[0, 0].astype(np.int64) % 3]


def objects(x: Any) -> Any:
    found = np.empty(2, object)
    found[0], found[1] = x[0, 0], 1.0
    return found


def stacked_objects(x: Any) -> Any:
    rows = np.empty(2, object)
    rows[0], rows[1] = x[0, :1], x[1, :1]
    return np.stack(rows)


def _idioms(text: str) -> list[str]:
    return [each.strip() for line in text.strip().split("\n") for each in line.split(" | ")]


def traced_call(idiom: str, x: Any) -> Any:
    return evaluated(idiom, globals() | {"x": x})


def _follow(idiom: str, seed: int) -> tuple[Any, Trace, Exception | None]:
    trace = Trace()
    values = _plain(seed)
    with following(trace):
        numbers = np.empty((2, 3), object)
        for place, value in np.ndenumerate(values):
            numbers[place] = Number(value, {trace.variable("input", place[0], value, 0): 1}, INF, 2 << place[0], 0)
        with replaced([__name__]):
            try:
                return traced_call(idiom, array_of(numbers, float)), trace, None
            except LeftTrace:
                return None, trace, None
            except Exception as error:
                return None, trace, error


def _plain(seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(2, 3))


def _numbers(found: Any) -> Any:
    """What an idiom gives, as plain numbers in a row."""
    if isinstance(found, (list, tuple)):
        return np.concatenate([_numbers(each) for each in found]) if len(found) else np.empty(0)
    return np.ravel(np.asarray(found, dtype=float))


def _followed(idiom: str, rtol: float) -> Any:
    """Follow an idiom, which nothing leaves, and compare its numbers with NumPy's."""
    found, trace, error = _follow(idiom, 0)
    assert error is None
    assert not trace.left
    assert is_secret(found)
    plain = _numbers(traced_call(idiom, _plain(0)))
    with following(trace):
        assert np.allclose(_numbers(concrete(found)), plain, rtol=rtol)
    return found


@pytest.mark.parametrize("idiom", _idioms(LINEAR))
def test_what_is_linear_is_followed_exactly(idiom: str) -> None:
    found = _followed(idiom, rtol=1e-12)
    for number in _flat(found):
        assert not isinstance(number, Number) or number.modulus == INF


@pytest.mark.parametrize("idiom", _idioms(FOLLOWED))
def test_what_is_not_linear_is_a_function_that_depends_on_what_it_is_given(idiom: str) -> None:
    _followed(idiom, rtol=1e-9)


def _flat(found: Any) -> list[Any]:
    if isinstance(found, (list, tuple)):
        return [x for each in found for x in _flat(each)]
    return list(found.objects.ravel()) if isinstance(found, Followed) else [found]


@pytest.mark.parametrize("idiom", _idioms(LEFT))
def test_what_is_not_followed_ends_the_proof(idiom: str) -> None:
    _, trace, error = _follow(idiom, 0)
    assert trace.left or isinstance(error, (TypeError, ValueError))


@pytest.mark.parametrize("idiom", _idioms(LINEAR) + _idioms(FOLLOWED))
def test_what_comes_out_public_is_the_same_for_other_secrets(idiom: str) -> None:
    """The one fault that must never be: a number that hangs on a secret and does not say so."""
    found, _, _ = _follow(idiom, 0)
    others = [_numbers(traced_call(idiom, _plain(seed))) for seed in range(1, 6)]
    for place, number in enumerate(_flat(found)):
        if not isinstance(number, Number):
            assert {repr(float(other[place])) for other in others} == {repr(float(number))}  # minus zero is another


FINITE = """
scipy.special.softmax(x, axis=1) | scipy.special.log_softmax(x[0]) | scipy.special.logsumexp(x[0], axis=0) | np.exp(x - scipy.special.logsumexp(x, axis=1, keepdims=True))
scipy.special.expit(x) | x * x | np.abs(x) | np.sqrt(np.abs(x)) | np.log(np.maximum(x, 0.1)) | np.log1p(np.abs(x) + 1) | 1 / (np.abs(x) + 0.5) | x ** 2
x / np.maximum(np.abs(x) / 4, 0.1) | np.minimum(1, 2 / np.maximum(x, 1.0)) | np.exp(x) | np.clip(x, -np.inf, 2.0) | np.reciprocal(np.exp(x) * 2 + 1)
scipy.special.log_expit(x) | scipy.special.gammaln(np.maximum(x, 0.5)) | scipy.special.digamma(np.abs(x) + 1) | scipy.special.entr(np.abs(x)) | scipy.special.xlogy(x, np.clip(x, 0.1, 1)) | scipy.special.xlog1py(x, np.abs(x)) | scipy.special.huber(1.0, x)
np.where(x > 0, x, 0.0) | x / np.maximum(np.linalg.norm(x[0]), 1.0) | np.power(np.maximum(x, 0.5), 0.5) | x > np.inf | np.sqrt(np.where(x > 0, 1.0, 0.0))
"""
MAYBE = """
scipy.special.softmax(np.where([True, True, False], x[0], -np.inf)) | scipy.special.logsumexp(np.append(x[0], np.inf)) | scipy.special.log_softmax(np.append(x[0], np.nan))
scipy.special.logit(x) | np.sqrt(x) | np.log(x) | np.log(np.abs(x)) | np.log1p(x) | 1 / x | x / x[:, :1] | np.reciprocal(x) | x ** -1 | x ** 0.5 | np.arcsin(x)
scipy.special.gammaln(np.abs(x)) | scipy.special.entr(x) | scipy.special.xlogy(np.abs(x), x) | scipy.special.huber(x, 1.0) | scipy.special.logit(np.clip(x, 0.0, 1.0))
np.where(x > 5, np.inf, x) | np.where(x > 5, x, np.nan) | np.mod(2.0, x) | x % x[:, :1] | 1 / (np.abs(x) - 1) | x[0, 0] / x[0, 1] | np.corrcoef(x[0], x[0])
1 / np.minimum(np.maximum(x, 1.0), 0.0) | np.sqrt(-np.abs(x)) | x * np.inf | np.power(x, x[:, :1]) | 2.0 % x[0, 0]
"""


@pytest.mark.parametrize(
    ("idiom", "is_finite"), [*((each, True) for each in _idioms(FINITE)), *((each, False) for each in _idioms(MAYBE))]
)
def test_what_may_be_no_number_narrows_the_claim(idiom: str, is_finite: bool) -> None:
    """That it is finite follows from how one node computes it."""
    _, trace, error = _follow(idiom, 0)
    assert error is None
    assert not trace.left
    assert any("no number" in how for how in trace.by_value) == (not is_finite)
