"""What a reader must know before relying on a nearest-neighbour estimate, in words."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from secmix.estimators.ksg_estimator.checks import PLANTED, determined_directions, planted
from secmix.estimators.ksg_estimator.fading import NeighbourSteps
from secmix.estimators.ksg_estimator.levels import Levels, Read
from secmix.estimators.samples import Floats, Samples

_READS_LOW = 0.8  # share of what was planted below which the estimator reads low
_FEW_DIMENSIONS = 4  # up to which it sees what there is
_NEAR_CEILING = 0.75  # share of the entropy of the rows of x, the most it can show, that counts as near


def determined(samples: Samples, nats: float, rng: np.random.Generator) -> list[str]:
    """Say whether some combination of x is a linear function of y, in one note or none."""
    count, among = determined_directions(samples, rng)
    if not count:
        return []
    what = "x is" if count == among else f"{count} of {among} combinations of x are"
    return [
        f"{what} a linear function of y, to a held-out residual below 1e-6: infinite for a continuous x; "
        f"the number, {nats:.4g} nats, only reflects the sample size"
    ]


def unmet_premises(
    read: Read,
    samples: Samples,
    nats: float,
    parts: Levels,
    steps: NeighbourSteps | None,
    rng: np.random.Generator,
) -> list[str]:
    """List all that makes the number no more than a lower bound; empty if nothing does.

    ``steps``, where known, tell growth that ends, at an edge of the support, from growth that does not.
    """
    x, y, z = samples
    n, features = len(x), y.shape[1] + z.shape[1]
    unmet = []
    if parts.saturated and not (steps and steps.fade):
        unmet.append(f"still growing by {parts.slope:.2f} nats per e-fold of rows at N = {n}")
    elif parts.blind:
        unmet.append(f"{n} rows are too few to tell a settled estimate from one that follows N")
    if x.shape[1] + features > _FEW_DIMENSIONS:
        nats_read = planted(read, samples, rng)
        if nats_read < _READS_LOW * PLANTED:
            unmet.append(f"of {PLANTED} nats planted in data of this shape KSG finds {max(nats_read, 0.0):.2g}")
    times = _repetitions(x)
    ceiling = math.log(n) - float(times @ np.log(times)) / n
    if nats > _NEAR_CEILING * ceiling:
        unmet.append(f"near the {ceiling:.3g} nats that {len(times)} distinct rows of x cannot exceed")
    return unmet


def _repetitions(array: Floats) -> NDArray[np.int64]:
    """Count how often each distinct row occurs."""
    for column in array.T:
        if len(np.unique(column)) == len(column):  # much the quicker question, and the usual answer
            return np.ones(len(column), np.int64)
    return np.asarray(np.unique(array, axis=0, return_counts=True)[1])
