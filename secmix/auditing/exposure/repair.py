"""What would mend a violated ``min_colluders``: changes to the scenario, each searched and audited again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from secmix._base.checks import Progress
from secmix._base.random import sequence
from secmix.auditing.advice.trials import changed_scenario
from secmix.auditing.cells.audit_cell import revealed
from secmix.auditing.exposure.search import Level, adversary_of, exposure_of, spec_of
from secmix.auditing.setup import CollaborationSetup, SumSetup, build_setup
from secmix.coalitions import Agent, Equations, Exposure
from secmix.coalitions.declared import declared_graph
from secmix.coalitions.edges import Edge, cheapest_edges
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import PDMM, SecureSum
from secmix.scenario import PolicySpec, Scenario
from secmix.transcript import SERVER

_MOST_NODES = 40  # on which the cheapest edges are sought; above, few enough by a heuristic
_TIMES = (2, 3, 4, 6, 8, 12, 16)  # rows a node, in multiples of what there are
_AUDITED = 3  # coalitions that exposed somebody before, tried by a real audit


@dataclass(frozen=True)
class Repair:
    """A change that meets the policy.

    Attributes
    ----------
    words : str
        The change, as one says it to who runs the protocol.
    change : dict
        Keys of the scenario with their new values.
    cost : float or None
        Of edges.
    before, after : float or None
        Smallest coalition; None where there is none up to the limit.
    audited : int
        Coalitions that exposed somebody before, by which a real audit of the changed scenario found nobody revealed.
    """

    words: str
    change: dict[str, Any]
    cost: float | None
    before: float | None
    after: float | None
    audited: int = field(default=0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dict(vars(self))

    @property
    def sentence(self) -> str:
        """The change and what it achieves."""
        after = "nobody up to the limit suffices" if self.after is None else f"it takes {self.after:g}"
        checked = f"; audited again against {self.audited} of the coalitions that did" if self.audited else ""
        return f"{self.words}: then {after} instead of {self.before or 0:g}{checked}."


def proposals(
    cell: Scenario,
    setup: SumSetup | CollaborationSetup,
    need: int,
    before: Sequence[Exposure],
    *,
    owners: tuple[str, ...] | None = None,
    costs: Mapping[Agent, float] | None = None,
    edge_costs: Mapping[Edge, float] | None = None,
    progress: Progress | None = None,
    unaudited: list[str] | None = None,
) -> tuple[Repair, ...]:
    """Changes after which no coalition cheaper than ``need`` exposes anybody: proven, and audited again.

    ``before`` is who exposes whom as it is, at each level that is asked about.

    Those that are proven and could not be audited again are put into ``unaudited``, in words, with the reason.
    """
    if not isinstance(setup, SumSetup):
        return ()
    levels = [each.level for each in before]
    found = []
    for words, change, cost in _candidates(cell, setup, need, levels, owners, edge_costs):
        try:
            changed = changed_scenario(cell, change)
            theirs = build_setup(changed)
            assert isinstance(theirs, SumSetup)
            after = [_searched(changed, theirs, one, need, owners, costs, progress) for one in levels]
            if any(each.inconclusive or each.at_least < need for each in after):
                continue
        except SecmixError:
            continue  # the change does not fit the rest: no proposal
        try:
            tried = _audited(changed, theirs, before, need)
        except SecmixError as error:
            if unaudited is not None:
                unaudited.append(f"{words}: proved to take {need}, but it could not be audited again ({error})")
            continue
        if tried is not None:
            found.append(Repair(words, change, cost, _least(before), _least(after), tried))
    return tuple(found)


def _least(exposures: Sequence[Exposure]) -> float | None:
    return min((each.least for each in exposures if each.least is not None), default=None)


def _searched(
    cell: Scenario,
    setup: SumSetup,
    level: Level,
    need: int,
    owners: tuple[str, ...] | None,
    costs: Mapping[Agent, float] | None,
    progress: Progress | None = None,
) -> Exposure:
    most, only = max(need, 4), {"taps": False, "recover": False}
    return exposure_of(cell, setup, level, colluders=most, owners=owners, costs=costs, progress=progress, **only)


def _candidates(
    cell: Scenario,
    setup: SumSetup,
    need: int,
    levels: Sequence[Level],
    owners: tuple[str, ...] | None,
    edge_costs: Mapping[Edge, float] | None,
) -> Iterator[tuple[str, dict[str, Any], float | None]]:
    protocol = setup.protocol
    if getattr(protocol, "encrypted", None) is False:
        yield "Encrypt the lines", {"protocol.encrypted": True}, None
    if getattr(protocol, "masks", None) == "reused":
        yield "Draw fresh masks for every averaging", {"protocol.masks": "fresh"}, None
    if isinstance(protocol, SecureSum) and owners is not None:
        order = sorted(range(setup.network.n), key=lambda node: (owners[node], node))
        words = f"Take the cycle owner by owner: {', '.join(map(str, order))}"
        yield words, {"protocol.cycle": order}, None
    equations = _equations(cell, setup)
    if owners is None:
        yield from _edges(setup, need, levels, equations, edge_costs)
    if "rows" in levels:
        yield from _rows(cell, setup, need)
        for iterations in range(cell.model.iterations - 1, 0, -1):
            words = f"Run {iterations} iteration{'s' * (iterations > 1)} instead of {cell.model.iterations}"
            yield words, {"model.iterations": iterations}, None
    if not isinstance(protocol, PDMM):
        yield "Sum by PDMM on the same network", {"protocol": {"name": "pdmm"}}, None


def _equations(cell: Scenario, setup: SumSetup) -> Equations:
    return Equations.of(
        features=setup.rows.shape[1],
        components=cell.model.components,
        iterations=cell.model.iterations,
        possible=setup.possible_rows,
        rows=len(setup.rows),
    )


def _edges(
    setup: SumSetup, need: int, levels: Sequence[Level], equations: Equations, costs: Mapping[Edge, float] | None
) -> Iterator[tuple[str, dict[str, Any], float | None]]:
    graph = declared_graph(setup.protocol, setup.network)
    if graph is None or graph != setup.network:
        return
    ones = (1,) * graph.n
    added: tuple[Edge, ...] = ()
    # Both levels at once only by one after the other: the second keeps what the first has added.
    for level in levels:
        rows, most = (ones, 1) if level == "input" else (setup.counts, equations.most_rows())
        network = Network.from_edges(graph.n, [*map(tuple, graph.edges.tolist()), *added])
        exact = graph.n <= _MOST_NODES
        more = cheapest_edges(network, rows, most, need, costs=costs, empty_boundary=level == "rows", exact=exact)
        if more is None:
            return
        added = (*added, *more)
    if added:
        listed = ", ".join(f"{a}–{b}" for a, b in added)
        words = f"Add the line{'s' * (len(added) > 1)} {listed}"
        words += "" if graph.n <= _MOST_NODES else " (found by a heuristic: fewer lines may do)"
        edges = sorted([*graph.edges.tolist(), *map(list, added)])
        spec: dict[str, Any] = {"kind": "edges", "nodes": graph.n, "edges": edges}
        yield words, {"network": spec}, float(sum((costs or {}).get(edge, 1.0) for edge in added))


def _rows(cell: Scenario, setup: SumSetup, need: int) -> Iterator[tuple[str, dict[str, Any], float | None]]:
    for times in _TIMES:
        counts = [times * count for count in setup.counts]
        if not setup.has_rows(counts):
            return
        each: int | list[int] = counts[0] if len(set(counts)) == 1 else counts
        changed = changed_scenario(cell, {"data.rows_per_node": each})
        theirs = replace(setup, counts=tuple(counts))
        found = _searched(changed, theirs, "rows", need, None, None)
        if not found.inconclusive and found.at_least >= need:
            named = f"{each} rows a node" if isinstance(each, int) else f"{times} times the rows at each node"
            yield f"Give {named}", {"data.rows_per_node": each}, None
            return


def _audited(cell: Scenario, setup: SumSetup, before: Sequence[Exposure], need: int) -> int | None:
    """How many of the coalitions that exposed somebody were tried again in vain; None if one still reveals a node."""
    small = [
        each.coalition
        for exposure in before
        for each in sorted(exposure.nodes, key=lambda each: len(each.coalition or ()))
        if each.coalition is not None and (each.colluders.cost or 0.0) < need
    ]
    tried = 0
    for coalition in list(dict.fromkeys(small))[:_AUDITED]:
        adversary = adversary_of(coalition)
        if len(coalition - {SERVER}) >= setup.network.n - 1:
            continue
        corrupt = adversary.corrupt_nodes(setup.network)
        asked = tuple(i for i in range(setup.network.n) if i not in corrupt)
        evidence = ["structure", "gaussian", *["inversion"] * any(each.level == "rows" for each in before)]
        measure = cell.measure.model_copy(update={"evidence": evidence, "nodes": None})
        against = {"adversary": spec_of(coalition), "measure": measure, "runs": 100}
        policy = {"policy": PolicySpec(max_revealed_nodes=0)}
        seeds = sequence(cell.seed, "data"), sequence(cell.seed, "coalitions", "repair")
        mine = replace(setup, adversary=adversary, corrupt=corrupt, asked=asked)
        if revealed(cell.model_copy(update={**against, **policy}), mine, seeds):
            return None
        tried += 1
    return tried
