"""What colluders can do to the result of a cell."""

from secmix.auditing.evidence.interface import Case
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Robustness
from secmix.auditing.robustness import collaborations, sums
from secmix.auditing.setup import CollaborationSetup, SumSetup


def robustness(case: Case) -> Robustness | None:
    """The damage that the cell's colluders do; None where the adversary is passive."""
    if isinstance(case.setup, CollaborationSetup):
        return collaborations.robustness(case.cell, case.setup)
    assert isinstance(case.setup, SumSetup)
    assert isinstance(case.observation, SumObservation)
    return sums.robustness(case.cell, case.setup, case.observation)
