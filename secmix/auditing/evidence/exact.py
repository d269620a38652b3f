"""Exact evidence: structure, and mutual information in closed form (spec 2, a and b)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.observation.reading import Reading
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.errors import DataError
from secmix.estimators.estimate import normalised
from secmix.estimators.ksg.information import entropy
from secmix.protocols import Defences


def structure(observation: SumObservation, node: int, about: dict[str, Any]) -> Iterator[Finding]:
    shares = [(len(of), float(r.subspace.explained(node).max())) for of, r in observation.all_readings]
    single = max(share for iterations, share in shares if iterations == 1)
    for view, share in (("single", single), ("cumulative", max(share for _, share in shares))):
        known = share > 1 - 1e-6
        yield Finding(
            **about,
            evidence="structure",
            view=view,
            target="input",
            method="leaked subspace: unit inputs and unit masks through the protocol itself",
            value=share,
            unit="share of variance known behind infinite masks",
            low=share,
            high=share,
            kind="exact",
            status="determined" if known else "resolved",
            normalised_leakage=1.0 if known else share,
            normalised_low=1.0 if known else share,
            normalised_high=1.0 if known else share,
            verdict="not refuted",
            notes=["its summed vector lies in the leaked subspace: known exactly, however large the masks"] * known,
        )


def at_least(finding: Finding, doubts: list[str]) -> Finding:
    """An exact finding whose premises are in doubt: what it shows is there, but there may be more."""
    if finding.status == "determined":
        return finding
    weaker = {"kind": "lower bound", "status": "unresolved", "high": None, "normalised_high": 1.0}
    return finding.model_copy(update={**weaker, "notes": [*finding.notes, *doubts]})


def at_most(finding: Finding, defences: Defences) -> Finding:
    """An exact finding about vectors that were blurred before they were summed: of the rows it is an upper bound.

    View and rows are independent given what is sent, so that the view says no more of the rows than of that.
    """
    blurred = ", ".join(defences.words)
    note = f"this is of what the node sends, blurred ({blurred}): of its rows no more is known, maybe less"
    bound = {
        "value": finding.high,
        "low": 0.0,
        "kind": "upper bound",
        "status": "unresolved" if finding.status == "determined" else finding.status,
        "normalised_leakage": finding.normalised_high,
        "normalised_low": 0.0,
    }
    return finding.model_copy(update={**bound, "notes": [*finding.notes, note]})


def output_share(setup: SumSetup) -> float:
    """Share of the variance of one honest input that the total gives, the corrupt inputs being known: 1/|honest|."""
    return 1.0 / (setup.network.n - len(setup.corrupt))


def gaussian(setup: SumSetup, observation: SumObservation, node: int, about: dict[str, Any]) -> Iterator[Finding]:
    n = setup.network.n
    single = max(_nats(r, node, observation, of) for of, r in observation.all_readings if len(of) == 1)
    cumulative = max(
        _nats(r, node + n * place, observation, of) for of, r in observation.all_readings for place in range(len(of))
    )
    more = _negentropy_of_the_rest(setup, observation, node)
    for view, nats in (("single", single), ("cumulative", cumulative)):
        share = normalised(nats, 1)
        notes = ["its summed vector is known exactly, so the information is infinite"] * math.isinf(nats)
        if more and not math.isinf(nats):
            notes.append("the inputs are not Gaussian: the upper end adds the negentropy of what hides this one")
        yield Finding(
            **about,
            evidence="gaussian",
            view=view,
            target="input",
            method="closed form for Gaussian inputs and masks, the worst entry of the summed vector",
            value=finite(nats),
            unit="nats",
            low=finite(nats),
            high=finite(nats + more),
            kind="estimate" if more and not math.isinf(nats) else "exact",
            status="determined" if math.isinf(nats) else "resolved",
            normalised_leakage=share,
            normalised_low=share,
            normalised_high=normalised(nats + more, 1),
            baseline=output_share(setup),
            verdict="not refuted",
            notes=notes,
        )


def _negentropy_of_the_rest(setup: SumSetup, observation: SumObservation, node: int) -> float:
    """How much more than the Gaussian formula a known sum may say of one input, in nats an entry.

    I(s_i; s_i + R) = h(s_i + R) − h(R), R being the sum of the others. Given the variances the first is largest for a
    Gaussian, and the second short of one by the negentropy of R. So the formula is exceeded by no more than that: the
    worst over the known sums and their entries, estimated from the runs, with two standard errors; 0 for Gaussians.
    """
    worst = 0.0
    for t, reading in observation.readings.items():
        vectors = observation.inputs[t]
        for row in reading.subspace.basis:
            others = [k for k in range(len(vectors)) if k != node and k not in setup.corrupt and abs(row[k]) > 1e-6]
            if abs(row[node]) > 1e-6 and others:
                rest = np.tensordot(row[others], vectors[others], axes=1)
                worst = max([worst, *(_negentropy(column) for column in rest.T)])
    return worst


def _negentropy(values: Array) -> float:
    """½ ln(2πe σ²) − h(values), at least; 0 where nothing speaks against a Gaussian, infinite where values repeat."""
    from scipy.stats import kstest

    spread = float(values.std())
    if spread <= 1e-9 * float(np.abs(values).max()):
        return 0.0
    standard = (values - values.mean()) / spread
    if kstest(standard, "norm").pvalue > 1e-3:
        return 0.0
    try:
        return max(0.5 * math.log(2 * math.pi * math.e) - entropy(standard), 0.0) + 2 / math.sqrt(len(values))
    except DataError:
        return math.inf


def _nats(reading: Reading, place: int, observation: SumObservation, iterations: list[int]) -> float:
    """Information about one input, masks against the entry whose inputs spread widest."""
    spread = max(float(observation.inputs[t].std(axis=(0, 1)).max()) for t in iterations)
    if spread == 0:
        return 0.0
    return reading.gaussian.information(place, max(observation.mask_size, 1e-300) / spread)


def finite(value: float) -> float | None:
    """JSON has no infinity: null stands for it."""
    return value if math.isfinite(value) else None
