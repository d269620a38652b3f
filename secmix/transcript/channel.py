"""Channel: the only way data moves between nodes.

A payload is taken apart into arrays. Each is a message, of which a line carries the numbers and nothing else; what
arrives is put together again.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints
from secmix.errors import SecmixError
from secmix.transcript.messages import Block, Line, Transcript, listeners
from secmix.transcript.sealed import SEALED, Holders, Sealed

_DOUBLE = np.dtype(float)
_LIBRARIES = frozenset({"array_api_strict", "cupy", "dask", "jax", "jaxlib", "ndonnx", "sparse", "torch"})

Write = Callable[[str, Any], Any]
"""Sends an array as a kind of message, and returns the array that arrives."""


class Channel:
    """Carries data between nodes and records every message in the transcript.

    Parameters
    ----------
    record : bool
        Whether to keep the messages: without a record a run needs little memory, and nothing can be audited.

    Attributes
    ----------
    iteration : int
        Which averaging of the run this is, from 0 on (below 0 while a start is agreed on); a label for masks.
    transcript : Transcript
        What was sent and held so far.

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
            Whether the line is encrypted: an eavesdropper then reads no numbers, and the receiver does, the server too.
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
        for listener in listeners():  # here, since another class of channel may record differently, or not at all
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
        for listener in listeners():
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
        called = listeners()
        if not (self.record or called):
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
        for listener in called:
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


def as_it_passes(rows: Array) -> Array:
    """Copy ``rows`` with their numbers only, as a line carries them.

    The copy protects the transcript from later changes of the protocol's arrays. Memory layout, metadata of the type
    and padding bytes are not part of a message, since no line carries them.

    Examples
    --------
    >>> as_it_passes(np.zeros((1, 2, 3), np.dtype(float, metadata={"of": "node 0"}), order="F")).flags.c_contiguous
    True
    """
    if rows.dtype is _DOUBLE and type(rows) is np.ndarray:  # the usual case
        return rows.copy()
    if rows.dtype.kind not in "biufc":
        return np.array(rows, order="C")
    extended = rows.dtype.char in "gG"
    out = np.empty(rows.shape, dtype=(rows.dtype.newbyteorder("=") if extended else rows.dtype).str)
    out[...] = rows
    if extended and np.finfo(out.dtype).nmant == 63:  # eighty bits, padded to sixteen or twelve bytes
        out.view(np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize)[:, 10:] = 0
    return out


def passed_on(payload: Any, kind: str, write: Write, messages: int, runs: int = 1) -> Any:
    """Send the arrays of ``payload`` with ``write(kind, array)``, and rebuild it from what that returns.

    A mapping or a tuple is one message an entry, with its key appended to the kind; a complex array is two. A number, a
    text or None is the same in all ``runs``. What an object has besides its fields does not arrive, since no transcript
    would record it.

    Examples
    --------
    >>> sent = {}
    >>> passed_on({"x": np.ones((1, 2)), "n": 3}, "up", lambda kind, array: sent.setdefault(kind, array), 1)
    {'x': array([[1., 1.]]), 'n': 3}
    >>> list(sent)
    ['up/x', 'up/n']
    """
    if hasattr(type(payload), "as_it_passes"):  # an array of the kernel, which traces numbers through a protocol
        return write(kind, payload)
    if isinstance(payload, np.ndarray):
        return _array_passed(payload, kind, write)
    if _of_a_library(payload):
        return write(kind, payload)
    if isinstance(payload, Mapping):
        runs = _runs_of(payload.values(), runs)
        # Keys as text: an object that is a key could carry anything.
        parts = {str(key): (key, value) for key, value in payload.items()}
        plain = {name: passed_on(value, f"{kind}/{name}", write, messages, runs) for name, (_, value) in parts.items()}
        return {key if _is_plain(key) else name: plain[name] for name, (key, _) in parts.items()}
    if isinstance(payload, list | tuple):
        names = getattr(payload, "_fields", None)
        array = _as_array(payload) if names is None else None
        if array is not None and (array.ndim == 2 or (array.ndim == 3 and len(array) == messages)):
            return _array_passed(array, kind, write)
        runs = _runs_of(payload, runs)
        parts_arrived = [
            passed_on(value, f"{kind}/{name}", write, messages, runs)
            for name, value in zip(names or range(len(payload)), payload, strict=True)
        ]
        made: Any = type(payload) if names and is_importable(type(payload)) else tuple
        return parts_arrived if isinstance(payload, list) else tuple.__new__(made, parts_arrived)
    if hasattr(payload, "__array__") and not isinstance(payload, np.generic):
        return _array_passed(np.array(payload), kind, write)
    return _single_passed(payload, kind, write, messages, runs)


def _array_passed(payload: Any, kind: str, write: Write) -> Any:
    rows: Any = payload if type(payload) is np.ndarray else np.array(payload, subok=False)
    if rows.dtype.kind == "O" and not all(type(number) in (int, float) for number in rows.ravel().tolist()):
        raise SecmixError(
            f"a message of kind '{kind}' is an array of objects, expected numbers; send numbers, or a mapping of arrays"
        )
    if rows.dtype.names:
        arrived = np.empty(rows.shape, rows.dtype)
        for name in rows.dtype.names:
            arrived[name] = write(f"{kind}/{name}", rows[name])
        return arrived
    if rows.dtype.kind == "c":
        arrived = np.empty(rows.shape, rows.dtype)
        arrived.real = write(kind, rows.real)
        arrived.imag = write(f"{kind}, imaginary part", rows.imag)
        return arrived
    return write(kind, rows)


def _single_passed(payload: Any, kind: str, write: Write, messages: int, runs: int) -> Any:
    if isinstance(payload, np.generic):
        payload = payload.item()
    if payload is None:
        write(f"{kind}, nothing", np.zeros((runs, 1)))
        return None
    kinds: tuple[Any, ...] = (bool, int, float, str, bytes)
    for plain in kinds:
        if isinstance(payload, plain):
            value: Any = plain(payload)
            small = plain in (bool, float) or (plain is int and abs(value) < 2**53)
            text = value if plain is bytes else str(value).encode()
            letters = np.frombuffer(text or b"\0", dtype=np.uint8)
            write(kind, np.full((runs, 1), float(value)) if small else np.broadcast_to(letters, (runs, len(letters))))
            return value
    if isinstance(payload, Enum) and is_importable(type(payload)):
        return type(payload)[passed_on(payload.name, kind, write, messages, runs)]
    fields = _fields_of(payload)
    if fields and not callable(payload) and is_importable(type(payload)):  # an object is sent as its fields
        return _with_fields(type(payload), passed_on(fields, kind, write, messages, runs), kind)
    raise SecmixError(
        f"a message of kind '{kind}' is a {type(payload).__name__}; expected an array (runs, m) or (messages, runs, "
        "m), a number, text, or a mapping or tuple of these"
    )


def _of_a_library(payload: Any) -> bool:
    """Check that it is an array of a known library, and not of a class that merely claims to be one."""
    known = type(payload).__module__.split(".")[0] in _LIBRARIES
    return known and hasattr(payload, "dtype") and is_importable(type(payload))


def _is_plain(key: Any) -> bool:
    """Check that the text of a key says all about it."""
    if type(key) is tuple:
        return all(_is_plain(part) for part in key)
    return type(key) in (str, int, float, bool, bytes, type(None))


def _as_array(values: Any) -> Array | None:
    """Convert ``values`` to an array of numbers; return None if they are not numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # of unequal lengths
        return None
    return array if array.dtype.kind in "biufc" else None


def _runs_of(values: Any, otherwise: int) -> int:
    """Count the runs of the first array among ``values``."""
    arrays = (value for value in values if isinstance(value, np.ndarray) and value.ndim in (2, 3))
    first = next(arrays, None)
    return otherwise if first is None else int(first.shape[-2])


def _fields_of(payload: Any) -> dict[str, Any]:
    """Collect all fields of an object, in its ``__dict__`` or in slots."""
    slots = (slot for base in type(payload).__mro__ for slot in _slots(base) if slot not in ("__dict__", "__weakref__"))
    values = {slot: getattr(payload, slot) for slot in slots if hasattr(payload, slot)}
    return {**values, **getattr(payload, "__dict__", {})}


def _slots(base: type) -> tuple[str, ...]:
    named = base.__dict__.get("__slots__", ())
    names = (named,) if isinstance(named, str) else tuple(named)
    return tuple(
        f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in names
    )


def is_importable(kind: type) -> bool:
    """Check whether sender and receiver both know a class: its module has it under its name.

    A class that is created for a message could carry anything.

    >>> is_importable(SecmixError), is_importable(type("Made", (), {"secret": 3}))
    (True, False)
    """
    member: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        member = getattr(member, name, None)
    return member is kind


def _with_fields(kind: type, fields: Mapping[str, Any], what: str) -> Any:
    """Build an object of the class ``kind`` with ``fields`` and nothing else.

    Raises SecmixError if such an object has more than its fields, as a subclass of str or list has.
    """
    try:
        built: Any = object.__new__(kind)
        for name, value in fields.items():
            object.__setattr__(built, name, value)
    except (TypeError, AttributeError) as error:
        raise SecmixError(
            f"a message of kind '{what}' is a {kind.__name__}, which has content besides its fields; send its fields "
            "instead"
        ) from error
    return built
