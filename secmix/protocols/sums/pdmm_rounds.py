"""The rounds of PDMM: who is active in each, what arrives, and how many there are, from public numbers alone.

PDMM is linear, so how fast its nodes agree is a matter of the network, the settings and the public coins. It is
rehearsed on starts that everybody may know; the averaging itself then runs through the rounds that the rehearsal took,
whatever the inputs and the masks are. A stopping rule that used them would show everybody something of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.errors import NetworkError, SecmixError
from secmix.network import Network

Schedule = Literal["coloured", "synchronous", "asynchronous"]
Bools = NDArray[np.bool_]

STARTS = 8  # rehearsed side by side; that a mode is ten times smaller in all of them has a chance of 2e-9
MARGIN = 32.0  # by how much farther the averaging goes: masks are many, and inputs may lie along the slowest mode
ROUNDING = 4 * float(np.finfo(float).eps)  # of what it began with: where agreement to tol gives way to this
_ROOM, _WIDE = 2, 128  # of sums with zeros at their ends: how many times as many terms, and numbers from which on not
_CLEAR = 1000.0  # times ROUNDING: residuals above it are not made of rounding, and show the rate


@dataclass(frozen=True)
class Settings:
    """The settings of PDMM on which its rounds depend; ``scale`` is the size of starts that agree to within ``tol``."""

    c: float
    schedule: Schedule
    loss: float
    dropout: tuple[int, int] | None
    tol: float
    scale: float
    max_sweeps: int


@dataclass(frozen=True)
class Activation:
    """A set of active nodes, and the arcs on which they receive and send."""

    nodes: Ints  # the active ones that are alive, in order
    divisors: Array  # 1 + c times the number of their living neighbours, shaped as vectors are
    arcs: Ints  # the arcs on which they broadcast, by tail and then head
    senders: Ints  # their ends; kept, so that a transcript of many rounds holds them once
    receivers: Ints
    content: Ints  # for each of these arcs, the place of its tail in ``nodes``
    opposite: Ints  # and the arc the other way
    own: Ints | slice  # ``arcs``, as a slice where they lie side by side
    degree: int | None  # how many arcs each node has, where all have as many
    by_node: tuple[slice, ...]  # the places of the arcs of each node
    by_rank: tuple[tuple[Ints, Ints], ...]  # nodes and places of the first arc of each, of the second, ...
    padded: Ints | None  # ``opposite``, as many for each node: -1 at its end; None where that is much more than these

    def incoming(self, z: Array, arriving: Array) -> Array:
        """Sum what arrives at each active node, in the order of the arcs.

        ``arriving`` is z of ``opposite``; the last row of z is of no arc, and zero.
        """
        if self.degree is not None:
            stacked = arriving.reshape(len(self.nodes), self.degree, *arriving.shape[1:])
        elif self.padded is not None and 1 < arriving[0].size < _WIDE:  # in the same order, with zeros at the end
            stacked = z[self.padded].reshape(len(self.nodes), len(self.by_rank), *arriving.shape[1:])
        else:
            return self._incoming_one_by_one(arriving)
        total: Array = np.add.reduce(stacked, axis=1)
        return total

    def _incoming_one_by_one(self, arriving: Array) -> Array:
        out = np.zeros_like(arriving, shape=(len(self.nodes), *arriving.shape[1:]))
        if 2 * len(self.by_rank) < len(self.nodes):
            for some, firsts in self.by_rank:
                out[some] += arriving[firsts]
        else:
            for node, span in enumerate(self.by_node):
                out[node] = np.add.reduce(arriving[span], axis=0)
        return out

    def updated(self, z: Array, arriving: Array, sent: Array, settings: Settings, arrived: Bools | None) -> Array:
        """Compute z of the arcs of this activation by equation (9), where the broadcast ``sent`` arrived."""
        spoken = 2.0 * settings.c * sent
        moved = (spoken[self.content] if len(self.nodes) > 1 else spoken) - arriving
        if settings.schedule == "synchronous":  # averaged by 1/2
            moved = 0.5 * (z[self.own] + moved)
        return moved if arrived is None else np.where(arrived[:, None, None], moved, z[self.own])


@dataclass(frozen=True)
class Round:
    """One round: its number, who is active, and which of their arcs deliver (None: all)."""

    number: int
    active: Activation
    arrived: Bools | None


@dataclass(frozen=True)
class Plan:
    """All rounds of an averaging, sweep by sweep."""

    sweeps: tuple[tuple[Round, ...], ...]
    living: Ints  # (L,): the nodes that are alive at the end
    # how far apart the rehearsal ended, as a share of what it began with; 0 if ``max_sweeps`` ended it too early
    agreed: float


def planned(network: Network, settings: Settings, coins: np.random.Generator) -> Plan:
    """Rehearse the rounds; where no coin decides anything the plan is kept.

    Raises NetworkError if a drop-out leaves the network unconnected, or names a node that does not exist; SecmixError
    if it would come after the last sweep.
    """
    if settings.loss or settings.schedule == "asynchronous":
        return _rehearsed(network, settings, coins)
    return _planned_without_coins(network, settings)


@lru_cache(maxsize=16)
def _planned_without_coins(network: Network, settings: Settings) -> Plan:
    return _rehearsed(network, settings, np.random.default_rng(0))


def _rehearsed(network: Network, settings: Settings, coins: np.random.Generator) -> Plan:
    """Run public starts of size one until they agree to within ``tol`` of ``scale``, and note every round."""
    public = np.random.default_rng(0)
    z = public.standard_normal((len(network.arcs), 1, STARTS))
    z = np.concatenate([z, np.zeros_like(z[:1])])  # the last is of no arc
    s = public.standard_normal((network.n, 1, STARTS))
    y = np.zeros_like(s)
    size = float(max(np.abs(s).max(), np.abs(z).max(initial=0.0)))
    clock = _Clock(size, settings.tol / settings.scale)
    sweeps: list[tuple[Round, ...]] = []
    final, moved = False, np.zeros(network.n, dtype=bool)
    for rounds, edges in _sweeps(network, settings, coins):
        before = y[edges.living]
        for round in rounds:
            active = round.active
            arriving = z[active.opposite]
            y[active.nodes] = sent = (s[active.nodes] + active.incoming(z, arriving)) / active.divisors
            z[active.own] = active.updated(z, arriving, sent, settings, round.arrived)
            moved[active.nodes] |= final
        sweeps.append(rounds)
        residual = float(residual_of(y[edges.living], before))
        if moved[edges.living].all():  # one that has just dropped out has moved nobody yet: all may still agree with it
            clock.note(len(sweeps), residual)
        final = edges.final
        if len(sweeps) >= min(clock.enough, settings.max_sweeps):
            break
    if settings.dropout is not None and not edges.final:
        raise SecmixError(
            f"dropout names round {settings.dropout[1]}, but {settings.max_sweeps} sweeps end before it; raise "
            "max_sweeps or let the node drop out earlier"
        )
    return Plan(tuple(sweeps), edges.living, residual / size if clock.needed <= settings.max_sweeps else 0.0)


class _Clock:
    """Finds how many sweeps are needed from when residuals fall below two marks.

    The upper one is where half the digits are won. The lower one is what is wanted, or where rounding begins to show:
    from there the rate between the marks shows how many sweeps are left.
    """

    def __init__(self, size: float, tol: float) -> None:
        self.wanted = min(max(tol, ROUNDING * size), size / 8)
        self.lower = max(self.wanted, min(_CLEAR * ROUNDING * size, size / 8))
        self.upper = math.sqrt(size * self.lower)
        self.halfway = 0
        self.needed = self.enough = math.inf

    def note(self, sweeps: int, residual: float) -> None:
        """Note the residual after so many sweeps."""
        if not self.halfway and residual <= self.upper:
            self.halfway = sweeps
        if self.needed == math.inf and residual <= self.lower:
            per_efold = max(1, sweeps - self.halfway) / math.log(self.upper / self.lower)
            self.needed = sweeps + math.ceil(per_efold * math.log(self.lower / self.wanted))
            self.enough = self.needed + math.ceil(per_efold * math.log(MARGIN))


def residual_of(living: Array, before: Array) -> Array:
    """Measure by how much living nodes differ, or moved in the last sweep; the larger."""
    apart = np.ptp(living, axis=0)
    return np.linalg.norm(np.concatenate([apart.ravel(), (living - before).ravel()]), np.inf)  # type: ignore[return-value]


def _sweeps(
    network: Network, settings: Settings, coins: np.random.Generator
) -> Iterator[tuple[tuple[Round, ...], _Edges]]:
    """Yield the rounds of each sweep, without end, and the edges that are left after it."""
    edges, number = _Edges(network, settings.c), 0
    if settings.dropout is not None:
        edges.final = False
    while True:
        rounds = []
        for nodes in _active(network, settings.schedule, coins):
            if settings.dropout is not None and number == settings.dropout[1]:
                edges = edges.without(settings.dropout[0])
            active = edges.activation(nodes)
            if len(active.nodes):
                arrived = coins.random(len(active.arcs)) >= settings.loss if settings.loss else None
                rounds.append(Round(number, active, arrived))
            number += 1
        yield tuple(rounds), edges


def _active(network: Network, schedule: Schedule, coins: np.random.Generator) -> Iterator[Ints]:
    """Yield the nodes that are active, for each round of a sweep."""
    everyone = np.arange(network.n)
    if schedule == "synchronous":
        yield everyone
    elif schedule == "coloured":
        yield from network.colours
    else:
        for node in coins.integers(network.n, size=network.n):
            yield everyone[node : node + 1]


class _Edges:
    """The edges between living nodes, and what each set of active nodes needs of them."""

    def __init__(self, network: Network, c: float, alive: Bools | None = None) -> None:
        self.network, self.c = network, c
        self.alive = np.ones(network.n, dtype=bool) if alive is None else alive
        self.living: Ints = np.flatnonzero(self.alive)
        self.final = True  # no drop-out is to come
        self._activations: dict[bytes, Activation] = {}

    def without(self, node: int) -> _Edges:
        """Remove the edges of ``node``, once it has fallen silent."""
        self.network.node_set([node], "dropped-out")
        alive = self.alive.copy()
        alive[node] = False
        if len(self.network.components_without(np.flatnonzero(~alive))) != 1:
            raise NetworkError(
                f"without node {node} the network falls apart, so the others cannot agree on one average; add edges"
            )
        return _Edges(self.network, self.c, alive)

    def activation(self, nodes: Ints) -> Activation:
        """Work out the activation of ``nodes``, once for each set."""
        key = nodes.tobytes()
        if key not in self._activations:
            self._activations[key] = self._worked_out(nodes[self.alive[nodes]])
        return self._activations[key]

    def _worked_out(self, nodes: Ints) -> Activation:
        arcs, degrees = self.network.arcs, self.network.degrees
        place = np.full(self.network.n, -1)
        place[nodes] = np.arange(len(nodes))
        # Arcs are in the order of their tails: those of a node are neighbours, found without searching the others.
        first = np.concatenate([[0], np.cumsum(degrees)])
        leaving = np.concatenate([np.arange(first[node], first[node + 1]) for node in nodes] or [np.arange(0)])
        leaving = leaving[self.alive[arcs[leaving]].all(axis=1)]
        senders, receivers = arcs[leaving].T.copy()
        content = place[senders]
        degrees = np.bincount(content, minlength=len(nodes))
        ends = np.cumsum(degrees)
        by_node = tuple(slice(*pair) for pair in np.transpose([ends - degrees, ends]).tolist())
        rank = np.arange(len(leaving)) - (ends - degrees)[content]
        ranks = [np.flatnonzero(rank == k) for k in range(degrees.max(initial=0))]
        divisors = np.asarray(1.0 + self.c * degrees, dtype=np.float64)[:, None, None]
        padded = np.full(len(nodes) * len(ranks), -1)
        padded[content * len(ranks) + rank] = opposite = self.network.opposite[leaving]
        together = len(leaving) and leaving[-1] - leaving[0] + 1 == len(leaving)
        own = slice(int(leaving[0]), int(leaving[-1]) + 1) if together else leaving
        return Activation(
            nodes,
            divisors,
            leaving,
            senders,
            receivers,
            content,
            opposite,
            own,
            int(degrees[0]) if len(nodes) and (degrees == degrees[0]).all() else None,
            by_node,
            tuple((content[span], span) for span in ranks),
            padded if len(padded) <= _ROOM * len(leaving) else None,
        )
