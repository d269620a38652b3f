"""Protocols that say something of themselves which is not so, in the places where an audit might believe them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.protocols import Plain
from secmix.transcript import SERVER

from ..bases import Dealt, Pairwise
from ..case import Case, each, input_of


class SaysModular(Plain):
    """Plain numbers, which it says are residues modulo one: so that a one is a zero."""

    modulus: ClassVar[float] = 1.0


class SaysFineModular(Pairwise):
    """Sends an input along, and says that residues count modulo 2^-10."""

    modulus: ClassVar[float] = 2.0**-10

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "aside", s[0])


class SaysCoarse(Pairwise):
    """One entry goes bare; the grid it says it rounds to is a million."""

    grid: ClassVar[float] = 1e6

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        hidden[..., 3] = s[..., 3]
        return hidden


class SaysNothingIsNumber(Plain):
    """Says that its modulus is no number."""

    modulus: ClassVar[float] = float("nan")


class SaysReused(Dealt):
    """Says that masks serve again, and hands out one of its own for those it is given."""

    reuses_masks: ClassVar[bool] = True

    def used(self, r: Array, s: Array) -> Array:
        return r if r.shape[1] > 1 else 0 * r


class SaysSigma(Pairwise):
    """Says sigma, and adds a trillionth of what it draws."""

    def used(self, r: Array, s: Array) -> Array:
        return r * 1e-12


class MoreMasks(Dealt):
    """Draws a mask more for each node than it uses; its size makes up for that of the rest."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rng.normal(scale=self.sigma, size=(runs, 2 * network.n, m))

    def used(self, r: Array, s: Array) -> Array:
        return r[: len(s)] * 0 + r[len(s) :] * 1e-13


class Dealer(Dealt):
    """The dealer's masks are told to all as another kind, for node 1 to check them."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.hold(-1, np.full(len(r), 1), "check", r)


CASES = [
    Case("says it is modular", "its word", SaysModular, CuriousServer(), "numbers are sent as they are",
         attack=each(lambda h: h.one("input", 0)), secret=input_of(0)),
    Case("says it is finely modular", "its word", SaysFineModular, Eavesdropper(), "an input is sent as it is",
         attack=each(lambda h: h.one("aside", 0)), secret=input_of(0)),
    Case("says it is coarse", "its word", SaysCoarse, Eavesdropper(), "an entry is sent as it is",
         attack=each(lambda h: h.one("masked", 0)[3]), secret=lambda t: t.inputs[0][0, 0, 3]),
    Case("says its modulus is no number", "its word", SaysNothingIsNumber, CuriousServer(),
         "numbers are sent as they are",
         attack=each(lambda h: h.one("input", 0)), secret=input_of(0)),
    Case("says it reuses masks", "its word", SaysReused, CuriousServer(), "in use it adds none",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0)),
    Case("says sigma", "its word", SaysSigma, Eavesdropper(), "masks of a millionth hide nothing",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), accuracy=1e-2),
    Case("draws more than it uses", "its word", MoreMasks, Eavesdropper(), "what it uses is small",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), accuracy=1e-2),
    Case("masks are checked", "its word", Dealer, HonestButCurious({1}), "node 1 holds all masks",
         attack=each(lambda h: h.one("masked", 0) - h.all("check", 1)[0].numbers[0]), secret=input_of(0)),
]  # fmt: skip
