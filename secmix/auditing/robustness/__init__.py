"""Effects of colluders on the result of a cell."""

from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.cell_parts import Robustness
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.robustness.collaborations import errors_of_collaborations
from secmix.auditing.robustness.error_curve import curve
from secmix.auditing.robustness.sums import errors_of_sums
from secmix.auditing.setup import CollaborationSetup, SumSetup


def robustness(case: CellContext) -> Robustness | None:
    """Measure the damage of the cell's colluders; None if the adversary is passive."""
    if AdversaryTraits.of(case.setup.adversary).against is None:
        return None
    if isinstance(case.setup, CollaborationSetup):
        errors = errors_of_collaborations(case.cell, case.setup)
    else:
        assert isinstance(case.setup, SumSetup)
        assert isinstance(case.observation, SumObservation)
        errors = errors_of_sums(case.cell, case.setup, case.observation)
    return curve(case.cell.policy, case.setup, errors)
