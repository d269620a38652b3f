"""Undeclared flow: what one node learns of another's data must have reached it in messages.

The protocol runs twice with the same draws. The second time one node has other data, and the channel delivers the
messages of the first run, so that no node receives the change. If anything else than the messages and the result of
that node then changes, data passed outside the channel.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import sequence, stream
from secmix.auditing.setup import CollaborationSetup
from secmix.auditing.soundness.adversary_observer import numbers
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import Collaboration, SumProtocol
from secmix.scenario import Scenario
from secmix.transcript import Channel, Transcript

_MOST = 12  # nodes whose data are changed


class _ReplayingChannel(Channel):
    """Record each message, and deliver that of an earlier run, or in the first run the message itself."""

    def __init__(self, before: _ReplayingChannel | None = None) -> None:
        super().__init__()
        self.before = before
        self.delivered: list[Any] = []
        self.shapes: list[list[tuple[object, ...]]] = []

    def send(self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, **how: Any) -> Any:
        """Send like :meth:`Channel.send`, but deliver the message of the earlier run."""
        transcript, start = self.transcript, len(self.transcript.blocks)
        arrives = super().send(round, sender, receiver, kind, payload, **how)
        self.shapes.append([(block.kind, block.payload.shape) for block in transcript.blocks[start:]])
        if self.before is not None:
            place = len(self.delivered)
            if self.before.shapes[place : place + 1] != self.shapes[-1:]:
                raise _MessagesDiffer("different messages are sent")
            arrives = self.before.delivered[place]
        self.delivered.append(copy.deepcopy(arrives))
        return copy.deepcopy(arrives)


class _MessagesDiffer(SecmixError):
    """Different messages are sent, or messages of different lengths."""


def undeclared_flow(cell: Scenario, setup: CollaborationSetup) -> str | None:
    """Describe what passes outside the channel; None if nothing does.

    A protocol in which one node's draws depend on the rows of another counts as such a flow: let every node draw from
    its own generator (``rng.spawn``).
    """
    first, other = (setup.sample_rows(1, stream(cell.seed, "undeclared flow", k)) for k in ("first", "other"))
    # A number, since a seed sequence counts its spawned children and would draw other numbers the second time.
    seed = int(sequence(cell.seed, "undeclared flow", "protocol").generate_state(1)[0])
    return passed_outside(setup.protocol, setup.network, first, other, seed)


def passed_outside(
    protocol: Collaboration | SumProtocol, network: Network, first: list[Array], other: list[Array], seed: int
) -> str | None:
    """Describe what passes between nodes outside the channel; None if nothing does.

    Parameters
    ----------
    protocol : collaboration or sum protocol
    first, other : list of arrays
        Rows (runs, N_i, d) or inputs (runs, m) of each node, and their replacements.
    seed : int
        Seed of the draws of every call.
    """
    honest = _ReplayingChannel()
    ended = _run(protocol, network, first, honest, seed)
    for node in range(min(network.n, _MOST)):
        changed = [other[i] if i == node else part for i, part in enumerate(first)]
        channel = _ReplayingChannel(honest)
        try:
            ends = _run(protocol, network, changed, channel, seed)
            changed_elsewhere = _changed_elsewhere(honest.transcript, channel.transcript, node)
        except _MessagesDiffer:
            return f"the number, kind or length of messages changes with the data of node {node}"
        if ends.shape != ended.shape:
            return f"the shape of the result changes with the data of node {node}"
        differs = set(np.flatnonzero(_changed(ended, ends).any(axis=(0, 2))).tolist()) - {node}
        if changed_elsewhere is None and differs:
            changed_elsewhere = f"the result of node {min(differs)}"
        if changed_elsewhere is not None:
            return (
                f"{changed_elsewhere} changes with the data of node {node}, without a message from it: data pass "
                "outside "
                "the channel, and their readers are unknown"
            )
    return None


def _changed_elsewhere(before: Transcript, after: Transcript, node: int) -> str | None:
    """Find a message, or a held number, that is not of ``node`` and yet changed."""
    if [(block.frame, block.runs) for block in before] != [(block.frame, block.runs) for block in after]:
        raise _MessagesDiffer("different messages are sent")
    for old, new in zip(before, after, strict=True):
        differs = np.any(_changed(old.payload, new.payload), axis=(1, 2))[old.content]
        for sender in sorted(set(old.sender[differs].tolist()) - {node}):
            who = "the server" if sender < 0 else f"node {sender}"
            return f"the '{old.kind}' of {who} in round {old.round}"
    return None


def _changed(before: Array, after: Array) -> Array:
    """Find where numbers differ; NaN in both counts as equal."""
    old, new = numbers(before), numbers(after)
    if before.dtype.kind not in "fiub":  # such as text
        return np.asarray(before != after)
    return np.asarray((old != new) & ~(np.isnan(old) & np.isnan(new)))


def _run(protocol: Any, network: Network, data: list[Array], channel: Channel, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    copies = [part.copy() for part in data]  # a protocol may change its rows in place
    if isinstance(protocol, SumProtocol):
        return np.asarray(protocol.average(np.stack(copies, axis=1), network, rng, channel=channel)[0])
    return np.asarray(protocol.collaborate(copies, network, rng, channel=channel), dtype=np.float64)
