"""Every message of a run: the channel that carries it, the transcript that records it, an adversary's view of it."""

from secmix.transcript.channel import Channel, as_it_passes, passed_on
from secmix.transcript.messages import (
    SERVER,
    Block,
    Line,
    Lines,
    Origin,
    Transcript,
    View,
    at_most,
    collect,
    joined_lines,
    lines_of,
    listening,
    touching,
    unrelated,
)
from secmix.transcript.outlets import watched
from secmix.transcript.sealed import SEALED, WITHOUT_KEY, Holders, Sealed

__all__ = [
    "SEALED",
    "SERVER",
    "WITHOUT_KEY",
    "Block",
    "Channel",
    "Holders",
    "Line",
    "Lines",
    "Origin",
    "Sealed",
    "Transcript",
    "View",
    "as_it_passes",
    "at_most",
    "collect",
    "joined_lines",
    "lines_of",
    "listening",
    "passed_on",
    "touching",
    "unrelated",
    "watched",
]
