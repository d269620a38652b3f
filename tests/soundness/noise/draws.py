"""Faults of the draws: noise that is drawn once for several, or that somebody else knows. Written with NumPy alone."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper, HonestButCurious
from secmix.network import Network
from secmix.privacy import clip, gaussian
from secmix.transcript import Channel

from .bases import CLIP, DELTA, ROUNDS, Regression, Rng, Twins, Updates, noise_for

ROW: dict[str, Any] = {"epsilon": 2.0, "delta": DELTA, "unit": "row"}
NODE: dict[str, Any] = {"epsilon": 2.0, "delta": DELTA, "unit": "node"}
SCALE = noise_for(2.0, 2 * CLIP, ROUNDS)


class OneForAllCoordinates(Regression):
    """Forgets the size of the draw: one number is added to every entry."""

    def noisy(self, total: Array, rng: Rng) -> Array:
        return total + rng.normal(scale=self.scale)


class OneForAllClients(Updates):
    """Draws the noise of a round once, before the loop over clients."""

    def train(self, rows: Sequence[Array], network: Network, own: Sequence[Rng], line: Channel) -> Array:
        p = self.size(rows[0].shape[1])
        self.drawn = own[0].normal(scale=self.scale, size=(self.rounds, p))
        return super().train(rows, network, own, line)

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        update = theta - (theta - self.rate * self.contributions(rows, theta).mean(axis=0))
        return np.asarray(clip(update, CLIP) + self.drawn[t])


class OneForAllRounds(Updates):
    """Draws the noise of a client once, when it joins."""

    def train(self, rows: Sequence[Array], network: Network, own: Sequence[Rng], line: Channel) -> Array:
        self.drawn = [each.normal(scale=self.scale, size=self.size(rows[0].shape[1])) for each in own]
        return super().train(rows, network, own, line)

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        return np.asarray(clip(self.contributions(rows, theta).mean(axis=0), CLIP) + self.drawn[node])


class SeedIsTheRound(Updates):
    """Seeds every round's noise by its number, to be able to repeat an experiment."""

    def noisy(self, total: Array, rng: Rng) -> Array:
        self.count = getattr(self, "count", 0) + 1
        return super().noisy(total, np.random.default_rng(self.count % ROUNDS))


class SeedOfTheConfiguration(Updates):
    """Seeds the noise by what the configuration says, once a client."""

    seed = 2024

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        update = clip(self.contributions(rows, theta).mean(axis=0), CLIP)
        return np.asarray(
            update + np.random.default_rng([self.seed, node, t]).normal(scale=self.scale, size=len(update))
        )


class CopiedEachRound(Updates):
    """Hands a copy of the client's generator to each round, as an executor that pickles its arguments does."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        return super().message(rows, theta, t, node, copy.deepcopy(rng))


class SeedFromANeighbour(Updates):
    """Draws noise from a seed that the next node sends, as for masks that cancel."""

    def train(self, rows: Sequence[Array], network: Network, own: Sequence[Rng], line: Channel) -> Array:
        n, received = network.n, []
        for i in range(n):
            seed = own[(i + 1) % n].integers(2**31, size=(1, 1))
            received.append(int(line.send(-1, (i + 1) % n, i, "seed", seed.astype(float), encrypted=True)[0, 0]))
        return super().train(rows, network, [np.random.default_rng(seed) for seed in received], line)


class SeedOfItsOwn(Updates):
    """Draws noise from a generator of the node's own; the neighbour's seed is for the order of rows alone."""

    def train(self, rows: Sequence[Array], network: Network, own: Sequence[Rng], line: Channel) -> Array:
        for i in range(network.n):
            line.send(-1, (i + 1) % network.n, i, "seed", np.full((1, 1), 7.0), encrypted=True)
        return super().train(rows, network, own, line)


class NoiseTakenOff(Updates):
    """Reports how large its noise was, so that the server can weight clients."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        update = self.clipped(self.contributions(rows, theta).mean(axis=0))
        noisy = gaussian(update, self.scale, rng)
        self.sizes[node] = noisy - update
        return noisy

    def beside(self, rows: Sequence[Array], theta: Array, t: int, line: Channel) -> None:
        for node, size in self.sizes.items():
            line.send(2 * t, node, -1, "noise", size[None])

    def train(self, rows: Sequence[Array], network: Network, own: Sequence[Rng], line: Channel) -> Array:
        self.sizes: dict[int, Array] = {}
        return super().train(rows, network, own, line)


TWINS = [
    Twins("one draw for all coordinates", lambda: OneForAllCoordinates(SCALE), lambda: Regression(SCALE), ROW),
    Twins("one draw for all clients", lambda: OneForAllClients(SCALE), lambda: Updates(SCALE), NODE, Eavesdropper()),
    Twins("one draw for all rounds", lambda: OneForAllRounds(SCALE), lambda: Updates(SCALE), NODE),
    Twins("a seed that is the round", lambda: SeedIsTheRound(SCALE), lambda: Updates(SCALE), NODE),
    Twins("a seed that the configuration holds", lambda: SeedOfTheConfiguration(SCALE), lambda: Updates(SCALE), NODE),
    Twins("a generator that is copied each round", lambda: CopiedEachRound(SCALE), lambda: Updates(SCALE), NODE),
    Twins("a seed that a neighbour sends", lambda: SeedFromANeighbour(SCALE), lambda: SeedOfItsOwn(SCALE), NODE,
          HonestButCurious([1])),
    Twins("noise that is reported", lambda: NoiseTakenOff(SCALE), lambda: Updates(SCALE), NODE),
]  # fmt: skip
