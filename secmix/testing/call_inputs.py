"""Inputs to try a protocol on: drawn networks, sizes and coalitions, and sizes that its code names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

import numpy as np

from secmix.adversaries.against_rules.oracle import quietly
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.transcript import Channel


def _ring(n: int, first: int = 0) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(first, n - 1)] + [(n - 1, first)]


_KINDS: dict[str, Callable[[int, np.random.Generator], Iterable[Any]]] = {
    "complete": lambda n, rng: combinations(range(n), 2),
    "star": lambda n, rng: [(0, i) for i in range(1, n)],
    "path": lambda n, rng: _ring(n)[:-1],
    "cycle": lambda n, rng: _ring(n),
    "wheel": lambda n, rng: [*_ring(n, 1), *((0, i) for i in range(1, n))],
    "tree": lambda n, rng: [(i, rng.integers(i)) for i in range(1, n)],
    "cycle with chords": lambda n, rng: [*_ring(n), *(rng.choice(n, 2, replace=False) for _ in range(n // 2))],
}
"""Edges of each kind of network of at least three nodes."""
_USUAL = (3, 3, 4, 5, 5, 6, 8, 11), (1, 2, 3, 5, 8, 13, 21, 40), range(1, 9)  # nodes, entries and runs
_LARGE = (
    (8, 8, 9, 10, 10, 11, 12, 13, 14, 16, 16, 16, 18, 20, 20, 23, 26, 32, 37),
    (24, 32, 41, 50, 64, 77, 100, 128, 160, 200, 256),
    (9, 10, 13, 16, 20, 25, 32, 40, 50, 64),
)
_NAMED_MOST = (60, 2000, 300)
_SENT = 2400  # numbers that a call sends: of more, a proof takes long
_SMALL = 5  # nodes, entries or runs that are not made fewer


class CallDraw(NamedTuple):
    """Options that are drawn of a call; the numbers follow from them."""

    kind: str
    n: int
    entries: int
    runs: int
    corrupt: int  # nodes, if so many leave two honest ones
    plain: bool  # integers for a reader, not every scale
    quick: bool  # tried on what takes little time alone
    seed: int

    def network(self, network: Network | None) -> Network:
        """Return the network: a tree where one of this kind and so few nodes is complete."""
        if network is not None:
            return network
        rng = np.random.default_rng(self.seed)
        kind = "tree" if self.n <= {"cycle": 3, "wheel": 4}.get(self.kind, 0) else self.kind
        name = rng.permutation(self.n) if not self.plain else np.arange(self.n)
        return Network.from_edges(self.n, [(name[a], name[b]) for a, b in _KINDS[kind](self.n, rng)])


def options(network: Network | None, parts: int | None) -> tuple[Sequence[Any], ...]:
    """Return what each part of ``CallDraw`` is one of; a network, or as many nodes as have ``parts``, may be given."""
    kinds: Sequence[str] = (
        ("complete", "cycle", "cycle with chords", "tree") if parts is None else ("complete", "cycle")
    )
    nodes: Sequence[int] = _USUAL[0] if parts is None else (parts,)
    if network is not None:
        kinds, nodes = ("given",), (network.n,)
    return kinds, nodes, *_USUAL[1:], (1, 1, 2, 3, 4, 6, 8), (True, False, False), (False,), range(2**32)


def large_calls(
    protocol: SumProtocol,
    network: Network | None,
    numbers: Iterable[int],
    count: int,
    random: Random,
    *,
    in_time: Callable[[], bool],
) -> list[CallDraw]:
    """Draw ``count`` calls with many nodes, entries or runs; add twice as many sizes that ``numbers`` name.

    Where a call would send so much that a proof takes long, drawn sizes are halved and named ones left out.
    Whether it would is not asked when it is not ``in_time`` any more.
    """
    sizes = [[random.randint(3, 5), 1, 1] for _ in range(count)]
    for place, size in enumerate(sizes):
        which = (place + place // 6) % 3
        size[which] = random.choice(_LARGE[which])
    drawn_calls: list[CallDraw] = []
    for place, size in enumerate([*sizes, *_named(numbers, 2 * count)]):
        while True:
            kind = list(_KINDS)[place % 6] if network is None else "given"
            seed, corrupt = random.randrange(2**32), random.choice((1, 1, 2, 3, 4, 6, 8))
            drawn = CallDraw(
                kind, size[0] if network is None else network.n, size[1], size[2], corrupt, False, True, seed
            )
            most = max(size[network is not None :])
            if most <= _SMALL or not in_time() or _sent(protocol, drawn.network(network)) * size[1] * size[2] <= _SENT:
                drawn_calls.append(drawn)
            elif place < count:  # half of a named number is another number
                which = size.index(most, network is not None)
                size[which] = -(-most // 2)
                continue
            break
    return drawn_calls


def _sent(protocol: SumProtocol, network: Network) -> int:
    """Count the numbers of a call with a single number a node."""
    channel, inputs = Channel(), np.ones((1, network.n, 1))
    with suppress(Exception):  # reported by the promises, if it is not a refusal
        quietly(lambda: protocol.average(inputs, network, np.random.default_rng(0), channel=channel))
    return sum(len(block.payload) for block in channel.transcript)


def _named(numbers: Iterable[int], count: int) -> list[list[int]]:
    """Return [nodes, entries, runs] about numbers of the code, ``count`` at most."""
    sizes = []
    for value in sorted({number + step for number in numbers for step in (0, 1)}):
        at = ([value, 1, 1], [3, value, 1], [3, 1, value])
        sizes += [size for size, most, least in zip(at, _NAMED_MOST, (3, 2, 2), strict=True) if least <= value <= most]
    return sizes[:: -(-len(sizes) // count)] if sizes else sizes
