"""The collaborations that wrong ones are made of, with a place to go wrong, and what attacks look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...case import Heard, each

NAME = "collaborations"
OUT, SERVED = Eavesdropper(), CuriousServer()
THREE = HonestButCurious({3}, eavesdrops=False)


class Medians:
    """Every node sends its mean to the server, encrypted, which sends the median back."""

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
        """What each node ends with, (runs, n, d)."""
        means = np.stack([part.mean(axis=1) for part in parts])
        received = channel.send(0, np.arange(len(means)), SERVER, "mean", means, encrypted=True)
        middle, back = np.median(received, axis=0)[None], np.zeros(network.n, dtype=int)
        ends = channel.send(9, SERVER, np.arange(network.n), "median", middle, encrypted=True, content=back)[0]
        self.after(parts, channel, means, rng, network)
        return np.repeat(ends[:, None], network.n, axis=1)

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        """A place to go wrong."""

    def tell(self, channel: Any, means: Array, openly: bool) -> None:
        """One line more, with the mean of node 0."""
        channel.send(10, 0, SERVER, "step", means[0], encrypted=not openly)

    def error(self, results: Array, reference: Array) -> Array:
        """Largest difference."""
        return np.abs(results - reference).max(axis=(1, 2))


class Aside(Medians):
    """Nodes 1 and 2 send their means to node 0, encrypted, which alone ends with anything: 3 and 4 take no part."""

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
        """What each node ends with, (runs, n, d)."""
        means = np.stack([part.mean(axis=1) for part in parts])
        received = channel.send(0, np.array([1, 2]), np.array([0, 0]), "mean", means[1:3], encrypted=True)
        ends = np.zeros((means.shape[1], network.n, means.shape[2]))
        ends[:, 0] = received.mean(axis=0)
        self.after(parts, channel, means, rng, network)
        return self.result(ends, means, rng)

    def result(self, ends: Array, means: Array, rng: Any) -> Any:
        """Another place."""
        return ends


def negative(means: Array) -> bool:
    """Whether the mean of node 0 is, in the first column of the first run."""
    return bool(means[0, 0, 0] < 0)


def said(heard: Heard, kind: str = "step") -> Array:
    """What the line of a kind says, where it is open."""
    line = next((m for m in heard.messages if m.kind == kind and m.numbers is not None), None)
    return np.full(2, np.nan) if line is None else np.asarray(line.numbers)[0]


by_the_step = each(said)
