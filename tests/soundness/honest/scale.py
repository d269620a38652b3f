"""What is too small, too large or too rare in size to be seen beside masks, or in units."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Dealt, Pairwise, Ring
from ..case import ENTRY, Case, each, input_of, sign_of


class Aside(Pairwise):
    """Sends node 0's input beside everything else, times a factor."""

    FACTOR = 1.0

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "aside", s[0] * self.FACTOR)


class Faint(Aside):
    FACTOR = 2.0**-40


class Hundredth(Aside):
    FACTOR = 1e-8


class NearlyNothing(Aside):
    FACTOR = 2.0**-1000


class Loud(Aside):
    FACTOR = 2.0**900


class FaintMask(Pairwise):
    """Node 0 tells the sum of its masks, times 2^-30: beside the masks it is next to nothing."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "digest", r[:4].sum(axis=0) * 2.0**-30)


class FaintDifference(Pairwise):
    """Sends its hidden input again with a millionth of its input more."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "again", s[0] * (1 + 1e-6) + r[:4].sum(axis=0))


class LoudMask(Dealt):
    """The dealer tells the server its masks too, times 2^60, and one of them as it is."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 4, SERVER, "noise", r[1] * 2.0**60)
        channel.send(8, 4, SERVER, "salt", r[0] * 2.0**-24 + r[1] * 2.0**-23)


class OverTheGuard(Pairwise):
    """Numbers above twenty are sent openly: they are outliers anyway."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.where(np.abs(s) > 20, s, hidden)


class Sparse(Pairwise):
    """Small numbers are not worth a mask."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.where(np.abs(s) < 0.1, s, hidden)


class AlarmAtTheTop(Pairwise):
    """A line for alarms carries zeros, and what is above a level that one run in a few hundred reaches."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "alarm", np.where(np.abs(s[0]) > 60, s[0], 0.0))


class Multiplied(Pairwise):
    """Multiplies what it sends beside the protocol by a positive random number: a mask that keeps the sign."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "scaled", s[0] * np.exp(r[0] / self.sigma))


class Weak(Dealt):
    """A mask is divided by the number of nodes to the power of the node before it is added."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        return super().body(channel, s, r * 1e-4 ** (4.0 - np.arange(5))[:, None, None], network, rng)


class Thin(Ring):
    """Each node divides the mask of what passes by 10^4: so does not see it shrink who looks at the first."""

    def passed(self, running: Array, s: Array, here: int) -> Array:
        return running * 2.0**-300 if here == 0 else running

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        channel.send(0, 0, 1, "log", s[0] * 2.0**-70, encrypted=False)
        return super().body(channel, s, r, network, rng)


def aside(factor: float) -> Any:
    return each(lambda h: h.one("aside", 0) / factor)


class TwiceTheMask(Pairwise):
    """Sends the same again under twice the mask."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "again", s[0] + 2 * r[:4].sum(axis=0))


class NearlyTheMask(Pairwise):
    """Sends the same again under the mask and 2^-16 of it."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "again", s[0] + (1 + 2.0**-16) * r[:4].sum(axis=0))


class Decay(Dealt):
    """The mask of each entry is a thousandth of that before."""

    def used(self, r: Array, s: Array) -> Array:
        return r * 1e-3 ** np.arange(r.shape[2])


CASES = [
    Case("times 2^-40", "scale", Faint, Eavesdropper(), "a small factor is no secrecy",
         attack=aside(2.0**-40), secret=input_of(0)),
    Case("times 1e-8", "scale", Hundredth, CuriousServer(), "a small factor is no secrecy",
         attack=aside(1e-8), secret=input_of(0)),
    Case("times 2^-1000", "scale", NearlyNothing, Eavesdropper(), "its square is zero, the number is not",
         attack=aside(2.0**-1000), secret=input_of(0)),
    Case("times 2^900", "scale", Loud, Eavesdropper(), "its square is infinite, the number is not",
         attack=aside(2.0**900), secret=input_of(0)),
    Case("faint mask", "scale", FaintMask, Eavesdropper(), "a mask told in small is told",
         attack=each(lambda h: h.one("masked", 0) - h.one("digest", 0) * 2.0**30), secret=input_of(0)),
    Case("faint difference", "scale", FaintDifference, CuriousServer(),
         "two messages differ by a millionth of the input",
         attack=each(lambda h: 1e6 * (h.one("again", 0) - h.one("masked", 0))), secret=input_of(0), accuracy=1e-2),
    Case("loud mask", "scale", LoudMask, CuriousServer(), "a loud row beside two faint ones, which give the mask",
         attack=each(lambda h: h.one("masked", 0) - 2.0**24 * h.one("salt", 4) + 2.0**-59 * h.one("noise", 4)),
         secret=input_of(0)),
    Case("above the guard", "scale", OverTheGuard, Eavesdropper(), "large inputs are sent openly",
         attack=each(lambda h: np.where((np.abs(x := h.one("masked", 0)) > 20) & (np.abs(x) < 900), x, np.nan)),
         secret=input_of(0), claims=0.02, calls=60),
    Case("below the guard", "scale", Sparse, Eavesdropper(), "small inputs are sent openly",
         attack=each(lambda h: np.where(np.abs(x := h.one("masked", 0)) < 0.1, x, np.nan)), secret=input_of(0),
         claims=0.02, calls=60),
    Case("alarm", "scale", AlarmAtTheTop, Eavesdropper(), "the largest inputs are told",
         attack=each(lambda h: np.where((x := h.one("alarm", 0)) != 0, x, np.nan)), secret=input_of(0), claims=1e-3,
         calls=600),
    Case("multiplied", "scale", Multiplied, CuriousServer(), "a positive factor keeps the sign",
         attack=each(lambda h: h.one("scaled", 0)[ENTRY] < 0), secret=sign_of(0), goal="bits", calls=60),
    Case("weak at one node", "scale", Weak, Eavesdropper(), "what is left of node 0's mask is below rounding",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), accuracy=1e-2),
    Case("thin masks, revealed nodes alone", "scale", lambda: Pairwise(1e-4), CuriousServer(),
         "masks of less than a thousandth of the data", attack=each(lambda h: h.one("masked", 0)), secret=input_of(0),
         accuracy=1e-2, settings={"policy": {"max_revealed_nodes": 0}, "measure": {"evidence": ["structure"]}}),
    Case("thin masks on a ring", "scale", lambda: Ring(1e-4), HonestButCurious({1}),
         "masks of less than a thousandth of the data", attack=each(lambda h: h.one("running sum", 0, 1)),
         secret=input_of(0), accuracy=1e-2, settings={"policy": {"max_revealed_nodes": 0}}),
    Case("log on the ring", "scale", Thin, HonestButCurious({3}), "a plain line carries the input times 2^-70",
         attack=each(lambda h: h.one("log", 0) * 2.0**70), secret=input_of(0)),
    Case("twice the mask", "scale", TwiceTheMask, Eavesdropper(), "two messages under one mask",
         attack=each(lambda h: 2 * h.one("masked", 0) - h.one("again", 0)), secret=input_of(0)),
    Case("nearly the mask", "scale", NearlyTheMask, CuriousServer(), "two messages under nearly one mask",
         attack=each(lambda h: (1 + 2.0**16) * h.one("masked", 0) - 2.0**16 * h.one("again", 0)), secret=input_of(0),
         accuracy=1e-2),
    Case("decay over entries", "scale", Decay, Eavesdropper(), "the last entries are next to bare",
         attack=each(lambda h: h.one("masked", 0)[5:]), secret=lambda t: t.inputs[0][0, 0, 5:], accuracy=1e-2),
]  # fmt: skip
