"""Whether a protocol tells all: what one node learns of another's data must have reached it in messages.

The protocol runs twice with the same draws. The second time one node has other data, and the channel delivers what it
delivered the first time, so that nobody hears of the change. Whatever is then different, but for what that node itself
says and ends with, has come to somebody outside the channel.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import sequence, stream
from secmix.auditing.setup import CollaborationSetup
from secmix.auditing.soundness.sight import numbers
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import Collaboration, SumProtocol
from secmix.scenario import Scenario
from secmix.transcript import Channel, Transcript

_MOST = 12  # nodes whose data are changed


class _Deaf(Channel):
    """Writes down what is said and delivers what was said before; the first time, what is said."""

    def __init__(self, before: _Deaf | None = None) -> None:
        super().__init__()
        self.before = before
        self.delivered: list[Any] = []
        self.shapes: list[list[tuple[object, ...]]] = []

    def send(self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, **how: Any) -> Any:
        """As :meth:`Channel.send`, but for what arrives."""
        transcript, begun = self.transcript, len(self.transcript.blocks)
        arrives = super().send(round, sender, receiver, kind, payload, **how)
        self.shapes.append([(block.kind, block.payload.shape) for block in transcript.blocks[begun:]])
        if self.before is not None:
            place = len(self.delivered)
            if self.before.shapes[place : place + 1] != self.shapes[-1:]:
                raise _Restless("other messages are sent")
            arrives = self.before.delivered[place]
        self.delivered.append(copy.deepcopy(arrives))
        return copy.deepcopy(arrives)


class _Restless(SecmixError):
    """Other messages are sent, or as many numbers more or fewer."""


def undeclared_flow(cell: Scenario, setup: CollaborationSetup) -> str | None:
    """In words, what passed outside the channel; None where nothing did.

    A protocol in which one node's draws depend on the rows of another is found guilty too: let every node draw from a
    generator of its own (``rng.spawn``).
    """
    first, other = (setup.deal(1, stream(cell.seed, "undeclared flow", k)) for k in ("first", "other"))
    # A number, not a sequence: that counts the children it has spawned, and would draw others the second time.
    seed = int(sequence(cell.seed, "undeclared flow", "protocol").generate_state(1)[0])
    return passed_outside(setup.protocol, setup.network, first, other, seed)


def passed_outside(
    protocol: Collaboration | SumProtocol, network: Network, first: list[Array], other: list[Array], seed: int
) -> str | None:
    """Say in words what passes between nodes outside the channel; None where nothing does.

    Parameters
    ----------
    protocol : collaboration or sum protocol
    first, other : list of arrays
        Of each node, rows (runs, N_i, d) or inputs (runs, m), and others in their place.
    seed : int
        The draws of every call.
    """
    honest = _Deaf()
    ended = _run(protocol, network, first, honest, seed)
    for node in range(min(network.n, _MOST)):
        changed = [other[i] if i == node else part for i, part in enumerate(first)]
        channel = _Deaf(honest)
        try:
            ends = _run(protocol, network, changed, channel, seed)
            stranger = _stranger(honest.transcript, channel.transcript, node)
        except _Restless:
            return f"which messages are sent, and how long they are, changes with the data of node {node}"
        if ends.shape != ended.shape:
            return f"how many numbers the protocol ends with changes with the data of node {node}"
        differs = set(np.flatnonzero(_changed(ended, ends).any(axis=(0, 2))).tolist()) - {node}
        if stranger is None and differs:
            stranger = f"what node {min(differs)} ends with"
        if stranger is not None:
            return (
                f"{stranger} changes with the data of node {node}, of which no message told: something passes outside "
                "the channel, and who hears it is not known"
            )
    return None


def _stranger(before: Transcript, after: Transcript, node: int) -> str | None:
    """A message, or something held, that is not of ``node`` and yet not what it was."""
    if [(block.frame, block.runs) for block in before] != [(block.frame, block.runs) for block in after]:
        raise _Restless("other messages are sent")
    for old, new in zip(before, after, strict=True):
        differs = np.any(_changed(old.payload, new.payload), axis=(1, 2))[old.content]
        for sender in sorted(set(old.sender[differs].tolist()) - {node}):
            who = "the server" if sender < 0 else f"node {sender}"
            return f"the '{old.kind}' of {who} in round {old.round}"
    return None


def _changed(before: Array, after: Array) -> Array:
    """Where numbers differ; one that was not a number and still is none has not changed."""
    one, other = numbers(before), numbers(after)
    if before.dtype.kind not in "fiub":  # texts and the like
        return np.asarray(before != after)
    return np.asarray((one != other) & ~(np.isnan(one) & np.isnan(other)))


def _run(protocol: Any, network: Network, data: list[Array], channel: Channel, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    given = [part.copy() for part in data]  # a protocol may work on its rows where they lie
    if isinstance(protocol, SumProtocol):
        return np.asarray(protocol.average(np.stack(given, axis=1), network, rng, channel=channel)[0])
    return np.asarray(protocol.collaborate(given, network, rng, channel=channel), dtype=np.float64)
