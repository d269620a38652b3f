"""Data of a cell's runs for the evidence, whatever its protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from secmix._base.checks import Array
from secmix.auditing.observation.lines import Lines


@dataclass(frozen=True)
class Observation:
    """Observation of a cell's runs by its adversary.

    Attributes
    ----------
    rows : dict of node -> (runs, d)
        The first row of each node asked about: the usual target.
    features : dict of node -> dict of iteration -> (runs, p)
        What the adversary computes from its view, for each of these nodes.
    unmet_premises : list of str
        Reasons why more may be known about every node than findings show.
    lines : Lines
        Lines that carry messages, and lines on which the adversary reads any.
    """

    rows: dict[int, Array]
    features: dict[int, dict[int, Array]]
    unmet_premises: list[str]
    lines: Lines = field(default_factory=Lines, kw_only=True)

    @property
    def reads_low(self) -> str | None:
        """Why the features are less than the adversary reads; None if they are not."""
        return None
