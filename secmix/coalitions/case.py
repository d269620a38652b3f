"""What is asked: which protocol, about whom, with whom to win over at what cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from secmix._base.checks import Array, Progress, positive
from secmix.coalitions.result import Agent
from secmix.coalitions.rows import Equations
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.transcript import SERVER


@dataclass(frozen=True)
class Case:
    """A protocol on a network, and whom an adversary may win over.

    Attributes
    ----------
    protocol, network
    inputs : list of (runs, n, m)
        What the nodes put in, iteration by iteration; a few runs on which the probes are checked.
    counts : tuple of int
        Rows of each node.
    equations : Equations or None
        At level "rows"; None at level "input".
    limit : float
        Up to which cost, by default up to how many, coalitions are looked for.
    taps : bool
        Whether to look for tapped lines too.
    owners : tuple of str or None
        Who owns each node. An owner is won over with all its nodes, and has nothing to hide from itself.
    costs : mapping from node, line (a, b) or owner to number above 0
        What is not listed costs 1.
    asked : tuple of int
    tell : callable
        Called with nodes done, nodes in all, and what is being done.
    """

    protocol: SumProtocol
    network: Network
    inputs: list[Array]
    counts: tuple[int, ...]
    equations: Equations | None = None
    limit: float = 4.0
    taps: bool = True
    owners: tuple[str, ...] | None = None
    costs: Mapping[Agent, float] = field(default_factory=dict)
    asked: tuple[int, ...] = ()
    tell: Progress = lambda done, total, what: None

    def __post_init__(self) -> None:
        positive(self.limit, "colluders")
        if self.owners is not None and len(self.owners) != self.network.n:
            raise SecmixError(f"owners lists {len(self.owners)} names for {self.network.n} nodes; give one a node")
        known: set[Agent] = {*range(SERVER, self.network.n), *map(str, self.owners or ())}
        for agent, cost in self.costs.items():
            positive(cost, f"the cost of {agent}")
            if not isinstance(agent, tuple) and agent not in known:
                raise SecmixError(
                    f"costs names '{agent}', who is no node{' and no owner' if self.owners else ''}; known: "
                    f"{', '.join(sorted(map(str, known)))}"
                )
            if self.owners is not None and isinstance(agent, int) and agent != SERVER:
                raise SecmixError("with owners, costs are those of owners: name them instead of nodes")

    def players(self, node: int, *, server: bool) -> dict[Agent, float]:
        """Nodes (or owners) that may be won over against ``node``, and what they cost."""
        chosen: list[Agent] = [SERVER] if server else []
        if self.owners is None:
            chosen += [other for other in range(self.network.n) if other != node]
        else:
            chosen += sorted({owner for owner in self.owners if owner != self.owners[node]})
        return {agent: float(self.costs.get(agent, 1.0)) for agent in chosen}

    def lines(self, lines: Sequence[tuple[int, int]]) -> dict[Agent, float]:
        """The same of lines."""
        return {line: float(self.costs.get(line, self.costs.get(line[::-1], 1.0))) for line in lines}

    def nodes_of(self, choice: frozenset[Agent]) -> frozenset[int]:
        """The nodes that ``choice`` comes to."""
        owned = {i for i, owner in enumerate(self.owners or ()) if owner in choice}
        return frozenset(agent for agent in choice if isinstance(agent, int)) | owned

    @property
    def members(self) -> dict[Agent, list[int]]:
        """The nodes of each owner."""
        found: dict[Agent, list[int]] = {}
        for i, owner in enumerate(self.owners or ()):
            found.setdefault(owner, []).append(i)
        return found
