"""Masks that something is made of beside: whoever guesses the data sees whether the mask that is left fits."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper
from secmix.transcript import SERVER

from ...bases import Words
from ...case import Case, Heard, each


class Committed(Words):
    """Each node's mask is the server's, too; a digest of each word lets all check afterwards that nobody changed it.

    What is summed are counts, so that few can be what a word hides.
    """

    unit = 1.0

    def count(self, network: Any) -> int:
        return int(network.n)

    def encode(self, s: Array) -> Array:
        return super().encode(np.clip(s, -100, 100))

    def digest(self, octets: Any) -> Any:
        """Return what is told of a mask."""
        return hashlib.sha256(octets).digest()

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "mask", r)
        known = channel.send(-1, nodes, SERVER, "mask", r, encrypted=True)
        digests = [[[np.frombuffer(self.digest(word.tobytes()), np.uint64) for word in run] for run in of] for of in r]
        told = np.array(digests)
        channel.send(-1, nodes, SERVER, "digests", told.reshape(*told.shape[:2], -1))
        received = self.deliver(channel, self.encode(s) + r) - known
        return self.publish(channel, self.decode(self.total(received)) / network.n, network.n)


class CommittedByKey(Committed):
    """The digest is keyed with a word that everybody knows."""

    def digest(self, octets: Any) -> Any:
        return hashlib.blake2b(octets, key=b"round", digest_size=32).digest()


def guessed(heard: Heard, digest: Any) -> Array:
    """Try all counts."""
    masked, told = heard.one("masked", 0), heard.one("digests", 0).reshape(-1, 4)
    counts = range(-100, 101)
    fits = [
        next(k for k in counts if digest(((int(word) - k) % 2**64).to_bytes(8, "little")) == of_word.tobytes())
        for word, of_word in zip(masked, told, strict=True)
    ]
    return np.array(fits, float)


OUT = Eavesdropper()
COUNTS: dict[str, Any] = {"secret": lambda t: np.rint(np.clip(t.inputs[0][0, 0], -100, 100)), "accuracy": 1e-5}
NAME = "seeds that hide data"
CASES = [
    Case("masks committed to", NAME, Committed, OUT, "a guess of a count shows whether the mask fits its digest",
         attack=each(lambda heard: guessed(heard, lambda x: hashlib.sha256(x).digest())), **COUNTS),
    Case("masks committed to by a key", NAME, CommittedByKey, OUT, "the key is no secret",
         attack=each(lambda h: guessed(h, lambda x: hashlib.blake2b(x, key=b"round", digest_size=32).digest())),
         **COUNTS),
]  # fmt: skip
