"""Hops: candidates that got stuck near the rows are shaken and let down again.

Where the equations are ill-conditioned the misfit has many minima within a few hundredths of a standard deviation of
the rows, with residuals of 1e-10: they look like solutions and are none. From a new start the way down ends in another
of them; from a candidate that is shaken a little it often ends in the right one (basin hopping: Wales and Doye 1997).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secmix._base.checks import Array, Ints
from secmix._base.stable_order import oriented
from secmix.adversaries.inversion.certificate import Solution
from secmix.adversaries.inversion.equations import Equations
from secmix.adversaries.inversion.solver import Basis, jacobians, solve

_PARENTS = 8
# A misfit of this many times the noise is one that the noise explains. The tolerance of a certificate is far wider.
_ARRIVED = 3.0
_FINE = 1e-9
# Where a hop is let down from: coarse equations forget the candidate's own minimum, fine ones keep near it.
_LEVELS = (None, 1e-3, 1e-5, 1e-7, _FINE)


def parents(fits: Sequence[Solution]) -> list[Solution]:
    """Select the best candidates, one a start, but of no start that has arrived: what it found needs confirming."""
    arrived = {each.start for each in fits if each.consistent and each.misfit <= _ARRIVED}
    best: dict[int, Solution] = {}
    for candidate in sorted(fits, key=lambda candidate: candidate.misfit):
        if candidate.start not in arrived and np.isfinite(candidate.misfit):
            best.setdefault(candidate.start, candidate)
    return list(best.values())[:_PARENTS]


def hop(
    equations: Equations,
    functions: Basis,
    target: Array,
    stuck: Sequence[Solution],
    count: int,
    rng: np.random.Generator,
) -> tuple[Array, Ints]:
    """Shake candidates, and let them down to fine equations: row sets (count, h, d) and their starts (count,)."""
    chosen = rng.integers(len(stuck), size=count)
    rows = np.stack([stuck[k].rows for k in chosen])
    rows += _shake(equations, functions, rows, rng)
    level = _LEVELS[rng.integers(len(_LEVELS))]
    ladder = [_FINE] if level == _FINE else [level, _FINE] if level is None else [level, np.sqrt(level * _FINE), _FINE]
    for smoothing in ladder:
        rows, _ = solve(equations, target, functions.weights(smoothing), rows, 40)
    return rows, np.array([stuck[k].start for k in chosen])


def _shake(equations: Equations, functions: Basis, rows: Array, rng: np.random.Generator) -> Array:
    """Draw moves of 0.003 to 0.5 standard deviations: all rows, a few, or in the directions that the sums fix least."""
    count, h, _ = rows.shape
    size = 10 ** rng.uniform(-2.5, -0.3, size=(count, 1, 1))
    noise = rng.standard_normal(rows.shape)
    kind = rng.integers(3)
    if kind == 0:
        return np.asarray(size * noise)
    if kind == 1:
        some = rng.random((count, h, 1)) < rng.uniform(0.05, 0.5, size=(count, 1, 1))
        return np.asarray(3 * size * some * noise)
    _, strength, directions = np.linalg.svd(jacobians(equations, functions.weights(_FINE), rows), full_matrices=False)
    reach = strength[:, -1:] * 10 ** rng.uniform(0, 3, size=(count, 1))
    along = rng.standard_normal(strength.shape) * np.minimum(1.0, reach / np.maximum(strength, 1e-300))
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    return np.asarray(size * np.sqrt(h) * np.einsum("sk,skn->sn", along, oriented(directions)).reshape(rows.shape))
