"""Ways out that the trace names: iterations in which a protocol takes another turn, and inputs that take a branch.

The kernel notes of each turn which iterations take it, and with which public numbers secrets are compared. The smallest
iteration of each turn is worked out from these conditions; inputs are made that are at, above, below or within such a
number. In all of them the code itself then runs.
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
"""Iterations of which a condition is worked out, all at once: the first window that has one ends it."""
_MOST_TURNS, _MOST_LEVELS = 16, 8
_MOST_FITS = 64
_LARGEST = 1e12  # of the numbers that inputs are made of
_NEAR = 1e-3  # by which two sizes differ that are of one unit
_STEP = 1e-3  # by which an input is beyond a number, of its size


def other_iterations(proof: Proof, audited: Sequence[int]) -> list[int]:
    """Return the smallest iteration of each turn that the trace took, or did not take, and that was not audited."""
    found: dict[int, None] = {}
    for fit in proof.fits[:_MOST_FITS]:
        trace = fit.trace
        for call in {of for *_, of, _ in trace.turns}:
            taken = [
                trace.conditions[k] for k, turn in enumerate(trace.turns) if turn[2] == call and k in trace.conditions
            ]
            for k in range(len(taken)):
                found |= dict.fromkeys(_smallest(taken[:k], taken[k]))
            found |= dict.fromkeys(_smallest(taken) if taken else [])
    return sorted(set(found) - set(audited))[:_MOST_TURNS]


def _smallest(taken: Sequence[Callable[[Any], Any]], other: Callable[[Any], Any] | None = None) -> list[int]:
    """Return the smallest iteration that meets all conditions, and not the other one; none where there is none."""
    first = 0
    for end in _WINDOWS:
        numbers = np.arange(first, end)
        try:
            meets = np.all([np.broadcast_to(each(numbers), numbers.shape) for each in taken], axis=0)
            meets = meets & ~np.asarray(other(numbers), dtype=bool) if other is not None else meets
        except Exception:  # a function of the user's that takes single numbers
            return []
        if np.any(meets):
            return [int(numbers[np.broadcast_to(meets, numbers.shape)][0])]
        first = end
    return []


@dataclass(frozen=True)
class Special:
    """Inputs that are made to take a branch.

    Attributes
    ----------
    level : float
        The number that secrets are compared with.
    side : {"at", "above", "below", "within"}
        Where the special entries lie from there.
    entries : tuple of int
        Those that are special; the others are as they were.
    where : str
        The line that compares.
    """

    level: float
    side: Literal["at", "above", "below", "within"]
    entries: tuple[int, ...]
    where: str

    def __str__(self) -> str:
        side = {"at": f"are {self.level:g}", "within": f"are within ±{abs(self.level):g}"}
        return f"entries of its input {side.get(self.side, f'are {self.side} {self.level:g}')} ({self.where})"

    @property
    def constant(self) -> bool:
        """Whether all special entries are one number."""
        return self.side == "at"

    @property
    def near(self) -> Special:
        """Return inputs that are one number close to this one."""
        return replace(self, level=self.level + _STEP * max(abs(self.level), 1.0))

    def of(self, inputs: Array, nodes: Sequence[int]) -> Array:
        """Return inputs (n, runs, m) in which those of some nodes are special."""
        out, spread = inputs.copy(), max(float(inputs.std()), 1e-300)
        for node in nodes:
            out[node][:, list(self.entries)] = self._made(inputs[node][:, list(self.entries)], spread)
        return out

    def _made(self, x: Array, spread: float) -> Array:
        if self.side == "at":
            return np.full_like(x, self.level)
        if self.side == "within":
            return np.asarray(self.level * np.sin(x / spread))
        beyond = _STEP * max(abs(self.level), spread) + np.abs(x - x.mean(axis=0))
        return np.asarray(self.level + beyond if self.side == "above" else self.level - beyond)


def specials(proof: Proof, inputs: Array) -> Iterator[Special]:
    """Yield inputs at, above, below and within the numbers that secrets are compared with, where all of them vary."""
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
    """Return the numbers that secrets are compared with, in the units of the inputs too, and the lines."""
    found: dict[float, str] = {}
    for fit in proof.fits[:_MOST_FITS]:
        largest = max((abs(each.value) for each in fit.trace.variables.values() if each.kind == "input"), default=0.0)
        for public, (place, size) in fit.trace.compared.items():
            for level in (float(public), float(public) / _unit(float(size), largest)):
                if math.isfinite(level) and abs(level) < _LARGEST:
                    found.setdefault(level, str(place))
    return list(found.items())[:_MOST_LEVELS]


def _unit(size: float, largest: float) -> float:
    """Return the power of two or ten that makes words of that size of such inputs; 1 where there is none."""
    if not (size > 0 and largest > 0 and math.isfinite(size)):
        return 1.0
    for base in (2.0, 10.0):
        unit = base ** round(math.log(size / largest, base))
        if abs(size / largest / unit - 1) < _NEAR:
            return unit
    return 1.0
