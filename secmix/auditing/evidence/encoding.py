"""Encodings: what is known at most of a node whose data enter a sum clipped, rounded, as words or otherwise encoded.

How it is got: The kernel proves which sums over nodes the adversary knows, and that all nodes of a sum compute what
they add by the same formula, from their own data alone. A function of such a sum explains no more of one node than one
part in so many (Efron, Stein 1981, The jackknife estimate of variance: first-order terms of a symmetric function).

What it assumes: Nodes are independent and of equal distribution, as the runs deal them. It bounds explained variance,
of whatever is computed from the node's data; it never says how much is known at least.
"""

from __future__ import annotations

from secmix.auditing.evidence.interface import Case, Evidence, Gathered, Kind
from secmix.auditing.evidence.premises import is_encoded, output_share
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup


def _gather(case: Case) -> Gathered:
    return Gathered([_found(case, node) for node in case.judged])


def _found(case: Case, node: int) -> Finding:
    assert isinstance(case.setup, SumSetup)
    assert isinstance(case.observation, SumObservation)
    share = max(float(reading.subspace.explained(node).max()) for _, reading in case.observation.all_readings)
    alone = share > 1 - 1e-6
    says = "the adversary knows what it encodes; how much that tells of its data is open"
    return Finding(
        **case.about(node),
        evidence="encoding",
        view="cumulative",
        target="input",
        method="the sums that are known by proof, each over nodes that encode alike",
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
        notes=[f"what is summed is encoded at {case.observation.encoded}", *[says] * alone],
    )


EVIDENCE = Evidence(
    "encoding",
    (
        Kind(
            "encoding",
            "What sums of encodings tell at most",
            "Where nodes clip, round or otherwise encode their data before they are summed: the share of the variance "
            "of one node that any function of the known sums explains, at most. By proof, whatever the masks.",
        ),
    ),
    is_encoded,
    _gather,
    rank=1,
    exact=True,
    bounds_leakage=True,
    always=True,
    states_doubts=True,
)
"""Gathered in place of structure and Gaussian evidence, which are of linear functions of the data."""
