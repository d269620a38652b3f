"""InfoNCE: what a critic shows of the information in rows it was not fitted on.

Among b pairs, let the critic score each x_i with every y_j. With r_i = b e^{f_ii} / Σ_j e^{f_ij}, the mean of ln(ε + (1
− ε) r_i) is on average no more than I(X; Y), whatever the critic: ε + (1 − ε) r has mean one where the y are assigned
to the x at random, so the Donsker–Varadhan bound applies. A bad critic costs power and never truth. The ε keeps a
single pair that is scored very wrongly from costing more than −ln ε.

van den Oord, Li and Vinyals, arXiv:1807.03748 (2018), equation (5); Poole et al., *On Variational Bounds of Mutual
Information*, ICML 2019, section 2.3.
"""

from __future__ import annotations

import math

import numpy as np

from secmix.estimators.information.critic import Rows, Score
from secmix.estimators.samples import Floats

MOST_PAIRS = 200
"""Pairs of a batch: it can show ln 200 = 5.3 nats, and costs the square."""


def batches(rows: Rows) -> list[Rows]:
    """Split ``rows`` into batches of nearly equal size, of at most :data:`MOST_PAIRS` pairs."""
    parts = np.array_split(np.arange(len(rows.x)), max(1, math.ceil(len(rows.x) / MOST_PAIRS)))
    return [rows.at(part) for part in parts]


def matrices(score: Score, parts: list[Rows]) -> list[Floats]:
    """Score batches, (b, b) each, batch by batch."""
    return [score(part.x, part.y) for part in parts]


def contrasts(scores: Floats, mixed: float = 0.0) -> Floats:
    """Compute ln(ε + (1 − ε) r_i) of every pair of a batch, from its scores (b, b), with ε = ``mixed``; in nats."""
    log_ratio = np.diag(scores) - _log_sums(scores) + math.log(len(scores))
    if not mixed:
        return np.asarray(log_ratio)
    return np.asarray(np.log(mixed + (1 - mixed) * np.exp(log_ratio)))


def pseudo_values(scores: Floats, mixed: float) -> tuple[Floats, Floats]:
    """Return a batch's contrasts, and the jackknife's pseudo-values b S − (b − 1) S₍₋ₖ₎ of their mean S, each (b,).

    S₍₋ₖ₎ is the mean over the batch without pair k, which is neither asked about nor compared with. Their variance over
    b is that of S, the dependence between contrasts that share a batch included (Efron and Stein 1981: on average not
    too small).
    """
    b = len(scores)
    overall = contrasts(scores, mixed)
    share = np.exp(scores - _log_sums(scores)[:, None])  # of each y_j in row i
    own = np.diag(share)
    left = np.maximum(1.0 - share, own[:, None])  # what remains of row i without column k
    without = np.log(mixed + (1 - mixed) * (b - 1) * own[:, None] / left)
    np.fill_diagonal(without, 0.0)
    return overall, np.asarray(b * overall.mean() - without.sum(axis=0))


def _log_sums(scores: Floats) -> Floats:
    most = scores.max(axis=1)
    return np.asarray(most + np.log(np.exp(scores - most[:, None]).sum(axis=1)))
