"""Premises of a nearest-neighbour estimate: no determinism, few dimensions, enough rows.

The columns of samples are standardised; how the estimate is computed is a function ``read(x, y, z) -> nats``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from secmix.estimators.ksg_estimator.fading import NeighbourSteps
from secmix.estimators.ksg_estimator.levels import Levels, Read
from secmix.estimators.samples import Floats, Samples

DETERMINED = 1e-6  # relative held-out residual below which a target counts as a function of the view
_PLANTED = 0.5  # nats
_READS_LOW = 0.8  # share of what was planted below which the estimator reads low
_FEW_DIMENSIONS = 4  # up to which it sees what there is
_NEAR_CEILING = 0.75  # share of the entropy of the rows of x, the most it can show, that counts as near


def determined(samples: Samples, nats: float, rng: np.random.Generator) -> list[str]:
    """Say whether some combination of x is a linear function of y, in one note or none."""
    count, among = _determined_directions(samples, rng)
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
        nats_read = _planted(read, samples, rng)
        if nats_read < _READS_LOW * _PLANTED:
            unmet.append(f"of {_PLANTED} nats planted in data of this shape KSG finds {max(nats_read, 0.0):.2g}")
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


def _determined_directions(samples: Samples, rng: np.random.Generator) -> tuple[int, int]:
    """Count the combinations of x that are linear functions of y (and z), out of how many that vary.

    Least squares fitted on one half of the rows and judged on the other, both ways, so that many features
    cannot fit by memory. With z, only what z leaves open is asked about.
    """
    x, y, z = samples
    n = len(x)
    x = x - _affine(z) @ np.linalg.lstsq(_affine(z), x, rcond=None)[0]
    y = np.hstack([y, z])
    left, spread, _ = np.linalg.svd(x, full_matrices=False)
    # What z leaves of a standardised x below the tolerance is z's own knowledge, not y's.
    informative = spread > DETERMINED * math.sqrt(n)
    targets = left[:, informative] * math.sqrt(n)
    features = _affine(y)
    residual = np.empty_like(targets)
    halves = np.array_split(rng.permutation(n), 2)
    for fitted, judged in (halves, halves[::-1]):
        coefficients = np.linalg.lstsq(features[fitted], targets[fitted], rcond=None)[0]
        residual[judged] = targets[judged] - features[judged] @ coefficients
    unexplained = np.linalg.svd(residual, compute_uv=False) / math.sqrt(n)
    return int((unexplained < DETERMINED).sum()), int(informative.sum())


def _affine(y: Floats) -> Floats:
    return np.hstack([np.ones((len(y), 1)), y])


def _planted(read: Read, samples: Samples, rng: np.random.Generator) -> float:
    """Read, in nats, where `_PLANTED` nats were put into Gaussian data of the shape of ``samples``.

    x, y and z keep their own covariances but are independent, save that the widest direction of x shows in
    the widest of y. An estimator that misses this would miss as much in the samples, whatever its form there.
    """
    scores = [rng.standard_normal(part.shape) for part in samples]
    seen = 1.0 - math.exp(-2.0 * _PLANTED)
    scores[1][:, -1] = math.sqrt(seen) * scores[0][:, -1] + math.sqrt(1.0 - seen) * scores[1][:, -1]
    x, y, z = (score @ _axes(part) for score, part in zip(scores, samples, strict=True))
    return read(x, y, z)


def _axes(standardised: Floats) -> Floats:
    """Return principal axes as rows, from the narrowest to the widest, each as long as its standard deviation."""
    values, vectors = np.linalg.eigh(standardised.T @ standardised / len(standardised))
    return np.asarray((vectors * np.sqrt(values.clip(min=0.0))).T)
