"""Protocols that are no sums, encrypted throughout: what an outsider hears nevertheless, and what passes beside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper, HonestButCurious
from secmix.transcript import SERVER, Channel

from ...case import Case, Heard, each, mean_of, sign_of_mean


@dataclass(frozen=True)
class Means:
    """Every node sends its mean to the server, encrypted, which sends the median back."""

    unit = "standard deviations"

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Array:
        """What each node ends with, (runs, n, d)."""
        channel.hold(-1, 0, "input", parts[0].reshape(len(parts[0]), -1))
        means = np.stack([part.mean(axis=1) for part in parts])
        received = self.upload(channel, means)
        middle = np.median(received, axis=0)[None]
        back = np.zeros(network.n, dtype=int)
        ends = channel.send(9, SERVER, np.arange(network.n), "median", middle, encrypted=True, content=back)[0]
        self.after(channel, means, rng)
        return self.result(np.repeat(ends[:, None], network.n, axis=1), means)

    def upload(self, channel: Any, means: Array) -> Array:
        """In one block."""
        return channel.send(0, np.arange(len(means)), SERVER, "mean", means, encrypted=True)

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        """A place to go wrong."""

    def result(self, ends: Array, means: Array) -> Array:
        """Another."""
        return ends

    def error(self, results: Array, reference: Array) -> Array:
        """Largest difference."""
        return np.abs(results - reference).max(axis=(1, 2))


class Until(Means):
    """As many rounds as the mean has hundredths, as an iteration until it has converged."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        for step in range(int(np.abs(means[0, 0, 0]) * 20)):
            channel.send(10 + step, 0, SERVER, "step", np.zeros_like(means[0]), encrypted=True)


class Line(Means):
    """One encrypted line more; which, depends on the sign of a mean."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        self.line(channel, bool(means[0, 0, 0] < 0), np.zeros_like(means[0]))

    def line(self, channel: Any, negative: bool, nothing: Array) -> None:
        raise NotImplementedError


class LineType(Line):
    def line(self, channel: Any, negative: bool, nothing: Array) -> None:
        channel.send(10, 0, SERVER, "step", nothing.astype(np.float32 if negative else float), encrypted=True)


class LineSize(Line):
    def line(self, channel: Any, negative: bool, nothing: Array) -> None:
        channel.send(10, 0, SERVER, "step", np.zeros((len(nothing), 2 if negative else 1)), encrypted=True)


class LineRoute(Line):
    def line(self, channel: Any, negative: bool, nothing: Array) -> None:
        channel.send(10, 0, 1 if negative else 2, "step", nothing, encrypted=True)


class LineClock(Line):
    def line(self, channel: Any, negative: bool, nothing: Array) -> None:
        channel.send(11 if negative else 10, 0, SERVER, "step", nothing, encrypted=True)


class LineKind(Line):
    def line(self, channel: Any, negative: bool, nothing: Array) -> None:
        channel.send(10, 0, SERVER, "split" if negative else "merge", nothing, encrypted=True)


class LineSender(Line):
    def line(self, channel: Any, negative: bool, nothing: Array) -> None:
        channel.send(10, 1 if negative else 0, SERVER, "step", nothing, encrypted=True)


class LineOpen(Means):
    """A line is open where a mean is far out: in one call of many."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        far = bool(len(means[0]) == 1 and means[0, 0, 0] < -0.4)
        channel.send(10, 0, SERVER, "step", means[0], encrypted=not far)


class SilentWhenLow(Means):
    """A node whose mean is negative does not send."""

    def upload(self, channel: Any, means: Array) -> Array:
        first = 1 if means[0, 0, 0] < 0 else 0
        rest = channel.send(0, np.arange(first, len(means)), SERVER, "mean", means[first:], encrypted=True)
        return np.concatenate([means[:first], rest])


class InTurn(Means):
    """Nodes send in the order of their means."""

    def upload(self, channel: Any, means: Array) -> Array:
        received = np.empty_like(means)
        for node in np.argsort(means[:, 0, 0]):
            received[node] = channel.send(0, int(node), SERVER, "mean", means[node], encrypted=True)
        return received


class RareLook(Means):
    """One call in a hundred is not encrypted, by a public coin."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        channel.send(10, 0, SERVER, "step", means[0], encrypted=rng.random() > 0.01)


class Whisper(Means):
    """Says it aloud on a channel of its own."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        Channel().send(10, 0, SERVER, "step", means[0])


class Unrecorded(Means):
    """Says it aloud while the record is off."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        before, channel.record = channel.record, False
        channel.send(10, 0, SERVER, "step", means[0])
        channel.record = before


@dataclass(frozen=True)
class Thirtieth(Means):
    """Every thirtieth call is open."""

    calls: list[int] = field(default_factory=lambda: [0])

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        self.calls[0] += 1
        channel.send(10, 0, SERVER, "step", means[0], encrypted=self.calls[0] % 30 != 0)


class ForOne(Means):
    """Node 3 ends with a little of node 0's mean."""

    def result(self, ends: Array, means: Array) -> Array:
        ends[:, 3] += 1e-9 * means[0]
        return ends


class OneIsOpen(Means):
    """A single call is not encrypted; simulations of many runs are."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        channel.send(10, 0, SERVER, "step", means[0], encrypted=len(means[0]) > 1)


class MiddleLook(Means):
    """One call in thirty is not encrypted, by a public coin that is neither high nor low."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        channel.send(10, 0, SERVER, "step", means[0], encrypted=not 0.4 < rng.random() < 0.43)


class StartsFromOne(Means):
    """The start, which everybody may hear, is drawn by lot; one time in twenty-five it is a node's mean."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        lot, start = rng.random(), rng.normal(size=means[0].shape)
        channel.send(10, 0, SERVER, "step", means[0] if 0.6 < lot < 0.64 else start)


class OpenInBatches(Means):
    """Neither single runs nor hundreds are open, only what lies between."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        channel.send(10, 0, SERVER, "step", means[0], encrypted=not 4 <= len(means[0]) <= 60)


class TurnsTheCoin(Means):
    """Ends by turning the public coin once more where a mean is negative: the next call's start tells."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        channel.send(10, 0, SERVER, "step", rng.normal(size=means[0].shape))
        rng.random(1 + int(means[0, 0, 0] < 0))


def by_the_next_start(heard: Any) -> Array:
    """How often the coin was turned between two starts; of the last call nothing is known."""
    starts, out = [open_step(one) for one in heard], []
    rng = np.random.default_rng([7, 0])
    rng.normal(size=2)
    for start in starts[1:]:
        rng.random(1)
        state = rng.bit_generator.state
        out.append(float(not (rng.normal(size=2) == start).all()))
        if out[-1]:
            rng.bit_generator.state = state
            rng.random(1)
            rng.normal(size=2)
    return np.array([*out, np.nan])


def step(heard: Heard) -> Any:
    """The line more."""
    return next((m for m in heard.messages if m.round >= 10), None)


def open_step(heard: Heard) -> Array:
    """What it says, where it is open."""
    line = step(heard)
    return np.full(2, np.nan) if line is None or line.numbers is None else line.numbers[0]


BIT = {"goal": "bits", "calls": 60, "secret": sign_of_mean(0)}
OUT = Eavesdropper()
NAME = "collaborations"
CASES = [
    Case("rounds until converged", NAME, Until, OUT, "how long it takes tells the mean",
         attack=each(lambda h: sum(m.kind == "step" for m in h.messages)),
         secret=lambda t: float(int(abs(t.rows[0][0, :, 0].mean()) * 20))),
    Case("type of a step", NAME, LineType, OUT, "an encrypted number of four bytes is not one of eight",
         attack=each(lambda h: step(h).dtype == "float32"), **BIT),
    Case("size of a step", NAME, LineSize, OUT, "an encrypted message has a length",
         attack=each(lambda h: step(h).size == 2), **BIT),
    Case("receiver of a step", NAME, LineRoute, OUT, "an encrypted message has an address",
         attack=each(lambda h: step(h).receiver == 1), **BIT),
    Case("time of a step", NAME, LineClock, OUT, "an encrypted message has a time",
         attack=each(lambda h: step(h).round == 11), **BIT),
    Case("kind of a step", NAME, LineKind, OUT, "kinds are part of what is seen",
         attack=each(lambda h: step(h).kind == "split"), **BIT),
    Case("sender of a step", NAME, LineSender, OUT, "an encrypted message has a sender",
         attack=each(lambda h: step(h).sender == 1), **BIT),
    Case("open when far out", NAME, LineOpen, OUT, "in single calls with large means the line is open",
         attack=each(open_step), secret=mean_of(0), claims=0.02, calls=120),
    Case("silent when low", NAME, SilentWhenLow, OUT, "who is silent has a negative mean",
         attack=each(lambda h: len(h.all("mean", 0)) == 0), **BIT),
    Case("in turn", NAME, InTurn, OUT, "who comes first is smallest",
         attack=each(lambda h: [m.sender for m in h.all("mean")].index(0) > [m.sender for m in h.all("mean")].index(1)),
         secret=lambda t: float(t.rows[0][0, :, 0].mean() > t.rows[1][0, :, 0].mean()), goal="bits", calls=60),
    Case("rare look", NAME, RareLook, OUT, "one call of a hundred is open", attack=each(open_step), secret=mean_of(0),
         claims=0.01, first=80),
    Case("look in the middle", NAME, MiddleLook, OUT, "one call of thirty is open", attack=each(open_step),
         secret=mean_of(0), claims=0.01, calls=120),
    Case("start from one", NAME, StartsFromOne, OUT, "one start in twenty-five is a mean, and the lot is public",
         attack=lambda heard: np.stack([
             open_step(one) if 0.6 < np.random.default_rng([7, call]).random() < 0.64 else np.full(2, np.nan)
             for call, one in enumerate(heard)]), secret=mean_of(0), claims=0.01, calls=120),
    Case("open in batches", NAME, OpenInBatches, OUT, "ten runs at once are open", attack=each(open_step),
         secret=mean_of(0), batch=10),
    Case("turns the coin between calls", NAME, TurnsTheCoin, OUT, "one generator serves all calls", chained=True,
         attack=by_the_next_start, claims=0.9, **BIT),
    Case("whisper", NAME, Whisper, OUT, "the transcript is not of all channels", attack=each(open_step),
         secret=mean_of(0)),
    Case("unrecorded", NAME, Unrecorded, OUT, "what is not recorded is heard", attack=each(open_step),
         secret=mean_of(0)),
    Case("thirtieth call", NAME, Thirtieth, OUT, "every thirtieth call is open", attack=each(open_step),
         secret=mean_of(0), claims=0.02, calls=60),
    Case("single call", NAME, OneIsOpen, OUT, "in use there is one run", attack=each(open_step), secret=mean_of(0)),
    Case("result of one", NAME, ForOne, HonestButCurious({2, 3}, eavesdrops=False), "two results differ by the mean",
         attack=each(lambda h: (h.ended[0][3] - h.ended[0][2])[0] * 1e9), secret=mean_of(0), accuracy=1e-3),
]  # fmt: skip
