"""Sums that travel: all-reduce on a ring, two rings, a token on a tree, recursive doubling on a cube."""

from __future__ import annotations

import networkx as nx
import numpy as np

from .common import CUBE, begin, everybody, fixed, on, share_edges, unfixed


class R10RingAllReduce:
    """Reduce-scatter and all-gather on a ring of five: chunk c starts at node c under a mask of its own, which node c
    takes off when the chunk is back. Right: node 2 meets each other chunk once, under a word of its owner, and then
    its total; of its own chunk it meets only the total. All lines are encrypted, so it hears no other hop."""

    audited = {"a": "2", "n": 5, "kind": "cycle"}

    def draw_masks(self, runs, m, network, rng):
        width = -(-m // network.n)
        return rng.integers(0, 2**64, size=(runs, network.n, width), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        width = drawn.shape[2]
        padded = np.zeros((n, runs, n * width), dtype=np.uint64)
        padded[..., :m] = fixed(x)
        chunks = padded.reshape(n, runs, n, width)  # node, run, chunk, entry
        ranks = np.arange(n)
        channel.hold(-1, ranks, "mask", drawn)

        travelling = chunks[ranks, :, ranks] + drawn  # travelling[r]: what node r is about to send
        for step in range(n):
            moved = channel.send(step, ranks, (ranks + 1) % n, "reduce-scatter", travelling, encrypted=True)
            travelling = np.roll(moved, 1, axis=0)
            if step < n - 1:
                travelling = travelling + chunks[ranks, :, (ranks - step - 1) % n]
        own = travelling - drawn  # node r has the total of chunk r

        gathered = np.zeros((n, n, runs, width), dtype=np.uint64)  # node, chunk
        gathered[ranks, ranks] = own
        carried = own
        for step in range(n - 1):
            moved = channel.send(n + step, ranks, (ranks + 1) % n, "all-gather", carried, encrypted=True)
            carried = np.roll(moved, 1, axis=0)
            gathered[ranks, (ranks - step - 1) % n] = carried
        totals = gathered.transpose(2, 0, 1, 3).reshape(runs, n, n * width)[..., :m]
        return unfixed(totals) / n, channel.transcript


class R11TwoRings:
    """Each vector is cut into two random words, which go around in two orders, each under a mask of node 0. Right:
    nodes 1 and 3 stand around node 2 in the first order, and around nobody in the second: they have one piece of its
    vector, which is uniform, and the sums that node 0 tells."""

    audited = {"a": "1+3", "n": 5}
    orders = ((0, 1, 2, 3, 4), (0, 2, 4, 1, 3))

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n + 2, m), dtype=np.uint64)

    def lap(self, channel, ring, order, pieces, mask):
        running = mask + pieces[order[0]]
        for hop, (here, there) in enumerate(zip(order, order[1:] + order[:1])):
            running = channel.send(10 * ring + hop, here, there, "running sum", running, encrypted=True)
            if there != order[0]:
                running = running + pieces[there]
        return running - mask

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n = network.n
        pieces, lap_masks = drawn[:n], drawn[n:]
        channel.hold(-1, range(n), "piece", pieces)
        channel.hold(-1, [0, 0], "lap mask", lap_masks)
        rest = fixed(x) - pieces
        sums = [self.lap(channel, k, self.orders[k], (pieces, rest)[k], lap_masks[k]) for k in range(2)]
        mean = unfixed(sums[0] + sums[1]) / n
        return everybody(channel, n, channel.send(50, 0, range(1, n), "mean", mean[None], content=[0] * (n - 1))[0])


class R12RecursiveDoubling:
    """Eight nodes on a cube mask for its twelve edges, words of 32 bits, and add up in three exchanges in the clear.
    Right: all that passes are sums of masked words; without node 3 and its three masks the cube is still
    connected."""

    audited = {"a": "3", "n": 8, "settings": on(CUBE)}
    fraction_bits = 12

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 1 << 32, size=(runs, len(network.edges), m), dtype=np.uint32)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n = network.n
        mine, theirs = share_edges(channel, network.edges, drawn, "edge word")
        scaled = np.rint(np.clip(x, -8192, 8192) * (1 << self.fraction_bits)).astype(np.int64)
        partial = scaled.astype(np.uint32)
        for a, b in mine:
            partial[a] += mine[a, b]
            partial[b] -= theirs[a, b]
        ranks, distance, step = np.arange(n), 1, 0
        while distance < n:
            partner = ranks ^ distance
            got = channel.send(step, ranks, partner, "partial", partial)
            partial = partial + got[partner]
            distance, step = 2 * distance, step + 1
        mean = partial.astype(np.int32) / float(1 << self.fraction_bits) / n
        return mean.transpose(1, 0, 2), channel.transcript


class R13TokenOnATree:
    """A token walks a tree depth first and back, over encrypted lines; node 0 gave it a mask, each node adds its
    vector when the token first comes. Right against node 3, a leaf: it meets the token once, under the mask, and
    hears the mean."""

    audited = {"a": "3", "n": 5, "settings": on([[0, 1], [0, 2], [1, 3], [1, 4]])}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, m), dtype=np.uint64)

    def walk(self, graph, root=0):
        """Yield (from, to, whether to is new), depth first."""
        for here, there, way in nx.dfs_labeled_edges(graph, root):
            if here != there and way == "forward":
                yield here, there, True
            elif here != there and way == "reverse":
                yield there, here, False

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        words, (mask,) = fixed(x), drawn
        channel.hold(-1, 0, "mask", mask)
        token = words[0] + mask
        for step, (here, there, new) in enumerate(self.walk(network.graph)):
            token = channel.send(step, here, there, "token", token, encrypted=True)
            if new:
                token = token + words[there]
        mean = unfixed(token - mask) / network.n
        told = channel.send(90, 0, range(1, network.n), "mean", mean[None], encrypted=True, content=[0] * 4)
        return everybody(channel, network.n, told[0])
