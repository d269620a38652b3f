"""Averages over neighbourhoods, as federated learning on graphs has them, and shares in a committee that changes."""

from __future__ import annotations

import itertools

import numpy as np

from .common import PRISM, begin, everybody, fixed, on, unfixed

P31 = 2**31 - 1


class R19OwnNeighbourhood:
    """Each node averages over its neighbours and itself. For each centre, its neighbours agree on masks, sealed for
    each other by way of the centre, and send it masked words on encrypted lines. Right, where sums of a group count:
    node 2 is centre once, and learns the sum over 0, 1 and 5, who share masks in pairs; for other centres it has
    masks, and reads no message."""

    audited = {"a": "2", "n": 6, "settings": on(PRISM)}

    def rings_of(self, network):
        """Yield (centre, one neighbour, another) for all pairs of neighbours of each centre."""
        for centre in network.graph.nodes:
            for a, b in itertools.combinations(sorted(network.graph.neighbors(centre)), 2):
                yield centre, a, b

    def draw_masks(self, runs, m, network, rng):
        count = sum(1 for _ in self.rings_of(network))
        return rng.integers(0, 2**64, size=(runs, count, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        words = fixed(x)
        offset = {(c, i): np.zeros_like(words[0]) for c in network.graph.nodes for i in network.graph.neighbors(c)}
        for (centre, a, b), mask in zip(self.rings_of(network), drawn):
            channel.hold(-2, a, "mask", mask)
            sealed = channel.send(-2, a, centre, "mask", mask, sealed_for=b)
            offset[centre, a] += mask
            offset[centre, b] -= channel.send(-1, centre, b, "mask", sealed)
        totals = words.copy()
        for (centre, i), zero_sum in offset.items():
            totals[centre] += channel.send(0, i, centre, "masked", words[i] + zero_sum, encrypted=True)
        size = network.degrees[:, None, None] + 1
        return (unfixed(totals) / size).transpose(1, 0, 2), channel.transcript


class R20CommitteeOnDuty:
    """Four nodes are on duty, others in each iteration. Each vector is shared among them by polynomials of degree two
    modulo 2^31 - 1; they tell all the sums of their shares. Right: nodes 1 and 3 have at most two of the three points
    that fix an honest node's polynomial, and the sums fix that of the sum."""

    audited = {"a": "1+3", "n": 6}
    on_duty, degree, step = 4, 2, 2.0**-10

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, P31, size=(runs, network.n * self.degree, m), dtype=np.int64)

    @staticmethod
    def weights_at_zero(points):
        """Lagrange's coefficients for the value at zero."""
        weights = []
        for k in points:
            above = below = 1
            for other in points:
                if other != k:
                    above, below = above * other % P31, below * (other - k) % P31
            weights.append(above * pow(below, -1, P31) % P31)
        return weights

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        coefficients = drawn.reshape(n, self.degree, runs, m)
        channel.hold(-1, np.repeat(np.arange(n), self.degree), "coefficient", drawn)
        secret = np.rint(np.clip(x, -8192, 8192) / self.step).astype(np.int64) % P31
        shift = channel.iteration % n
        committee = [(shift + k) % n for k in range(self.on_duty)]
        summed = {}
        for member in committee:
            point, summed[member] = member + 1, np.zeros((runs, m), dtype=np.int64)
            for node in range(n):
                share = secret[node]
                for power in range(self.degree):
                    share = (share + coefficients[node, power] * pow(point, power + 1, P31)) % P31
                if node != member:
                    share = channel.send(0, node, member, "share", share, encrypted=True)
                summed[member] = (summed[member] + share) % P31
        for member in committee:
            others = [node for node in range(n) if node != member]
            told = channel.send(1, member, others, "sum", summed[member][None], content=[0] * len(others))
            summed[member] = told[0]
        joined = committee[: self.degree + 1]
        total = np.zeros((runs, m), dtype=np.int64)
        for member, weight in zip(joined, self.weights_at_zero([member + 1 for member in joined])):
            total = (total + summed[member] * weight) % P31
        total = np.where(total > P31 // 2, total - P31, total)
        return everybody(channel, n, total * self.step / n)
