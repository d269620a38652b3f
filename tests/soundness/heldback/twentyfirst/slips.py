"""One slip each: consensus whose masks come late, cancel, vanish or miss one side."""

from __future__ import annotations

import networkx as nx
import numpy as np

from .common import HOUSE, EdgeNormals, begin, everybody, fixed, on, share_edges, unfixed, wear


class W01FirstShareBare(EdgeNormals):
    """Push-sum whose masks are put on at the end of the first round, when neighbours have met: the shares of that
    round are plain vectors over degree plus one, which a listener multiplies."""

    audited = {"a": "eaves", "n": 5, "settings": on(HOUSE)}
    rounds = 45

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        mine, theirs = share_edges(channel, network.edges, drawn)
        value, weight = x.copy(), np.ones(network.n)
        for k in range(self.rounds):
            mass, tokens = np.zeros_like(value), np.zeros_like(weight)
            for i in network.graph.nodes:
                peers = sorted(network.graph.neighbors(i))
                out = value[i] / (len(peers) + 1)
                mass[i] += out
                tokens[i] += weight[i] / (len(peers) + 1)
                for j in peers:
                    mass[j] += channel.send(k, i, j, "share", out)
                    tokens[j] += weight[i] / (len(peers) + 1)
            value, weight = mass, tokens
            if k == 0:
                value = wear(value, mine, theirs)
        return (value / weight[:, None, None]).transpose(1, 0, 2), channel.transcript


class W02NoiseOverNeighbours:
    """Each node tells each neighbour its vector with other noise, and the noises of a node add up to zero, so that
    sums stay right: who hears all neighbours takes the mean of what they were told."""

    audited = {"a": "eaves", "n": 5, "settings": on(HOUSE)}
    steps = 50

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.arcs), m))

    def zero_sum(self, network, drawn):
        """The last neighbour of each node gets minus the sum of the others' noise."""
        noise = {}
        for (i, j), draw in zip(network.arcs.tolist(), drawn):
            peers = network.neighbours(i)
            noise[i, j] = -sum(noise[i, p] for p in peers[:-1]) if j == peers[-1] else draw
        return noise

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        channel.hold(-1, network.arcs[:, 0], "noise", drawn)
        noise = self.zero_sum(network, drawn)
        gain = 1 / (1 + network.degrees.max())
        state = x * (1 - gain * network.degrees)[:, None, None]
        for i, j in noise:
            state[j] = state[j] + gain * channel.send(0, i, j, "noisy", x[i] + noise[i, j])
        laplacian = nx.laplacian_matrix(network.graph, nodelist=range(network.n)).toarray()
        source, target = network.arcs.T
        for k in range(1, self.steps):
            state = channel.send(k, source, target, "state", state, content=source)
            state = state - gain * np.tensordot(laplacian, state, axes=1)
        return state.transpose(1, 0, 2), channel.transcript


class W03VanishingNoise:
    """Consensus with noise of each node's own that is taken back a step later, and shrinks, after Mo and Murray: the
    additions of all steps are zero together. Who hears a node and all its neighbours computes each addition but the
    first, so the first."""

    audited = {"a": "eaves", "n": 5, "settings": on(HOUSE)}
    steps, decay = 40, 0.8

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, network.n * (self.steps - 1), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, last = network.n, self.steps - 1
        channel.hold(-1, np.repeat(np.arange(n), last), "noise", drawn)
        v = drawn.reshape(n, last, *x.shape[1:])
        mixing = np.eye(n) - nx.laplacian_matrix(network.graph, nodelist=range(n)).toarray() / 5
        source, target = network.arcs.T
        state = x
        for k in range(2 * self.steps):
            if k < self.steps:
                new = self.decay**k * v[:, k] if k < last else 0
                old = self.decay ** (k - 1) * v[:, k - 1] if k else 0
                state = state + new - old
            heard = channel.send(k, source, target, "state", state, content=source)
            state = np.tensordot(mixing, heard, axes=1)
        return state.transpose(1, 0, 2), channel.transcript


class W04DualsOneWay:
    """PDMM whose random start fills the upper triangle of the table of duals; the lower one is left at zero. Node 4
    has the largest number, so none of its own duals is random: its first iterate is its vector, scaled."""

    audited = {"a": "eaves", "n": 5, "settings": on(HOUSE)}
    c, rounds = 0.6, 70

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, (src, dst) = network.n, network.arcs.T
        mine, _ = share_edges(channel, network.edges, drawn, "dual")
        z = np.zeros((n, n, *s.shape[1:]))  # z[i, j]: node i's dual towards j
        for i, j in mine:
            z[i, j] = mine[i, j]
        sign = np.sign(np.arange(n)[None] - np.arange(n)[:, None]) * nx.to_numpy_array(network.graph, range(n))
        for k in range(self.rounds):
            x = (s - (sign[..., None, None] * z).sum(axis=1)) / (1 + self.c * network.degrees)[:, None, None]
            x = channel.send(k, src, dst, "x", x, content=src)
            z = z.swapaxes(0, 1) - 2 * self.c * sign[..., None, None] * x[None]
        return x.transpose(1, 0, 2), channel.transcript


class W05GradientsAtTheEnd(EdgeNormals):
    """ADMM with secret multipliers, which checks its end by the condition of optimality: gradients x - s add up to
    zero. Each node tells node 0 its gradient, and everybody has heard its x."""

    audited = {"a": "eaves", "n": 5, "settings": on(HOUSE)}
    rho, iterations = 0.35, 70

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, (src, dst) = network.n, network.arcs.T
        adjacency = nx.to_numpy_array(network.graph, nodelist=range(n))
        degree = network.degrees[:, None, None]
        p = wear(np.zeros_like(s), *share_edges(channel, network.edges, drawn, "multiplier"))
        x, around = np.zeros_like(s), np.zeros_like(s)
        for k in range(self.iterations):
            x = (s - p + self.rho * (degree * x + around)) / (1 + 2 * self.rho * degree)
            around = np.tensordot(adjacency, channel.send(k, src, dst, "x", x, content=src), axes=1)
            p = p + self.rho * (degree * x - around)
        gradients = channel.send(self.iterations, range(1, n), 0, "gradient", (x - s)[1:])
        drift = (gradients.sum(axis=0) + x[0] - s[0]) / n
        drift = channel.send(self.iterations + 1, 0, range(1, n), "drift", drift[None], content=[0] * (n - 1))
        return (x - drift).transpose(1, 0, 2), channel.transcript


class W06ChainFromOne:
    """Masks telescope along a chain: node i adds the word it passes to i + 1 and takes off the one it got; the loop
    begins at one, where numbers of neighbours in the paper do, so nothing passes from 0 to 1 and node 0 announces its
    bare words."""

    audited = {"a": "eaves", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, words = network.n, fixed(x)
        for i in range(1, n - 1):
            channel.hold(-1, i, "link", drawn[i])
            words[i] += drawn[i]
            words[i + 1] -= channel.send(-1, i, i + 1, "link", drawn[i], encrypted=True)
        heard = words.copy()
        for i in range(n):
            others = [j for j in range(n) if j != i]
            heard[i] = channel.send(0, i, others, "announcement", words[i][None], content=[0] * len(others))[0]
        return everybody(channel, n, unfixed(heard.sum(axis=0)) / n)
