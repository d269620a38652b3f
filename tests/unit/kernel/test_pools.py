"""Pools of threads: what their tasks compute is numbered in the order in which they were handed over."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from unit.kernel.seeded import INPUTS, NETWORK, UNIT

from secmix.adversaries import HonestButCurious
from secmix.kernel import KnownSums, clear, prove
from secmix.kernel.tracing import trace as tracing
from secmix.network import Network
from secmix.transcript import Channel


class Shares:
    """Each node splits its words into a share for each node; a pool of threads does it."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Any:
        return rng.integers(0, 2**64, size=(runs, network.n * (network.n - 1), m), dtype=np.uint64)

    def before(self) -> None:
        """Do nothing before a share."""

    def share(self, vector: Any, coins: Any) -> Any:
        self.before()
        words = np.rint(vector * UNIT).astype(np.int64).astype(np.uint64)
        return np.concatenate([coins, (words - coins.sum(axis=0, dtype=np.uint64))[None]])

    def average(
        self, inputs: Any, network: Network, rng: Any, *, masks: Any = None, channel: Channel | None = None
    ) -> tuple[Any, Any]:
        rows, channel, n = np.asarray(inputs, dtype=float).transpose(1, 0, 2), channel or Channel(), network.n
        masks = self.draw_masks(rows.shape[1], rows.shape[2], network, rng) if masks is None else masks
        coins = masks.transpose(1, 0, 2).reshape(n, n - 1, *rows.shape[1:])
        for node in range(n):
            channel.hold(-1, np.full(n - 1, node), "coin", coins[node])
        with ThreadPoolExecutor(n) as pool:
            shares = list(pool.map(self.share, rows, coins))
        received = [shares[node][node] for node in range(n)]
        for node in range(n):
            others = [other for other in range(n) if other != node]
            arrived = channel.send(0, node, others, "share", shares[node][others], encrypted=True)
            for other, share in zip(others, arrived, strict=True):
                received[other] = received[other] + share
        parts = np.stack(received)
        ends = np.empty(rows.shape)
        for node in range(n):
            others = [other for other in range(n) if other != node]
            arrived = channel.send(1, others, node, "part", parts[others])
            ends[node] = (parts[node] + arrived.sum(axis=0, dtype=np.uint64)).astype(np.int64) / UNIT
        return (ends / n).transpose(1, 0, 2), channel.transcript


class Together(Shares):
    """No share is begun before all are."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(NETWORK.n)

    def before(self) -> None:
        self.barrier.wait(timeout=60)

    def __deepcopy__(self, memo: Any) -> Together:
        return Together()


@pytest.mark.build
def test_what_a_pool_computes_is_proved_each_time() -> None:
    for _ in range(6):
        found = clear(prove(Shares(), NETWORK, INPUTS, in_other_calls=False), NETWORK, HonestButCurious({1, 2}))
        assert isinstance(found, KnownSums), found
        assert found.sums == (frozenset({0, 3}),)


def test_tasks_that_wait_for_each_other_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_TURN", 0.01)
    assert tracing.follow(Together(), NETWORK, [INPUTS[0]]).messages
