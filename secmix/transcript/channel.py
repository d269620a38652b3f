"""Channel: the only way data moves between nodes."""

from __future__ import annotations

import copy
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
"""Called twice for each message: with None before it is sent, and with the recorded block afterwards."""

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


def _listeners() -> list[Listener]:
    own = _CONTEXT_LISTENERS.get()
    return [listener for listener, _ in _LISTENERS] if own is None else list(own)


class Channel:
    """Carries data between nodes and records every message in the transcript.

    Parameters
    ----------
    record : bool
        Whether to keep the messages: without a record a run needs little memory, and nothing can be audited.

    Notes
    -----
    ``send`` returns what the receivers get: here the message itself. A channel with colluders returns their messages
    instead; protocols therefore continue with what ``send`` returned, never with what they sent.
    """

    def __init__(self, *, record: bool = True) -> None:
        self.record = record
        self.transcript = Transcript()
        self.iteration = 0

    def begin(self) -> None:
        """Start a new run, with an empty transcript."""
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
            The kind of message, in the protocol's words: "running sum", "y", "lambda", ...
        payload : (runs, m) for one message, or (P, runs, m), or a mapping or tuple of such, as many messages
        encrypted : bool
            Whether the line is encrypted: an eavesdropper then reads no numbers.
        content : (M,) int, optional
            Row of ``payload`` that each message carries; by default message k carries row k.
        sealed_for : int, (M,) int, or a set of int, optional
            Holders of the key: a node, one for each message, or a set for all messages. Others, including a receiver
            without the key, read zeros of the same type and length.

        Returns
        -------
        Like ``payload``, copied: later changes of the sender's arrays have no effect. A row that no message carries
        does not arrive: its numbers are NaN, or 0 if they are integers. Receivers without the key get a
        :class:`Sealed`, which they can forward: ``send`` returns the numbers to holders of the key.

        Raises
        ------
        SecmixError
            If messages and payload rows do not match, or the payload is of a type that a line cannot carry.
        """
        for listener in _listeners():  # here, since another class of channel may record differently, or not at all
            listener(self, None)
        line: Line = "encrypted" if encrypted else "plain"
        if sealed_for is None and not isinstance(payload, Sealed):
            return self._pass(round, sender, receiver, kind, payload, line, content)
        return self._pass_sealed(round, sender, receiver, kind, payload, line, content, sealed_for)

    def _pass_sealed(
        self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, line: Line, content: Any, holders: Any
    ) -> Array:
        """Deliver sealed messages to holders of the key as on encrypted lines, and an envelope to all others."""
        if isinstance(payload, Sealed):
            if holders is not None:
                raise SecmixError(f"'{kind}' is sealed already, expected no sealed_for; forward it without")
            sealed = payload
        else:
            count = max(np.size(sender), np.size(receiver), 1 if content is None else np.size(content))
            sealed = Sealed.of(payload, holders, count)
            by, to, rows = sealed.letters(sender, content)
            sealed = replace(sealed, _payload=self._pass(round, by, to, kind, payload, "encrypted", rows))
        opened: Any = sealed.opened(receiver)
        arrives: Array = opened  # or a Sealed, which a protocol forwards like an array
        if opened is sealed or sealed is payload:
            self._pass(round, sender, receiver, kind + SEALED, sealed.envelope, line, content)
        return arrives

    def hold(self, round: int, node: ArrayLike, kind: str, payload: Array) -> None:
        """Record what nodes hold without a message: ``payload`` (runs, m), or (M, runs, m) for M nodes."""
        for listener in _listeners():
            listener(self, None)
        self._pass(round, node, node, kind, payload, "held", None)

    def _pass(self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, line: Line, content: Any) -> Array:
        def write(name: str, rows: Array) -> Array:
            self._write(round, sender, receiver, name, rows, line, content)
            return rows if line == "held" else _arriving(rows, content)

        # The usual case: an array of floats, which is one message.
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
            raise SecmixError(
                f"a payload of kind '{kind}' has shape {payload.shape}, expected (runs, m) or (messages, runs, m)"
            )
        senders, receivers = _nodes(sender), _nodes(receiver)
        if senders.shape != receivers.shape:
            senders, receivers = np.broadcast_arrays(senders, receivers)
        if line == "held" and (senders != receivers).any():
            raise SecmixError(f"'{kind}' is given to hold(), but its sender and receiver differ; use send() instead")
        contents = np.arange(len(senders)) if content is None else np.asarray(content, dtype=np.intp)
        unnamed = content is None and len(rows) > len(senders)
        if unnamed or len(contents) != len(senders) or (len(contents) and max(contents.tolist()) >= len(rows)):
            raise SecmixError(
                f"{len(senders)} messages of kind '{kind}' have {len(contents)} contents in {len(rows)} payload rows; "
                "give each "
                "message the row that it carries"
            )
        # A plain str: a subclass may define equality as it likes.
        round_number, name = int(round), str.__str__(kind) if isinstance(kind, str) else str(kind)
        block = Block(int(self.iteration), round_number, name, line, senders, receivers, contents, as_it_passes(rows))
        if self.record:
            self.transcript.append(block)
        for listener in listeners:
            listener(self, block)


def _arriving(rows: Array, content: Any) -> Array:
    """Copy ``rows`` without those that no message carries."""
    if not isinstance(rows, np.ndarray):  # of another library
        return rows.clone() if hasattr(rows, "clone") else copy.deepcopy(rows)
    arrived = as_it_passes(rows)
    if content is not None and rows.ndim == 3 and len(rows) > 1:
        sent = set(np.asarray(content).ravel().tolist())
        unsent = set(range(len(rows))).difference(sent)
        if unsent := unsent and unsent.difference(k + len(rows) for k in sent if k < 0):
            arrived[sorted(unsent)] = np.nan if rows.dtype.kind == "f" else 0
    return arrived


def _nodes(numbers: ArrayLike) -> Ints:
    nodes = np.asarray(numbers, dtype=np.intp)
    return nodes if nodes.ndim else nodes.reshape(1)
