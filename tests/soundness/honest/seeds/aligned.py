"""Seeds that are the same where a number in them is small: NumPy makes fewer words of it, and what follows moves up."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper
from secmix.network import Network

from ...case import Heard
from .attacks import Own, signed, words
from .bases import wrong

LABEL = 1


class Sessions(Own):
    """Seeds hold a session, as one part of the code writes it down for weights, and another part for biases."""

    sessions: ClassVar[int] = 2**64

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        keys = super().draw_masks(runs, m, network, rng)
        session = rng.integers(0, self.sessions, size=(*keys.shape[:2], 1), dtype=np.uint64)
        return np.concatenate([keys, session], axis=2)

    def cut(self, session: Any) -> Any:
        """A session as the older part writes it down."""
        raise NotImplementedError

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        sessions = (seed[2], self.cut(seed[2]))
        parts = [np.random.default_rng([seed[0], seed[1], each, LABEL]) for each in sessions]
        return np.concatenate([words(part, m // 2) for part in parts])


class Positive(Sessions):
    """The older part takes sessions for signed numbers, of which it keeps 63 bits."""

    def cut(self, session: Any) -> Any:
        return session % np.uint64(2**63)


class Short(Sessions):
    """The older part has 32 bits for a session; there is one bit more by now."""

    sessions = 2**33

    def cut(self, session: Any) -> Any:
        return session % np.uint64(2**32)


def between_halves(heard: Heard) -> Array:
    """Return weights less biases where these have one mask: the difference is then small."""
    weights, biases = np.split(heard.one("masked", 0), 2)
    apart = signed(weights - biases)
    return np.where(np.abs(apart).max() < 1e4, apart, np.nan)


def apart(truth: Any) -> Array:
    weights, biases = np.split(truth.inputs[0][0, 0], 2)
    return np.asarray(weights - biases)


WHY = "half of the sessions make one seed for both"
CASES = [
    wrong(name, protocol, Eavesdropper(), WHY, between_halves, apart, calls=40, claims=0.2)
    for name, protocol in (("sessions of 63 bits and of 64", Positive), ("sessions of 32 bits and of 33", Short))
]
