"""Release page: plain values for a board that decides whether a model or statistic may leave; and their schema.

It repeats what an audit found, in the audit's own sentences. It decides nothing: no verdict is made here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from secmix.auditing.cell_parts import Verdict
from secmix.auditing.report import Acceptance, Conclusion

SCHEMA_VERSION = "1"
SCHEMA = "release.schema.json"
NOT_ANSWERED: Final = "not answered by this audit"

Status = Literal["answered", "answered in part", "not answered by this audit"]
Acted = Literal["acted", "did not act", "fell short", "not shown"]


class _Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Reader(_Plain):
    """One adversary who could see something of what leaves, or of the messages that make it."""

    who: str
    verdict: Verdict | Literal["not tried"]
    reads: list[str] = Field(description="What it could see")
    found: list[str] = Field(description="What it learns, as far as that was found")
    tried: list[str] = Field(description="Proofs, attacks and measurements that were tried; empty: nothing was")
    holds: list[str] = Field(description="What is proved; empty: nothing is")
    assumptions: list[str] = Field(description="What all that is proved assumes")
    undecided: list[str] = Field(description="What was tried and could not be decided, or was left out, and why")
    accepted: list[str] = Field(description="Findings that somebody accepts: of whom, why, by whom and until when")


PUBLIC: Final = "The public, who gets the result and nothing else"


def untried_public(read: str, undecided: Sequence[str], learnt: Sequence[str] = ()) -> Reader:
    """Return the public as a reader for whom no attack was tried: what it ``read``, and what is ``undecided``."""
    return Reader(
        who=PUBLIC,
        verdict="not tried",
        reads=[read],
        found=list(learnt),
        tried=[],
        holds=[],
        assumptions=[],
        undecided=list(undecided),
        accepted=[],
    )


class ReleaseControl(_Plain):
    """One control against disclosure, and whether it acted."""

    name: str
    acted: Acted = Field(description="As far as this audit shows")
    how: str


class Output(_Plain):
    """One model or statistic that leaves."""

    name: str
    what: str
    verdict: Verdict = Field(description="Worst verdict of the adversaries that were tried; of others it says nothing")
    readers: list[Reader] = Field(description="The public first, where it gets this output")
    controls: list[ReleaseControl]


class Question(_Plain):
    """One question of a guideline, in words of our own, and what this audit answers."""

    document: str
    section: str = Field(description="Number of the clause, or what the section is about where it is not numbered here")
    question: str
    status: Status
    answer: list[str]


class ReleasePage(_Plain):
    """The content of release.html and of release.json."""

    schema_version: str = SCHEMA_VERSION
    secmix_version: str
    title: str
    verdict: Conclusion
    sentence: str = Field(description="The verdict of the audit in its own sentence; the page begins with it")
    description: str
    policy: dict[str, float | str] = Field(description="Limits that the audit was held to")
    outputs: list[Output]
    accepted: list[Acceptance]
    not_tried: list[str]
    questions: list[Question]
    reproduce: str = Field(description="The command that makes the audit again")

    def to_json(self) -> str:
        """Render the content of release.json."""
        return json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def json_schema() -> dict[str, Any]:
    """Build the JSON Schema (draft 2020-12) of release.json."""
    schema = ReleasePage.model_json_schema(mode="serialization")
    schema["properties"]["schema_version"]["const"] = SCHEMA_VERSION
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def published() -> str:
    """Read the schema that ships with this version, ``release.schema.json``."""
    return files("secmix.reporting.release").joinpath(SCHEMA).read_text("utf-8")
