"""Right protocols as practice writes them: with contexts, decorators, pools, packed words, and public tables."""

from __future__ import annotations

import functools
import itertools
import logging
import math
import operator
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER, Channel

from ..bases import Dealt, Modular, Pairwise, Ring
from .published import BONAWITZ, CLIFTON, DEALER, PERFECT, right

LOG = logging.getLogger(__name__)


class BySigns(Pairwise):
    """Hides with one product: a table of signs, an edge a column, times the masks."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        first, second = network.edges.T
        signs = np.zeros((network.n, len(first)))
        signs[first, np.arange(len(first))], signs[second, np.arange(len(first))] = 1.0, -1.0
        channel.hold(-1, first, "mask", r)
        channel.send(-1, first, second, "mask", r, encrypted=True)
        hidden = s + np.einsum("ne,erm->nrm", signs, r)
        return self.publish(channel, self.upload(channel, hidden, s, rng).mean(axis=0), s)


class Blocks(Pairwise):
    """Pads vectors to whole blocks of five entries, and sends block by block."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        m = hidden.shape[2]
        padded = np.pad(hidden, ((0, 0), (0, 0), (0, -m % 5)))
        nodes = np.arange(len(s))
        parts = np.split(padded, padded.shape[2] // 5, axis=2)
        received = [channel.send(k, nodes, SERVER, "block", part) for k, part in enumerate(parts)]
        return np.concatenate(received, axis=2)[:, :, :m]


class InASession(Pairwise):
    """Opens a session for its messages, and closes it whatever happens."""

    @contextmanager
    def session(self, channel: Any, runs: int) -> Iterator[Any]:
        """A channel between two empty messages."""
        channel.send(-2, 0, SERVER, "open", np.zeros((runs, 1)))
        try:
            yield channel
        finally:
            LOG.debug("a session ends")
        channel.send(8, 0, SERVER, "close", np.zeros((runs, 1)))

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        with self.session(channel, s.shape[1]) as line:
            return super().upload(line, hidden, s, rng)


@dataclass
class Envelope:
    """A masked vector and what is public of it."""

    numbers: Array
    version: Array


class Enveloped(Dealt):
    """Sends objects that say which version they are."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        envelope = Envelope(hidden, np.full((*hidden.shape[:2], 1), 3.0))
        received: Envelope = channel.send(0, np.arange(len(s)), SERVER, "envelope", envelope)
        return received.numbers


class ByWorkers(Dealt):
    """Each node's numbers are hidden by a worker of a pool."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        with ThreadPoolExecutor(3) as pool:
            return np.stack(list(pool.map(operator.add, s, r)))


class ByFolding(Ring):
    """Works the running sums out in one go, as ``itertools`` has it, and then sends them."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n = network.n
        channel.hold(-1, 0, "mask", r[:1])
        running = list(itertools.accumulate(s[1:], initial=s[0] + r[0]))
        for node, numbers in enumerate(running):
            back = channel.send(node, node, (node + 1) % n, "running sum", numbers, encrypted=True)
        total = back - r[0]
        for step in range(n - 1):
            total = channel.send(n + step, step, step + 1, "total", total, encrypted=True)
        mean: Array = total / n
        return mean


def again(times: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Try a call again where a line is lost."""

    def around(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def tried(*args: Any, **kw: Any) -> Any:
            for left in reversed(range(times)):
                try:
                    return f(*args, **kw)
                except ConnectionError:
                    if not left:
                        raise
            raise AssertionError("never reached")

        return tried

    return around


class TriedAgain(Pairwise):
    """Sends again over a line that is lost."""

    @again(3)
    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        return super().upload(channel, hidden, s, rng)


class ByName(Pairwise):
    """Keeps masks by the names of both ends, as a program with objects for nodes does."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        pads = {(int(a), int(b)): mask for (a, b), mask in zip(network.edges, r, strict=True)}
        for (a, b), mask in pads.items():
            channel.hold(-1, a, "mask", mask)
            channel.send(-1, a, b, "mask", mask, encrypted=True)

        def pad(node: int) -> Any:
            signs = ((mask, 1 if a == node else -1) for (a, b), mask in pads.items() if node in (a, b))
            return sum(sign * mask for mask, sign in signs)

        hidden = np.stack([s[node] + pad(node) for node in range(len(s))])
        return self.publish(channel, self.upload(channel, hidden, s, rng).sum(axis=0) / len(s), s)


class Gossip(Pairwise):
    """Zero-sum masks of neighbours, then averages with neighbours, round after round (Mo and Murray 2017)."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        x = self.hidden(channel, s, r, network)
        n, (i, j) = network.n, np.array(list(itertools.permutations(range(network.n), 2))).T
        weights = np.full((n, n), float(Fraction(1, n)))
        for step in range(2):
            channel.send(step, i, j, "state", x, content=i)
            x = np.tensordot(weights, x, axes=1)
        mean: Array = x[0]
        return mean


class Folded(Modular):
    """Reduces words by the bits below the modulus, as hardware does."""

    def numbers(self, words: Array) -> Array:
        residues: Array = (words.astype(np.int64) & (self.words_in_all - 1)).astype(float) * self.grid
        return residues


class TwoInAWord(Dealt):
    """Packs the entries in pairs: of each word one half is an entry, with room for the carry."""

    HALF = 2**30

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        """Words of sixty-two bits."""
        words: Array = rng.integers(0, 2**62, size=(runs, network.n, m), dtype=np.int64)
        return words

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = s.shape
        channel = channel or Channel()
        given = self.draw_masks(runs, m, network, rng) if masks is None else np.asarray(masks)
        r, nodes = given.transpose(1, 0, 2)[..., : -(-m // 2)], np.arange(n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, np.full(n, n - 1), "mask", r)
        got = channel.send(-1, np.full(n, n - 1), nodes, "mask", r, encrypted=True)
        q = np.rint(np.clip(s, -500, 500) * 2.0**16).astype(np.int64) + 2**25
        q = np.concatenate([q, np.zeros((n, runs, m % 2), np.int64)], axis=2)
        words = (q[..., 0::2] + q[..., 1::2] * self.HALF + got) % 2**62
        total = channel.send(-1, n - 1, SERVER, "sum of masks", r.sum(axis=0)[None] % 2**62)[0]
        packed = (channel.send(0, nodes, SERVER, "masked", words).sum(axis=0) - total) % 2**62
        sums = np.stack([packed % self.HALF, packed // self.HALF], axis=-1).reshape(runs, -1)[:, :m]
        mean = (sums - n * 2**25) / 2.0**16 / n
        back = channel.send(9, SERVER, nodes, "average", mean[None], content=np.zeros(n, dtype=int))[0]
        return np.repeat(back[:, None, :], n, axis=1), channel.transcript


class Exactly(Pairwise):
    """The server adds up without rounding."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        received = super().upload(channel, hidden, s, rng)
        _, runs, m = received.shape
        exact = [[math.fsum(received[:, run, entry].tolist()) for entry in range(m)] for run in range(runs)]
        return np.array(exact)[None]


@dataclass(frozen=True)
class Buffered(Pairwise):
    """Works in buffers of its own, which it clears before and after it uses them."""

    buffers: dict[tuple[int, ...], Array] = field(default_factory=dict)

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        buffer = self.buffers.setdefault(hidden.shape, np.zeros(hidden.shape))
        np.copyto(buffer, hidden)
        out = buffer.copy()
        buffer.fill(0.0)
        return out


class Shuffled(Pairwise):
    """Sends entries in an order that all know, so that neighbours are apart, and puts them back."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        order = np.argsort(np.arange(hidden.shape[2]) * 7 % 13, kind="stable")
        places = np.broadcast_to(order, hidden.shape)
        received = super().upload(channel, np.take_along_axis(hidden, places, axis=2), s, rng)
        return received[..., np.argsort(order)]


@dataclass
class Pace:
    """Counts steps for a display, and is called."""

    steps: int = 0

    def __call__(self) -> int:
        """One step more."""
        self.steps += 1
        return self.steps


@dataclass(frozen=True)
class Displayed(Pairwise):
    """Tells a display how far it is, and nobody else."""

    pace: Pace = field(default_factory=Pace)

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        LOG.debug("averaging %d of %d nodes", self.pace(), len(s))


class Framed(Modular):
    """Sends words as the bytes of a frame, as sockets want them."""

    def upload(self, channel: Any, payload: Array, network: Any) -> Array:
        """Bytes there, numbers here."""
        frames = np.frombuffer(payload.tobytes(), dtype=np.uint8).reshape(*payload.shape[:2], -1)
        received = channel.send(0, np.arange(network.n), SERVER, "frame", frames)
        return np.frombuffer(received.tobytes()).reshape(payload.shape)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        first, second = network.edges.T
        fixed, r = self.words(s), self.words(r)
        channel.hold(-1, first, "mask", self.numbers(r))
        channel.send(-1, first, second, "mask", self.numbers(r), encrypted=True)
        hidden = fixed.copy()
        np.add.at(hidden, first, r)
        np.subtract.at(hidden, second, r)
        received = self.upload(channel, self.numbers(hidden), network)
        total = self.numbers(self.words(received).sum(axis=0))
        mean: Array = np.where(total >= self.modulus / 2, total - self.modulus, total) / network.n
        return mean


OUT, ONE = Eavesdropper(), HonestButCurious({1}, eavesdrops=False)
FRESH = {"family": "fresh"}
CASES = [
    right("a table of signs", BySigns, OUT, BONAWITZ, **FRESH),
    right("padded to blocks", Blocks, CuriousServer(), BONAWITZ, **FRESH),
    right("in a session", InASession, OUT, BONAWITZ, **FRESH),
    right("in envelopes", Enveloped, CuriousServer(), DEALER, **FRESH),
    right("hidden by workers", ByWorkers, OUT, DEALER, **FRESH),
    right("running sums by folding", ByFolding, ONE, CLIFTON, **FRESH),
    right("tried again", TriedAgain, CuriousServer(), BONAWITZ, **FRESH),
    right("masks by name", ByName, OUT, BONAWITZ, **FRESH),
    right("gossip on hidden numbers", Gossip, OUT, BONAWITZ + "; states are averages of these", **FRESH),
    right("reduced by bits", Folded, OUT, PERFECT, **FRESH),
    right("two in a word", TwoInAWord, CuriousServer(), PERFECT + "; halves have room for the sum", **FRESH),
    right("added up exactly", Exactly, CuriousServer(), BONAWITZ, **FRESH),
    right("in a buffer", Buffered, OUT, BONAWITZ, **FRESH),
    right("in a known order", Shuffled, CuriousServer(), BONAWITZ, **FRESH),
    right("counted for a display", Displayed, OUT, BONAWITZ, **FRESH),
    right("framed as bytes", Framed, CuriousServer(), PERFECT, **FRESH),
]
