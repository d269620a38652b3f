"""Checks of masks: a server is told a part of each node's, or all of it in another form, before they are added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER, Channel

from ...bases import Base, Words
from ...case import Case, each, input_of

WORDS, PRIME = 2**32, 65521  # the prime of Adler's checksum
UNIT, HALF_WORD = 2.0**8, 2**16


class Checked(Words):
    """Each node tells the server a check of all its masks, by which that sees whether they cancel."""

    unit = UNIT

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, WORDS, size=(runs, self.count(network), m), dtype=np.uint32))

    def encode(self, s: Array) -> Array:
        return np.rint(s * self.unit).astype(np.int64).astype(np.uint32)

    def decode(self, total: Array) -> Array:
        return total.view(np.int32) / self.unit

    def check(self, masks: Array) -> Array:
        raise NotImplementedError

    def chosen(self, channel: Channel, hidden: Array, words: Array, s: Array) -> Array:
        channel.send(0, np.arange(len(s)), SERVER, "check", self.check(hidden - words))
        return hidden


class Checksum(Checked):
    """The rest of what is itself a rest says more than either modulus."""

    def check(self, masks: Array) -> Array:
        return masks % np.uint32(PRIME)


class Twice(Checked):
    """Each word stands in the upper half of a longer one: all ones times it, and it once more."""

    def check(self, masks: Array) -> Array:
        return masks.astype(np.uint64) * np.uint64(WORDS - 1) + masks


class Packed(Base):
    """Votes pass behind masks of sixteen bits. A trusted server publishes their sum, and node 0's number above it."""

    def count(self, network: Any) -> int:
        return int(network.n)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, HALF_WORD, size=(runs, network.n, m)))

    def body(self, channel: Channel, s: Array, r: Array, network: Any, rng: Any) -> Array:
        nodes, to_all = np.arange(network.n), np.zeros(network.n, dtype=int)
        votes, numbers = (s > 0).astype(np.int64), np.rint(s * UNIT).astype(np.int64)
        channel.hold(-1, nodes, "mask", r)
        channel.send(0, nodes, SERVER, "masked", (votes + r) % HALF_WORD)
        known = channel.send(0, nodes, SERVER, "votes", votes, encrypted=True)
        above = channel.send(0, nodes, SERVER, "numbers", numbers, encrypted=True)[0]
        total = known.sum(axis=0)
        channel.send(1, SERVER, nodes, "packed", (total + HALF_WORD * above)[None], content=to_all)
        mean = total / network.n
        return np.asarray(channel.send(9, SERVER, nodes, "average", mean[None], content=to_all)[0])


def upper_half(heard: Any) -> Array:
    return np.asarray(np.floor(heard.one("packed") / HALF_WORD) / UNIT)


def of_checksum(heard: Any) -> Array:
    """Return the one small number of which a word less its mask's checksum is left."""
    hidden, check = (heard.one(kind, 0).astype(np.int64)[:, None] for kind in ("masked", "check"))
    small = np.arange(-PRIME // 2, PRIME // 2)
    fits = (hidden - small) % WORDS % PRIME == check
    return np.where(fits.sum(axis=1) == 1, (small * fits).sum(axis=1), np.nan) / UNIT


def of_copy(heard: Any) -> Array:
    mask = (heard.one("check", 0) >> np.uint64(32)).astype(np.uint32)
    return np.asarray((heard.one("masked", 0) - mask).astype(np.uint32).view(np.int32) / UNIT)


SERVED, NAME = CuriousServer(), "residues"
CASES = [
    Case("a checksum of masks", NAME, Checksum, SERVED, "of small numbers one alone fits it",
         attack=each(of_checksum), secret=input_of(0), accuracy=1e-2),
    Case("masks in the upper half of a word", NAME, Twice, SERVED, "the mask is read there",
         attack=each(of_copy), secret=input_of(0), accuracy=1e-2),
    Case("a number above votes", NAME, Packed, Eavesdropper(), "it stands there bare",
         attack=each(upper_half), secret=input_of(0), accuracy=1e-2),
]  # fmt: skip
