"""The interface of an adversary, and how a transcript becomes a view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from secmix.adversaries.attacks.attack import Attack
from secmix.network import Network
from secmix.transcript import Block, Transcript, View, collect

Readable = Callable[[Block], npt.NDArray[np.bool_]]


@runtime_checkable
class Adversary(Protocol):
    """The interface; any class with these two methods can be put against a protocol.

    It may have more members: those of :class:`AdversaryTraits`, which says what each means and what holds without it.
    """

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Return what this adversary holds of a run."""
        ...

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return the nodes it controls, whose own data are no secret from it."""
        ...


@dataclass(frozen=True)
class AdversaryTraits:
    """The optional members of an adversary; those that it lacks take the defaults here.

    Attributes
    ----------
    sees_metadata : bool
        Whether it observes the number, kind, size and time of messages, encrypted ones included.
    active : callable or None
        ``active(protocol) -> protocol``: the sum protocol as it runs where this adversary takes part.
    serves : callable or None
        ``serves(collaboration) -> collaboration``: the same with a server that sends what this adversary chooses.
    tapped : iterable of (a, b), or None
        The edges it taps; None means that it is not bound to some.
    eavesdrops : bool or None
        Whether it reads every plain line; None means: only an adversary that taps lines does.
    against : callable or None
        ``against(kinds) -> {name: Attack}``: of a Byzantine adversary, how it attacks a protocol that sends messages of
        these kinds; an error if it cannot. None means that it is passive.
    scale : float
        How much farther than usual the attacks go.
    server : bool
        Whether it is the coordinating server; reports say so, and no verdict depends on it.
    reads_result : bool
        Whether it reads what the protocol ends with and no message before: the protocol is then put into
        :class:`~secmix.protocols.released.Released`, and nobody is cleared of what the result tells.
    """

    sees_metadata: bool = True
    active: Callable[[Any], Any] | None = None
    serves: Callable[[Any], Any] | None = None
    tapped: Iterable[Sequence[int]] | None = None
    eavesdrops: bool | None = None
    against: Callable[[Iterable[str]], Mapping[str, Attack]] | None = None
    scale: float = 1.0
    server: bool = False
    reads_result: bool = False

    @classmethod
    def of(cls, adversary: Any) -> AdversaryTraits:
        """Read the optional members of ``adversary``; those that it lacks take their defaults."""
        own = {each.name: getattr(adversary, each.name) for each in fields(cls) if hasattr(adversary, each.name)}
        return cls(**{"eavesdrops": "tapped" in own, **own})


def view_of(transcript: Transcript, readable: Readable) -> View:
    """Build the view of an adversary that holds message k of a block where ``readable(block)[k]``."""
    pairs = ((block, np.flatnonzero(readable(block))) for block in transcript)
    return collect((block, messages) for block, messages in pairs if len(messages))


def none_of(block: Block) -> npt.NDArray[np.bool_]:
    """Select no message of the block."""
    return np.zeros(len(block.sender), dtype=bool)
