"""Structure: what is known whatever the distribution of the data, by linear algebra (Li 2022, section 4).

How it is got: The audit passes unit inputs and unit masks through the protocol's own code, in the same messages as the
real runs, and reads off view = A s + M r. Combinations of rows in which all masks cancel span the leaked subspace (Li
2022, section 4). A node whose input is in it is *revealed*, however large the masks are.

What it assumes: The view is this linear map and nothing else, which every audit tests. It applies to sums only. It does
not measure what finite masks leave visible; Gaussian evidence does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from secmix.auditing import unequal
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind
from secmix.auditing.evidence.premises import is_linear, under_premises
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup


def _gather(case: CellContext) -> Gathered:
    assert isinstance(case.setup, SumSetup)
    assert isinstance(case.observation, SumObservation)
    nodes = ((node, case.about(node)) for node in case.judged)
    findings = [
        finding for node, about in nodes for finding in _findings_about(case.setup, case.observation, node, about)
    ]
    return Gathered(under_premises(case, findings))


def _findings_about(
    setup: SumSetup, observation: SumObservation, node: int, about: dict[str, Any]
) -> Iterator[Finding]:
    shares = [(len(iterations), float(r.subspace.explained(node).max())) for iterations, r in observation.all_readings]
    single = max(share for iterations, share in shares if iterations == 1)
    for view, share in (("single", single), ("cumulative", max(share for _, share in shares))):
        known = share > 1 - 1e-6
        ends = (share, share)
        estimated = unequal.are_unequal(setup) and not known
        if estimated:
            measured = unequal.share_known(observation, node, masks=False, cumulative=view == "cumulative")
            share, ends = measured.value, (measured.low, measured.high)
        yield Finding(
            **about,
            evidence="structure",
            view=view,
            target="input",
            method="leaked subspace: unit inputs and unit masks through the protocol itself",
            value=share,
            unit="share of variance known behind infinite masks",
            low=ends[0],
            high=ends[1],
            kind="estimate" if estimated else "exact",
            status="determined" if known else "resolved",
            normalised_leakage=1.0 if known else share,
            normalised_low=1.0 if known else ends[0],
            normalised_high=1.0 if known else ends[1],
            notes=["The adversary computes this node's contribution exactly; larger masks do not help"] * known
            + [unequal.NOTE] * estimated,
        )


EVIDENCE = Evidence(
    "structure",
    (
        Kind(
            "structure",
            "What the masks leave visible",
            "Linear algebra on the messages of the protocol itself: which combinations of inputs remain "
            "when all masks cancel. Exact, and independent of the data.",
        ),
    ),
    is_linear,
    _gather,
    rank=1,
    exact=True,
    reveals_from=1 - 1e-9,
    needs_premises=True,
    not_tried="the leaked subspace (evidence 'structure' was not asked for)",
)
