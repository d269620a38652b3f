"""What becomes of an exact finding whose premises are in doubt, or that is of blurred vectors."""

from __future__ import annotations

import math

from secmix.auditing import unequal
from secmix.auditing.evidence.interface import Case
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.protocols import Defences


def sums_only(case: Case) -> bool:
    """Whether the protocol sums: only then does linear algebra apply."""
    return isinstance(case.setup, SumSetup)


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
