"""Whether runs without probes took the course that probes of an earlier block describe, in every message.

Probes say how each message of a linear protocol depends on inputs and masks, and the check of provenance
(``estimators/exact/provenance.py``) reads from them whether each follows from what its sender held. Both hold for other
runs in which the same messages are the same functions on the real data: all messages, not those of the adversary alone,
and what the nodes end with. A protocol that goes by the number of its calls, or by its data, shows there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.estimators.exact.linear import LinearView, residue
from secmix.transcript import Block

Averaging = tuple[Array, Array]  # inputs (runs, n, m) and masks (runs, k, m) of one
_CHUNK = 256  # messages compared at once
_AGREED = 1e-6  # by which averages differ, of the largest input, where nodes agreed sooner or later than before


@dataclass(frozen=True)
class Course:
    """The messages of one averaging, and what each is a combination of.

    Attributes
    ----------
    frames : list of tuple
        All of each block but its numbers.
    tables : list of (P, n + k)
        Coefficients of the inputs and masks in each of a block's P rows.
    ended : (n, n + k)
        Those of what each node ends with; NaN where it ends with nothing.
    n : int
        Number of nodes.
    modulus : float or None
        Of the messages.
    """

    frames: list[tuple[object, ...]]
    tables: list[Array]
    ended: Array
    n: int
    modulus: float | None

    def is_of(self, blocks: Sequence[Block], averages: Array, seen: Averaging, grid: float) -> bool:
        """Whether ``blocks`` of other runs are these messages, some at the end perhaps not sent.

        Parameters
        ----------
        blocks : sequence of Block
            Of real runs alone.
        averages : (runs, n, m)
            What the nodes ended with.
        """
        if [block.frame for block in blocks] != self.frames[: len(blocks)]:
            return False
        size = max((float(np.abs(block.payload).max(initial=0.0)) for block in blocks), default=0.0)
        for block, table in zip(blocks, self.tables, strict=False):
            linear = LinearView(table[:, : self.n], table[:, self.n :], self.n, self.modulus)
            if (linear_error(linear, block.payload, seen, grid, size) > 1.0).any():
                return False
        return self._ends_alike(averages, seen, grid, complete=len(blocks) == len(self.frames))

    def _ends_alike(self, averages: Array, seen: Averaging, grid: float, *, complete: bool) -> bool:
        alive = np.isfinite(self.ended).all(axis=1)
        if (np.isfinite(averages).all(axis=(0, 2)) != alive).any():
            return False
        linear = LinearView(self.ended[alive, : self.n], self.ended[alive, self.n :], self.n)
        values = averages.transpose(1, 0, 2)[alive]
        if complete:
            return not (linear_error(linear, values, seen, grid) > 1.0).any()
        inputs, masks = (part.transpose(1, 0, 2) for part in seen)
        off = values - np.tensordot(linear.A, inputs, axes=1) - np.tensordot(linear.M, masks, axes=1)
        return bool(np.abs(off).max(initial=0.0) <= _AGREED * np.abs(inputs).max() + grid)


def course_of(blocks: Sequence[Block], ended: Array, runs: int, units: int, modulus: float | None) -> Course:
    """The course of the probes that follow ``runs`` real runs; ``ended`` (extra, n, m) is what nodes ended with."""
    tables = [residue(block.payload[:, runs:].reshape(len(block.payload), -1)[:, :units], modulus) for block in blocks]
    n = ended.shape[1]
    ends = ended.transpose(1, 0, 2).reshape(n, -1)[:, :units].copy()
    return Course([block.frame for block in blocks], tables, ends, n, modulus)


def linear_error(linear: LinearView, values: Array, seen: Averaging, grid: float, size: float | None = None) -> Array:
    """Largest |V − A s − M r| of each row (F,), in units of what rounding allows.

    ``size`` is that of the largest number rounded on the way, if it is not the largest of ``values`` (F, runs, m).
    """
    inputs, masks = (part.transpose(1, 0, 2) for part in seen)
    if not len(values):
        return np.empty(0)
    # In fixed-point arithmetic each input is off by up to half a step of the grid.
    largest = float(np.abs(values).max()) if size is None else size
    allowed = 1e-9 * np.abs(inputs).max() + 1e4 * np.finfo(float).eps * largest
    errors = []
    for begin in range(0, len(values), _CHUNK):  # a view may take as much memory as there is, and this as much again
        some = slice(begin, begin + _CHUNK)
        off = values[some] - np.tensordot(linear.A[some], inputs, axes=1)
        off -= np.tensordot(linear.M[some], masks, axes=1)
        if linear.modulus is not None:
            off -= linear.modulus * np.round(off / linear.modulus)
        steps = 0.5 * grid * np.abs(linear.A[some]).sum(axis=1)
        errors.append(np.abs(off).max(axis=2).max(axis=1) / (allowed + 1.001 * steps))
    error = np.concatenate(errors)
    return np.where(np.isfinite(error), error, np.inf)  # NaN compares as small
