"""The same masks behind numbers that are all but the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, each, input_of

DECAY = 1.5e-9


class Decayed(Pairwise):
    """Uploads weights before and after they decay, for the server to see how much; both are behind one mask."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        channel.send(0, np.arange(len(s)), SERVER, "decayed", hidden - s + s * (1 - DECAY))
        return super().upload(channel, hidden, s, rng)


def lost(heard: Any) -> Array:
    """Return what the decay takes off, as a part of the whole: rounding is a hundredth of it."""
    return np.asarray((heard.one("masked", 0) - heard.one("decayed", 0)) / DECAY)


CASES = [
    Case("weights that decay by a billionth", "masks used twice", Decayed, CuriousServer(), "the difference is bare",
         attack=each(lost), secret=input_of(0), goal="share"),
]  # fmt: skip
