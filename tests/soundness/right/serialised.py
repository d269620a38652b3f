"""Right protocols whose uploads pass as bytes, as sockets and files take them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Words
from .published import BONAWITZ, right


class Octets(Words):
    """Sends words as bytes; the server reads words again."""

    def packed(self, words: Any) -> Any:
        """Return the bytes of the words (m,) of a run."""
        return words.tobytes()

    def unpacked(self, octets: Any) -> Any:
        """Return the words of some bytes."""
        return np.frombuffer(octets.tobytes(), np.uint64)

    def as_bytes(self, words: Array) -> Array:
        """Return the bytes of words (nodes, runs, m)."""
        return np.array([[np.frombuffer(self.packed(of_run), np.uint8) for of_run in of_node] for of_node in words])

    def deliver(self, channel: Any, hidden: Array) -> Array:
        sent = channel.send(0, np.arange(len(hidden)), SERVER, "masked", self.as_bytes(hidden))
        return np.array([[self.unpacked(of_run) for of_run in of_node] for of_node in sent], np.uint64)


class Packed(Octets):
    """Puts a version and the number of entries before them, and unpacks what arrives."""

    def packed(self, words: Any) -> Any:
        return struct.pack("<HI", 1, len(words)) + words.tobytes()

    def unpacked(self, octets: Any) -> Any:
        _, count = struct.unpack("<HI", octets[:6].tobytes())
        return struct.unpack(f"<{count}Q", octets[6:].tobytes())


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
CASES = [
    right("uploads as bytes", Octets, SERVED, BONAWITZ, family="practice"),
    right("uploads as bytes, before a node", Octets, ONE, BONAWITZ, family="practice"),
    right("uploads with a header", Packed, OUT, BONAWITZ, family="practice"),
]
