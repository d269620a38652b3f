"""Cheapest coalitions by an integer programme on the exposure graph: for owners of several nodes, costs, and lines.

x_v is 1 if v is in the set S around the node, y_a is 1 if agent a is corrupted. A neighbour u of a node v in S is in S
too, or one of the agents of u or the line between them is corrupted. S has at most ``most`` rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from secmix.auditing.exposure.coalitions.result import Agent
from secmix.network import Network


@dataclass(frozen=True)
class Programmed:
    """The cheapest choice, or None if there is none up to the limit, and the lower bound that was proven."""

    choice: frozenset[Agent] | None
    at_least: float
    proved: bool


def cheapest_choice(
    graph: Network,
    node: int,
    rows: Sequence[int],
    most: int,
    costs: Mapping[Agent, float],
    *,
    members: Mapping[Agent, Collection[int]] | None = None,
    limit: float = float("inf"),
    empty_boundary: bool = False,
) -> Programmed:
    """Find the cheapest choice of agents that leaves ``node`` in a piece of at most ``most`` rows.

    ``costs``, mapping from agent to cost: nodes, owners and lines (a, b) of the graph that may be chosen; others cannot
    be; ``members``, mapping from owner to nodes; ``empty_boundary``: whether the empty choice counts where the whole
    graph has few enough rows.

    >>> cheapest_choice(Network.cycle(5), 0, [1] * 5, 1, dict.fromkeys(range(1, 5), 1.0)).choice == {1, 4}
    True
    """
    owned = members or {}
    agents = [agent for agent in costs if node not in _nodes(agent, owned)]
    n, count = graph.n, len(agents)
    of_node: list[list[int]] = [[] for _ in range(n)]
    of_line: dict[tuple[int, int], int] = {}
    for k, agent in enumerate(agents):
        if isinstance(agent, tuple):
            of_line[agent] = k
        for v in _nodes(agent, owned):
            of_node[v].append(k)
    table: list[tuple[dict[int, float], float, float]] = []
    for a, b in graph.arcs.tolist():
        cut = [*of_node[b], *([of_line[min(a, b), max(a, b)]] if (min(a, b), max(a, b)) in of_line else [])]
        table.append(({a: -1.0, b: 1.0, **{n + k: 1.0 for k in cut}}, 0.0, np.inf))
    table += [({v: 1.0, n + k: 1.0}, -np.inf, 1.0) for v in range(n) for k in of_node[v]]
    table.append(({v: float(rows[v]) for v in range(n)}, -np.inf, float(most)))
    if not empty_boundary:
        table.append(({n + k: 1.0 for k in range(count)}, 1.0, np.inf))
    price = np.concatenate([np.zeros(n), [costs[agent] for agent in agents]])
    if limit < np.inf:
        table.append(({n + k: float(price[n + k]) for k in range(count)}, -np.inf, limit + 1e-9))
    lower = np.zeros(n + count)
    lower[node] = 1.0
    at = [(r, c, value) for r, (row, _, _) in enumerate(table) for c, value in row.items()]
    matrix = coo_array(
        ([v for _, _, v in at], ([r for r, _, _ in at], [c for _, c, _ in at])), shape=(len(table), n + count)
    ).tocsr()
    bounds = LinearConstraint(matrix, [row[1] for row in table], [row[2] for row in table])
    solved = milp(price, integrality=np.ones(n + count), bounds=Bounds(lower, 1.0), constraints=bounds)
    if solved.status == 2:
        return Programmed(None, limit, True)
    if solved.x is None:
        return Programmed(None, 0.0, False)
    choice = frozenset(agents[k] for k in range(count) if solved.x[n + k] > 0.5)
    proved = solved.status == 0
    return Programmed(choice, float(sum(costs[agent] for agent in choice)) if proved else 0.0, proved)


def _nodes(agent: Agent, owned: Mapping[Agent, Collection[int]]) -> Collection[int]:
    if agent in owned:
        return owned[agent]
    return (agent,) if isinstance(agent, int) else ()
