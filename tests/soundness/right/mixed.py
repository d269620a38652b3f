"""Masks that are linear images of independent draws: made to cancel, mixed, summed, of several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Base, Modular, Pairwise
from ..case import Case
from .published import BONAWITZ, PERFECT, right


class ZeroSum(Base):
    """Every node has one mask, and all of them add up to zero: their mean is taken off."""

    def count(self, network: Any) -> int:
        """One a node."""
        return int(network.n)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return masks - masks.mean(axis=1, keepdims=True)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "mask", r)
        received = channel.send(0, nodes, SERVER, "masked", self.sent(s + r, s, r, rng))
        back = np.zeros(network.n, dtype=int)
        return channel.send(9, SERVER, nodes, "average", received.mean(axis=0)[None], content=back)[0]


class LastOfAll(ZeroSum):
    """The last mask is what the others lack."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = rng.normal(scale=self.sigma, size=(runs, network.n - 1, m))
        return np.concatenate([masks, -masks.sum(axis=1, keepdims=True)], axis=1)


class Differences(ZeroSum):
    """Each mask is a node's draw less that of the node before."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        draws = self.sigma * rng.standard_normal((runs, network.n, m))
        return draws - np.roll(draws, 1, axis=1)


class Antisymmetric(ZeroSum):
    """What two nodes agree on is one draw less another, in a table of all pairs, which each node adds up."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        table = np.stack([rng.normal(0, self.sigma, (runs, network.n, m)) for _ in range(network.n)], axis=1)
        return (table - table.swapaxes(1, 2)).sum(axis=2)


class UniformLessMean(ZeroSum):
    """The same of uniform draws."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = rng.uniform(-self.sigma, self.sigma, (runs, network.n, m))
        return masks - masks.mean(axis=1, keepdims=True)


class LaplaceLast(ZeroSum):
    """The same of double exponential ones."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = rng.laplace(0, self.sigma, (runs, network.n - 1, m))
        return np.concatenate([masks, -masks.sum(axis=1, keepdims=True)], axis=1)


class ModularZeroSum(Modular):
    """Residues that add up to zero, one a node; their mean is told as a number."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        words = rng.integers(0, self.words_in_all, size=(runs, network.n - 1, m))
        return np.concatenate([words, np.mod(-words.sum(axis=1, keepdims=True), self.words_in_all)], axis=1) * self.grid

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        nodes, fixed, r = np.arange(network.n), self.words(s), self.words(r)
        channel.hold(-1, nodes, "mask", self.numbers(r))
        received = channel.send(0, nodes, SERVER, "masked", self.numbers(self.masked(fixed, r)))
        total = self.numbers(self.words(received).sum(axis=0))
        mean = np.where(total >= self.modulus / 2, total - self.modulus, total) / network.n
        return channel.send(9, SERVER, nodes, "average", mean[None], content=np.zeros(network.n, dtype=int))[0]

    def masked(self, fixed: Array, r: Array) -> Array:
        """Words as they are hidden."""
        return fixed + r


class Table(Pairwise):
    """A table of all pairs in both directions, one the other's negative, as masks."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        n = network.n
        table = np.zeros((runs, n, n, m))
        for i in range(n):
            for j in range(i + 1, n):
                table[:, i, j] = rng.normal(0, self.sigma, (runs, m))
                table[:, j, i] = -table[:, i, j]
        return table.reshape(runs, n * n, m)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n = network.n
        table = r.reshape(n, n, *r.shape[1:])
        first, second = np.triu_indices(n, 1)
        channel.hold(-1, first, "mask", table[first, second])
        channel.send(-1, first, second, "mask", table[first, second], encrypted=True)
        received = self.upload(channel, self.sent(s + table.sum(axis=1), s, r, rng), s, rng)
        return self.publish(channel, received.sum(axis=0) / n, s)


class RandomWalk(Pairwise):
    """Each mask is the one before and a draw."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return super().draw_masks(runs, m, network, rng).cumsum(axis=1)


class Turned(Pairwise):
    """Masks are turned by a public rotation."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        turn = np.linalg.qr(np.random.default_rng(1).normal(size=(masks.shape[1],) * 2))[0]
        return np.einsum("ij,rjm->rim", turn, masks)


class Correlated(Pairwise):
    """Masks that are drawn jointly."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        k = self.count(network)
        square = self.sigma**2 * (np.eye(k) + 0.2)
        return rng.multivariate_normal(np.zeros(k), square, size=(runs, m)).transpose(0, 2, 1)


class OfSeveralSizes(Pairwise):
    """Each line has masks of a size of its own."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        k = self.count(network)
        return rng.normal(0, self.sigma * np.linspace(1, 2, k)[:, None], (runs, k, m))


class Shifted(Pairwise):
    """Masks about three."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rng.normal(3.0, self.sigma, (runs, self.count(network), m))


OUT = Eavesdropper()
MIXED: dict[str, Any] = {"family": "mixed masks"}
ZERO = "draws less their mean are independent of it, and hide all but what they cancel in, the sum"
CASES: list[Case] = [
    right("less their mean", ZeroSum, OUT, ZERO, **MIXED),
    right("less their mean, server", ZeroSum, CuriousServer(), ZERO, **MIXED),
    right("less their mean, insider", ZeroSum, HonestButCurious({2}), ZERO, **MIXED),
    right("last is what others lack", LastOfAll, CuriousServer(), ZERO, **MIXED),
    right("differences round a ring", Differences, OUT, ZERO, **MIXED),
    right("antisymmetric sums", Antisymmetric, CuriousServer(), ZERO, **MIXED),
    right("uniform less their mean", UniformLessMean, CuriousServer(), "moved by d, it differs by d/w", **MIXED),
    right("double exponential, last lacks", LaplaceLast, OUT, "moved by d, it differs by d/2 scales", **MIXED),
    right("residues that add up to zero", lambda: ModularZeroSum(), CuriousServer(), PERFECT, **MIXED),
    right("table of pairs", Table, OUT, BONAWITZ, **MIXED),
    right("table of pairs, insider", Table, HonestButCurious({1}), BONAWITZ, **MIXED),
    right("random walk", RandomWalk, OUT, "a walk tells its steps, and they are independent", **MIXED),
    right("turned", Turned, CuriousServer(), "a rotation of independent Gaussians is such", **MIXED),
    right("drawn jointly", Correlated, OUT, "their smallest direction is as large as each", **MIXED),
    right("sizes of lines", OfSeveralSizes, OUT, BONAWITZ, **MIXED),
    right("about three", Shifted, OUT, "what is public can be taken off", **MIXED),
]  # fmt: skip
