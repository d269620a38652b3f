"""One case that a rule is tried on: honest messages, Byzantine ones, and how all of them lie in memory.

A case is kept in parts, so that it can be made smaller while it fails; the arrays the rule gets are made of it last.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.testing.counterexample import laid_out

ROUNDING = {
    "float64": 1e-7,
    ">f8": 1e-7,
    "int64": 1e-7,
    "int32": 1e-7,
    "uint64": 1e-7,
    "float32": 2e-4,
    "float16": 3e-2,
}
"""What a rule may be wrong by, in units of the largest entry, for each number type of the messages."""

FARTHEST = {"float64": 1e9, ">f8": 1e9, "int64": 1e6, "int32": 1e3, "uint64": 1e6, "float32": 1e6, "float16": 60.0}
"""The largest entries drawn for each number type: their squares can still be summed in it."""


@dataclass(frozen=True)
class Case:
    """Hold what a promise is tried on.

    Attributes
    ----------
    cloud : (h, p)
        Honest messages; if ``agree``, all of them send the first row.
    byzantine : (b, p)
    keys : (h + b,)
        The messages arrive in ascending order of these.
    f : int
        What the rule is set to.
    dtype, layout : str
    vectors : dict of name -> (p,) or (p + pad,)
        A shift, an axis: what else the promise needs for each entry.
    numbers : dict of name -> number
    """

    cloud: Array
    byzantine: Array
    keys: Array
    f: int
    agree: bool = False
    dtype: str = "float64"
    layout: str = "C"
    vectors: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Count the messages."""
        return len(self.cloud) + len(self.byzantine)

    @property
    def p(self) -> int:
        """Count the entries of each."""
        return int(self.cloud.shape[1])

    @property
    def shape(self) -> tuple[int, int, int, str, str]:
        """Return all for which a rule may refuse messages whatever they are: n, p, f, type and layout."""
        return self.n, self.p, self.f, self.dtype, self.layout

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by the names that promises use: messages, honest, byzantine, agreed."""
        honest = np.repeat(self.cloud[:1], len(self.cloud), axis=0) if self.agree else self.cloud
        order = np.argsort(self.keys, kind="stable")
        plain = _typed(np.concatenate([honest, self.byzantine]), self.dtype)
        values = np.asarray(plain, dtype=np.float64)
        h = len(honest)
        return {
            "messages": laid_out(plain[order], self.layout),
            "honest": values[:h],
            "byzantine": values[h:],
            "agreed": values[0],
        }

    def harmless(self, *, alike: bool = False) -> Any:
        """Return messages of the same shape, type and layout of which no rule has a reason to refuse any."""
        integers = np.random.default_rng(0).integers(-9, 10, (self.n, self.p)).astype(np.float64)
        return laid_out(_typed(np.ones_like(integers) if alike else integers, self.dtype), self.layout)


def _typed(values: Array, dtype: str) -> Any:
    with np.errstate(all="ignore"):
        if dtype.startswith("uint"):
            values = np.abs(values)
        return np.rint(values).astype(dtype) if "int" in dtype else values.astype(dtype)


@dataclass(frozen=True)
class Space:
    """What cases are drawn from.

    Attributes
    ----------
    pairs : list of (n, f)
        Those the rule accepts, from small to large.
    widths : tuple of int, or (least, most)
        The numbers of entries: one of these; or, if ``wide``, anything between the two.
    wide : bool
        Whether sizes, types, layouts and scales are drawn from everything, or kept small for a reader.
    moves, scales : bool
        Whether the rule promises to be indifferent to where the origin and what the unit is.
    values : tuple of float
        Numbers that the rule's code names; tried as entries, sizes and ratios.
    how : str
        One of the ways in which colluders act in concert; any where none is given.
    """

    pairs: list[tuple[int, int]]
    widths: tuple[int, ...]
    wide: bool = False
    moves: bool = True
    scales: bool = True
    withstands: Callable[[int, int], int] = lambda n, f: f
    values: tuple[float, ...] = ()
    how: str = ""

    @functools.cached_property
    def largest(self) -> list[tuple[int, int]]:
        """Return the pairs whose f no smaller n allows."""
        found: list[tuple[int, int]] = []
        for n, f in sorted(dict(sorted(self.pairs)).items()):
            if not found or f > found[-1][1]:
                found.append((n, f))
        return found
