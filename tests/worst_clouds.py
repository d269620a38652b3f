"""Search for clouds that bring the geometric median close to its proven constant, over honest messages too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from secmix._base.checks import Array, integer
from secmix.adversaries.against_rules.cma_es import evolve
from secmix.adversaries.against_rules.directions import reach_along
from secmix.aggregators import geometric_median
from secmix.errors import SecmixError
from secmix.estimators.robustness.proven import geometric_median_constant


@dataclass(frozen=True)
class WorstCloud:
    """A configuration in which colluders move the geometric median far."""

    honest: Array  # (h, p), within distance 1 of the origin
    byzantine: Array  # (f, p)
    error: float  # ‖geometric median‖ as the rule computes it: the distance from the centre, in units of the radius
    constant: float  # (1 − τ)/√(1 − 2τ), which it cannot exceed

    @property
    def ratio(self) -> float:
        """error / constant."""
        return self.error / self.constant


def worst_cloud(
    h: int,
    f: int,
    rng: np.random.Generator,
    *,
    p: int = 2,
    centre: Literal["any", "mean"] = "any",
    trials: int = 1500,
    restarts: int = 12,
) -> WorstCloud:
    """Search, by CMA-ES, for honest and Byzantine messages that together make the geometric median err most.

    The error is measured from any point within distance 1 of which all honest messages lie (for which the constant is
    tight), or from their mean. Many short restarts find more than a few long ones, which end at lesser peaks.

    >>> worst = worst_cloud(6, 4, np.random.default_rng(0), trials=300)
    >>> 0.95 < worst.ratio <= 1 + 1e-9
    True
    """
    h, f, p = integer(h, "h"), integer(f, "f"), integer(p, "p")
    if f >= h:
        raise SecmixError(f"f = {f} colluders beside h = {h} honest nodes are not a minority; give f < h")
    if centre not in ("any", "mean"):
        raise SecmixError(f"centre is 'any' or 'mean'; given {centre!r}")
    axis = np.eye(p)[0]

    def cloud(x: Array) -> Array:
        rows = x.reshape(h, p)
        if centre == "mean":
            rows = rows - rows.mean(axis=0)
            return np.asarray(rows / max(float(np.linalg.norm(rows, axis=1).max()), 1e-300))
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None])

    def reach(x: Array) -> float:
        return reach_along(axis, cloud(x), f)

    best: WorstCloud | None = None
    for own in rng.spawn(integer(restarts, "restarts")):
        x, _ = evolve(reach, own.standard_normal(h * p), 0.5, trials, own)
        honest = cloud(x)
        for shrink in (0.0, 1e-12, 1e-9, 1e-6):
            byzantine = np.tile((1 - shrink) * reach(x) * axis, (f, 1))
            error = float(np.linalg.norm(geometric_median(np.concatenate([honest, byzantine]), f=f)))
            if best is None or error > best.error:
                best = WorstCloud(honest, byzantine, error, geometric_median_constant(f / (h + f)))
    assert best is not None
    return best


def geometric_median_at_the_mean(tau: float) -> float:
    """Compute the largest error, in ε, about the *mean* of the honest messages over all clouds of many messages.

    With g at distance d on an axis, a message on the sphere at height a along it pulls back with
    φ(a) = (d − a)/√(d² − 2 a d + 1). The mean is at the origin when the heights average zero, so the least pull is the
    lower convex envelope of φ at 0: some messages at height −1, where φ = 1, the rest at one height a. The answer is
    the largest d at which it is within τ/(1 − τ), and 1 where that is smaller.

    >>> round(geometric_median_at_the_mean(0.4), 2), round(geometric_median_at_the_mean(0.1), 2)
    (1.07, 1.0)
    """
    constant = geometric_median_constant(tau)
    allowed = tau / (1 - tau)
    heights = np.linspace(0.0, 1.0, 4001)

    def least(d: float) -> float:
        phi = (d - heights) / np.sqrt(np.maximum(d * d - 2 * heights * d + 1, 1e-300))
        share = heights / (1 + heights)
        return float((share + (1 - share) * phi).min())

    low, high = 1.0, constant
    if least(low + 1e-9) > allowed:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if least(middle) <= allowed else (low, middle)
    return low
