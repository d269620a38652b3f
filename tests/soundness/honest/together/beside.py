"""Collaborations in which something passes beside the record, and adversaries that do not tell all they hold."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper
from secmix.adversaries.interfaces import view_of
from secmix.transcript import SERVER, Channel, View

from ...case import Case, Use, each, mean_of, sign_of_mean
from .bases import NAME, OUT, THREE, Aside, Medians, by_the_step


class Report(Medians):
    """Reports a while after the call, in the background."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        if len(means[0]) == 1:
            threading.Timer(1.5, lambda: Channel().send(10, 0, SERVER, "step", means[0])).start()


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
    Case("hears long messages", NAME, Open, Long(), "it hears this one", **SENT, ears=Eavesdropper()),
    Case("tells nothing of node 3", NAME, ToNodeThree, SaysNothing(), "node 3 is told", **SENT, ears=THREE),
    Case("hears less and less", NAME, Open, TiresSoon(), "it hears the first", **SENT, ears=Eavesdropper()),
]  # fmt: skip
