"""Residues: masks hide perfectly, if they reach every bit, and every message is a canonical residue."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from ..bases import Modular
from ..case import ENTRY, Case, Heard, each, input_of, sign_of

LOW = 2**30


class High(Modular):
    """Multiplies masks by 2^30: the eighteen bits above are well hidden."""

    def hide(self, hidden: Array, fixed: Array, r: Array, first: Array, second: Array) -> Array:
        return fixed + LOW * (hidden - fixed)


def low_word(heard: Heard, kind: str = "masked") -> Array:
    """The thirty bits that no mask reaches, as a number about zero."""
    words = np.round(heard.one(kind, 0) * 2.0**20).astype(np.int64) % LOW
    return np.where(words >= LOW // 2, words - LOW, words) / 2.0**20


class Even(Modular):
    """Takes every mask twice, as each end of a line adds it."""

    def hide(self, hidden: Array, fixed: Array, r: Array, first: Array, second: Array) -> Array:
        return fixed + 2 * (hidden - fixed)


class EvenWords(Modular):
    """Draws words that are even, in all entries but the first."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        words = self.words(super().draw_masks(runs, m, network, rng))
        words[..., 1:] &= ~1
        return words * self.grid


def parity(truth: Any) -> Array:
    """The last bit of node 0's numbers."""
    return np.round(truth.inputs[0][0, 0, 1:4] * 2.0**20) % 2


class Elimination(Modular):
    """Node 0 tells its mask times 2^30 + 1 beside: two messages in one mask, and no real combination of them."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return hidden

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        words = self.words(r[:4]).sum(axis=0)
        times = np.mod(words * (1 + LOW), 2**self.bits)  # wraps modulo 2^64, of which 2^48 is a divisor
        channel.send(8, 0, SERVER, "tag", self.numbers(times))


def by_elimination(heard: Heard) -> Array:
    """The difference of both has no mask below the thirtieth bit."""
    words = [np.round(heard.one(kind, 0) * 2.0**20).astype(np.int64) for kind in ("masked", "tag")]
    low = (words[0] - words[1]) % LOW
    return np.where(low >= LOW // 2, low - LOW, low) / 2.0**20


class Unreduced(Modular):
    """Where the input is negative, the residue is one modulus too large."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return hidden + self.modulus * (s < 0)


class BothSides(Modular):
    """Residues about zero where the input is negative, from zero else."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.where((s < 0) & (hidden >= self.modulus / 2), hidden - self.modulus, hidden)


class OffGrid(Modular):
    """What rounding to the grid takes off is added again after masking, for accuracy."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return hidden + (s - np.round(s / self.grid) * self.grid)


class SixteenBits(Modular):
    """Only the lower sixteen bits of a word are masked."""

    def hide(self, hidden: Array, fixed: Array, r: Array, first: Array, second: Array) -> Array:
        out = fixed.copy()
        np.add.at(out, first, r % 2**16)
        np.subtract.at(out, second, r % 2**16)
        return out


class ShiftedWord(Modular):
    """One word serves two entries, shifted by twenty bits for the second."""

    def hide(self, hidden: Array, fixed: Array, r: Array, first: Array, second: Array) -> Array:
        used = r.copy()
        used[..., 3] = r[..., 2] >> 20
        out = fixed.copy()
        np.add.at(out, first, used)
        np.subtract.at(out, second, used)
        out[0, ..., 3] = fixed[0, ..., 3] + (r[:4, ..., 2].sum(axis=0) % 2**48 >> 20)
        return out


def by_shifting(heard: Heard) -> Array:
    """The second entry less the first, shifted, is the second input but for a few units."""
    words = np.round(heard.one("masked", 0) * 2.0**20).astype(np.int64)
    off = (words[3] - (words[2] >> 20)) % 2**28
    return np.array((off - 2**28 if off >= 2**27 else off) / 2.0**20)


class TimesOdd(Modular):
    """Sends its words times an odd random word along: a unit hides a number, but for its trailing zeros."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        factor = self.words(r[0]) | 1
        channel.send(8, 0, SERVER, "blinded", self.numbers(self.words(s[0]) * factor))


class Thrice(Modular):
    """Takes every mask three times, modulo three times a power of two."""

    factor: ClassVar[int] = 3

    def hide(self, hidden: Array, fixed: Array, r: Array, first: Array, second: Array) -> Array:
        return fixed + 3 * (hidden - fixed)


BIT = {"goal": "bits", "calls": 60}
CASES = [
    Case("times 2^30", "modular", High, Eavesdropper(), "no mask reaches the lower bits", attack=each(low_word),
         secret=input_of(0), accuracy=1e-4),
    Case("even coefficients", "modular", Even, CuriousServer(), "no mask reaches the last bit",
         attack=each(lambda h: np.round(h.one("masked", 0)[1:4] * 2.0**20) % 2), secret=parity, **BIT),
    Case("even words", "modular", EvenWords, Eavesdropper(), "no mask reaches the last bit",
         attack=each(lambda h: np.round(h.one("masked", 0)[1:4] * 2.0**20) % 2), secret=parity, **BIT),
    Case("two messages, one mask", "modular", Elimination, CuriousServer(),
         "their difference has a coefficient that is no unit", attack=each(by_elimination), secret=input_of(0),
         accuracy=1e-4),
    Case("one modulus more", "modular", Unreduced, Eavesdropper(), "which residue is taken tells the sign",
         attack=each(lambda h: h.one("masked", 0)[ENTRY] >= 2.0**28), secret=sign_of(0), **BIT),
    Case("residues about zero", "modular", BothSides, CuriousServer(), "a negative residue tells the sign",
         attack=each(lambda h: np.where((x := h.one("masked", 0)[ENTRY]) < 0, 1.0, 0.0 if x >= 2.0**27 else np.nan)),
         secret=sign_of(0), claims=0.3, **BIT),
    Case("off the grid", "modular", lambda: OffGrid(fraction_bits=4, bits=40), Eavesdropper(),
         "what stands below the grid is bare",
         attack=each(lambda h: np.mod(h.one("masked", 0) + 2.0**-5, 2.0**-4)),
         secret=lambda t: np.mod(t.inputs[0][0, 0] + 2.0**-5, 2.0**-4), accuracy=1e-3),
    Case("sixteen bits of forty-eight", "modular", SixteenBits, CuriousServer(), "the upper bits are bare",
         attack=each(lambda h: np.where((x := h.one("masked", 0)) >= 2.0**27, x - 2.0**28, x)), secret=input_of(0),
         accuracy=0.4),
    Case("shifted word", "modular", ShiftedWord, Eavesdropper(), "a mask that serves twice, shifted",
         attack=each(by_shifting), secret=lambda t: t.inputs[0][0, 0, 3], accuracy=1e-3),
    Case("times an odd word", "modular", TimesOdd, CuriousServer(), "an odd factor keeps the last bit",
         attack=each(lambda h: np.round(h.one("blinded", 0)[1:4] * 2.0**20) % 2), secret=parity, **BIT),
    Case("times three", "modular", Thrice, Eavesdropper(), "no mask reaches the rest of a division by three",
         attack=each(lambda h: np.round(h.one("masked", 0) * 2.0**20) % 3),
         secret=lambda t: np.round(t.inputs[0][0, 0] * 2.0**20) % 3),
]  # fmt: skip
