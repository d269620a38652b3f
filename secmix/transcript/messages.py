"""Block: messages of one kind in one round. Transcript: every message of a run, in order. View: what one reader reads.

Index arrays give sender, receiver and content of each message; ``payload`` has each content once, even if a broadcast
carries it to many neighbours. Axis ``runs`` is the Monte Carlo axis: the same messages, with other data and masks. The
rows of a view are the messages of a transcript that one adversary reads; beside them stand the lines of a network that
they came over. Listeners are called for messages as they pass.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

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


Pair = tuple[int, int]
"""Two ends, the smaller number first; a server is −1."""


class Origin(NamedTuple):
    """The message that a row of a view comes from."""

    iteration: int
    round: int
    kind: str
    line: Line
    sender: int
    receivers: tuple[int, ...]

    def __str__(self) -> str:
        when = "before the first round" if self.round < 0 else f"round {self.round}"
        if self.iteration:
            when += f", iteration {self.iteration}"
        if self.line == "held":
            return f"{self.kind} held by {_name(self.sender)}, {when}"
        to = " and ".join(_name(r) for r in self.receivers)
        return f"{self.kind} from {_name(self.sender)} to {to}, {when}"


def _name(node: int) -> str:
    return "the server" if node == SERVER else str(node)


@dataclass(frozen=True)
class View:
    """The rows of numbers that one adversary reads, each with its origin.

    Attributes
    ----------
    origins : tuple of Origin, length R
    rows : tuple of (runs, m) arrays, length R
        Rows of one iteration have the same m; it may differ between iterations.
    """

    origins: tuple[Origin, ...]
    rows: tuple[Array, ...]

    @property
    def values(self) -> Array:
        """The view flattened to features, (runs, features)."""
        return np.concatenate(self.rows, axis=1) if self.rows else np.empty((0, 0))

    @property
    def sources(self) -> list[str]:
        """Each feature's source in words, as long as ``values`` is wide."""
        named = zip(self.origins, self.rows, strict=True)
        return [str(o) if r.shape[1] == 1 else f"{o}, entry {j}" for o, r in named for j in range(r.shape[1])]

    @property
    def iterations(self) -> list[int]:
        """The iterations with at least one row, in order."""
        return sorted({origin.iteration for origin in self.origins})

    def at(self, iteration: int) -> View:
        """Select the part of the view from one iteration."""
        selected = [r for r, origin in enumerate(self.origins) if origin.iteration == iteration]
        return View(tuple(self.origins[r] for r in selected), tuple(self.rows[r] for r in selected))

    def __len__(self) -> int:
        return len(self.origins)


def collect(readable: Iterable[tuple[Block, Ints]]) -> View:
    """Make a view of readable messages, (block, message indices) pairs; equal contents appear once."""
    origins: list[Origin] = []
    rows: list[Array] = []
    for block, messages in readable:
        ends = (numbers[messages].tobytes() for numbers in (block.content, block.sender, block.receiver))
        contents, of_contents = _origins(block.iteration, block.round, block.kind, block.line, *ends)
        origins += of_contents
        rows += [block.payload[content] for content in contents]
    return View(tuple(origins), tuple(rows))


@lru_cache(maxsize=2**14)  # transcripts of further runs, and of other adversaries, repeat the messages of the first
def _origins(
    iteration: int, round: int, kind: str, line: Line, *ends: bytes
) -> tuple[tuple[int, ...], tuple[Origin, ...]]:
    """List each content of some messages once, and where it comes from."""
    several = _by_content(*ends)
    contents = tuple(content for content, _, _ in several)
    return contents, tuple(Origin(iteration, round, kind, line, sender, to) for _, sender, to in several)


@lru_cache(maxsize=2**10)  # rounds repeat senders and receivers
def _by_content(*ends: bytes) -> list[tuple[int, int, tuple[int, ...]]]:
    """List each content in order, with the sender of its first message and the receivers of all."""
    contents, senders, receivers = (np.frombuffer(each, np.intp) for each in ends)
    order = np.argsort(contents, kind="stable")
    by_content: dict[int, tuple[int, set[int]]] = {}
    for content, sender, receiver in zip(
        *(numbers[order].tolist() for numbers in (contents, senders, receivers)), strict=True
    ):
        by_content.setdefault(content, (sender, set()))[1].add(receiver)
    return [(content, sender, tuple(sorted(to))) for content, (sender, to) in by_content.items()]


@dataclass(frozen=True)
class Lines:
    """Lines of one or several runs."""

    used: frozenset[Pair] = frozenset()  # (a, b): lines that carry messages
    # (a, b): lines with at least one message that the adversary reads, including encrypted lines that end
    # at its nodes
    read: frozenset[Pair] = frozenset()
    # (a, b): lines with at least one message that the adversary would read if none were encrypted, and does not read
    closed: frozenset[Pair] = frozenset()


def lines_of(transcript: Transcript, view: View, observe: Callable[[Transcript], View]) -> Lines:
    """List the lines of a transcript, those of which ``view`` has messages, and those that only encryption closes.

    ``observe`` says what the adversary reads of a transcript; of this one it is ``view``.
    """
    # Rounds repeat senders and receivers.
    blocks = {(b.sender.tobytes(), b.receiver.tobytes()): b for b in transcript if b.line != "held"}
    used = {
        _ordered(*ends)
        for block in blocks.values()
        for ends in zip(block.sender.tolist(), block.receiver.tolist(), strict=True)
    }
    # A content that several nodes sent is in the view once, under the first sender.
    read = _ends(view.origins) & used
    closed = frozenset[Pair]()
    if any(block.line == "encrypted" for block in transcript):
        plain = observe(Transcript([_in_the_clear(block) for block in transcript]))
        known = {origin._replace(line="plain") for origin in view.origins if origin.line != "held"}
        closed = _ends(origin for origin in plain.origins if origin not in known) & used
    return Lines(frozenset(used), frozenset(read), closed)


def _ends(origins: Iterable[Origin]) -> frozenset[Pair]:
    ends = {(origin.sender, origin.receivers) for origin in origins if origin.line != "held"}
    return frozenset(_ordered(sender, receiver) for sender, receivers in ends for receiver in receivers)


def _in_the_clear(block: Block) -> Block:
    """Return the block of one run, as if its line were not encrypted."""
    return block if block.line == "held" else replace(block, line="plain", payload=block.payload[:, :1])


def joined_lines(lines: Iterable[Lines]) -> Lines:
    """Merge the used lines, and the read lines, of several runs."""
    parts = list(lines)
    of_all = [[x.used for x in parts], [x.read for x in parts], [x.closed for x in parts]]
    return Lines(*(frozenset().union(*several) for several in of_all))


def _ordered(a: int, b: int) -> Pair:
    return min(a, b), max(a, b)


Listener = Callable[[Any, Block | None], None]
"""Called twice for each message, with its channel: with None before it is sent, and the recorded block afterwards."""

_CONTEXT_LISTENERS: ContextVar[tuple[Listener, ...] | None] = ContextVar("listeners", default=None)
_LISTENERS: list[tuple[Listener, int]] = []  # with the thread that listens


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` for each message on every channel meanwhile, whether the channel records or not.

    The first call shows a message even if the channel's class records differently, or not at all. A thread that is
    started meanwhile, or another context, has no listeners of its own, and calls those of all threads. Listeners add
    up: a new one never replaces an earlier one.

    Examples
    --------
    >>> from secmix.transcript import Channel
    >>> blocks = []
    >>> with listening(lambda channel, block: blocks.append(block)):
    ...     _ = Channel(record=False).send(0, 0, 1, "aside", np.ones((1, 1)))
    >>> blocks[0], blocks[1].kind
    (None, 'aside')
    """
    token = _CONTEXT_LISTENERS.set((*(_CONTEXT_LISTENERS.get() or ()), listener))
    _LISTENERS.append(entry := (listener, threading.get_ident()))
    try:
        yield
    finally:
        _LISTENERS.remove(entry)
        _CONTEXT_LISTENERS.reset(token)


@contextmanager
def unrelated() -> Iterator[None]:
    """Keep this thread's messages from the listeners of other threads meanwhile, such as those of another audit.

    Its own listeners are called as before.
    """
    thread = threading.get_ident()
    own = _CONTEXT_LISTENERS.get()
    if own is None:  # another context of this thread: its listeners are of the same audit
        own = tuple(listener for listener, of_thread in _LISTENERS if of_thread == thread)
    token = _CONTEXT_LISTENERS.set(own)
    try:
        yield
    finally:
        _CONTEXT_LISTENERS.reset(token)


def listeners() -> list[Listener]:
    """List who is called for a message of this thread, in this context."""
    own = _CONTEXT_LISTENERS.get()
    return [listener for listener, _ in _LISTENERS] if own is None else list(own)
