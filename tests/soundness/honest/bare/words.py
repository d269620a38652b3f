"""Words of fixed point of which some go without a mask, or with one that leaves a part of them in sight."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...bases import Pairwise, Words
from ...case import Case, Deployed, each, input_of


class LastLeftOut(Words):
    """Each node goes through those that follow, up to the last but one."""

    def pairs(self, network: Any) -> Array:
        last = network.n - 1
        return np.array([(i, j) for i in range(last) for j in range(i + 1, last)])


class GroupsOfTwo(Words):
    """Masks are agreed on within groups of two, and five nodes leave one over."""

    def pairs(self, network: Any) -> Array:
        return np.array([(i, j) for i, j in network.edges.tolist() if i // 2 == j // 2])


class WarmUp(Words):
    """Keys are exchanged in the first round, which goes without."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        return words if channel.iteration == 0 else hidden


class Legacy(Words):
    """Node 3 runs the last version: it knows no masks, and counts in other units from another zero."""

    def pairs(self, network: Any) -> Array:
        return np.array([pair for pair in network.edges.tolist() if 3 not in pair])

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        former = hidden.copy()
        former[3] = np.floor(s[3] * 2.0**18).astype(np.int64).astype(np.uint64) + np.uint64(10**9)
        return former

    def total(self, received: Array) -> Array:
        brought = received.copy()
        brought[3] = (received[3] - np.uint64(10**9)) * np.uint64(4)
        return super().total(brought)


class ShortWords(Words):
    """Words of 32 bits, and the coordinator, node 0, is trusted and needs no masks."""

    unit = 2.0**16

    def pairs(self, network: Any) -> Array:
        return np.array([pair for pair in network.edges.tolist() if 0 not in pair])

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**32, size=(runs, self.count(network), m), dtype=np.uint32))

    def encode(self, s: Array) -> Array:
        return np.rint(s * self.unit).astype(np.int32).astype(np.uint32)

    def decode(self, total: Array) -> Array:
        return total.view(np.int32) / self.unit


PRIME = 2**61 - 1


class ModuloPrime(LastLeftOut):
    """Millionths modulo a prime; negative numbers are counted down from it, and the last node is left out."""

    unit = 1e6

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, PRIME, size=(runs, self.count(network), m)))

    def encode(self, s: Array) -> Array:
        return np.rint(s * self.unit).astype(np.int64)

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        return hidden % PRIME

    def total(self, received: Array) -> Array:
        total = received[0]
        for row in received[1:]:
            total = (total + row) % PRIME
        return total

    def decode(self, total: Array) -> Array:
        return np.where(total > PRIME // 2, total - PRIME, total) / self.unit


class ShorterMask(Words):
    """Node 2 has masks for all entries but the last, which came with a later version."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        mixed = hidden.copy()
        mixed[2, :, -1] = words[2, :, -1]
        return mixed

    def total(self, received: Array) -> Array:
        return received.sum(axis=0, dtype=np.uint64)


class UpperHalves(Words):
    """Words are sent in two halves; masks are added to the upper ones, and the remainders are thought to be noise."""

    def deliver(self, channel: Any, hidden: Array) -> Array:
        nodes, low = np.arange(len(hidden)), np.uint64(2**32)
        upper = channel.send(0, nodes, SERVER, "upper", hidden // low)
        return np.asarray(upper * low + channel.send(1, nodes, SERVER, "remainder", hidden % low))

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return super().draw_masks(runs, m, network, rng) // np.uint64(2**32) * np.uint64(2**32)


class Shifted(Words):
    """Masks of 32 bits stand in the upper half of the words."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return super().draw_masks(runs, m, network, rng) << np.uint64(32)


class Even(Words):
    """Masks are even, to leave room for a flag in the last bit."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return super().draw_masks(runs, m, network, rng) << np.uint64(1)


class InSinglePrecision(Pairwise):
    """Masks are drawn in single precision, which is faster: what is smaller than their last digit shows below them."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        drawn = rng.random(size=(runs, self.count(network), m), dtype=np.float32)
        return (drawn * np.float32(2.0**34)).astype(float)


class MeanBeside(Pairwise):
    """Node 0 tells the mean of its entries, to see whether its data drift."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "drift", s[0].mean(axis=1, keepdims=True))


class MeanInWords(Words):
    """The same in words."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "drift", self.encode(s[0].mean(axis=1, keepdims=True)))


def signed(words: Any, bits: int = 64) -> Array:
    """Two's complement words of so many bits as numbers."""
    low = np.asarray(words).astype(np.uint64) << np.uint64(64 - bits)
    return (low.view(np.int64) >> (64 - bits)).astype(float)


def node(who: int, unit: float = Words.unit, bits: int = 64, kind: str = "masked") -> Any:
    """An attack that reads the words of a node as they are."""
    return each(lambda h: signed(h.one(kind, who), bits) / unit)


def below_the_prime(words: Array) -> Array:
    return np.where(words > PRIME // 2, words - PRIME, words) / 1e6


def parity(truth: Deployed) -> Array:
    """The last bit of each word of node 0."""
    return np.rint(truth.inputs[0][0, 0] * Words.unit) % 2


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
GRID: dict[str, Any] = {"accuracy": 1e-5}
NAME = "words as they are"
CASES = [
    Case("last left out", NAME, LastLeftOut, SERVED, "node 4 has no mask", node=4, attack=node(4), secret=input_of(4),
         **GRID),
    Case("last left out, heard by a neighbour", NAME, LastLeftOut, ONE, "node 4 has no mask", node=4, attack=node(4),
         secret=input_of(4), **GRID),
    Case("a group of one", NAME, GroupsOfTwo, ONE, "node 4 is alone in its group", node=4, attack=node(4),
         secret=input_of(4), **GRID),
    Case("a round to warm up", NAME, WarmUp, OUT, "the first round is bare", attack=node(0), secret=input_of(0),
         **GRID),
    Case("a client of the last version", NAME, Legacy, HonestButCurious({0}), "node 3 has no mask", node=3,
         attack=each(lambda h: (signed(h.one("masked", 3)) - 1e9) / 2.0**18), secret=input_of(3), accuracy=1e-4),
    Case("a trusted coordinator", NAME, ShortWords, SERVED, "node 0 has no mask", attack=node(0, 2.0**16, 32),
         secret=input_of(0), accuracy=1e-4),
    Case("last left out, modulo a prime", NAME, ModuloPrime, OUT, "node 4 has no mask", node=4, secret=input_of(4),
         attack=each(lambda h: below_the_prime(h.one("masked", 4))), **GRID),
    Case("an entry of a later version", NAME, ShorterMask, SERVED, "the last entry of node 2 has no mask", node=2,
         attack=each(lambda h: signed(h.one("masked", 2))[-1:] / Words.unit), secret=lambda t: t.inputs[0][0, 2, -1:],
         **GRID),
    Case("remainders as they are", NAME, UpperHalves, ONE, "the remainders are the numbers", **GRID,
         attack=node(0, bits=32, kind="remainder"), secret=input_of(0)),
    Case("masks in the upper half", NAME, Shifted, SERVED, "the lower half is the number", attack=node(0, bits=32),
         secret=input_of(0), **GRID),
    Case("even masks", NAME, Even, OUT, "the last bit is bare", goal="bits", secret=parity,
         attack=each(lambda h: h.one("masked", 0) % np.uint64(2))),
    Case("masks in single precision", NAME, InSinglePrecision, SERVED, "the remainder modulo 1024 is the number",
         attack=each(lambda h: (x := h.one("masked", 0)) - 1024 * np.round(x / 1024)), secret=input_of(0), **GRID),
    Case("a mean beside the sum", NAME, MeanBeside, SERVED, "node 0's mean is told",
         attack=each(lambda h: h.one("drift")), secret=lambda t: t.inputs[0][0, 0].mean()),
    Case("a mean in words", NAME, MeanInWords, ONE, "node 0's mean is told",
         attack=each(lambda h: signed(h.one("drift")) / Words.unit), secret=lambda t: t.inputs[0][0, 0].mean(), **GRID),
]  # fmt: skip
