"""Channel: the only way data moves between nodes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints
from secmix.errors import SecmixError
from secmix.transcript.messages import Block, Line, Transcript
from secmix.transcript.payload import as_it_passes, passed_on
from secmix.transcript.sealed import SEALED, Holders, Sealed

Listener = Callable[["Channel", Block | None], None]
"""Told of each message twice: with nothing before it passes, with what was written once it has passed."""

_MINE: ContextVar[tuple[Listener, ...] | None] = ContextVar("listeners", default=None)
_LISTENERS: list[tuple[Listener, int]] = []  # with the thread that listens


@contextmanager
def overheard(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` of every channel that carries something meanwhile, whoever made it, recording or not.

    It hears what passes; a channel of another class that writes otherwise, or not at all, is heard of nevertheless. A
    thread started meanwhile, or another context, has no listener of its own and tells those of all others. Who listens
    already goes on to: nobody can put another in its place.

    Examples
    --------
    >>> heard = []
    >>> with overheard(lambda channel, block: heard.append(block)):
    ...     _ = Channel(record=False).send(0, 0, 1, "aside", np.ones((1, 1)))
    >>> heard[0], heard[1].kind
    (None, 'aside')
    """
    token = _MINE.set((*(_MINE.get() or ()), listener))
    _LISTENERS.append(entry := (listener, threading.get_ident()))
    try:
        yield
    finally:
        _LISTENERS.remove(entry)
        _MINE.reset(token)


@contextmanager
def unrelated() -> Iterator[None]:
    """What this thread sends meanwhile is not told to the listeners of others, as of an audit beside it.

    Its own listeners are told as before.
    """
    here = threading.get_ident()
    mine = _MINE.get()
    # In another context of a thread that is listened to already, it is not another audit that begins.
    token = _MINE.set(tuple(each for each, where in _LISTENERS if where == here) if mine is None else mine)
    try:
        yield
    finally:
        _MINE.reset(token)


def _listeners() -> list[Listener]:
    mine = _MINE.get()
    return [each for each, _ in _LISTENERS] if mine is None else list(mine)


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
        sealed_for: Holders | None = None,
    ) -> Array:
        """Send a block of messages and return what arrives.

        Parameters
        ----------
        round : int
            Communication round within this averaging; -1 before the first.
        sender, receiver : int or (M,) int
        kind : str
            What the messages are, in the protocol's words: "running sum", "y", "lambda", ...
        payload : (runs, m) for one message, or (P, runs, m), or a mapping or tuple of such, as many messages
        encrypted : bool
            Whether the line is encrypted: an eavesdropper then hears nothing.
        content : (M,) int, optional
            Row of ``payload`` that each message carries; by default message k carries row k.
        sealed_for : int, (M,) int, or a set of int, optional
            Who has the key: a node, one for each message, or all of a set for each message. Others, its receiver
            among them, see a message of zeros of the same type and length.

        Returns
        -------
        Like ``payload``, with arrays of its own: what the sender changes in its own afterwards stays with the sender.
        A row that no message carries does not arrive: its numbers are NaN, or 0 where numbers are whole. Receivers who
        have no key get a :class:`Sealed`, which they can send on as it is: ``send`` returns the numbers to who has it.

        Raises
        ------
        SecmixError
            If messages and payload rows do not match, or the payload is nothing that a line carries.
        """
        for listener in _listeners():  # here: a channel of another class may write otherwise, or not at all
            listener(self, None)
        line: Line = "encrypted" if encrypted else "plain"
        if sealed_for is None and not isinstance(payload, Sealed):
            return self._pass(round, sender, receiver, kind, payload, line, content)
        return self._pass_sealed(round, sender, receiver, kind, payload, line, content, sealed_for)

    def _pass_sealed(
        self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, line: Line, content: Any, holders: Any
    ) -> Array:
        """Let holders have what is sealed, on lines that are encrypted for them, and all others an envelope."""
        if isinstance(payload, Sealed):
            if holders is not None:
                raise SecmixError(f"'{kind}' is sealed already: send it on without sealed_for")
            sealed = payload
        else:
            count = max(np.size(sender), np.size(receiver), 1 if content is None else np.size(content))
            sealed = Sealed.of(payload, holders, count)
            by, to, rows = sealed.letters(sender, content)
            sealed = replace(sealed, _payload=self._pass(round, by, to, kind, payload, "encrypted", rows))
        found: Any = sealed.opened(receiver)
        arrives: Array = found  # or the sealed one, which a protocol sends on as it would an array
        if found is sealed or sealed is payload:
            self._pass(round, sender, receiver, kind + SEALED, sealed.envelope, line, content)
        return arrives

    def hold(self, round: int, node: ArrayLike, kind: str, payload: Array) -> None:
        """Note what nodes hold without any message: ``payload`` (runs, m), or (M, runs, m) for M nodes."""
        for listener in _listeners():
            listener(self, None)
        self._pass(round, node, node, kind, payload, "held", None)

    def _pass(self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, line: Line, content: Any) -> Array:
        def write(name: str, rows: Array) -> Array:
            self._write(round, sender, receiver, name, rows, line, content)
            return rows if line == "held" else _arriving(rows, content)

        # As nearly always: an array of plain numbers, of which there is nothing to take apart.
        if type(payload) is np.ndarray and payload.dtype.kind == "f":
            return write(kind, payload)
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
        listeners = _listeners()
        if not (self.record or listeners):
            return
        payload = np.asarray(payload)
        rows = payload[None] if payload.ndim == 2 else payload
        if rows.ndim != 3:
            raise SecmixError(f"a payload has shape (runs, m) or (messages, runs, m); given {payload.shape}")
        senders, receivers = _nodes(sender), _nodes(receiver)
        if senders.shape != receivers.shape:
            senders, receivers = np.broadcast_arrays(senders, receivers)
        if line == "held" and (senders != receivers).any():
            raise SecmixError(f"'{kind}' is said to be held, but passes from one node to another; send it instead")
        which = np.arange(len(senders)) if content is None else np.asarray(content, dtype=np.intp)
        unnamed = content is None and len(rows) > len(senders)
        if unnamed or len(which) != len(senders) or (len(which) and max(which.tolist()) >= len(rows)):
            raise SecmixError(
                f"{len(senders)} messages of kind '{kind}' but contents for {len(which)}, in {len(rows)} payload rows"
            )
        # Plain letters: those of a class of its own may say that they are equal to others, and what passes is not.
        turn, name = int(round), str.__str__(kind) if isinstance(kind, str) else str(kind)
        block = Block(int(self.iteration), turn, name, line, senders, receivers, which, as_it_passes(rows))
        if self.record:
            self.transcript.append(block)
        for listener in listeners:
            listener(self, block)


def _arriving(rows: Array, content: Any) -> Array:
    """A copy of ``rows`` without those that no message carries."""
    if not isinstance(rows, np.ndarray):  # of another library
        from array_api_compat import array_namespace

        return array_namespace(rows).asarray(rows, copy=True)
    arrived = as_it_passes(rows)
    if content is not None and rows.ndim == 3 and len(rows) > 1:
        named = set(np.asarray(content).ravel().tolist())
        left = set(range(len(rows))).difference(named)
        if left := left and left.difference(k + len(rows) for k in named if k < 0):
            arrived[sorted(left)] = np.nan if rows.dtype.kind == "f" else 0
    return arrived


def _nodes(given: ArrayLike) -> Ints:
    nodes = np.asarray(given, dtype=np.intp)
    return nodes if nodes.ndim else nodes.reshape(1)
