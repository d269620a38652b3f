"""Numbers that are sent as they are: in words, in two's complement or fixed point, times and plus public constants.

A number that an adversary reads tells of one node's input alone where it is an affine function of that in every run,
to its last digit. The function is fitted on the first runs, and the others are held against it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.soundness.holding import Place
from secmix.auditing.soundness.sight import numbers
from secmix.auditing.witnesses.usage import Use
from secmix.estimators.decoders import RECOVERED
from secmix.kernel import Proof
from secmix.kernel.numbers import Number

_FINE = 1000  # last digits that a number spreads over at least: what is coarser is left to other decoders
_DIGITS = 4  # by so many of its last digits a number may be off: it was rounded, and the function fitted
_MORE = 2  # runs for each number that is fitted, at least
_LEAST = 6  # runs that are fitted on, and that are held against it
_MOST_MODULI = 6
_COLUMNS = 4096  # numbers that are looked at together
_HALVES = (2**8, 2**16, 2**32, 2**48)  # words within words


@dataclass(frozen=True)
class Reading:
    """What a message is read as.

    Attributes
    ----------
    where, how : str
    sender : int
    values : (runs, w)
    digits : (w,)
        The last digit of these numbers.
    """

    where: str
    how: str
    sender: int
    values: Array
    digits: Array


@dataclass(frozen=True)
class Told:
    """What messages tell of one node's input.

    Attributes
    ----------
    readings : list of (Reading, column)
        One for each independent number that is told.
    entries : tuple of int
        Entries that follow; none where a combination of several is told.
    whole : bool
        Whether these are all entries that vary.
    error : float
        Largest by which a number is off, in standard deviations of it.
    runs : int
        In which all of this came out: all that were judged.
    """

    readings: list[tuple[Reading, int]]
    entries: tuple[int, ...]
    whole: bool
    error: float
    runs: int


def readings(uses: Sequence[Use], steps: Iterable[float]) -> Iterator[Reading]:
    """Read every message that passes in all calls: as a number, as a word with a sign, and modulo ``steps``.

    Of no calls, as where all of them refused their inputs, nothing is read.
    """
    steps = list(steps)
    shared = [place for place in (uses[0].rows if uses else ()) if all(place in use.rows for use in uses)]
    for place in shared:
        parts = [use.rows[place] for use in uses]
        if len({(part.shape[1], part.dtype) for part in parts}) == 1 and parts[0].dtype.kind in "biuf":
            yield from read_as(place, np.concatenate(parts), steps)


def read_as(place: Place, rows: NDArray[Any], steps: Sequence[float]) -> Iterator[Reading]:
    """Read one message, (runs, w)."""
    of, kind = (str(place[0]), place[0].sender), rows.dtype
    if kind.kind == "f":
        plain = numbers(rows)
        digits = _last_digits(np.where(np.isfinite(plain), plain, 0.0), float(np.finfo(kind).eps))
        yield Reading(of[0], "a number", of[1], plain, digits)
        for step in steps:
            with np.errstate(all="ignore"):
                yield Reading(of[0], f"a rest modulo {step:g}", of[1], plain - step * np.round(plain / step), digits)
        return
    words, ones = rows.astype(np.int64) if kind.kind == "b" else rows, np.ones(rows.shape[1])
    if kind.kind == "u":
        yield Reading(of[0], "two's complement", of[1], words.view(f"i{kind.itemsize}").astype(float), ones)
    else:
        yield Reading(of[0], "a whole number", of[1], words.astype(float), ones)
    for modulus in {int(step) for step in steps if step == int(step) and step > _FINE} | set(_HALVES):
        if modulus < 2 ** (8 * kind.itemsize - 1):
            rest = np.mod(words, words.dtype.type(modulus))
            signed = np.where(rest > modulus // 2, rest.astype(float) - modulus, rest.astype(float))
            yield Reading(of[0], f"a rest modulo {modulus}", of[1], signed, ones)


def moduli(proof: Proof) -> list[float]:
    """Return the numbers modulo which the first fit that was traced reduced what it sent."""
    rows = (message.rows.objects for message in proof.fits[0].messages)
    cells = (cell for each in rows for cell in each.ravel().tolist() if isinstance(cell, Number))
    found = {float(size) for cell in cells for size in (cell.below, cell.modulus) if 0 < size < math.inf}
    return sorted(found)[-_MOST_MODULI:]


def _last_digits(values: Array, eps: float) -> Array:
    """Return by column (runs, w) a power of two that all are multiples of, or what rounding leaves if that is more."""
    fractions, exponents = np.frexp(values)
    bits = (fractions * 2.0**53).astype(np.int64)
    lowest = np.where(bits != 0, (bits & -bits).astype(float), np.inf)
    steps = np.ldexp(lowest, exponents - 53).min(axis=0, initial=np.inf)
    rounding = eps * np.abs(values).max(axis=0, initial=0.0)
    return np.asarray(np.maximum(np.where(np.isfinite(steps), steps, 0.0), rounding))


def told(
    truth: Array, found: Iterable[Reading], nodes: Sequence[int], honest: Sequence[int], fitted: int
) -> dict[int, Told]:
    """Find what messages tell of the inputs of ``nodes``, whatever all ``honest`` ones put in together tells anyway.

    Parameters
    ----------
    truth : (runs, n, m)
    found : iterable of Reading
    fitted : int
        How many of the runs are fitted on.
    """
    if min(fitted, len(truth) - fitted) < _LEAST:
        return {}
    total = Reading("the average", "a number", -1, truth[:, list(honest)].sum(axis=1), np.zeros(truth.shape[2]))
    judges = {node: _Judge.of(truth[:, node], fitted) for node in nodes}
    # Who sums alone, or beside nodes whose inputs never change, is told by the average.
    judges = {node: judge for node, judge in judges.items() if judge.varying and not judge.exact([total])}
    exact: dict[int, list[_Exact]] = {node: [] for node in judges}
    for some in _together(found):
        for node, judge in judges.items():
            exact[node] += judge.exact(some)
    return {node: judge.summed_up(exact[node]) for node, judge in judges.items() if exact[node]}


def marks(sender: int, special: Sequence[Reading], ordinary: Sequence[Reading], near: Sequence[Reading]) -> str:
    """Name a message of ``sender`` with one number in all of the special calls, and in none of the others; empty: none.

    What others send may follow from the average.
    """
    others = [{(each.where, each.how): each.values for each in calls} for calls in (ordinary, near)]
    for each in (reading for reading in special if reading.sender == sender):
        beside = [calls.get((each.where, each.how)) for calls in others]
        if all(values is not None and values.shape[1] == each.values.shape[1] for values in beside):
            one = each.values[0]
            marked = np.isfinite(one) & (each.values == one).all(axis=0)
            marked &= np.all([(values != one).all(axis=0) for values in beside], axis=0)
            if marked.any():
                return f"the number {one[np.argmax(marked)]:.10g} in {each.where}"
    return ""


def _together(found: Iterable[Reading]) -> Iterator[list[Reading]]:
    some: list[Reading] = []
    for reading in found:
        some.append(reading)
        if sum(each.values.shape[1] for each in some) >= _COLUMNS:
            yield some
            some = []
    if some:
        yield some


@dataclass(frozen=True)
class _Exact:
    """A number that is an affine function of an input."""

    reading: Reading
    column: int
    weights: Array  # (m,), of the input in its standard deviations
    off: float  # from that at most


@dataclass(frozen=True)
class _Judge:
    """Holds numbers against the input of one node."""

    y: Array  # (runs, m), standardised
    fitted: int
    varying: tuple[int, ...]

    @staticmethod
    def of(y: Array, fitted: int) -> _Judge:
        """Standardise an input (runs, m)."""
        middle, spread = y[:fitted].mean(axis=0), y[:fitted].std(axis=0)
        varying = np.flatnonzero(spread > 1e-9 * np.maximum(np.abs(y).max(axis=0), 1e-300))
        return _Judge((y - middle) / np.maximum(spread, 1e-300), fitted, tuple(varying.tolist()))

    def exact(self, some: Sequence[Reading]) -> list[_Exact]:
        """Return the numbers that are an affine function of this input in all runs that were not fitted on."""
        values = np.concatenate([each.values for each in some], axis=1)
        digits = np.concatenate([each.digits for each in some])
        places = [(each, column) for each in some for column in range(each.values.shape[1])]
        finite = np.isfinite(values).all(axis=0)
        values = np.where(finite, values, 0.0)
        out: dict[int, _Exact] = {}
        for entries in self._blocks():
            weights, off = self._fit(values, digits, entries)
            for k in np.flatnonzero(finite & np.isfinite(off)):
                if k not in out:
                    full = np.zeros(self.y.shape[1])
                    full[list(entries)] = weights[:, k]
                    out[int(k)] = _Exact(*places[k], full, float(off[k]))
        return list(out.values())

    def _blocks(self) -> Iterator[tuple[int, ...]]:
        yield from ((entry,) for entry in self.varying)
        if len(self.varying) > 1 and _MORE * (len(self.varying) + 1) <= self.fitted:
            yield self.varying

    def _fit(self, values: Array, digits: Array, entries: tuple[int, ...]) -> tuple[Array, Array]:
        """Return weights (p, columns), and by how much each column is off at most; infinity where that is too much."""
        design = np.column_stack([np.ones(len(self.y)), self.y[:, list(entries)]])
        first, rest = design[: self.fitted], design[self.fitted :]
        with np.errstate(all="ignore"):
            scale = np.maximum(np.abs(values).max(axis=0), 1e-300)
            coefficients = np.linalg.lstsq(first, values[: self.fitted] / scale, rcond=1e-12)[0]
            made = rest @ coefficients * scale
            signal = made.std(axis=0)
            off = np.abs(values[self.fitted :] - made).max(axis=0)
            fine = signal > _FINE * np.maximum(digits, 1e-12 * scale)
            exact = fine & (off <= _DIGITS * digits + RECOVERED * signal)
        return coefficients[1:] * scale, np.where(exact, off, np.inf)

    def summed_up(self, exact: Sequence[_Exact]) -> Told:
        """Put together what several numbers tell."""
        basis: list[_Exact] = []
        rank = 0
        for each in sorted(exact, key=lambda one: np.count_nonzero(one.weights)):
            rows = np.stack([one.weights / np.linalg.norm(one.weights) for one in [*basis, each]])
            if np.linalg.matrix_rank(rows, tol=1e-6) > rank:
                basis.append(each)
                rank += 1
            if rank == len(self.varying):
                break
        rows = np.stack([one.weights / np.linalg.norm(one.weights) for one in basis])
        follows = np.abs(np.diagonal(np.linalg.pinv(rows, rcond=1e-6) @ rows) - 1) < RECOVERED
        if _MORE * (len(rows) + 1) <= self.fitted:  # what goes with them in all runs follows too
            known = np.column_stack([np.ones(len(self.y)), self.y @ rows.T])
            guess = known @ np.linalg.lstsq(known[: self.fitted], self.y[: self.fitted], rcond=1e-9)[0]
            follows |= np.abs(guess - self.y)[self.fitted :].max(axis=0) < RECOVERED
        entries = tuple(j for j in self.varying if follows[j])
        error = max(one.off / np.linalg.norm(one.weights) for one in basis)
        told_by = [(one.reading, one.column) for one in basis]
        return Told(told_by, entries, len(entries) == len(self.varying), float(error), len(self.y) - self.fitted)
