"""Seeds that are public, or that the adversary holds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...case import Case, Heard, each, input_of
from .attacks import Group, Own, Ring, Seeded, net, signed, words


class RoundAndPair(Seeded):
    """Seeds masks by the round and the numbers of both nodes, which need no message then."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return words(np.random.default_rng([channel.iteration, *pair]), m)


class RoundAndNode(Own):
    """Seeds masks by seven times the round and the number of the node."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return words(np.random.default_rng(7 * channel.iteration + pair[0]), m)


class HashOfNames(Seeded):
    """Hashes the round and the names of both nodes."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return words(np.random.default_rng(named(channel.iteration, *pair)), m)


def named(turn: int, i: int, j: int) -> int:
    """A seed of a text."""
    return int.from_bytes(hashlib.sha256(f"round {turn}: {i}-{j}".encode()).digest()[:16], "big")


class InTheClear(Seeded):
    """Agrees on seeds on plain lines."""

    plain = True


class Relayed(Seeded):
    """Has no lines between nodes: seeds pass through the server."""

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        first, second = pairs.T
        channel.hold(-1, first, "seed", r)
        passed = channel.send(-1, first, SERVER, "seed", r, encrypted=True)
        return np.asarray(channel.send(-1, SERVER, second, "seed", passed, encrypted=True))


class Session(Seeded):
    """The server opens a session by a random number, of which all masks are made."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        opened = rng.integers(0, 2**63, size=(1, s.shape[1], 2))
        told = channel.send(-1, SERVER, np.arange(5), "session", opened, content=np.zeros(5, dtype=int))[0]
        return super().body(channel, s, np.repeat(told[None], len(network.edges), axis=0), network, rng)

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        return r

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return words(np.random.default_rng([*seed, *pair]), m)


@dataclass(frozen=True)
class LastAverage(Seeded):
    """Seeds masks by a hash of the last average, which all nodes have, from the second round on."""

    last: dict[str, Array] = field(default_factory=dict)

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        if channel.iteration == 0:
            return super().mask(channel, seed, pair, m)
        return words(np.random.default_rng([of_average(self.last["average"]), *pair]), m)

    def result(self, averages: Array, s: Array, rng: Any) -> Array:
        self.last["average"] = averages[0, 0]
        return averages


def of_average(average: Array) -> int:
    """A seed of what all nodes have."""
    return int.from_bytes(hashlib.sha256(np.asarray(average).tobytes()).digest()[:16], "big")


class Announced(Own):
    """Announces its seed to all after the round, so that others may check the sum."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, np.arange(5), SERVER, "opened", r)


class BytesAnnounced(Own):
    """The same, with masks of a hash of the seed."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return expanded(seed, m)

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, np.arange(5), SERVER, "opened", r)


def expanded(seed: Any, m: int) -> Array:
    """A stream of SHAKE."""
    return np.frombuffer(hashlib.shake_128(seed.tobytes()).digest(8 * m), dtype=np.uint64)


def less(node: int, mask: Any, iteration: int = 0) -> Any:
    """Take off what a node added, where ``mask(heard, i, j)`` is that of a pair."""
    return each(lambda h: signed(h.one("masked", node, iteration=iteration) - net(node, lambda i, j: mask(h, i, j))))


def seeded(*parts: Any) -> Array:
    """Words of a seed that is put together."""
    return words(np.random.default_rng([int(each) for part in parts for each in np.atleast_1d(part)]), 12)


def sent(heard: Heard, i: int, j: int) -> Array:
    """Masks of a seed that was sent to the other node."""
    return words(np.random.default_rng(heard.one("seed", i, j)), 12)


def passed(heard: Heard, i: int, j: int) -> Array:
    """Masks of a seed that was sent to the server: a node sends those of its pairs in order."""
    seed = heard.all("seed", i, SERVER, iteration=0)[j - i - 1].numbers
    assert seed is not None
    return words(np.random.default_rng(seed[0]), 12)


def own(mask: Any) -> Any:
    """Take off what node 0 added by itself."""
    return each(lambda h: signed(h.one("masked", 0) - mask(h.one("opened", 0))))


def of_last(average: Array, i: int, j: int) -> Array:
    """Masks of a seed that the average gives."""
    return words(np.random.default_rng([of_average(average), i, j]), 12)


def of_neighbours(heard: Heard) -> Array:
    known = {pair: words(np.random.default_rng(heard.one("seed", *pair)), 12) for pair in [(1, 2), (2, 3)]}
    return signed(heard.one("masked", 2) + known[1, 2] - known[2, 3])


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
GRID: dict[str, Any] = {"accuracy": 1e-5, "secret": input_of(0)}
NAME = "known seeds"
CASES = [
    Case("seeded by round and pair", NAME, RoundAndPair, OUT, "who knows the code knows the masks",
         attack=less(0, lambda h, i, j: seeded(0, i, j)), **GRID),
    Case("seeded by round and node", NAME, RoundAndNode, OUT, "who knows the code knows the masks",
         attack=each(lambda h: signed(h.one("masked", 0) - words(np.random.default_rng(0), 12))), **GRID),
    Case("seeded by names", NAME, HashOfNames, SERVED, "who knows the code knows the masks",
         attack=less(0, lambda h, i, j: words(np.random.default_rng(named(0, i, j)), 12)), **GRID),
    Case("seeds in the clear", NAME, InTheClear, OUT, "seeds are heard", attack=less(0, sent), **GRID),
    Case("seeds through the server", NAME, Relayed, SERVED, "the server passes the seeds on",
         attack=less(0, passed), **GRID),
    Case("seeds of a session", NAME, Session, SERVED, "the server knows the number of the session",
         attack=less(0, lambda h, i, j: seeded(h.one("session", SERVER, 0), i, j)), **GRID),
    Case("a secret of the group", NAME, Group, ONE, "every node knows the masks of all",
         attack=less(0, lambda h, i, j: seeded(h.one("secret", 0, 1), i, j)), **GRID),
    Case("seeds of the last average", NAME, LastAverage, SERVED, "the average is known",
         attack=less(0, lambda h, i, j: of_last(h.one("average", SERVER, 0), i, j), 1),
         accuracy=1e-5, secret=input_of(0, 1)),
    Case("a ring of seeds, both neighbours", NAME, Ring, HonestButCurious({1, 3}), "the neighbours have both seeds",
         node=2, attack=each(of_neighbours), accuracy=1e-5, secret=input_of(2)),
    Case("seeds announced", NAME, Announced, SERVED, "seeds are told", **GRID,
         attack=own(lambda seed: words(np.random.default_rng(seed), 12))),
    Case("keys announced", NAME, BytesAnnounced, OUT, "keys are told", attack=own(lambda key: expanded(key, 12)),
         **GRID),
]  # fmt: skip
