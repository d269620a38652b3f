"""Calls of a collaboration, each with all that the adversary sees and holds of it, and how two of them differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries import Adversary
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.soundness.holding import Place, held
from secmix.auditing.soundness.result import Witness
from secmix.auditing.soundness.runner import ALLOWED, Call, fresh, observation, same_bits, same_blocks
from secmix.auditing.soundness.sight import CHANGED, Eyes, Seen, other_frames, other_numbers
from secmix.network import Network
from secmix.transcript import SERVER, Channel, Origin, Transcript

_MESSAGES = 1_000  # of the calls of a check together
_DIFFER = "RunsDiffer"  # the runs of a call sent different messages: such a call cannot be compared

Deal = Callable[[int, int], Sequence[Array]]
"""``deal(runs, key)``: rows of every node, n arrays (runs, N_i, d), other ones for each key."""

Draws = Callable[[], np.random.Generator]
"""Makes the generator of a call; each time one in the same state."""


@dataclass(frozen=True)
class Handed:
    """What a call is handed beside its rows.

    Attributes
    ----------
    form : callable
        Of which type rows are.
    together : callable
        What the parts are a sequence in.
    begun : bool
        Whether the channel has carried something before.
    """

    form: Callable[[Array], Any] = np.copy
    together: Callable[[list[Any]], Any] = list
    begun: bool = False


AS_USUAL = Handed()


@dataclass(frozen=True)
class Look:
    """One call, what the adversary sees of it and holds beyond doubt, and the state the generator was left in."""

    call: Call
    seen: Seen
    holds: dict[Place, NDArray[Any]]
    left: str


@dataclass
class Bench:
    """What the checks share.

    Attributes
    ----------
    protocol, adversary
        As they were built; every call has a copy, but of an object in use, ``used``.
    heard : bool
        Whether the adversary heard any message in the runs of the audit.
    calls : int
        Calls so far.
    """

    protocol: Any
    network: Network
    adversary: Adversary
    deal: Deal
    seed: int
    used: Any
    heard: bool = False
    calls: int = 0
    most: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.corrupt = self.adversary.corrupt_nodes(self.network)
        self.honest = [node for node in range(self.network.n) if node not in self.corrupt]
        self.blind = not AdversaryTraits.of(self.adversary).sees_metadata
        self.eyes = Eyes(fresh(self.adversary), self.network, self.corrupt, self.blind)
        self.rows = self.deal(1, 0)
        self.first = self.look(self.rows)
        self.most = ALLOWED * max(self.first.call.messages, 1)

    @cached_property
    def messages(self) -> int:
        """How many a single call sends."""
        return max(self.first.call.messages, 1)

    def times(self, bounds: tuple[int, int], messages: int = _MESSAGES) -> int:
        """How often to call, within ``bounds``."""
        return int(np.clip(messages // self.messages, *bounds))

    def look(
        self,
        rows: Sequence[Array],
        *,
        rng: np.random.Generator | None = None,
        protocol: Any = None,
        handed: Handed = AS_USUAL,
    ) -> Look:
        """One call with the same draws each time, unless given others."""
        self.calls += 1
        chosen = fresh(self.protocol) if protocol is None else protocol
        generator = stream(self.seed, "soundness", "collaboration", 0) if rng is None else rng
        given, line = handed.together([handed.form(part) for part in rows]), Channel()
        if handed.begun:
            line.hold(-1, self.honest[0], "of an earlier call", np.zeros((1, 1)))
        most = None if self.most is None else self.most * len(rows[0])  # run by run it sends so many times as much
        call = observation(
            lambda channel: chosen.collaborate(given, self.network, generator, channel=channel), line, most
        )
        untold = call.untold or _addressed(call, self.network.n) or written_on(self.network, line)
        # Told by a copy: an adversary that remembers is asked for the first time.
        holds = held(call, fresh(self.adversary), self.network, self.corrupt)
        # The rows of corrupt nodes, whatever stands in their place now, and what was not there before.
        theirs = [part for node, part in enumerate(given) if node in self.corrupt or node >= self.network.n]
        for place, left in enumerate((*map(np.asarray, theirs), np.array([line.iteration]))):
            holds[Origin(0, -1, "what lies about after the call", "held", SERVER, (SERVER,)), place] = left
        return Look(replace(call, untold=untold), self.eyes.see(call), holds, _state_of(generator))

    def others(self, runs: int, key: int, change: Callable[[Array], Array] = np.asarray) -> list[Array]:
        """Other rows at honest nodes; corrupt nodes keep theirs."""
        first = self.deal(runs, 0) if runs > 1 else self.rows
        return [
            mine if node in self.corrupt else change(other)
            for node, (mine, other) in enumerate(zip(first, self.deal(runs, key), strict=True))
        ]

    def pair(self, key: int, *, runs: int = 1, how: Handed = AS_USUAL, rng: Draws | None = None) -> Witness | None:
        """How two calls differ that have other honest rows and else the same; ``rng`` makes the generator of each.

        More than usual must not be heard in either.
        """
        first = self.rows if runs == 1 else self.deal(runs, 0)
        one = self.look(first, rng=rng and rng(), handed=how)
        if one.call.failure == _DIFFER:
            return None
        # Run by run, each message is heard as often as there are runs.
        if sum(map(len, one.seen.rows[: one.seen.heard])) > runs * self.first.seen.heard:
            names = one.seen.names[: one.seen.heard]
            new = next((name for name in names if name not in self.first.seen.names), names[-1])
            return Witness(new, "it can be heard, which it could not before")
        other = self.look(self.others(runs, key), rng=rng and rng(), handed=how)
        return None if other.call.failure == _DIFFER else unlike(one, other)


def unlike(one: Look, other: Look, *, may_refuse: bool = False) -> Witness | None:
    """How ``other`` differs for the adversary; where it may be refused, from what it was before that."""
    if other.call.untold:
        return Witness("the transcript", other.call.untold)
    refused = may_refuse and bool(other.call.failure)
    if other.call.failure != one.call.failure and not refused:
        return Witness("a call", f"it ends with {other.call.failure or 'no error'}")
    heard = other.seen.names[: other.seen.heard]
    if heard and not one.seen.heard:
        return Witness(heard[0], "it can be heard, which it could not before")
    rows = [look.seen.rows[: look.seen.heard] if refused else look.seen.rows for look in (one, other)]
    return (
        other_frames(one.seen.frames, other.seen.frames, prefix=refused)
        or other_numbers(rows[0], rows[1], one.seen.names)
        or _other_holdings(one, other, prefix=refused)
    )


def depends(one: Call, other: Call) -> bool:
    """Whether anything that is sent, heard or not, or ended with differs between two calls on other rows.

    What a node holds does not count: whoever runs the protocol writes that down, and it may be used by nobody.
    """
    sent, again = ([block for block in call.blocks if block.line != "held"] for call in (one, other))
    same = one.failure == other.failure and same_bits(one.results, other.results) and same_blocks(sent, again)
    return not same


def _other_holdings(one: Look, other: Look, *, prefix: bool) -> Witness | None:
    """The first number held in one call and not in the other."""
    for (origin, place), numbers in other.holds.items():
        before = one.holds.get((origin, place))
        if before is None:
            return Witness(str(origin), "it is held, which it was not on other rows")
        if not same_bits(before, numbers):
            return Witness(str(origin), CHANGED)
    missing = [] if prefix else [origin for origin, place in one.holds if (origin, place) not in other.holds]
    return Witness(str(missing[0]), "it is held no more") if missing else None


def _addressed(call: Call, n: int) -> str:
    """What is wrong with the addresses of messages: -1 is the server, and nodes are those of the network."""
    ends = (end for block in call.blocks for end in (block.sender, block.receiver))
    if any(len(end) and not -1 <= end.min() <= end.max() < n for end in ends):
        return "a message is from or to a node that the network does not have, and who hears it is not known"
    return ""


def written_on(network: Network, line: Channel) -> str:
    """Where somebody wrote what everybody knows: on the network, or on the channel."""
    graph = network.graph
    attributes = [graph.graph, *(of for _, of in graph.nodes(data=True)), *(of for *_, of in graph.edges(data=True))]
    if any(attributes) or _unknown(network, _PLAIN):
        return "something was written on the network, which everybody knows"
    if _unknown(line, _BARE) or _unknown(line.transcript, _EMPTY):
        return "something was written on the channel, which is no message"
    return ""


def _unknown(thing: Any, known: frozenset[str]) -> bool:
    return any(name not in known and not hasattr(type(thing), name) for name in getattr(thing, "__dict__", ()))


_PLAIN, _BARE, _EMPTY = (frozenset(vars(plain)) for plain in (Network.complete(2), Channel(), Transcript()))


def _state_of(generator: np.random.Generator) -> str:
    """All that its next draws depend on, those of its children too."""
    bits: Any = generator.bit_generator
    return f"{bits.state} {getattr(bits.seed_seq, 'n_children_spawned', 0)}"
