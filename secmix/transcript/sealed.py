"""Sealed messages: whoever passes one on without the key sees its length and when it passes, and nothing else."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints
from secmix.errors import SecmixError

SEALED = ", sealed"
"""Follows the kind of an envelope: what those see who cannot open it, numbers of the same type and length, all zero."""

WITHOUT_KEY = "what is sealed tells those without its key its length and when it passes, and nothing else"
"""What a proof assumes where anything is sealed."""

Holders = ArrayLike | AbstractSet[int]
"""Who has the key: one node, one for each message, or a set of nodes for all of them."""


@dataclass(frozen=True)
class Sealed:
    """Messages that their receiver cannot open; ``send`` passes them on, and returns them to who has the key.

    It has no numbers: nobody computes with it.
    """

    holders: tuple[frozenset[int], ...]
    """Of each message, who has its key."""
    _payload: Array = field(repr=False, compare=False)

    @property
    def envelope(self) -> Array:
        """What is seen of it: as many numbers, all zero."""
        return np.zeros(np.shape(self._payload), self._payload.dtype)

    def opened(self, receiver: ArrayLike) -> Any:
        """Return the numbers where all receivers have the key of what they get; else itself, as it is for the others.

        Raises
        ------
        SecmixError
            If only some have it.
        """
        receivers = ends(receiver, len(self.holders))
        have = [node in holders for node, holders in zip(receivers.tolist(), self.holders, strict=True)]
        if any(have) and not all(have):
            raise SecmixError(
                f"of receivers {receivers.tolist()} only some have the key: send to those in a message of its own"
            )
        return self._payload.copy() if all(have) else self

    @classmethod
    def of(cls, payload: Any, holders: Holders, messages: int) -> Sealed:
        """Seal so many messages.

        Raises
        ------
        SecmixError
            If the payload is no array, or there are no holders.
        """
        if not isinstance(payload, np.ndarray):
            raise SecmixError(f"what is sealed is an array of numbers; given {type(payload).__name__}")
        if isinstance(holders, AbstractSet):
            each = tuple([frozenset(map(int, holders))] * messages)
        else:
            each = tuple(frozenset({node}) for node in ends(holders, messages).tolist())
        if not all(each):
            raise SecmixError("sealed_for names nobody who has the key; give one node at least")
        return cls(each, payload.copy())

    def letters(self, sender: ArrayLike, content: ArrayLike | None) -> tuple[Ints, Ints, Ints]:
        """Return sender, holder and row of each message to each holder."""
        senders = ends(sender, len(self.holders)).tolist()
        rows = range(len(self.holders)) if content is None else ends(content, len(self.holders)).tolist()
        found = [
            (of, holder, row)
            for of, holders, row in zip(senders, self.holders, rows, strict=True)
            for holder in sorted(holders)
        ]
        table = np.array(found, dtype=np.intp).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]


def ends(given: ArrayLike, messages: int) -> Ints:
    """Return an end of each of so many messages.

    Raises
    ------
    SecmixError
        If there are neither one nor so many.
    """
    found = np.atleast_1d(np.asarray(given, dtype=np.intp))
    if found.ndim != 1 or len(found) not in (1, messages):
        raise SecmixError(f"{messages} messages, but ends or holders for {found.size}")
    return np.broadcast_to(found, (messages,))
