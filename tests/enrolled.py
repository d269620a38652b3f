"""Every sum protocol with the guarantees it claims. A new one joins the shared properties by one line here.

What a protocol gives away is said as sets of nodes whose inputs' *sum* becomes known, from the network and
the corrupt nodes alone: that is the theorem, and it is compared with what the audit reads off the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from secmix import Network
from secmix.protocols import PDMM, Plain, SecureAggregation, SecureSum, SumProtocol

Sums = list[frozenset[int]]
Known = Callable[[Network, frozenset[int]], Sums]


def nothing(network: Network, corrupt: frozenset[int]) -> Sums:
    """No combination of the honest inputs."""
    return []


def total(network: Network, corrupt: frozenset[int]) -> Sums:
    """The output itself."""
    return [frozenset(range(network.n))]


def everything(network: Network, corrupt: frozenset[int]) -> Sums:
    """Every input by itself."""
    return [frozenset({node}) for node in range(network.n)]


def pieces(network: Network, corrupt: frozenset[int]) -> Sums:
    """One sum for each connected piece of honest nodes, found by walking the edges."""
    honest = set(range(network.n)) - corrupt
    found = []
    while honest:
        piece, edge = set(), {honest.pop()}
        while edge:
            piece |= edge
            edge = {int(b) for a, b in network.arcs if a in edge and b in honest}
            honest -= edge
        found.append(frozenset(piece))
    return found


def arcs(network: Network, corrupt: frozenset[int]) -> Sums:
    """One sum for each maximal run of honest nodes along the cycle, whose ends meet."""
    order = network.hamiltonian_cycle()
    if not corrupt:
        return [frozenset(order)]
    first = next(place for place, node in enumerate(order) if node in corrupt)
    found: list[set[int]] = [set()]
    for node in order[first:] + order[:first]:
        if node in corrupt:
            found.append(set())
        else:
            found[-1].add(node)
    return [frozenset(run) for run in found if run]


@dataclass(frozen=True)
class Enrolled:
    """A protocol and what it claims."""

    name: str
    protocol: SumProtocol
    passive: Known  # corrupt nodes by themselves
    listening: Known  # corrupt nodes who also hear every plain line
    outsider: Known  # an eavesdropper on every line
    cycle: bool = False  # needs a Hamiltonian cycle
    chance: bool = False  # who speaks when, or what arrives, is drawn by lot
    noise: bool = False  # its masks have a size, ``sigma``, and leakage falls as it grows
    error: float = 1e-12  # of the averages, at the sigma given here, for inputs of order one

    def with_(self, **settings: Any) -> SumProtocol:
        """The protocol with other settings."""
        return replace(self.protocol, **settings)  # type: ignore[type-var]

    def __str__(self) -> str:
        return self.name


_PDMM = {"passive": pieces, "listening": pieces, "outsider": total, "noise": True, "error": 1e-8}
_RING = {"passive": arcs, "cycle": True}
_GRID = 2.0**-24  # of the modular words

ENROLLED = [
    Enrolled("plain", Plain(), total, everything, everything),
    Enrolled("plain, encrypted", Plain(encrypted=True), total, total, nothing),
    Enrolled("real", SecureSum(sigma=10.0), listening=arcs, outsider=nothing, noise=True, **_RING),
    Enrolled("modular", SecureSum(arithmetic="modular"), listening=arcs, outsider=nothing, error=_GRID, **_RING),
    Enrolled(
        "real, open",
        SecureSum(sigma=10.0, encrypted=False),
        listening=everything,
        outsider=everything,
        **_RING,
    ),
    Enrolled("secure aggregation", SecureAggregation(), total, total, nothing, error=_GRID),
    Enrolled("pdmm", PDMM(sigma=10.0), **_PDMM),
    Enrolled("pdmm, lossy", PDMM(sigma=10.0, loss=0.3), chance=True, **_PDMM),
    Enrolled("pdmm, synchronous", PDMM(sigma=10.0, schedule="synchronous"), **_PDMM),
    Enrolled("pdmm, asynchronous", PDMM(sigma=10.0, schedule="asynchronous"), chance=True, **_PDMM),
]
"""All of them; ``sigma`` is moderate, so that float64 keeps what is exact in theory to the error stated."""


def tiered(some: Iterable[Enrolled]) -> list[Any]:
    """Return parameters of a test, of which the schedules of PDMM but the first are for the build."""
    slow = [pytest.mark.build]
    return [pytest.param(each, marks=slow * each.name.startswith("pdmm,"), id=str(each)) for each in some]
