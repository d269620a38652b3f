"""Replaying a node's EM: rows are right if the protocol, run on them, ends at the very message that was sent.

The start is no secret even where it is drawn: k-means++ starts from a partition of the rows by K of them, and for few
rows all such partitions can be tried. So a first guess of the rows becomes exact, although EM stopped short of its
fixed point; and the residual of the replay, far below what chance would leave, is the certificate.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from secmix._base.checks import Array, Ints
from secmix.errors import DataError
from secmix.mixture import Mixture
from secmix.protocols.mixture.distributed_mixture import packed, unpacked
from secmix.protocols.mixture.local_mixture import fit_mixtures, seeded_start

CERTAIN = 1e-12
"""Largest misfit of a number of the message, as a share of the largest, at which a replay counts as the same.

Rounding leaves some 1e-15. A replay from another start, or of one step more, can come within 1e-10 with wrong rows.
"""

_PARTITIONS = 3000
_TRIED = 12
_STEPS = 12
_DIFFERENCE = 1e-6
_SPARE = 2
_LENGTHS = 0.5 ** np.arange(6)


@dataclass(frozen=True)
class Replay:
    """Rows (N, d), how far their replay is from the message, and how far they may be off, in their own unit."""

    rows: Array
    residual: float
    error: float

    @property
    def certified(self) -> bool:
        """True where the message is met to rounding and leaves the rows no freedom."""
        return self.residual <= CERTAIN and math.isfinite(self.error)


def replayed(message: Array, guess: Array, protocol: Any) -> Replay | None:
    """Refine ``guess`` to rows whose fit ends at ``message``; the best try, or None where none could be made.

    ``message`` (p,); ``guess`` (N, d); ``protocol``: as it is set; its settings are public.
    """
    best: Replay | None = None
    for seeds, steps in _candidates(message, guess, protocol):
        for count in (steps, steps - 1, steps + 1):
            if count < 1:
                continue
            attempt = _refined(message, guess, protocol, seeds, count)
            if attempt is not None and (best is None or attempt.residual < best.residual):
                best = attempt
            if best is not None and best.certified:
                return best
    return best


def _candidates(message: Array, guess: Array, protocol: Any) -> list[tuple[Ints | None, int]]:
    """List the starts from which the guess ends near the message, nearest first, and the numbers of steps."""
    if protocol.start is not None:
        return [(None, int(_fit(guess[None], protocol, None).iterations[0]))]
    size, k = len(guess), protocol.components
    if math.comb(size, k) > _PARTITIONS or k > size:
        return []
    seeds = np.array(list(itertools.combinations(range(size), k)), dtype=np.intp)
    every = np.repeat(guess[None], len(seeds), axis=0)
    start = seeded_start(every, seeds)
    fit = _fit(every, protocol, start)
    target = unpacked(message, k)
    matching = [_matching(fit.mixture[j], target) for j in range(len(seeds))]
    off = np.array([np.abs(packed(fit.mixture[j][m]) - message).max() for j, m in enumerate(matching)])
    # Seeds that make the same partition make the same start.
    _, first = np.unique(np.round(np.sort(start.weights, axis=1), 9) + off[:, None], axis=0, return_index=True)
    order = first[np.argsort(off[first], kind="stable")][:_TRIED]
    # The seeds in the order in which the components of the message come.
    return [(seeds[j][matching[j]], int(fit.iterations[j])) for j in order]


def _matching(mixture: Mixture, target: Mixture) -> Ints:
    apart = np.abs(mixture.means[None] - target.means[:, None]).sum(-1)
    apart = apart + np.abs(mixture.weights[None] - target.weights[:, None])
    apart = apart + np.abs(mixture.covariances[None] - target.covariances[:, None]).sum((-1, -2))
    return np.asarray(linear_sum_assignment(apart)[1], dtype=np.intp)


def _fit(rows: Array, protocol: Any, start: Mixture | None, steps: int | None = None) -> Any:
    """Fit as the protocol does, from a known start; in exactly ``steps`` steps if given."""
    begin = protocol.start if start is None else start
    settings = {"penalty": protocol.penalty, "max_iterations": protocol.max_iterations if steps is None else steps}
    tolerance = protocol.tolerance if steps is None else 1e-300
    return fit_mixtures(rows, begin, tolerance=tolerance, **settings)


def _refined(message: Array, guess: Array, protocol: Any, seeds: Ints | None, steps: int) -> Replay | None:
    """Apply Gauss and Newton to the replay of ``steps`` steps; derivatives by differences, all in one batch.

    How far to go is judged by the length of the next correction, not by the misfit (Deuflhard's natural monotonicity):
    along what the message hardly fixes, rows are far off long after the misfit is small.
    """
    size, d = guess.shape
    unit = float(np.sqrt(guess.var(axis=0).mean())) or 1.0
    scale = float(np.abs(message).max())

    def ends(rows: Array) -> Array:
        start = None if seeds is None else seeded_start(rows, np.repeat(seeds[None], len(rows), axis=0))
        return packed(_fit(rows, protocol, start, steps).mixture)

    nudges = _DIFFERENCE * unit * np.eye(size * d).reshape(-1, size, d)
    rows, best = guess, None
    try:
        off = ends(rows[None])[0] - message
        for _ in range(_STEPS):
            both = ends(np.concatenate([rows + nudges, rows - nudges]))
            jacobian = (both[: size * d] - both[size * d :]).T / (2 * _DIFFERENCE * unit)
            residual = float(np.abs(off).max()) / scale
            if best is None or residual < best.residual:
                best = Replay(rows, residual, _error(jacobian, max(residual, 1e-15) * scale, len(message), unit))
            if best.certified and residual < 1e-13:
                break
            inverse = np.linalg.pinv(jacobian, rcond=1e-9)
            correction = inverse @ off
            options = rows - _LENGTHS[:, None, None] * correction.reshape(size, d)
            offs = ends(options) - message
            left = np.linalg.norm(offs @ inverse.T, axis=1)
            at = int(np.argmin(left))
            if not left[at] < (1 - 0.1 * _LENGTHS[at]) * np.linalg.norm(correction):
                break
            rows, off = options[at], offs[at]
    except (DataError, np.linalg.LinAlgError):  # rows that span no space any more
        pass
    return best


def _error(jacobian: Array, misfit: float, numbers: int, unit: float) -> float:
    """Bound how far rows can be off at this misfit; infinite where the message leaves them free or has few numbers."""
    if numbers - 1 < jacobian.shape[1] + _SPARE:
        return math.inf
    s = np.linalg.svd(jacobian, compute_uv=False)
    # Differences are good to some nine digits: what is smaller may be zero.
    if s[-1] < 1e-8 * s[0]:
        return math.inf
    error = misfit * math.sqrt(numbers) / float(s[-1])
    return error if error < 1e-6 * unit else math.inf
