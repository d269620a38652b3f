"""Search over the honest messages too: how close to its proven constant the geometric median can be brought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from secmix._base.checks import Array, integer
from secmix.adversaries.search.cma_es import evolve
from secmix.adversaries.search.directions import reach_along
from secmix.aggregators import geometric_median
from secmix.errors import SecmixError
from secmix.estimators.robustness.proven import geometric_median_constant


@dataclass(frozen=True)
class WorstCloud:
    """A configuration in which colluders move the geometric median far.

    Attributes
    ----------
    honest : (h, p)
        Within distance 1 of the origin.
    byzantine : (f, p)
    error : float
        ‖geometric median‖ as the rule computes it: the distance from the centre, in units of the radius.
    constant : float
        (1 − τ)/√(1 − 2τ), which it cannot exceed.
    """

    honest: Array
    byzantine: Array
    error: float
    constant: float

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

    Parameters
    ----------
    h, f : int
        Honest and Byzantine messages, f < h.
    p : int
        Dimension of the search.
    centre : {"any", "mean"}
        What the error is measured from: any point within distance 1 of which all honest messages lie (for which the
        constant is tight), or their mean.
    trials, restarts : int
        Clouds tried in each restart. Many short ones find more than a few long ones, which end at lesser peaks.

    Examples
    --------
    >>> worst = worst_cloud(6, 4, np.random.default_rng(0), trials=300)
    >>> 0.95 < worst.ratio <= 1 + 1e-9
    True
    """
    h, f, p = integer(h, "h"), integer(f, "f"), integer(p, "p")
    if f >= h:
        raise SecmixError(f"f = {f} colluders beside h = {h} honest nodes are no minority; give f < h")
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
