"""Branches that the trace names: iterations in which a protocol does something else, and inputs that take a branch.

For each branch the kernel records which iterations take it, and the public numbers that secrets are compared with. From
these conditions the smallest iteration of each branch is computed, and inputs are made that are at, above, below or
within such a number. The protocol's code then runs on all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from secmix._base.checks import Array
from secmix.kernel import Proof

_WINDOWS = (2**12, 2**17, 2**22)
"""Windows of iterations for which conditions are evaluated; the search ends at the first that has a solution."""
_MOST_TURNS, _MOST_LEVELS = 16, 8
_MOST_FITS = 64
_LARGEST = 1e12  # of the numbers that inputs are made of
_NEAR = 1e-3  # largest relative difference of two sizes of one unit
_STEP = 1e-3  # distance of an input from a number, relative to its size


def other_iterations(proof: Proof, audited: Sequence[int]) -> list[int]:
    """Find the smallest iteration of each branch that the trace took, or did not take, and that was not audited."""
    iterations: dict[int, None] = {}
    for fit in proof.fits[:_MOST_FITS]:
        trace = fit.trace
        for call in {number for *_, number, _ in trace.turns}:
            taken = [
                trace.conditions[k] for k, turn in enumerate(trace.turns) if turn[2] == call and k in trace.conditions
            ]
            for k in range(len(taken)):
                iterations |= dict.fromkeys(_smallest(taken[:k], taken[k]))
            iterations |= dict.fromkeys(_smallest(taken) if taken else [])
    return sorted(set(iterations) - set(audited))[:_MOST_TURNS]


def _smallest(taken: Sequence[Callable[[Any], Any]], other: Callable[[Any], Any] | None = None) -> list[int]:
    """Find the smallest iteration that meets all conditions, but not ``other``; empty if there is none."""
    first = 0
    for end in _WINDOWS:
        numbers = np.arange(first, end)
        try:
            meets = np.all([np.broadcast_to(condition(numbers), numbers.shape) for condition in taken], axis=0)
            meets = meets & ~np.asarray(other(numbers), dtype=bool) if other is not None else meets
        except Exception:  # a user's function that takes single numbers
            return []
        if np.any(meets):
            return [int(numbers[np.broadcast_to(meets, numbers.shape)][0])]
        first = end
    return []


@dataclass(frozen=True)
class Special:
    """Inputs that are made to take a branch."""

    level: float  # the number that secrets are compared with
    side: Literal["at", "above", "below", "within"]  # side on which the special entries are
    entries: tuple[int, ...]  # the special entries; the others are unchanged
    where: str  # the line of the comparison

    def __str__(self) -> str:
        side = {"at": f"are {self.level:g}", "within": f"are within ±{abs(self.level):g}"}
        return f"entries of its input {side.get(self.side, f'are {self.side} {self.level:g}')} ({self.where})"

    @property
    def constant(self) -> bool:
        """True if all special entries are one number."""
        return self.side == "at"

    @property
    def near(self) -> Special:
        """Inputs that are one number close to this one."""
        return replace(self, level=self.level + _STEP * max(abs(self.level), 1.0))

    def of(self, inputs: Array, nodes: Sequence[int]) -> Array:
        """Make inputs (n, runs, m) in which those of some nodes are special."""
        out, spread = inputs.copy(), max(float(inputs.std()), 1e-300)
        for node in nodes:
            out[node][:, list(self.entries)] = self._changed(inputs[node][:, list(self.entries)], spread)
        return out

    def _changed(self, x: Array, spread: float) -> Array:
        if self.side == "at":
            return np.full_like(x, self.level)
        if self.side == "within":
            return np.asarray(self.level * np.sin(x / spread))
        beyond = _STEP * max(abs(self.level), spread) + np.abs(x - x.mean(axis=0))
        return np.asarray(self.level + beyond if self.side == "above" else self.level - beyond)


def specials(proof: Proof, inputs: Array) -> Iterator[Special]:
    """Yield inputs at, above, below and within the numbers that secrets are compared with."""
    everything = tuple(np.flatnonzero((np.ptp(inputs, axis=1) > 0).all(axis=0)).tolist())
    half = everything[::2]
    for level, where in _levels(proof):
        yield Special(level, "at", half, where)
        for entries in (half, everything):
            yield Special(level, "above", entries, where)
            yield Special(level, "below", entries, where)
        if level:
            yield Special(level, "within", everything, where)


def _levels(proof: Proof) -> list[tuple[float, str]]:
    """Collect the numbers that secrets are compared with, also in the units of the inputs, and the lines."""
    levels: dict[float, str] = {}
    for fit in proof.fits[:_MOST_FITS]:
        largest = max((abs(v.value) for v in fit.trace.variables.values() if v.kind == "input"), default=0.0)
        for public, (place, size) in fit.trace.compared.items():
            number = float(public - 2**64 if isinstance(public, int) and public >= 2**63 else public)
            for level in (number, number / _unit(float(size), largest)):
                if math.isfinite(level) and abs(level) < _LARGEST:
                    levels.setdefault(level, str(place))
    return list(levels.items())[:_MOST_LEVELS]


def _unit(size: float, largest: float) -> float:
    """Find the power of two or ten that converts such inputs to words of that size; 1 if there is none."""
    if not (size > 0 and largest > 0 and math.isfinite(size)):
        return 1.0
    for base in (2.0, 10.0):
        unit = base ** round(math.log(size / largest, base))
        if abs(size / largest / unit - 1) < _NEAR:
            return unit
    return 1.0
