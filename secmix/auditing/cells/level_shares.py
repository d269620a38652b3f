"""Shares of an audit's level: the chance of a wrong accusation, split over all that may accuse by chance.

``[measure] level`` is split over the combinations of a sweep first (:meth:`secmix.scenario.Scenario.cells`). In a cell
what is counted and what is estimated share it in halves; where epsilon is limited or claimed one part more is for that,
and where the policy asks about membership one for it. Within a part it is split over findings, nodes and looks
(Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass

from secmix.scenario import Scenario


@dataclass(frozen=True)
class LevelShares:
    """Chances of wrong accusations, of one cell; together at most its level.

    Attributes
    ----------
    counted, estimated : float
        Of all shares of runs in which data came out, and of all estimates.
    epsilon : float
        Of each question about epsilon: the policy's, and the claim's.
    membership : float
    """

    counted: float
    estimated: float
    epsilon: float
    membership: float


def level_shares(cell: Scenario) -> LevelShares:
    """Split the level of a cell over what its policy and its claim ask."""
    level, policy = cell.measure.level, cell.policy
    questions = (policy.max_epsilon is not None) + (cell.claim is not None)
    usual = level / (2 + bool(questions) + (policy.max_membership is not None))
    # With both, half of what epsilon and membership would have alone: 1/4 + 1/4 + 1/3 + 1/6.
    membership = level / (6 if questions else 3)
    return LevelShares(usual, usual, level / 3 / max(questions, 1), membership)
