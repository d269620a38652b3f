"""Metadata of messages, where runs differ in it: senders, counts, lengths, and order.

How it is got: Runs of a collaboration that send different messages are compared by their metadata: the number of
messages, kinds, senders, receivers, lengths, and the group of runs with the same metadata. A line from one such number
to an entry of the node's row is chosen on one half of the runs, and judged on the other.

What it assumes: Only that runs are independent. It is a lower bound: a better decoder may exist.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.counterexamples.decode import Decoded, decode
from secmix.auditing.counterexamples.features import Feature, metadata_features
from secmix.auditing.counterexamples.instance import InstanceCall
from secmix.auditing.evidence.decoding import of_decoder
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind
from secmix.auditing.observation.collaboration_observation import CollaborationObservation
from secmix.auditing.report import Finding

_MEMBERS = 10  # least number of runs of a group for membership in it to be a feature


def _applies(case: CellContext) -> bool:
    assert isinstance(case.observation, CollaborationObservation)
    return len({tuple(group.metadata) for group in case.observation.groups}) > 1


def _gather(case: CellContext) -> Gathered:
    assert isinstance(case.observation, CollaborationObservation)
    groups, asked = case.observation.groups, case.setup.asked
    sizes = [group.runs for group in groups]
    truth = np.concatenate([np.stack([group.rows[i] for i in asked], axis=1) for group in groups])  # (runs, nodes, d)
    rng = stream(case.cell.seed, "frames")
    order = rng.permutation(len(truth))
    calls = [InstanceCall(np.empty((1, 0, 0)), {}, group.metadata) for group in groups]
    features = [
        _of_runs(feature, np.repeat(feature.values[:, 0], sizes)[order]) for feature in metadata_features(calls)
    ]
    for place, size in enumerate(sizes):
        if size >= _MEMBERS:
            member = np.repeat(np.arange(len(sizes)) == place, sizes).astype(float)
            features.append(Feature("the metadata of the messages", f"being in group {place + 1}", member[order, None]))
    decoded = decode(truth[order], features, range(len(asked)), len(truth) // 2, rng)
    return Gathered([_finding(result, case, asked[k]) for k, result in decoded.items()])


def _of_runs(feature: Feature, values: Array) -> Feature:
    """Expand values by group to values by run; a group without such a message gets a value below all others."""
    lowest = float(np.nanmin(values))
    return Feature(feature.where, feature.how, np.where(np.isnan(values), lowest - 1.0, values)[:, None])


def _finding(decoded: Decoded, case: CellContext, node: int) -> Finding:
    note = f"entry {decoded.entry} of its row follows from the metadata of the messages: {decoded.how}"
    return of_decoder(
        case.about(node),
        replace(decoded.error, method=f"{decoded.error.method}; metadata differs between runs"),
        decoded.known,
        decoded.exact,
        decoded.runs,
        evidence="frames",
        view="cumulative",
        target="row",
        notes=[note] if decoded.explained[1] > 0 else [],
    )


EVIDENCE = Evidence(
    "frames",
    (
        Kind(
            "frames",
            "A row decoded from the metadata of messages",
            "Runs differ in the metadata of their messages: senders, counts, lengths. An entry of the node's row is "
            "computed from that, without reading any message. Gives a lower bound: a better decoder may exist.",
        ),
    ),
    _applies,
    _gather,
    rank=8,
    always=True,
    judges="all runs",
    collaborations_only=True,
)
