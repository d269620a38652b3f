"""Right protocols in which pairs agree on seeds and expand them; a case overrides how."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.network import Network

from ...bases import Words
from ...case import Case, Heard, N, each, input_of
from .attacks import signed

EDGES = Network.complete(N).edges.tolist()


class Seeded(Words):
    """Neighbours agree on a seed of some words of 64 bits; one adds what it expands to, the other takes it off."""

    width: ClassVar[int] = 2

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        """Seeds."""
        words: Array = rng.integers(0, 2**64, size=(runs, self.count(network), self.width), dtype=np.uint64)
        return words

    def expand(self, seed: Any, edge: tuple[int, int], m: int, channel: Any) -> Any:
        """From a seed to m words."""
        return np.random.default_rng(seed).integers(0, 2**64, size=m, dtype=np.uint64)

    def body(self, channel: Any, s: Array, r: Array, network: Network, rng: Any) -> Array:
        first, second = network.edges.T
        channel.hold(-1, first, "seed", r)
        agreed = channel.send(-1, first, second, "seed", r, encrypted=True)
        self.rehearse(channel, s.shape, r, agreed, network)
        words = self.encode(s)
        self.hide(words, r, agreed, network, lambda seed, edge, m: self.expand(seed, edge, m, channel))
        received = self.deliver(channel, words)
        return self.publish(channel, self.decode(self.total(received)) / network.n, network.n)

    def hide(self, words: Array, mine: Any, theirs: Any, network: Network, expand: Any) -> None:
        """Add and subtract what every pair agrees on."""
        for edge, (i, j) in enumerate(network.edges.tolist()):
            for run in range(words.shape[1]):
                words[i, run] += expand(mine[edge, run], (i, j), words.shape[2])
                words[j, run] -= expand(theirs[edge, run], (i, j), words.shape[2])

    def rehearse(self, channel: Any, shape: Any, mine: Any, theirs: Any, network: Network) -> None:
        """Before the sum."""


class Rehearsed(Seeded):
    """First all upload noughts under other masks of the same seeds, for the server to see that these cancel."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        """From a seed to the masks of the rehearsal."""
        return np.random.default_rng([*seed, 1]).integers(0, 2**64, size=m, dtype=np.uint64)

    def rehearse(self, channel: Any, shape: Any, mine: Any, theirs: Any, network: Network) -> None:
        noughts = np.zeros(shape, np.uint64)
        self.hide(noughts, mine, theirs, network, lambda seed, edge, m: self.first(seed, m, channel))
        channel.send(-1, np.arange(network.n), -1, "rehearsal", noughts)

    def expand(self, seed: Any, edge: tuple[int, int], m: int, channel: Any) -> Any:
        return np.random.default_rng([*seed, 2]).integers(0, 2**64, size=m, dtype=np.uint64)


def blocks(digest: Any, m: int) -> Any:
    """The first m words of the digests of block after block."""
    whole = digest((0).to_bytes(4, "big"))
    block = 1
    while len(whole) < 8 * m:
        whole = whole + digest(block.to_bytes(4, "big"))
        block += 1
    return np.frombuffer(whole[: 8 * m], dtype=np.uint64)


def sha(key: Any, m: int, label: bytes = b"") -> Any:
    """SHA-256 of a key, a label and a counter."""
    return blocks(lambda block: hashlib.sha256(key + label + block).digest(), m)


def less_rehearsal(heard: Heard, node: int = 0) -> Array:
    """Return what a node uploads less what it uploaded in the rehearsal."""
    return signed(heard.one("masked", node) - heard.one("rehearsal", node))


def wrong(name: str, protocol: Any, adversary: Any, why: str, attack: Any, secret: Any = None, **more: Any) -> Case:
    """A wrong case; by default the vector of node 0, to within rounding to 2^-20."""
    more = {"accuracy": 1e-3, "family": "seeds"} | more
    family = more.pop("family")
    return Case(name, family, protocol, adversary, why, attack=each(attack), secret=secret or input_of(0), **more)
