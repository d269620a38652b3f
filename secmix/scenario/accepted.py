"""Accepted findings: what their tables ``[[accepted]]`` may say, and how they are read from a file.

What they change in a report is decided in ``auditing/baseline.py``, of recorded runs in
``auditing/recorded/accepted_in_recordings.py``.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, field_validator, model_validator

from secmix.errors import ScenarioError, brief
from secmix.scenario.settings import Strict
from secmix.scenario.table_files import faults_named, read_table

Entry = TypeVar("Entry", bound=Strict)


def read_accepted(path: str | Path) -> list[AcceptedSpec]:
    """Read the accepted findings in a TOML file: tables ``[[accepted]]``."""
    return _read_accepted(path, AcceptedSpec)


def read_accepted_in_recording(path: str | Path) -> list[AcceptedInRecordingSpec]:
    """Read what is accepted of a recorded run from a TOML file: tables ``[[accepted]]``."""
    return _read_accepted(path, AcceptedInRecordingSpec)


def _read_accepted(path: str | Path, kind: type[Entry]) -> list[Entry]:
    entries = read_table(path, "list of accepted findings").get("accepted")
    if not isinstance(entries, list):
        raise ScenarioError(f"'{path}' holds no [[accepted]]; write one such table a finding")
    with faults_named(f"the accepted findings of '{path}'", "accepted", kind):
        return [kind.model_validate(entry) for entry in entries]


class _Acceptance(Strict):
    """Why something is accepted, by whom and until when."""

    reason: str = Field(min_length=1, description="Why it is accepted, for who reads the report")
    by: str | None = Field(None, min_length=1, description="Who accepts it; a board asks for a name or a role")
    until: date = Field(description="Last day on which it is accepted")

    @field_validator("until", mode="before")
    @classmethod
    def _as_written(cls, value: Any) -> Any:
        if isinstance(value, str):
            with suppress(ValueError):  # from report.json
                return date.fromisoformat(value)
        return value

    @property
    def why(self) -> str:
        """The reason, by whom and until when, in a line."""
        by = f"by {self.by} " if self.by else ""
        return brief(f"{self.reason} ({by}until {self.until})")

    def words(self) -> dict[str, Any]:
        """Return the fields as a report has them."""
        return {"reason": self.reason, "by": self.by, "until": str(self.until)}


class AcceptedInRecordingSpec(_Acceptance):
    """Findings of a recorded run that somebody accepts: they are shown, and do not count meanwhile.

    Attributes
    ----------
    rows_of : list of str
        Clients, as the report calls them ("site-1", "node 0"), whose rows follow from the messages.
    control : str
        Class of a filter that did not act.
    result : bool
        Whether it is accepted that the released result gives rows away.
    leaves_open : bool
        Whether it is accepted that one run clears nobody: without it a run is inconclusive at best.
    """

    rows_of: list[str] | None = Field(None, min_length=1)
    control: str | None = Field(None, min_length=1)
    result: bool = False
    leaves_open: bool = False

    @model_validator(mode="after")
    def _something(self) -> AcceptedInRecordingSpec:
        if self.rows_of is None and self.control is None and not self.result and not self.leaves_open:
            raise ValueError(
                'give rows_of, such as ["site-1"], control, result = true or leaves_open = true: what is accepted'
            )
        return self


class AcceptedSpec(_Acceptance):
    """Findings that somebody accepts, for a reason and until a day: they are shown, and do not count meanwhile.

    What is worse than what was accepted counts: a node accepted as *partly leaked* counts once it is *revealed*.
    """

    protocol: str = Field(min_length=1, description="Label of the protocol")
    adversary: str = Field(min_length=1, description="Label of the adversary")
    nodes: list[Annotated[int, Field(ge=0)]] | None = Field(None, description="Default: every honest node")
    standing: Literal["revealed", "partly leaked", "inconclusive"] | None = Field(
        None, description="The worst standing that is accepted of these nodes"
    )
    robustness: bool = Field(False, description="Whether what colluders can do to the result is accepted too")

    @model_validator(mode="after")
    def _something(self) -> AcceptedSpec:
        if self.standing is None and not self.robustness:
            raise ValueError('give standing, such as "partly leaked", or robustness = true: what is accepted')
        return self
