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

import numpy as np

from secmix.auditing.cell_parts import UNMASKED
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind, is_linear, under_premises
from secmix.auditing.observation.sum_observation import UNEQUAL, SumObservation, share_known
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.estimators.exact.leakage import KNOWN
from secmix.estimators.exact.linear import LinearView

_EXACT = 1e-8  # of a unit input: what rounding leaves
_MOST, _NAMED = 40, 3  # messages that are combined, and that are named of these


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
        known = share > KNOWN
        ends = (share, share)
        estimated = setup.is_unequal and not known
        if estimated:
            measured = share_known(observation, node, masks=False, cumulative=view == "cumulative")
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
            notes=([_how_known(observation, node)] if known else []) + [UNEQUAL] * estimated,
        )


def _how_known(observation: SumObservation, node: int) -> str:
    """Say from which messages a node's input follows, by the reading that takes the fewest."""
    telling = [
        (read, reading.origins)
        for iterations, reading in observation.all_readings
        for place in range(len(iterations))
        if len(reading.origins) == len(reading.linear.A)
        and (read := rows_that_tell(reading.linear, node + reading.linear.n * place))
    ]
    if not telling:
        return "its input follows exactly from what the adversary reads: masks cancel, and larger ones do not help"
    rows, origins = min(telling, key=lambda each: len(each[0]))
    named = "; ".join(map(str, (origins[row] for row in rows[:_NAMED])))
    if len(rows) == 1:
        return f"its input is {UNMASKED}: {named}; add a secret mask to it"
    more = f"; and {len(rows) - _NAMED} more" * (len(rows) > _NAMED)
    messages = f"{len(rows)} messages together ({named}{more})"
    return f"its input follows exactly from {messages}: their masks cancel, and larger ones do not help"


def rows_that_tell(view: LinearView, column: int) -> list[int]:
    """Choose rows that combine to one input alone, by orthogonal matching pursuit; none if it takes too many.

    Source: Pati, Rezaiifar and Krishnaprasad 1993.
    """
    table = np.concatenate([view.A, view.M], axis=1)
    sizes = np.linalg.norm(table, axis=1)
    target = np.zeros(table.shape[1])
    target[column] = 1.0
    chosen: list[int] = []
    left = target
    while np.linalg.norm(left) > _EXACT:
        fits = np.abs(table @ left) / np.where(sizes > 0, sizes, np.inf)
        fits[chosen] = 0.0
        if len(chosen) == _MOST or fits.max(initial=0.0) <= _EXACT:
            return []
        chosen.append(int(fits.argmax()))
        weights = np.linalg.lstsq(table[chosen].T, target, rcond=None)[0]
        left = target - weights @ table[chosen]
    return [row for row, weight in zip(chosen, weights, strict=True) if abs(weight) > _EXACT]


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
