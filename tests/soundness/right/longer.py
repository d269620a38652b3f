"""Right protocols that look odd over a whole fit, at corners, and to who reads the numbers in their code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Dealt, Modular, Pairwise, Ring
from ..case import Case

LARGEST_BATCH = 700


class EveryFewRounds(Pairwise):
    """Every seventh averaging says that all are alive; so does the first of a run of thirty."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if channel.iteration % 7 == 0 or channel.iteration == 30:
            channel.send(8, np.arange(len(s)), SERVER, "alive", np.zeros((len(s), s.shape[1], 1)))


class Checked(Pairwise):
    """Refuses what is far too large, and batches that are."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if np.abs(np.asarray(inputs)).max() > 1e10 or len(inputs) > 5 * LARGEST_BATCH:
            raise ValueError("too large")
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class InParts(Pairwise):
    """Batches of more than seven hundred runs go in two parts inside, which nobody notices."""

    def used(self, r: Array, s: Array) -> Array:
        if s.shape[1] <= LARGEST_BATCH:
            return r
        return np.concatenate([r[:, :LARGEST_BATCH], r[:, LARGEST_BATCH:]], axis=1)


class InPlace(Pairwise):
    """Works on a copy that it writes over."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        hidden += 1.0
        hidden -= 1.0 * np.ones_like(hidden)
        return hidden


class Remembers(Pairwise):
    """Keeps a history of its results for its owner, and counts."""

    def result(self, averages: Array, s: Array, rng: Any) -> Array:
        self.__dict__.setdefault("_history", []).append(averages.mean())
        return averages


class Leader(Ring):
    """Who begins goes round with the averagings."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.__dict__["_turn"] = 0 if channel is None else channel.iteration
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def order(self, network: Any, rng: Any) -> list[int]:
        return [(self.__dict__["_turn"] + step) % network.n for step in range(network.n)]


class CoinTwice(Ring):
    """Two public coins turn the ring round; one of them is rarely anything but a nought."""

    def order(self, network: Any, rng: Any) -> list[int]:
        start = int(rng.integers(network.n)) if rng.random() < 0.05 else 0
        way = 1 if rng.random() < 0.5 else -1
        return [(start + way * step) % network.n for step in range(network.n)]


@dataclass(frozen=True)
class Levels(Dealt):
    """Has thresholds in its settings that concern nothing which is sent."""

    warn_above: float = 250.0
    patience: int = 12

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        self.__dict__["_warned"] = bool((np.abs(s) > self.warn_above).any())


class Chatty(Pairwise):
    """Six hundred empty messages beside everything else."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        zero = np.zeros((1, s.shape[1], 1))
        channel.send(-2, np.full(600, 1), 2, "keep alive", zero, content=np.zeros(600, dtype=int))


class WordsInParts(Modular):
    """Words are sent as they are, and the total is told twice."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(10, SERVER, 0, "done", np.ones((s.shape[1], 1)))


OUT, ONE = Eavesdropper(), HonestButCurious({1}, eavesdrops=False)
NAME, WHY = "longer", "all that is known is the sum, which is permitted"
CASES = [
    Case("alive every seventh", NAME, EveryFewRounds, OUT, WHY, "safe", steady=True),
    Case("refuses the far too large", NAME, Checked, CuriousServer(), WHY, "safe"),
    Case("large batches in parts", NAME, InParts, OUT, WHY, "safe"),
    Case("in place of itself", NAME, InPlace, CuriousServer(), WHY, "safe"),
    Case("remembers results", NAME, Remembers, OUT, WHY, "safe"),
    Case("leader goes round", NAME, Leader, ONE, WHY, "safe"),
    Case("two coins", NAME, CoinTwice, ONE, WHY, "safe"),
    Case("levels that warn", NAME, Levels, CuriousServer(), WHY, "safe"),
    Case("chatty", NAME, Chatty, OUT, WHY, "safe"),
    Case("words and thanks", NAME, WordsInParts, OUT, WHY, "safe"),
]
