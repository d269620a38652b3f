"""Block: messages of one kind in one round. Transcript: every message of a run, in order.

Index arrays give sender, receiver and content of each message; ``payload`` has each content once, even if a broadcast
carries it to many neighbours. Axis ``runs`` is the Monte Carlo axis: the same messages, with other data and masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.errors import SecmixError


@dataclass
class _MemoryLimit:
    left: float
    error: SecmixError


_LIMIT: ContextVar[_MemoryLimit | None] = ContextVar("room for messages", default=None)


@contextmanager
def at_most(nbytes: float, error: SecmixError) -> Iterator[None]:
    """Limit the messages of all transcripts together to ``nbytes`` meanwhile; beyond it, raise ``error``.

    >>> from secmix.transcript import Channel
    >>> with at_most(10, SecmixError("too much")):
    ...     Channel().send(0, [0], [1], "rows", np.zeros((1, 1, 2)))
    Traceback (most recent call last):
    ...
    secmix.errors.SecmixError: too much
    """
    token = _LIMIT.set(_MemoryLimit(nbytes, error))
    try:
        yield
    finally:
        _LIMIT.reset(token)


SERVER = -1
"""The node number of a coordinating server, which is on no edge of the network."""

Line = Literal["plain", "encrypted", "held"]
"""A plain channel, an encrypted one, or no channel: something a node holds (its input, a mask it drew)."""


@dataclass(frozen=True)
class Block:
    """Messages of one kind sent in one round.

    Attributes
    ----------
    iteration : int
        Number of the averaging (EM iteration); 0 if there is only one.
    round : int
        Communication round within that averaging; -1 before the first.
    kind : str
        The kind of message, in the protocol's words: "running sum", "y", "lambda", ...
    line : {"plain", "encrypted", "held"}
    sender, receiver : (M,) int
        Node numbers; ``SERVER`` (-1) is the server. What a node holds has sender = receiver.
    content : (M,) int
        Row of ``payload`` that each message carries.
    payload : (P, runs, m) float
    """

    iteration: int
    round: int
    kind: str
    line: Line
    sender: Ints
    receiver: Ints
    content: Ints
    payload: Array

    @property
    def runs(self) -> int:
        """Number of Monte Carlo runs."""
        return int(self.payload.shape[1])

    @property
    def frame(self) -> tuple[object, ...]:
        """All but the numbers and the number of runs: iteration, round, kind, line, ends, and shape."""
        ends = (tuple(which.tolist()) for which in (self.sender, self.receiver, self.content))
        return (self.iteration, self.round, self.kind, self.line, *ends, self.payload.shape[0], self.payload.shape[2])


def touching(block: Block, nodes: Ints) -> NDArray[np.bool_]:
    """Select the messages of ``block`` that come from one of ``nodes`` or go to one, (M,)."""
    ends = (block.sender[:, None] == nodes) | (block.receiver[:, None] == nodes)
    return np.asarray(ends.any(axis=1))


@dataclass
class Transcript:
    """An append-only list of message blocks."""

    blocks: list[Block] = field(default_factory=list)

    def append(self, block: Block) -> None:
        """Add ``block`` at the end."""
        self.blocks.append(block)
        if (limit := _LIMIT.get()) is not None:
            limit.left -= block.payload.nbytes
            if limit.left < 0:
                raise limit.error

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    @property
    def messages(self) -> int:
        """Number of messages that crossed a channel (what nodes hold does not count)."""
        return sum(len(b.sender) for b in self.blocks if b.line != "held")

    @property
    def nbytes(self) -> int:
        """Memory the payloads take, in bytes."""
        return sum(b.payload.nbytes for b in self.blocks)

    @property
    def iterations(self) -> list[int]:
        """The iterations that appear, in order."""
        return sorted({b.iteration for b in self.blocks})

    def at(self, iteration: int) -> list[Block]:
        """Select the blocks of one iteration."""
        return [b for b in self.blocks if b.iteration == iteration]
