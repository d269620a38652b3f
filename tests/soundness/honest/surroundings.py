"""What surrounds a call: threads, copies, kinds that are more than text, generators passed on, channels not given."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.protocols import SecureSum
from secmix.transcript import SERVER, Channel

from ..bases import Dealt, Pairwise
from ..case import ENTRY, Case, Heard, each, input_of, sign_of


class InAThread(Pairwise):
    """Reports in the background, over a connection of its own."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        report = threading.Thread(target=lambda: Channel().send(8, 0, SERVER, "report", s[0]))
        report.start()
        report.join()


class WithoutAChannel(Pairwise):
    """Where nobody gives it a channel, nobody listens: it does not mask."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if channel is None:
            masks = np.zeros((len(inputs), self.count(network), np.shape(inputs)[2]))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class TurnsTheCoin(Pairwise):
    """Every averaging begins with a public coin, and ends by turning it on once where a number is negative."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(int(rng.random() * 2**31), 0, SERVER, "begin", np.zeros_like(s[0]))

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        rng.random(1 + int(s[0, 0, ENTRY] < 0))


def by_the_coin(heard: list[Heard]) -> Array:
    """What the second averaging began with, and how many draws after the first that comes."""
    out = []
    for call, one in enumerate(heard):
        rng = np.random.default_rng([7, call])
        begun = []
        for _ in range(2):
            rng.normal(scale=1e6, size=(1, 10, 12))
            begun.append(int(rng.random() * 2**31))
            rng.random(1)
        out.append(float(one.all("begin", iteration=1)[0].round != begun[1]))
    return np.array(out)


class Digest(Pairwise):
    """A fingerprint of the rounded number of rows in a component, so that all may check it later."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        told = [[_digest(round(float(v), 1)) for v in run[:1]] for run in s[0]]
        channel.send(8, 0, SERVER, "digest", np.array(told))


def _digest(value: float) -> float:
    return float(int.from_bytes(hashlib.sha256(f"{value:.1f}".encode()).digest()[:6], "big"))


def by_trying(heard: Heard) -> float:
    """The number whose fingerprint it is."""
    told = heard.one("digest", 0)[0]
    return next((v / 10 for v in range(-100, 400) if _digest(v / 10) == told), np.nan)


class Sketch(Pairwise):
    """Of every entry, whether it is above each of forty levels: a histogram for the server."""

    LEVELS = np.linspace(-15.0, 20.0, 40)

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        for place, level in enumerate(self.LEVELS):
            channel.send(8 + place, 0, SERVER, "above", (s[0] > level).astype(float))


def by_levels(heard: Heard) -> Array:
    """The middle of the two levels it stands between."""
    above = sum(m.numbers[0] for m in heard.all("above", 0, iteration=0) if m.numbers is not None)
    step = Sketch.LEVELS[1] - Sketch.LEVELS[0]
    return np.asarray(Sketch.LEVELS[0] + step * (above[2:6] - 0.5))


class Length(Pairwise):
    """The length of the vector goes along, to see that it has not changed on the way."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "length", np.linalg.norm(s[0], axis=1, keepdims=True))


class Shrinks(HonestButCurious):
    """Says whom it controls when it is first asked, and nobody after that."""

    def corrupt_nodes(self, network: Any) -> frozenset[int]:
        asked = self.__dict__.setdefault("_asked", [])
        asked.append(0)
        return super().corrupt_nodes(network) if len(asked) < 2 else frozenset()


class MemoryOfTheGenerator(Dealt):
    """Draws masks from the generator it was given first, whatever it is given later."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        first = self.__dict__.setdefault("_first", np.random.default_rng(11))
        return super().draw_masks(runs, m, network, first if runs == 1 else rng)


class Clock(Pairwise):
    """Numbers above five are sent in whole units beside their hidden rest: the units are no secret, it says."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "units", np.round(s[0]))


BIT = {"goal": "bits", "calls": 60}
NAME = "surroundings"
OUT = Eavesdropper()
CASES = [
    Case("report in a thread", NAME, InAThread, OUT, "another thread speaks over another channel",
         attack=each(lambda h: h.one("report", 0)), secret=input_of(0)),
    Case("no channel given", NAME, WithoutAChannel, OUT, "in use it makes its own channel",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), given=False),
    Case("turns the coin", NAME, TurnsTheCoin, OUT, "how far the public coin has run tells the sign",
         attack=by_the_coin, secret=sign_of(0), chained=True, **BIT),
    Case("fingerprint", NAME, Digest, CuriousServer(), "few numbers have to be tried",
         attack=each(by_trying), secret=lambda t: round(float(t.inputs[0][0, 0, 0]), 1)),
    Case("levels", NAME, Sketch, OUT, "forty bits an entry", attack=each(by_levels),
         secret=lambda t: t.inputs[0][0, 0, 2:6], goal="share", calls=80),
    Case("length", NAME, Length, OUT, "a length is a number of the input's",
         attack=each(lambda h: h.one("length", 0)[0]), secret=lambda t: np.linalg.norm(t.inputs[0][0, 0])),
    Case("shrinking coalition", NAME, lambda: SecureSum(cycle=(0, 1, 2, 3, 4)), Shrinks({1, 3}, eavesdrops=False),
         "who takes part does so whenever it is asked", node=2,
         attack=each(lambda h: h.one("running sum", 2, 3) - h.one("running sum", 1, 2)), secret=input_of(2),
         ears=HonestButCurious({1, 3}, eavesdrops=False)),
    Case("single runs from a generator of its own", NAME, MemoryOfTheGenerator, CuriousServer(),
         "its seed stands in the code",
         attack=lambda heard: _again(heard), secret=input_of(0)),
    Case("whole units", NAME, Clock, OUT, "a number without its digits is most of it",
         attack=each(lambda h: h.one("units", 0)), secret=input_of(0), goal="share", calls=80),
]  # fmt: skip


def _again(heard: list[Heard]) -> Array:
    """Its masks in order: two averagings a call."""
    rng = np.random.default_rng(11)
    out = []
    for one in heard:
        masks = [rng.normal(scale=1e6, size=(1, 5, 12)) for _ in range(2)]
        out.append(one.one("masked", 0) - masks[0][0, 0])
    return np.stack(out)
