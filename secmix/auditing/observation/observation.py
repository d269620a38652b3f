"""What is kept of a cell's runs, whatever its protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from secmix._base.checks import Array
from secmix.auditing.observation.lines import Lines


@dataclass(frozen=True)
class Observation:
    """A cell's runs, seen through the adversary.

    Attributes
    ----------
    rows : dict of node -> (runs, d)
        The first row of each node that is asked about: the usual target.
    features : dict of node -> dict of iteration -> (runs, p)
        What the adversary makes of its view, for each of these nodes.
    doubts : list of str
        Why more may be known about every node than any finding shows.
    lines : Lines
        On which messages go, and on which the adversary reads any.
    """

    rows: dict[int, Array]
    features: dict[int, dict[int, Array]]
    doubts: list[str]
    lines: Lines = field(default_factory=Lines, kw_only=True)

    @property
    def reads_low(self) -> str | None:
        """Why the features are less than the adversary holds; None where they are not."""
        return None
