"""Calls in use that differ from a single one on a channel, and that nobody compares with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.network import Network

from ...bases import Words
from ...case import Case, Heard, each, input_of
from ..seeds.attacks import signed

MANY = 20  # runs that are few


class Noisy(Words):
    """Each node adds a little noise of its own, then rounds, then hides."""

    def encode(self, s: Array) -> Array:
        noise = np.random.default_rng().normal(0.0, 0.2, s.shape)
        return np.rint((s + noise) * self.unit).astype(np.int64).astype(np.uint64)


class LargeBare(Noisy):
    """Does without masks where there are many runs, since these are simulations."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        return words if s.shape[1] > MANY else hidden


class UnheardBare(Noisy):
    """Does without masks where no channel is given, since nobody listens."""

    def average(self, inputs: Any, network: Network, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if channel is None:
            masks = np.zeros_like(self.draw_masks(len(inputs), np.shape(inputs)[2], network, rng))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class DrawnOnce(Words):
    """Has the system draw masks, which for many runs takes long: these have one."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        return np.zeros((runs, 0, m), dtype=np.uint64)

    def body(self, channel: Any, s: Array, r: Array, network: Network, rng: Any) -> Array:
        pairs, runs, m = self.pairs(network), s.shape[1], s.shape[2]
        drawn = 1 if runs > MANY else runs
        masks = np.random.default_rng().integers(0, 2**64, size=(len(pairs), drawn, m), dtype=np.uint64)
        return super().body(channel, s, np.repeat(masks, runs // drawn, axis=1), network, rng)


@dataclass(frozen=True)
class KeptUnheard(Words):
    """Draws masks once, where no channel is given, since nobody listens."""

    kept: dict[Any, Array] = field(default_factory=dict)

    def average(self, inputs: Any, network: Network, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if channel is None and masks is None:
            runs, _, m = np.shape(inputs)
            masks = self.kept.setdefault((runs, m), self.draw_masks(runs, m, network, rng))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


def words_of(heard: Heard) -> Array:
    return signed(heard.one("masked", 0))


def between_calls(heard: Any) -> Array:
    """Return by how much what node 0 sends in each call differs from that of the first call."""
    sent = [one.one("masked", 0).astype(np.uint64) for one in heard]
    return np.stack([signed(words - sent[0]) for words in sent])


def between_runs(heard: Heard) -> Array:
    several = heard.many("masked", 0)
    return signed(several[1] - several[0])


SERVED, NAME = CuriousServer(), "uncompared"
CASES = [
    Case("large batches bare but for noise", NAME, LargeBare, SERVED, "many runs have no masks",
         attack=each(words_of), secret=input_of(0), goal="share", batch=MANY + 1, calls=40),
    Case("bare but for noise without a channel", NAME, UnheardBare, SERVED, "no mask is drawn for it",
         attack=each(words_of), secret=input_of(0), goal="share", given=False, calls=40),
    Case("a mask of the system's for all runs", NAME, DrawnOnce, SERVED, "differences of runs are bare",
         attack=each(between_runs), secret=lambda t: t.inputs[0][1, 0] - t.inputs[0][0, 0], accuracy=1e-4,
         batch=MANY + 1, calls=4),
    Case("masks kept without a channel", NAME, KeptUnheard, SERVED, "differences of calls are bare", relative=True,
         attack=between_calls, secret=input_of(0), accuracy=1e-4, given=False, calls=4),
]  # fmt: skip
