"""Right protocols of the textbook, written as others write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER, Channel, Transcript

from ..bases import Pairwise, Ring
from ..case import Case
from ..honest.together.collaborations import Means
from .published import BONAWITZ, CLIFTON, SHAMIR, right


class LeaderByLot(Ring):
    """A public lot says who begins."""

    def order(self, network: Any, rng: Any) -> list[int]:
        first = int(rng.choice(network.n))
        return [(first + step) % network.n for step in range(network.n)]


class LeaderByWeights(Ring):
    """Some begin more often than others."""

    def order(self, network: Any, rng: Any) -> list[int]:
        first = int(rng.choice([0, 1, 3], p=[0.5, 0.25, 0.25]))
        return [(first + step) % network.n for step in range(network.n)]


@dataclass
class RealShares:
    """Shamir's shares over real numbers: a polynomial of degree two for each node, summed point by point."""

    scale: float = 1e6

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        """The coefficients of degree one and two."""
        return rng.normal(0, self.scale, (runs, 2 * network.n, m))

    def average(
        self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None
    ) -> tuple[Array, Transcript]:
        """Shares, sums of shares, interpolation at zero from three points."""
        x, channel, n = np.asarray(inputs, float).transpose(1, 0, 2), channel or Channel(), network.n
        if masks is None:
            masks = self.draw_masks(x.shape[1], x.shape[2], network, rng)
        linear, square = masks.transpose(1, 0, 2)[:n], masks.transpose(1, 0, 2)[n:]
        nodes = np.arange(n)
        for kind, what in (("input", x), ("linear", linear), ("square", square)):
            channel.hold(-1, nodes, kind, what)
        sums = []
        for point in range(1, n + 1):
            share = x + point * linear + point**2 * square
            received = channel.send(0, nodes, [point - 1] * n, "share", share, encrypted=True)
            sums.append(received.sum(axis=0))
        for node, own in enumerate(sums):
            channel.send(1, [node] * n, nodes, "sum", own[None], content=[0] * n, encrypted=True)
        mean = (3 * sums[0] - 3 * sums[1] + sums[2]) / n
        return np.repeat(mean[:, None], n, axis=1), channel.transcript


@dataclass
class Tree:
    """Every node agrees on a key with the root, and sums go up a tree (Bonawitz et al. 2017, with one aggregator)."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        """A key a node, drawn one after the other."""
        return np.stack([rng.normal(scale=1e6, size=(runs, m)) for _ in range(network.n - 1)], axis=1)

    def average(
        self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None
    ) -> tuple[Array, Transcript]:
        """Up with the keys on, down in the clear."""
        x, channel, n = np.asarray(inputs, float).transpose(1, 0, 2), channel or Channel(), network.n
        if masks is None:
            masks = self.draw_masks(x.shape[1], x.shape[2], network, rng)
        key, others = masks.transpose(1, 0, 2), np.arange(1, n)
        channel.hold(-1, np.arange(n), "input", x)
        channel.hold(-1, others, "key", key)
        keys = channel.send(-1, others, [0] * (n - 1), "key", key, encrypted=True)
        up = [x[0], *(x[1:] + key)]
        for node in range(n - 1, 0, -1):
            parent = (node - 1) // 2
            up[parent] = up[parent] + channel.send(n - node, node, parent, "up", up[node])
        have = {0: (up[0] - keys.sum(axis=0)) / n}
        for node in range(1, n):
            have[node] = channel.send(n + node, (node - 1) // 2, node, "down", have[(node - 1) // 2])
        return np.stack([have[node] for node in range(n)], axis=1), channel.transcript


class Constants(Means):
    """Tells everybody a setting."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        channel.send(8, SERVER, 0, "rate", np.full((means.shape[1], 2), 0.1))


class PublicStart(Means):
    """Tells everybody where to start, which is drawn by lot."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        channel.send(8, SERVER, 0, "start", rng.normal(size=(means.shape[1], 3)))


class Uniform(Pairwise):
    """Masks of a wide interval."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rng.uniform(-self.sigma, self.sigma, size=(runs, self.count(network), m))


class Centred(Pairwise):
    """The same in another way."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return 2 * self.sigma * (rng.random((runs, self.count(network), m)) - 0.5)


class Laplace(Pairwise):
    """Masks of another distribution."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rng.laplace(0, self.sigma, (runs, self.count(network), m))


class Student(Pairwise):
    """Masks of a distribution with long tails."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.sigma * rng.standard_t(4, (runs, self.count(network), m))


class Cauchy(Pairwise):
    """Masks of one that has no spread."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.sigma * rng.standard_cauchy((runs, self.count(network), m))


class Mapped(Pairwise):
    """Each upload is a mapping: the update, how many rows, from whom."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        updates = [{"update": each, "rows": 20, "from": f"node {i}"} for i, each in enumerate(hidden)]
        return np.stack([channel.send(0, i, SERVER, "masked", each)["update"] for i, each in enumerate(updates)])


class Complex(Pairwise):
    """Numbers are complex."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        return super().upload(channel, hidden.astype(complex), s, rng).real


class Session(Pairwise):
    """The server says which session this is."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(-1, SERVER, 0, "session", np.full((s.shape[1], 1), float(rng.integers(2**50))))


OUT = Eavesdropper()
STYLE: dict[str, Any] = {"family": "styles"}
CASES: list[Case] = [
    right("first by lot", LeaderByLot, HonestButCurious({2}, eavesdrops=False), CLIFTON, **STYLE),
    right("first by weighted lot", LeaderByWeights, HonestButCurious({2}, eavesdrops=False), CLIFTON, **STYLE),
    right("shares of real numbers", RealShares, HonestButCurious({0, 4}, eavesdrops=False), SHAMIR, **STYLE),
    right("up a tree", Tree, OUT, BONAWITZ, **STYLE),
    right("up a tree, inner node", Tree, HonestButCurious({1}, eavesdrops=False), BONAWITZ, **STYLE),
    right("a constant in the clear", Constants, OUT, "what is the same for all rows tells nothing of them", **STYLE),
    right("a start in the clear", PublicStart, OUT, "a lot is independent of the rows",
          **STYLE),
    right("uniform masks", Uniform, OUT, "moved by d, a uniform density of width w differs by d/w", **STYLE),
    right("uniform masks, centred", Centred, CuriousServer(), "likewise", **STYLE),
    right("double exponential masks", Laplace, OUT, "moved by d, its density differs by d/2 scales at most", **STYLE),
    right("Student's masks", Student, OUT, "moved by d, its density differs by 0.4 d/scale at most", **STYLE),
    right("Cauchy masks", Cauchy, CuriousServer(), "moved by d, its density differs by d/π scales at most", **STYLE),
    right("a mapping", Mapped, OUT, "a mapping of a masked number and of constants is those", **STYLE),
    right("complex numbers", Complex, CuriousServer(), "a complex number is two, and the second is zero", **STYLE),
    right("a session number", Session, OUT, "what is drawn in public tells nothing", **STYLE),
]  # fmt: skip
