"""Shared by measured evidence: the private values of a node, and decoders of them, fitted once for all evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.cell_parts import LeakageCurve
from secmix.auditing.evidence.interface import CellContext, at_least
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.report import Finding
from secmix.estimators.estimate import Estimate, normalised, wilson
from secmix.estimators.learned_decoders import RECOVERED, Decoding, reconstruct

MOST = 0.5
"""Share of recovered runs from which on a node counts as revealed."""


@dataclass(frozen=True)
class Target:
    """The private values of a node, in all runs (N, d), and their name in a report."""

    values: Array
    name: Any  # "row" or "input"


def target_of(name: str, values: Array) -> Target | None:
    """Select the private values that vary, (runs, d); None if none does."""
    varying = values[:, np.ptp(values, axis=0) > 1e-12]
    return Target(varying, name) if varying.shape[1] else None


@dataclass(frozen=True)
class NodeDecoders:
    """Linear decoders of one node's secret, from the view of each iteration and of all up to it."""

    target: Target
    features: dict[int, Array]  # iteration -> (runs, p)
    alone: dict[int, Decoding]  # iteration -> Decoding
    # iteration -> Decoding: decodings from all iterations up to that one, once they were asked for
    joined: dict[int, Decoding] = field(default_factory=dict)

    @property
    def iterations(self) -> list[int]:
        """Iterations with a view that is not empty, in order."""
        return sorted(self.features)

    @property
    def stacked(self) -> Array:
        """The views of all iterations side by side."""
        return np.hstack([self.features[t] for t in self.iterations])

    def upto(self, t: int) -> Decoding:
        """Decode from the views of all iterations up to ``t``; for the first, from that one alone."""
        if t == self.iterations[0]:
            return self.alone[t]
        if t not in self.joined:
            view = np.hstack([self.features[i] for i in self.iterations if i <= t])
            self.joined[t] = reconstruct(self.target.values, view)
        return self.joined[t]

    @property
    def last(self) -> Decoding:
        """Decoding from all iterations."""
        return self.upto(self.iterations[-1])

    @property
    def worst(self) -> int:
        """The iteration that alone reveals most."""
        return min(self.iterations, key=lambda t: self.alone[t].error.value)


def node_decoders(case: CellContext, node: int) -> NodeDecoders | None:
    """Fit the decoders of ``node`` at the first call and store them; None if nothing about it varies."""
    if (NodeDecoders, node) not in case.fitted:
        case.fitted[NodeDecoders, node] = _fit(case, node)
    decoders: NodeDecoders | None = case.fitted[NodeDecoders, node]
    return decoders


def _fit(case: CellContext, node: int) -> NodeDecoders | None:
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
        return NodeDecoders(target, features, {})
    return NodeDecoders(target, features, {t: reconstruct(target.values, features[t]) for t in iterations})


def as_measured(case: CellContext, node: int, findings: list[Finding]) -> list[Finding]:
    """Weaken ``findings`` to lower bounds if the observation has only a part of what the adversary reads."""
    reason = case.observation.reads_low
    if reason is None or not case.observation.features[node]:  # an adversary that reads nothing knows nothing
        return findings
    return [at_least(finding, [reason]) for finding in findings]


def leakage_curve(case: CellContext, node: int) -> LeakageCurve | None:
    """Compute normalised leakage against iteration, by KSG on decoders; None if nothing varies."""
    if (LeakageCurve, node) not in case.fitted:
        decoders = node_decoders(case, node)
        neighbours = case.cell.measure.neighbours
        case.fitted[LeakageCurve, node] = None if decoders is None else _curve(decoders, node, neighbours)
    curve: LeakageCurve | None = case.fitted[LeakageCurve, node]
    return curve


def _curve(decoders: NodeDecoders, node: int, k: int) -> LeakageCurve:
    target, iterations = decoders.target, decoders.iterations
    if not iterations:
        return LeakageCurve(node=node, evidence="the view is empty", iterations=[0], single=[0.0], cumulative=[0.0])

    from secmix.estimators import ksg  # compiled, so loaded on use

    def height(decoding: Decoding) -> float:
        if decoding.explained[0] > 1 - RECOVERED:
            return 1.0
        if not decoding.features or not np.ptp(decoding.prediction, axis=0).all():
            return 0.0
        reading = ksg(target.values, decoding.prediction, k=k, interval=False, checks=False)
        return normalised(reading.value, target.values.shape[1])

    singles = [height(decoders.alone[t]) for t in iterations]
    known = list(np.maximum.accumulate(singles))
    shares = [  # if one iteration reveals everything, the cumulative curve cannot rise, and nothing is fitted
        single if t == iterations[0] or most == 1.0 else max(height(decoders.upto(t)), single)
        for t, single, most in zip(iterations, singles, known, strict=True)
    ]
    return LeakageCurve(
        node=node,
        evidence="KSG on the output of a cross-fitted linear decoder: a lower bound",
        iterations=iterations,
        single=singles,
        cumulative=np.maximum.accumulate(shares).tolist(),
    )


def recovered(about: dict[str, Any], hits: int, runs: int, **fields: Any) -> Finding:
    """Make the finding of an attack that recovered a row in ``hits`` of ``runs`` runs: a lower bound."""
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


def of_decoder(
    about: dict[str, Any], error: Estimate, known: tuple[float, float], hits: int, runs: int, **fields: Any
) -> Finding:
    """Make the finding of a decoder that was judged on runs on which it was not fitted, by its ``error``.

    ``known``: the share of the variance that is known, and its lower end; ``hits``: in how many of ``runs`` runs all
    of it came out.
    """
    return Finding(
        **about,
        **fields,
        method=error.method,
        value=error.value,
        unit=error.unit,
        low=error.low,
        high=error.high,
        kind="upper bound",
        status="determined" if hits >= MOST * runs else "resolved",
        normalised_leakage=known[0],
        normalised_low=known[1],
        normalised_high=1.0,
        runs=runs,
        hits=hits,
    )
