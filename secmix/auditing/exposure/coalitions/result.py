"""Result of a search for coalitions: the agents, the exposed group, and the proof that nothing cheaper suffices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Agent = int | tuple[int, int] | str
"""What an adversary may corrupt or tap: a node (−1 is the server), a line (a, b) with a < b, or an owner of nodes."""

Status = Literal["found", "none up to the limit", "inconclusive"]


@dataclass(frozen=True)
class ProofOfLeast:
    """Proof that nothing cheaper exposes the node."""

    method: Literal["guards", "exhaustive search", "integer programme", "none"]
    # a set is a *guard* of node i if all agents outside it together do not expose i. A choice that exposes i therefore
    # meets every guard, and costs at least as much as the cheapest choice that meets them all. A reader checks each
    # guard by one test, and the cheapest choice on paper
    guards: tuple[frozenset[Agent], ...] = ()
    words: str = ""  # the method of proof, and how it was checked


@dataclass(frozen=True)
class Least:
    """The cheapest choice of colluders and tapped lines that exposes one node."""

    # inconclusive: ``nodes`` and ``lines``, if given, do expose the node, but it is only proven up to ``at_least`` that
    # nothing cheaper does
    status: Status
    nodes: frozenset[int] | None  # the server is −1. Empty: an outsider on the lines suffices
    cost: float | None
    at_least: float  # proven: nothing costs less
    group: frozenset[int] = frozenset()  # the nodes whose sum is then known; the node alone if its own vector is known
    rows: int = 0  # rows of the group
    lines: frozenset[tuple[int, int]] = frozenset()  # (a, b): tapped lines, where lines are chosen
    owners: frozenset[str] = frozenset()  # owners of the nodes, where owners were given
    proof: ProofOfLeast = ProofOfLeast("none")
    reason: str = ""  # why the result is inconclusive


@dataclass(frozen=True)
class NodeExposure:
    """The smallest coalition, the fewest tapped lines, and the cheapest choice of both, for one node."""

    node: int
    colluders: Least  # nodes (and a server) that also read every unencrypted line
    taps: Least | None = None  # lines alone, tapped by an outsider; None if not asked for
    both: Least | None = None  # nodes that read only what they send and receive, together with lines chosen one by one
    # at level "rows": "counted" if the known sums are as many numbers as their rows have, "recovered" if the rows were
    # solved for
    known: Literal["counted", "recovered", ""] = ""

    @property
    def coalition(self) -> frozenset[int] | None:
        """The smallest coalition; None if there is none up to the limit, or ``status`` is inconclusive."""
        return self.colluders.nodes

    @property
    def status(self) -> Status:
        """Status of the proof that the coalition is the smallest, or that there is none."""
        return self.colluders.status

    @property
    def group(self) -> frozenset[int]:
        """The nodes whose sum the coalition knows."""
        return self.colluders.group

    @property
    def rows(self) -> int:
        """Number of rows in that sum."""
        return self.colluders.rows

    @property
    def proof(self) -> ProofOfLeast:
        """Proof that no smaller coalition suffices."""
        return self.colluders.proof


@dataclass(frozen=True)
class Exposure:
    """Smallest coalitions for every node asked about."""

    level: Literal["input", "rows"]
    # at level "rows": the number of rows that known sums over all iterations can determine, by count
    most_rows: int | None
    limit: float  # the largest cost of a coalition that was searched for
    nodes: tuple[NodeExposure, ...]
    method: str  # the method of the search, in words
    notes: tuple[str, ...] = ()
    blurred: bool = False  # whether nodes blur their inputs: a coalition then knows the blurred inputs only

    @property
    def least(self) -> float | None:
        """Cost of the cheapest coalition that exposes any node; None where none was found up to the limit."""
        costs = [node.colluders.cost for node in self.nodes if node.colluders.cost is not None]
        return min(costs, default=None)

    @property
    def at_least(self) -> float:
        """Proven for all nodes: nothing cheaper exposes any of them."""
        return min((node.colluders.at_least for node in self.nodes), default=0.0)

    @property
    def inconclusive(self) -> tuple[int, ...]:
        """Nodes for which neither a smallest coalition nor that there is none is proven."""
        return tuple(node.node for node in self.nodes if node.status == "inconclusive")

    @property
    def weakest(self) -> NodeExposure | None:
        """A node that the cheapest coalition exposes."""
        exposed = [node for node in self.nodes if node.colluders.cost is not None]
        return min(exposed, key=lambda node: (node.colluders.cost or 0.0, node.node), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to plain values for JSON."""
        return {
            "level": self.level,
            "most_rows": self.most_rows,
            "limit": self.limit,
            "least": self.least,
            "at_least": _number(self.at_least),
            "inconclusive": list(self.inconclusive),
            "method": self.method,
            "notes": list(self.notes),
            "nodes": [
                {
                    "node": node.node,
                    "known": node.known,
                    **{name: _plain(getattr(node, name)) for name in ("colluders", "taps", "both")},
                }
                for node in self.nodes
            ],
        }


def _number(value: float) -> float | None:
    return value if value < float("inf") else None


def _plain(least: Least | None) -> dict[str, Any] | None:
    if least is None:
        return None
    return {
        "status": least.status,
        "nodes": None if least.nodes is None else sorted(least.nodes),
        "lines": [list(line) for line in sorted(least.lines)],
        "owners": sorted(least.owners),
        "cost": least.cost,
        "at_least": _number(least.at_least),
        "group": sorted(least.group),
        "rows": least.rows,
        "reason": least.reason,
        "proof": {
            "method": least.proof.method,
            "words": least.proof.words,
            "guards": [
                sorted((list(a) if isinstance(a, tuple) else a for a in guard), key=str) for guard in least.proof.guards
            ],
        },
    }
