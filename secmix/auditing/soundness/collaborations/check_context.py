"""Calls of a collaboration with all that the adversary observes and reads, and the comparison of two calls."""

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
from secmix.auditing.setup import deep_copy
from secmix.auditing.soundness.adversary_observer import (
    CHANGED,
    AdversaryObserver,
    AdversaryView,
    other_frames,
    other_numbers,
)
from secmix.auditing.soundness.check_result import Counterexample
from secmix.auditing.soundness.numbers_read import Place, numbers_read
from secmix.auditing.soundness.runner import ALLOWED, Call, record_call, same_bits, same_blocks
from secmix.network import Network
from secmix.transcript import SERVER, Channel, Origin, Transcript

_MESSAGES = 1_000  # messages of all calls of a check
_DIFFER = "RunsDiffer"  # the runs of a call send different messages, so that it cannot be compared

SampleRows = Callable[[int, int], Sequence[Array]]
"""``sample_rows(runs, key)``: rows of every node, n arrays (runs, N_i, d), different ones for each key."""

Draws = Callable[[], np.random.Generator]
"""Makes the generator of a call, in the same state each time."""


@dataclass(frozen=True)
class CallVariant:
    """Arguments of a call besides its rows."""

    form: Callable[[Array], Any] = np.copy  # converts the rows of a node to another type
    container: Callable[[list[Any]], Any] = list  # type of the sequence of all rows
    begun: bool = False  # whether the channel has a message from before the call


AS_USUAL = CallVariant()


@dataclass(frozen=True)
class ObservedCall:
    """One call, with what the adversary observes and certainly reads, and the final state of the generator."""

    call: Call
    view: AdversaryView
    known: dict[Place, NDArray[Any]]
    generator: str


@dataclass
class CheckContext:
    """Context that the checks share."""

    # as they were built; every call has a copy, except calls of the object in use, ``used``
    protocol: Any
    network: Network
    adversary: Adversary
    sample_rows: SampleRows
    seed: int
    used: Any
    reads_messages: bool = False  # whether the adversary read any message in the runs of the audit
    calls: int = 0  # number of calls so far
    most: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.corrupt = self.adversary.corrupt_nodes(self.network)
        self.honest = [node for node in range(self.network.n) if node not in self.corrupt]
        self.blind = not AdversaryTraits.of(self.adversary).sees_metadata
        self.observer = AdversaryObserver(deep_copy(self.adversary), self.network, self.corrupt, self.blind)
        self.rows = self.sample_rows(1, 0)
        self.first = self.observe_call(self.rows)
        self.most = ALLOWED * max(self.first.call.messages, 1)

    @cached_property
    def messages(self) -> int:
        """Number of messages of a single call."""
        return max(self.first.call.messages, 1)

    def times(self, bounds: tuple[int, int], messages: int = _MESSAGES) -> int:
        """Choose the number of calls, within ``bounds``."""
        return int(np.clip(messages // self.messages, *bounds))

    def observe_call(
        self,
        rows: Sequence[Array],
        *,
        rng: np.random.Generator | None = None,
        protocol: Any = None,
        variant: CallVariant = AS_USUAL,
    ) -> ObservedCall:
        """Make one call, with the same draws each time unless ``rng`` is given."""
        self.calls += 1
        chosen = deep_copy(self.protocol) if protocol is None else protocol
        generator = stream(self.seed, "soundness", "collaboration", 0) if rng is None else rng
        arguments, line = variant.container([variant.form(part) for part in rows]), Channel()
        if variant.begun:
            line.hold(-1, self.honest[0], "of an earlier call", np.zeros((1, 1)))
        most = (
            None if self.most is None else self.most * len(rows[0])
        )  # a protocol that goes run by run sends that many times as much
        call = record_call(
            lambda channel: chosen.collaborate(arguments, self.network, generator, channel=channel), line, most
        )
        unrecorded = call.unrecorded or _addressed(call, self.network.n) or written_on(self.network, line)
        # By a copy, since an adversary may keep state.
        known = numbers_read(call, deep_copy(self.adversary), self.network, self.corrupt)
        # The rows of corrupt nodes after the call, which code may have changed, and the channel's state.
        corrupt_rows = [part for node, part in enumerate(arguments) if node in self.corrupt or node >= self.network.n]
        for place, numbers in enumerate((*map(np.asarray, corrupt_rows), np.array([line.iteration]))):
            known[Origin(0, -1, "state after the call", "held", SERVER, (SERVER,)), place] = numbers
        return ObservedCall(
            replace(call, unrecorded=unrecorded), self.observer.observe(call), known, _state_of(generator)
        )

    def other_rows(self, runs: int, key: int, change: Callable[[Array], Array] = np.asarray) -> list[Array]:
        """Sample other rows for honest nodes; corrupt nodes keep theirs."""
        first = self.sample_rows(runs, 0) if runs > 1 else self.rows
        return [
            own if node in self.corrupt else change(other)
            for node, (own, other) in enumerate(zip(first, self.sample_rows(runs, key), strict=True))
        ]

    def compare_pair(
        self, key: int, *, runs: int = 1, variant: CallVariant = AS_USUAL, rng: Draws | None = None
    ) -> Counterexample | None:
        """Compare two calls with different honest rows; return how they differ, or None.

        ``rng`` makes the generator of each call. In neither may the adversary read more than usual.
        """
        first = self.rows if runs == 1 else self.sample_rows(runs, 0)
        before = self.observe_call(first, rng=rng and rng(), variant=variant)
        if before.call.failure == _DIFFER:
            return None
        # A protocol that goes run by run sends each message once for each run.
        if sum(map(len, before.view.rows[: before.view.readable])) > runs * self.first.view.readable:
            names = before.view.names[: before.view.readable]
            new = next((name for name in names if name not in self.first.view.names), names[-1])
            return Counterexample(new, "expected no such message for the adversary to read, found one")
        after = self.observe_call(self.other_rows(runs, key), rng=rng and rng(), variant=variant)
        return None if after.call.failure == _DIFFER else difference(before, after)


def difference(before: ObservedCall, after: ObservedCall, *, may_refuse: bool = False) -> Counterexample | None:
    """Describe how ``after`` differs for the adversary; if it may be refused, compare only what was sent before."""
    if after.call.unrecorded:
        return Counterexample("the transcript", after.call.unrecorded)
    refused = may_refuse and bool(after.call.failure)
    if after.call.failure != before.call.failure and not refused:
        return Counterexample(
            "a call", f"expected {before.call.failure or 'no error'}, found {after.call.failure or 'no error'}"
        )
    readable = after.view.names[: after.view.readable]
    if readable and not before.view.readable:
        return Counterexample(readable[0], "expected no such message for the adversary to read, found one")
    rows = [
        observed.view.rows[: observed.view.readable] if refused else observed.view.rows for observed in (before, after)
    ]
    return (
        other_frames(before.view.frames, after.view.frames, prefix=refused)
        or other_numbers(rows[0], rows[1], before.view.names)
        or _other_numbers_read(before, after, prefix=refused)
    )


def depends(before: Call, after: Call) -> bool:
    """Check whether any message, readable or not, or any result differs between two calls on different rows.

    What a node holds does not count, since the protocol may never use it.
    """
    first, second = ([block for block in call.blocks if block.line != "held"] for call in (before, after))
    same = before.failure == after.failure and same_bits(before.results, after.results) and same_blocks(first, second)
    return not same


def _other_numbers_read(before: ObservedCall, after: ObservedCall, *, prefix: bool) -> Counterexample | None:
    """Find the first number that is read in one call and not in the other."""
    for (origin, place), numbers in after.known.items():
        earlier = before.known.get((origin, place))
        if earlier is None:
            return Counterexample(str(origin), "expected no such number for the adversary to read, found one")
        if not same_bits(earlier, numbers):
            return Counterexample(str(origin), CHANGED)
    missing = [] if prefix else [origin for origin, place in before.known if (origin, place) not in after.known]
    return (
        Counterexample(str(missing[0]), "expected this number for the adversary to read, found none")
        if missing
        else None
    )


def _addressed(call: Call, n: int) -> str:
    """Check the addresses of messages: -1 is the server, others are nodes of the network; return the fault."""
    ends = (end for block in call.blocks for end in (block.sender, block.receiver))
    if any(len(end) and not -1 <= end.min() <= end.max() < n for end in ends):
        return "a message is from or to a node that is not in the network, so its readers are unknown"
    return ""


def written_on(network: Network, line: Channel) -> str:
    """Check whether code wrote on the network or on the channel, which all nodes share; return the fault."""
    graph = network.graph
    attributes = [
        graph.graph,
        *(data for _, data in graph.nodes(data=True)),
        *(data for *_, data in graph.edges(data=True)),
    ]
    if any(attributes) or _unknown(network, _PLAIN):
        return "the code wrote an attribute of the network, which all nodes share; send a message instead"
    if _unknown(line, _BARE) or _unknown(line.transcript, _EMPTY):
        return "the code wrote an attribute of the channel, which is not a message; use channel.send instead"
    return ""


def _unknown(thing: Any, known: frozenset[str]) -> bool:
    return any(name not in known and not hasattr(type(thing), name) for name in getattr(thing, "__dict__", ()))


_PLAIN, _BARE, _EMPTY = (frozenset(vars(plain)) for plain in (Network.complete(2), Channel(), Transcript()))


def _state_of(generator: np.random.Generator) -> str:
    """Describe the state of a generator, including the number of spawned children."""
    bits: Any = generator.bit_generator
    return f"{bits.state} {getattr(bits.seed_seq, 'n_children_spawned', 0)}"
