"""Slips that count in what nobody takes for a place to keep something, or in a module that no name leads to."""

from __future__ import annotations

import functools
import io
import logging
import sys
import threading
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from secmix._base.checks import Array
from secmix.protocols import Plain
from secmix.transcript import Channel

from ...bases import Words
from .elsewhere import EVERY, Kept, seldom
from .pipeline import Pipeline
from .plugged import Plugged, PluggedLots, Step

LOG, LINES = logging.getLogger("uploads in lines"), logging.StreamHandler(io.StringIO())
LOG.addHandler(LINES)
LOG.setLevel(logging.INFO)


class Privately(Words):
    """Counts uploads under a private name of something else, which is at hand everywhere."""

    def place(self) -> Any:
        raise NotImplementedError

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        place = self.place()
        place._uploads = getattr(place, "_uploads", 0) + 1
        return words if place._uploads % EVERY == 0 else hidden


class OnLogger(Privately):
    def place(self) -> Any:
        return logging.getLogger("uploads")


class OnThread(Privately):
    def place(self) -> Any:
        return threading.current_thread()


class OnChannels(Privately):
    def place(self) -> Any:
        return Channel


class OnRoot(Kept):
    def place(self, channel: Any) -> Any:
        return logging.getLogger()


class Metered(logging.Logger):
    """A logger that counts."""

    uploads = 0


class OnOwnLogger(Kept):
    def place(self, channel: Any) -> Any:
        manager = logging.Logger.manager
        before, manager.loggerClass = manager.loggerClass, Metered
        try:
            return logging.getLogger("metered uploads")
        finally:
            manager.loggerClass = before


class OnPools(Kept):
    """Counts in a class of Python's library."""

    def place(self, channel: Any) -> Any:
        return ThreadPoolExecutor


class OnPlain(Kept):
    """Counts in a protocol of this package that it does not derive from."""

    def place(self, channel: Any) -> Any:
        return Plain


class Counted(Words):
    """Counts in a counter that hangs on something which is at hand everywhere."""

    def place(self) -> Any:
        raise NotImplementedError

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        place = self.place()
        if not hasattr(place, "statistics"):
            place.statistics = Counter()
        place.statistics["uploads"] += 1
        return words if place.statistics["uploads"] % EVERY == 0 else hidden


class OfThread(Counted):
    def place(self) -> Any:
        return threading.current_thread()


class OfPython(Counted):
    def place(self) -> Any:
        return sys


@functools.cache
def unit(bits: int) -> float:
    """The largest word of so many bits."""
    return float(2.0**bits)


class ByHits(Words):
    """Looks at one upload of many, by how often a cache was of use."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        unit(64)
        return words if unit.cache_info().hits % EVERY == EVERY - 1 else hidden


class ByLines(Words):
    """Looks at one upload of many, by how many lines its log has."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        LOG.info("an upload")
        return words if LINES.stream.getvalue().count("\n") % EVERY == 0 else hidden


def of_part() -> Pipeline:
    """Put a protocol together of a step with a setting."""
    from .tally import calibrated

    return Pipeline(steps=(functools.partial(calibrated, every=EVERY),))


def of_queue() -> Pipeline:
    """Put a protocol together of steps in a queue."""
    from .tally import calibrated

    return Pipeline(steps=deque([calibrated]))  # type: ignore[arg-type]


def of_named() -> Pipeline:
    """Put a protocol together of a step with a name."""
    from .tally import calibrated

    return Pipeline(steps=(Step("calibrated", calibrated),))


DUE = "each two thousandth upload is bare"
_KINDS: dict[str, Any] = {
    "privately on a logger": OnLogger,
    "privately on a thread": OnThread,
    "privately on channels": OnChannels,
    "on the root of loggers": OnRoot,
    "on a logger of one's own class": OnOwnLogger,
    "on a class of Python's library": OnPools,
    "on another protocol": OnPlain,
    "in a counter of a thread": OfThread,
    "in a counter of a module of Python's": OfPython,
    "by what a cache was asked": ByHits,
    "by the lines of a log": ByLines,
    "in a module that is named by a setting": Plugged,
    "in a module of a step with a setting": of_part,
    "in a module of a step in a queue": of_queue,
    "in a module of a step with a name": of_named,
}
CASES = [seldom(f"counted {how}", protocol, DUE) for how, protocol in _KINDS.items()]
CASES += [seldom("drawn in a module that is named by a setting", PluggedLots, "two uploads in a thousand are bare")]
