"""Networks, batches and vectors that a protocol is tried on: small ones for the proof, and drawn sizes beyond."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from secmix.adversaries.search.oracle import quietly
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.transcript import Channel

Sized = tuple[Network, str, tuple[int, int] | None]
"""A network, its kind, and how many entries and runs; None for a few."""

ROUND = (4, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256)
_LARGEST = (40, 256, 64)  # nodes, entries and runs that are drawn
_NAMED = (60, 2000, 300)  # and that are tried where the code names them
_TOGETHER = 300_000  # numbers that all nodes put in
_SENT = 10_000_000  # numbers that a call sends with unit inputs and unit masks beside the real ones: 80 MB
_SMALLEST = 5  # nodes of a network that is not made smaller


def small_networks(given: Network | None, parts: int | None, rng: np.random.Generator) -> list[Sized]:
    """Draw networks, small ones first; those given, or as many nodes as have ``parts``, stand alone."""
    if given is not None:
        return [(given, "given", None)]
    if parts is not None:
        cycle: list[Sized] = [(Network.cycle(parts), "cycle", None)] if parts > 2 else []
        return [(Network.complete(parts), "complete", None), *cycle]
    found: list[Sized] = [(Network.complete(3), "complete", None), (Network.cycle(4), "cycle", None)]
    found.append((Network.complete(5), "complete", None))
    for least, most in ((4, 7), (5, 9), (9, 13)):
        n = int(rng.integers(least, most))
        ring = {tuple(sorted(edge)) for edge in _cycle(rng.permutation(n))}
        chords = {tuple(sorted(map(int, rng.choice(n, 2, replace=False)))) for _ in range(n // 2)}
        found.append((Network.from_edges(n, sorted(ring | chords)), "cycle with chords", None))
        found.append((Network.from_edges(n, _tree(rng.permutation(n), rng)), "tree", None))
    return found


def wide_networks(
    protocol: SumProtocol, given: Network | None, numbers: Iterable[int], count: int, rng: np.random.Generator
) -> list[Sized]:
    """Draw networks with many nodes, entries and runs, and take those that ``numbers`` of the protocol's code name.

    A network on which so much is sent that it would not fit into memory is halved until it does, or left out.
    """
    n = None if given is None else given.n
    found: list[Sized] = []
    for place, (nodes, entries, runs) in enumerate([*_drawn(n, count, rng), *_named(numbers, n, count)]):
        while True:
            network, kind = _of_kind(nodes, place, rng) if given is None else (given, "given")
            if _sent(protocol, network, entries, runs) <= _SENT:
                found.append((network, kind, (entries, runs)))
                break
            if given is not None or nodes <= _SMALLEST:
                break
            nodes = max(nodes // 2, _SMALLEST)
    return found


def _sent(protocol: SumProtocol, network: Network, entries: int, runs: int) -> float:
    """Count the numbers that a call sends with unit inputs and unit masks, from one with a single number a node."""
    channel, inputs = Channel(), np.ones((1, network.n, 1))
    try:
        quietly(lambda: protocol.average(inputs, network, np.random.default_rng(0), channel=channel))
        masks = protocol.draw_masks(1, 1, network, np.random.default_rng(0)).shape[1]
    except Exception:  # reported by the promises, if it is not a refusal
        return 0.0
    return sum(len(block.payload) for block in channel.transcript) * float(runs * entries + network.n + masks)


def _named(numbers: Iterable[int], n: int | None, count: int) -> list[tuple[int, int, int]]:
    """Return (nodes, entries, runs) about numbers of the code, ``count`` at most; ``n`` where the nodes are given."""
    found = []
    for value in sorted({number + step for number in numbers for step in (0, 1)}):
        if n is None and 3 <= value <= _NAMED[0]:
            found.append((value, 3, 2))
        if 2 <= value <= _NAMED[1]:
            found.append((n or 5, value, 2))
        if 2 <= value <= _NAMED[2]:
            found.append((n or 5, 3, value))
    return found[:: -(-len(found) // count)] if found else found


def _drawn(n: int | None, count: int, rng: np.random.Generator) -> list[tuple[int, int, int]]:
    """Draw (nodes, entries, runs), each the larger the seldomer, and round numbers among them."""
    found = []
    for place in range(count):
        size = [
            int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))
            for least, most in zip((3, 1, 1), _LARGEST, strict=True)
        ]
        which = int(rng.integers(3))
        if place % 2:
            size[which] = int(rng.choice([value for value in ROUND if value <= _LARGEST[which]]))
        nodes = n or size[0]
        found.append((nodes, size[1], max(1, min(size[2], _TOGETHER // (nodes * size[1])))))
    return found


def _of_kind(n: int, place: int, rng: np.random.Generator) -> tuple[Network, str]:
    """Return a network of n nodes, of another kind for each ``place``."""
    name = [int(node) for node in rng.permutation(n)]
    kind = ("complete", "star", "path", "cycle", "wheel", "tree")[place % 6]
    spokes = [(name[0], other) for other in name[1:]]
    if kind == "complete":
        return Network.complete(n), kind
    if kind == "star":
        return Network.from_edges(n, spokes), kind
    if kind == "path":
        return Network.from_edges(n, _cycle(name)[:-1]), kind
    if kind == "cycle" and n > 3:
        return Network.from_edges(n, _cycle(name)), kind
    if kind == "wheel" and n > 4:
        return Network.from_edges(n, [*_cycle(name[1:]), *spokes]), kind
    return Network.from_edges(n, _tree(name, rng)), "tree"


def _cycle(name: Iterable[int]) -> list[tuple[int, int]]:
    nodes = [int(node) for node in name]
    return list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))


def _tree(name: Iterable[int], rng: np.random.Generator) -> list[tuple[int, int]]:
    nodes = [int(node) for node in name]
    return [(nodes[i], nodes[rng.integers(i)]) for i in range(1, len(nodes))]
