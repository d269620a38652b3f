"""Right protocols in other hands' idioms: parts put together, actors, phases, generators, namespaces, lists."""

from __future__ import annotations

import enum
import itertools
import secrets
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial, singledispatchmethod
from types import SimpleNamespace
from typing import Any, ClassVar, Protocol

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER, Channel

from ..bases import Pairwise, Words
from .published import BONAWITZ, PERFECT, SHAMIR, right

PRIME = 2**31 - 1


def opened(channel: Channel, mean: Array, n: int) -> tuple[Array, Any]:
    """Have the server tell all nodes the mean (runs, m)."""
    told = channel.send(9, SERVER, np.arange(n), "average", mean[None], content=np.zeros(n, dtype=int))
    return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Parts that are put together.


class Codec(Protocol):
    """Turns numbers into words, and sums of words into numbers."""

    def encode(self, x: Array) -> Array:
        """Return words."""

    def decode(self, words: Array) -> Array:
        """Return numbers."""


@dataclass(frozen=True)
class FixedPoint:
    """Count in small units, within bounds."""

    fraction_bits: int = 16
    bound: float = 2.0**12

    def encode(self, x: Array) -> Array:
        """Return words in two's complement."""
        clipped = np.clip(x, -self.bound, self.bound)
        return np.rint(np.ldexp(clipped, self.fraction_bits)).astype(np.int64).astype(np.uint64)

    def decode(self, words: Array) -> Array:
        """Return numbers."""
        return words.astype(np.int64) * 2.0**-self.fraction_bits


@dataclass(frozen=True)
class Pads:
    """Agree on a pad for each pair, and put it on with opposite signs."""

    def agree(self, channel: Channel, pads: Array, edges: Array) -> Array:
        """Return pads as the second of each pair gets them."""
        channel.hold(-1, edges[:, 0], "pad", pads)
        return np.asarray(channel.send(-1, edges[:, 0], edges[:, 1], "pad", pads, encrypted=True))

    def apply(self, words: Array, own: Array, agreed: Array, edges: Array) -> Array:
        """Return padded words."""
        padded = words.copy()
        np.add.at(padded, edges[:, 0], own)
        np.subtract.at(padded, edges[:, 1], agreed)
        return padded


@dataclass(frozen=True)
class Composed:
    """A codec, pads and a server, of which each may be another."""

    codec: Codec = field(default_factory=FixedPoint)
    pads: Pads = field(default_factory=Pads)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        """Whole words, one a pair."""
        return np.asarray(rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64))

    def average(
        self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None
    ) -> tuple[Array, Any]:
        """Encode, agree, pad, add up, decode."""
        x = np.asarray(inputs, dtype=float).swapaxes(0, 1)
        n, runs, m = x.shape
        channel = channel if channel is not None else Channel()
        own = np.swapaxes(self.draw_masks(runs, m, network, rng) if masks is None else masks, 0, 1)
        channel.hold(-1, range(n), "input", x)
        agreed = self.pads.agree(channel, own, network.edges)
        padded = self.pads.apply(self.codec.encode(x), own, agreed, network.edges)
        received = channel.send(0, range(n), SERVER, "padded", padded)
        return opened(channel, self.codec.decode(received.sum(axis=0, dtype=np.uint64)) / n, n)


class Antisymmetric(Pairwise):
    """Writes pads into a matrix that is the negative of its transpose, and adds up its rows."""

    def hidden(self, channel: Channel, s: Array, r: Array, network: Any) -> Array:
        (n, runs, m), (i, j) = s.shape, network.edges.T
        channel.hold(-1, i, "mask", r)
        pads = np.zeros((n, n, runs, m))
        pads[i, j] = r
        pads[j, i] = -channel.send(-1, i, j, "mask", r, encrypted=True)
        return s + np.einsum("ijrm->irm", pads)


# Shares.


class Vandermonde:
    """Shamir's shares of fixed-point numbers: a matrix of powers times coefficients, modulo a prime."""

    degree: ClassVar[int] = 2
    unit: ClassVar[float] = 2.0**12

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        """The coefficients of each node's polynomial, but for the constant ones."""
        return np.asarray(rng.integers(0, PRIME, size=(runs, network.n * self.degree, m)))

    def average(
        self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None
    ) -> tuple[Array, Any]:
        """Share with all, add up shares, send the sums to the server, which interpolates."""
        x, n, channel = np.asarray(inputs, dtype=float).transpose(1, 0, 2), network.n, channel or Channel()
        _, runs, m = x.shape
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        higher = masks.reshape(runs, n, self.degree, m).transpose(1, 2, 0, 3)  # (n, degree, runs, m)
        channel.hold(-1, np.arange(n), "input", x)
        for power in range(self.degree):
            channel.hold(-1, np.arange(n), f"coefficient {power + 1}", higher[:, power])
        constant = np.rint(x * self.unit).astype(np.int64) % PRIME
        powers = np.vander(np.arange(1, n + 1), self.degree + 1, increasing=True)
        sums = []
        for receiver, row in enumerate(powers):
            share = (constant + sum(int(row[k + 1]) * higher[:, k] for k in range(self.degree))) % PRIME
            others = np.flatnonzero(np.arange(n) != receiver)
            got = channel.send(0, others, receiver, "share", share[others], encrypted=True)
            sums.append((share[receiver] + got.sum(axis=0)) % PRIME)
        told = channel.send(1, np.arange(n), SERVER, "sum of shares", np.stack(sums))
        total = sum(weight * told[k] % PRIME for k, weight in enumerate(self.weights())) % PRIME
        return opened(channel, np.where(total > PRIME // 2, total - PRIME, total) / self.unit / n, n)

    def weights(self) -> list[int]:
        """Return Lagrange's coefficients at zero of the first points."""
        points, weights = range(1, self.degree + 2), []
        for i in points:
            above, below = 1, 1
            for j in (j for j in points if j != i):
                above, below = above * -j, below * (i - j)
            weights.append(above * pow(below, -1, PRIME) % PRIME)
        return weights


class TwoHelpers(Words):
    """Splits words between two helpers, as Prio does (Corrigan-Gibbs and Boneh 2017); these are nodes 3 and 4."""

    helpers: ClassVar[tuple[int, int]] = (3, 4)

    def count(self, network: Any) -> int:
        return int(network.n)

    def body(self, channel: Channel, s: Array, r: Array, network: Any, rng: Any) -> Array:
        channel.hold(-1, np.arange(network.n), "share", r)
        sums = []
        for helper, shares in zip(self.helpers, (r, self.encode(s) - r), strict=True):
            others = np.array([node for node in range(network.n) if node != helper])
            got = channel.send(0, others, helper, "share", shares[others], encrypted=True)
            sums.append(shares[helper] + got.sum(axis=0, dtype=np.uint64))
        told = channel.send(1, np.array(self.helpers), SERVER, "sum of shares", np.stack(sums))
        return self.publish(channel, self.decode(told[0] + told[1]) / network.n, network.n)


# Generators, actors, phases.


class InChunks(Words):
    """Uploads chunk after chunk, as large models are."""

    size: ClassVar[int] = 5

    def chunks(self, x: Array) -> Iterator[Array]:
        """Yield some entries after the other."""
        for begin in range(0, x.shape[-1], self.size):
            yield x[..., begin : begin + self.size]

    def body(self, channel: Channel, s: Array, r: Array, network: Any, rng: Any) -> Array:
        return np.concatenate([*self.averages(channel, s, r, network)], axis=-1)

    def averages(self, channel: Channel, s: Array, r: Array, network: Any) -> Iterator[Array]:
        """Yield the average of each chunk once it is there."""
        for numbers, pads in zip(self.chunks(s), self.chunks(r), strict=True):
            yield super().body(channel, numbers, pads, network, None)


@dataclass(frozen=True)
class Pad:
    """A pad for the other end of a pair."""

    to: int
    words: Any


@dataclass(frozen=True)
class Upload:
    """Padded words for the server."""

    words: Any


class Actor:
    """A node that has an inbox, and handles what is in it by what it is."""

    def __init__(self, node: int, words: Array, channel: Channel) -> None:
        self.node, self.words, self.channel = node, words, channel
        self.inbox: deque[Any] = deque()

    def work(self) -> None:
        """Handle all that has come."""
        while self.inbox:
            self.handle(self.inbox.popleft())

    @singledispatchmethod
    def handle(self, message: Any) -> None:
        """Refuse what is of no use."""
        raise TypeError(type(message).__name__)

    @handle.register
    def _(self, message: Pad) -> None:
        self.words = self.words - message.words

    def pad(self, other: Actor, words: Array) -> None:
        """Put a pad on, and send it to the other end, which takes it off."""
        self.channel.hold(-1, self.node, "pad", words)
        self.words = self.words + words
        sent = self.channel.send(-1, self.node, other.node, "pad", words, encrypted=True)
        other.inbox.append(Pad(other.node, sent))

    def upload(self) -> Upload:
        """Send what is padded."""
        return Upload(self.channel.send(0, self.node, SERVER, "padded", self.words))


class Actors(Words):
    """Lets actors send each other messages."""

    def body(self, channel: Channel, s: Array, r: Array, network: Any, rng: Any) -> Array:
        actors = [Actor(node, words, channel) for node, words in enumerate(self.encode(s))]
        for (i, j), pad in zip(network.edges.tolist(), r, strict=True):
            actors[i].pad(actors[j], pad)
        for actor in actors:
            actor.work()
        total = sum((actor.upload().words for actor in actors[1:]), start=actors[0].upload().words)
        return self.publish(channel, self.decode(total) / network.n, network.n)


class Phase(enum.Enum):
    """Name where a round is."""

    AGREE = enum.auto()
    MASK = enum.auto()
    UPLOAD = enum.auto()
    PUBLISH = enum.auto()
    DONE = enum.auto()


class Phases(Words):
    """Goes from phase to phase, with a table of what there is by now."""

    def body(self, channel: Channel, s: Array, r: Array, network: Any, rng: Any) -> Array:
        phase, have = Phase.AGREE, {"words": self.encode(s), "pads": r}
        first, second = network.edges.T
        while phase is not Phase.DONE:
            match phase:
                case Phase.AGREE:
                    channel.hold(-1, first, "mask", have["pads"])
                    have["agreed"] = channel.send(-1, first, second, "mask", have["pads"], encrypted=True)
                    phase = Phase.MASK
                case Phase.MASK:
                    np.add.at(have["words"], first, have["pads"])
                    np.subtract.at(have["words"], second, have["agreed"])
                    phase = Phase.UPLOAD
                case Phase.UPLOAD:
                    have["received"] = self.deliver(channel, have["words"])
                    phase = Phase.PUBLISH
                case Phase.PUBLISH:
                    mean = self.decode(self.total(have["received"])) / network.n
                    have["mean"] = self.publish(channel, mean, network.n)
                    phase = Phase.DONE
        return have["mean"]


class Hierarchy(Words):
    """Adds up masked words in two groups, whose heads pass the sums on."""

    groups: ClassVar[tuple[tuple[int, ...], ...]] = ((0, 1), (2, 3, 4))

    def deliver(self, channel: Channel, hidden: Array) -> Array:
        sums = []
        for head, *members in self.groups:
            got = channel.send(0, np.array(members), head, "masked", hidden[members])
            sums.append(hidden[head] + got.sum(axis=0, dtype=np.uint64))
        heads = np.array([head for head, *_ in self.groups])
        return np.asarray(channel.send(1, heads, SERVER, "sum of a group", np.stack(sums)))


# Functions and lists.


def draw(sigma: float, runs: int, m: int, network: Any, rng: Any) -> Array:
    """Return a mask for each pair."""
    return np.asarray(rng.normal(scale=sigma, size=(runs, len(network.edges), m)))


def namespace(sigma: float = 1e6) -> Any:
    """Return a protocol that is two functions."""
    draw_masks = partial(draw, sigma)

    def average(inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> tuple[Array, Any]:
        s, channel, (i, j) = np.asarray(inputs, dtype=float).transpose(1, 0, 2), channel or Channel(), network.edges.T
        masks = draw_masks(s.shape[1], s.shape[2], network, rng) if masks is None else masks
        own = masks.transpose(1, 0, 2)
        channel.hold(-1, np.arange(network.n), "input", s)
        channel.hold(-1, i, "mask", own)
        agreed, hidden = channel.send(-1, i, j, "mask", own, encrypted=True), s.copy()
        np.add.at(hidden, i, own)
        np.subtract.at(hidden, j, agreed)
        received = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return opened(channel, received.mean(axis=0), network.n)

    return SimpleNamespace(average=average, draw_masks=draw_masks)


class Lists(Words):
    """Adds up Python's own whole numbers in lists, with a dict of pads for each node, drawn by the system."""

    modulus: ClassVar[int] = 2**64

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        words = [secrets.randbelow(self.modulus) for _ in range(runs * self.count(network) * m)]
        return np.array(words, dtype=np.uint64).reshape(runs, -1, m)

    def body(self, channel: Channel, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n, runs, m = s.shape
        pads: dict[int, dict[int, Any]] = defaultdict(dict)
        for pair, pad in zip(itertools.combinations(range(n), 2), r, strict=True):
            channel.hold(-1, pair[0], "mask", pad)
            pads[pair[0]][pair[1]] = pad.tolist()
            pads[pair[1]][pair[0]] = channel.send(-1, *pair, "mask", pad, encrypted=True).tolist()
        total = [[0] * m for _ in range(runs)]
        for node, words in enumerate(self.encode(s).tolist()):
            for other, pad in pads[node].items():
                sign = 1 if node < other else -1
                words = [
                    [(x + sign * y) % self.modulus for x, y in zip(*rows, strict=True)]
                    for rows in zip(words, pad, strict=True)
                ]
            got = channel.send(0, node, SERVER, "masked", np.array(words, dtype=np.uint64)).tolist()
            total = [
                [(x + y) % self.modulus for x, y in zip(*rows, strict=True)] for rows in zip(total, got, strict=True)
            ]
        return self.publish(channel, self.decode(np.array(total, dtype=np.uint64)) / n, n)


IDIOMS: dict[str, Any] = {"family": "idioms"}
CASES = [
    right("composed of parts", Composed, CuriousServer(), PERFECT, **IDIOMS),
    right("a matrix of pads", Antisymmetric, CuriousServer(), BONAWITZ, **IDIOMS),
    right("shares by a matrix of powers", Vandermonde, HonestButCurious({1, 2}), SHAMIR, **IDIOMS),
    right("two helpers, one curious", TwoHelpers, HonestButCurious({3}), PERFECT, **IDIOMS),
    right("chunk after chunk", InChunks, Eavesdropper(), PERFECT, **IDIOMS),
    right("actors with inboxes", Actors, CuriousServer(), PERFECT, **IDIOMS),
    right("phase after phase", Phases, HonestButCurious({1}), PERFECT, **IDIOMS),
    right("two groups with heads", Hierarchy, Eavesdropper(), PERFECT, **IDIOMS),
    right("functions in a namespace", namespace, CuriousServer(), BONAWITZ, **IDIOMS),
    right("lists of whole numbers", Lists, CuriousServer(), PERFECT, **IDIOMS),
]
