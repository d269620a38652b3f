"""Report: what an audit found. Plain values only; how they look is the business of ``secmix.reporting``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from secmix._base.naming import called, label
from secmix.errors import shown

SCHEMA_VERSION = "2"

Verdict = Literal["violated", "inconclusive", "holds", "not asked"]
"""*Violated* is demonstrated, *holds* is proved under assumptions that are printed; all else is *inconclusive*.

*Not asked* is what the policy does not speak of: the corrupt nodes, and a question that it sets no limit to.
"""

FAULTS = ("violated", "inconclusive")
"""Verdicts that count against a policy."""

Conclusion = Literal["violated", "inconclusive", "holds", "no worse"]
"""The verdict of a report; *no worse* where all that speaks against it is in the baseline or accepted."""

Since = Literal["new", "worse", "no worse"]
"""How a finding stands to the baseline."""

Standing = Literal[
    "corrupt",
    "revealed",
    "partly leaked",
    "bounded by noise",
    "no more than the output itself reveals",
    "inconclusive",
]


class _Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Counted(_Plain):
    """What may be known from before, or accepted: it is shown, and does not count then."""

    since_baseline: Since | None = Field(default=None, description="Against the baseline, where there is one")
    accepted: str | None = Field(default=None, description="Why and until when somebody accepts it")

    @property
    def counts(self) -> bool:
        """Whether it counts for the verdict of the whole report."""
        return self.accepted is None and self.since_baseline != "no worse"


class Finding(_Plain):
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


class NodeSummary(Counted):
    """All evidence about one node of a cell, in one line."""

    node: int
    standing: Standing
    worst: float = Field(description="Largest normalised leakage of any evidence; 1 if revealed")
    worst_low: float = Field(default=0.0, description="Lower end of its interval")
    worst_high: float = Field(default=1.0, description="Upper end of its interval")
    worst_evidence: str = Field(default="", description="The evidence it comes from")
    certain: bool = Field(default=False, description="Whether it is revealed by calculation, not in trial runs")
    runs: int | None = Field(default=None, description="Of the finding that reveals it: in how many runs it was tried")
    hits: int | None = Field(default=None, description="In how many of these runs the data came out")
    why: str
    verdict: Verdict


class LeakageCurve(_Plain):
    """Normalised leakage of a node against iteration."""

    node: int
    evidence: str
    iterations: list[int]
    single: list[float]
    cumulative: list[float]


class SigmaPoint(_Plain):
    """Privacy and accuracy at one mask size."""

    sigma: float
    normalised_leakage: float = Field(description="Largest over honest nodes not revealed at every sigma; exact")
    error: float = Field(description="Largest error of the averages in one run of the protocol, relative to the inputs")


class RobustnessPoint(_Plain):
    """How far so many colluders push the aggregate."""

    colluders: int
    fraction: float = Field(description="Colluders over nodes")
    found: float | None = Field(description="Largest error found, over the honest spread; null where it is unbounded")
    proven: float | None = Field(description="What a theorem allows on the same messages; null where there is none")
    found_by: str = Field(description="The attack that found it")


class Damage(_Plain):
    """What one attack of the cell's colluders does."""

    attack: str
    aggregate: float | None = Field(description="Error of the first aggregate over the honest spread; null: unbounded")
    model: float | None = Field(description="Error of the outcome, median over runs; null: no fit")
    model_low: float | None = Field(description="Lower quartile over runs")
    model_high: float | None = Field(description="Upper quartile over runs")


class Robustness(Counted):
    """What colluders can do to the result."""

    colluders: int
    breakdown: float = Field(description="Largest fraction of colluders for which no unbounded error was found")
    breakdown_proven: float = Field(description="Largest fraction for which the error is proven to be bounded")
    spread: str = Field(description="What errors of the aggregate are measured in")
    outcome: str = Field(
        default="the fitted means, in standard deviations of the data", description="What damages are errors of"
    )
    points: list[RobustnessPoint]
    damages: list[Damage]
    verdict: Verdict
    why: str
    spent: str = Field(default="", description="How often searches tried, of how often they may; empty without search")


class Picture(_Plain):
    """Rows that an attack recovered in one run, beside the true ones; of public data, or where asked for."""

    nodes: list[int] = Field(description="Whose rows they are, in no order")
    columns: list[int] = Field(description="One or two columns of the data")
    true: list[tuple[float, ...]] = Field(description="In standard deviations of the data about their mean")
    found: list[tuple[float, ...]]
    rows: int = Field(description="How many rows there are in all; the first of them are shown")
    certified: bool = Field(description="Whether the attack itself could tell that these are the rows")


class NodeCoalition(_Plain):
    """Who would have to collude against one node."""

    node: int
    level: Literal["input", "rows"] = Field(description="Its summed vector, or a sum over few enough rows")
    status: Literal["found", "none up to the limit", "inconclusive"]
    coalition: list[int] | None = Field(description="Smallest coalition (−1 is the server); null: none is known")
    size: int | None = Field(description="How many colluders that is, counted in owners where the scenario names them")
    owners: list[str] = Field(default_factory=list, description="Whom the coalition's nodes belong to")
    at_least: int | None = Field(description="Proven: nobody fewer suffices; null: nobody at all does")
    group: list[int] = Field(description="The nodes whose sum the coalition knows")
    rows: int = Field(description="Rows of the group")
    known: Literal["counted", "recovered", "exact", ""] = Field(
        description="How far it is known: the vector exactly, rows recovered, or as many known numbers as rows have"
    )
    guards: list[list[int]] = Field(description="Whoever exposes the node wins over somebody of each of these")
    why: str


class Coalitions(Counted):
    """Who would have to collude before anybody's data are known."""

    min_colluders: int = Field(description="What the policy asks for")
    least: int | None = Field(description="Smallest coalition found; null where none was found up to the limit")
    limit: int = Field(description="Size up to which coalitions were looked for")
    nodes: list[NodeCoalition]
    weakest: NodeCoalition | None = Field(description="What decides: the smallest coalition, or what is open")
    command: str = Field(description="The command that audits that coalition; empty where there is none")
    method: str
    notes: list[str]
    repairs: list[str] = Field(default_factory=list, description="Changes that meet the policy, audited again")
    verdict: Verdict
    why: str


class NodeClaim(_Plain):
    """What an audit says of a claim of differential privacy, of one node."""

    node: int
    proved: float | None = Field(description="Largest epsilon, by proof from the code; null: none is proved")
    follows: str = Field(description="What that follows from, or why nothing is proved")
    seen: float | None = Field(description="Epsilon is at least this, by running the code; null stands for infinity")
    confidence: float = Field(description="At which that holds; it keeps the level of the whole audit")
    method: str = Field(description="How it was seen, or why nothing was")
    neighbours: str = Field(default="", description="The two data sets that were told apart, in words")
    paste: str = Field(default="", description="Their rows and the score, as Python to paste")
    fails: str = Field(
        default="", description="Where the claim fails: the line or the message; empty if it is not shown"
    )
    verdict: Verdict


class NodeSpending(_Plain):
    """Epsilon that a node spent in calls that were made, by the rounds in which it took part."""

    node: int
    calls: int = Field(description="How many calls of the collaboration were accounted for")
    least_rounds: int = Field(description="In how many rounds it took part, in the call with the fewest")
    most_rounds: int = Field(description="In how many rounds it took part, in the call with the most")
    rounds: list[int] = Field(description="Its rounds in the call that spends most")
    epsilon: list[float | None] = Field(description="Epsilon after each of them; null stands for infinity")


class PrivacyClaim(Counted):
    """A claim of differential privacy, held against the code and its runs."""

    epsilon: float
    delta: float
    terms: str = Field(description="What the claimed epsilon is about, in words")
    public: list[str] = Field(default_factory=list, description="What its author holds public")
    looks: int = Field(description="Among how many readings the level of the audit was divided")
    nodes: list[NodeClaim]
    spent: list[NodeSpending] = Field(default_factory=list, description="What was spent in calls that were made")
    verdict: Verdict
    why: str


class Checked(_Plain):
    """One check of whether the exact evidence may be believed."""

    name: str
    outcome: Literal["passed", "failed", "not applicable"]
    sentence: str
    counterexample: str | None = Field(
        default=None, description="Where it failed: which message, which entry, what differed"
    )


Outcome = Literal["helps", "open", "not tried", "no use", "cannot be run"]
"""What became of a measure; *open*: this very report could not decide."""
Effect = Literal["", "closed", "reduced", "bounded"]
"""What a measure that helps did to the leak, or to the error; empty: not told apart."""


class Trial(_Plain):
    """One measure that might mend a cell, and what became of it when it was tried."""

    advice: str = Field(description="The measure, in a sentence or two")
    change: dict[str, Any] = Field(description="Keys of the scenario with their new values; empty: none says it")
    outcome: Outcome
    effect: Effect = Field(
        default="",
        description="Of what helps: it closed or reduced the leak, or bounded the error; empty: not told apart",
    )
    found: str = Field(description="What the trial gave")
    plain: str = Field(default="", description="The measure in a few words without the field's own")

    @property
    def recommended(self) -> bool:
        """Whether a report may recommend it: what was tried in vain it may not."""
        return self.outcome not in ("no use", "cannot be run")


class Cell(Counted):
    """One combination of protocol and adversary."""

    def label(self, node: int) -> str:
        """Return a node's name, or its number where it has none."""
        return label(node, self.names)

    def called(self, node: int) -> str:
        """Return what a sentence calls a node."""
        return called(node, self.names)

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
    edges: list[tuple[int, int]]
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
    assumptions: list[str] = Field(default_factory=list, description="What the verdict assumes, at most five lines")


CellResult = tuple[Cell, list[Finding]]
"""A cell, and the findings about its nodes."""


def covered(cells: Iterable[Cell]) -> str:
    """Name, after a comma, the iterations that the proofs of ``cells`` cover; nothing if they cover all."""
    return " or".join(f", {text}" for text in dict.fromkeys(cell.covers for cell in cells) if text)


class Acceptance(_Plain):
    """Findings that somebody accepts until a day, of one protocol against one adversary."""

    protocol: str
    adversary: str
    what: str = Field(description="What is accepted, in words")
    reason: str
    by: str | None = Field(default=None, description="Who accepts it; null: nobody is named")
    until: str = Field(description="Last day on which it is accepted, as in 2030-12-31")
    ended: bool = Field(description="Whether that day was over when the audit ran: the findings count again")


class Report(_Plain):
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
