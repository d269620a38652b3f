"""Data of a cell's runs for the evidence, whatever its protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from secmix._base.checks import Array
from secmix.auditing.observation.lines import Lines


@dataclass(frozen=True)
class Observation:
    """Observation of a cell's runs by its adversary."""

    rows: dict[int, Array]  # node -> (runs, d): the first row of each node asked about: the usual target
    # node -> iteration -> (runs, p): what the adversary computes from its view, for each of these nodes
    features: dict[int, dict[int, Array]]
    unmet_premises: list[str]  # reasons why more may be known about every node than findings show
    # lines that carry messages, and lines on which the adversary reads any
    lines: Lines = field(default_factory=Lines, kw_only=True)

    @property
    def reads_low(self) -> str | None:
        """Why the features are less than the adversary reads; None if they are not."""
        return None
