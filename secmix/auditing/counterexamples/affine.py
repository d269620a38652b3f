"""Numbers that are affine functions of an input: words in two's complement or fixed point, times and plus constants.

A number reveals one node's input if it is an affine function of it in every run, to its last digit. The function is
fitted on the first runs, and tested on the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.counterexamples.instance import InstanceCall
from secmix.auditing.soundness.adversary_observer import numbers
from secmix.auditing.soundness.numbers_read import Place
from secmix.estimators.learned_decoders import RECOVERED
from secmix.kernel import Proof
from secmix.kernel.values.current_trace import Trace
from secmix.kernel.values.numbers import Number

_FINE = 1000  # least spread of a number, in units of its last digit; coarser ones are left to other decoders
_DIGITS = 4  # largest error in units of the last digit, for rounding and the fit
_MORE = 2  # least number of runs for each fitted number
_LEAST = 6  # least number of runs for the fit, and for its test
_MOST_MODULI = 6
_COLUMNS = 4096  # numbers that are tested together
_HALVES = (2**8, 2**16, 2**32, 2**48)  # words within words
WORDS = 2**64


@dataclass(frozen=True)
class AffineReading:
    """One way to read the numbers of a message."""

    where: str
    how: str
    sender: int
    values: Array  # (runs, w)
    digits: Array  # (w,): unit of the last digit of the numbers


@dataclass(frozen=True)
class DirectDecoding:
    """Share of one node's input that messages reveal."""

    # list of (AffineReading, column): one for each independent number that is revealed
    readings: list[tuple[AffineReading, int]]
    entries: tuple[int, ...]  # revealed entries; empty if only a combination of several is
    complete: bool  # whether these are all varying entries
    error: float  # largest error of a number, in its standard deviations
    runs: int  # number of runs that were tested, in all of which it came out

    def has_offset(self, truth: Array) -> bool:
        """Say whether a number that is revealed is the input (runs, m) plus a constant."""
        rows = np.column_stack([truth, np.ones(len(truth))])
        for reading, column in self.readings:
            values = reading.values[:, column]
            offset = np.linalg.lstsq(rows, values, rcond=None)[0][-1]
            if abs(offset) > 1e3 * reading.digits[column] + 1e-6 * float(np.abs(values).max()):
                return True
        return False


def readings(calls: Sequence[InstanceCall], steps: Iterable[float]) -> Iterator[AffineReading]:
    """Read every message of all calls: as a number, as a signed word, and modulo ``steps``.

    If no call completed, nothing is read.
    """
    steps = list(steps)
    shared = [place for place in (calls[0].rows if calls else ()) if all(place in call.rows for call in calls)]
    for place in shared:
        parts = [call.rows[place] for call in calls]
        if len({(part.shape[1], part.dtype) for part in parts}) == 1 and parts[0].dtype.kind in "biuf":
            yield from read_as(place, np.concatenate(parts), steps)


def read_as(place: Place, rows: NDArray[Any], steps: Sequence[float]) -> Iterator[AffineReading]:
    """Read one message, (runs, w), in all ways."""
    (where, sender), kind = (str(place[0]), place[0].sender), rows.dtype
    if kind.kind == "f":
        plain = numbers(rows)
        digits = _last_digits(np.where(np.isfinite(plain), plain, 0.0), float(np.finfo(kind).eps))
        yield AffineReading(where, "a number", sender, plain, digits)
        for step in steps:
            with np.errstate(all="ignore"):
                yield AffineReading(
                    where, f"a residue modulo {step:g}", sender, plain - step * np.round(plain / step), digits
                )
        return
    words, ones = rows.astype(np.int64) if kind.kind == "b" else rows, np.ones(rows.shape[1])
    if kind.kind == "u":
        yield AffineReading(where, "two's complement", sender, words.view(f"i{kind.itemsize}").astype(float), ones)
    else:
        yield AffineReading(where, "an integer", sender, words.astype(float), ones)
    for modulus in {int(step) for step in steps if step == int(step) and step > _FINE} | set(_HALVES):
        if modulus < 2 ** (8 * kind.itemsize - 1):
            signed = centred(np.mod(words, words.dtype.type(modulus)).astype(np.int64), modulus)
            yield AffineReading(where, f"a residue modulo {modulus}", sender, signed, ones)


def centred(residues: NDArray[Any], modulus: int) -> Array:
    """Convert residues to the numbers of least absolute value; those of 0, which is no modulus, as they are.

    >>> centred(np.array([1, 2, 2**60 - 3]), 2**60).tolist()
    [1.0, 2.0, -3.0]
    """
    if not modulus:
        return np.asarray(residues, dtype=float)
    if modulus == WORDS:
        return residues.view(np.int64).astype(float)
    return np.where(residues > modulus // 2, residues - modulus, residues).astype(float)


def moduli(proof: Proof) -> list[float]:
    """Find the moduli by which the first traced fit reduced what it sent."""
    rows = (message.rows.objects for message in proof.fits[0].messages)
    cells = [cell for table in rows for cell in table.ravel().tolist() if isinstance(cell, Number)]
    sizes = {float(size) for cell in cells for size in (cell.below, cell.modulus) if 0 < size < math.inf}
    sizes |= {float(step) for cell in cells if (step := _step_of_masks(cell, proof.fits[0].trace)) > 1}
    return sorted(sizes)[-_MOST_MODULI:]


def _step_of_masks(cell: Number, trace: Trace) -> int:
    """Find the modulus in which the masks of a number vanish, since all are multiples of it; 0 if there is none."""
    if not cell.form or not isinstance(cell.modulus, int) or cell.modulus <= 0:
        return 0
    factors = [c for v, c in cell.terms.items() if trace.variables[v].kind == "draw"]
    if not factors or not all(isinstance(c, int) for c in factors):
        return 0
    return math.gcd(cell.modulus, *factors)


def _last_digits(values: Array, eps: float) -> Array:
    """Compute by column (runs, w) a power of two that divides all numbers, or their rounding error if larger."""
    fractions, exponents = np.frexp(values)
    bits = (fractions * 2.0**53).astype(np.int64)
    lowest = np.where(bits != 0, (bits & -bits).astype(float), np.inf)
    steps = np.ldexp(lowest, exponents - 53).min(axis=0, initial=np.inf)
    rounding = eps * np.abs(values).max(axis=0, initial=0.0)
    return np.asarray(np.maximum(np.where(np.isfinite(steps), steps, 0.0), rounding))


def decode_directly(
    truth: Array, readings: Iterable[AffineReading], nodes: Sequence[int], honest: Sequence[int], fitted: int
) -> dict[int, DirectDecoding]:
    """Find what messages reveal of the inputs of ``nodes``, beyond the sum of the inputs of ``honest`` nodes.

    ``truth`` (runs, n, m); ``fitted``: number of runs for the fit.
    """
    if min(fitted, len(truth) - fitted) < _LEAST:
        return {}
    total = AffineReading("the average", "a number", -1, truth[:, list(honest)].sum(axis=1), np.zeros(truth.shape[2]))
    judges = {node: _Judge.of(truth[:, node], fitted) for node in nodes}
    # The average reveals a node that sums alone, or with nodes whose inputs never change.
    of_total = _Batch.of([total], fitted)
    judges = {node: judge for node, judge in judges.items() if judge.varying and not judge.exact(of_total)}
    exact: dict[int, list[_Exact]] = {node: [] for node in judges}
    for batch in _batches(readings, fitted):
        for node, judge in judges.items():
            exact[node] += judge.exact(batch)
    return {node: judge.combined(exact[node]) for node, judge in judges.items() if exact[node]}


def marks(
    sender: int, special: Sequence[AffineReading], ordinary: Sequence[AffineReading], near: Sequence[AffineReading]
) -> str:
    """Name a message of ``sender`` with one number in all special calls, and in none of the others; empty if none.

    Messages of other nodes may follow from the average.
    """
    others = [{(reading.where, reading.how): reading.values for reading in calls} for calls in (ordinary, near)]
    for reading in (reading for reading in special if reading.sender == sender):
        beside = [calls.get((reading.where, reading.how)) for calls in others]
        if all(values is not None and values.shape[1] == reading.values.shape[1] for values in beside):
            first = reading.values[0]
            marked = np.isfinite(first) & (reading.values == first).all(axis=0)
            marked &= np.all([(values != first).all(axis=0) for values in beside], axis=0)
            if marked.any():
                return f"the number {first[np.argmax(marked)]:.10g} in {reading.where}"
    return ""


def _batches(readings: Iterable[AffineReading], fitted: int) -> Iterator[_Batch]:
    together: list[AffineReading] = []
    columns = 0
    for reading in readings:
        together.append(reading)
        columns += reading.values.shape[1]
        if columns >= _COLUMNS:
            yield _Batch.of(together, fitted)
            together, columns = [], 0
    if together:
        yield _Batch.of(together, fitted)


@dataclass(frozen=True)
class _Batch:
    """Numbers that are tested together, w columns."""

    readings: tuple[AffineReading, ...]
    values: Array  # (runs, w); zeros where a number is not finite
    digits: Array  # (w,)
    finite: NDArray[np.bool_]  # (w,)
    tested: Array  # (runs that are not fitted on, w), around the mean, at most 2
    needed: Array  # (w,), least square sum of ``tested`` that an exact function explains

    @staticmethod
    def of(readings: Sequence[AffineReading], fitted: int) -> _Batch:
        values = np.concatenate([reading.values for reading in readings], axis=1)
        digits = np.concatenate([reading.digits for reading in readings])
        finite = np.isfinite(values).all(axis=0)
        values = np.where(finite, values, 0.0)
        scale = np.maximum(np.abs(values).max(axis=0), 1e-300)
        tested = values[fitted:] / scale
        tested -= tested.mean(axis=0)
        energy = (tested**2).sum(axis=0)
        # No fit leaves less than the least squares of all entries; the last term is rounding of ``energy``.
        off = 1.01 * (_DIGITS * np.where(finite, digits, 0.0) / scale + RECOVERED * np.sqrt(energy / len(tested)))
        return _Batch(tuple(readings), values, digits, finite, tested, (1 - 1e-12) * energy - len(tested) * off**2)

    def source(self, column: int) -> tuple[AffineReading, int]:
        """Return the reading of a column, and its place in it."""
        for reading in self.readings:
            if column < reading.values.shape[1]:
                return reading, column
            column -= reading.values.shape[1]
        raise IndexError(column)


@dataclass(frozen=True)
class _Exact:
    """A number that is an affine function of an input."""

    reading: AffineReading
    column: int
    weights: Array  # (m,), for the input in its standard deviations
    off: float  # largest error


@dataclass(frozen=True)
class _Judge:
    """Compares numbers with the input of one node."""

    y: Array  # (runs, m), standardised
    fitted: int
    varying: tuple[int, ...]

    @staticmethod
    def of(y: Array, fitted: int) -> _Judge:
        """Standardise an input (runs, m)."""
        middle, spread = y[:fitted].mean(axis=0), y[:fitted].std(axis=0)
        varying = np.flatnonzero(spread > 1e-9 * np.maximum(np.abs(y).max(axis=0), 1e-300))
        return _Judge((y - middle) / np.maximum(spread, 1e-300), fitted, tuple(varying.tolist()))

    def exact(self, batch: _Batch) -> list[_Exact]:
        """Find the numbers that are an affine function of this input in all runs that were not fitted on."""
        near = np.flatnonzero(batch.finite & self._near(batch))
        if not len(near):
            return []
        out: dict[int, _Exact] = {}
        for entries in self._blocks():
            weights, off = self._fit(batch.values[:, near], batch.digits[near], entries)
            for k in np.flatnonzero(np.isfinite(off)):
                if k not in out:
                    full = np.zeros(self.y.shape[1])
                    full[list(entries)] = weights[:, k]
                    out[int(k)] = _Exact(*batch.source(int(near[k])), full, float(off[k]))
        return list(out.values())

    def _near(self, batch: _Batch) -> NDArray[np.bool_]:
        """Select the columns (w,) that the runs that were not fitted on do not rule out: a few of thousands."""
        return np.asarray(((self._span.T @ batch.tested) ** 2).sum(axis=0) >= batch.needed)

    @cached_property
    def _span(self) -> Array:
        """An orthonormal basis of all entries, in the runs that were not fitted on."""
        tested = self.y[self.fitted :][:, list(self.varying)]
        return np.linalg.svd(tested - tested.mean(axis=0), full_matrices=False)[0]

    def _blocks(self) -> Iterator[tuple[int, ...]]:
        yield from ((entry,) for entry in self.varying)
        if len(self.varying) > 1 and _MORE * (len(self.varying) + 1) <= self.fitted:
            yield self.varying

    def _fit(self, values: Array, digits: Array, entries: tuple[int, ...]) -> tuple[Array, Array]:
        """Fit weights (p, columns); return them, and the largest error of each column, infinite if it is too large."""
        design = np.column_stack([np.ones(len(self.y)), self.y[:, list(entries)]])
        first, rest = design[: self.fitted], design[self.fitted :]
        with np.errstate(all="ignore"):
            scale = np.maximum(np.abs(values).max(axis=0), 1e-300)
            coefficients = np.linalg.lstsq(first, values[: self.fitted] / scale, rcond=1e-12)[0]
            predicted = rest @ coefficients * scale
            signal = predicted.std(axis=0)
            off = np.abs(values[self.fitted :] - predicted).max(axis=0)
            fine = signal > _FINE * np.maximum(digits, 1e-12 * scale)
            exact = fine & (off <= _DIGITS * digits + RECOVERED * signal)
        return coefficients[1:] * scale, np.where(exact, off, np.inf)

    def combined(self, exact: Sequence[_Exact]) -> DirectDecoding:
        """Combine what several numbers reveal."""
        basis: list[_Exact] = []
        rank = 0
        for number in sorted(exact, key=lambda number: np.count_nonzero(number.weights)):
            rows = np.stack([known.weights / np.linalg.norm(known.weights) for known in [*basis, number]])
            if np.linalg.matrix_rank(rows, tol=1e-6) > rank:
                basis.append(number)
                rank += 1
            if rank == len(self.varying):
                break
        rows = np.stack([number.weights / np.linalg.norm(number.weights) for number in basis])
        follows = np.abs(np.diagonal(np.linalg.pinv(rows, rcond=1e-6) @ rows) - 1) < RECOVERED
        if _MORE * (len(rows) + 1) <= self.fitted:  # entries that depend on them in all runs follow too
            known = np.column_stack([np.ones(len(self.y)), self.y @ rows.T])
            prediction = known @ np.linalg.lstsq(known[: self.fitted], self.y[: self.fitted], rcond=1e-9)[0]
            follows |= np.abs(prediction - self.y)[self.fitted :].max(axis=0) < RECOVERED
        entries = tuple(j for j in self.varying if follows[j])
        error = max(number.off / np.linalg.norm(number.weights) for number in basis)
        sources = [(number.reading, number.column) for number in basis]
        return DirectDecoding(
            sources, entries, len(entries) == len(self.varying), float(error), len(self.y) - self.fitted
        )
