"""What becomes of an exact finding whose premises are in doubt, or that is of blurred vectors.

And whether what is known exactly of sums is as many numbers as the rows behind them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from secmix._base.checks import Array
from secmix.auditing import unequal
from secmix.auditing.evidence.interface import Case
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.protocols import Defences


def is_linear(case: Case) -> bool:
    """Whether the protocol sums what nodes hold: only then does linear algebra speak of their data."""
    return isinstance(case.setup, SumSetup) and not is_encoded(case)


def is_encoded(case: Case) -> bool:
    """Whether a proof says what is known of sums of encodings."""
    return isinstance(case.observation, SumObservation) and bool(case.observation.encoded)


def held_to_premises(case: Case, findings: list[Finding]) -> list[Finding]:
    """Exact ``findings`` as lower bounds where their premises are in doubt, and as upper bounds behind a blur."""
    if doubts := case.observation.doubts:
        findings = [at_least(finding, doubts) for finding in findings]
    defences = Defences(**case.cell.model.defences)
    if defences.blurs:
        findings = [at_most(finding, defences) for finding in findings]
    return findings


def at_least(finding: Finding, doubts: list[str]) -> Finding:
    """An exact finding whose premises are in doubt: what it shows is there, but there may be more."""
    if finding.status == "determined":
        return finding
    weaker = {"kind": "lower bound", "status": "unresolved", "high": None, "normalised_high": 1.0}
    return finding.model_copy(update={**weaker, "notes": [*finding.notes, *doubts]})


def at_most(finding: Finding, defences: Defences) -> Finding:
    """An exact finding about vectors that were blurred before they were summed: of the rows it is an upper bound.

    View and rows are independent given what is sent, so that the view says no more of the rows than of that.
    """
    blurred = ", ".join(defences.words)
    note = f"this is of what the node sends, blurred ({blurred}): of its rows no more is known, maybe less"
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
    """Share of the variance of one honest input that the total gives, the corrupt inputs being known: 1/|honest|.

    Where nodes hold unequally many rows it is measured.
    """
    if unequal.are_unequal(setup):
        return unequal.output_share(setup, observation, node)
    return 1.0 / (setup.network.n - len(setup.corrupt))


def finite(value: float) -> float | None:
    """JSON has no infinity: null stands for it."""
    return value if math.isfinite(value) else None


def known_of_sums(setup: SumSetup, observation: SumObservation, node: int) -> tuple[int, int]:
    """As :func:`equations_and_unknowns`, of the sums that are known exactly: enough where no fewer than the rows.

    Where schedules differ between runs, of the schedule that shows most of each iteration.
    """
    bases: dict[int, Array] = {}
    for of, reading in observation.all_readings:
        basis = reading.subspace.basis
        if len(of) == 1 and (of[0] not in bases or len(basis) > len(bases[of[0]])):
            bases[of[0]] = basis
    sizes = {t: max(observation.inputs[t].shape[2], observation.numbers) for t in bases}
    rows = [count * setup.rows.shape[1] for count in setup.counts]
    return equations_and_unknowns(bases, sizes, rows, setup.corrupt, node, setup.possible_rows)


def equations_and_unknowns(
    bases: Mapping[int, Array],
    sizes: Mapping[int, int],
    unknowns: Sequence[int],
    corrupt: frozenset[int],
    node: int,
    possible: int,
) -> tuple[int, int]:
    """How many numbers are known of the sums that ``node`` is part of, and how many numbers their rows are.

    Where rows are made of few values, such as yes and no, the numbers are how often each possible row occurs: sums are
    linear in them.

    Parameters
    ----------
    bases : mapping from iteration to (rank, n)
        The leaked subspace of each.
    sizes : mapping from iteration to int
        Entries of the summed vector.
    unknowns : sequence of int, length n
        Numbers that the rows of each node are.
    corrupt : frozenset of int
    node : int
    possible : int
        How many different rows there can be.
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
    return equations, min(sum(unknowns[i] for i in group), possible)
