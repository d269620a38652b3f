"""What keeps a nearest-neighbour estimate honest: determinism and too many dimensions.

Each check answers one question about samples whose columns are already standardised, and knows nothing of how
the estimate is computed: it is handed the estimator as a function ``read(x, y, z) -> nats``.
"""

from __future__ import annotations

import math

import numpy as np

from secmix.estimators.ksg_estimator.levels import Read
from secmix.estimators.samples import Floats, Samples

DETERMINED = 1e-6  # relative held-out residual below which a target counts as a function of the view
PLANTED = 0.5  # nats


def determined_directions(samples: Samples, rng: np.random.Generator) -> tuple[int, int]:
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
    kept = spread > DETERMINED * math.sqrt(n)
    targets = left[:, kept] * math.sqrt(n)
    features = _affine(y)
    residual = np.empty_like(targets)
    halves = np.array_split(rng.permutation(n), 2)
    for fitted, judged in (halves, halves[::-1]):
        coefficients = np.linalg.lstsq(features[fitted], targets[fitted], rcond=None)[0]
        residual[judged] = targets[judged] - features[judged] @ coefficients
    unexplained = np.linalg.svd(residual, compute_uv=False) / math.sqrt(n)
    return int((unexplained < DETERMINED).sum()), int(kept.sum())


def _affine(y: Floats) -> Floats:
    return np.hstack([np.ones((len(y), 1)), y])


def planted(read: Read, samples: Samples, rng: np.random.Generator) -> float:
    """Read, in nats, where `PLANTED` nats were put into Gaussian data of the shape of ``samples``.

    x, y and z keep their own covariances but are independent, save that the widest direction of x shows in
    the widest of y. An estimator that misses this would miss as much in the samples, whatever its form there.
    """
    scores = [rng.standard_normal(part.shape) for part in samples]
    seen = 1.0 - math.exp(-2.0 * PLANTED)
    scores[1][:, -1] = math.sqrt(seen) * scores[0][:, -1] + math.sqrt(1.0 - seen) * scores[1][:, -1]
    x, y, z = (score @ _axes(part) for score, part in zip(scores, samples, strict=True))
    return read(x, y, z)


def _axes(standardised: Floats) -> Floats:
    """Return principal axes as rows, from the narrowest to the widest, each as long as its standard deviation."""
    values, vectors = np.linalg.eigh(standardised.T @ standardised / len(standardised))
    return np.asarray((vectors * np.sqrt(values.clip(min=0.0))).T)
