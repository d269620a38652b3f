"""A query about coalitions: the protocol, the nodes asked about, the agents that may be corrupted and their costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from secmix._base.checks import Array, Progress, positive
from secmix.auditing.exposure.coalitions.result import Agent
from secmix.auditing.exposure.coalitions.row_equations import RowEquations
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.transcript import SERVER


@dataclass(frozen=True)
class CoalitionQuery:
    """A protocol on a network, and the agents that an adversary may corrupt."""

    protocol: SumProtocol
    network: Network
    # list of (runs, n, m): what the nodes put in, iteration by iteration; a few runs on which the probes are checked
    inputs: list[Array]
    counts: tuple[int, ...]  # rows of each node
    equations: RowEquations | None = None  # at level "rows"; None at level "input"
    limit: float = 4.0  # the largest cost of a coalition that is searched for; by default each agent costs 1
    taps: bool = True  # whether to search for tapped lines too
    # the owner of each node. An owner is corrupted with all its nodes, and keeps no secret from itself
    owners: tuple[str, ...] | None = None
    # of nodes, lines (a, b) and owners, above 0: what is not listed costs 1
    costs: Mapping[Agent, float] = field(default_factory=dict)
    asked: tuple[int, ...] = ()
    # called with the number of finished nodes, the number of all nodes, and a description of the current step
    progress: Progress = lambda done, total, what: None

    def __post_init__(self) -> None:
        positive(self.limit, "colluders")
        if self.owners is not None and len(self.owners) != self.network.n:
            raise SecmixError(
                f"owners has {len(self.owners)} entries, expected {self.network.n}: give each node one owner"
            )
        known: set[Agent] = {*range(SERVER, self.network.n), *map(str, self.owners or ())}
        for agent, cost in self.costs.items():
            positive(cost, f"the cost of {agent}")
            if not isinstance(agent, tuple) and agent not in known:
                raise SecmixError(
                    f"costs: unknown node{' or owner' if self.owners else ''} '{agent}'; give a cost only to one of "
                    f"{', '.join(sorted(map(str, known)))}"
                )
            if self.owners is not None and isinstance(agent, int) and agent != SERVER:
                raise SecmixError(f"costs: node {agent} has a cost, but nodes have owners; give costs to owners only")

    def players(self, node: int, *, server: bool) -> dict[Agent, float]:
        """Return the nodes (or owners) that may be corrupted against ``node``, with what each costs."""
        chosen: list[Agent] = [SERVER] if server else []
        if self.owners is None:
            chosen += [other for other in range(self.network.n) if other != node]
        else:
            chosen += sorted({owner for owner in self.owners if owner != self.owners[node]})
        return {agent: float(self.costs.get(agent, 1.0)) for agent in chosen}

    def lines(self, lines: Sequence[tuple[int, int]]) -> dict[Agent, float]:
        """Return ``lines``, each with what tapping it costs."""
        return {line: float(self.costs.get(line, self.costs.get(line[::-1], 1.0))) for line in lines}

    def nodes_of(self, choice: frozenset[Agent]) -> frozenset[int]:
        """Return the nodes that ``choice`` controls."""
        owned = {i for i, owner in enumerate(self.owners or ()) if owner in choice}
        return frozenset(agent for agent in choice if isinstance(agent, int)) | owned

    @property
    def members(self) -> dict[Agent, list[int]]:
        """The nodes of each owner."""
        nodes: dict[Agent, list[int]] = {}
        for i, owner in enumerate(self.owners or ()):
            nodes.setdefault(owner, []).append(i)
        return nodes
