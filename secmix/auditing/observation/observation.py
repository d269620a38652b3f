"""Data of a cell's runs for the evidence, whatever its protocol, and the lines of a network that carry messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from secmix._base.checks import Array
from secmix.transcript import Transcript, View

Pair = tuple[int, int]
"""Two ends, the smaller number first; a server is −1."""


@dataclass(frozen=True)
class Lines:
    """Lines of one or several runs."""

    used: frozenset[Pair] = frozenset()  # (a, b): lines that carry messages
    # (a, b): lines with at least one message that the adversary reads, including encrypted lines that end
    # at its nodes
    read: frozenset[Pair] = frozenset()


def lines_of(transcript: Transcript, view: View) -> Lines:
    """List the lines of a transcript, and those of which ``view`` has messages."""
    # Rounds repeat senders and receivers.
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
    """Merge the used lines, and the read lines, of several runs."""
    parts = list(lines)
    used = frozenset().union(*(part.used for part in parts))
    return Lines(used, frozenset().union(*(part.read for part in parts)))


def _ordered(a: int, b: int) -> Pair:
    return min(a, b), max(a, b)


@dataclass(frozen=True)
class Observation:
    """Observation of a cell's runs by its adversary."""

    rows: dict[int, Array]  # node -> (runs, d): the first row of each node asked about: the usual target
    # node -> iteration -> (runs, p): what the adversary computes from its view, for each of these nodes
    features: dict[int, dict[int, Array]]
    unmet_premises: list[str]  # reasons why more may be known about every node than findings show
    # lines that carry messages, and lines on which the adversary reads any
    lines: Lines = field(default_factory=Lines, kw_only=True)

    @property
    def reads_low(self) -> str | None:
        """Why the features are less than the adversary reads; None if they are not."""
        return None
