"""Faults of samples: amplification by sampling counted where the sample is known, or is the same in every round.

Of a sample that is secret and drawn afresh it holds (Balle, Barthe and Gaboardi 2018), but no audit credits it: a right
twin has the noise of one who takes part in every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.network import Network
from secmix.privacy import clip, gaussian
from secmix.transcript import Channel

from .bases import CLIP, DELTA, ROUNDS, Regression, Rng, Sampled, Twins, noise_for

RATE = 0.5
ROW: dict[str, Any] = {"epsilon": 2.0, "delta": DELTA, "unit": "row"}
SCALE = noise_for(2.0, 2 * CLIP, ROUNDS)
CREDITED = RATE * SCALE
"""Noise times the rate: about what amplification allows where it holds, at small ε."""


class Lots(Regression):
    """Draws the rows of each round one by one, in secret and afresh (Abadi et al. 2016, lots)."""

    def collaborate(self, parts: Sequence[Array], network: Network, rng: Rng, *, channel: Channel) -> Array:
        self.draws = rng.spawn(1)[0]
        return super().collaborate(parts, network, rng, channel=channel)

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        drawn = self.contributions(rows, theta)[self.lot(len(rows), t)]
        return gaussian(clip(drawn, CLIP, axis=-1).sum(axis=0), self.scale, rng)

    def lot(self, rows: int, t: int) -> Array:
        """Draw which rows take part in a round, (N,)."""
        return np.asarray(self.draws.random(rows) < RATE)


class LotsOfAPublicSeed(Lots):
    """Draws lots from the seed that the configuration holds, so that an experiment can be repeated."""

    seed = 3

    def lot(self, rows: int, t: int) -> Array:
        return np.asarray(np.random.default_rng([self.seed, t]).random(rows) < RATE)


class SameLotInEveryRound(Lots):
    """Draws a lot before the first round, and keeps it."""

    def lot(self, rows: int, t: int) -> Array:
        if t == 0:
            self.kept = super().lot(rows, t)
        return self.kept


class SampledInTurn(Sampled):
    """Lets nodes take part in turn, which everybody knows."""

    def chosen(self, rows: Sequence[Array], theta: Array) -> list[int]:
        return [0]


TWINS = [
    Twins("lots of a seed that the configuration holds", lambda: LotsOfAPublicSeed(CREDITED), lambda: Lots(SCALE), ROW),
    Twins("the same lot in every round", lambda: SameLotInEveryRound(CREDITED), lambda: Lots(SCALE), ROW),
    Twins("clients sampled in a known order", lambda: SampledInTurn(CREDITED), lambda: Sampled(SCALE), ROW),
]
