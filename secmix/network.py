"""Network: an undirected graph on nodes 0..n-1, who can talk to whom; and nodes in words, by their numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property

import networkx as nx
import numpy as np

from secmix._base.checks import Array, Ints, integer
from secmix.errors import NetworkError

_MANY = 12  # numbers, of which more are listed by ranges
_MOST_LINES = 100_000  # edges from which on laying a network out takes minutes, and shows nothing


class Network:
    """An undirected, connected graph without loops, thin over ``networkx.Graph``.

    Build one with :meth:`from_edges`, :meth:`complete`, :meth:`cycle` or :meth:`random_geometric`.

    Parameters
    ----------
    graph : networkx.Graph
        Nodes must be 0..n-1.

    Raises
    ------
    NetworkError
        If the graph is empty, not connected, or its nodes are not 0..n-1.

    Examples
    --------
    >>> network = Network.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    >>> network.n, network.edges.tolist(), network.degrees.tolist()
    (4, [[0, 1], [1, 2], [2, 3]], [1, 2, 2, 1])
    """

    def __init__(self, graph: nx.Graph) -> None:
        n = graph.number_of_nodes()
        if n == 0:
            raise NetworkError("the network has no nodes; give at least 2")
        if set(graph.nodes) != set(range(n)):
            raise NetworkError(f"nodes must be numbered 0 to {n - 1}; given {sorted(graph.nodes, key=str)[:10]}")
        pieces = [sorted(piece) for piece in nx.connected_components(graph)]
        if len(pieces) > 1:
            apart = min(pieces, key=len)
            raise NetworkError(
                f"the network is not connected: nodes {apart} cannot reach the rest; add an edge between the pieces"
            )
        self.n: int = n
        self._cycle: tuple[int, ...] | None = None
        plain = nx.Graph()
        plain.add_nodes_from(range(n))
        plain.add_edges_from(sorted((min(a, b), max(a, b)) for a, b in graph.edges))
        if nx.number_of_selfloops(plain):
            raise NetworkError(f"a node cannot be its own neighbour; drop {sorted(nx.selfloop_edges(plain))}")
        self.graph = nx.freeze(plain)

    @classmethod
    def from_edges(cls, n: int, edges: Iterable[Sequence[int]]) -> Network:
        """Build the network on ``n`` nodes with the given (a, b) pairs, nodes counted from 0."""
        integer(n, "the number of nodes")
        graph = nx.Graph()
        graph.add_nodes_from(range(n))
        for pair in edges:
            ends = list(pair)
            if len(ends) != 2:
                raise NetworkError(f"an edge is a pair of nodes; given {pair!r}")
            for node in ends:
                if isinstance(node, bool) or not isinstance(node, (int, np.integer)) or not 0 <= node < n:
                    raise NetworkError(f"edge {ends} names node {node!r}; nodes run from 0 to {n - 1}")
            if ends[0] == ends[1]:
                raise NetworkError(f"edge {ends} joins a node to itself; drop it")
            graph.add_edge(int(ends[0]), int(ends[1]))
        return cls(graph)

    @classmethod
    def complete(cls, n: int) -> Network:
        """Build a network in which everybody talks to everybody."""
        network = cls.__new__(cls)
        network.n = integer(n, "the number of nodes", 2)
        network._cycle = tuple(range(n)) if n > 2 else None
        network.edges = np.column_stack(np.triu_indices(n, 1))
        return network

    @classmethod
    def cycle(cls, n: int) -> Network:
        """Build a ring 0-1-...-(n-1)-0."""
        network = cls(nx.cycle_graph(integer(n, "the number of nodes", 3)))
        network._cycle = tuple(range(n))
        return network

    @classmethod
    def random_geometric(
        cls, n: int, rng: np.random.Generator, *, radius: float | None = None, tries: int = 100
    ) -> Network:
        """Draw nodes in the unit square until joining those within ``radius`` (default √(2 ln n / n)) connects them.

        The default radius is that of Li 2022, section 5.1 (connected with probability at least 1 − 1/n²).
        """
        integer(n, "the number of nodes", 2)
        reach = math.sqrt(2 * math.log(n) / n) if radius is None else radius
        for _ in range(tries):
            spots = {i: tuple(rng.random(2)) for i in range(n)}
            graph = nx.random_geometric_graph(n, reach, pos=spots)
            if nx.is_connected(graph):
                network = cls(graph)
                network.positions = np.array([spots[i] for i in range(n)])
                return network
        raise NetworkError(f"no connected graph in {tries} draws of {n} nodes at radius {reach:.3g}; raise the radius")

    @cached_property
    def graph(self) -> nx.Graph:
        """The graph; that of a complete network is built once it is asked for, since its edges may be millions."""
        return nx.freeze(nx.complete_graph(self.n))

    @cached_property
    def positions(self) -> Array:
        """The place at which each node is drawn, (n, 2): on a circle where they are few, or their lines too many."""
        if self.n <= 12 or len(self.edges) > _MOST_LINES:
            order: tuple[int, ...] = tuple(range(self.n))
            with suppress(NetworkError):
                order = order if self.n > 12 else self.hamiltonian_cycle()
            angle = np.empty(self.n)
            angle[list(order)] = np.pi / 2 - 2 * np.pi * np.arange(self.n) / self.n
            return np.column_stack([np.cos(angle), np.sin(angle)])
        layout = nx.spring_layout(self.graph, seed=0)
        return np.array([layout[i] for i in range(self.n)])

    @cached_property
    def edges(self) -> Ints:
        """The edges (E, 2), smaller end first."""
        return np.array(sorted(self.graph.edges), dtype=np.intp).reshape(-1, 2)

    @cached_property
    def arcs(self) -> Ints:
        """Both directions of every edge, (2E, 2): arc e runs from ``arcs[e, 0]`` to ``arcs[e, 1]``."""
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        return both[np.lexsort((both[:, 1], both[:, 0]))]

    @cached_property
    def opposite(self) -> Ints:
        """The index of the arc the other way, for each arc: (2E,)."""
        # Arcs are in order of (from, to); put in order of (to, from) they are their own opposites.
        return np.lexsort((self.arcs[:, 0], self.arcs[:, 1]))

    @cached_property
    def degrees(self) -> Ints:
        """Number of neighbours of each node, (n,)."""
        return np.bincount(self.edges.ravel(), minlength=self.n)

    def neighbours(self, node: int) -> tuple[int, ...]:
        """List the neighbours of ``node``, in order."""
        return tuple(sorted(self.graph[node]))

    def node_set(self, nodes: Iterable[int], role: str) -> frozenset[int]:
        """Check that each of ``nodes`` exists, and return them as a set."""
        chosen = set()
        for node in nodes:
            if isinstance(node, bool) or not isinstance(node, (int, np.integer)) or not 0 <= node < self.n:
                raise NetworkError(f"{role} node {node!r} does not exist; nodes run from 0 to {self.n - 1}")
            chosen.add(int(node))
        return frozenset(chosen)

    def components_without(self, removed: Iterable[int]) -> list[frozenset[int]]:
        """Find the connected components left when ``removed`` nodes are taken out, by smallest node."""
        rest = self.graph.subgraph(set(range(self.n)) - set(removed))
        return sorted((frozenset(c) for c in nx.connected_components(rest)), key=min)

    @cached_property
    def colours(self) -> tuple[Ints, ...]:
        """A greedy colouring: sets of nodes no two of which are neighbours."""
        colour = nx.greedy_color(self.graph, strategy="largest_first")
        count = max(colour.values()) + 1
        return tuple(np.array(sorted(v for v in colour if colour[v] == k), dtype=np.intp) for k in range(count))

    def hamiltonian_cycle(self) -> tuple[int, ...]:
        """Find a cycle through every node once, starting at node 0.

        Raises
        ------
        NetworkError
            If there is none, with a certificate a reader can check, or if the search gave up undecided.
        """
        if self._cycle is None:
            from secmix._base.hamilton import hamiltonian_cycle

            self._cycle = hamiltonian_cycle(self.graph)
        return self._cycle

    def __repr__(self) -> str:
        return f"Network(n={self.n}, edges={len(self.edges)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.n == other.n and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash((self.n, self.edges.tobytes()))


def listed(numbers: Iterable[int]) -> str:
    """List numbers in order; of many, three or more that follow each other as a range.

    >>> listed([0, 2, 3, 4]), listed([0, 2, 3, *range(5, 100)])
    ('0, 2, 3, 4', '0, 2, 3, 5 to 99')
    """
    ordered = sorted(numbers)
    if len(ordered) <= _MANY:
        return ", ".join(map(str, ordered))
    ranges: list[list[int]] = []
    for number in ordered:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in ranges)


def nodes_listed(nodes: Iterable[int]) -> str:
    """Name nodes by their numbers, in order.

    >>> nodes_listed([2]), nodes_listed([3, 0])
    ('node 2', 'nodes 0, 3')
    """
    numbers = list(nodes)
    return f"node{'s' * (len(numbers) != 1)} {listed(numbers)}"


def nodes_in_words(nodes: Collection[int]) -> str:
    """Name nodes in a sentence about each of them, such as "node 2" or "each of nodes 2, 4"."""
    return "each of " * (len(nodes) > 1) + nodes_listed(nodes)
