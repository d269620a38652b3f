"""Exposure of a scenario: who would have to collude before somebody's data are known, and which ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from secmix._base.checks import positive
from secmix.auditing.exposed import Level, exposure_of
from secmix.auditing.setup import build_setup
from secmix.coalitions import Agent, Exposure
from secmix.errors import ScenarioError, nearest
from secmix.run import resolve
from secmix.scenario import Scenario, render

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
) -> Exposure:
    """For every node, the smallest coalition that exposes it, and the proof that none is smaller.

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
        An owner is won over with all its nodes; coalitions are then counted in owners.
    costs : mapping from node (−1 is the server), line (a, b) or owner to number above 0, optional
        What is not listed costs 1.
    protocol : sum protocol, optional
        In place of the scenario's: one of your own.
    cell : int, optional
        Which combination of a sweep, counted from 1; needed where the sweep has several protocols.
    recover : bool
        At level "rows", whether to solve known sums for the rows behind them, which takes seconds to minutes a group;
        else what is known is said to be *counted* alone.

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
    if level not in ("input", "rows"):
        raise ScenarioError(f"level is 'input' or 'rows'; {nearest(str(level), ('input', 'rows'))}; given {level!r}")
    positive(colluders, "colluders")
    chosen = settings(scenario)
    cells = list(resolve(scenario)[0].cells())
    if cell is not None:
        if not 1 <= cell <= len(cells):
            raise ScenarioError(f"there is no cell {cell}: the scenario has {len(cells)}, counted from 1")
        only = cells[cell - 1]
    elif len(chosen) > 1 and protocol is None:
        names = ", ".join(f"{number} ({found.protocol.title})" for number, found in chosen.items())
        raise ScenarioError(f"the scenario sweeps {len(chosen)} protocols or settings; choose with cell: {names}")
    else:
        only = cells[0]
    given = None
    if protocol is not None:
        given = {("protocol", only.protocol.name): protocol}
    parts = build_setup(only, given)
    names_of = _owners(owners, parts.network.n)
    return exposure_of(
        only, parts, level, colluders=colluders, taps=taps, owners=names_of, costs=costs, recover=recover
    )


def settings(scenario: Scenario | Mapping[str, Any] | str | Path) -> dict[int, Scenario]:
    """The cells that differ in more than their adversary, each by the number of its first."""
    found: dict[int, Scenario] = {}
    seen: set[str] = set()
    for number, cell in enumerate(resolve(scenario)[0].cells(), 1):
        key = render(cell.model_copy(update={"adversary": Scenario.model_fields["adversary"].default}))
        if key not in seen:
            seen.add(key)
            found[number] = cell
    return found


def _owners(owners: Owners | None, n: int) -> tuple[str, ...] | None:
    if owners is None:
        return None
    if isinstance(owners, Mapping):
        missing = sorted(set(range(n)) - set(owners))
        if missing:
            raise ScenarioError(f"owners names nobody for node {missing[0]}; give one a node, 0 to {n - 1}")
        return tuple(str(owners[i]) for i in range(n))
    return tuple(str(owner) for owner in owners)
