"""KSG: mutual information from nearest neighbours, over many runs (Kraskov, Stögbauer and Grassberger 2004).

How it is got: Mutual information from distances to nearest neighbours over many runs (Kraskov, Stögbauer and
Grassberger 2004), on the view itself if it has few features, and on the output of the decoders. A node whose data are
known already is left out, and the report says so.

What it assumes: Enough runs for the dimension. It reads low in high dimension and near determinism; the estimate is
then *unresolved* or a lower bound, and clears no node.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.evidence.decoding import Target, as_measured, leakage_curve, node_decoders
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind, finite
from secmix.auditing.report import Finding
from secmix.estimators.estimate import Estimate, Status, normalised
from secmix.estimators.learned_decoders import Decoding, information_bound

_MANY = 20  # with more features, KSG on the view itself would be meaningless


def _gather(case: CellContext) -> Gathered:
    findings, curves, skipped = [], [], []
    for node in case.setup.asked:
        if node in case.decided:
            skipped.append(("mutual information by nearest neighbours", node))
        else:
            findings += as_measured(case, node, _findings_about(case, node))
        curves += [curve] if (curve := leakage_curve(case, node)) else []
    return Gathered(findings, curves, skipped=tuple(skipped))


def _findings_about(case: CellContext, node: int) -> list[Finding]:
    decoders, about, k = node_decoders(case, node), case.about(node), case.cell.measure.neighbours
    if decoders is None:
        return []
    if not decoders.iterations:
        nothing = Estimate.exact(0.0, "nats", "the view is empty")
        return [_information(nothing, view, decoders.target, about) for view in ("single", "cumulative")]
    # The lower bound takes seconds a view; it is computed only if the policy limits the leakage. On a part of the view
    # KSG is a lower bound in any case.
    limited = case.cell.policy.max_normalised_leakage is not None and case.observation.reads_low is None
    single = _measured(decoders.target, decoders.features[decoders.worst], decoders.alone[decoders.worst], k, limited)
    # All iterations reveal at least what one of them reveals.
    cumulative = _measured(decoders.target, decoders.stacked, decoders.last, k, limited, part=single)
    return [
        _information(single, "single", decoders.target, about),
        _information(cumulative, "cumulative", decoders.target, about),
    ]


def _measured(
    target: Target, view: Array, decoder: Decoding, k: int, limited: bool, part: Estimate | None = None
) -> Estimate:
    """Estimate the largest of KSG on the view (if it has few features), on a decoder, and of a ``part``.

    A decoder's output is a function of the view, so the information in it is a lower bound, and so is the Gaussian
    bound from its residual.
    """
    from secmix.estimators.ksg_estimator.estimator import ksg, ksg_number  # compiled, so loaded on use

    estimates: list[Estimate] = []
    varying = view[:, np.ptp(view, axis=0) > 0]
    # Lower bounds with their numbers, and functions that compute the rest, called for the largest only.
    bounds: list[tuple[float, Callable[[], Estimate]]] = []
    if 0 < varying.shape[1] <= _MANY:
        if limited:
            estimates.append(ksg(target.values, varying, k=k, bound=True))
        else:
            number = ksg_number(target.values, varying, k=k)
            bounds.append((number, lambda: ksg(target.values, varying, k=k, bound=False)))
    elif not varying.shape[1]:
        return Estimate.exact(0.0, "nats", "nothing in the view varies")
    if decoder.features and np.ptp(decoder.prediction, axis=0).all():
        bound = information_bound(target.values, decoder.prediction)
        number = ksg_number(target.values, decoder.prediction, k=k)
        number = max(number, bound if math.isfinite(bound) else number)
        bounds.append((number, partial(_as_bound, target, decoder, k, bound)))
    if part is not None and part.kind != "exact":
        status: Status = "determined" if part.status == "determined" else "unresolved"
        method = f"{part.method}, one iteration"
        bound_of_one = replace(part, high=math.inf, kind="lower bound", status=status, method=method)
        bounds.append((bound_of_one.value, lambda: bound_of_one))
    if bounds:
        estimates.append(max(bounds, key=lambda bound: bound[0])[1]())
    direct = [e for e in estimates if e.kind != "lower bound"]
    best = max(estimates, key=lambda e: (e.status == "determined", e.value), default=None)
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
    if best in direct or best.status == "determined":
        return best
    if direct and direct[0].status == "resolved" and best.value <= direct[0].high:
        return direct[0]
    notes = best.notes
    if not direct:
        notes += (f"{varying.shape[1]} features are too many for KSG on the view itself: at least this much",)
    return Estimate(best.value, best.low, math.inf, "nats", best.method, "lower bound", "unresolved", notes)


def _as_bound(target: Target, decoder: Decoding, k: int, gaussian: float) -> Estimate:
    """Estimate KSG on a decoder's output, as a lower bound."""
    from secmix.estimators.ksg_estimator.estimator import ksg  # compiled, so loaded on use

    reading = ksg(target.values, decoder.prediction, k=k, bound=False)
    value = max(reading.value, gaussian if math.isfinite(gaussian) else reading.value)
    method = f"{reading.method}, on the output of {decoder.error.method}"
    status: Status = "determined" if reading.status == "determined" else "unresolved"
    return Estimate(value, min(reading.low, value), math.inf, "nats", method, "lower bound", status, reading.notes[:2])


def _information(estimate: Estimate, view: str, target: Target, about: dict[str, Any]) -> Finding:
    d = target.values.shape[1]
    low = max(estimate.low, 0.0)
    determined = estimate.status == "determined"
    return Finding(
        **about,
        evidence="ksg",
        view=view,
        target=target.name,
        method=estimate.method,
        value=finite(estimate.value),
        unit="nats",
        low=finite(low),
        high=finite(estimate.high),
        kind="exact" if estimate.kind == "exact" else estimate.kind,
        status=estimate.status,
        normalised_leakage=1.0 if determined else normalised(estimate.value, d),
        normalised_low=1.0 if determined else normalised(low, d),
        normalised_high=normalised(max(estimate.high, 0.0), d),
        notes=list(estimate.notes),
    )


EVIDENCE = Evidence(
    "ksg",
    (
        Kind(
            "ksg",
            "Nearest-neighbour estimate of mutual information",
            "The nearest-neighbour estimate of mutual information by Kraskov, Stögbauer and Grassberger "
            "(2004), from many runs of the protocol. It reads low in high dimension, so low numbers "
            "count only together with other evidence.",
        ),
    ),
    lambda case: True,
    _gather,
    rank=4,
    bounds_only=True,
    not_tried="mutual information by nearest neighbours (evidence 'ksg' was not asked for)",
)
