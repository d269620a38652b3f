"""Information bound: at least so much is known, whatever the distribution, by critics judged on runs they never saw.

How it is got: ``information_lower_bound`` on the secret and the view: critics learn to tell the view of a run from the
views of others, and how well they do in runs they were not fitted on bounds the mutual information from below (van den
Oord, Li and Vinyals 2018; Poole et al. 2019). Where the view has many features, a linear decoder fitted on the first
half of the runs makes a few of them, and the bound is of the second half.

What it assumes: Nothing but that runs are independent. It is a 95 % confidence bound, of at most 5.3 nats; it convicts
and never acquits. It takes seconds a node, more than all other evidence of a small audit together, so it is gathered
only where a scenario names it.
"""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.evidence.decoding import as_measured, decoded
from secmix.auditing.evidence.interface import Case, Evidence, Gathered, Kind
from secmix.auditing.report import Finding
from secmix.estimators import information_lower_bound
from secmix.estimators.decoders import linear_prediction
from secmix.estimators.estimate import normalised

_MANY = 40  # features above which a decoder makes them fewer


def _gather(case: Case) -> Gathered:
    return Gathered([finding for node in case.setup.asked for finding in as_measured(case, node, _found(case, node))])


def _found(case: Case, node: int) -> list[Finding]:
    known = decoded(case, node)
    if known is None or not known.iterations:
        return []
    target, view = known.target.values, known.stacked
    view = view[:, np.isfinite(view).all(axis=0)]
    view = view[:, np.ptp(view, axis=0) > 0]
    if not view.shape[1]:
        return []
    made = ""
    if view.shape[1] > _MANY:
        target, view, made = *_decoded(target, view), ", of what a linear decoder makes of the view"
        if not np.ptp(view, axis=0).all() or not np.ptp(target, axis=0).all():
            return []
    bound = information_lower_bound(target, view, level=1 - case.level)
    leakage = normalised(bound.low, target.shape[1])
    return [
        Finding(
            **case.about(node),
            evidence="information bound",
            view="cumulative",
            target=known.target.name,
            method=bound.method + made,
            value=bound.low,
            unit="nats",
            low=bound.low,
            high=None,
            kind="lower bound",
            status="resolved",
            normalised_leakage=leakage,
            normalised_low=leakage,
            normalised_high=1.0,
            notes=list(bound.notes),
        )
    ]


def _decoded(target: Array, view: Array) -> tuple[Array, Array]:
    """The second half of the secrets, and of what a decoder fitted on the first makes of the view."""
    half = len(target) // 2
    scale = view[:half].std(axis=0)
    kept = scale > 1e-12 * np.abs(view[:half]).max(axis=0)
    features = (view[:, kept] - view[:half, kept].mean(axis=0)) / scale[kept]
    return target[half:], linear_prediction(features[:half], target[:half], features[half:])


EVIDENCE = Evidence(
    "information",
    (
        Kind(
            "information bound",
            "A lower bound of mutual information",
            "At least so many nats about the secret are in the view, with 95 % confidence and whatever the "
            "distribution: critics judged on runs they were not fitted on. More may be known; it clears nobody.",
        ),
    ),
    lambda case: True,
    _gather,
    rank=5,
    not_tried="the lower confidence bound on information, which takes seconds a node (evidence 'information' was not "
    "asked for)",
)
