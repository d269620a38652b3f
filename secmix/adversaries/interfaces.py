"""The interface of an adversary, and how a transcript becomes a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from secmix.network import Network
from secmix.transcript import Block, Transcript, View, collect

Heard = Callable[[Block], npt.NDArray[np.bool_]]


@runtime_checkable
class Adversary(Protocol):
    """The interface; any class with these two methods can be put against a protocol."""

    def observe(self, transcript: Transcript, network: Network) -> View:
        """What this adversary holds of a run."""
        ...

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """The nodes it controls, whose own data are no secret from it."""
        ...


def view_of(transcript: Transcript, heard: Heard) -> View:
    """The view of an adversary that holds message k of a block where ``heard(block)[k]``."""
    pairs = ((block, np.flatnonzero(heard(block))) for block in transcript)
    return collect((block, messages) for block, messages in pairs if len(messages))


def none_of(block: Block) -> npt.NDArray[np.bool_]:
    """No message of the block."""
    return np.zeros(len(block.sender), dtype=bool)
