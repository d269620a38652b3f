"""Networks, batches and vectors that a protocol is tried on: small ones for the proof, and drawn sizes beyond."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import numpy as np

from secmix.adversaries.search.oracle import quietly
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.transcript import Channel

Sized = tuple[Network, str, tuple[int, int] | None]
"""A network, its kind, and how many entries and runs; None for a few."""

_ROUND = (4, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256)
_LEAST, _LARGEST = (8, 3, 3), (40, 256, 64)  # nodes, entries and runs that are drawn
_NAMED = (60, 2000, 300)  # and that are tried where the code names them
_SENT = 2400  # numbers that a call sends: of more, a proof takes long
_SMALL = 5  # nodes, entries or runs that are not made fewer


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

    Where a call would send so much that a proof takes long, drawn ones are halved and named ones left out.
    """
    found: list[Sized] = []
    drawn, named = _drawn(count, rng), _named(numbers, 2 * count)
    for place, size in enumerate([*drawn, *named]):
        while True:
            network, kind = _of_kind(size[0], place, rng) if given is None else (given, "given")
            sent = _sent(protocol, network) * size[1] * size[2]
            which = max((0, 1, 2) if given is None else (1, 2), key=size.__getitem__)
            if sent <= _SENT or size[which] <= _SMALL:
                found.append((network, kind, (size[1], size[2])))
                break
            if place >= len(drawn):  # half of it is another number
                break
            size[which] = -(-size[which] // 2)
    return found


def _sent(protocol: SumProtocol, network: Network) -> int:
    """Count the numbers of a call with a single number a node."""
    channel, inputs = Channel(), np.ones((1, network.n, 1))
    with suppress(Exception):  # reported by the promises, if it is not a refusal
        quietly(lambda: protocol.average(inputs, network, np.random.default_rng(0), channel=channel))
    return sum(len(block.payload) for block in channel.transcript)


def _named(numbers: Iterable[int], count: int) -> list[list[int]]:
    """Return (nodes, entries, runs) about numbers of the code, ``count`` at most."""
    found = []
    for value in sorted({number + step for number in numbers for step in (0, 1)}):
        found += [[value, 1, 1]] if 3 <= value <= _NAMED[0] else []
        found += [[3, value, 1]] if 2 <= value <= _NAMED[1] else []
        found += [[3, 1, value]] if 2 <= value <= _NAMED[2] else []
    return found[:: -(-len(found) // count)] if found else found


def _drawn(count: int, rng: np.random.Generator) -> list[list[int]]:
    """Draw (nodes, entries, runs), one of them large, the larger the seldomer, and round numbers among them."""
    found = []
    for place in range(count):
        size, which = [int(rng.integers(3, 6)), 1, 1], (place + place // 6) % 3
        size[which] = int(np.exp(rng.uniform(np.log(_LEAST[which]), np.log(_LARGEST[which] + 1))))
        if rng.random() < 0.5:
            size[which] = int(rng.choice([value for value in _ROUND if _LEAST[which] <= value <= _LARGEST[which]]))
        found.append(size)
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
