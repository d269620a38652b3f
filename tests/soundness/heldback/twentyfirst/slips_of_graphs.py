"""One slip each: rings, trees, clusters, committees and neighbourhoods."""

from __future__ import annotations

import hashlib
import itertools

import networkx as nx
import numpy as np

from secmix.transcript import SERVER

from .common import GRID, HOUSE, EdgeKeys, begin, everybody, fixed, on, share_edges, unfixed

P31 = 2**31 - 1


class W07LastHopInClear:
    """A running sum under the mask of node 0 goes around encrypted, but for the hop back to node 0, which "is masked
    anyway". Node 3 knows what it passed to node 4, and hears what node 4 makes of it."""

    audited = {"a": "3", "n": 5, "kind": "cycle"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, words = network.n, fixed(x)
        channel.hold(-1, [0], "mask", drawn)
        running = words[0] + drawn[0]
        for node in range(n):
            after = (node + 1) % n
            running = channel.send(node, node, after, "running sum", running, encrypted=after != 0)
            running = running + words[after] if after else running - drawn[0]
        mean = channel.send(n, 0, range(1, n), "mean", unfixed(running)[None] / n, content=[0] * (n - 1))[0]
        return everybody(channel, n, mean)


class W08CentredSecondPass:
    """Two passes around a ring, as for a mean that is compensated: the first sums vectors under a mask of node 0, the
    second what is left of them less the mean, without one, for "centred numbers say little". Node 1 adds the mean to
    what node 0 sends."""

    audited = {"a": "1", "n": 5, "kind": "cycle"}

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, 1, m))

    def lap(self, channel, first_round, values, start):
        running = start + values[0]
        n = len(values)
        for node in range(1, n):
            running = channel.send(first_round + node, node - 1, node, "running sum", running, encrypted=True)
            running = running + values[node]
        return channel.send(first_round + n, n - 1, 0, "running sum", running, encrypted=True) - start

    def tell(self, channel, when, n, vector):
        return channel.send(when, 0, range(1, n), "mean", vector[None], encrypted=True, content=[0] * (n - 1))[0]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n = network.n
        channel.hold(-1, 0, "mask", drawn[0])
        mean = self.tell(channel, 10, n, self.lap(channel, 0, x, drawn[0]) / n)
        rest = self.tell(channel, 30, n, self.lap(channel, 20, x - mean, np.zeros_like(mean)) / n)
        return everybody(channel, n, mean + rest)


class W09OnePadForTwoMeans(EdgeKeys):
    """Collector 0 gets a plain and a weighted sum, by two messages of each node under pads of edge keys and the
    iteration; which of the two it is, is not in the label. Weights are public: the difference of the two messages is
    (w - 1) times the words."""

    audited = {"a": "0", "n": 5, "settings": on(HOUSE)}
    weights = (2, 3, 5, 4, 3)

    def pads(self, network, node, ring, iteration, m):
        total = np.zeros((len(next(iter(ring.values()))), m), dtype=np.uint64)
        for peer in network.graph.neighbors(node):
            label = b"sum" + iteration.to_bytes(8, "big")
            stream = [hashlib.shake_128(key.tobytes() + label).digest(8 * m) for key in ring[peer]]
            pad = np.array([np.frombuffer(octets, "<u8") for octets in stream])
            total = total + pad if node < peer else total - pad
        return total

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, m = network.n, x.shape[2]
        mine, theirs = share_edges(channel, network.edges, drawn, "edge key")
        rings = {i: {} for i in range(n)}
        for i, j in mine:
            rings[i][j], rings[j][i] = mine[i, j], theirs[i, j]
        sums = {}
        for when, what in enumerate(("plain", "weighted")):
            sums[what] = np.zeros(x.shape[1:], dtype=np.uint64)
            for i in range(n):
                words = fixed(x[i]) * np.uint64(self.weights[i] if what == "weighted" else 1)
                words = words + self.pads(network, i, rings[i], channel.iteration, m)
                sums[what] += channel.send(when, i, 0, what, words) if i else words
        both = np.stack([unfixed(sums["plain"]) / n, unfixed(sums["weighted"]) / sum(self.weights)])
        both = channel.send(
            2, [0] * 2 * (n - 1), [*range(1, n)] * 2, "means", both, content=[0] * (n - 1) + [1] * (n - 1)
        )
        return everybody(channel, n, both[0])


class W10OrphansResendBare:
    """Masks lie on the edges of a tree. Node 1 drops out once they are agreed on, so its children, whose other masks
    have been spent with it, send to node 0 again, without the mask that they share with node 1: leaves have no
    other."""

    audited = {"a": "0", "n": 7, "settings": on([[0, 1], [0, 2], [1, 3], [1, 4], [2, 5], [2, 6]])}
    dropped = 1

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, words = network.n, fixed(x)
        mine, theirs = share_edges(channel, network.edges, drawn)
        worn = {i: words[i].copy() for i in range(n)}
        for i, j in mine:
            if self.dropped not in (i, j):
                worn[i] += mine[i, j]
                worn[j] -= theirs[i, j]
        for child in (3, 4):
            channel.send(0, child, self.dropped, "sum", words[child] - theirs[self.dropped, child])  # never answered
        for child in (6, 5):
            worn[2] += channel.send(0, child, 2, "sum", worn[child])
        for child in (4, 3):
            worn[0] += channel.send(1, child, 0, "resent", worn[child])
        worn[0] += channel.send(1, 2, 0, "sum", worn[2])
        mean = unfixed(worn[0]) / (n - 1)
        return everybody(channel, n, channel.send(2, 0, range(1, n), "mean", mean[None], content=[0] * (n - 1))[0])


class W11PadOffAtTheParent:
    """Sums go up a spanning tree, each hop under a pad of the key of its edge; the parent takes the pad off when the
    message is in, and not the root when all are. That is a cipher for lines: the parent of a leaf reads the leaf's
    vector."""

    audited = {"a": "4", "n": 6, "settings": on(GRID)}
    reuses_masks = True
    root = 3

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def expand(self, keys, t, m):
        return np.stack([np.random.default_rng([*key, t]).integers(0, 2**64, m, dtype=np.uint64) for key in keys])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        t, m = channel.iteration, x.shape[2]
        mine, theirs = share_edges(channel, network.edges, drawn, "edge key")
        tree = nx.bfs_tree(network.graph, self.root)
        subtree = fixed(x)
        for hop, node in enumerate(nx.dfs_postorder_nodes(tree, self.root)):
            for parent in tree.predecessors(node):
                edge = (min(node, parent), max(node, parent))
                at_node, at_parent = (mine[edge], theirs[edge]) if node < parent else (theirs[edge], mine[edge])
                got = channel.send(hop, node, parent, "subtree", subtree[node] + self.expand(at_node, t, m))
                subtree[parent] += got - self.expand(at_parent, t, m)
        mean = unfixed(subtree[self.root]) / network.n
        others = sorted(set(network.graph) - {self.root})
        return everybody(channel, network.n, channel.send(9, self.root, others, "mean", mean[None], content=[0] * 5)[0])


class W12BackupShares:
    """Shamir's shares, three of five; so that nobody's going matters, each node keeps its right neighbour's share
    too. Nodes 1 and 3 have four shares of every vector between them."""

    audited = {"a": "1+3", "n": 5}
    unit = 1024.0

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, P31, size=(runs, 2 * network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n = network.n
        slope, bend = drawn[:n], drawn[n:]
        channel.hold(-1, [*range(n)] * 2, "coefficient", drawn)
        secret = np.rint(np.clip(x, -8192, 8192) * self.unit).astype(np.int64) % P31
        kept = np.zeros((n, 2, *x.shape[1:]), dtype=np.int64)  # sums of own shares, and of the neighbour's
        for owner, keeper, which in itertools.product(range(n), range(n), range(2)):
            point = (keeper + which) % n + 1
            share = (secret[owner] + slope[owner] * point + bend[owner] * point**2) % P31
            if owner != keeper:
                share = channel.send(0, owner, keeper, "share", share, encrypted=True)
            kept[keeper, which] = (kept[keeper, which] + share) % P31
        sums = channel.send(1, [1, 2], 0, "sum of shares", kept[[1, 2], 0], encrypted=True)
        total = (3 * kept[0, 0] - 3 * sums[0] + sums[1]) % P31  # at zero, of the points 1, 2 and 3
        mean = np.where(total > P31 // 2, total - P31, total) / self.unit / n
        return everybody(channel, n, channel.send(2, 0, range(1, n), "mean", mean[None], content=[0] * (n - 1))[0])


class W13PublishedNeighbourhoods:
    """Each node gets the masked vectors of its neighbours, adds its own, and publishes the average over its
    neighbourhood. Each is a sum over three nodes or more, and five of them that overlap are as many equations as
    there are vectors."""

    audited = {"a": "eaves", "n": 5, "settings": on([[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2]])}

    def couples(self, network):
        nodes = network.graph.nodes
        return [(c, *pair) for c in nodes for pair in itertools.combinations(network.neighbours(c), 2)]

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(self.couples(network)), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, words = network.n, fixed(x)
        sent = {(i, c): words[i].copy() for c in range(n) for i in network.neighbours(c)}
        for (c, a, b), mask in zip(self.couples(network), drawn):
            channel.hold(-1, a, "mask", mask)
            sent[a, c] += mask
            sent[b, c] -= channel.send(-1, a, b, "mask", mask, encrypted=True)
        sums = words.copy()
        for (i, c), masked in sent.items():
            sums[c] += channel.send(0, i, c, "masked", masked, encrypted=True)
        local = unfixed(sums) / (1 + network.degrees)[:, None, None]
        source, target = network.arcs.T
        published = channel.send(1, source, target, "neighbourhood", local, content=source)
        return published.transpose(1, 0, 2), channel.transcript


class W14ClusterOfTwo(EdgeKeys):
    """Nodes are split into clusters as even as five allow, members mask among themselves, heads among heads. Of the
    smaller cluster the head, node 3, has the only mask that its one member wears."""

    audited = {"a": "server+3", "n": 5}

    def pad(self, keys, level, t, m):
        label = level + t.to_bytes(8, "big")
        blocks = [hashlib.blake2b(label, key=key.tobytes()).digest() for key in keys]
        streams = [np.random.default_rng(np.frombuffer(block, dtype=np.uint64)) for block in blocks]
        return np.stack([stream.integers(0, 2**64, m, dtype=np.uint64) for stream in streams])

    def hide(self, words, group, ends, level, t):
        """Add and take off the pads of all pairs of a group."""
        mine, theirs = ends
        for pair in itertools.combinations(group, 2):
            words[pair[0]] = words[pair[0]] + self.pad(mine[pair], level, t, words[pair[0]].shape[1])
            words[pair[1]] = words[pair[1]] - self.pad(theirs[pair], level, t, words[pair[1]].shape[1])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        ends = share_edges(channel, network.edges, drawn, "key")
        clusters = [part.tolist() for part in np.array_split(np.arange(network.n), 2)]
        words = dict(enumerate(fixed(x)))
        sums = {}
        for head, *members in clusters:
            self.hide(words, [head, *members], ends, b"member", channel.iteration)
            sums[head] = words[head]
            for member in members:
                sums[head] = sums[head] + channel.send(0, member, head, "upload", words[member], encrypted=True)
        self.hide(sums, sorted(sums), ends, b"head", channel.iteration)
        total = sum(channel.send(1, head, SERVER, "cluster sum", sums[head], encrypted=True) for head in sums)
        mean = unfixed(total) / network.n
        told = channel.send(2, SERVER, range(network.n), "mean", mean[None], content=[0] * network.n)[0]
        return everybody(channel, network.n, told)
