"""Attacks on the wrong ones: ``python -m soundness.heldback.twentyfirst.attacks`` from ``tests``.

An attack is given what the adversary reads in one call (``Heard``) and the network, and returns vectors by node,
(runs, m). Nothing of secmix but its networks and its channel is needed.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from secmix import Network
from secmix.transcript import Channel

from . import slips, slips_of_graphs
from .common import unfixed

P31 = 2**31 - 1


class Heard:
    """The messages that the adversary reads, and what its nodes hold."""

    def __init__(self, transcript, who, corrupt):
        self.messages = defaultdict(list)
        for block in transcript:
            for sender, receiver, content in zip(block.sender, block.receiver, block.content):
                inside = bool({int(sender), int(receiver)} & corrupt)
                if inside or (block.line == "plain" and not who.startswith("server")):
                    self.messages[block.kind, int(sender), int(receiver)].append(block.payload[content])

    def get(self, kind, sender, receiver=None, k=0):
        """Message k of a kind from a node to a node, or to anybody."""
        if receiver is None:
            receiver = min(r for what, s, r in self.messages if (what, s) == (kind, sender) and r != s)
        return self.messages[kind, sender, receiver][k]


def w01(heard, network):
    return {i: heard.get("share", i) * (network.degrees[i] + 1) for i in range(network.n)}


def w02(heard, network):
    return {i: sum(heard.get("noisy", i, j) for j in network.neighbours(i)) / network.degrees[i] for i in range(5)}


def w03(heard, network):
    steps = slips.W03VanishingNoise.steps
    degree = network.degrees
    found = {}
    for i in range(network.n):
        start = heard.get("state", i)
        for k in range(1, steps):
            around = sum(heard.get("state", j, k=k - 1) for j in network.neighbours(i)) / 5
            expected = (1 - degree[i] / 5) * heard.get("state", i, k=k - 1) + around
            start = start + heard.get("state", i, k=k) - expected
        found[i] = start
    return found


def w04(heard, network):
    return {4: heard.get("x", 4) * (1 + slips.W04DualsOneWay.c * network.degrees[4])}


def w05(heard, network):
    last = slips.W05GradientsAtTheEnd.iterations - 1
    return {i: heard.get("x", i, k=last) - heard.get("gradient", i, 0) for i in range(1, network.n)}


def w06(heard, network):
    return {0: unfixed(heard.get("announcement", 0))}


def w07(heard, network):
    return {4: unfixed(heard.get("running sum", 4, 0) - heard.get("running sum", 3, 4))}


def w08(heard, network):
    return {0: heard.get("running sum", 0, 1, 1) + heard.get("mean", 0, 1, 0)}


def w09(heard, network):
    weights = slips_of_graphs.W09OnePadForTwoMeans.weights
    return {
        i: unfixed(heard.get("weighted", i, 0) - heard.get("plain", i, 0)) / (weights[i] - 1)
        for i in range(1, network.n)
    }


def w10(heard, network):
    return {i: unfixed(heard.get("resent", i, 0)) for i in (3, 4)}


def w11(heard, network):
    """Node 5 is a leaf under node 4, which drew the key of their edge, and takes its pad off."""
    keys, covered = heard.get("edge key", 4, 5), heard.get("subtree", 5, 4)
    return {5: unfixed(covered - slips_of_graphs.W11PadOffAtTheParent().expand(keys, 0, covered.shape[1]))}


def w12(heard, network):
    """Points 2 and 3 are node 1's, 4 and 5 node 3's: three of them give the value at zero."""
    found = {}
    for owner in (0, 2, 4):
        two, three = heard.get("share", owner, 1, 0), heard.get("share", owner, 1, 1)
        four = heard.get("share", owner, 3, 0)
        secret = (6 * two - 8 * three + 3 * four) % P31
        found[owner] = np.where(secret > P31 // 2, secret - P31, secret) / slips_of_graphs.W12BackupShares.unit
    return found


def w13(heard, network):
    around = np.eye(network.n)
    for i, j in network.edges:
        around[i, j] = around[j, i] = 1
    sums = np.stack([heard.get("neighbourhood", i) * (network.degrees[i] + 1) for i in range(network.n)])
    return dict(enumerate(np.tensordot(np.linalg.inv(around), sums, axes=1)))


def w14(heard, network):
    """Node 3 drew the key that it shares with node 4, and takes that pad back on."""
    keys, covered = heard.get("key", 3, 4), heard.get("upload", 4, 3)
    pad = slips_of_graphs.W14ClusterOfTwo().pad(keys, b"member", 0, covered.shape[1])
    return {4: unfixed(covered + pad)}


def network_of(kind):
    """The network that a class is audited on."""
    settings = kind.audited.get("settings", {}).get("network")
    if settings:
        return Network.from_edges(settings["nodes"], settings["edges"])
    return getattr(Network, kind.audited.get("kind", "complete"))(kind.audited["n"])


def attack(kind, method, seed=0):
    """Run a class once, and return the nodes whose vectors came out, with the largest error."""
    network, rng = network_of(kind), np.random.default_rng(seed)
    inputs = rng.normal(13, 40, size=(2, network.n, 4))
    who = kind.audited["a"]
    corrupt = {-1} if who.startswith("server") else set()
    corrupt |= {int(part) for part in who.split("+") if part.isdigit()}
    _, transcript = kind().average(inputs, network, rng, channel=Channel())
    found = method(Heard(transcript, who, corrupt), network)
    assert not corrupt & set(found)
    return {int(i): float(np.abs(vector - inputs[:, i]).max()) for i, vector in found.items()}


def main():
    """Print what each attack recovers."""
    for module in (slips, slips_of_graphs):
        for name, kind in vars(module).items():
            if name.startswith("W") and hasattr(kind, "audited"):
                errors = attack(kind, globals()[name[:3].lower()])
                print(f"{name}: {kind.audited['a']} has", ", ".join(f"node {i} to {e:.1g}" for i, e in errors.items()))


if __name__ == "__main__":
    main()
