"""The lines of a network on which messages go, and those of them on which an adversary reads any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from secmix.transcript import Transcript, View

Pair = tuple[int, int]
"""Two ends, the smaller number first; a server is −1."""


@dataclass(frozen=True)
class Lines:
    """Lines of one or several runs.

    Attributes
    ----------
    used : frozenset of (a, b)
        On which messages go.
    read : frozenset of (a, b)
        On which the adversary reads one at least; an encrypted line that ends at its own node is among them.
    """

    used: frozenset[Pair] = frozenset()
    read: frozenset[Pair] = frozenset()


def lines_of(transcript: Transcript, view: View) -> Lines:
    """Return the lines of a transcript, and those that ``view`` holds messages of."""
    # Rounds repeat who tells whom.
    blocks = {(b.sender.tobytes(), b.receiver.tobytes()): b for b in transcript if b.line != "held"}
    used = {
        _ordered(*ends)
        for block in blocks.values()
        for ends in zip(block.sender.tolist(), block.receiver.tolist(), strict=True)
    }
    ends = {(origin.sender, origin.receivers) for origin in view.origins if origin.line != "held"}
    read = {_ordered(sender, receiver) for sender, receivers in ends for receiver in receivers}
    # A content that several nodes sent is in the view once, under the first sender.
    return Lines(frozenset(used), frozenset(read & used))


def joined(lines: Iterable[Lines]) -> Lines:
    """Return all lines that are used, and all that are read, in any of the runs."""
    each = list(lines)
    return Lines(frozenset().union(*(one.used for one in each)), frozenset().union(*(one.read for one in each)))


def _ordered(a: int, b: int) -> Pair:
    return min(a, b), max(a, b)
