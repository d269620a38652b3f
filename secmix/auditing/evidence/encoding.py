"""Encodings: an upper bound on what is known of a node whose data are clipped, rounded or otherwise encoded.

How it is got: The kernel proves which sums over nodes the adversary knows, and that all nodes of a sum compute their
summands by the same formula, from their own data alone. A function of such a sum of k nodes explains at most 1/k of one
node's variance (Efron, Stein 1981, The jackknife estimate of variance: first-order terms of a symmetric function).

What it assumes: Nodes are independent and identically distributed, as rows are sampled in the runs. It bounds the
explained variance of any function of the node's data from above, and gives no lower bound.
"""

from __future__ import annotations

from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind, is_encoded
from secmix.auditing.observation.sum_observation import SumObservation, output_share
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.estimators.exact.leakage import KNOWN


def _finding_about(case: CellContext, node: int) -> Finding:
    assert isinstance(case.setup, SumSetup)
    assert isinstance(case.observation, SumObservation)
    share = max(float(reading.subspace.explained(node).max()) for _, reading in case.observation.all_readings)
    alone = share > KNOWN
    sentence = "the adversary knows its encoding; how much that reveals of its data is undecided"
    return Finding(
        **case.about(node),
        evidence="encoding",
        view="cumulative",
        target="input",
        method="sums that are known by proof, each over nodes with the same encoding",
        value=share,
        unit="share of the variance of any function of its data, at most",
        low=0.0,
        high=share,
        kind="upper bound",
        status="unresolved" if alone else "resolved",
        normalised_leakage=1.0 if alone else share,
        normalised_low=0.0,
        normalised_high=1.0 if alone else share,
        baseline=output_share(case.setup, case.observation, node),
        notes=[f"what is summed is encoded at {case.observation.encoded}", *[sentence] * alone],
    )


EVIDENCE = Evidence(
    "encoding",
    (
        Kind(
            "encoding",
            "Upper bound from sums of encodings",
            "If nodes clip, round or otherwise encode their data before the sum: an upper bound on the share of the "
            "variance of one node that any function of the known sums explains. Proved, whatever the masks.",
        ),
    ),
    is_encoded,
    lambda case: Gathered([_finding_about(case, node) for node in case.judged]),
    rank=1,
    exact=True,
    bounds_leakage=True,
    always=True,
    needs_premises=True,
)
"""Replaces structure and Gaussian evidence, which are about linear functions of the data."""
