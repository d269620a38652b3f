"""Transcript: every message of a run. Channel: the only way data moves between nodes. View: what one adversary holds.

One *block* is one kind of message in one round: index arrays say who sent what to whom on which line, ``payload``
holds the contents, each once, even when a broadcast carries it to many neighbours. Axis ``runs`` is the Monte Carlo
axis: the same messages, with other data and masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.arrays import as_it_passes, passed_on
from secmix._base.checks import Array, Ints
from secmix.errors import SecmixError


@dataclass
class _Room:
    left: float
    message: str


_ROOM: ContextVar[_Room | None] = ContextVar("room for messages", default=None)


@contextmanager
def at_most(nbytes: float, message: str) -> Iterator[None]:
    """Messages may take ``nbytes`` meanwhile, all transcripts together; beyond it is an error that says ``message``.

    >>> with at_most(10, "too much"):
    ...     Channel().send(0, [0], [1], "rows", np.zeros((1, 1, 2)))
    Traceback (most recent call last):
    ...
    secmix.errors.SecmixError: too much
    """
    token = _ROOM.set(_Room(nbytes, message))
    try:
        yield
    finally:
        _ROOM.reset(token)


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
        Which averaging of the protocol's run (EM iteration); 0 for a single one.
    round : int
        Communication round within that averaging; -1 before the first.
    kind : str
        What the messages are, in the protocol's words: "running sum", "y", "lambda", ...
    line : {"plain", "encrypted", "held"}
    sender, receiver : (M,) int
        Node numbers; ``SERVER`` (-1) is the server. What a node holds has sender = receiver.
    content : (M,) int
        Which row of ``payload`` each message carries.
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
        """All but the numbers and how many runs they are of: when, what, from whom to whom, and how long."""
        ends = (tuple(which.tolist()) for which in (self.sender, self.receiver, self.content))
        return (self.iteration, self.round, self.kind, self.line, *ends, self.payload.shape[0], self.payload.shape[2])


def touching(block: Block, nodes: Ints) -> NDArray[np.bool_]:
    """Which messages of ``block`` come from one of ``nodes`` or go to one, (M,)."""
    ends = (block.sender[:, None] == nodes) | (block.receiver[:, None] == nodes)
    return np.asarray(ends.any(axis=1))


@dataclass
class Transcript:
    """An append-only list of message blocks."""

    blocks: list[Block] = field(default_factory=list)

    def append(self, block: Block) -> None:
        """Add ``block`` at the end."""
        self.blocks.append(block)
        if (room := _ROOM.get()) is not None:
            room.left -= block.payload.nbytes
            if room.left < 0:
                raise SecmixError(room.message)

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    @property
    def messages(self) -> int:
        """Messages that crossed a channel (what nodes merely hold does not count)."""
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
        """The blocks of one iteration."""
        return [b for b in self.blocks if b.iteration == iteration]


Listener = Callable[["Channel"], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
_LISTENERS: list[Listener] = []


@contextmanager
def overheard(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` of every channel that carries something meanwhile, whoever made it, recording or not.

    A thread started meanwhile, or another context, has no listener of its own and tells those of all others.

    Examples
    --------
    >>> used = []
    >>> with overheard(used.append):
    ...     _ = Channel(record=False).send(0, 0, 1, "aside", np.ones((1, 1)))
    >>> len(used)
    1
    """
    token = _LISTENER.set(listener)
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)
        _LISTENER.reset(token)


@contextmanager
def unrelated() -> Iterator[None]:
    """What this thread sends meanwhile is not told to the listeners of others, as of an audit beside it."""
    token = _LISTENER.set(lambda channel: None)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def _tell(channel: Channel) -> None:
    listener = _LISTENER.get()
    for each in [listener] if listener is not None else list(_LISTENERS):
        each(channel)


class Channel:
    """Carries data between nodes and writes every message into the transcript.

    Parameters
    ----------
    record : bool
        Whether to keep the messages: without a record a run needs little memory, and nothing can be audited.

    Notes
    -----
    ``send`` returns what the receivers get: here the message itself. A channel on which colluders speak returns
    theirs instead; protocols therefore go on with what ``send`` returned, never with what they sent.
    """

    def __init__(self, *, record: bool = True) -> None:
        self.record = record
        self.transcript = Transcript()
        self.iteration = 0

    def begin(self) -> None:
        """Start a run of its own, with an empty transcript."""
        self.transcript = Transcript()
        self.iteration = 0

    def send(
        self,
        round: int,
        sender: ArrayLike,
        receiver: ArrayLike,
        kind: str,
        payload: Array,
        *,
        encrypted: bool = False,
        content: ArrayLike | None = None,
    ) -> Array:
        """Send a block of messages and return what arrives, an array like ``payload``.

        Parameters
        ----------
        sender, receiver : int or (M,) int
        payload : (runs, m) for one message, or (P, runs, m), or a mapping or tuple of such, as many messages
        encrypted : bool
            Whether the line is encrypted: an eavesdropper then hears nothing.
        content : (M,) int, optional
            Row of ``payload`` that each message carries; by default message k carries row k.
        """
        _tell(self)  # here: a channel of another class may write otherwise, or not at all
        return self._pass(round, sender, receiver, kind, payload, "encrypted" if encrypted else "plain", content)

    def hold(self, round: int, node: ArrayLike, kind: str, payload: Array) -> None:
        """Note what nodes hold without any message: ``payload`` (runs, m), or (M, runs, m) for M nodes."""
        _tell(self)
        self._pass(round, node, node, kind, payload, "held", None)

    def _pass(self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, line: Line, content: Any) -> Array:
        def write(name: str, rows: Array) -> None:
            self._write(round, sender, receiver, name, rows, line, content)

        runs = self.transcript.blocks[-1].runs if self.transcript.blocks else 1
        arrived: Array = passed_on(payload, kind, write, max(np.size(sender), np.size(receiver)), runs)
        return arrived

    def _write(
        self,
        round: int,
        sender: ArrayLike,
        receiver: ArrayLike,
        kind: str,
        payload: Array,
        line: Line,
        content: ArrayLike | None,
    ) -> None:
        if not self.record:
            return
        payload = np.asarray(payload)
        rows = payload[None] if payload.ndim == 2 else payload
        if rows.ndim != 3:
            raise SecmixError(f"a payload has shape (runs, m) or (messages, runs, m); given {payload.shape}")
        senders = np.atleast_1d(np.asarray(sender, dtype=np.intp))
        receivers = np.atleast_1d(np.asarray(receiver, dtype=np.intp))
        if senders.shape != receivers.shape:
            senders, receivers = np.broadcast_arrays(senders, receivers)
        if line == "held" and (senders != receivers).any():
            raise SecmixError(f"'{kind}' is said to be held, but passes from one node to another; send it instead")
        which = np.arange(len(senders)) if content is None else np.asarray(content, dtype=np.intp)
        unnamed = content is None and len(rows) > len(senders)
        if unnamed or len(which) != len(senders) or (len(which) and which.max() >= len(rows)):
            raise SecmixError(
                f"{len(senders)} messages of kind '{kind}' but contents for {len(which)}, in {len(rows)} payload rows"
            )
        # Plain letters: those of a class of its own may say that they are equal to others, and what passes is not.
        turn, name = int(round), str.__str__(kind) if isinstance(kind, str) else str(kind)
        block = Block(int(self.iteration), turn, name, line, senders, receivers, which, as_it_passes(rows))
        self.transcript.append(block)


@dataclass(frozen=True)
class Origin:
    """Where a row of a view comes from."""

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
    """What one adversary holds: rows of numbers, each with its origin.

    Attributes
    ----------
    origins : tuple of Origin, length R
    rows : tuple of (runs, m) arrays, length R
        Rows of one iteration have the same m; other iterations may sum other numbers of entries.
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
        """The iterations that gave anything, in order."""
        return sorted({origin.iteration for origin in self.origins})

    def at(self, iteration: int) -> View:
        """The part of the view that one iteration gave."""
        keep = [r for r, origin in enumerate(self.origins) if origin.iteration == iteration]
        return View(tuple(self.origins[r] for r in keep), tuple(self.rows[r] for r in keep))

    def __len__(self) -> int:
        return len(self.origins)


def collect(heard: Iterable[tuple[Block, Ints]]) -> View:
    """The view made of the messages ``heard``, (block, message indices) pairs; equal contents appear once."""
    origins: list[Origin] = []
    rows: list[Array] = []
    for block, messages in heard:
        order = messages[np.argsort(block.content[messages], kind="stable")]
        ends = (each[order].tolist() for each in (block.content, block.sender, block.receiver))
        whose: dict[int, tuple[int, set[int]]] = {}
        for content, sender, receiver in zip(*ends, strict=True):
            whose.setdefault(content, (sender, set()))[1].add(receiver)
        for content, (sender, receivers) in whose.items():
            to = tuple(sorted(receivers))
            origins.append(Origin(block.iteration, block.round, block.kind, block.line, sender, to))
            rows.append(block.payload[content])
    return View(tuple(origins), tuple(rows))
