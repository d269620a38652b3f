"""Iterations among neighbours from masked starting values: push-sum, gossip, Laplacians, PDMM, ADMM."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import networkx as nx
import numpy as np

from .common import (
    GRID,
    HOUSE,
    MESH,
    EdgeKeys,
    EdgeNormals,
    EdgeWords,
    begin,
    everybody,
    fixed,
    on,
    share_edges,
    unfixed,
    wear,
)


class R01MaskedPushSum(EdgeNormals):
    """Neighbours agree on masks that cancel, and push-sum runs in the clear from the masked values. Right: all
    messages are public linear functions of the five masked starts, whose masks connect the graph: only their total is
    free of masks."""

    audited = {"a": "eaves", "n": 5, "settings": on(HOUSE)}
    rounds = 45

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        value = wear(x, *share_edges(channel, network.edges, drawn))
        weight = np.ones(network.n)
        source, target = network.arcs.T
        for k in range(self.rounds):
            portion = 1.0 / (network.degrees + 1)
            value, weight = value * portion[:, None, None], weight * portion
            heard, tokens = channel.send(k, source, target, "share", value, content=source), weight.copy()
            for i, j in network.arcs:
                value[j] += heard[i]
                weight[j] += tokens[i]
        return (value / weight[:, None, None]).transpose(1, 0, 2), channel.transcript


class R02LaplacianWords(EdgeWords):
    """Six nodes on a ring multiply by (I - L)(3I - L)(4I - L) = 2 J, modulo 2^64, one factor a round: all end with
    twice the sum. Right: what passes are public multiples of masked words; without node 1 the masks of 0-5-4-3-2 hold
    together."""

    audited = {"a": "1", "n": 6, "kind": "cycle"}
    eigenvalues = (1, 3, 4)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        state = wear(fixed(x), *share_edges(channel, network.edges, drawn))
        for k, eigenvalue in enumerate(self.eigenvalues):
            nodes = np.arange(network.n)
            left = channel.send(k, nodes, (nodes + 1) % network.n, "state", state)
            right = channel.send(k, nodes, (nodes - 1) % network.n, "state", state)
            own = state * np.uint64((eigenvalue - 2) % 2**64)
            state = own + np.roll(left, 1, axis=0) + np.roll(right, -1, axis=0)
        return (unfixed(state) / 2 / network.n).transpose(1, 0, 2), channel.transcript


@dataclass
class Agent:
    """A node of PDMM: its vector, its neighbours, and a dual variable for each."""

    number: int
    vector: np.ndarray
    neighbours: list = field(default_factory=list)
    dual: dict = field(default_factory=dict)
    primal: np.ndarray | None = None

    def sign(self, other):
        """Edges have a direction, from the smaller number to the larger."""
        return 1.0 if self.number < other else -1.0

    def update(self, c):
        """Minimise (x - s)^2 / 2 with the duals of the neighbours."""
        pull = self.vector.copy()
        for j in self.neighbours:
            pull = pull - self.sign(j) * self.dual[j]
        self.primal = pull / (1 + c * len(self.neighbours))

    def reflect(self, other, primal, mirrored, c):
        """The new dual for a neighbour, of its primal variable and its old dual towards us."""
        self.dual[other] = mirrored + 2 * c * -self.sign(other) * primal


class R03PerturbedPdmm:
    """PDMM with dual variables that start at random, both of each edge told to the neighbour (subspace perturbation).
    Right: all iterates follow from s_i minus a signed sum of its duals, and s_i minus one of its neighbours'; over
    the honest nodes, who are connected, each of the two or both together leave one sum, since every honest edge
    brings two draws of its own."""

    audited = {"a": "3", "n": 5, "settings": on(HOUSE)}
    c = 0.6
    rounds = 70

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, 2 * len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        agents = [Agent(i, x[i], list(network.neighbours(i))) for i in range(network.n)]
        source, target = network.arcs.T
        channel.hold(-1, source, "dual", drawn)
        told = channel.send(-1, source, target, "dual", drawn, encrypted=True)
        known = {}
        for arc, (i, j) in enumerate(network.arcs.tolist()):
            agents[i].dual[j] = drawn[arc]
            known[j, i] = told[arc]  # what j knows of i's dual towards j
        for k in range(self.rounds):
            for agent in agents:
                agent.update(self.c)
            primal = np.stack([agent.primal for agent in agents])
            heard = channel.send(k, source, target, "x", primal, content=source)
            before = {(i, j): agents[i].dual[j] for i, j in network.arcs.tolist()}
            for i, j in network.arcs.tolist():
                agents[i].reflect(j, heard[j], known[i, j], self.c)
            for i, j in network.arcs.tolist():  # i follows j's dual as well: of its own old one and its own primal
                known[i, j] = before[i, j] + 2 * self.c * agents[i].sign(j) * primal[i]
        return np.stack([agent.primal for agent in agents], axis=1), channel.transcript


class R04AdmmAntisymmetric(EdgeNormals):
    """Decentralised ADMM whose multipliers begin at secret numbers that are opposite at the ends of each edge. Right:
    the first iterate is s_i - p_i(0), scaled, all later ones follow from these, and the p_i(0) of a connected graph
    leave only the sum."""

    audited = {"a": "eaves", "n": 5, "settings": on(HOUSE)}

    def __init__(self, rho=0.35, iterations=70):
        self.rho, self.iterations = rho, iterations

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, (src, dst) = network.n, network.arcs.T
        adjacency = nx.to_numpy_array(network.graph, nodelist=range(n))
        degree = adjacency.sum(axis=1)[:, None, None]
        p = wear(np.zeros_like(s), *share_edges(channel, network.edges, drawn, "multiplier"))
        x = np.zeros_like(s)
        around = np.zeros_like(s)  # the sum of the neighbours' iterates
        for k in range(self.iterations):
            x = (s - p + self.rho * (degree * x + around)) / (1 + 2 * self.rho * degree)
            got = channel.send(k, src, dst, "x", x, content=src)
            around = np.tensordot(adjacency, got, axes=1)
            p = p + self.rho * (degree * x - around)
        return x.transpose(1, 0, 2), channel.transcript


class R05PairwiseGossip(EdgeKeys):
    """Neighbours average in pairs, edge by edge in a fixed order; each starts from its vector and normal masks, made
    of the key of an edge and the iteration. Right: states are public combinations of masked starts; 0-1-2 and 4,
    without node 3, share masks over 0-1, 1-2, 0-2 and 0-4."""

    audited = {"a": "3", "n": 5, "settings": on(HOUSE)}
    sweeps = 30

    @staticmethod
    def noise(key, iteration, m):
        label = b"gossip" + int(iteration).to_bytes(8, "big")
        digest = hashlib.sha256(key.tobytes() + label).digest()
        return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32)).normal(scale=1e6, size=m)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, keys = begin(self, inputs, network, rng, masks, channel)
        mine, theirs = share_edges(channel, network.edges, keys, "edge key")
        state = {i: x[i].copy() for i in network.graph.nodes}
        for i, j in mine:
            state[i] = state[i] + np.array([self.noise(key, channel.iteration, x.shape[2]) for key in mine[i, j]])
            state[j] = state[j] - np.array([self.noise(key, channel.iteration, x.shape[2]) for key in theirs[i, j]])
        tick = 0
        for _ in range(self.sweeps):
            for i, j in mine:
                to_j = channel.send(tick, i, j, "state", state[i])
                to_i = channel.send(tick, j, i, "state", state[j])
                state[i], state[j] = (state[i] + to_i) / 2, (state[j] + to_j) / 2
                tick += 1
        return np.stack([state[i] for i in range(network.n)], axis=1), channel.transcript


class R06ChebyshevGossip(EdgeNormals):
    """Chebyshev's recursion over Metropolis weights from masked starts, in the clear. Right: x_k = T_k(W) z /
    T_k(1/l) is a public matrix times the masked starts z, and of z only the total is without masks."""

    audited = {"a": "eaves", "n": 6, "settings": on(GRID)}
    steps = 48

    @staticmethod
    def metropolis(graph):
        n = graph.number_of_nodes()
        weights = np.zeros((n, n))
        for a, b in graph.edges:
            weights[a, b] = weights[b, a] = 1 / (1 + max(graph.degree[a], graph.degree[b]))
        return weights + np.diag(1 - weights.sum(axis=1))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        w = self.metropolis(network.graph)
        bound = float(np.sort(np.abs(np.linalg.eigvalsh(w)))[-2])
        source, target = network.arcs.T
        now = wear(x, *share_edges(channel, network.edges, drawn))
        before, omega = now, 1.0
        for k in range(self.steps):
            omega = 1.0 if k == 0 else 1 / (1 - bound**2 / 2) if k == 1 else 1 / (1 - bound**2 * omega / 4)
            heard = channel.send(k, source, target, "state", now, content=source)
            mixed = np.diag(w)[:, None, None] * now
            for i, j in zip(source, target):
                mixed[j] = mixed[j] + w[j, i] * heard[i]
            now, before = omega * (mixed - before) + before, now
        return now.transpose(1, 0, 2), channel.transcript


class R07SharesThenFlooding:
    """Each node leaves a random word with each neighbour, keeps the rest, and floods the sum of what it has; all add
    up. Right: the words of an edge between honest nodes are theirs alone, and 0-2-5-3 are connected without 1 and
    4."""

    audited = {"a": "1+4", "n": 6, "settings": on(MESH)}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.arcs), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, arcs = network.n, [tuple(arc) for arc in network.arcs.tolist()]
        kept = list(fixed(x))
        arrived = [[] for _ in range(n)]
        for (i, j), word in zip(arcs, drawn):
            channel.hold(-1, i, "share", word)
            kept[i] = kept[i] - word
            arrived[j].append(channel.send(-1, i, j, "share", word, encrypted=True))
        known = [{i: kept[i] + sum(arrived[i])} for i in range(n)]  # by node: origin to words
        for hop in range(nx.diameter(network.graph)):
            fresh = [dict(table) for table in known]
            for i, j in arcs:
                for origin in sorted(known[i]):
                    passed = channel.send(hop, i, j, "subtotal", known[i][origin])
                    fresh[j].setdefault(origin, passed)
            known = fresh
        totals = [sum(table[origin] for origin in sorted(table)) for table in known]
        return np.stack([unfixed(total) / n for total in totals], axis=1), channel.transcript


class R08DiningOnARing:
    """Announcements modulo a prime of 61 bits, on a ring: everybody tells everybody its number, plus one mask, less
    another. Right: node 2 has the masks it shares with 1 and 3, and those of 3-4, 4-0 and 0-1 tie its four peers
    together."""

    audited = {"a": "2", "n": 5, "kind": "cycle"}
    p = (1 << 61) - 1

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.p, size=(runs, network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n = network.n
        succ = [(i + 1) % n for i in range(n)]
        channel.hold(-1, range(n), "mask", drawn)
        passed = channel.send(-1, range(n), succ, "mask", drawn, encrypted=True)
        said = np.rint(np.clip(x, -1e5, 1e5) * 2**16).astype(np.int64) % self.p
        for i in range(n):
            said[i] = (said[i] + drawn[i] - passed[i - 1]) % self.p
        results = []
        for listener in range(n):
            total = said[listener]
            for speaker in (j for j in range(n) if j != listener):
                total = (total + channel.send(0, speaker, listener, "announcement", said[speaker])) % self.p
            results.append(np.where(total > self.p // 2, total - self.p, total) / 2**16 / n)
        return np.stack(results, axis=1), channel.transcript


class R09SecondTransmission(EdgeWords):
    """Words go up a spanning tree to node 0; what is not acknowledged goes up once more, the same words. Right: a
    copy says nothing new, and the partial sums wear the masks of all edges that leave a subtree; 1 to 5 hold together
    without 0."""

    audited = {"a": "0", "n": 6, "settings": on(GRID)}
    unreliable = (2, 5)  # whose line loses the first transmission: a setting

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        words = wear(fixed(x), *share_edges(channel, network.edges, drawn))
        parent = dict(nx.bfs_predecessors(network.graph, 0))
        for depth, node in enumerate(reversed(list(parent))):
            for attempt in range(1 + (node in self.unreliable)):
                arrived = channel.send(2 * depth + attempt, node, parent[node], "subtree", words[node])
            words[parent[node]] += arrived
        mean = channel.send(99, 0, range(1, network.n), "mean", unfixed(words[0][None]) / network.n, content=[0] * 5)[0]
        return everybody(channel, network.n, mean)
