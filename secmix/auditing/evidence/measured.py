"""Measured evidence: KSG, decoders and direct readings, from Monte Carlo runs (spec 2, b and c)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.evidence.exact import finite
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Finding, LeakageCurve
from secmix.estimators.decoders import RECOVERED, Decoder, Decoding, information_bound, reconstruct
from secmix.estimators.estimate import Estimate, Status, normalised, wilson
from secmix.estimators.ksg.information import ksg

_MANY = 20  # features above which KSG on the raw view would say nothing
MOST = 0.5  # share of runs recovered from which a node counts as revealed


@dataclass(frozen=True)
class Target:
    """What is private about a node, in all runs (N, d), and how a report calls it."""

    values: Array
    name: Any  # "row" or "input"


def target_of(name: str, values: Array) -> Target | None:
    """What is private, (runs, d), without what never varies; None where nothing does."""
    varying = values[:, np.ptp(values, axis=0) > 1e-12]
    return Target(varying, name) if varying.shape[1] else None


def sampled(
    features: dict[int, Array], target: Target, wanted: set[Any], k: int, about: dict[str, Any]
) -> tuple[list[Finding], LeakageCurve]:
    """KSG, with ``k`` neighbours, and decoders on the features of each iteration, and of all up to the last."""
    node = about["node"]
    iterations = sorted(features)
    if not iterations:
        nothing = Estimate.exact(0.0, "nats", "the view is empty")
        both = ("single", "cumulative")
        return [_information(nothing, v, target, about) for v in both], _flat(node)
    stacked = np.hstack([features[t] for t in iterations])
    widths = np.cumsum([features[t].shape[1] for t in iterations])
    alone = {t: reconstruct(target.values, features[t]) for t in iterations}
    first, last = iterations[0], iterations[-1]
    upto = {  # up to the first there is that one alone
        t: alone[t] if t == first else reconstruct(target.values, stacked[:, :width])
        for t, width in zip(iterations, widths, strict=True)
    }
    findings: list[Finding] = []
    worst_t = min(iterations, key=lambda t: alone[t].error.value)
    decoders = [upto[last]]
    if "decoders" in wanted:
        findings.append(_decoded(alone[worst_t], "linear", "single", target, about))
        findings.append(_decoded(upto[last], "linear", "cumulative", target, about))
        decoders.append(reconstruct(target.values, stacked, decoder="tree"))
        findings.append(_decoded(decoders[-1], "tree", "cumulative", target, about))
    if "ksg" in wanted:
        single = _measured(target, features[worst_t], [alone[worst_t]], k)
        findings.append(_information(single, "single", target, about))
        # What one iteration tells, all of them tell.
        cumulative = _measured(target, stacked, decoders, k, part=single)
        findings.append(_information(cumulative, "cumulative", target, about))
    d = target.values.shape[1]

    def height(found: Decoding) -> float:
        if found.explained[0] > 1 - RECOVERED:
            return 1.0
        if not found.features or not np.ptp(found.prediction, axis=0).all():
            return 0.0
        return normalised(ksg(target.values, found.prediction, k=k, interval=False, checks=False).value, d)

    singles = [height(alone[t]) for t in iterations]
    curve = LeakageCurve(
        node=node,
        evidence="KSG on the output of a cross-fitted linear decoder: a lower bound",
        iterations=iterations,
        single=singles,
        cumulative=np.maximum.accumulate(
            [s if t == first else max(height(upto[t]), s) for t, s in zip(iterations, singles, strict=True)]
        ).tolist(),
    )
    return findings, curve


def _measured(target: Target, view: Array, decoders: list[Decoding], k: int, part: Estimate | None = None) -> Estimate:
    """The largest of KSG on the view itself (where it has few features), on the outputs of decoders, and of a ``part``.

    What a decoder makes of the view is a function of it, so the information in that is a lower bound; and so is the
    Gaussian bound from its residual.
    """
    found: list[Estimate] = []
    varying = view[:, np.ptp(view, axis=0) > 0]
    if 0 < varying.shape[1] <= _MANY:
        found.append(ksg(target.values, varying, k=k))
    elif not varying.shape[1]:
        return Estimate.exact(0.0, "nats", "nothing in the view varies")
    for decoder in decoders:
        if decoder.features and np.ptp(decoder.prediction, axis=0).all():
            reading = ksg(target.values, decoder.prediction, k=k)
            bound = information_bound(target.values, decoder.prediction)
            found.append(_as_bound(reading, bound, decoder))
    if part is not None and part.kind != "exact":
        status: Status = "determined" if part.status == "determined" else "unresolved"
        found.append(
            replace(part, high=math.inf, kind="lower bound", status=status, method=f"{part.method}, one iteration")
        )
    whole = [e for e in found if e.kind != "lower bound"]
    best = max(found, key=lambda e: (e.status == "determined", e.value), default=None)
    if best is None:
        return Estimate(
            0.0,
            0.0,
            math.inf,
            "nats",
            "no decoder found anything",
            "lower bound",
            "unresolved",
            (f"{varying.shape[1]} features are too many for KSG on the view itself",),
        )
    if best in whole or best.status == "determined":
        return best
    if whole and whole[0].status == "resolved" and best.value <= whole[0].high:
        return whole[0]
    notes = best.notes
    if not whole:
        notes += (f"{varying.shape[1]} features are too many for KSG on the view itself: at least this much",)
    return Estimate(best.value, best.low, math.inf, "nats", best.method, "lower bound", "unresolved", notes)


def _as_bound(reading: Estimate, gaussian: float, decoder: Decoding) -> Estimate:
    """KSG on a decoder's output, as the lower bound it is."""
    value = max(reading.value, gaussian if math.isfinite(gaussian) else reading.value)
    method = f"{reading.method}, on the output of {decoder.error.method}"
    status: Status = "determined" if reading.status == "determined" else "unresolved"
    return Estimate(value, min(reading.low, value), math.inf, "nats", method, "lower bound", status, reading.notes[:2])


def _information(found: Estimate, view: str, target: Target, about: dict[str, Any]) -> Finding:
    d = target.values.shape[1]
    low = max(found.low, 0.0)
    sure = found.status == "determined"
    return Finding(
        **about,
        evidence="ksg",
        view=view,
        target=target.name,
        method=found.method,
        value=finite(found.value),
        unit="nats",
        low=finite(low),
        high=finite(found.high),
        kind="exact" if found.kind == "exact" else found.kind,
        status=found.status,
        normalised_leakage=1.0 if sure else normalised(found.value, d),
        normalised_low=1.0 if sure else normalised(low, d),
        normalised_high=normalised(max(found.high, 0.0), d),
        verdict="not refuted",
        notes=list(found.notes),
    )


def _decoded(found: Decoding, decoder: Decoder, view: str, target: Target, about: dict[str, Any]) -> Finding:
    value, low, _ = found.explained
    got = f"recovered to 1e-6 relative in {found.recovered:.1%} of the runs"
    known = found.recovered >= MOST
    return Finding(
        **about,
        evidence="linear decoder" if decoder == "linear" else "tree decoder",
        view=view,
        target=target.name,
        method=found.error.method,
        value=found.error.value,
        unit=found.error.unit,
        low=found.error.low,
        high=found.error.high,
        kind="upper bound",
        status="determined" if known else "resolved",
        normalised_leakage=value,
        normalised_low=low,
        normalised_high=1.0,
        verdict="not refuted",
        notes=[got],
    )


def direct(observation: SumObservation, node: int, about: dict[str, Any]) -> Iterator[Finding]:
    """How often the node's only row comes out of the ratios of its statistics, b / a, to 1e-6."""
    truth = observation.rows[node]
    scale = np.maximum(np.linalg.norm(truth, axis=1), 1e-3)
    for way, guess in observation.guesses[node].items():
        hit = np.linalg.norm(guess - truth, axis=1) < RECOVERED * scale
        told = f"its row is recovered to 1e-6 in {hit.mean():.1%} of the runs, from the {way}"
        yield recovered(
            about,
            int(hit.sum()),
            len(hit),
            evidence="direct reading",
            view="cumulative" if "differences" in way else "single",
            method=f"{way} of what the adversary knows of its statistics, N = {len(hit)}",
            unit="share of runs in which the row is recovered to 1e-6",
            notes=[told] if hit.any() else [],
        )


def recovered(about: dict[str, Any], hits: int, runs: int, **told: Any) -> Finding:
    """What an attack recovered in ``hits`` of ``runs`` runs: at least that much is known."""
    low, high = wilson(hits, runs)
    share = hits / runs
    return Finding(
        **about,
        **told,
        target="row",
        value=share,
        low=low,
        high=high,
        kind="lower bound",
        status="determined" if share >= MOST else "resolved",
        normalised_leakage=share,
        normalised_low=low,
        normalised_high=1.0,
        verdict="not refuted",
    )


def _flat(node: int) -> LeakageCurve:
    return LeakageCurve(node=node, evidence="the view is empty", iterations=[0], single=[0.0], cumulative=[0.0])
