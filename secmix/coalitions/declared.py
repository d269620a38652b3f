"""Exposure graphs: what a protocol may declare, and how the declaration is checked.

A sum protocol may have a method ``exposure_graph(network) -> Network or None``: a graph of which it is *proven* that
any corrupt nodes, one at least, learn the sum of the inputs over each piece that is left of it without them, and
nothing else. PDMM declares the network, secure summation its cycle. It is a licence to search quickly and no more: what
it says is compared with what units show, in every call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix.coalitions.graph import component
from secmix.coalitions.held import Recorded, held
from secmix.coalitions.knowledge import knowledge
from secmix.errors import SecmixError
from secmix.estimators.exact.masks import mask_doubts
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import SERVER

_SAMPLES = 40
_DRAWS = 300


def declared_graph(protocol: SumProtocol, network: Network) -> Network | None:
    """The exposure graph that ``protocol`` declares on ``network``, if it does."""
    graph: Any = SumTraits.of(protocol).exposure_graph(network)
    if graph is not None and (not isinstance(graph, Network) or graph.n != network.n):
        raise SecmixError(
            f"{type(protocol).__name__}.exposure_graph returned {graph!r}; it returns a Network on the same "
            f"{network.n} nodes, or None"
        )
    return graph


def contradiction(recorded: Recorded, graph: Network, rng: np.random.Generator, samples: int = _SAMPLES) -> str:
    """Some corrupt nodes for whom the graph says other than the messages; empty where none was found.

    What is compared is not only who is exposed but every known sum.
    """
    n = graph.n
    for k in range(samples):
        size = 1 + k % max(n - 1, 1)
        corrupt = frozenset(rng.choice(n, size=size, replace=False).tolist())
        rest = sorted(set(range(n)) - corrupt)
        pieces = {component(graph, node, corrupt) for node in rest}
        known = knowledge(recorded, corrupt, eavesdrops=True)
        said = {(tuple(sorted(piece)), 1) for piece in pieces}
        # What is held outright has no column: it is a sum over one.
        read = {(group, rank) for group, rank in known.groups() if rank} | {((i,), 1) for i in known.outright}
        if said != read or known.strange:
            return f"corrupt nodes {sorted(corrupt)} know other sums than the exposure graph says"
    return ""


def ball(network: Network, size: int) -> Network:
    """A connected piece of ``network`` with at most ``size`` nodes, renumbered."""
    order, seen = [0], {0}
    for node in order:
        for other in network.neighbours(node):
            if other not in seen and len(order) < size:
                seen.add(other)
                order.append(other)
    place = {node: k for k, node in enumerate(order)}
    edges = [(place[a], place[b]) for a, b in network.edges.tolist() if a in place and b in place]
    return Network.from_edges(len(order), edges)


def checked_in_small(protocol: SumProtocol, network: Network, m: int, rng: np.random.Generator) -> tuple[bool, str]:
    """The declaration put to the test on a small piece of a network too large to record.

    Returns whether an outsider learns the total there, and what contradicts the graph.
    """
    small = ball(network, 10)
    try:
        graph = declared_graph(protocol, small)
        if graph is None:
            return False, "no exposure graph is declared on a small piece of the network"
        recorded = held(protocol, small, [rng.normal(size=(2, small.n, m))], rng)
    except SecmixError as error:
        return False, f"the protocol does not run on a small piece of the network: {error}"
    outsider = knowledge(recorded, (), eavesdrops=True)
    groups = [group for group, rank in outsider.groups() if rank]
    if outsider.outright or groups not in ([], [tuple(range(small.n))]):
        return False, "an outsider knows other sums than the total"
    draws = [protocol.draw_masks(_DRAWS, 2, small, rng.spawn(1)[0]) for _ in range(2)]
    repeated = draws[0].size > 0 and np.array_equal(draws[0], draws[1])
    doubts = [
        *recorded.doubts,
        *mask_doubts(draws, SumTraits.of(protocol).modulus, SumTraits.of(protocol).grid),
        *["a server takes part, of whom the exposure graph says nothing"] * (SERVER in recorded.rows),
        *["the same masks serve in several averagings"] * repeated,
    ]
    said = next(iter(doubts), "") or contradiction(recorded, graph, rng)
    return bool(groups), said
