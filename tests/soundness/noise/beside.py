"""Faults beside the noise: what is sent bare, when training stops, and what a budget is of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.privacy import clip, gaussian, gaussian_epsilon
from secmix.transcript import SERVER, Channel

from .bases import CLIP, DELTA, ROUNDS, Histogram, Means, Regression, Rng, Sampled, Twins, Updates, noise_for

NODE: dict[str, Any] = {"epsilon": 4.0, "delta": DELTA, "unit": "node"}
ROW: dict[str, Any] = {**NODE, "unit": "row"}
ADDED: dict[str, Any] = {**ROW, "neighbours": "add-or-remove"}
SCALE = noise_for(4.0, 2 * CLIP, ROUNDS)
SCALE_OF_A_THIRD = 2 * CLIP * 1.3112  # ε = 2 of one round in which one in three takes part, by dp-accounting's PLD
SCALE_ADDED = noise_for(4.0, CLIP, ROUNDS)


class WithItsLoss(Updates):
    """Reports its loss, so that the server can watch the training."""

    def beside(self, rows: Sequence[Array], theta: Array, t: int, line: Channel) -> None:
        for node, part in enumerate(rows):
            loss = ((part[:, :-1] @ theta - part[:, -1]) ** 2).mean()
            line.send(2 * t, node, SERVER, "loss", np.full((1, 1), loss))


class WithANoisyLoss(Updates):
    """Reports its clipped loss with noise, and splits the budget."""

    def beside(self, rows: Sequence[Array], theta: Array, t: int, line: Channel) -> None:
        for node, part in enumerate(rows):
            loss = np.full(1, ((part[:, :-1] @ theta - part[:, -1]) ** 2).mean())
            line.send(2 * t, node, SERVER, "loss", gaussian(clip(loss, CLIP), self.scale, self.own[node])[None])

    def train(self, rows: Any, network: Any, own: Any, line: Any) -> Array:
        self.own = own
        return super().train(rows, network, own, line)


class BiasIsBare(Means):
    """Adds noise to all entries but the first, which is an intercept."""

    def noisy(self, total: Array, rng: Rng) -> Array:
        return np.concatenate([np.asarray(total)[:1], super().noisy(np.asarray(total)[1:], rng)])


class WithItsCount(Regression):
    """Sends how many rows it has, as Flower's clients do."""

    def begin(self, rows: Sequence[Array], line: Channel) -> None:
        for node, part in enumerate(rows):
            line.send(-1, node, SERVER, "rows", np.full((1, 1), float(len(part))))


class WithANoisyCount(Regression):
    """Sends a noisy number of rows: each row is a vector of one number."""

    def begin(self, rows: Sequence[Array], line: Channel) -> None:
        for node, part in enumerate(rows):
            ones = clip(np.ones((len(part), 1)), CLIP, axis=-1).sum(axis=0)
            line.send(-1, node, SERVER, "rows", gaussian(ones, self.scale, self.own[node])[None])

    def train(self, rows: Any, network: Any, own: Any, line: Any) -> Array:
        self.own = own
        return super().train(rows, network, own, line)


class StopsByTheData(Updates):
    """Stops as soon as the loss of all nodes is small."""

    def stops(self, rows: Sequence[Array], theta: Array) -> bool:
        losses = [((part[:, :-1] @ theta - part[:, -1]) ** 2).mean() for part in rows]
        return bool(max(losses) < 10.0)


class StopsByTheModel(Updates):
    """Stops as soon as the noisy model is large: what is public decides, and the budget is that of all rounds."""

    def stops(self, rows: Sequence[Array], theta: Array) -> bool:
        return bool(np.linalg.norm(theta) > 1e6)


class NoiseInTheFirstRound(Updates):
    """Adds noise until the model has settled."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        if t == 0:
            return super().message(rows, theta, t, node, rng)
        return np.asarray(clip(self.contributions(rows, theta).mean(axis=0), CLIP))


class SmallOnesBare(Updates):
    """Adds no noise to an update that is small, since it tells little."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        update = clip(self.contributions(rows, theta).mean(axis=0), CLIP)
        noisy = gaussian(update, self.scale, rng)
        return np.asarray(update) if np.linalg.norm(update) < 0.3 else noisy


class WorstFirst(Sampled):
    """Asks the node whose loss is largest (Cho, Wang and Joshi 2020, power of choice)."""

    def chosen(self, rows: Sequence[Array], theta: Array) -> list[int]:
        losses = [((part[:, :-1] @ theta - part[:, -1]) ** 2).mean() for part in rows]
        return [int(np.argmax(losses))]


def classic_scale(epsilon: float, sensitivity: float) -> float:
    """Return σ by the formula of Dwork and Roth (2014, theorem A.1), which they prove for ε below 1."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon


TWINS = [
    Twins("values without noise beside noisy ones", lambda: WithItsLoss(SCALE),
          lambda: WithANoisyLoss(noise_for(4.0, 2 * CLIP, 2 * ROUNDS)), NODE),
    Twins("an entry without noise", lambda: BiasIsBare(SCALE), lambda: Means(SCALE), ROW),
    Twins("a count without noise", lambda: WithItsCount(SCALE_ADDED),
          lambda: WithANoisyCount(noise_for(4.0, CLIP, ROUNDS + 1)), ADDED),
    Twins("a stopping time", lambda: StopsByTheData(SCALE), lambda: StopsByTheModel(SCALE), NODE),
    Twins("noise in the first round alone", lambda: NoiseInTheFirstRound(SCALE), lambda: Updates(SCALE), NODE),
    Twins("small values without noise", lambda: SmallOnesBare(SCALE), lambda: Updates(SCALE), NODE),
    Twins("replace-one counted as add-or-remove", lambda: Regression(SCALE_ADDED), lambda: Regression(SCALE), ROW),
    Twins("the same for a histogram", lambda: Histogram(CLIP, rounds=1), lambda: Histogram(2 * CLIP, rounds=1),
          {"epsilon": 1.0, "unit": "row"}),
    Twins("budget of one round stated for all", lambda: Regression(noise_for(4.0, CLIP)),
          lambda: Regression(SCALE_ADDED), ADDED),
    Twins("the classic formula beyond ε = 1", lambda: Updates(classic_scale(10.0, 2 * CLIP), rounds=1),
          lambda: Updates(noise_for(10.0, 2 * CLIP), rounds=1), {**NODE, "epsilon": 10.0}),
    Twins("the classic formula for ten rounds", lambda: Regression(classic_scale(10.0, 2 * CLIP), rounds=10),
          lambda: Regression(noise_for(10.0, 2 * CLIP, 10), rounds=10), {**ROW, "epsilon": 10.0}),
    Twins("a sample credited that messages show", lambda: Sampled(SCALE_OF_A_THIRD, rounds=1),
          lambda: Sampled(noise_for(2.0, 2 * CLIP), rounds=1), {**ROW, "epsilon": 2.0}),
    Twins("clients chosen by their data", lambda: WorstFirst(SCALE), lambda: Sampled(SCALE), ROW),
    Twins("noise for a row stated for a node", lambda: Regression(SCALE), lambda: Updates(SCALE), NODE),
]  # fmt: skip

assert gaussian_epsilon(2 * CLIP / classic_scale(10.0, 2 * CLIP), DELTA) > 10.3, "the classic formula is not wrong here"
