"""An evidence is one object in one file: its name, its meaning, whether it applies to a cell, and how it is gathered.

Scenarios, reports, the JSON schema, SARIF and the glossary read everything they say of an evidence from its object.
Its line in pyproject.toml (group ``secmix.evidence``) makes it known.
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
class Case:
    """One cell, with its runs seen through the adversary.

    Attributes
    ----------
    cell : Scenario
    setup : Setup
    observation : Observation
    fitted : dict
        What several evidences need and one computes, such as decoders: kept for the others.
    settled : set of int
        Nodes whose data are known already, and no measurement can change what the policy says of them.
    built : object, optional
        The protocol as it was before any run; without it, as it is after them.
    level : float
        Chance that a lower confidence bound may lie above the truth.
    deadline : float
        Time (as of ``time.time``) after which nothing more is begun.
    unmeasured : dict
        What could not be measured and why; the value says whether it keeps nodes from being cleared.
    """

    cell: Scenario
    setup: Setup
    observation: Observation
    fitted: dict[Any, Any] = field(default_factory=dict)
    settled: set[int] = field(default_factory=set)
    built: Any = None
    level: float = 0.05
    deadline: float = math.inf
    unmeasured: dict[str, bool] = field(default_factory=dict)

    @property
    def judged(self) -> tuple[int, ...]:
        """The nodes the policy asks about: where the protocol sums every honest one, whatever is measured of it."""
        if not isinstance(self.setup, SumSetup):
            return self.setup.asked
        honest = (i for i in range(self.setup.network.n) if i not in self.setup.corrupt)
        return (*self.setup.asked, *(i for i in honest if i not in self.setup.asked))

    def about(self, node: int) -> dict[str, Any]:
        """The fields of a finding that say which cell and which node it is about."""
        return {"protocol": self.cell.protocol.title, "adversary": self.cell.adversary.title, "node": node}


@dataclass(frozen=True)
class Gathered:
    """What an evidence found in one cell.

    Attributes
    ----------
    findings : list of Finding
        About any of the nodes asked about; their verdicts are set later.
    curves : list of LeakageCurve
    picture : Picture or None
        Rows that were recovered, where they may be shown.
    spared : tuple of (str, int)
        What was not measured, and of which node, because the node was settled.
    missed : tuple of str
        What could not be measured, and why.
    """

    findings: list[Finding] = field(default_factory=list)
    curves: list[LeakageCurve] = field(default_factory=list)
    picture: Picture | None = None
    spared: tuple[tuple[str, int], ...] = ()
    missed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """One kind of finding.

    Attributes
    ----------
    name : str
        As findings carry it.
    title : str
        In a few words, for other tools.
    meaning : str
        For a reader who meets it for the first time.
    of_runs : bool
        Whether its number is the share of runs in which a row came out.
    """

    name: str
    title: str
    meaning: str
    of_runs: bool = False


@dataclass(frozen=True)
class Evidence:
    """One way to find out what an adversary knows of a node.

    Attributes
    ----------
    name : str
        As scenarios ask for it (``[measure] evidence``).
    kinds : tuple of Kind
        The findings it makes.
    applies : callable
        ``applies(case)``: whether it says anything about such a cell.
    gather : callable
        ``gather(case) -> Gathered``.
    rank : int
        Its place among the others, in gathering and in reports.
    exact : bool
        Whether it follows from the protocol itself, by algebra.
    bounds_leakage : bool
        Whether it bounds the leakage from above: without such an evidence a limit on leakage is never met.
    reveals_from : float or None
        Lower end of the normalised leakage from which on the node's data count as known.
    bounds_only : bool
        Whether it says by how much a node leaks at least, and may leave out settled nodes: it is gathered after others.
    states_doubts : bool
        Whether its findings become inconclusive with the node, where the premises of exact evidence are in doubt.
    not_tried : str
        What a report says that was not tried where a scenario leaves it out.
    always : bool
        Whether it is gathered wherever it applies, asked for or not.
    judges : {"group", "run", "all runs"}
        Of a collaboration whose runs send different messages: whether it needs repetitions of the same messages, and
        so is gathered in every group that has enough; is of single runs, and so of groups of any size; or compares
        the groups.
    """

    name: str
    kinds: tuple[Kind, ...]
    applies: Callable[[Case], bool]
    gather: Callable[[Case], Gathered]
    rank: int
    exact: bool = False
    bounds_leakage: bool = False
    reveals_from: float | None = None
    bounds_only: bool = False
    states_doubts: bool = False
    not_tried: str = ""
    always: bool = False
    judges: Literal["group", "run", "all runs"] = "group"


@cache
def installed() -> tuple[Evidence, ...]:
    """Every installed evidence, in order.

    Raises
    ------
    ScenarioError
        If an entry point of the group ``secmix.evidence`` is no Evidence, or bears another name than its own.
    """
    found = []
    for name in plugins.available("evidence"):
        each = plugins.load("evidence", name)
        if not isinstance(each, Evidence) or each.name != name:
            raise ScenarioError(
                f"the entry point '{name}' of secmix.evidence is not an Evidence of that name: {each!r:.80}"
            )
        found.append(each)
    return tuple(sorted(found, key=lambda each: each.rank))


def kinds() -> list[Kind]:
    """Every kind of finding, in order."""
    return [kind for each in installed() for kind in each.kinds]


@cache
def evidence_of(kind: str) -> Evidence | None:
    """The evidence that makes findings of this kind; None for a kind from elsewhere."""
    return next((each for each in installed() if any(k.name == kind for k in each.kinds)), None)


@cache
def is_of_runs(kind: str) -> bool:
    """Whether the number of such findings is the share of runs in which a row came out."""
    return any(each.of_runs for each in kinds() if each.name == kind)


def asked(case: Case) -> list[Evidence]:
    """Those that the scenario asks for, or that are always gathered, and that apply to the cell, in order."""
    wanted = (each for each in installed() if each.always or each.name in case.cell.measure.evidence)
    return [each for each in wanted if each.applies(case)]
