"""Collaborations with a path of its own for rows of another type, and for a channel in use, that does not encrypt."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.transcript import Channel

from ...case import Case, Use, mean_of
from .bases import NAME, OUT, Medians, by_the_step


class RowsInSinglePrecision(Medians):
    """Opens where rows are less precise."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, parts[0].dtype == np.float32)


class InATuple(Medians):
    """Opens where parts are no list."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, not isinstance(parts, list))


class UsedBefore(Medians):
    """Opens on a channel that has carried something before."""

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
        """As the others."""
        self.begun = bool(channel.transcript.blocks)
        return super().collaborate(parts, network, rng, channel=channel)

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, self.begun)


class OtherClass(Medians):
    """Opens where rows are of another class than numpy's own."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, np.asarray(means), type(parts[0]) is not np.ndarray)


class Rows(np.ndarray):
    """Such rows."""


class WholeRows(Medians):
    """Opens where rows are whole numbers."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, parts[0].dtype.kind == "i")


def used_before() -> Channel:
    """A channel on which there was talk."""
    channel = Channel()
    channel.send(0, 1, 2, "talk", np.zeros((1, 1)))
    return channel


WHY = "in use it is handed other things than in an audit"
CASES = [
    Case(name, NAME, protocol, OUT, WHY, attack=by_the_step, secret=mean_of(0), accuracy=1e-5, use=use)
    for name, protocol, use in (
        ("rows in single precision", RowsInSinglePrecision,
         Use(parts=lambda parts: [p.astype(np.float32) for p in parts])),
        ("parts in a tuple", InATuple, Use(parts=tuple)),
        ("rows of another class", OtherClass, Use(parts=lambda parts: [p.view(Rows) for p in parts])),
        ("a channel used before", UsedBefore, Use(channel=used_before)),
    )
] + [
    Case("rows in whole numbers", NAME, WholeRows, OUT, WHY, attack=by_the_step, accuracy=1e-5,
         secret=lambda t: np.rint(100 * t.rows[0][0]).mean(axis=0),
         use=Use(parts=lambda parts: [np.rint(100 * p).astype(int) for p in parts])),
]  # fmt: skip
