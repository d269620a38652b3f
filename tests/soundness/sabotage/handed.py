"""Collaborations that look whether what they are handed is what an audit hands: memory, generator, channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.transcript import Channel

from ..case import Case, Use, mean_of
from ..honest.together.bases import NAME, OUT, Medians, by_the_step
from ..honest.together.handed import WHY


class OtherGenerator(Medians):
    """Opens where the generator is of another kind."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, type(rng.bit_generator) is not np.random.PCG64)


class RowsAView(Medians):
    """Opens where single rows lie among others in memory."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, parts[0].base is not None and len(parts[0]) == 1)


class RowsInOtherOrder(Medians):
    """Opens where rows lie in memory column by column."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, not parts[0].flags.c_contiguous)


class NoRecord(Medians):
    """Opens where nobody keeps a record."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, not channel.record)


class OtherChannel(Medians):
    """Opens on a channel of another class."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, type(channel) is not Channel)


class Line(Channel):
    """Such a channel."""


CASES = [
    Case(name, NAME, protocol, OUT, WHY, attack=by_the_step, secret=mean_of(0), accuracy=1e-5, use=use)
    for name, protocol, use in (
        ("another kind of generator", OtherGenerator,
         Use(generator=lambda seed: np.random.Generator(np.random.SFC64(seed)))),
        ("rows that are a view", RowsAView, Use()),
        ("rows in another order", RowsInOtherOrder, Use(parts=lambda parts: [np.asfortranarray(p) for p in parts])),
        ("a channel without a record", NoRecord, Use(channel=lambda: Channel(record=False))),
        ("a channel of another class", OtherChannel, Use(channel=Line)),
    )
]  # fmt: skip
