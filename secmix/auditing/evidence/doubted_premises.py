"""Adjust exact findings if their premises are in doubt, or if inputs are blurred.

Also say what every sum tells: of its total, behind masks of its size, and whether exactly known sums are as many
numbers as the rows behind them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from secmix._base.checks import Array
from secmix.auditing import unequal
from secmix.auditing.evidence.interface import CellContext, installed
from secmix.auditing.observation.reading import Reading
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.estimators.estimate import normalised
from secmix.protocols import Defences
from secmix.scenario import Scenario


def is_exact(cell: Scenario, setup: SumSetup) -> bool:
    """Check whether all evidence that the scenario names is exact; of nodes that are no equals it is estimated."""
    named = [evidence for evidence in installed() if evidence.name in cell.measure.evidence]
    return all(evidence.exact for evidence in named) and not setup.is_unequal


def is_linear(case: CellContext) -> bool:
    """Check whether the protocol sums the data of nodes: only then does linear algebra apply to their data."""
    return isinstance(case.setup, SumSetup) and not is_encoded(case)


def is_encoded(case: CellContext) -> bool:
    """Check whether a proof gives the known sums of encodings."""
    return isinstance(case.observation, SumObservation) and bool(case.observation.encoded)


def under_premises(case: CellContext, findings: list[Finding]) -> list[Finding]:
    """Weaken exact ``findings``: to lower bounds if premises are in doubt, to upper bounds if inputs are blurred."""
    if unmet_premises := case.observation.unmet_premises:
        findings = [at_least(finding, unmet_premises) for finding in findings]
    defences = Defences(**case.cell.model.defences)
    if defences.blurs:
        findings = [at_most(finding, defences) for finding in findings]
    return findings


def at_least(finding: Finding, unmet_premises: list[str]) -> Finding:
    """Weaken an exact finding whose premises are in doubt to a lower bound."""
    if finding.status == "determined":
        return finding
    weaker = {"kind": "lower bound", "status": "unresolved", "high": None, "normalised_high": 1.0}
    return finding.model_copy(update={**weaker, "notes": [*finding.notes, *unmet_premises]})


def at_most(finding: Finding, defences: Defences) -> Finding:
    """Weaken an exact finding about blurred vectors: for the rows it is an upper bound.

    Given what a node sends, view and rows are independent, so that the view reveals no more of the rows than of that.
    """
    blurred = ", ".join(defences.words)
    note = f"this is about what the node sends, blurred ({blurred}): no more is known of its rows, maybe less"
    bound = {
        "value": finding.high,
        "low": 0.0,
        "kind": "upper bound",
        "status": "unresolved" if finding.status == "determined" else finding.status,
        "normalised_leakage": finding.normalised_high,
        "normalised_low": 0.0,
    }
    return finding.model_copy(update={**bound, "notes": [*finding.notes, note]})


def output_share(setup: SumSetup, observation: SumObservation, node: int) -> float:
    """Compute the share of the variance of one honest input that the total reveals to corrupt nodes: 1/|honest|.

    If nodes have different numbers of rows it is measured.
    """
    if setup.is_unequal:
        return unequal.output_share(setup, observation, node)
    return 1.0 / (setup.network.n - len(setup.corrupt))


def share_behind_masks(setup: SumSetup, observation: SumObservation, node: int) -> float:
    """Compute the share of the node's variance that is known through masks of this size, for nodes of equal size."""
    return normalised(nats_of_all(setup, observation, node), 1)


def nats_of_all(setup: SumSetup, observation: SumObservation, node: int) -> float:
    """Compute the information about the node's input behind Gaussian masks, of all iterations that are read jointly."""
    n = setup.network.n
    return max(
        nats_of(observation, r, node + n * place, iterations)
        for iterations, r in observation.all_readings
        for place in range(len(iterations))
    )


def nats_of(observation: SumObservation, reading: Reading, place: int, iterations: list[int]) -> float:
    """Compute the information about one input, with masks relative to the entry with the largest spread."""
    spread = max(observation.widest[t] for t in iterations)
    if spread == 0:
        return 0.0
    return reading.gaussian.information(place, max(observation.mask_size, 1e-300) / spread)


def finite(value: float) -> float | None:
    """Convert infinity to None, since JSON has no infinity."""
    return value if math.isfinite(value) else None


def known_of_sums(setup: SumSetup, observation: SumObservation, node: int) -> tuple[int, int]:
    """Count :func:`equations_and_unknowns` of the sums that are known exactly.

    The rows may be determined if the equations are at least as many. If message schedules differ between runs, the one
    that reveals most of each iteration counts. What is counted for a node is that of all that are solved with it.
    """
    if node in observation.counted:
        return observation.counted[node]
    bases: dict[int, Array] = {}
    for iterations, reading in observation.all_readings:
        basis = reading.subspace.basis
        t = iterations[0]
        if len(iterations) == 1 and (t not in bases or len(basis) > len(bases[t])):
            bases[t] = basis
    sizes = {t: max(observation.inputs[t].shape[2], observation.numbers) for t in bases}
    rows = [count * setup.rows.shape[1] for count in setup.counts]
    group, equations, unknowns = solved_together(bases, sizes, rows, setup.corrupt, node, setup.possible_rows)
    observation.counted.update(dict.fromkeys(group, (equations, unknowns)))
    return equations, unknowns


def solved_together(
    bases: Mapping[int, Array],
    sizes: Mapping[int, int],
    unknowns: Sequence[int],
    corrupt: frozenset[int],
    node: int,
    possible: int,
) -> tuple[set[int], int, int]:
    """Return the nodes whose rows are solved for together with ``node``'s; count known numbers and unknown ones.

    The known numbers are those of the sums that include these nodes, the unknown ones those of their rows. If rows have
    few possible values, such as yes and no, the unknowns are the counts of each possible row, in which sums are linear.
    ``bases``, mapping from iteration to (rank, n): the leaked subspace of each iteration; ``sizes``: entries of the
    summed vector, by iteration; ``unknowns``: number of entries of all rows of each node; ``possible``: number of
    possible rows.
    """
    honest = np.array([i not in corrupt for i in range(len(unknowns))])
    group, equations, before = {node}, 0, -1
    while before != len(group):  # sums that share a node are solved together
        before, equations = len(group), 0
        for t, basis in bases.items():
            involved = (np.abs(basis) > 1e-6) & honest
            rows = involved[:, sorted(group)].any(axis=1)
            group |= set(np.flatnonzero(involved[rows].any(axis=0)).tolist())
            equations += int(rows.sum()) * sizes[t]
    return group, equations, min(sum(unknowns[i] for i in group), possible)
