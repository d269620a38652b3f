"""What does not go through the channel as the transcript has it, and what nodes end with besides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER, Channel

from ..bases import Dealt, Pairwise, Ring
from ..case import ENTRY, Case, Heard, each, input_of, sign_of


class AlsoOpenly(Ring):
    """Every running sum goes a second time, openly, to who keeps the log; so does the mask."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(0, 0, 2, "log", r[0])
        channel.send(0, 0, 2, "log of running sum", s[0] + r[0])


class OtherChannel(Pairwise):
    """Node 0 opens a channel of its own to the server."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        Channel().send(8, 0, SERVER, "aside", s[0])


class DealtElsewhere(Dealt):
    """Masks for the nodes are dealt on a channel of their own, openly."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        Channel().send(-1, np.full(5, 4), np.arange(5), "key", r)
        return super().body(channel, s, r, network, rng)


class OffTheRecord(Pairwise):
    """Turns the record off for one message."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        before, channel.record = channel.record, False
        channel.send(8, 0, SERVER, "aside", s[0])
        channel.record = before


class BegunAnew(Pairwise):
    """Sends, and begins the transcript anew before all else is sent."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        now = channel.iteration
        channel.send(8, 0, SERVER, "aside", s[0])
        channel.begin()
        channel.iteration = now


class BackInTime(Pairwise):
    """Files a message under an iteration that there is not."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        now, channel.iteration = channel.iteration, -7
        channel.send(8, 0, SERVER, "aside", s[0])
        channel.iteration = now


@dataclass(frozen=True)
class Board(Pairwise):
    """Node 0 writes on a board that others read; node 2 passes on, encrypted, what it read."""

    board: dict[int, Array] = field(default_factory=dict)

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        self.board[0] = s[0]

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 2, 3, "echo", self.board[0], encrypted=True)


class Results(Pairwise):
    """Node 3 ends with something else than the others."""

    def result(self, averages: Array, s: Array, rng: Any) -> Array:
        averages[:, 3] = self.changed(averages[:, 3], s)
        return averages

    def changed(self, mean: Array, s: Array) -> Array:
        return mean


class ResultOff(Results):
    """By a hundred-millionth of node 0's input."""

    def changed(self, mean: Array, s: Array) -> Array:
        return mean + 1e-8 * s[0]


class ResultRounded(Results):
    """Rounded to single precision where node 0's number is negative."""

    def changed(self, mean: Array, s: Array) -> Array:
        return np.where(s[0] < 0, mean.astype(np.float32).astype(float), mean)


class ResultWeighted(Results):
    """A mean with weights that are a little off, by node."""

    def changed(self, mean: Array, s: Array) -> Array:
        return mean + 1e-9 * np.tensordot(np.arange(5.0), s, axes=1)


class ResultDropped(Results):
    """None at all where node 0's number is negative."""

    def changed(self, mean: Array, s: Array) -> Array:
        return np.full_like(mean, np.nan) if s[0, 0, ENTRY] < 0 else mean


class ResultPlain(Results):
    """Node 0's own share of the mean beside it, in the entry that is not used by the model: the difference of two."""

    def changed(self, mean: Array, s: Array) -> Array:
        return mean + np.where(np.abs(s[0]) > 2, 1e-7, 0.0) * s[0]


@dataclass(frozen=True)
class Packed(Pairwise):
    """Uploads go with the inputs beside them, in a container of some kind."""

    pack: Callable[[Array, Array], Any] = lambda hidden, bare: (hidden, bare)
    unpack: Callable[[Any], Array] = lambda packed: packed[0]

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        sent = (channel.send(0, i, SERVER, "masked", self.pack(hidden[i], s[i])) for i in range(len(s)))
        return np.stack([self.unpack(each) for each in sent])


@dataclass
class Update:
    """An object of the protocol's own."""

    hidden: Array
    bare: Array


def structured(hidden: Array, bare: Array) -> Array:
    """Numbers of two parts."""
    both = np.zeros(hidden.shape, dtype=[("hidden", float), ("bare", float)])
    both["hidden"], both["bare"] = hidden, bare
    return both


def packed(pack: Any, unpack: Any = lambda arrived: arrived[0]) -> Any:
    """Makes such a protocol."""
    return lambda: Packed(pack=pack, unpack=unpack)


def aside(heard: Heard) -> Array:
    """What was sent aside."""
    return heard.one("aside", 0)


def ended(heard: Heard, node: int = 3) -> Array:
    """What a corrupt node ended the first averaging with, in the first run."""
    return heard.ended[0][node][0]


INSIDERS = HonestButCurious({2, 3}, eavesdrops=False)
BIT = {"goal": "bits", "calls": 60}
CASES = [
    Case("also openly", "channel", AlsoOpenly, Eavesdropper(),
         "an encrypted line helps little if all is said openly too",
         attack=each(lambda h: h.one("log of running sum", 0) - h.one("log", 0)), secret=input_of(0)),
    Case("another channel", "channel", OtherChannel, Eavesdropper(), "the transcript is not of all channels",
         attack=each(aside), secret=input_of(0)),
    Case("keys on another channel", "channel", DealtElsewhere, Eavesdropper(), "who hears the keys hears all",
         attack=each(lambda h: h.one("masked", 0) - h.one("key", receiver=0)), secret=input_of(0)),
    Case("off the record", "channel", OffTheRecord, Eavesdropper(), "what is not recorded is heard",
         attack=each(aside), secret=input_of(0)),
    Case("begun anew", "channel", BegunAnew, CuriousServer(), "what came before was heard", attack=each(aside),
         secret=input_of(0)),
    Case("back in time", "channel", BackInTime, Eavesdropper(), "said is said, whatever the file it is in",
         attack=each(lambda h: h.all("aside", 0)[0].numbers[0]), secret=input_of(0)),
    Case("board", "channel", Board, HonestButCurious({2}), "what node 2 says it has read", secret=input_of(0),
         attack=each(lambda h: h.one("echo", 2))),
    Case("result off by 1e-8", "results", ResultOff, INSIDERS, "two results differ by the input",
         attack=each(lambda h: (ended(h) - ended(h, 2)) * 1e8), secret=input_of(0), accuracy=1e-2),
    Case("a result in single precision", "results", ResultRounded, INSIDERS, "which precision it has tells the sign",
         attack=each(lambda h: ended(h)[ENTRY] == np.float32(ended(h)[ENTRY])), secret=sign_of(0), **BIT),
    Case("weights a little off", "results", ResultWeighted, INSIDERS, "two results make two sums",
         attack=each(lambda h: (ended(h) - ended(h, 2)) * 1e9),
         secret=lambda t: np.arange(5.0) @ t.inputs[0][0], accuracy=5e-2),
    Case("no result", "results", ResultDropped, INSIDERS, "who ends with nothing has learned a sign",
         attack=each(lambda h: np.isnan(ended(h)).any()), secret=sign_of(0), **BIT),
    Case("result off above a level", "results", ResultPlain, INSIDERS, "two results differ by what is large",
         attack=each(lambda h: np.where(np.abs(d := (ended(h) - ended(h, 2)) * 1e7) > 1, d, np.nan)), accuracy=1e-2,
         secret=input_of(0)),
    Case("in a mapping", "payloads", packed(lambda h, s: {"it": h, "bare": s}, lambda got: got["it"]), Eavesdropper(),
         "all of a mapping is sent", attack=each(lambda h: h.one("masked/bare", 0)), secret=input_of(0)),
    Case("in a tuple", "payloads", packed(lambda h, s: (h, s)), CuriousServer(), "all of a tuple is sent",
         attack=each(lambda h: h.one("masked/1", 0)), secret=input_of(0)),
    Case("in an object", "payloads", packed(Update, lambda got: got.hidden), Eavesdropper(),
         "an object is what it consists of", attack=each(lambda h: h.one("masked/bare", 0)), secret=input_of(0)),
    Case("in a part of each number", "payloads", packed(structured, lambda got: got["hidden"]), Eavesdropper(),
         "numbers of two parts are two numbers", attack=each(lambda h: h.one("masked/bare", 0)), secret=input_of(0)),
    Case("as bytes", "payloads", packed(lambda h, s: {"it": h, "log": s.tobytes()}, lambda got: got["it"]),
         CuriousServer(), "bytes are numbers", secret=input_of(0),
         attack=each(lambda h: np.frombuffer(h.one("masked/log", 0).astype(np.uint8).tobytes()))),
    Case("as a whole number", "payloads", packed(lambda h, s: (h, int(s[0, ENTRY] < 0))), Eavesdropper(),
         "a whole number tells the sign", attack=each(lambda h: h.one("masked/1", 0)[0]), secret=sign_of(0),
         goal="bits", calls=60),
]  # fmt: skip
