"""Gaussian: mutual information in closed form, for inputs and masks that are jointly Gaussian (Li 2022, section 5).

How it is got: With inputs and masks that are jointly Gaussian, mutual information has a closed form in A, M and the
ratio of their sizes (Li 2022, section 5). The number is that of the worst entry of the summed vector.

What it assumes: Masks are independent draws of their measured size. For inputs that are not Gaussian the upper end adds
the negentropy of the other terms of the sum: for equal variance, a Gaussian gives the sum the largest entropy, and the
entropy of the other terms is smaller than a Gaussian's by their negentropy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr

from secmix._base.checks import Array
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind, finite, is_linear, under_premises
from secmix.auditing.observation.sum_observation import (
    UNEQUAL,
    SumObservation,
    nats_of,
    nats_of_all,
    output_share,
    share_known,
)
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.estimators.estimate import normalised
from secmix.estimators.learned_decoders import RECOVERED

_REVEALS_FROM = 1 - RECOVERED**2
"""Masks are so small that the input is known to 1e-6, the criterion for a recovered row."""


def _gather(case: CellContext) -> Gathered:
    setup, observation = case.setup, case.observation
    assert isinstance(setup, SumSetup)
    assert isinstance(observation, SumObservation)
    more = _negentropies_of_the_rest(setup, observation)
    findings = [
        finding
        for node in case.judged
        for finding in _findings_about(setup, observation, node, case.about(node), more.get(node, 0.0))
    ]
    return Gathered(under_premises(case, findings))


def _findings_about(
    setup: SumSetup, observation: SumObservation, node: int, about: dict[str, Any], more: float
) -> Iterator[Finding]:
    """Yield the findings about ``node``; known sums reveal up to ``more`` nats of it beyond the formula."""
    single = max(
        nats_of(observation, r, node, iterations) for iterations, r in observation.all_readings if len(iterations) == 1
    )
    cumulative = nats_of_all(setup, observation, node)
    baseline = output_share(setup, observation, node)
    for view, nats in (("single", single), ("cumulative", cumulative)):
        share = low = normalised(nats, 1)
        most = nats
        estimated = setup.is_unequal and not math.isinf(nats)
        if estimated:
            measured = share_known(observation, node, masks=True, cumulative=view == "cumulative")
            share, low = measured.value, measured.low
            nats, most = _nats(measured.value), _nats(measured.high)
        notes = ["its summed vector is known exactly, so the information is infinite"] * math.isinf(nats)
        if not notes and low >= _REVEALS_FROM:
            notes.append(f"its masks are too small: behind them its input is known to {RECOVERED:g}; draw larger ones")
        notes += [UNEQUAL] * estimated
        behind = observation.behind.get(node, 0.0)
        if behind > share:  # of the known sums alone
            most = max(most, _nats(behind))
            notes.append("the upper end is proved: so much of the largest data shows behind masks of their size")
        if more and not math.isinf(nats):
            notes.append("the inputs are not Gaussian: the upper end adds the negentropy of the other terms of the sum")
        yield Finding(
            **about,
            evidence="gaussian",
            view=view,
            target="input",
            method="closed form for Gaussian inputs and masks, the worst entry of the summed vector",
            value=finite(nats),
            unit="nats",
            low=finite(_nats(low) if estimated else nats),
            high=finite(most + more),
            kind="estimate" if estimated or (most + more > nats and not math.isinf(nats)) else "exact",
            status="determined" if math.isinf(nats) else "resolved",
            normalised_leakage=share,
            normalised_low=low,
            normalised_high=normalised(most + more, 1),
            baseline=baseline,
            notes=notes,
        )


def _nats(share: float) -> float:
    """Convert an explained share of variance to nats; ``normalised`` converts back."""
    return -0.5 * math.log1p(-min(share, 1 - 1e-16))


def _negentropies_of_the_rest(setup: SumSetup, observation: SumObservation) -> dict[int, float]:
    """Bound how much more than the Gaussian formula known sums may reveal of each input, in nats an entry.

    I(s_i; s_i + R) = h(s_i + R) − h(R), where R is the sum of the others. For given variances the first term is largest
    for a Gaussian, and the second is smaller than a Gaussian's by the negentropy of R. So the formula is exceeded by at
    most that: the largest over the known sums and their entries, estimated from the runs, with two standard errors;
    0 for Gaussians.
    """
    worst: dict[int, float] = {}
    bases = [(ts[0], reading.subspace.basis) for ts, reading in observation.all_readings if len(ts) == 1]
    # Message schedules may differ between runs, but mostly reveal the same.
    for t, basis in {(t, basis.round(9).tobytes()): (t, basis) for t, basis in bases}.values():
        vectors = observation.inputs[t]
        for row in basis:
            members = [k for k in np.flatnonzero(np.abs(row) > 1e-6).tolist() if k not in setup.corrupt]
            for node, rest in zip(members, _sums_of_the_others(row[members], vectors, members), strict=True):
                if len(members) > 1 and node in setup.asked:
                    worst[node] = max(worst.get(node, 0.0), negentropy(rest))
    return worst


def _sums_of_the_others(weights: Array, vectors: Array, members: list[int]) -> Iterator[Array]:
    """Yield for each of ``members`` the weighted sum (runs, m) of the vectors of all others, with nothing cancelled."""
    weighted = weights[:, None, None] * vectors[members]
    after = np.cumsum(weighted[:0:-1], axis=0)[::-1]
    before = np.zeros(vectors.shape[1:])
    for k in range(len(members)):
        yield before + after[k] if k < len(after) else before
        before = before + weighted[k]


def negentropy(values: Array) -> float:
    """Estimate the largest ½ ln(2πe σ²) − h of the columns (runs, p), plus two errors.

    A column counts as 0 where no test refutes a Gaussian, and as infinite where values repeat.
    """
    spread = values.std(axis=0)
    varies = spread > 1e-9 * np.abs(values).max(axis=0)
    standard = (values[:, varies] - values[:, varies].mean(axis=0)) / spread[varies]
    standard = standard[:, _far_from_gaussian(standard) >= _refuting(len(values))]
    if not standard.shape[1]:
        return 0.0
    from secmix.estimators.ksg_estimator.entropies import entropies  # compiled, so loaded on use

    least = float(entropies(standard).min())
    return max(0.5 * math.log(2 * math.pi * math.e) - least, 0.0) + 2 / math.sqrt(len(values))


def _far_from_gaussian(standard: Array) -> Array:
    """Compute Kolmogorov's distance (p,) between the values (runs, p) of each column and the standard Gaussian."""
    n = len(standard)
    below = ndtr(np.sort(standard, axis=0))
    steps = np.arange(n + 1)[:, None] / n
    return np.asarray(np.maximum((steps[1:] - below).max(axis=0), (below - steps[:-1]).max(axis=0)))


@cache
def _refuting(n: int) -> float:
    """Compute the distance that n draws of a Gaussian exceed once in a thousand times."""
    from scipy.stats import kstwo

    return float(kstwo.isf(1e-3, n))


EVIDENCE = Evidence(
    "gaussian",
    (
        Kind(
            "gaussian",
            "Exact mutual information for Gaussian data",
            "The mutual information in closed form for Gaussian inputs and masks of the protocol's actual "
            "size. Exact for these inputs.",
        ),
    ),
    is_linear,
    _gather,
    rank=2,
    exact=True,
    bounds_leakage=True,
    reveals_from=_REVEALS_FROM,
    not_tried="exact Gaussian information (evidence 'gaussian' was not asked for)",
)
