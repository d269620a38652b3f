"""Several critics made one: f = Σ w_m f_m, with weights that maximise InfoNCE on validation rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from secmix.estimators.information.contrast import contrasts
from secmix.estimators.samples import Floats

MIXED = 0.005
"""ε, which bounds every contrast from below; a choice up to 0.1 by validation rows lost and gained no bound."""
_MOST = 1.5
_WORTH = 1.5  # of one over the validation rows: the gain below which a critic that was not chosen is left out
_LEAST = 0.05  # a weight below it is dropped


def stacked(weights: Floats, parts: list[Floats]) -> list[Floats]:
    """Compute Σ w_m f_m of stacks of scores (m, b, b), batch by batch."""
    return [np.tensordot(weights, part, axes=1) for part in parts]


def frugal_weights(parts: list[Floats], choices: Sequence[int]) -> Floats:
    """Find stacking weights (m,) without critics that gain no more than fitting and choosing them brings by chance.

    A parameter fitted on n rows gains ½/n there and loses as much elsewhere (Akaike 1974); the best of c useless
    critics, ``choices`` of each, gains about ln c / n more (twice n times such a gain is chi-squared). What gains less
    than three times the first and the second is left out, the least useful first.
    """
    pairs = sum(part.shape[1] for part in parts)
    worth = (_WORTH + np.log(choices)) / pairs
    weights = stacking_weights(parts)
    while weights.any():
        used = np.flatnonzero(weights)
        overall = _mean_contrast(weights, parts)
        losses = [overall - _mean_contrast(np.where(np.arange(len(weights)) == m, 0.0, weights), parts) for m in used]
        beyond_chance = np.array(losses) - worth[used]
        if beyond_chance.min() >= 0:
            break
        rest = np.delete(used, int(np.argmin(beyond_chance)))
        weights = np.zeros(len(weights))
        if len(rest):
            weights[rest] = stacking_weights([part[rest] for part in parts])
    return weights


def _mean_contrast(weights: Floats, parts: list[Floats]) -> float:
    return float(np.concatenate([contrasts(scores) for scores in stacked(weights, parts)]).mean())


def stacking_weights(parts: list[Floats]) -> Floats:
    """Find weights (m,) in [0, 1.5] that maximise the mean contrast of scores (m, b, b); the problem is concave."""
    m = len(parts[0])
    pairs = sum(part.shape[1] for part in parts)
    own = sum(np.einsum("mii->m", part) for part in parts)

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, slope = -float(weights @ own), -own
        for part, scores in zip(parts, stacked(weights, parts), strict=True):
            most = scores.max(axis=1, keepdims=True)
            share = np.exp(scores - most)
            sums = share.sum(axis=1, keepdims=True)
            value += float((most + np.log(sums)).sum())
            slope = slope + np.tensordot(part, share / sums, axes=([1, 2], [0, 1]))
        return value / pairs, slope / pairs

    fit = minimize(loss, np.full(m, 1.0 / m), jac=True, method="L-BFGS-B", bounds=[(0.0, _MOST)] * m)
    return np.where(fit.x < _LEAST, 0.0, fit.x)
