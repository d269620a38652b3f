"""One-time pads on rings and trees: running sums, all-reduce by chunks or by doubling, dealers, edge aggregators."""

from __future__ import annotations

import os

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import tell_all


def encode(x):
    """Write floats as words of 64 bits."""
    return np.rint(np.asarray(x) * 2.0**24).astype(np.int64).astype(np.uint64)


def decode(words):
    """Read words of 64 bits as floats."""
    return words.astype(np.int64) / 2.0**24


class RRunningSum:
    """Start a running sum round a ring with a pad of os.urandom, which the starter takes off at the end: right before
    two that stand side by side, who learn the sum of all others."""

    audited = {"n": 5, "a": "2+3", "kind": "cycle"}

    def draw_masks(self, runs, m, network, rng):
        return np.frombuffer(os.urandom(8 * runs * m), dtype=np.uint64).reshape(runs, 1, m)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        pad = (self.draw_masks(runs, m, network, rng) if masks is None else masks)[:, 0]
        channel.hold(-1, np.arange(n), "x", x.transpose(1, 0, 2))
        channel.hold(-1, 0, "pad", pad)
        running = encode(x[:, 0]) + pad
        for hop in range(n):
            running = channel.send(hop, hop, (hop + 1) % n, "running sum", running, encrypted=True)
            if hop + 1 < n:
                running = running + encode(x[:, hop + 1])
        mean = decode(running - pad) / n
        averages = np.empty_like(x)
        averages[:, 0] = mean
        for hop in range(n - 1):
            mean = channel.send(n + hop, hop, hop + 1, "mean", mean, encrypted=True)
            averages[:, hop + 1] = mean
        return averages, channel.transcript


class RBinaryTree:
    """Add up along a binary tree, each node's word under a pad that only the root knows besides: right before an inner
    node, which sees uniform words."""

    audited = {"n": 7, "a": "1"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n - 1, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "x", x)
        channel.hold(-1, np.arange(1, n), "pad", masks.transpose(1, 0, 2))
        at_root = channel.send(-1, np.arange(1, n), 0, "pad", masks.transpose(1, 0, 2), encrypted=True)
        partial = {0: encode(x[0])}
        for node in range(1, n):
            partial[node] = encode(x[node]) + masks[:, node - 1]
        for node in reversed(range(1, n)):
            parent = (node - 1) // 2
            partial[parent] = partial[parent] + channel.send(n - node, node, parent, "partial", partial[node])
        mean = decode(partial[0] - at_root.sum(axis=0, dtype=np.uint64)) / n
        averages = np.empty((runs, n, m))
        averages[:, 0] = mean
        told = {0: mean}
        for node in range(1, n):
            told[node] = channel.send(n + node, (node - 1) // 2, node, "mean", told[(node - 1) // 2], encrypted=True)
            averages[:, node] = told[node]
        return averages, channel.transcript


class RRingAllReduce:
    """Reduce and scatter chunks round a ring as Horovod does, each chunk under a pad of the node where it starts, which
    takes it off: right before one node, to whom all others' chunks come under pads."""

    audited = {"n": 4, "a": "3"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, m), dtype=np.uint64)  # chunk c of it is node c's

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pad = (self.draw_masks(runs, m, network, rng) if masks is None else masks)[:, 0]
        channel.hold(-1, np.arange(n), "x", x)
        words = encode(x)
        averages = np.empty((runs, n, m))
        chunks = np.array_split(np.arange(m), n)
        for start, chunk in enumerate(chunks):
            if not len(chunk):
                continue
            channel.hold(-1, start, "pad", pad[:, chunk])
            buffer = words[start][:, chunk] + pad[:, chunk]
            for k in range(n):
                here, there = (start + k) % n, (start + k + 1) % n
                buffer = channel.send(k, here, there, "reduce", buffer, encrypted=True)
                if there != start:
                    buffer = buffer + words[there][:, chunk]
            reduced = decode(buffer - pad[:, chunk]) / n
            averages[:, start, chunk] = reduced
            for k in range(n - 1):
                here, there = (start + k) % n, (start + k + 1) % n
                reduced = channel.send(n + k, here, there, "gather", reduced, encrypted=True)
                averages[:, there, chunk] = reduced
        return averages, channel.transcript


class RRecursiveDoubling:
    """Mask pairwise, then all-reduce by exchange with node XOR 1, XOR 2: right before one of four, whose partners send
    words that masks of the others hide."""

    audited = {"n": 4, "a": "1"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        mask = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "x", x)
        channel.hold(-1, i, "mask", mask)
        theirs = channel.send(-1, i, j, "mask", mask, encrypted=True)
        value = encode(x)
        np.add.at(value, i, mask)
        np.subtract.at(value, j, theirs)
        rank = np.arange(n)
        distance = 1
        while distance < n:
            partner = rank ^ distance
            value = value + channel.send(distance, partner, rank, "partial", value[partner], encrypted=True)
            distance <<= 1
        return decode(value).transpose(1, 0, 2) / n, channel.transcript


class RDealtPads:
    """Let node 0 deal pads that add up to zero, and let all upload under them: right before the server, to whom the
    dealer does not talk."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n - 1, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        dealt = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        channel.hold(-1, np.arange(n), "x", x)
        for pad in dealt:
            channel.hold(-1, 0, "pad", pad)
        arrived = channel.send(-1, 0, np.arange(1, n), "pad", dealt, encrypted=True)
        own = np.zeros((runs, m), dtype=np.uint64) - np.sum(dealt, axis=0, dtype=np.uint64)
        pads = np.concatenate([own[np.newaxis], arrived], axis=0)
        up = channel.send(0, np.arange(n), SERVER, "upload", encode(x) + pads)
        return tell_all(channel, n, decode(np.sum(up, axis=0, dtype=np.uint64)) / n)


class REdgeAggregators:
    """Add up groups of masked words at two edge aggregators, nodes 0 and 3, which forward to the server: right before
    an aggregator, since masks join its clients to each other and to the other group."""

    audited = {"n": 6, "a": "0"}
    groups = ((0, 1, 2), (3, 4, 5))

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        y = [encode(x[:, k]) for k in range(n)]
        for k in range(n):
            channel.hold(-1, k, "x", x[:, k])
        for e, (u, v) in enumerate(network.edges.tolist()):
            channel.hold(-1, u, "mask", masks[:, e])
            y[u] = y[u] + masks[:, e]
            y[v] = y[v] - channel.send(-1, u, v, "mask", masks[:, e], encrypted=True)
        grand_total = np.zeros((runs, m), dtype=np.uint64)
        for head, *members in self.groups:
            subtotal = y[head]
            for member in members:
                subtotal = subtotal + channel.send(0, member, head, "masked", y[member], encrypted=True)
            grand_total = grand_total + channel.send(1, head, SERVER, "subtotal", subtotal, encrypted=True)
        return tell_all(channel, n, decode(grand_total) / n)
