"""Whether runs without probes took the course that probes of an earlier block describe, in every message.

Probes say how each message of a linear protocol depends on inputs and masks, and the check of provenance
(``estimators/exact/provenance.py``) reads from them whether each follows from what its sender held. Both hold for other
runs in which the same messages are the same functions on the real data: all messages, not those of the adversary alone,
and what the nodes end with. A protocol that goes by the number of its calls, or by its data, shows there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.estimators.exact.linear import LinearView, misfit, residue
from secmix.transcript import Block

Averaging = tuple[Array, Array]  # inputs (runs, n, m) and masks (runs, k, m) of one
_ROWS = 64  # compared at once
_AGREED = 1e-6  # by which averages differ, of the largest input, where nodes agreed sooner or later than before


@dataclass(frozen=True)
class Course:
    """The messages of one averaging, and what each is a combination of.

    Attributes
    ----------
    frames : list of tuple
        All of each block but its numbers.
    tables : list of (P, n + k + 1), or None
        Coefficients of the inputs and masks in each of a block's P rows, and what is sent for zeros. None where some
        block holds no vectors of what is summed.
    ended : (n, n + k + 1)
        Those of what each node ends with; NaN where it ends with nothing.
    n : int
        Number of nodes.
    modulus : float or None
        Of the messages.
    """

    frames: list[tuple[object, ...]]
    tables: list[Array] | None
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
        if self.tables is None or [block.frame for block in blocks] != self.frames[: len(blocks)]:
            return False
        alike = averages.shape[0], averages.shape[2]
        if any(block.payload.shape[1:] != alike or block.payload.dtype.kind != "f" for block in blocks):
            return False
        # Nodes and masks first in memory, as products with them want it: else every product would make a copy.
        inputs, masks = (np.ascontiguousarray(part.transpose(1, 0, 2)).transpose(1, 0, 2) for part in seen)
        seen = inputs, masks
        size = max((float(np.abs(block.payload).max(initial=0.0)) for block in blocks), default=0.0)
        for payload, table in _together(blocks, self.tables):
            values = payload - table[:, -1][:, None, None]
            linear = LinearView(table[:, : self.n], table[:, self.n : -1], self.n, self.modulus)
            if (linear_error(linear, values, seen, grid, size) > 1.0).any():
                return False
        return self._ends_alike(averages, seen, grid, complete=len(blocks) == len(self.frames))

    def _ends_alike(self, averages: Array, seen: Averaging, grid: float, *, complete: bool) -> bool:
        alive = np.isfinite(self.ended).all(axis=1)
        if (np.isfinite(averages).all(axis=(0, 2)) != alive).any():
            return False
        linear = LinearView(self.ended[alive, : self.n], self.ended[alive, self.n : -1], self.n)
        values = averages.transpose(1, 0, 2)[alive] - self.ended[alive, -1][:, None, None]
        if complete:
            return not (linear_error(linear, values, seen, grid) > 1.0).any()
        inputs, masks = (part.transpose(1, 0, 2) for part in seen)
        off = values - np.tensordot(linear.A, inputs, axes=1) - np.tensordot(linear.M, masks, axes=1)
        return bool(np.abs(off).max(initial=0.0) <= _AGREED * np.abs(inputs).max() + grid)


def _together(blocks: Sequence[Block], tables: Sequence[Array]) -> Iterator[tuple[Array, Array]]:
    """The payloads and tables of a few blocks at a time: a round may send a single row."""
    rows, begin = 0, 0
    for end, block in enumerate(blocks, start=1):
        rows += len(block.payload)
        if rows >= _ROWS or end == len(blocks):
            yield np.concatenate([b.payload for b in blocks[begin:end]]), np.concatenate(tables[begin:end])
            rows, begin = 0, end


def course_of(blocks: Sequence[Block], ended: Array, runs: int, units: int, modulus: float | None) -> Course:
    """The course of the probes that follow ``runs`` real runs; ``ended`` (extra, n, m) is what nodes ended with."""
    n, width = ended.shape[1], units + 1  # the last probe is of zeros
    found = [block.payload[:, runs:].reshape(len(block.payload), -1)[:, :width] for block in blocks]
    vectors = all(table.shape[1] == width and table.dtype.kind == "f" for table in found)
    tables = [_affine(table, modulus) for table in found] if vectors else None
    ends = ended.transpose(1, 0, 2).reshape(n, -1)[:, :width]
    return Course([block.frame for block in blocks], tables, _affine(ends, None), n, modulus)


def _affine(table: Array, modulus: float | None) -> Array:
    """Coefficients beside the constant, from what units and zeros gave."""
    with np.errstate(invalid="ignore"):  # of infinite numbers nothing is read off
        return np.hstack([residue(table[:, :-1] - table[:, -1:], modulus), table[:, -1:]])


def linear_error(linear: LinearView, values: Array, seen: Averaging, grid: float, size: float | None = None) -> Array:
    """Largest |V − A s − M r| of each row (F,), in units of what rounding allows; see :func:`misfit`."""
    return misfit(linear.A, linear.M, values, seen, linear.modulus, grid, size)
