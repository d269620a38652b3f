"""Exposure graphs: what a protocol may declare, and how the declaration is checked.

A sum protocol may have a method ``exposure_graph(network) -> Network or None``: a graph of which it is *proven* that
any corrupt nodes, one at least, learn the sum of the inputs over each piece that is left of it without them, and
nothing else. PDMM declares the network, secure summation its cycle. The declaration only speeds the search up: in every
call it is compared with what unit inputs and unit masks show.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix.auditing.exposure.coalitions.graph import component
from secmix.auditing.exposure.coalitions.knowledge import knowledge
from secmix.auditing.exposure.coalitions.known_messages import Recorded, record_messages
from secmix.errors import SecmixError
from secmix.estimators.exact.presumed import unmet_mask_premises
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import SERVER

_SAMPLES = 40
_DRAWS = 300


def declared_graph(protocol: SumProtocol, network: Network) -> Network | None:
    """Return the exposure graph that ``protocol`` declares on ``network``, or None."""
    graph: Any = SumTraits.of(protocol).exposure_graph(network)
    if graph is not None and (not isinstance(graph, Network) or graph.n != network.n):
        raise SecmixError(
            f"{type(protocol).__name__}.exposure_graph returned {graph!r}; it returns a Network on the same "
            f"{network.n} nodes, or None"
        )
    return graph


def contradiction(recorded: Recorded, graph: Network, rng: np.random.Generator) -> str:
    """Search for corrupt nodes whose known sums differ from those of the graph; return "" if there are none.

    All known sums are compared, not only the exposed nodes.
    """
    n = graph.n
    for k in range(_SAMPLES):
        size = 1 + k % max(n - 1, 1)
        corrupt = frozenset(rng.choice(n, size=size, replace=False).tolist())
        rest = sorted(set(range(n)) - corrupt)
        pieces = {component(graph, node, corrupt) for node in rest}
        known = knowledge(recorded, corrupt, eavesdrops=True)
        expected = {(tuple(sorted(piece)), 1) for piece in pieces}
        # An input that is known outright has no column: it is a sum over one node.
        read = {(group, rank) for group, rank in known.groups() if rank} | {((i,), 1) for i in known.outright}
        if expected != read or known.strange:
            return f"corrupt nodes {sorted(corrupt)} know sums that the exposure graph does not predict"
    return ""


def ball(network: Network, size: int) -> Network:
    """Cut a connected piece of at most ``size`` nodes out of ``network``, and renumber its nodes."""
    order, reached = [0], {0}
    for node in order:
        for other in network.neighbours(node):
            if other not in reached and len(order) < size:
                reached.add(other)
                order.append(other)
    place = {node: k for k, node in enumerate(order)}
    edges = [(place[a], place[b]) for a, b in network.edges.tolist() if a in place and b in place]
    return Network.from_edges(len(order), edges)


def checked_in_small(protocol: SumProtocol, network: Network, m: int, rng: np.random.Generator) -> tuple[bool, str]:
    """Check the declared graph on a small piece of a network that is too large to record.

    Returns whether an outsider learns the total on that piece, and what contradicts the graph ("" if nothing does).
    """
    small = ball(network, 10)
    try:
        graph = declared_graph(protocol, small)
        if graph is None:
            return False, "the protocol declares no exposure graph on a small piece of the network"
        recorded = record_messages(protocol, small, [rng.normal(size=(2, small.n, m))], rng)
    except SecmixError as error:
        return False, f"the protocol fails on a small piece of the network: {error}"
    outsider = knowledge(recorded, (), eavesdrops=True)
    groups = [group for group, rank in outsider.groups() if rank]
    if outsider.outright or groups not in ([], [tuple(range(small.n))]):
        return False, "an outsider knows a sum that is not the total"
    draws = [protocol.draw_masks(_DRAWS, 2, small, rng.spawn(1)[0]) for _ in range(2)]
    repeated = draws[0].size > 0 and np.array_equal(draws[0], draws[1])
    unmet_premises = [
        *recorded.unmet_premises,
        *unmet_mask_premises(draws, SumTraits.of(protocol).modulus, SumTraits.of(protocol).grid),
        *["a server takes part, and the exposure graph does not model it"] * (SERVER in recorded.rows),
        *["several averagings use the same masks"] * repeated,
    ]
    objection = next(iter(unmet_premises), "") or contradiction(recorded, graph, rng)
    return bool(groups), objection
