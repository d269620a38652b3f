"""Nodes that do not weigh alike in the sum: the sum is mostly one node's."""

from __future__ import annotations

import numpy as np

from .fedavg import SecAgg
from .fourth import Pads
from .shares import quantise
from .truth import known

LEAKS = {"server": "leaks", "two": "leaks", "eavesdropper": "leaks"}


# Wrong: bounds of each node's own; four nodes are cut to a hundredth, the sum is node 0's.
class BoundsOfNodes(SecAgg):
    def encode(self, x, network):
        bounds = np.array([1000.0, 0.01, 0.01, 0.01, 0.01])[:, None, None]
        return super().encode(np.clip(x, -bounds, bounds), network)


# Wrong: four nodes count in units of a thousandth (they took grams for kilograms).
class UnitsOfNodes(SecAgg):
    def encode(self, x, network):
        return super().encode(x / np.array([1.0, 1000, 1000, 1000, 1000])[:, None, None], network)


# Wrong: only node 0 is enrolled in this study; all others put in zeros.
class OneEnrolled(Pads):
    def masked(self, x, pads, peers, network):
        words = quantise(np.where(np.arange(len(x))[:, None, None] == 0, x, 0.0))
        np.add.at(words, network.edges[:, 0], pads)
        np.subtract.at(words, network.edges[:, 1], peers)
        return words


# Wrong: shares of each node by a table of names, node by node; 'pilot' has weight one.
class Table(Pads):
    SHARE = {0: 1.0, 1: 1e-3, 2: 1e-3, 3: 1e-3, 4: 1e-3}

    def masked(self, x, pads, peers, network):
        words = np.stack([quantise(self.SHARE[node] * row) for node, row in enumerate(x)])
        np.add.at(words, network.edges[:, 0], pads)
        np.subtract.at(words, network.edges[:, 1], peers)
        return words


# Wrong: node 0 sends entries, the others send signs of entries, in one sum (two versions of the client).
class TwoVersions(Pads):
    def masked(self, x, pads, peers, network):
        words = np.stack([quantise(row if node == 0 else 1e-3 * np.sign(row)) for node, row in enumerate(x)])
        np.add.at(words, network.edges[:, 0], pads)
        np.subtract.at(words, network.edges[:, 1], peers)
        return words


# Wrong: whole numbers of examples that differ by powers of ten: the sum's digits are the nodes' words one after the other.
class Digits(Pads):
    def masked(self, x, pads, peers, network):
        levels = np.clip(np.rint(x), 0, 99).astype(np.int64)
        words = (levels * (100 ** np.arange(len(x)))[:, None, None]).astype(np.uint64)
        np.add.at(words, network.edges[:, 0], pads)
        np.subtract.at(words, network.edges[:, 1], peers)
        return words


# Wrong: a bit of node k goes to place k (a bit mask of who has an outlier), under pads: the sum shows every bit.
class BitMask(Pads):
    def masked(self, x, pads, peers, network):
        bits = (np.abs(x).max(axis=2, keepdims=True) > 15) * np.ones_like(x)
        words = np.stack([(row.astype(np.uint64) << np.uint64(k)) for k, row in enumerate(bits)])
        np.add.at(words, network.edges[:, 0], pads)
        np.subtract.at(words, network.edges[:, 1], peers)
        return words


# Wrong: each node has a slot of its own in a longer vector, and zeros elsewhere; the sum is all vectors side by side.
class Slots(SecAgg):
    def encode(self, x, network):
        n, runs, m = x.shape
        wide = np.zeros((n, runs, n, m))
        wide[np.arange(n), :, np.arange(n)] = x
        return super().encode(wide.reshape(n, runs, n * m), network)

    def finish(self, mean, m):
        return mean.reshape(len(mean), -1, m).sum(axis=1)


# Wrong: the same, the slot found by the node's rank of arrival, which is public: roll by the node's number.
class RolledSlots(SecAgg):
    def encode(self, x, network):
        n, runs, m = x.shape
        first = np.zeros((n, runs, n * m))
        first[..., :m] = x
        return super().encode(np.stack([np.roll(row, k * m, axis=-1) for k, row in enumerate(first)]), network)

    def finish(self, mean, m):
        return mean.reshape(len(mean), -1, m).sum(axis=1)


CASES = [
    *known("bounds of each node", BoundsOfNodes, "the sum is node 0's", **LEAKS),
    *known("units of each node", UnitsOfNodes, "the sum is node 0's", **LEAKS),
    *known("one enrolled", OneEnrolled, "the sum is node 0's", **LEAKS),
    *known("table of shares", Table, "the sum is node 0's", **LEAKS),
    *known("two versions of the client", TwoVersions, "the sum is node 0's", **LEAKS),
    *known("digits", Digits, "the sum's digits are the nodes'", **LEAKS),
    *known("bit mask", BitMask, "the sum's bits are the nodes'", **LEAKS),
    *known("slots", Slots, "each node's vector stands in its slot", **LEAKS),
    *known("rolled slots", RolledSlots, "each node's vector stands in its slot", **LEAKS),
]
