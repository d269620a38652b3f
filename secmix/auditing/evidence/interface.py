"""Evidence: one object in one file, with its name, its meaning, whether it applies to a cell, and how it is gathered.

Scenarios, reports, the JSON schema, SARIF and the glossary take all text about an evidence from its object. Its line in
pyproject.toml (group ``secmix.evidence``) registers it. What fails in a cell is noted in its context, and
undoes nothing that was shown before. Exact findings are weakened where their premises are in doubt, or inputs blurred.
"""

from __future__ import annotations

import math
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from secmix._base import plugins
from secmix.auditing.cell_parts import LeakageCurve, Picture
from secmix.auditing.observation.sum_observation import Observation, SumObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import Setup, SumSetup, blurring
from secmix.errors import ScenarioError, SecmixError
from secmix.kernel.values.protocol_text import is_protocol
from secmix.scenario import Scenario

T = TypeVar("T")
LATE = "the time limit had passed"
_PACKAGE = str(Path(__file__).parents[2])


@dataclass(frozen=True)
class CellContext:
    """One cell, with the observation of its runs by the adversary."""

    cell: Scenario
    setup: Setup
    observation: Observation
    # cache of results that several kinds of evidence need, such as decoders
    fitted: dict[Any, Any] = field(default_factory=dict)
    # nodes whose data are known already, so that no measurement can change their verdict
    decided: set[int] = field(default_factory=set)
    built: Any = None  # the protocol as it was before any run; if None, as it is after them
    level: float = 0.05  # probability with which a lower confidence bound may exceed the truth
    confirms: bool = False  # whether it measures again, on fresh runs, what was estimated
    deadline: float = math.inf  # time (as of ``time.time``) after which nothing new starts
    # what could not be measured and why; the value says whether that prevents a clearance of nodes
    unmeasured: dict[str, bool] = field(default_factory=dict)

    @property
    def judged(self) -> tuple[int, ...]:
        """The nodes the policy asks about: every honest node if the protocol sums, whatever is measured of it."""
        if not isinstance(self.setup, SumSetup):
            return self.setup.asked
        honest = (i for i in range(self.setup.network.n) if i not in self.setup.corrupt)
        return (*self.setup.asked, *(i for i in honest if i not in self.setup.asked))

    @property
    def in_doubt(self) -> list[str]:
        """Parts of the audit that were not measured and might have spoken against a clearance, in words."""
        return [f"not measured: {what}" for what, needed in self.unmeasured.items() if needed]

    def about(self, node: int) -> dict[str, Any]:
        """Collect the fields of a finding that name its cell and node."""
        return {"protocol": self.cell.protocol.title, "adversary": self.cell.adversary.title, "node": node}

    def attempt(
        self, what: str, do: Callable[[], T], *, failed_matters: bool = True, late_matters: bool = True
    ) -> T | None:
        """Return what ``do`` returns; where it fails, or the case's time is up, note why and return None.

        What fails or is left out for time keeps every node from being cleared where that ``matters``.
        """
        if time.time() > self.deadline:
            self.unmeasured[f"{what}: {LATE}"] = late_matters
            return None
        try:
            return do()
        except BaseException as error:
            self.unmeasured[f"{what}: {why_failed(error)}"] = failed_matters
            return None


def why_failed(error: BaseException) -> str:
    """Say why something failed; an interrupt is raised again.

    The message of an error that is not ours may hold private values: only its kind is reported.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, SecmixError):
        return str(error)
    if isinstance(error, MemoryError):
        return "it ran out of memory"
    return f"it failed with {type(error).__name__}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Say at which line of the user's code an error arose; nothing where it is not theirs."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_protocol(frame.filename) and not frame.filename.startswith(_PACKAGE)]
    return f" at {os.path.basename(own[-1].filename)}, line {own[-1].lineno}" if own else ""


@dataclass(frozen=True)
class Gathered:
    """Result of an evidence in one cell."""

    # findings about any of the nodes asked about; their verdicts are set later
    findings: list[Finding] = field(default_factory=list)
    curves: list[LeakageCurve] = field(default_factory=list)
    picture: Picture | None = None  # recovered rows, if they may be shown
    # what was not measured, and of which node, because the node was decided
    skipped: tuple[tuple[str, int], ...] = ()
    missed: tuple[str, ...] = ()  # what could not be measured, and why


@dataclass(frozen=True)
class Kind:
    """One kind of finding."""

    name: str  # name in findings
    title: str  # title in a few words, for other tools
    meaning: str  # explanation for a reader who meets it for the first time
    of_runs: bool = False  # whether its number is the share of runs in which a row came out


@dataclass(frozen=True)
class Evidence:
    """One way to determine what an adversary knows of a node."""

    name: str  # name in scenarios (``[measure] evidence``)
    kinds: tuple[Kind, ...]  # kinds of findings that it makes
    applies: Callable[[CellContext], bool]  # ``applies(case)``: whether it applies to such a cell
    gather: Callable[[CellContext], Gathered]  # ``gather(case) -> Gathered``
    rank: int  # position among the others, in gathering and in reports
    exact: bool = False  # whether it follows from the protocol itself, by algebra
    # whether it bounds the leakage from above; only such evidence can meet a limit on leakage
    bounds_leakage: bool = False
    # whether its number is a lower bound of epsilon, which is held against the policy's ``max_epsilon``
    bounds_epsilon: bool = False
    # whether its number is the true-positive rate of a membership test, held against the policy's ``max_membership``
    tells_members: bool = False
    reveals_from: float | None = None  # lower end of the normalised leakage above which the node's data count as known
    # whether it gives lower bounds only, and may skip decided nodes: it is gathered after the others
    bounds_only: bool = False
    # whether its findings become inconclusive with the node if premises of exact evidence are in doubt
    needs_premises: bool = False
    not_tried: str = ""  # what a report lists as not tried if a scenario leaves it out
    always: bool = False  # whether it is gathered wherever it applies, even if not asked for
    collaborations_only: bool = False  # whether it is of collaborations alone: ``applies`` is not asked about a sum
    # for a collaboration whose runs send different messages: "group" if it needs many runs with the same metadata, and
    # is gathered in every group that has enough; "run" if it needs single runs, and is gathered in groups of any size;
    # "all runs" if it compares the groups
    judges: Literal["group", "run", "all runs"] = "group"


@cache
def installed() -> tuple[Evidence, ...]:
    """List every installed evidence, in order.

    Raises ScenarioError if an entry point of the group ``secmix.evidence`` is not an Evidence, or has another name than
    its own.
    """
    loaded = []
    for name in plugins.available("evidence"):
        evidence = plugins.load("evidence", name)
        if not isinstance(evidence, Evidence) or evidence.name != name:
            raise ScenarioError(
                f"the entry point '{name}' of secmix.evidence is {evidence!r:.80}, expected an Evidence of that name"
            )
        loaded.append(evidence)
    return tuple(sorted(loaded, key=lambda evidence: evidence.rank))


def kinds() -> list[Kind]:
    """List every kind of finding, in order."""
    return [kind for evidence in installed() for kind in evidence.kinds]


@cache
def evidence_of(kind: str) -> Evidence | None:
    """Find the evidence that makes findings of this kind; None for an unknown kind."""
    return next((evidence for evidence in installed() if any(k.name == kind for k in evidence.kinds)), None)


@cache
def is_of_runs(kind: str) -> bool:
    """Check whether the number of such findings is the share of runs in which a row came out."""
    return any(known.of_runs for known in kinds() if known.name == kind)


def asked(case: CellContext) -> list[Evidence]:
    """Select the evidence that applies to the cell, if the scenario asks for it or it is always gathered."""
    wanted = (evidence for evidence in installed() if evidence.always or evidence.name in case.cell.measure.evidence)
    is_sum = isinstance(case.setup, SumSetup)
    return [e for e in wanted if not (is_sum and e.collaborations_only) and e.applies(case)]


def is_exact(cell: Scenario, setup: SumSetup) -> bool:
    """Check whether all evidence that the scenario names is exact; of nodes that are no equals it is estimated."""
    named = [evidence for evidence in installed() if evidence.name in cell.measure.evidence]
    return all(evidence.exact for evidence in named) and not setup.is_unequal


def is_linear(case: CellContext) -> bool:
    """Check whether the protocol sums the data of nodes: only then does linear algebra apply to their data."""
    return isinstance(case.setup, SumSetup) and not is_encoded(case)


def is_encoded(case: CellContext) -> bool:
    """Check whether a proof gives the known sums of encodings."""
    return isinstance(case.observation, SumObservation) and bool(case.observation.encoded)


def under_premises(case: CellContext, findings: list[Finding]) -> list[Finding]:
    """Weaken exact ``findings``: to lower bounds if premises are in doubt, to upper bounds if inputs are blurred."""
    if unmet_premises := case.observation.unmet_premises:
        findings = [at_least(finding, unmet_premises) for finding in findings]
    if blurred := blurring(case.cell):
        findings = [_at_most(finding, blurred) for finding in findings]
    return findings


def at_least(finding: Finding, unmet_premises: list[str]) -> Finding:
    """Weaken an exact finding whose premises are in doubt to a lower bound."""
    if finding.status == "determined":
        return finding
    weaker = {"kind": "lower bound", "status": "unresolved", "high": None, "normalised_high": 1.0}
    return finding.model_copy(update={**weaker, "notes": [*finding.notes, *unmet_premises]})


def _at_most(finding: Finding, blurred: str) -> Finding:
    """Weaken an exact finding about vectors ``blurred`` by some defences: for the rows it is an upper bound.

    Given what a node sends, view and rows are independent, so that the view reveals no more of the rows than of that.
    """
    note = f"this is about what the node sends, blurred ({blurred}): no more is known of its rows, maybe less"
    bound = {
        "value": finding.high,
        "low": 0.0,
        "kind": "upper bound",
        "status": "unresolved" if finding.status == "determined" else finding.status,
        "normalised_leakage": finding.normalised_high,
        "normalised_low": 0.0,
    }
    return finding.model_copy(update={**bound, "notes": [*finding.notes, note]})


def is_counted(finding: Finding) -> bool:
    """Say whether its number is the share of runs in which data came out."""
    return bool(finding.hits and finding.runs) and math.isclose(
        finding.normalised_leakage, (finding.hits or 0) / (finding.runs or 1)
    )


def is_estimated(finding: Finding) -> bool:
    """Say whether its lower end holds by chance only, and not by algebra or because the data came out."""
    if finding.kind == "exact" or finding.status == "determined" or is_counted(finding):
        return False
    evidence = evidence_of(finding.evidence)
    follows = evidence is not None and evidence.exact and finding.normalised_low == finding.normalised_leakage
    return not follows


def finite(value: float) -> float | None:
    """Convert infinity to None, as findings hold it: JSON has no infinity."""
    return value if math.isfinite(value) else None


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
    """Split the level of a cell, a chance of wrong accusations, over all that may accuse by chance.

    What is counted and what is estimated share it in halves; where epsilon is limited or claimed one part more is for
    that, and where the policy asks about membership one for it. Within a part it is split over findings, nodes and
    looks (Bonferroni). A sweep's level is split over its combinations before (:meth:`secmix.scenario.Scenario.cells`).
    """
    level, policy = cell.measure.level, cell.policy
    questions = (policy.max_epsilon is not None) + (cell.claim is not None)
    usual = level / (2 + bool(questions) + (policy.max_membership is not None))
    # With both, half of what epsilon and membership would have alone: 1/4 + 1/4 + 1/3 + 1/6.
    membership = level / (6 if questions else 3)
    return LevelShares(usual, usual, level / 3 / max(questions, 1), membership)
