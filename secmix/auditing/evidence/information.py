"""Information bound: at least so much is known, whatever the distribution, by critics tested on new runs.

How it is got: ``information_lower_bound`` on the secret and the view: critics learn to distinguish the view of a run
from the views of others. Their success in runs that they were not fitted on bounds the mutual information from below
(van den Oord, Li and Vinyals 2018; Poole et al. 2019). If the view has many features, a linear decoder that is fitted
on the first half of the runs reduces them, and the bound is of the second half.

What it assumes: Only that runs are independent. It is a 95 % confidence bound, of at most 5.3 nats. It can show a
violation, but never clears a node. It takes seconds a node, more than all other evidence of a small audit together, so
it is gathered only if a scenario names it.
"""

from __future__ import annotations

import numpy as np

from secmix import estimators  # which loads what is compiled on use
from secmix._base.checks import Array
from secmix.auditing.evidence.decoding import as_measured, node_decoders
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind
from secmix.auditing.report import Finding
from secmix.estimators.estimate import normalised
from secmix.estimators.learned_decoders import linear_prediction

_MANY = 40  # with more features, a decoder reduces them


def _gather(case: CellContext) -> Gathered:
    return Gathered(
        [finding for node in case.setup.asked for finding in as_measured(case, node, _findings_about(case, node))]
    )


def _findings_about(case: CellContext, node: int) -> list[Finding]:
    decoders = node_decoders(case, node)
    if decoders is None or not decoders.iterations:
        return []
    target, view = decoders.target.values, decoders.stacked
    view = view[:, np.isfinite(view).all(axis=0)]
    view = view[:, np.ptp(view, axis=0) > 0]
    if not view.shape[1]:
        return []
    reduced = ""
    if view.shape[1] > _MANY:
        target, view, reduced = *_decoded(target, view), ", of the view reduced by a linear decoder"
        if not np.ptp(view, axis=0).all() or not np.ptp(target, axis=0).all():
            return []
    bound = estimators.information_lower_bound(target, view, level=1 - case.level)
    leakage = normalised(bound.low, target.shape[1])
    return [
        Finding(
            **case.about(node),
            evidence="information bound",
            view="cumulative",
            target=decoders.target.name,
            method=bound.method + reduced,
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
    """Decode the second half of the secrets by a regression on the first; return the secrets and their estimates."""
    half = len(target) // 2
    scale = view[:half].std(axis=0)
    varying = scale > 1e-12 * np.abs(view[:half]).max(axis=0)
    features = (view[:, varying] - view[:half, varying].mean(axis=0)) / scale[varying]
    return target[half:], linear_prediction(features[:half], target[:half], features[half:])


EVIDENCE = Evidence(
    "information",
    (
        Kind(
            "information bound",
            "A lower bound of mutual information",
            "At least so many nats about the secret are in the view, with 95 % confidence and whatever the "
            "distribution: critics tested on runs that they were not fitted on. More may be known; it clears no node.",
        ),
    ),
    lambda case: True,
    _gather,
    rank=5,
    not_tried="the lower confidence bound on information, which takes seconds a node (evidence 'information' was not "
    "asked for)",
)
