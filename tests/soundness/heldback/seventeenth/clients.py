"""Clients and servers as classes, messages as dataclasses, coroutines, logs, stages in dictionaries."""

from __future__ import annotations

import hashlib
import logging
import struct
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import reduce
from typing import Any

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import tell_all

logger = logging.getLogger(__name__)

Words = np.ndarray


@dataclass
class MaskedUpdate:
    """Carry what a client uploads."""

    payload: Words
    num_examples: int


@dataclass
class Client:
    """Keep a client's vector and the keys that it shares with peers."""

    cid: int
    vector: np.ndarray
    keys: dict[int, Words] = field(default_factory=dict)

    def mask_for(self, peer: int, round_number: int) -> Words:
        """Expand the key of a peer for this round, run by run."""
        runs, size = self.vector.shape
        label = struct.pack(">Q", round_number)
        seeds = (hashlib.sha256(self.keys[peer][run].tobytes() + label).digest() for run in range(runs))
        rngs = (np.random.default_rng(np.frombuffer(seed, dtype=np.uint64)) for seed in seeds)
        return np.stack([rng.integers(0, 2**64, size=size, dtype=np.uint64) for rng in rngs])

    def upload(self, round_number: int) -> MaskedUpdate:
        """Mask the vector."""
        y = np.rint(self.vector * 2**24).astype(np.int64).astype(np.uint64)
        for peer in sorted(self.keys):
            mask = self.mask_for(peer, round_number)
            y = y + mask if self.cid < peer else y - mask
        return MaskedUpdate(payload=y, num_examples=20)


class Server:
    """Add up what clients send."""

    def __init__(self) -> None:
        self.updates: list[MaskedUpdate] = []

    def receive(self, update: MaskedUpdate) -> None:
        """Keep an update."""
        self.updates.append(update)

    def aggregate(self) -> np.ndarray:
        """Average all updates."""
        total = reduce(np.add, (update.payload for update in self.updates))
        return total.astype(np.int64) / 2**24 / len(self.updates)


class RClientsAndServer:
    """Model clients and server as classes that talk by dataclasses, with keys for the whole training hashed by round:
    right, a dataclass carries masked words and a public count."""

    audited = {"n": 5, "a": "server"}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        inputs = np.asarray(inputs, dtype=np.float64)
        runs, n, m = inputs.shape
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        clients = [Client(cid, inputs[:, cid]) for cid in range(n)]
        for e, (u, v) in enumerate(network.edges.tolist()):
            channel.hold(-1, u, "key", keys[:, e])
            clients[u].keys[v] = keys[:, e]
            clients[v].keys[u] = channel.send(-1, u, v, "key", keys[:, e], encrypted=True)
        server = Server()
        for client in clients:
            channel.hold(-1, client.cid, "input", client.vector)
            server.receive(channel.send(0, client.cid, SERVER, "update", client.upload(channel.iteration)))
        return tell_all(channel, n, server.aggregate())


def participant(me: int, x: np.ndarray, peers: Iterable[int]) -> Generator[Any, Any, None]:
    """Run one node: take masks to add and to subtract, give the masked word, take the mean."""
    word = np.round(x * 65536).astype(np.int64).astype(np.uint32)
    for _ in peers:
        sign, mask = yield None
        word = word + mask if sign > 0 else word - mask
    mean = yield word
    yield mean


class RCoroutines:
    """Run nodes as generators that are sent masks and yield a word: right, pairwise words of 32 bits all the same."""

    audited = {"n": 4, "a": "server+0"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**32, size=(runs, len(network.edges), m), dtype=np.uint32)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        nodes, words = {}, {}
        for me in range(n):
            channel.hold(-1, me, "input", x[:, me])
            nodes[me] = participant(me, x[:, me], [peer for peer in range(n) if peer != me])
            next(nodes[me])
        for e, (u, v) in enumerate(network.edges.tolist()):
            channel.hold(-1, u, "mask", masks[:, e])
            words[u] = nodes[u].send((+1, masks[:, e]))
            words[v] = nodes[v].send((-1, channel.send(-1, u, v, "mask", masks[:, e], encrypted=True)))
        total = np.zeros((runs, m), dtype=np.uint32)
        for me in range(n):
            total += channel.send(0, me, SERVER, "word", words[me])
        mean = total.view(np.int32) / 65536 / n
        told = channel.send(1, SERVER, list(nodes), "mean", mean[None], content=[0] * n)
        ended = [node.send(told[0]) for node in nodes.values()]
        return np.stack(ended, axis=1), channel.transcript


class Stage(Enum):
    """Name the stages of a protocol as Flower does."""

    SETUP = "setup"
    SHARE_KEYS = "share keys"
    COLLECT = "collect masked vectors"
    UNMASK = "unmask"


class RStages:
    """Go through stages with a dictionary of state, pair seeds on a ring of neighbours and a self mask that is told
    once vectors are in, and log sizes: right, the told self masks leave pair masks on every vector."""

    audited = {"n": 5, "a": "server"}
    mod_range = 1 << 32

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 1 << 64, size=(runs, 2 * network.n, 4), dtype=np.uint64)

    def _pseudo_rand(self, seeds, size):
        return np.stack(
            [np.random.default_rng(seed).integers(0, self.mod_range, size, dtype=np.uint32) for seed in seeds]
        )

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        inputs = np.asarray(inputs, dtype=float)
        runs, n, m = inputs.shape
        channel = channel or Channel()
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        states: list[dict[str, Any]] = [{"nid": nid, "vector": inputs[:, nid]} for nid in range(n)]

        logger.debug("stage %s: %d nodes, %d entries", Stage.SETUP.value, n, m)
        for state in states:
            nid = state["nid"]
            state["rd_seed"], state["right_seed"] = drawn[:, nid], drawn[:, n + nid]
            channel.hold(-1, nid, "input", state["vector"])
            channel.hold(-1, nid, "rd seed", state["rd_seed"])
            channel.hold(-1, nid, "pair seed", state["right_seed"])

        logger.debug("stage %s", Stage.SHARE_KEYS.value)
        for state in states:
            right = (state["nid"] + 1) % n
            seed = channel.send(-1, state["nid"], right, "pair seed", state["right_seed"], encrypted=True)
            states[right]["left_seed"] = seed

        logger.debug("stage %s", Stage.COLLECT.value)
        collected = np.zeros((runs, m), dtype=np.uint32)
        for state in states:
            quantized = np.floor(np.clip(state["vector"], -1000, 1000) * 2**16 + 0.5).astype(np.int64)
            ring = (quantized % self.mod_range).astype(np.uint32)
            ring = ring + self._pseudo_rand(state["rd_seed"], m)
            ring = ring + self._pseudo_rand(state["right_seed"], m) - self._pseudo_rand(state["left_seed"], m)
            collected = collected + channel.send(0, state["nid"], SERVER, "masked vector", ring)

        logger.debug("stage %s", Stage.UNMASK.value)
        for state in states:
            told = channel.send(1, state["nid"], SERVER, "rd seed", state["rd_seed"])
            collected = collected - self._pseudo_rand(told, m)
        return tell_all(channel, n, collected.astype(np.int32) / 2**16 / n)
