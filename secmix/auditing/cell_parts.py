"""Parts of a cell of a report: its nodes, answers to what else a policy asks, checks, measures, curves, a picture."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["violated", "inconclusive", "holds", "not asked"]
"""*Violated* is demonstrated, *holds* is proved under assumptions that are printed; all else is *inconclusive*.

*Not asked* is what the policy does not speak of: the corrupt nodes, and a question that it sets no limit to.
"""

FAULTS = ("violated", "inconclusive")
"""Verdicts that count against a policy."""

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


class PlainModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Counted(PlainModel):
    """What may be known from before, or accepted: it is shown, and does not count then."""

    since_baseline: Since | None = Field(default=None, description="Against the baseline, where there is one")
    accepted: str | None = Field(default=None, description="Why and until when somebody accepts it")


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


UNMASKED = "sent unmasked"
"""Stands in the reason why a node is revealed, where a mask would hide what it sends."""

BOUND_ASSUMES = "The theorems of the rule (see its documentation) apply to the code that runs."
"""The premise of a proved bound of errors."""
ENCRYPTION_ASSUMES = "encrypted as the protocol says: but for that, this adversary would read their messages"
"""Ends the premise of whoever is cleared because lines are encrypted; it begins with how many lines are."""


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


class RobustnessPoint(PlainModel):
    """How far so many colluders push the aggregate."""

    colluders: int
    fraction: float = Field(description="Colluders over nodes")
    found: float | None = Field(description="Largest error found, over the honest spread; null where it is unbounded")
    proven: float | None = Field(description="What a theorem allows on the same messages; null where there is none")
    found_by: str = Field(description="The attack that found it")


class Damage(PlainModel):
    """What one attack of the cell's colluders does."""

    attack: str
    aggregate: float | None = Field(description="Error of the first aggregate over the honest spread; null: unbounded")
    model: float | None = Field(description="Error of the outcome, median over runs; null: no fit")
    model_low: float | None = Field(description="Lower quartile over runs")
    model_high: float | None = Field(description="Upper quartile over runs")


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


class NodeCoalition(PlainModel):
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


class NodeClaim(PlainModel):
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


class NodeSpending(PlainModel):
    """Epsilon that a node spent in calls that were made, by the rounds in which it took part."""

    node: int
    calls: int = Field(description="How many calls of the collaboration were accounted for")
    least_rounds: int = Field(description="In how many rounds it took part, in the call with the fewest")
    most_rounds: int = Field(description="In how many rounds it took part, in the call with the most")
    rounds: list[int] = Field(description="Its rounds in the call that spends most")
    epsilon: list[float | None] = Field(description="Epsilon after each of them; null stands for infinity")


class Checked(PlainModel):
    """One check of whether the exact evidence may be believed."""

    name: str
    outcome: Literal["passed", "failed", "not applicable"]
    sentence: str
    counterexample: str | None = Field(
        default=None, description="Where it failed: which message, which entry, what differed"
    )


Outcome = Literal["helps", "open", "not tried", "no use", "cannot be run"]
"""What became of a measure; *open*: this very report could not decide."""
IN_VAIN = ("no use", "cannot be run")
"""Outcomes of a measure that no report may recommend."""
Effect = Literal["", "closed", "reduced", "bounded"]
"""What a measure that helps did to the leak, or to the error; empty: not told apart."""


class Trial(PlainModel):
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


class LeakageCurve(PlainModel):
    """Normalised leakage of a node against iteration."""

    node: int
    evidence: str
    iterations: list[int]
    single: list[float]
    cumulative: list[float]


class SigmaPoint(PlainModel):
    """Privacy and accuracy at one mask size."""

    sigma: float
    normalised_leakage: float = Field(description="Largest over honest nodes not revealed at every sigma; exact")
    error: float = Field(description="Largest error of the averages in one run of the protocol, relative to the inputs")


class Picture(PlainModel):
    """Rows that an attack recovered in one run, beside the true ones; of public data, or where asked for."""

    nodes: list[int] = Field(description="Whose rows they are, in no order")
    columns: list[int] = Field(description="One or two columns of the data")
    true: list[tuple[float, ...]] = Field(description="In standard deviations of the data about their mean")
    found: list[tuple[float, ...]]
    rows: int = Field(description="How many rows there are in all; the first of them are shown")
    certified: bool = Field(description="Whether the attack itself could tell that these are the rows")


for _model in (Robustness, Coalitions, PrivacyClaim):
    _model.model_rebuild()  # their points and nodes stand below them
