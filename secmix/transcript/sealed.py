"""Sealed messages: without the key, only their length and time can be observed."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints
from secmix.errors import SecmixError

SEALED = ", sealed"
"""Appended to the kind of an envelope: zeros of the same type and length, in place of the numbers."""

WITHOUT_KEY = "without its key, a sealed message reveals only its length and when it is sent"
"""The assumption of a proof that involves sealed messages."""

Holders = ArrayLike | AbstractSet[int]
"""Holders of the key: one node, one for each message, or a set of nodes for all messages."""


@dataclass(frozen=True)
class Sealed:
    """Messages that their receiver cannot open; ``send`` forwards them, and returns the numbers to holders of the key.

    It has no numbers, so no computation with it is possible.
    """

    holders: tuple[frozenset[int], ...]
    """The holders of the key, for each message."""
    _payload: Array = field(repr=False, compare=False)

    @property
    def envelope(self) -> Array:
        """Numbers that are observed without the key: as many, all zero."""
        return np.zeros(np.shape(self._payload), self._payload.dtype)

    def opened(self, receiver: ArrayLike) -> Any:
        """Open the messages if all their receivers have the key; otherwise return them sealed.

        Raises
        ------
        SecmixError
            If only some have the key.
        """
        receivers = ends(receiver, len(self.holders))
        have = [node in holders for node, holders in zip(receivers.tolist(), self.holders, strict=True)]
        if any(have) and not all(have):
            raise SecmixError(
                f"of receivers {receivers.tolist()} only some have the key, expected all or none; send to them "
                "separately"
            )
        return self._payload.copy() if all(have) else self

    @classmethod
    def of(cls, payload: Any, holders: Holders, messages: int) -> Sealed:
        """Seal ``messages`` messages.

        Raises
        ------
        SecmixError
            If the payload is not an array, or a message has no holders.
        """
        if not isinstance(payload, np.ndarray):
            raise SecmixError(f"sealed_for: the payload is a {type(payload).__name__}, expected an array of numbers")
        if isinstance(holders, AbstractSet):
            by_message = tuple([frozenset(map(int, holders))] * messages)
        else:
            by_message = tuple(frozenset({node}) for node in ends(holders, messages).tolist())
        if not all(by_message):
            raise SecmixError("sealed_for is empty; expected at least one node that has the key")
        return cls(by_message, payload.copy())

    def letters(self, sender: ArrayLike, content: ArrayLike | None) -> tuple[Ints, Ints, Ints]:
        """List sender, holder and row of each message to each holder."""
        senders = ends(sender, len(self.holders)).tolist()
        rows = range(len(self.holders)) if content is None else ends(content, len(self.holders)).tolist()
        entries = [
            (origin, holder, row)
            for origin, holders, row in zip(senders, self.holders, rows, strict=True)
            for holder in sorted(holders)
        ]
        table = np.array(entries, dtype=np.intp).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]


def ends(values: ArrayLike, messages: int) -> Ints:
    """Broadcast sender, receiver or holder to all messages, (messages,).

    Raises SecmixError if there is neither one for all nor one for each message.
    """
    nodes = np.atleast_1d(np.asarray(values, dtype=np.intp))
    if nodes.ndim != 1 or len(nodes) not in (1, messages):
        raise SecmixError(f"{messages} messages have {nodes.size} nodes or holders; expected 1 or {messages}")
    return np.broadcast_to(nodes, (messages,))
