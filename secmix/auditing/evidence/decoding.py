"""What the measured evidences share: what is private about a node, and decoders of it, fitted once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.evidence.interface import Case
from secmix.auditing.evidence.premises import at_least
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Finding, LeakageCurve
from secmix.estimators.decoders import RECOVERED, Decoding, reconstruct
from secmix.estimators.estimate import normalised, wilson
from secmix.estimators.ksg.information import ksg

MOST = 0.5
"""Share of runs recovered from which on a node counts as revealed."""


@dataclass(frozen=True)
class Target:
    """What is private about a node, in all runs (N, d), and how a report calls it."""

    values: Array
    name: Any  # "row" or "input"


def target_of(name: str, values: Array) -> Target | None:
    """What is private, (runs, d), without what never varies; None where nothing does."""
    varying = values[:, np.ptp(values, axis=0) > 1e-12]
    return Target(varying, name) if varying.shape[1] else None


@dataclass(frozen=True)
class Decoded:
    """Linear decoders of one node's secret, from the view of each iteration and of all up to it.

    Attributes
    ----------
    target : Target
    features : dict of iteration -> (runs, p)
    alone : dict of iteration -> Decoding
    joined : dict of iteration -> Decoding
        Of all iterations up to that one, those that somebody has asked for.
    """

    target: Target
    features: dict[int, Array]
    alone: dict[int, Decoding]
    joined: dict[int, Decoding] = field(default_factory=dict)

    @property
    def iterations(self) -> list[int]:
        """Those whose view holds anything, in order."""
        return sorted(self.features)

    @property
    def stacked(self) -> Array:
        """The views of all iterations side by side."""
        return np.hstack([self.features[t] for t in self.iterations])

    def upto(self, t: int) -> Decoding:
        """From the views of all iterations up to ``t``; up to the first there is that one alone."""
        if t == self.iterations[0]:
            return self.alone[t]
        if t not in self.joined:
            view = np.hstack([self.features[i] for i in self.iterations if i <= t])
            self.joined[t] = reconstruct(self.target.values, view)
        return self.joined[t]

    @property
    def last(self) -> Decoding:
        """From everything."""
        return self.upto(self.iterations[-1])

    @property
    def worst(self) -> int:
        """The iteration that gives away most by itself."""
        return min(self.iterations, key=lambda t: self.alone[t].error.value)


def decoded(case: Case, node: int) -> Decoded | None:
    """The decoders of ``node``, fitted at the first call; None where nothing about it varies."""
    if (Decoded, node) not in case.fitted:
        case.fitted[Decoded, node] = _fit(case, node)
    found: Decoded | None = case.fitted[Decoded, node]
    return found


def _fit(case: Case, node: int) -> Decoded | None:
    observation, name = case.observation, case.cell.measure.target
    if name == "input" and isinstance(observation, SumObservation):
        first = max(min(observation.iterations), 0)
        target = target_of(name, observation.inputs[first][node])
    else:
        target = target_of("row", observation.rows[node])
    if target is None:
        return None
    features = observation.features[node]
    iterations = sorted(features)
    if not iterations:
        return Decoded(target, features, {})
    return Decoded(target, features, {t: reconstruct(target.values, features[t]) for t in iterations})


def as_measured(case: Case, node: int, findings: list[Finding]) -> list[Finding]:
    """``findings`` as lower bounds where the observation holds only a part of what the adversary does."""
    reason = case.observation.reads_low
    if reason is None or not case.observation.features[node]:  # only who holds nothing is known to know nothing
        return findings
    return [at_least(finding, [reason]) for finding in findings]


def leakage_curve(case: Case, node: int) -> LeakageCurve | None:
    """Normalised leakage against iteration: KSG on the outputs of the decoders; None where nothing varies."""
    if (LeakageCurve, node) not in case.fitted:
        found = decoded(case, node)
        case.fitted[LeakageCurve, node] = None if found is None else _curve(found, node, case.cell.measure.neighbours)
    curve: LeakageCurve | None = case.fitted[LeakageCurve, node]
    return curve


def _curve(found: Decoded, node: int, k: int) -> LeakageCurve:
    target, iterations = found.target, found.iterations
    if not iterations:
        return LeakageCurve(node=node, evidence="the view is empty", iterations=[0], single=[0.0], cumulative=[0.0])

    def height(decoding: Decoding) -> float:
        if decoding.explained[0] > 1 - RECOVERED:
            return 1.0
        if not decoding.features or not np.ptp(decoding.prediction, axis=0).all():
            return 0.0
        reading = ksg(target.values, decoding.prediction, k=k, interval=False, checks=False)
        return normalised(reading.value, target.values.shape[1])

    singles = [height(found.alone[t]) for t in iterations]
    known = list(np.maximum.accumulate(singles))
    both = [  # where one iteration shows everything, the curve of all so far cannot rise, and none is fitted for it
        single if t == iterations[0] or most == 1.0 else max(height(found.upto(t)), single)
        for t, single, most in zip(iterations, singles, known, strict=True)
    ]
    return LeakageCurve(
        node=node,
        evidence="KSG on the output of a cross-fitted linear decoder: a lower bound",
        iterations=iterations,
        single=singles,
        cumulative=np.maximum.accumulate(both).tolist(),
    )


def recovered(about: dict[str, Any], hits: int, runs: int, **fields: Any) -> Finding:
    """What an attack recovered in ``hits`` of ``runs`` runs: at least that much is known."""
    low, high = wilson(hits, runs)
    share = hits / runs
    return Finding(
        **about,
        **fields,
        target="row",
        value=share,
        low=low,
        high=high,
        kind="lower bound",
        status="determined" if share >= MOST else "resolved",
        normalised_leakage=share,
        normalised_low=low,
        normalised_high=1.0,
        runs=runs,
        hits=hits,
    )
