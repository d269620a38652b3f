"""Exposure of a scenario: who would have to collude before somebody's data are known, and which ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from secmix._base.checks import Progress, positive
from secmix._base.naming import named
from secmix._base.plugins import code_allowed
from secmix.auditing.cell_parts import Verdict
from secmix.auditing.exposure import policy
from secmix.auditing.exposure.cell_exposure import Level, exposure_of
from secmix.auditing.exposure.coalitions import Agent, Exposure
from secmix.auditing.exposure.repair import Repair, proposals
from secmix.auditing.setup import CollaborationSetup, SumSetup, build_setup
from secmix.errors import ScenarioError, nearest
from secmix.network import nodes_listed
from secmix.scenario import Scenario, render
from secmix.scenario.resolve import cell_at, combinations
from secmix.transcript import SERVER

Owners = Sequence[str] | Mapping[int, str]
Costs = Mapping[Agent, float]


def exposure(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    level: Level = "input",
    colluders: float = 4,
    taps: bool = True,
    owners: Owners | None = None,
    costs: Costs | None = None,
    *,
    protocol: Any = None,
    cell: int | None = None,
    recover: bool = True,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> Exposure:
    """Find for every node the smallest coalition that exposes it, and prove that none is smaller.

    Parameters
    ----------
    scenario : Scenario, dict, path of a TOML file, or name of a catalogue entry
        Its adversary does not matter: every coalition is one.
    level : {"input", "rows"}
        *input*: the node's summed vector is known exactly. *rows*: it lies in a known sum over so few rows that the
        sums of all iterations are as many numbers as the rows have; whether they do come out is tried.
    colluders : number
        Up to which size, or cost, coalitions are looked for.
    taps : bool
        Whether to look for the fewest tapped lines too, and for coalitions that choose theirs. The coalition itself
        hears every line that is not encrypted, as ``HonestButCurious`` does.
    owners : sequence of names, one a node, or mapping, optional
        An owner is won over with all its nodes; coalitions are then counted in owners. Default: those that the scenario
        names under ``[network]``, if it does.
    costs : mapping from node (−1 is the server), line (a, b) or owner to number above 0, optional
        What is not listed costs 1.
    protocol : sum protocol, optional
        In place of the scenario's: one of your own.
    cell : int, optional
        Which combination of a sweep, counted from 1; needed where the sweep has several protocols.
    recover : bool
        At level "rows", whether to solve known sums for the rows behind them, which takes seconds to minutes a group;
        else what is known is said to be *counted* alone.
    allow_code : bool
        Load what the scenario names as ``package.module:name``, which runs code of whoever wrote it.
    progress : callable (done, total, what), optional

    Returns
    -------
    Exposure
        ``least`` is the smallest over all nodes; ``nodes`` has for each its ``coalition``, ``group``, ``rows`` and
        ``proof``. A node whose ``status`` is "inconclusive" is not cleared.

    Raises
    ------
    SecmixError
        If the scenario is wrong, or sweeps several protocols and ``cell`` does not choose one.

    Examples
    --------
    >>> ring = {"network": {"kind": "cycle", "nodes": 5}, "data": {"features": 2}, "protocol": {"name": "pdmm"}}
    >>> found = exposure(ring)
    >>> found.least, sorted(found.nodes[0].coalition), found.nodes[0].status
    (2.0, [1, 4], 'found')
    """
    only = _chosen(scenario, cell, several=protocol is not None)
    with code_allowed(allow_code):
        parts = build_setup(only, None if protocol is None else {("protocol", only.protocol.name): protocol})
        whose = _owners(owners, parts.network.n)
        by_number = _by_number(costs, parts.names, whose)
        whom: dict[str, Any] = {"colluders": colluders, "taps": taps, "owners": whose, "costs": by_number}
        return _searched(only, parts, level, **whom, recover=recover, progress=progress)


def _searched(cell: Scenario, parts: SumSetup | CollaborationSetup, level: str, **asked: Any) -> Exposure:
    if level not in ("input", "rows"):
        raise ScenarioError(f"level is 'input' or 'rows'; {nearest(level, ('input', 'rows'))}; given {level!r}")
    positive(asked["colluders"], "colluders")
    return exposure_of(cell, parts, cast(Level, level), **asked)


@dataclass(frozen=True)
class Judged:
    """The exposure of one protocol of a scenario, and what the policy says of it."""

    title: str  # of the protocol, with what else is swept
    exposure: Exposure
    verdict: Verdict | None  # under ``min_colluders``; without that None, or *inconclusive* where something is unproven
    why: str
    repairs: tuple[Repair, ...] = ()  # changes that meet the policy, each audited again
    names: tuple[str, ...] = ()  # of the nodes, where the scenario names them
    unrepaired: str = ""  # why there are no repairs, where they were asked for

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        head: dict[str, Any] = {"protocol": self.title, "verdict": self.verdict, "why": self.why}
        head |= {"names": list(self.names)} if self.names else {}
        repairs = {"repairs": [repair.to_dict() for repair in self.repairs], "unrepaired": self.unrepaired}
        return {**head, **self.exposure.to_dict(), **repairs}


def exposures(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    level: str = "input",
    colluders: float = 4,
    taps: bool = True,
    owners: Owners | None = None,
    costs: Costs | None = None,
    *,
    min_colluders: int | None = None,
    cell: int | None = None,
    recover: bool = True,
    repair: bool = False,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> list[Judged]:
    """Return ``exposure`` of every protocol that a scenario sweeps, judged by ``min_colluders`` of its policy."""
    judged = []
    with code_allowed(allow_code):
        chosen = settings(scenario) if cell is None else {cell: _chosen(scenario, cell)}
        for only in chosen.values():
            need = min_colluders or only.policy.min_colluders
            parts = build_setup(only)
            whose = _owners(owners if owners is not None else only.network.owners, parts.network.n)
            by_number = _by_number(costs, parts.names, whose)
            whom: dict[str, Any] = {"owners": whose, "costs": by_number, "progress": progress}
            limit = max(colluders, need or 0)
            exposure = _searched(only, parts, level, colluders=limit, taps=taps, recover=recover, **whom)
            verdict, why = _judged(exposure, need, costs=costs is not None)
            repairs: tuple[Repair, ...] = ()
            unaudited: list[str] = []
            if repair and need is not None and verdict == "violated":
                repairs = proposals(only, parts, need, [exposure], **whom, unaudited=unaudited)
            unrepaired = _unrepaired(need, verdict, unaudited) if repair and not repairs else ""
            why = named(why, parts.names)
            judged.append(Judged(only.protocol.title, exposure, verdict, why, repairs, parts.names, unrepaired))
    return judged


def _unrepaired(need: int | None, verdict: Verdict | None, unaudited: Sequence[str]) -> str:
    """Say why no change is proposed though one was asked for."""
    if need is None:
        return (
            "No repair was looked for: nothing says how many colluders it must take; give --min-colluders, or set "
            "min_colluders under [policy]."
        )
    if verdict != "violated":
        return f"No repair was looked for: the policy is not violated ({verdict})."
    if unaudited:
        return f"No repair is proposed, since none could be audited again. {'. '.join(unaudited)}."
    return (
        f"No repair was found: of the changes that were tried (more lines, encrypted lines, fresh masks, more rows, "
        f"fewer iterations, PDMM) none that fits this scenario is proved to take {need} colluders."
    )


def _judged(exposure: Exposure, need: int | None, *, costs: bool) -> tuple[Verdict | None, str]:
    """Judge who exposes whom as an audit does; without ``min_colluders`` say whether every answer is proven."""
    if need is not None:
        judgement = policy.judge([exposure], need, costs=costs)
        return judgement.verdict, judgement.why
    if exposure.inconclusive:
        return "inconclusive", f"Open for {nodes_listed(exposure.inconclusive)}."
    return None, "Every answer is proven; the policy asks for no number of colluders (min_colluders)."


def _by_number(costs: Costs | None, names: Sequence[str], owners: Sequence[Any] | None) -> Costs | None:
    """Return costs of nodes by their numbers, where the scenario names them; a name that is an owner's stays."""
    if costs is None:
        return None
    numbers = {name: node for node, name in enumerate(names) if name not in map(str, owners or ())}
    return {numbers.get(agent, agent) if isinstance(agent, str) else agent: cost for agent, cost in costs.items()}


def parsed_costs(text: str) -> dict[Agent, float]:
    """Parse costs as the command line takes them.

    >>> parsed_costs("0=2, 3-1=1.5, server=9, A=4")
    {0: 2.0, (1, 3): 1.5, -1: 9.0, 'A': 4.0}
    """
    costs: dict[Agent, float] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, cost = part.partition("=")
        try:
            costs[_agent(name.strip())] = float(cost)
        except ValueError:
            raise ScenarioError(f"costs are like 0=2,3-1=1.5,server=9; '{part}' is not") from None
    return costs


def _agent(name: str) -> Agent:
    ends = [SERVER if end == "server" else int(end) if end.isdigit() else None for end in name.split("-")]
    if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
        return min(ends[0], ends[1]), max(ends[0], ends[1])
    return ends[0] if len(ends) == 1 and ends[0] is not None else name


def _chosen(
    scenario: Scenario | Mapping[str, Any] | str | Path, cell: int | None, *, several: bool = False
) -> Scenario:
    """Choose the one combination that is asked about."""
    cells = combinations(scenario)
    if cell is not None:
        return cells[cell_at(cells, cell)]
    chosen = settings(scenario)
    if len(chosen) > 1 and not several:
        names = ", ".join(f"{number} ({found.protocol.title})" for number, found in chosen.items())
        raise ScenarioError(f"the scenario sweeps {len(chosen)} protocols or settings; choose with cell: {names}")
    return cells[0]


def settings(scenario: Scenario | Mapping[str, Any] | str | Path) -> dict[int, Scenario]:
    """Return the cells that differ in more than their adversary, each by the number of its first."""
    by_number: dict[int, Scenario] = {}
    keys: set[str] = set()
    for number, cell in enumerate(combinations(scenario), 1):
        key = render(cell.model_copy(update={"adversary": Scenario.model_fields["adversary"].default}))
        if key not in keys:
            keys.add(key)
            by_number[number] = cell
    return by_number


def _owners(owners: Owners | None, n: int) -> tuple[str, ...] | None:
    if owners is None:
        return None
    if isinstance(owners, Mapping):
        if missing := sorted(set(range(n)) - set(owners)):
            raise ScenarioError(f"owners has no entry for node {missing[0]}; give nodes 0 to {n - 1} one each")
        owners = [owners[i] for i in range(n)]
    return tuple(map(str, owners))
