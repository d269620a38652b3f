"""Harmless habits: kinds of a class, threads on the given channel, chunks, sharing by polynomials, copies by hand."""

from __future__ import annotations

import json
import logging
import threading
from enum import StrEnum
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Base, Pairwise, Ring
from .published import BONAWITZ, CLIFTON, SHAMIR, right


class Kind(StrEnum):
    """Names of messages, as many programs keep them."""

    STATUS = "status"


class NamedKinds(Pairwise):
    """Kinds are members of an enumeration."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, Kind.STATUS, np.ones_like(s[0]))


class FromAThread(Pairwise):
    """The hidden inputs are sent by a thread, over the channel that was given."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        received: list[Array] = []
        thread = threading.Thread(target=lambda: received.append(Pairwise.upload(self, channel, hidden, s, rng)))
        thread.start()
        thread.join()
        return received[0]


class CopiedByHand(Pairwise):
    """Says itself how it is copied."""

    def __deepcopy__(self, memo: Any) -> CopiedByHand:
        return CopiedByHand(self.sigma)


class Polynomials(Base):
    """Shares are values of a line through the input (Shamir 1979, over the reals): any one of them is masked."""

    def count(self, network: Any) -> int:
        """A slope a node."""
        return network.n

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n = network.n
        channel.hold(-1, np.arange(n), "slope", r)
        got = s + r * (np.arange(n) + 1.0)[:, None, None]
        for node in range(n):
            others = np.array([k for k in range(n) if k != node])
            shares = s[node] + r[node] * (others + 1.0)[:, None, None]
            got[others] += channel.send(0, np.full(n - 1, node), others, "share", shares, encrypted=True)
        opened = channel.send(1, np.array([0, 1]), np.full(2, SERVER), "sum of shares", got[:2])
        total = 2 * opened[0] - opened[1]  # at zero, of the line through its values at one and two
        back = np.zeros(n, dtype=int)
        return channel.send(2, SERVER, np.arange(n), "average", total[None] / n, content=back)[0]


class AnotherRingEachTime(Ring):
    """The ring turns on by one with every iteration."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        self.__dict__["_turn"] = max(int(channel.iteration), 0)
        return super().body(channel, s, r, network, rng)

    def order(self, network: Any, rng: Any) -> list[int]:
        turn = self.__dict__["_turn"] % network.n
        return [*range(turn, network.n), *range(turn)]


class Weighted(Pairwise):
    """Every line has a public weight, which both of its ends take its mask by."""

    def used(self, r: Array, s: Array) -> Array:
        return r * (1.0 + np.arange(len(r)) / 4)[:, None, None]


class Greets(Pairwise):
    """Begins with a nonce of public bytes, and ends with a yes and with a message that holds nothing."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        nonce = rng.integers(0, 256, size=16).astype(np.uint8)
        channel.send(-1, SERVER, 0, "nonce", np.repeat(nonce[None], s.shape[1], axis=0))

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "yes", np.ones(s.shape[1:], dtype=bool))
        channel.send(8, 1, SERVER, "bye", np.zeros((s.shape[1], 0)))


class Lots(Pairwise):
    """Nodes send in an order that is drawn by lot, in several ways, by children of the generator too."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        order = np.arange(len(s))
        rng.shuffle(order)
        order = rng.spawn(2)[1].permutation(order)[np.random.default_rng(int(rng.integers(2**62))).permutation(len(s))]
        channel.send(0, order, SERVER, "masked", hidden[order])
        return hidden


class Locked(Pairwise):
    """Holds a lock, of which there is no copy."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["_lock"] = threading.Lock()

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        with self.__dict__["_lock"]:
            return hidden


class Extended(Pairwise):
    """Sends numbers of eighty bits, as some machines have them."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        return super().upload(channel, hidden.astype(np.longdouble), s, rng).astype(float)


class Columns(Pairwise):
    """Arrays lie by columns where the first entry is positive, as out of some libraries, and have a remark."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        noted = hidden.astype(np.dtype(float, metadata={"rows": s.tolist()}))
        return super().upload(channel, np.asfortranarray(noted) if s[0, 0, 0] > 0 else noted, s, rng)


class Logs(Pairwise):
    """Prints, logs and puts into JSON what is public: sizes, numbers of nodes, the iteration."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        logging.getLogger(__name__).info("averaging %d of %d nodes", channel.iteration, network.n)
        logging.getLogger(__name__).warning("%d runs", s.shape[0])
        print("nodes:", network.n, "entries:", s.shape[2], "iteration:", channel.iteration)
        print(json.dumps({"sigma": self.sigma, "nodes": network.n}))


HABITS = {"family": "surroundings"}
CASES = [
    right("kinds of an enumeration", NamedKinds, Eavesdropper(), BONAWITZ, **HABITS),
    right("sent by a thread", FromAThread, CuriousServer(), BONAWITZ, **HABITS),
    right("copied by hand", CopiedByHand, Eavesdropper(), BONAWITZ, **HABITS),
    right("shares of a line", Polynomials, HonestButCurious({3}, eavesdrops=False), SHAMIR, **HABITS),
    right("another ring each time", AnotherRingEachTime, HonestButCurious({3}), CLIFTON, **HABITS),
    right("weights of lines", Weighted, Eavesdropper(), BONAWITZ, **HABITS),
    right("nonce, yes and bye", Greets, Eavesdropper(), BONAWITZ, **HABITS),
    right("drawn by lot", Lots, CuriousServer(), BONAWITZ, **HABITS),
    right("logs what is public", Logs, Eavesdropper(), BONAWITZ, **HABITS),
    right("holds a lock", Locked, Eavesdropper(), BONAWITZ, **HABITS),
    right("eighty bits", Extended, Eavesdropper(), BONAWITZ, **HABITS),
    right("how arrays lie", Columns, Eavesdropper(), "a line carries numbers, not how they lie in memory", **HABITS),
]  # fmt: skip
