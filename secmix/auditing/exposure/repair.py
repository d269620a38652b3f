"""Repairs of a violated ``min_colluders``: changes to the scenario, each searched and audited again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from secmix._base.checks import Progress
from secmix._base.random import sequence
from secmix.auditing.advice import changed_setup, fewer_iterations, fresh_masks, more_rows, try_in_turn
from secmix.auditing.cells.audit_cell import revealed
from secmix.auditing.exposure.cell_exposure import Level, equations_of, exposure_of, facing, spec_of
from secmix.auditing.exposure.coalitions import Agent, Exposure, RowEquations
from secmix.auditing.exposure.coalitions.declared import declared_graph
from secmix.auditing.exposure.coalitions.edges import Edge, fewest_edges
from secmix.auditing.setup import CollaborationSetup, SumSetup
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols.interfaces import Advice
from secmix.scenario import PolicySpec, Scenario
from secmix.transcript import SERVER

_MOST_NODES = 40  # on which the cheapest edges are sought; above, few enough by a heuristic
_AUDITED = 3  # coalitions that exposed somebody before, tried by a real audit
SETTINGS = {"network", "data.rows_per_node", "model.iterations"}
SETTINGS |= {f"protocol.{name}" for name in ("cycle", "encrypted", "masks")}
"""Keys of a scenario that repairs change: other measures that change them were weighed already."""


@dataclass(frozen=True)
class Repair:
    """A change that meets the policy."""

    words: str  # as one says it to who runs the protocol
    change: dict[str, Any]  # keys of the scenario with their new values
    cost: float | None  # of new lines, each of which costs 1
    before: float | None  # smallest coalition; None where there is none up to the limit
    after: float | None
    audited: int  # coalitions that exposed somebody before, and reveal nobody in an audit of the changed scenario

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
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
    progress: Progress | None = None,
    unaudited: list[str] | None = None,
) -> tuple[Repair, ...]:
    """Return changes after which no coalition cheaper than ``need`` exposes anybody: proven, and audited again.

    ``before`` is who exposes whom as it is, at each level that is asked about.

    Those that are proven and could not be audited again are put into ``unaudited``, in words, with the reason.
    """
    if not isinstance(setup, SumSetup):
        return ()
    sums, measures = setup, _measures(cell, setup, need, before, owners)
    asked: dict[str, Any] = {"colluders": max(need, 4), "owners": owners, "costs": costs, "progress": progress}

    def attempt(measure: Advice) -> Repair | None:
        try:
            changed, changed_parts = changed_setup(cell, sums, measure.change)
            after = [
                exposure_of(changed, changed_parts, each.level, **asked, taps=False, recover=False) for each in before
            ]
        except SecmixError:
            return None  # the change does not fit the rest: no proposal
        if any(each.inconclusive or each.at_least < need for each in after):
            return None
        try:
            audited = _audited(changed, changed_parts, before, need)
        except SecmixError as error:
            if unaudited is not None:
                unaudited.append(f"{measure.words}: proved to take {need}, but it could not be audited again ({error})")
            return None
        if audited is None:
            return None
        cost = _new_lines(setup.network, measure.change)
        return Repair(measure.words, dict(measure.change), cost, _least(before), _least(after), audited)

    tried = try_in_turn(measures, attempt, lambda repair: repair is not None)
    return tuple(repair for repair in tried if repair is not None)


def _new_lines(network: Network, change: Mapping[str, Any]) -> float | None:
    """Return how many lines a change adds; None where it adds none."""
    if "network" not in change:
        return None
    return float(len({*map(tuple, change["network"]["edges"])} - {*map(tuple, network.edges.tolist())}))


def _least(exposures: Sequence[Exposure]) -> float | None:
    return min((each.least for each in exposures if each.least is not None), default=None)


def _measures(
    cell: Scenario,
    setup: SumSetup,
    need: int,
    before: Sequence[Exposure],
    owners: tuple[str, ...] | None,
) -> Iterator[Advice]:
    protocol = setup.protocol
    if getattr(protocol, "encrypted", None) is False:
        yield Advice("Encrypt the lines", {"protocol.encrypted": True})
    if (advice := fresh_masks(protocol)).change:
        yield advice
    if hasattr(protocol, "cycle") and owners is not None:
        order = sorted(range(setup.network.n), key=lambda node: (owners[node], node))
        words = f"Take the cycle owner by owner: {', '.join(map(str, order))}"
        yield Advice(words, {"protocol.cycle": order})
    if owners is None:
        yield from _edges(setup, need, [each.level for each in before], equations_of(cell, setup))
    # Neither rows nor iterations change who knows a vector.
    if before[-1].level == "rows" and all(each.at_least >= need for each in before[:-1]):
        yield from more_rows(setup)
        yield from fewer_iterations(cell)
    if cell.protocol.name != "pdmm":
        yield Advice("Sum by PDMM on the same network", {"protocol": {"name": "pdmm"}})


def _edges(setup: SumSetup, need: int, levels: Sequence[Level], equations: RowEquations) -> Iterator[Advice]:
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
        more = fewest_edges(network, rows, most, need, empty_boundary=level == "rows", exact=exact)
        if more is None:
            return
        added = (*added, *more)
    if added:
        listed = ", ".join(f"{a}–{b}" for a, b in added)
        words = f"Add the line{'s' * (len(added) > 1)} {listed}"
        words += "" if graph.n <= _MOST_NODES else " (found by a heuristic: fewer lines may do)"
        edges = sorted([*graph.edges.tolist(), *map(list, added)])
        spec: dict[str, Any] = {"kind": "edges", "nodes": graph.n, "edges": edges}
        yield Advice(words, {"network": spec})


def _audited(cell: Scenario, setup: SumSetup, before: Sequence[Exposure], need: int) -> int | None:
    """Count the coalitions that exposed somebody and were tried again in vain; None if one still reveals a node."""
    small = [
        node.coalition
        for exposure in before
        for node in sorted(exposure.nodes, key=lambda node: len(node.coalition or ()))
        if node.coalition is not None and (node.colluders.cost or 0.0) < need
    ]
    audited = 0
    for coalition in list(dict.fromkeys(small))[:_AUDITED]:
        if len(coalition - {SERVER}) >= setup.network.n - 1:
            continue
        evidence = ["structure", "gaussian", *["inversion"] * any(exposure.level == "rows" for exposure in before)]
        measure = cell.measure.model_copy(update={"evidence": evidence, "nodes": None})
        against = {"adversary": spec_of(coalition), "measure": measure, "runs": 100}
        policy = {"policy": PolicySpec(max_revealed_nodes=0)}
        seeds = sequence(cell.seed, "data"), sequence(cell.seed, "coalitions", "repair")
        if revealed(cell.model_copy(update={**against, **policy}), facing(setup, coalition), seeds):
            return None
        audited += 1
    return audited
