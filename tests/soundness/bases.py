"""Right protocols with places to go wrong: a case overrides one of their steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.network import Network
from secmix.transcript import SERVER, Channel

Rng = np.random.Generator


@dataclass(frozen=True)
class Base:
    """Every step of an averaging: masks, hidden inputs, what is sent, what the nodes end with.

    Arrays are (nodes or masks, runs, m) inside.
    """

    sigma: float = 1e6

    def count(self, network: Network) -> int:
        """How many masks an entry has."""
        raise NotImplementedError

    def draw_masks(self, runs: int, m: int, network: Network, rng: Rng) -> Array:
        """(runs, k, m)."""
        return rng.normal(scale=self.sigma, size=(runs, self.count(network), m))

    def average(
        self, inputs: Any, network: Network, rng: Rng, *, masks: Any = None, channel: Any = None
    ) -> tuple[Array, Any]:
        """One averaging, step by step."""
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2).copy()
        channel = channel or Channel()
        if masks is None:
            masks = self.own_masks(s.shape[1], s.shape[2], network, rng)
        r = self.used(np.asarray(masks).transpose(1, 0, 2).copy(), s)
        channel.hold(-1, np.arange(network.n), "input", s)
        self.before(channel, s, r, network, rng)
        mean = self.body(channel, s, r, network, rng)
        self.after(channel, s, r, network, rng)
        averages = np.repeat(mean[:, None, :], network.n, axis=1)
        return self.result(averages, s, rng), channel.transcript

    def body(self, channel: Channel, s: Array, r: Array, network: Network, rng: Rng) -> Array:
        """The messages of the protocol; what comes of them, (runs, m)."""
        raise NotImplementedError

    # Places to go wrong.

    def own_masks(self, runs: int, m: int, network: Network, rng: Rng) -> Array:
        """Masks where none are given."""
        return self.draw_masks(runs, m, network, rng)

    def used(self, r: Array, s: Array) -> Array:
        """Masks as they are used."""
        return r

    def before(self, channel: Channel, s: Array, r: Array, network: Network, rng: Rng) -> None:
        """Before everything else is sent."""

    def after(self, channel: Channel, s: Array, r: Array, network: Network, rng: Rng) -> None:
        """After everything else was sent."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Rng) -> Array:
        """Hidden inputs as they are sent."""
        return hidden

    def result(self, averages: Array, s: Array, rng: Rng) -> Array:
        """What the nodes end with, (runs, n, m)."""
        return averages


class Pairwise(Base):
    """Neighbours agree on masks; one adds theirs, the other takes it off; a server adds up (Bonawitz et al. 2017)."""

    def count(self, network: Network) -> int:
        """One an edge."""
        return len(network.edges)

    def body(self, channel: Channel, s: Array, r: Array, network: Network, rng: Rng) -> Array:
        """Agree, hide, send, add up, send back."""
        hidden = self.hidden(channel, s, r, network)
        received = self.upload(channel, self.sent(hidden, s, r, rng), s, rng)
        return self.publish(channel, received.sum(axis=0) / network.n, s)

    def hidden(self, channel: Channel, s: Array, r: Array, network: Network) -> Array:
        """Inputs (n, runs, m) with the masks of both ends, which these tell each other."""
        first, second = network.edges.T
        channel.hold(-1, first, "mask", r)
        other = channel.send(-1, first, second, "mask", r, encrypted=True)
        hidden = s.copy()
        np.add.at(hidden, first, r)
        np.subtract.at(hidden, second, other)
        return hidden

    def upload(self, channel: Channel, hidden: Array, s: Array, rng: Rng) -> Array:
        """To the server, in one block."""
        return channel.send(0, np.arange(len(s)), SERVER, "masked", hidden)

    def publish(self, channel: Channel, mean: Array, s: Array) -> Array:
        """The mean from the server to all."""
        back = np.zeros(len(s), dtype=int)
        return channel.send(9, SERVER, np.arange(len(s)), "average", mean[None], content=back)[0]


class Dealt(Pairwise):
    """A dealer, node 4, gives every node a mask, and the server the sum of all (Beaver 1997, commodity model)."""

    def count(self, network: Network) -> int:
        """One a node."""
        return network.n

    def body(self, channel: Channel, s: Array, r: Array, network: Network, rng: Rng) -> Array:
        """Deal, hide, send, add up, send back."""
        n = network.n
        channel.hold(-1, np.full(n, n - 1), "mask", r)
        got = channel.send(-1, np.full(n, n - 1), np.arange(n), "mask", r, encrypted=True)
        total = channel.send(-1, n - 1, SERVER, "sum of masks", r.sum(axis=0)[None])[0]
        received = self.upload(channel, self.sent(s + got, s, r, rng), s, rng)
        return self.publish(channel, (received.sum(axis=0) - total) / n, s)


class Ring(Base):
    """A masked running sum 0, 1, …, n − 1, 0 on encrypted lines; then the total, likewise (Clifton et al. 2002)."""

    def count(self, network: Network) -> int:
        """That of the starter."""
        return 1

    def order(self, network: Network, rng: Rng) -> list[int]:
        """Who follows whom."""
        return list(range(network.n))

    def body(self, channel: Channel, s: Array, r: Array, network: Network, rng: Rng) -> Array:
        """Round the ring, and round again."""
        order = self.order(network, rng)
        n = len(order)
        channel.hold(-1, order[0], "mask", r[:1])
        running = s[order[0]] + r[0]
        for step in range(n):
            here, there = order[step], order[(step + 1) % n]
            running = channel.send(step, here, there, "running sum", self.passed(running, s, here), encrypted=True)
            if step < n - 1:
                running = running + s[there]
        total = running - r[0]
        for step in range(n - 1):
            total = channel.send(n + step, order[step], order[step + 1], "total", total, encrypted=True)
        return total / n

    def passed(self, running: Array, s: Array, here: int) -> Array:
        """A running sum as it is handed on by ``here``."""
        return running


class Shares(Base):
    """Additive secret sharing: a share to every other node, and everybody opens the sum of its shares."""

    def count(self, network: Network) -> int:
        """One for each ordered pair."""
        return network.n * (network.n - 1)

    def body(self, channel: Channel, s: Array, r: Array, network: Network, rng: Rng) -> Array:
        """Share, add up, open."""
        n = network.n
        first, second = (np.array(ends) for ends in zip(*((i, j) for i in range(n) for j in range(n) if i != j)))  # noqa: B905
        channel.hold(-1, first, "share", r)
        got = channel.send(0, first, second, "share", r, encrypted=True)
        parts = s.copy()
        np.subtract.at(parts, first, r)
        np.add.at(parts, second, got)
        opened = self.sent(parts, s, r, rng)
        content = np.repeat(np.arange(n), n - 1)
        heard = channel.send(1, first, second, "opened", opened, content=content)
        return heard.sum(axis=0) / n


@dataclass(frozen=True)
class Modular(Base):
    """Pairwise masks on fixed-point numbers modulo ``factor`` 2^bits: uniform, so that they hide perfectly."""

    bits: int = 48
    fraction_bits: int = 20
    factor: ClassVar[int] = 1

    @property
    def words_in_all(self) -> int:
        """The modulus of the words."""
        return int(self.factor * 2**self.bits)

    @property
    def modulus(self) -> float:
        """In the units of the inputs."""
        return self.words_in_all * self.grid

    @property
    def grid(self) -> float:
        """Step of the fixed-point numbers."""
        return 2.0**-self.fraction_bits

    def count(self, network: Network) -> int:
        """One an edge."""
        return len(network.edges)

    def draw_masks(self, runs: int, m: int, network: Network, rng: Rng) -> Array:
        """Words, in the units of the inputs."""
        return rng.integers(0, self.words_in_all, size=(runs, self.count(network), m)) * self.grid

    def words(self, values: Array) -> Array:
        """Numbers on the grid as words."""
        return np.round(values * 2.0**self.fraction_bits).astype(np.int64)

    def numbers(self, words: Array) -> Array:
        """Words as canonical residues in the units of the inputs."""
        return np.mod(words, self.words_in_all) * self.grid

    def body(self, channel: Channel, s: Array, r: Array, network: Network, rng: Rng) -> Array:
        """Agree, hide, send, add up, send back."""
        first, second = network.edges.T
        fixed, r = self.words(s), self.words(r)
        channel.hold(-1, first, "mask", self.numbers(r))
        channel.send(-1, first, second, "mask", self.numbers(r), encrypted=True)
        hidden = fixed.copy()
        np.add.at(hidden, first, r)
        np.subtract.at(hidden, second, r)
        payload = self.sent(self.numbers(self.hide(hidden, fixed, r, first, second)), s, self.numbers(r), rng)
        received = channel.send(0, np.arange(network.n), SERVER, "masked", payload)
        total = self.numbers(self.words(received).sum(axis=0))
        back = np.zeros(network.n, dtype=int)
        total = channel.send(9, SERVER, np.arange(network.n), "total", total[None], content=back)[0]
        return np.where(total >= self.modulus / 2, total - self.modulus, total) / network.n

    def hide(self, hidden: Array, fixed: Array, r: Array, first: Array, second: Array) -> Array:
        """Words as they are hidden."""
        return hidden


class Words(Base):
    """Two's complement modulo 2^64, a uniform mask for each pair, a server that adds up (Bonawitz et al. 2017)."""

    unit: ClassVar[float] = 2.0**20

    def pairs(self, network: Network) -> Array:
        """Who share a mask, (k, 2)."""
        return np.asarray(network.edges)

    def count(self, network: Network) -> int:
        """One a pair."""
        return len(self.pairs(network))

    def draw_masks(self, runs: int, m: int, network: Network, rng: Rng) -> Array:
        """Whole words."""
        return np.asarray(rng.integers(0, 2**64, size=(runs, self.count(network), m), dtype=np.uint64))

    def encode(self, s: Array) -> Array:
        """Numbers as words."""
        return np.rint(s * self.unit).astype(np.int64).astype(np.uint64)

    def decode(self, total: Array) -> Array:
        """A sum of words as numbers."""
        return total.view(np.int64) / self.unit

    def body(self, channel: Channel, s: Array, r: Array, network: Network, rng: Rng) -> Array:
        """Agree, hide, send, add up, send back."""
        first, second = self.pairs(network).T
        channel.hold(-1, first, "mask", r)
        agreed = channel.send(-1, first, second, "mask", r, encrypted=True)
        words = self.encode(s)
        hidden = words.copy()
        np.add.at(hidden, first, r)
        np.subtract.at(hidden, second, agreed)
        received = self.deliver(channel, self.chosen(channel, hidden, words, s))
        return self.publish(channel, self.decode(self.total(received)) / network.n, network.n)

    def chosen(self, channel: Channel, hidden: Array, words: Array, s: Array) -> Array:
        """What is sent: hidden words, where all is well."""
        return hidden

    def deliver(self, channel: Channel, hidden: Array) -> Array:
        """To the server."""
        return np.asarray(channel.send(0, np.arange(len(hidden)), SERVER, "masked", hidden))

    def total(self, received: Array) -> Array:
        """What the server adds up."""
        return received.sum(axis=0, dtype=received.dtype)

    def publish(self, channel: Channel, mean: Array, n: int) -> Array:
        """The mean from the server to all."""
        nodes, back = np.arange(n), np.zeros(n, dtype=int)
        return np.asarray(channel.send(9, SERVER, nodes, "average", mean[None], content=back)[0])
