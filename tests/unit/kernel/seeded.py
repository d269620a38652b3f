"""A right protocol in which pairs agree on seeds, and expand them as a test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from secmix.network import Network
from secmix.transcript import SERVER, Channel

NETWORK = Network.complete(4)
INPUTS = np.random.default_rng(0).normal(size=(3, 1, 4, 3))
UNIT = 2.0**20


class Seeded:
    """Each edge agrees on a seed of four words; both ends expand it, one adds and the other subtracts."""

    expand: Callable[[Any, int, Any], Any]
    words = 4

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, 2**64, size=(runs, len(network.edges), self.words), dtype=np.uint64)

    def average(
        self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Channel | None = None
    ) -> tuple[Any, Any]:
        channel = channel or Channel()
        rows = np.asarray(inputs, dtype=float)
        runs, n, m = rows.shape
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        seeds = self.agree(masks, network, channel)
        words = np.rint(rows * UNIT).astype(np.int64).astype(np.uint64)
        for run in range(runs):
            for edge, (i, j) in enumerate(network.edges.tolist()):
                mask = type(self).expand(seeds[edge][run], m, channel)
                words[run, i] += mask
                words[run, j] -= mask
        received = channel.send(0, np.arange(n), SERVER, "masked", words.transpose(1, 0, 2))
        mean = received.sum(axis=0, dtype=np.uint64).view(np.int64) / UNIT / n
        told = channel.send(1, SERVER, np.arange(n), "average", mean[None], content=np.zeros(n, int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        first, second = network.edges.T
        channel.hold(-1, first, "seed", masks.transpose(1, 0, 2))
        return channel.send(-1, first, second, "seed", masks.transpose(1, 0, 2), encrypted=True)
