"""Protocols with a published proof, of the house and written anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.protocols import PDMM, Plain, SecureSum
from secmix.transcript import SERVER

from ..bases import Base, Dealt, Modular, Pairwise, Ring, Shares
from ..case import Case
from ..honest.shares import ThroughTheServer

BONAWITZ = "Bonawitz et al. 2017, lemma 6.1: hidden inputs are uniform but for their sum"
CLIFTON = "Clifton et al. 2002, section 3.1: every running sum is masked by a draw that its holder does not know"
LI = "Li 2022, section 4.2: the masks keep what they are in the subspace that no update reaches"
SHAMIR = "Ben-Or, Goldwasser, Wigderson 1988: fewer shares than all are independent of the secret"
PERFECT = "a uniform residue is independent of what it is added to (Shannon 1949)"
DEALER = "Beaver 1997: masks of a dealer, who is honest, are independent of the inputs"


class DoubleMask(Pairwise):
    """Beside the pairwise masks each node has one of its own, which it opens at the end."""

    def count(self, network: Any) -> int:
        """One an edge, one a node."""
        return len(network.edges) + network.n

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        first, second = network.edges.T
        pairs, own = r[: len(first)], r[len(first) :]
        channel.hold(-1, first, "mask", pairs)
        channel.hold(-1, np.arange(network.n), "own mask", own)
        other = channel.send(-1, first, second, "mask", pairs, encrypted=True)
        hidden = s + own
        np.add.at(hidden, first, pairs)
        np.subtract.at(hidden, second, other)
        received = self.upload(channel, hidden, s, rng)
        opened = channel.send(1, np.arange(network.n), SERVER, "own mask", own)
        return self.publish(channel, (received - opened).sum(axis=0) / network.n, s)


class TwoServers(Base):
    """Each node splits its input in two, one part for node 3, one for node 4, which open the sums of theirs."""

    def count(self, network: Any) -> int:
        """One a node."""
        return network.n

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n = network.n
        nodes = np.arange(n)
        channel.hold(-1, nodes, "mask", r)
        left = channel.send(0, nodes, np.full(n, 3), "part", s - r, encrypted=True)
        right = channel.send(0, nodes, np.full(n, 4), "part", r, encrypted=True)
        one = self.opened(channel, 3, left.sum(axis=0), n)
        other = self.opened(channel, 4, right.sum(axis=0), n)
        return (one + other) / n

    def opened(self, channel: Any, node: int, total: Array, n: int) -> Array:
        """A sum of parts, told to all."""
        others = np.array([i for i in range(n) if i != node])
        content = np.zeros(n - 1, dtype=int)
        return channel.send(1, np.full(n - 1, node), others, "sum of parts", total[None], content=content)[0]


class Tree(Base):
    """Sums go up a tree 0 → 2 ← 1, 2 → 4 ← 3, each leaf's under a mask that the root is told."""

    def count(self, network: Any) -> int:
        """One a node but the root."""
        return 4

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        channel.hold(-1, np.arange(4), "mask", r)
        told = channel.send(-1, np.arange(4), np.full(4, 4), "mask", r, encrypted=True)
        leaves = channel.send(0, np.array([0, 1]), np.array([2, 2]), "masked", s[:2] + r[:2], encrypted=True)
        upper = np.stack([leaves.sum(axis=0) + s[2] + r[2], s[3] + r[3]])
        arrived = channel.send(1, np.array([2, 3]), np.array([4, 4]), "masked", upper, encrypted=True)
        mean = (arrived.sum(axis=0) - told.sum(axis=0) + s[4]) / network.n
        content = np.zeros(4, dtype=int)
        channel.send(2, np.full(4, 4), np.arange(4), "average", mean[None], encrypted=True, content=content)
        return mean


def right(name: str, protocol: Any, adversary: Any, why: str, **more: Any) -> Case:
    """A right case."""
    return Case(name, more.pop("family", "published"), protocol, adversary, why, truth="safe", **more)


ONE, TWO = HonestButCurious({1}), HonestButCurious({1, 2})


class SealedShares(ThroughTheServer):
    """Shares that the server passes on, each sealed for who is to have it."""

    def key(self, to: Array) -> dict[str, Any]:
        """Seal for each receiver."""
        return {"sealed_for": to}


CASES = [
    right("plain, encrypted, outsider", lambda: Plain(encrypted=True), Eavesdropper(), "no line can be read"),
    right("plain, encrypted, insider", lambda: Plain(encrypted=True), ONE, "it is told the average only"),
    right("secure sum", SecureSum, ONE, CLIFTON),
    right("secure sum, outsider", SecureSum, Eavesdropper(), "no line can be read"),
    right("secure sum, modular", lambda: SecureSum(arithmetic="modular"), ONE, PERFECT),
    right("secure sum, modular, two side by side", lambda: SecureSum(arithmetic="modular"), TWO, PERFECT),
    right("PDMM", PDMM, Eavesdropper(), LI, steady=False),
    right("PDMM, insider", PDMM, ONE, LI, steady=False),
    right("PDMM, synchronous", lambda: PDMM(schedule="synchronous"), Eavesdropper(), LI, steady=False),
    right("PDMM, asynchronous", lambda: PDMM(schedule="asynchronous"), HonestButCurious({2}), LI, steady=False),
    right("PDMM, lossy", lambda: PDMM(loss=0.3), Eavesdropper(), LI, steady=False),
    right("pairwise masks", Pairwise, Eavesdropper(), BONAWITZ),
    right("pairwise masks, server", Pairwise, CuriousServer(), BONAWITZ),
    right("pairwise masks, insiders", Pairwise, TWO, BONAWITZ),
    right("double masks", DoubleMask, CuriousServer(), BONAWITZ),
    right("dealt masks", Dealt, CuriousServer(), DEALER),
    right("dealt masks, insider", Dealt, ONE, DEALER),
    right("ring", Ring, HonestButCurious({3}), CLIFTON),
    right("additive shares", Shares, ONE, SHAMIR),
    right("additive shares, two insiders", Shares, TWO, SHAMIR),
    right("sealed shares through the server", SealedShares, CuriousServer(), SHAMIR),
    right("modular pairwise masks", Modular, Eavesdropper(), PERFECT),
    right("modular pairwise masks, insider", Modular, ONE, PERFECT),
    right("two servers", TwoServers, HonestButCurious({3}), "node 3 holds inputs less masks that only node 4 knows"),
    right("tree", Tree, HonestButCurious({2}), "node 2 is told masked numbers, and not the masks"),
]
