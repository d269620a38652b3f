"""Line searches side by side: the best scale along each of several directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.against_rules.oracle import Oracle, Tried

_GRID = np.geomspace(0.4, 4.0, 9)
_STEPS = tuple(0.16 / 2**k for k in range(6))
OF_A_LINE = len(_GRID) + 2 * len(_STEPS)
"""How often a line search tries the rule."""

T = TypeVar("T")


def lines(oracle: Oracle, directions: list[tuple[str, Array]]) -> list[tuple[float, float]]:
    """Search each unit direction (p,), sent by all, for the best error and its scale; a name comes with each.

    A grid, then ever smaller steps about the best. No line depends on another, so that they are searched side by side,
    and counted one after the other.
    """
    return [best for group in grouped(directions, oracle.at_once // len(_GRID)) for best in _of_a_group(oracle, group)]


def grouped(items: list[T], size: int) -> Iterator[list[T]]:
    """Yield the items, so many at a time, one at least."""
    for k in range(0, len(items), max(size, 1)):
        yield items[k : k + max(size, 1)]


def _of_a_group(oracle: Oracle, group: list[tuple[str, Array]]) -> list[tuple[float, float]]:
    shapes = np.stack([np.tile(unit, (oracle.f, 1)) for _, unit in group])
    rounds: list[tuple[Array, Tried]] = []

    def errors(scales: Array) -> Array:
        """Compute the errors (lines, k) of scales (lines, k)."""
        zs = scales[..., None, None] * shapes[:, None]
        rounds.append((zs, oracle.tried(zs.reshape(-1, *shapes.shape[1:]))))
        return rounds[-1][1].errors.reshape(scales.shape)

    grid = np.tile(_GRID, (len(group), 1))
    best = [max(zip(*line, strict=True)) for line in zip(errors(grid).tolist(), grid.tolist(), strict=True)]
    for step in _STEPS:
        tries = np.array([(scale * (1 + step), scale * (1 - step)) for _, scale in best])
        pairs = zip(errors(tries).tolist(), tries.tolist(), strict=True)
        best = [max(old, *zip(*line, strict=True)) for old, line in zip(best, pairs, strict=True)]
    for k, (name, _) in enumerate(group):
        for zs, tried in rounds:
            oracle.note(tried.part(slice(k * zs.shape[1], (k + 1) * zs.shape[1])), zs[k], name)
    return best
