"""What a search for coalitions found: who, about whom, and why nobody fewer would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Agent = int | tuple[int, int] | str
"""Whom or what an adversary may win over: a node (−1 is the server), a line (a, b) with a < b, or an owner of nodes."""

Status = Literal["found", "none up to the limit", "inconclusive"]


@dataclass(frozen=True)
class Proof:
    """Why nothing cheaper exposes the node.

    Attributes
    ----------
    method : {"guards", "exhaustive search", "integer programme", "none"}
    guards : tuple of frozensets
        A set is a *guard* of node i if everybody outside it together does not expose i. Whoever exposes i therefore
        meets every guard, so that no choice cheaper than the cheapest one that meets them all will do. A reader checks
        each guard by one test, and the cheapest choice on paper.
    words : str
        How it was shown, and how that was checked.
    """

    method: Literal["guards", "exhaustive search", "integer programme", "none"]
    guards: tuple[frozenset[Agent], ...] = ()
    words: str = ""


@dataclass(frozen=True)
class Least:
    """The cheapest choice of colluders and tapped lines that exposes one node.

    Attributes
    ----------
    status : {"found", "none up to the limit", "inconclusive"}
        Inconclusive: what stands in ``nodes`` and ``lines`` does expose the node where it is given, but that nothing
        cheaper does is not proven beyond ``at_least``.
    nodes : frozenset of int, or None where nothing is known to expose the node
        The server is −1. Empty: nobody needs to collude, an outsider on the lines suffices.
    lines : frozenset of (a, b)
        Tapped ones, where lines are chosen.
    owners : frozenset of str
        Whom the nodes belong to, where owners were given.
    cost : float or None
    at_least : float
        Proven: nothing costs less.
    group : frozenset of int
        The nodes of whose rows a sum is then known; the node alone where its own vector is.
    rows : int
        Rows of the group.
    proof : Proof
    reason : str
        What stood in the way, where inconclusive.
    """

    status: Status
    nodes: frozenset[int] | None
    cost: float | None
    at_least: float
    group: frozenset[int] = frozenset()
    rows: int = 0
    lines: frozenset[tuple[int, int]] = frozenset()
    owners: frozenset[str] = frozenset()
    proof: Proof = Proof("none")
    reason: str = ""


@dataclass(frozen=True)
class NodeExposure:
    """One node: the smallest coalition, the fewest tapped lines, and both together.

    Attributes
    ----------
    node : int
    colluders : Least
        Nodes (and a server) who also hear every line that is not encrypted.
    taps : Least or None
        Lines alone, by an outsider; None where they were not asked for.
    both : Least or None
        Nodes who hear only what they send and receive, and lines chosen one by one.
    known : {"counted", "recovered", ""}
        At level "rows": whether the known sums are as many numbers as the rows behind them, or the rows did come out.
    """

    node: int
    colluders: Least
    taps: Least | None = None
    both: Least | None = None
    known: Literal["counted", "recovered", ""] = ""

    @property
    def coalition(self) -> frozenset[int] | None:
        """The smallest coalition; None where there is none up to the limit, or ``status`` is inconclusive."""
        return self.colluders.nodes

    @property
    def status(self) -> Status:
        """Whether the coalition is proven to be the smallest, or that there is none."""
        return self.colluders.status

    @property
    def group(self) -> frozenset[int]:
        """The nodes whose sum the coalition knows."""
        return self.colluders.group

    @property
    def rows(self) -> int:
        """How many rows are in that sum."""
        return self.colluders.rows

    @property
    def proof(self) -> Proof:
        """Why no smaller coalition does it."""
        return self.colluders.proof


@dataclass(frozen=True)
class Exposure:
    """Who would have to collude, for every node.

    Attributes
    ----------
    level : {"input", "rows"}
    most_rows : int or None
        At level "rows", rows that known sums over all iterations can be solved for, by count.
    limit : float
        Up to where coalitions were looked for.
    nodes : tuple of NodeExposure
    method : str
        How, in words.
    notes : tuple of str
    blurred : bool
        Whether what nodes put in was blurred before: a coalition then knows no more than that.
    """

    level: Literal["input", "rows"]
    most_rows: int | None
    limit: float
    nodes: tuple[NodeExposure, ...]
    method: str
    notes: tuple[str, ...] = ()
    blurred: bool = False

    @property
    def least(self) -> float | None:
        """Cost of the cheapest coalition that exposes any node; None where none was found up to the limit."""
        found = [each.colluders.cost for each in self.nodes if each.colluders.cost is not None]
        return min(found, default=None)

    @property
    def at_least(self) -> float:
        """Proven for all nodes: nothing cheaper exposes any of them."""
        return min((each.colluders.at_least for each in self.nodes), default=0.0)

    @property
    def inconclusive(self) -> tuple[int, ...]:
        """Nodes for which neither a smallest coalition nor that there is none is proven."""
        return tuple(each.node for each in self.nodes if each.status == "inconclusive")

    @property
    def witness(self) -> NodeExposure | None:
        """A node that the cheapest coalition exposes."""
        found = [each for each in self.nodes if each.colluders.cost is not None]
        return min(found, key=lambda each: (each.colluders.cost or 0.0, each.node), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
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
                    "node": each.node,
                    "known": each.known,
                    **{name: _plain(getattr(each, name)) for name in ("colluders", "taps", "both")},
                }
                for each in self.nodes
            ],
        }


def _number(value: float) -> float | None:
    return value if value < float("inf") else None


def _plain(found: Least | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "status": found.status,
        "nodes": None if found.nodes is None else sorted(found.nodes),
        "lines": [list(line) for line in sorted(found.lines)],
        "owners": sorted(found.owners),
        "cost": found.cost,
        "at_least": _number(found.at_least),
        "group": sorted(found.group),
        "rows": found.rows,
        "reason": found.reason,
        "proof": {
            "method": found.proof.method,
            "words": found.proof.words,
            "guards": [
                sorted((list(a) if isinstance(a, tuple) else a for a in guard), key=str) for guard in found.proof.guards
            ],
        },
    }
