"""Report: what an audit found. Plain values only; how they look is the business of ``secmix.reporting``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from secmix._base.naming import called, label
from secmix.auditing.cell_parts import (
    Checked,
    Coalitions,
    Counted,
    LeakageCurve,
    NodeSummary,
    Picture,
    PlainModel,
    PrivacyClaim,
    Robustness,
    SigmaPoint,
    Trial,
    Verdict,
)
from secmix.errors import shown

SCHEMA_VERSION = "2"

Conclusion = Literal["violated", "inconclusive", "holds", "no worse"]
"""The verdict of a report; *no worse* where all that speaks against it is in the baseline or accepted."""


class Report(PlainModel):
    """The result of an audit."""

    schema_version: str = SCHEMA_VERSION
    secmix_version: str
    versions: dict[str, str] = Field(description="Versions of the libraries that computed the numbers")
    title: str
    description: str
    verdict: Conclusion
    headline: str = Field(
        default="",
        description="In its place above the report, where a baseline or accepted findings decide the verdict",
    )
    sentence: str = Field(description="The verdict in one sentence")
    policy: dict[str, float | str] = Field(
        description="Limits, iterations that a proof must cover, and what noise must hide"
    )
    findings: list[Finding]
    cells: list[Cell]
    not_tried: list[str] = Field(description="Attacks this audit did not try")
    accepted: list[Acceptance] = Field(default_factory=list, description="What somebody accepts, and what has ended")
    scenario: dict[str, Any]
    seed: int
    source: str = Field(default="scenario.toml", description="The scenario's file, to point at in other tools")
    lines: list[dict[str, int]] = Field(
        default_factory=list, description="For each cell the lines of that file where its protocol and adversary stand"
    )
    reproduce: str = Field(description="The command that reproduces the whole report")

    @property
    def limits(self) -> dict[str, float]:
        """The limits of the policy, which are numbers."""
        return {key: value for key, value in self.policy.items() if not isinstance(value, str)}

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, the content of report.json."""
        return self.model_dump(mode="json", by_alias=True)

    def __repr__(self) -> str:
        """Say in a line what was audited, and the verdict.

        All of it is in ``to_dict()``, and in the files that ``secmix.audit`` writes.
        """
        cells = f"{len(self.cells)} combination{'s' * (len(self.cells) != 1)}"
        return f"<Report {shown(self.title)}: {self.headline or self.verdict}, {cells}, {len(self.findings)} findings>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Render the verdict and the matrix, for notebooks."""
        from secmix.auditing.notebook import page

        return page(self)


class Cell(Counted):
    """One combination of protocol and adversary."""

    def label(self, node: int) -> str:
        """Return a node's name, or its number where it has none."""
        return label(node, self.names)

    def called(self, node: int) -> str:
        """Return what a sentence calls a node."""
        return called(node, self.names)

    @property
    def n_edges(self) -> int:
        """Number of lines of the network."""
        return self.n_nodes * (self.n_nodes - 1) // 2 if self.edges is None else len(self.edges)

    number: int | None = Field(
        default=None, description="Which combination of the sweep, counted from 1, as --cell takes"
    )
    protocol: str
    adversary: str
    # The schema calls it "whole".
    is_collaboration: bool = Field(
        default=False, alias="whole", description="Whether the protocol is not a sum: nothing about it is exact then"
    )
    verdict: Verdict
    sentence: str
    n_nodes: int
    names: list[str] = Field(default_factory=list, description="Of the nodes, in order; empty where they have none")
    edges: list[tuple[int, int]] | None = Field(
        description="Lines of the network; null means one between any two nodes, more than 100,000"
    )
    positions: list[tuple[float, float]]
    corrupt: list[int]
    server: bool = Field(default=False, description="Whether the adversary is the coordinating server")
    public: bool = Field(
        default=False, description="Whether the adversary reads the released result alone; corrupt nodes are known rows"
    )
    tapped: list[tuple[int, int]] | None = Field(description="Tapped edges; null means every plain line, [] none")
    heard: list[tuple[int, int]] | None = Field(
        default=None, description="Lines on which the adversary reads messages (−1 is the server); null: not known"
    )
    used: list[tuple[int, int]] | None = Field(default=None, description="Lines on which messages go; null: not known")
    leaked: list[str] = Field(description="Basis of the leaked subspace in words")
    output_error: float | None = Field(
        description="Relative error of the fitted means against pooled EM, largest over runs"
    )
    nodes: list[NodeSummary]
    curves: list[LeakageCurve]
    sigma_curve: list[SigmaPoint]
    robustness: Robustness | None = Field(default=None, description="Where the adversary is Byzantine")
    coalitions: Coalitions | None = Field(default=None, description="Where the policy sets min_colluders")
    claim: PrivacyClaim | None = Field(default=None, description="Where the scenario claims differential privacy")
    picture: Picture | None = Field(default=None, description="Rows that were recovered, in one run")
    advice: list[str] = Field(description="What to change, and what trying it gave")
    trials: list[Trial] = Field(default_factory=list, description="Every measure that was thought of, tried or not")
    notes: list[str]
    unmeasured: list[str] = Field(
        default_factory=list, description="What failed or was left out for time, and why; what was shown before stands"
    )
    reproduce: str = Field(description="The command that reproduces this cell")
    checks: list[Checked] = Field(default_factory=list, description="Checks of the premises of the exact evidence")
    proof: str = Field(default="", description="What is proved of this cell, or at which line the proof ends")
    covers: str = Field(
        default="", description="Of which iterations that is said, where the policy asks for no others; empty: of all"
    )
    assumptions: list[str] = Field(default_factory=list, description="What it assumes beside what ``proof`` says")


class Finding(PlainModel):
    """One question answered about one node."""

    protocol: str = Field(description="Label of the protocol")
    adversary: str = Field(description="Label of the adversary")
    node: int = Field(description="The node whose data are asked about, counted from 0")
    evidence: str
    view: Literal["single", "cumulative"] = Field(description="The view of one iteration, or of all up to the last")
    target: Literal["input", "row"] = Field(description="What is private: the summed vector, or one row of data")
    method: str = Field(description="How the number was got, in words")
    value: float | None = Field(description="The number; null stands for infinity")
    unit: str
    low: float | None = Field(description="Lower end of the interval; null stands for infinity")
    high: float | None = Field(description="Upper end of the interval; null stands for infinity")
    kind: Literal["exact", "upper bound", "lower bound", "estimate"]
    status: Literal["resolved", "unresolved", "determined"]
    normalised_leakage: float = Field(description="0 independent, 1 determined; explained variance for Gaussians")
    normalised_low: float
    normalised_high: float
    baseline: float | None = Field(default=None, description="Normalised leakage of the output by itself, where exact")
    confidence: float = Field(
        default=0.95, description="Of the interval; what accuses keeps the level of the whole audit, so its is higher"
    )
    limit: float | None = Field(default=None, description="The policy's limit on the normalised leakage")
    verdict: Literal["violated", "inconclusive"] | None = Field(
        default=None, description="What it accuses the node's protocol of; null where it accuses of nothing"
    )
    runs: int | None = Field(default=None, description="In how many runs an attack was tried, where that is counted")
    hits: int | None = Field(default=None, description="In how many of these runs the data came out")
    notes: list[str] = Field(default_factory=list)

    @property
    def percent(self) -> str:
        """The confidence of its interval in words."""
        return f"{100 * self.confidence:.6g} %"


CellResult = tuple[Cell, list[Finding]]
"""A cell, and the findings about its nodes."""


class Acceptance(PlainModel):
    """Findings that somebody accepts until a day, of one protocol against one adversary."""

    protocol: str
    adversary: str
    what: str = Field(description="What is accepted, in words")
    reason: str
    by: str | None = Field(default=None, description="Who accepts it; null: nobody is named")
    until: str = Field(description="Last day on which it is accepted, as in 2030-12-31")
    ended: bool = Field(description="Whether that day was over when the audit ran: the findings count again")


def covered(cells: Iterable[Cell]) -> str:
    """Name, after a comma, the iterations that the proofs of ``cells`` cover; nothing if they cover all."""
    return " or".join(f", {text}" for text in dict.fromkeys(cell.covers for cell in cells) if text)


Report.model_rebuild()  # what it is made of stands below it
