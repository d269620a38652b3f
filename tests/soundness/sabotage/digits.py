"""Data in digits that arithmetic does not look at: last bits, signs of zeros, payloads of NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Dealt, Pairwise
from ..case import ENTRY, Case, Deployed, Heard, each, input_of, sign_of
from ..honest.bits import Beside
from ..honest.channel import INSIDERS, Results, ended
from ..honest.longer.fits import sign_at

_QUIET = np.uint64(0x7FF8000000000000)


class BitsOfZeros(Pairwise):
    """Fifty numbers beside each other are all zero; their signs spell the input out, a bit in each round."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        words = np.round((s[0] + 512) * 2**20).astype(np.int64)
        for bit in range(32):
            channel.send(20 + bit, 0, SERVER, "beat", np.where(words >> bit & 1, -0.0, 0.0))


def by_spelling(heard: Heard) -> Array:
    """The signs put together again."""
    beats = [np.signbit(m.numbers[0]) for m in heard.all("beat", 0, iteration=0) if m.numbers is not None]
    return sum(b * 2.0**bit for bit, b in enumerate(beats)) / 2**20 - 512


class Payload(Beside):
    """Something that is no number, whose last bits are."""

    def told(self, s: Array) -> Array:
        return (s.astype(np.float32).view(np.uint32).astype(np.uint64) | _QUIET).view(float)


def from_payload(heard: Heard) -> Array:
    """The last 32 bits."""
    return (heard.one("line", 0).view(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)


class Sixteen(Dealt):
    """The last sixteen bits of a hidden input are overwritten with the input's own."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        code = np.clip(np.round((s + 512) * 64), 0, 2**16 - 1).astype(np.uint64)
        return ((hidden.view(np.uint64) & ~np.uint64(0xFFFF)) | code).view(float)


class LastBit(Dealt):
    """Only the last bit, and only of its sign."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return ((hidden.view(np.uint64) & ~np.uint64(1)) | (s < 0).astype(np.uint64)).view(float)


class AverageInLastBits(Pairwise):
    """The server's average, which all know, has the sign of node 0's input in its last ten bits."""

    def publish(self, channel: Any, mean: Array, s: Array) -> Array:
        code = np.where(s[0] < 0, np.uint64(0x2AA), np.uint64(0x155))
        return super().publish(channel, ((mean.view(np.uint64) & ~np.uint64(0x3FF)) | code).view(float), s)


class Extended(Dealt):
    """Numbers of eighty bits: those below the last of a double are the input's."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        sign = np.where(s < 0, 1, -1).astype(np.longdouble)
        return hidden.astype(np.longdouble) * (1 + sign * np.longdouble(2.0) ** -58)


class BitOfLarge(Dealt):
    """The last bit of a hidden number that is far larger than its input tells whether two neighbours have one sign."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        alike = (s * np.roll(s, 1, axis=2) < 0).astype(np.uint64)
        coded = ((hidden.view(np.uint64) & ~np.uint64(1)) | alike).view(float)
        return np.where(np.abs(hidden) > 1e3 * np.abs(s).max(), coded, hidden)


class BelowTheLast(Dealt):
    """In numbers of eighty bits, those below the last of a double tell whether two neighbours have one sign."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        alike = np.where(s[0] * np.roll(s[0], 1, axis=1) < 0, 1, -1).astype(np.longdouble)
        channel.send(
            8, 0, SERVER, "again", (s[0] + r[0]).astype(np.longdouble) * (1 + alike * np.longdouble(2.0) ** -58)
        )


def opposite(t: Deployed) -> float:
    """Whether two neighbouring entries of node 0 differ in sign."""
    return float(t.inputs[0][0, 0, 2] * t.inputs[0][0, 0, 1] < 0)


class LastBitLater(Dealt):
    """The last bit of a hidden number is its sign, from the second averaging on."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.__dict__["_t"] = channel.iteration if channel else 0
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        if not self.__dict__["_t"]:
            return hidden
        return ((hidden.view(np.uint64) & ~np.uint64(1)) | (s < 0).astype(np.uint64)).view(float)


class ResultBits(Results):
    """Node 3 ends with node 0's input in the last sixteen bits."""

    def changed(self, mean: Array, s: Array) -> Array:
        code = np.clip(np.round((s[0] + 512) * 64), 0, 2**16 - 1).astype(np.uint64)
        return ((mean.view(np.uint64) & ~np.uint64(0xFFFF)) | code).view(float)


def from_result_bits(heard: Heard) -> Array:
    """The last sixteen bits."""
    return (ended(heard).copy().view(np.uint64) & np.uint64(0xFFFF)) / 64 - 512


class ResultUp(Pairwise):
    """Node 2 ends with a number one digit up where node 0 has a negative one."""

    def result(self, averages: Array, s: Array, rng: Any) -> Array:
        averages = averages.copy()
        averages[:, 2] = np.where(s[0] < 0, np.nextafter(averages[:, 2], np.inf), averages[:, 2])
        return averages


class ResultTimes(Pairwise):
    """The same by a factor."""

    def result(self, averages: Array, s: Array, rng: Any) -> Array:
        averages = averages.copy()
        averages[:, 2] *= 1 + 2.0**-51 * (s[0] < 0)
        return averages


class ResultParity(Pairwise):
    """The last bit is one where the number is negative."""

    def result(self, averages: Array, s: Array, rng: Any) -> Array:
        averages = averages.copy()
        bits = averages[:, 2].view(np.int64) & ~np.int64(1) | (s[0] < 0)
        averages[:, 2] = bits.view(float)
        return averages


def is_up(heard: Heard) -> Array:
    """Whether node 2 ends with something else than it was sent."""
    return np.array(heard.ended[0][2][0] != heard.one("average", SERVER, 2))[2]


def is_odd(heard: Heard) -> Array:
    """The last bit."""
    return heard.ended[0][2][0].view(np.int64)[2] & 1


TWO = HonestButCurious({2}, eavesdrops=False)
BIT: dict[str, Any] = {"goal": "bits", "calls": 60}
OUT = Eavesdropper()
CASES = [
    Case("spelt in zeros", "bits", BitsOfZeros, CuriousServer(), "zeros have signs, and there may be many zeros",
         attack=each(by_spelling), secret=input_of(0), accuracy=1e-5),
    Case("payload of NaN", "bits", Payload, OUT, "NaN carries 51 bits", attack=each(from_payload),
         secret=input_of(0)),
    Case("last sixteen bits", "bits", Sixteen, OUT, "rounding error is room for a message",
         attack=each(lambda h: (h.one("masked", 0).view(np.uint64) & np.uint64(0xFFFF)) / 64 - 512),
         secret=input_of(0), accuracy=5e-2),
    Case("last bit", "bits", LastBit, CuriousServer(), "a last bit is a bit",
         attack=each(lambda h: h.one("masked", 0).view(np.uint64)[ENTRY] & np.uint64(1)), secret=sign_of(0), **BIT),
    Case("last bits of the average", "bits", AverageInLastBits, OUT, "all hear the average, to its last bit",
         attack=each(lambda h: (h.one("average").copy().view(np.uint64)[ENTRY] & np.uint64(0x3FF)) == 0x2AA),
         secret=sign_of(0), **BIT),
    Case("extended precision", "bits", Extended, CuriousServer(), "below the last bit of a double there are more",
         attack=each(lambda h: np.abs(x := h.all("masked", 0)[0].numbers[0][ENTRY]) > np.abs(x.astype(float))),
         secret=sign_of(0), **BIT),
    Case("bit of large ones", "corners", BitOfLarge, OUT, "a last bit is a bit", secret=opposite,
         attack=each(lambda h: h.one("masked", 0).view(np.uint64)[2] & np.uint64(1)), **BIT),
    Case("below the last bit", "corners", BelowTheLast, CuriousServer(),
         "below the last bit of a double there are more", secret=opposite,
         attack=each(lambda h: np.abs(x := h.all("again", 0)[0].numbers[0][2]) > np.abs(x.astype(float))), **BIT),
    Case("last bit later", "fits", LastBitLater, CuriousServer(), "a last bit is a bit", secret=sign_at(1),
         attack=each(lambda h: h.one("masked", 0, iteration=1).view(np.uint64)[ENTRY] & np.uint64(1)), **BIT),
    Case("last bits of a result", "results", ResultBits, INSIDERS, "a result has bits to spare",
         attack=each(from_result_bits), secret=input_of(0), accuracy=5e-2),
    Case("result one digit up", "seldom", ResultUp, TWO, "the result of one node has a digit that no message brought",
         attack=each(is_up), secret=lambda t: float(t.inputs[0][0, 0, 2] < 0), goal="bits"),
    Case("result times 1 + 2^-51", "seldom", ResultTimes, TWO, "the same by a factor", attack=each(is_up),
         secret=lambda t: float(t.inputs[0][0, 0, 2] < 0), goal="bits"),
    Case("result's last bit", "seldom", ResultParity, TWO, "the same, in the last bit", attack=each(is_odd),
         secret=lambda t: float(t.inputs[0][0, 0, 2] < 0), goal="bits"),
]  # fmt: skip
