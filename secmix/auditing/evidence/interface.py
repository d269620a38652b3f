"""Evidence: one object in one file, with its name, its meaning, whether it applies to a cell, and how it is gathered.

Scenarios, reports, the JSON schema, SARIF and the glossary take all text about an evidence from its object. Its line in
pyproject.toml (group ``secmix.evidence``) registers it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from secmix._base import plugins
from secmix.auditing.observation.observation import Observation
from secmix.auditing.report import Finding, LeakageCurve, Picture
from secmix.auditing.setup import Setup, SumSetup
from secmix.errors import ScenarioError
from secmix.scenario import Scenario


@dataclass(frozen=True)
class CellContext:
    """One cell, with the observation of its runs by the adversary.

    Attributes
    ----------
    cell : Scenario
    setup : Setup
    observation : Observation
    fitted : dict
        Cache of results that several kinds of evidence need, such as decoders.
    decided : set of int
        Nodes whose data are known already, so that no measurement can change their verdict.
    built : object, optional
        The protocol as it was before any run; if None, as it is after them.
    level : float
        Probability with which a lower confidence bound may exceed the truth.
    deadline : float
        Time (as of ``time.time``) after which nothing new starts.
    unmeasured : dict
        What could not be measured and why; the value says whether that prevents a clearance of nodes.
    """

    cell: Scenario
    setup: Setup
    observation: Observation
    fitted: dict[Any, Any] = field(default_factory=dict)
    decided: set[int] = field(default_factory=set)
    built: Any = None
    level: float = 0.05
    deadline: float = math.inf
    unmeasured: dict[str, bool] = field(default_factory=dict)

    @property
    def judged(self) -> tuple[int, ...]:
        """The nodes the policy asks about: every honest node if the protocol sums, whatever is measured of it."""
        if not isinstance(self.setup, SumSetup):
            return self.setup.asked
        honest = (i for i in range(self.setup.network.n) if i not in self.setup.corrupt)
        return (*self.setup.asked, *(i for i in honest if i not in self.setup.asked))

    def about(self, node: int) -> dict[str, Any]:
        """Collect the fields of a finding that name its cell and node."""
        return {"protocol": self.cell.protocol.title, "adversary": self.cell.adversary.title, "node": node}


@dataclass(frozen=True)
class Gathered:
    """Result of an evidence in one cell.

    Attributes
    ----------
    findings : list of Finding
        Findings about any of the nodes asked about; their verdicts are set later.
    curves : list of LeakageCurve
    picture : Picture or None
        Recovered rows, if they may be shown.
    skipped : tuple of (str, int)
        What was not measured, and of which node, because the node was decided.
    missed : tuple of str
        What could not be measured, and why.
    """

    findings: list[Finding] = field(default_factory=list)
    curves: list[LeakageCurve] = field(default_factory=list)
    picture: Picture | None = None
    skipped: tuple[tuple[str, int], ...] = ()
    missed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """One kind of finding.

    Attributes
    ----------
    name : str
        Name in findings.
    title : str
        Title in a few words, for other tools.
    meaning : str
        Explanation for a reader who meets it for the first time.
    of_runs : bool
        Whether its number is the share of runs in which a row came out.
    """

    name: str
    title: str
    meaning: str
    of_runs: bool = False


@dataclass(frozen=True)
class Evidence:
    """One way to determine what an adversary knows of a node.

    Attributes
    ----------
    name : str
        Name in scenarios (``[measure] evidence``).
    kinds : tuple of Kind
        Kinds of findings that it makes.
    applies : callable
        ``applies(case)``: whether it applies to such a cell.
    gather : callable
        ``gather(case) -> Gathered``.
    rank : int
        Position among the others, in gathering and in reports.
    exact : bool
        Whether it follows from the protocol itself, by algebra.
    bounds_leakage : bool
        Whether it bounds the leakage from above; only such evidence can meet a limit on leakage.
    bounds_epsilon : bool
        Whether its number is a lower bound of epsilon, which is held against the policy's ``max_epsilon``.
    tells_members : bool
        Whether its number is the true-positive rate of a membership test, held against the policy's ``max_membership``.
    reveals_from : float or None
        Lower end of the normalised leakage above which the node's data count as known.
    bounds_only : bool
        Whether it gives lower bounds only, and may skip decided nodes: it is gathered after the others.
    needs_premises : bool
        Whether its findings become inconclusive with the node if premises of exact evidence are in doubt.
    not_tried : str
        What a report lists as not tried if a scenario leaves it out.
    always : bool
        Whether it is gathered wherever it applies, even if not asked for.
    judges : {"group", "run", "all runs"}
        For a collaboration whose runs send different messages: "group" if it needs many runs with the same metadata,
        and is gathered in every group that has enough; "run" if it needs single runs, and is gathered in groups of any
        size; "all runs" if it compares the groups.
    """

    name: str
    kinds: tuple[Kind, ...]
    applies: Callable[[CellContext], bool]
    gather: Callable[[CellContext], Gathered]
    rank: int
    exact: bool = False
    bounds_leakage: bool = False
    bounds_epsilon: bool = False
    tells_members: bool = False
    reveals_from: float | None = None
    bounds_only: bool = False
    needs_premises: bool = False
    not_tried: str = ""
    always: bool = False
    judges: Literal["group", "run", "all runs"] = "group"


@cache
def installed() -> tuple[Evidence, ...]:
    """List every installed evidence, in order.

    Raises
    ------
    ScenarioError
        If an entry point of the group ``secmix.evidence`` is not an Evidence, or has another name than its own.
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
    """Select the evidence that the scenario asks for, or that is always gathered, and that applies to the cell."""
    wanted = (evidence for evidence in installed() if evidence.always or evidence.name in case.cell.measure.evidence)
    return [evidence for evidence in wanted if evidence.applies(case)]
