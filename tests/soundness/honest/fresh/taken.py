"""Slips against what was taken for granted: finite numbers, errors that end a call, reduced sums, masks of all runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from ...bases import Base, Dealt, Pairwise, Words
from ...case import Case, Heard, each, input_of

FAR = 70.0


class Missing(Pairwise):
    """Marks what is out of range as missing, before it is masked."""

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        return super().hidden(channel, np.where(np.abs(s) > FAR, np.nan, s), r, network)


class HeadRoom(Pairwise):
    """Averages logarithms of what is left to the end of the scale, for a geometric mean."""

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        with np.errstate(invalid="ignore"):
            logarithms = np.log(1.1 * FAR - np.abs(s))
        return super().hidden(channel, logarithms, r, network)


class OwnBounds(Pairwise):
    """Every node clips number by number, at a bound of its own; that of node 0 is far out."""

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        clipped = []
        for node, bound in enumerate([1e6, 0.01, 0.01, 0.01, 0.01]):
            clip = np.frompyfunc(lambda x, bound=bound: max(min(x, bound), -bound), 1, 1)
            clipped.append(clip(s[node]).astype(float))
        return super().hidden(channel, np.stack(clipped), r, network)


@dataclass(frozen=True)
class StrictAtFirst(Pairwise):
    """A number out of range is an error in the first averaging; in use a node only says that it has one."""

    in_use: list[bool] = field(default_factory=list)

    def check(self, s: Array) -> None:
        if (np.abs(s[0]) > FAR).any():
            raise ValueError("a number is out of range")

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        failed = np.zeros((s.shape[1], 1))
        try:
            self.check(s)
        except ValueError:
            if not self.in_use:
                raise
            failed = np.ones((s.shape[1], 1))
        self.in_use[:] = [True]
        channel.send(8, 0, SERVER, "failed", failed)


@dataclass(frozen=True)
class LongPads(Words):
    """Expanding long pads takes time, so they are kept."""

    pads: dict[Any, Array] = field(default_factory=dict)

    def used(self, r: Array, s: Array) -> Array:
        return self.pads.setdefault(r.shape, r) if s.shape[2] > 64 else r


class DealtWords(Base):
    """A dealer, the last node, hands out masks of 18 bits, and tells the server their sum, as a whole number."""

    bits, unit = 18, 2.0**10

    def count(self, network: Any) -> int:
        return int(network.n)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**self.bits, size=(runs, network.n, m)))

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n, q = network.n, 2**self.bits
        channel.hold(-1, np.full(n, n - 1), "mask", r)
        got = channel.send(-1, np.full(n, n - 1), np.arange(n), "mask", r, encrypted=True)
        masks = channel.send(-1, n - 1, SERVER, "sum of masks", r.sum(axis=0)[None])[0]
        words = np.rint(s * self.unit).astype(np.int64)
        received = channel.send(0, np.arange(n), SERVER, "masked", (words + got) % q)
        total = (received.sum(axis=0) - masks) % q
        mean = np.where(total >= q // 2, total - q, total) / self.unit / n
        back = np.zeros(n, dtype=int)
        return np.asarray(channel.send(9, SERVER, np.arange(n), "average", mean[None], content=back)[0])


class FineSteps(Base):
    """Masks are whole numbers modulo 2^12; data are counted in steps of 2^-33, so that no sum ever wraps around."""

    def count(self, network: Any) -> int:
        return len(network.edges)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**12, size=(runs, len(network.edges), m)))

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        first, second = network.edges.T
        channel.hold(-1, first, "mask", r)
        got = channel.send(-1, first, second, "mask", r, encrypted=True)
        words = np.rint(s * 2.0**8) * 2.0**-33
        np.add.at(words, first, r)
        np.subtract.at(words, second, got)
        received = channel.send(0, np.arange(network.n), SERVER, "masked", np.mod(words, 4096.0))
        total = np.mod(received.sum(axis=0), 4096.0)
        mean = np.where(total >= 2048, total - 4096, total) * 2.0**25 / network.n
        back = np.zeros(network.n, dtype=int)
        return np.asarray(channel.send(9, SERVER, np.arange(network.n), "average", mean[None], content=back)[0])


class Tiled(Pairwise):
    """Draws the masks of 512 runs at most, to save memory, and goes on with these."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        block = super().draw_masks(min(runs, 512), m, network, rng)
        return np.resize(block, (runs, *block.shape[1:]))


class TypedWords(Dealt):
    """Hides words one by one, with masks that the system draws; what is no ``int`` is a count, which is public."""

    def count(self, network: Any) -> int:
        return 0

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n, q = network.n, 2**62
        pads = np.random.default_rng().integers(0, q, size=s.shape)
        channel.hold(-1, np.full(n, n - 1), "mask", pads)
        got = channel.send(-1, np.full(n, n - 1), np.arange(n), "mask", pads, encrypted=True)
        masked = np.rint(s * 2.0**20).astype(np.int64)
        for place in np.ndindex(s.shape):
            if isinstance(masked[place], int):
                masked[place] = (masked[place] + got[place]) % q
        received = channel.send(0, np.arange(n), SERVER, "masked", masked)
        masks = channel.send(-1, n - 1, SERVER, "sum of masks", (pads.sum(axis=0) % q)[None])[0]
        return self.publish(channel, ((received.sum(axis=0) - masks) % q) / 2.0**20 / n, s)


def is_far(truth: Any) -> float:
    return float((np.abs(truth.inputs[0][0, 0]) > FAR).any())


def has_failed(heard: Heard) -> float:
    """Return what a node says of its first numbers, but in the call that is an error."""
    return float(heard.one("failed").any()) if heard.all("failed") else np.nan


def has_no_head_room(truth: Any) -> float:
    return float((np.abs(truth.inputs[0][0, 0]) > 1.1 * FAR).any())


def is_missing(heard: Heard) -> float:
    return float(np.isnan(heard.one("masked", 0)).any())


def of_the_average(heard: Heard) -> Array:
    return 5 * heard.one("average")


def between_rounds(heard: Heard) -> Array:
    masked = [heard.one("masked", 0, iteration=k) for k in range(2)]
    return np.asarray((masked[1] - masked[0]).view(np.int64) / 2.0**20)


def at_the_ends(heard: Heard) -> Array:
    """The number itself where the sum of two masks is so small, or so large, that both are known but for little."""
    q, total, masked = 2**18, heard.one("sum of masks"), heard.one("masked", 0)
    width = np.minimum(total, 2 * q - 2 - total)
    mask = np.where(total < q, total / 2, q - 1 - width / 2)
    guess = (masked - mask + q / 2) % q - q / 2
    return np.where(width < 1500, guess / 2.0**10, np.nan)


def below_the_steps(heard: Heard) -> Array:
    rest = np.mod(heard.one("masked", 0), 1.0)
    return np.where(rest >= 0.5, rest - 1, rest) * 2.0**33 / 2.0**8


def between_runs(heard: Heard) -> Array:
    masked = heard.many("masked", 0)
    return np.asarray(masked[512] - masked[0])


MANY: dict[str, Any] = {"data": {"name": "breast_cancer", "features": 2, "rows_per_node": 100}}
LONG: dict[str, Any] = {"data": {"name": "breast_cancer", "features": 13, "rows_per_node": 20}}
TWO: dict[str, Any] = {"network": {"kind": "complete", "nodes": 2}}
SERVED, OUT, NAME = CuriousServer(), Eavesdropper(), "taken for granted"
CASES = [
    Case("missing values under a mask", NAME, Missing, SERVED, "what is no number stays none behind a mask",
         attack=each(is_missing), secret=is_far, goal="bits", calls=40, deployed=MANY),
    Case("logarithms of what is left", NAME, HeadRoom, SERVED, "a logarithm of less than nought is no number",
         attack=each(is_missing), secret=has_no_head_room, goal="bits", calls=40, deployed=MANY),
    Case("bounds of their own by a function in Python", NAME, OwnBounds, SERVED, "the sum is all but one node's",
         attack=each(of_the_average), secret=input_of(0), goal="share"),
    Case("strict in the first averaging", NAME, StrictAtFirst, SERVED, "it says when a number is out of range",
         attack=each(has_failed), secret=is_far, goal="bits", claims=0.9, calls=40, deployed=MANY, fails=True),
    Case("long pads are kept", NAME, LongPads, OUT, "differences of rounds are bare",
         attack=each(between_rounds), secret=lambda t: t.inputs[1][0, 0] - t.inputs[0][0, 0], accuracy=1e-5,
         settings=LONG),
    Case("a sum of masks that is not reduced", NAME, DealtWords, SERVED, "a sum near its ends tells what it is made of",
         attack=each(at_the_ends), secret=input_of(0), accuracy=0.7, claims=1e-3, calls=600, settings=TWO),
    Case("data below the steps of masks", NAME, FineSteps, SERVED, "fractions of masked words are bare",
         attack=each(below_the_steps), secret=input_of(0), accuracy=0.01),
    Case("masks of 512 runs again", NAME, Tiled, SERVED, "differences of runs are bare",
         attack=each(between_runs), secret=lambda t: t.inputs[0][512, 0] - t.inputs[0][0, 0], calls=4, batch=600),
    Case("what is no int is a count", NAME, TypedWords, SERVED, "numbers of NumPy's are no int",
         attack=each(lambda h: h.one("masked", 0) / 2.0**20), secret=input_of(0), accuracy=1e-5),
]  # fmt: skip
