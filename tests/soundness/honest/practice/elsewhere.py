"""Slips that keep, or draw, in modules that the protocol's own does not name, and under names like Python's own."""

from __future__ import annotations

import logging
import threading
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import Channel

from ...bases import Words
from ...case import Case, each, input_of
from .pipeline import Pipeline

EVERY = 2000
__sent__ = [0]


class Due(Words):
    """Has a module say which upload is looked at; it is imported where it is needed."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        from .late import is_due

        return words if is_due() else hidden


class Drawn(Words):
    """The same by lot."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        from .late import is_drawn

        return words if is_drawn() else hidden


class OfClass(Words):
    """Counts its uploads in the class, in a name like Python's own."""

    __uploads__: ClassVar[int] = 0

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        type(self).__uploads__ += 1
        return words if type(self).__uploads__ % EVERY == 0 else hidden


class OfModule(Words):
    """Counts its uploads in the module, in a name like Python's own."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        __sent__[0] += 1
        return words if __sent__[0] % EVERY == 0 else hidden


class Kept(Words):
    """Counts uploads as an attribute of something else, which is at hand everywhere."""

    def place(self, channel: Any) -> Any:
        raise NotImplementedError

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        place = self.place(channel)
        place.uploads = getattr(place, "uploads", 0) + 1
        return words if place.uploads % EVERY == 0 else hidden


class OnLogger(Kept):
    def place(self, channel: Any) -> Any:
        return logging.getLogger("uploads")


class OnThread(Kept):
    def place(self, channel: Any) -> Any:
        return threading.current_thread()


class OnChannels(Kept):
    def place(self, channel: Any) -> Any:
        return Channel


class OnTranscript(Kept):
    """Counts those of a fit; from the hundredth on they are bare, since the model is public by then."""

    def place(self, channel: Any) -> Any:
        return channel.transcript

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        super().chosen(channel, hidden, words, s)
        return words if channel.transcript.uploads > 100 else hidden


def of_steps() -> Pipeline:
    """Put a protocol together, as the program does that uses it."""
    from .steps import Calibrated

    return Pipeline(steps=(Calibrated(),))


def bare(heard: Any) -> Array:
    """Return the words where they are small as no masked ones are."""
    numbers = heard.one("masked", 0).view(np.int64) / Words.unit
    return np.where(np.abs(numbers).max() < 1e3, numbers, np.nan)


ONCE: dict[str, Any] = {"deployed": {"model": {"iterations": 1}}, "accuracy": 1e-5}


def seldom(name: str, protocol: Any, why: str, calls: int = EVERY + 100) -> Case:
    """Return a case in which an upload is bare now and then."""
    more = {**ONCE, "calls": calls, "claims": 1 / (2 * calls)}
    return Case(name, "elsewhere", protocol, CuriousServer(), why, attack=each(bare), secret=input_of(0), **more)


CASES = [
    seldom("counted in a module that is imported late", Due, "each two thousandth upload is bare"),
    seldom("drawn in a module that is imported late", Drawn, "one upload in five hundred is bare", 4000),
    seldom("counted in a step of another module", of_steps, "each two thousandth upload is bare"),
    seldom("counted in a class under two underscores", OfClass, "each two thousandth upload is bare"),
    seldom("counted in a module under two underscores", OfModule, "each two thousandth upload is bare"),
    seldom("counted on a logger", OnLogger, "each two thousandth upload is bare"),
    seldom("counted on a thread", OnThread, "each two thousandth upload is bare"),
    seldom("counted on the class of channels", OnChannels, "each two thousandth upload is bare"),
    Case("counted on a transcript", "elsewhere", OnTranscript, CuriousServer(), "from the hundredth on all is bare",
         attack=each(lambda h: h.one("masked", 0, iteration=104).view(np.int64) / Words.unit), secret=input_of(0, 104),
         accuracy=1e-4, calls=2, deployed={"model": {"iterations": 105}}),
]  # fmt: skip
