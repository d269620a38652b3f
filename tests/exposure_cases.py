"""Coalitions by brute force and by the audit's own tools: nothing here shares code with the searches."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np

from secmix import Network
from secmix.adversaries import Eavesdropper, HonestButCurious
from secmix.auditing.exposure.coalitions import CoalitionQuery, RowEquations, least_coalitions
from secmix.estimators import leaked_subspace


def random_network(rng, least=4, most=8):
    """A random tree with random further edges."""
    n = int(rng.integers(least, most + 1))
    edges = {(int(rng.integers(0, i)), i) for i in range(1, n)}
    others = sorted(set(combinations(range(n), 2)) - edges)
    more = rng.random(len(others)) < rng.random()
    return Network.from_edges(n, sorted(edges | {edge for edge, put in zip(others, more, strict=True) if put}))


def brute_force(graph, node, rows, most, *, costs=None, limit=4.0, empty=True):
    """Cost of the cheapest removal after which ``node`` is in a component of at most ``most`` rows; None if none is."""
    best = None
    others = [v for v in graph if v != node]
    for size in range(len(others) + 1):
        for removed in combinations(others, size):
            if not removed and not empty:
                continue
            cost = sum((costs or {}).get(v, 1.0) for v in removed)
            if cost > limit or (best is not None and cost >= best):
                continue
            left = graph.subgraph(set(graph) - set(removed))
            if sum(rows[v] for v in nx.node_connected_component(left, node)) <= most:
                best = cost
    return best


def search(protocol, network, *, counts=None, most=None, seed=0, **asked):
    """The search, at level "rows" with at most ``most`` rows where that is given."""
    n = network.n
    rng = np.random.default_rng(seed)
    equations = None if most is None else RowEquations(numbers=most, features=1)
    inputs = [rng.normal(size=(2, n, 3)) for _ in range(2)]
    keywords = {"asked": tuple(range(n)), **asked}
    query = CoalitionQuery(protocol, network, inputs, tuple(counts or (1,) * n), equations, **keywords)
    return least_coalitions(query, rng)


def adversary(nodes):
    """Nodes who hear every open line; an outsider where there are none."""
    return HonestButCurious(nodes) if nodes else Eavesdropper()


def group_by_audit(protocol, network, nodes, node):
    """The nodes of the known sum that ``node`` is in, read off the leaked subspace by its echelon basis."""
    basis = leaked_subspace(protocol, network, adversary(nodes)).basis.copy()
    basis[:, sorted(nodes)] = 0.0
    rows = [set(np.flatnonzero(np.abs(row) > 1e-6).tolist()) for row in basis]
    return next((row for row in rows if node in row), None)


def exposed_by_audit(protocol, network, nodes, node, rows, most):
    group = group_by_audit(protocol, network, nodes, node)
    return group is not None and (group == {node} if most is None else sum(rows[v] for v in group) <= most)


def check_certificate(found, protocol, network, rows, most, limit):
    """The coalition exposes; nobody outside a guard does; and no cheaper choice meets all guards."""
    node, everybody = found.node, set(range(network.n)) - {found.node}
    if found.coalition is not None:
        assert exposed_by_audit(protocol, network, found.coalition, node, rows, most)
    for guard in found.proof.guards:
        assert not exposed_by_audit(protocol, network, everybody - guard, node, rows, most)
    cheaper = int(found.colluders.cost) - 1 if found.coalition is not None else min(int(limit), len(everybody))
    for size in range(cheaper + 1):
        for choice in combinations(sorted(everybody), size):
            assert not all(guard & set(choice) for guard in found.proof.guards)
