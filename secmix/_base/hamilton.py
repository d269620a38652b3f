"""Hamiltonian cycles: find one, or prove that there is none.

Small graphs are decided exactly: quick certificates first (a node of degree one, a cut node, a set of k nodes
whose removal leaves more than k pieces), then a backtracking search with pruning, which is complete. Large graphs
get rotation-extension first (Pósa 1976), which succeeds quickly on the dense ones that occur.
"""

from __future__ import annotations

import random
from itertools import combinations

import networkx as nx

from secmix.errors import NetworkError

_STEPS = 2_000_000  # search nodes before the exact search gives up; about ten seconds


def hamiltonian_cycle(graph: nx.Graph) -> tuple[int, ...]:
    """Find a Hamiltonian cycle of ``graph`` from node 0, or raise a NetworkError with the reason."""
    n = graph.number_of_nodes()
    if n < 3:
        raise NetworkError(f"no Hamiltonian cycle: a cycle needs at least 3 nodes, the network has {n}")
    reason = _obstacle(graph)
    if reason:
        raise NetworkError(f"no Hamiltonian cycle: {reason}")
    cycle = _rotate(graph)
    if cycle is None:
        cycle = _search(graph)
    start = cycle.index(0)
    cycle = cycle[start:] + cycle[:start]
    # Of the two directions, the one towards the smaller neighbour of node 0.
    return tuple(cycle if cycle[1] < cycle[-1] else [cycle[0], *cycle[:0:-1]])


def _obstacle(graph: nx.Graph) -> str | None:
    """Search for a quick certificate, in words, that no Hamiltonian cycle exists; None if there is none."""
    for node in sorted(graph):
        if graph.degree[node] < 2:
            return f"node {node} has fewer than two neighbours, so a cycle that enters it cannot leave"
    for node in sorted(nx.articulation_points(graph)):
        return f"node {node} is a bottleneck: without it the network falls apart, so a cycle must pass it twice"
    if nx.is_bipartite(graph):
        left, right = nx.bipartite.sets(graph)
        if len(left) != len(right):
            return f"the network is two-sided with {len(left)} and {len(right)} nodes, and a cycle must alternate"
    if graph.number_of_nodes() <= 24:
        for size in (2, 3):
            for cut in combinations(sorted(graph), size):
                pieces = nx.number_connected_components(graph.subgraph(set(graph) - set(cut)))
                if pieces > size:
                    return (
                        f"without nodes {list(cut)} the network falls into {pieces} pieces, more than a cycle can join"
                    )
    return None


def _rotate(graph: nx.Graph) -> list[int] | None:
    """Grow a path by rotation-extension: if stuck, reverse its tail at a random chord."""
    n = graph.number_of_nodes()
    chance = random.Random(0)  # a fixed seed: the same network always gives the same cycle
    neighbours = {v: sorted(graph[v]) for v in graph}
    for _ in range(20):
        path = [0]
        inside = {0}
        unvisited = {v: len(neighbours[v]) - (0 in graph[v]) for v in graph}  # neighbours of each node
        for _ in range(50 * n):
            end = path[-1]
            ahead = [v for v in neighbours[end] if v not in inside]
            if ahead:
                # First the neighbour with the fewest unvisited neighbours (Warnsdorff): it is the hardest to reach
                # later.
                step = min(ahead, key=lambda v: (unvisited[v], v))
                path.append(step)
                inside.add(step)
                for v in neighbours[step]:
                    unvisited[v] -= 1
            elif len(path) == n and path[0] in graph[end]:
                return path
            else:
                at = path.index(chance.choice(neighbours[end]))
                path[at + 1 :] = path[:at:-1]
    return None


def _search(graph: nx.Graph) -> list[int]:
    """Search by complete backtracking from node 0, pruned where an unvisited node can no longer be passed through."""
    n = graph.number_of_nodes()
    neighbours = {v: sorted(graph[v]) for v in graph}
    path, inside = [0], {0}
    choices = [iter(neighbours[0])]
    for _ in range(_STEPS):
        if len(path) == n and 0 in neighbours[path[-1]]:
            return path
        step = next((v for v in choices[-1] if v not in inside), None)
        if step is None:
            choices.pop()
            inside.discard(path.pop())
            if not choices:
                raise NetworkError(
                    f"no Hamiltonian cycle: an exhaustive search over the paths of these {n} nodes found none"
                )
            continue
        path.append(step)
        inside.add(step)
        ends = {0, step}
        dead = any(sum(u not in inside or u in ends for u in neighbours[v]) < 2 for v in neighbours if v not in inside)
        choices.append(iter(()) if dead else iter(neighbours[step]))
    raise NetworkError(
        f"no Hamiltonian cycle found in {_STEPS} steps on {n} nodes, and none was ruled out; give SecureSum a "
        "`cycle` of your own, or add edges"
    )
