"""Collaborations in which something passes beside the record, and adversaries that do not tell all they hold."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper
from secmix.adversaries.interfaces import view_of
from secmix.transcript import SERVER, Channel, View, overheard, unrelated

from ...case import Case, Use, each, mean_of, sign_of_mean
from .bases import NAME, OUT, SERVED, THREE, Aside, Medians, by_the_step, said


class Report(Medians):
    """Reports a while after the call, in the background."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        if len(means[0]) == 1:
            threading.Timer(1.5, lambda: Channel().send(10, 0, SERVER, "step", means[0])).start()


class Unrelated(Medians):
    """Says that what it sends is no business of those who listen."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        with unrelated():
            self.tell(Channel(), means, True)


class ListensItself(Medians):
    """Listens in the place of who listened before."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        with overheard(lambda carrier, block: None):
            self.tell(Channel(), means, True)


class PassesItself(Medians):
    """Puts a method of its own where the channel writes."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        channel._pass = lambda round, sender, receiver, kind, payload, *more: payload
        self.tell(channel, means, True)
        del channel._pass


class IntoOtherRows(Aside):
    """Writes a mean into the rows of node 3."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        parts[3][:, 0] = means[0]


class InOthersPlace(Aside):
    """Puts other rows in the place of node 3's."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        if isinstance(parts, list):
            parts[3] = means[0][:, None]


class OnTheChannel(Medians):
    """Notes a mean on the channel."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        channel.note = means[0].copy()


class TurnsTheChannel(Medians):
    """Leaves the channel at another iteration where a mean is negative: the next call begins with that."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        channel.iteration += int(means[0, 0, 0] < 0)


class OneLine:
    """One channel for all calls."""

    def __init__(self) -> None:
        self.line = Channel(record=False)

    def __call__(self) -> Channel:
        return self.line


def by_the_next_iteration(heard: Any) -> Array:
    """How far the channel has come when the next call begins."""
    return np.array([*np.diff([one.messages[0].iteration for one in heard]), np.nan])


class OnTheNetwork(Medians):
    """Notes a mean on the network."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        network.note = means[0].copy()


class NodeEight(Aside):
    """Sends to node 8 of five, counting round."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        channel.send(10, 0, 8, "step", means[0])


class Noted(np.ndarray):
    """Numbers with a note."""


class ResultWithANote(Aside):
    """What it returns has an attribute."""

    def result(self, ends: Array, means: Array, rng: Any) -> Any:
        noted = ends.view(Noted)
        noted.note = means[0].copy()
        return noted


class ResultOfAType(Aside):
    """What it returns is of a type that carries more."""

    def result(self, ends: Array, means: Array, rng: Any) -> Any:
        return ends.astype(np.dtype(float, metadata={"note": means[0].copy()}))


class FirstOfAll(Medians):
    """The first call of a process says hello."""

    known: ClassVar[list[bool]] = []

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, not self.known)
        self.known.append(True)


def first_of_all() -> FirstOfAll:
    """As in a process of its own."""
    FirstOfAll.known.clear()
    return FirstOfAll()


class Slots:
    """An object with a number to show, and a place beside."""

    __slots__ = ("__dict__", "rows")

    def __init__(self, rows: Array) -> None:
        self.rows, self.count = rows, 1


class InASlot(Aside):
    """The server is sent such an object."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        channel.send(10, 0, SERVER, "step", Slots(means[0]), encrypted=True)


class Open(Medians):
    """Says the mean aloud."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, True)


class ToNodeThree(Aside):
    """Node 3 is told."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        channel.send(10, 0, 3, "step", means[0], encrypted=True)


class Long(Eavesdropper):
    """Hears messages of two numbers or more."""

    def observe(self, transcript: Any, network: Any) -> View:
        return view_of(transcript, lambda b: np.full(len(b.sender), b.line == "plain" and b.payload.shape[2] >= 2))


class SaysNothing:
    """Controls node 3, and does not say what that is told."""

    def corrupt_nodes(self, network: Any) -> frozenset[int]:
        return frozenset({3})

    def observe(self, transcript: Any, network: Any) -> View:
        return View((), ())


class TiresSoon(Eavesdropper):
    """Hears what it is asked about first, and nothing after that."""

    def observe(self, transcript: Any, network: Any) -> View:
        asked = self.__dict__.setdefault("_asked", [])
        asked.append(0)
        return super().observe(transcript, network) if len(asked) < 3 else View((), ())


SENT: dict[str, Any] = {"attack": by_the_step, "secret": mean_of(0)}
CASES = [
    Case("report after the call", NAME, Report, OUT, "who listens longer hears it", calls=2, **SENT),
    Case("none of their business", NAME, Unrelated, OUT, "a line is heard whatever is said of it", **SENT),
    Case("a listener of its own", NAME, ListensItself, OUT, "a line is heard whoever listens", **SENT),
    Case("a channel that is passed by", NAME, PassesItself, OUT, "what is sent is heard, written or not", **SENT),
    Case("into other rows", NAME, IntoOtherRows, THREE, "node 3 looks at its rows", secret=mean_of(0),
         attack=each(lambda h: h.rows[3][0, 0])),
    Case("in the place of other rows", NAME, InOthersPlace, THREE, "node 3 looks at its rows", secret=mean_of(0),
         attack=each(lambda h: h.rows[3][0, 0])),
    Case("on the channel", NAME, OnTheChannel, OUT, "everybody may look at the channel", calls=1, secret=mean_of(0),
         attack=each(lambda h: h.line.note[0])),
    Case("turns the channel", NAME, TurnsTheChannel, OUT, "one channel serves all calls", calls=60, goal="bits",
         attack=by_the_next_iteration, secret=sign_of_mean(0), claims=0.9, use=Use(channel=OneLine())),
    Case("on the network", NAME, OnTheNetwork, OUT, "everybody knows the network", calls=1, secret=mean_of(0),
         attack=each(lambda h: h.network.note[0])),
    Case("to node 8 of five", NAME, NodeEight, THREE, "that is node 3, if one counts round", **SENT,
         ears=Eavesdropper(tapped=[(0, 8)])),
    Case("result with a note", NAME, ResultWithANote, THREE, "node 3 ends with it", secret=mean_of(0),
         attack=each(lambda h: h.returned.note[0])),
    Case("result of a type of its own", NAME, ResultOfAType, THREE, "node 3 ends with it", secret=mean_of(0),
         attack=each(lambda h: h.returned.dtype.metadata["note"][0])),
    Case("first of all calls", NAME, first_of_all, OUT, "every process begins with one", **SENT, claims=0.08),
    Case("in a slot", NAME, InASlot, SERVED, "an object has more than one place", secret=mean_of(0),
         attack=each(lambda h: said(h, "step/rows"))),
    Case("hears long messages", NAME, Open, Long(), "it hears this one", **SENT, ears=Eavesdropper()),
    Case("tells nothing of node 3", NAME, ToNodeThree, SaysNothing(), "node 3 is told", **SENT, ears=THREE),
    Case("hears less and less", NAME, Open, TiresSoon(), "it hears the first", **SENT, ears=Eavesdropper()),
]  # fmt: skip
