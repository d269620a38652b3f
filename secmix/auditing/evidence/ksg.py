"""KSG: mutual information from nearest neighbours, over many runs (Kraskov, Stögbauer and Grassberger 2004).

How it is got: Mutual information from distances to nearest neighbours over many runs (Kraskov, Stögbauer and
Grassberger 2004), on the view itself where it has few features and on the output of the decoders. A node whose data
are known already is left out, and the report says so.

What it assumes: Enough runs for the dimension. It reads low in high dimension and near determinism; the estimate is
then *unresolved* or a lower bound, and clears nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.evidence.decoding import Target, as_measured, decoded, leakage_curve
from secmix.auditing.evidence.interface import Case, Evidence, Gathered, Kind
from secmix.auditing.evidence.premises import finite
from secmix.auditing.report import Finding
from secmix.estimators.decoders import Decoding, information_bound
from secmix.estimators.estimate import Estimate, Status, normalised
from secmix.estimators.ksg.information import ksg, ksg_number

_MANY = 20  # features above which KSG on the raw view would say nothing


def _gather(case: Case) -> Gathered:
    findings, curves, spared = [], [], []
    for node in case.setup.asked:
        if node in case.settled:
            spared.append(("mutual information by nearest neighbours", node))
        else:
            findings += as_measured(case, node, _found(case, node))
        curves += [curve] if (curve := leakage_curve(case, node)) else []
    return Gathered(findings, curves, spared=tuple(spared))


def _found(case: Case, node: int) -> list[Finding]:
    known, about, k = decoded(case, node), case.about(node), case.cell.measure.neighbours
    if known is None:
        return []
    if not known.iterations:
        nothing = Estimate.exact(0.0, "nats", "the view is empty")
        return [_information(nothing, view, known.target, about) for view in ("single", "cumulative")]
    # Only where the policy limits the leakage can KSG clear a node; only there is the lower bound computed that it
    # takes, seconds a view. Of a part of the view it is a bound from below, whatever it says.
    limited = case.cell.policy.max_normalised_leakage is not None and case.observation.reads_low is None
    single = _measured(known.target, known.features[known.worst], [known.alone[known.worst]], k, limited)
    # What one iteration tells, all of them tell.
    cumulative = _measured(known.target, known.stacked, [known.last], k, limited, part=single)
    return [
        _information(single, "single", known.target, about),
        _information(cumulative, "cumulative", known.target, about),
    ]


def _measured(
    target: Target, view: Array, decoders: list[Decoding], k: int, limited: bool, part: Estimate | None = None
) -> Estimate:
    """The largest of KSG on the view itself (where it has few features), on the outputs of decoders, and of a ``part``.

    What a decoder makes of the view is a function of it, so the information in that is a lower bound; and so is the
    Gaussian bound from its residual.
    """
    found: list[Estimate] = []
    varying = view[:, np.ptp(view, axis=0) > 0]
    # What is no more than a lower bound, with its number, and how to find out all else of it: of the largest alone.
    bounds: list[tuple[float, Callable[[], Estimate]]] = []
    if 0 < varying.shape[1] <= _MANY:
        if limited:
            found.append(ksg(target.values, varying, k=k, bound=True))
        else:
            number = ksg_number(target.values, varying, k=k)
            bounds.append((number, lambda: ksg(target.values, varying, k=k, bound=False)))
    elif not varying.shape[1]:
        return Estimate.exact(0.0, "nats", "nothing in the view varies")
    for decoder in decoders:
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
        found.append(max(bounds, key=lambda each: each[0])[1]())
    direct = [e for e in found if e.kind != "lower bound"]
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
    if best in direct or best.status == "determined":
        return best
    if direct and direct[0].status == "resolved" and best.value <= direct[0].high:
        return direct[0]
    notes = best.notes
    if not direct:
        notes += (f"{varying.shape[1]} features are too many for KSG on the view itself: at least this much",)
    return Estimate(best.value, best.low, math.inf, "nats", best.method, "lower bound", "unresolved", notes)


def _as_bound(target: Target, decoder: Decoding, k: int, gaussian: float) -> Estimate:
    """KSG on a decoder's output, as the lower bound it is."""
    reading = ksg(target.values, decoder.prediction, k=k, bound=False)
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
        notes=list(found.notes),
    )


EVIDENCE = Evidence(
    "ksg",
    (
        Kind(
            "ksg",
            "Nearest-neighbour estimate of mutual information",
            "The nearest-neighbour estimate of mutual information by Kraskov, Stögbauer and Grassberger "
            "(2004), from many runs of the protocol. It reads low in high dimension, so its low numbers "
            "count only together with others.",
        ),
    ),
    lambda case: True,
    _gather,
    rank=4,
    bounds_only=True,
    not_tried="mutual information by nearest neighbours (evidence 'ksg' was not asked for)",
)
