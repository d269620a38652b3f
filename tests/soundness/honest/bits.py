"""Numbers that carry more than is meant: a sign of zero, an infinity, a rest, an imaginary part, an order, a flag."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from ..bases import Dealt, Pairwise, Shares
from ..case import ENTRY, Case, Heard, each, input_of, sign_of


class Beside(Pairwise):
    """Sends a line of its own beside everything else: ``told`` makes it."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "line", self.told(s[0]))

    def told(self, s: Array) -> Array:
        return np.zeros_like(s)


class SignOfZero(Beside):
    def told(self, s: Array) -> Array:
        return np.copysign(0.0, s)


class Infinite(Beside):
    def told(self, s: Array) -> Array:
        return np.copysign(np.inf, s)


class MissingOrInfinite(Beside):
    """Neither is a number, and which of the two depends on the input."""

    def told(self, s: Array) -> Array:
        return np.where(s < 0, np.nan, np.inf)


class Subnormal(Beside):
    """The input in units of the smallest number there is: as good as zero."""

    def told(self, s: Array) -> Array:
        return np.round((s + 512) * 2**20).astype(np.uint64).view(float)


def from_subnormal(heard: Heard) -> Array:
    """As whole numbers."""
    return heard.one("line", 0).view(np.uint64).astype(float) / 2**20 - 512


class RoundedUpOrDown(Dealt):
    """Rounds to a grid of 2^-10, up where the input is negative, else to a grid of 2^-11: digits are lost anyway."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        coarse = np.round(hidden * 2.0**24) * 2.0**-24
        fine = (np.floor(hidden * 2.0**24) + 0.5) * 2.0**-24
        return np.where(s < 0, fine, coarse)


class Sorted(Shares):
    """Opens its parts in the order of node 0's numbers: who is first is largest."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return hidden

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        ranks = np.argsort(np.argsort(s[0], axis=1), axis=1)
        table = np.take_along_axis(np.broadcast_to(np.arange(12.0), ranks.shape).copy(), ranks % ranks.shape[1], axis=1)
        channel.send(8, 0, 1, "index", table)


class Half(Pairwise):
    """Sends a hidden input in two numbers, the leading and the trailing part; the split depends on the input."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        x = s[0] + r[:4].sum(axis=0)
        top = np.where(s[0] < 0, np.floor(x), np.ceil(x))
        channel.send(8, 0, SERVER, "top", top)
        channel.send(8, 0, SERVER, "rest", x - top)


class Imaginary(Beside):
    """A complex number, whose real part is zero."""

    def told(self, s: Array) -> Array:
        return 1j * s


class UnderTheMask(Beside):
    """An array with a mask over all its values, which are there nevertheless."""

    def told(self, s: Array) -> Array:
        return np.ma.masked_array(s, mask=np.ones(s.shape, dtype=bool))


class Flag(Beside):
    """A truth value instead of a number."""

    def told(self, s: Array) -> Array:
        return s < 0


BIT = {"goal": "bits", "calls": 60}
CASES = [
    Case("sign of zero", "bits", SignOfZero, Eavesdropper(), "zero has a sign",
         attack=each(lambda h: np.signbit(h.one("line", 0)[ENTRY])), secret=sign_of(0), **BIT),
    Case("infinities", "bits", Infinite, Eavesdropper(), "infinity has a sign",
         attack=each(lambda h: h.one("line", 0)[ENTRY] < 0), secret=sign_of(0), **BIT),
    Case("NaN or infinity", "bits", MissingOrInfinite, CuriousServer(), "both are no numbers, and they differ",
         attack=each(lambda h: np.isnan(h.one("line", 0)[ENTRY])), secret=sign_of(0), **BIT),
    Case("subnormal", "bits", Subnormal, Eavesdropper(), "what is smaller than 1e-300 is not zero",
         attack=each(from_subnormal), secret=input_of(0), accuracy=1e-5),
    Case("two grids", "bits", RoundedUpOrDown, Eavesdropper(), "which grid a number lies on tells the sign",
         attack=each(lambda h: np.mod(h.one("masked", 0)[ENTRY] * 2.0**24, 1) != 0), secret=sign_of(0), **BIT),
    Case("order of an index", "bits", Sorted, Eavesdropper(), "the order of numbers is told",
         attack=each(lambda h: h.one("index", 0)[ENTRY] > h.one("index", 0)[8]),
         secret=lambda t: float(t.inputs[0][0, 0, ENTRY] > t.inputs[0][0, 0, 8]), **BIT),
    Case("halves", "bits", Half, CuriousServer(), "the rest of a number tells which way it was rounded",
         attack=each(lambda h: h.one("rest", 0)[ENTRY] >= 0), secret=sign_of(0), **BIT),
    Case("imaginary part", "bits", Imaginary, Eavesdropper(), "a complex number has two parts",
         attack=each(lambda h: h.one("line, imaginary part", 0)), secret=input_of(0)),
    Case("under a mask", "bits", UnderTheMask, Eavesdropper(), "an array's mask does not take its values away",
         attack=each(lambda h: np.ma.getdata(h.all("line", 0)[0].numbers[0])), secret=input_of(0)),
    Case("truth value", "bits", Flag, CuriousServer(), "a sign is told as such",
         attack=each(lambda h: h.one("line", 0)[ENTRY]), secret=sign_of(0), **BIT),
]  # fmt: skip
