"""Right protocols as engineers write them from the tutorial alone: keys, topologies and programs."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import itertools
import logging
import operator
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER, Channel

from ..bases import Pairwise, Words
from .expanded import Seeded
from .published import BONAWITZ, PERFECT, SHAMIR, right

LOG = logging.getLogger(__name__)


# Keys.


class HkdfThenAes(Seeded):
    """Derives a key for each pair and round by HKDF, and expands it by AES in counter mode."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        info = b"mask" + bytes(pair) + channel.iteration.to_bytes(8, "big")
        key = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info).derive(seed.tobytes())
        cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        return np.frombuffer(cipher.update(bytes(8 * m)) + cipher.finalize(), dtype=np.uint64)


class HkdfThenChaCha(Seeded):
    """Derives a key by HKDF, and expands it by ChaCha20."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        key = HKDF(hashes.SHA256(), 32, b"federated", b"%d-%d" % pair).derive(seed.tobytes())
        stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor().update(b"\x00" * (8 * m))
        return np.frombuffer(stream, dtype="<u8")


class ChainOfKeys(Seeded):
    """Weights have the first key of a hash chain, biases the next."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        key, masks = hashlib.sha256(seed.tobytes()).digest(), []
        for size in (m // 2, m - m // 2):
            masks.append(np.frombuffer(hashlib.shake_256(b"mask" + key).digest(8 * size), dtype=np.uint64))
            key = hashlib.sha256(b"next" + key).digest()
        return np.concatenate(masks)


@dataclass(frozen=True)
class Ratchet(Seeded):
    """Keeps each pair's key, and replaces it by its hash after every round."""

    keys: dict[Any, Any] = field(default_factory=dict)

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        key = self.keys.get(pair) or seed.tobytes()
        self.keys[pair] = hashlib.sha256(b"next" + key).digest()
        return np.frombuffer(hashlib.shake_256(b"mask" + key).digest(8 * m), dtype=np.uint64)


class Exchanged(Seeded):
    """Agrees on keys by X25519: public keys go over plain lines, each end computes the common secret."""

    width = 4

    def count(self, network: Any) -> int:
        return int(network.n)

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        channel.hold(-1, np.arange(len(r)), "private key", r)
        private = [[X25519PrivateKey.from_private_bytes(key.tobytes()) for key in of_node] for of_node in r]
        public = [[np.frombuffer(key.public_key().public_bytes_raw(), np.uint64) for key in of] for of in private]
        told = channel.send(-1, np.arange(len(r)), SERVER, "public key", np.array(public))
        raw = [[a.exchange(b.public_key()) for a, b in zip(private[i], private[j], strict=True)] for i, j in pairs]
        assert told.shape == r.shape
        return np.array([[np.frombuffer(secret, np.uint64) for secret in of_pair] for of_pair in raw])


class FromSecrets(Words):
    """Draws masks from the system's generator."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        drawn = [secrets.token_bytes(8 * m) for _ in range(runs * self.count(network))]
        return np.array([np.frombuffer(block, dtype=np.uint64) for block in drawn]).reshape(runs, -1, m)


class CutFromOneBlock(Seeded):
    """Asks the system for one block of bytes, and cuts a seed for each pair out of it."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        count = runs * self.count(network)
        block = os.urandom(32 * count)
        return np.array([np.frombuffer(block[32 * k : 32 * k + 32], np.uint64) for k in range(count)]).reshape(
            runs, -1, 4
        )

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(8 * m), np.uint64)


class TwoKeysOfOneDigest(Seeded):
    """Derives 64 bytes of a seed: the first half is the key of the weights, the second that of the biases."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        derived = hashlib.shake_256(seed.tobytes()).digest(64)
        halves = (derived[:32], m // 2), (derived[32:], m - m // 2)
        return np.concatenate([np.frombuffer(hashlib.shake_256(key).digest(8 * k), np.uint64) for key, k in halves])


class SelfAndPairs(Seeded):
    """Masks by a seed for each pair and by one of each node's own, which survivors tell (SecAgg)."""

    def count(self, network: Any) -> int:
        return len(network.edges) + int(network.n)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        pairs, nodes, m = self.pairs(network), np.arange(network.n), s.shape[2]
        shared, own = self.agreed(channel, r[: len(pairs)], pairs), r[len(pairs) :]
        channel.hold(-1, nodes, "own seed", own)
        hidden, expand = self.encode(s), functools.partial(self.mask, channel, m=m)
        for node, run in itertools.product(nodes, range(s.shape[1])):
            hidden[node, run] += expand(own[node, run], (node, node))
            for edge, (i, j) in enumerate(pairs):
                if node in (i, j):
                    sign = operator.iadd if node == i else operator.isub
                    hidden[node, run] = sign(hidden[node, run], expand(shared[edge, run], (i, j)))
        total = self.total(self.deliver(channel, hidden))
        for node, seeds in enumerate(channel.send(1, nodes, SERVER, "own seed", own)):
            total = total - np.stack([expand(seed, (node, node)) for seed in seeds])
        return self.publish(channel, self.decode(total) / network.n, network.n)


# Topologies on masked words.


class Topology(Words):
    """Masks words pairwise, and then lets nodes add them up among themselves on plain lines."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        first, second = self.pairs(network).T
        channel.hold(-1, first, "mask", r)
        agreed = channel.send(-1, first, second, "mask", r, encrypted=True)
        hidden = self.encode(s)
        with np.errstate(over="ignore"):
            np.add.at(hidden, first, r)
            np.add.at(hidden, second, -agreed)
        return self.decode(self.all_reduce(channel, list(hidden))) / network.n

    def all_reduce(self, channel: Any, x: list[Array]) -> Array:
        """The sum, as node 0 ends with it."""
        raise NotImplementedError


class RingAllReduce(Topology):
    """Scatters sums of chunks round a ring, then gathers them (Patarasuk and Yuan 2009)."""

    def all_reduce(self, channel: Any, x: list[Array]) -> Array:
        n = len(x)
        chunks = [np.array_split(vector, n, axis=-1) for vector in x]
        for step, node in itertools.product(range(2 * n - 2), range(n)):
            at, after = (node - step) % n, (node + 1) % n
            got = channel.send(step, node, after, "chunk", chunks[node][at][None])[0]
            chunks[after][at] = chunks[after][at] + got if step < n - 1 else got
        return np.concatenate(chunks[0], axis=-1)


class Heap(Topology):
    """Adds up a binary tree: node i hands its sum to node (i - 1) // 2."""

    def all_reduce(self, channel: Any, x: list[Array]) -> Array:
        for node in reversed(range(1, len(x))):
            parent = (node - 1) // 2
            x[parent] = x[parent] + channel.send(len(x) - node, node, parent, "partial sum", x[node][None])[0]
        for node in range(1, len(x)):
            x[node] = channel.send(len(x) + node, (node - 1) // 2, node, "sum", x[(node - 1) // 2][None])[0]
        return x[0]


class Hypercube(Topology):
    """Doubles recursively among four nodes, after the fifth has handed its words to the first."""

    def all_reduce(self, channel: Any, x: list[Array]) -> Array:
        x[0] = x[0] + channel.send(0, 4, 0, "folded", x[4][None])[0]
        for bit in (1, 2):
            got = [channel.send(bit, node, node ^ bit, "partial sum", x[node][None])[0] for node in range(4)]
            x[:4] = [x[node] + got[node ^ bit] for node in range(4)]
        channel.send(3, 0, 4, "sum", x[0][None])
        return x[0]


class PushSum(Pairwise):
    """Pushes halves of masked numbers and of weights to the next node (Kempe, Dobra and Gehrke 2003)."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n, x, weight = network.n, self.hidden(channel, s, r, network), np.ones((network.n, 1, 1))
        for step in range(60):
            after = (np.arange(n) + 2 ** (step % 2)) % n
            kept, weight = x / 2, weight / 2
            got = channel.send(step, np.arange(n), after, "half", kept)
            x, weight = kept + got[np.argsort(after)], weight + weight[np.argsort(after)]
        return (x / weight)[0]


# Programs.


class Clients(Words):
    """Objects for clients and a server, which talk by coroutines."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        edges = self.pairs(network).tolist()
        channel.hold(-1, [i for i, _ in edges], "mask", r)
        agreed = channel.send(-1, [i for i, _ in edges], [j for _, j in edges], "mask", r, encrypted=True)
        words = self.encode(s)

        async def client(node: int) -> Array:
            pads = [r[e] if node == i else -agreed[e] for e, (i, j) in enumerate(edges) if node in (i, j)]
            await asyncio.sleep(0)
            hidden = functools.reduce(operator.add, pads, words[node])
            return np.asarray(channel.send(0, node, SERVER, "masked", hidden[None]))

        totals: list[Array] = []

        async def server() -> None:
            totals.append(sum(await asyncio.gather(*(client(node) for node in range(network.n))))[0])

        asyncio.run(server())  # what a main coroutine returns, asyncio makes text of
        return self.publish(channel, self.decode(totals[0]) / network.n, network.n)


class Timed(Words):
    """Writes how long each phase took into the log."""

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what is done within."""
        begin = time.perf_counter()
        yield
        LOG.info("%s took %.3f s", name, time.perf_counter() - begin)

    def deliver(self, channel: Any, hidden: Array) -> Array:
        with self.phase("upload"):
            return super().deliver(channel, hidden)


class Validated(Words):
    """Checks what it is given, entry by entry of a list of rules."""

    def encode(self, s: Array) -> Array:
        if s.ndim != 3 or s.dtype != np.float64:
            raise TypeError("expected doubles (n, runs, m)")
        if np.isnan(s).any() or np.isinf(s).any():
            raise ValueError("not finite")
        assert np.all(np.abs(s) < 2.0**40 / self.unit * 2**20), "would overflow"
        return super().encode(s)


class ObjectsModuloPrime:
    """Python's whole numbers in arrays, modulo a prime: shares of degree two, their sums, Lagrange at zero."""

    PRIME, UNIT = 2**61 - 1, 2**20

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, self.PRIME, size=(runs, 2 * network.n, m)))

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        channel, n, p = channel or Channel(), network.n, self.PRIME
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        r = self.draw_masks(s.shape[1], s.shape[2], network, rng) if masks is None else masks
        first, second = np.split(np.asarray(r).transpose(1, 0, 2).astype(object), 2)
        secret = np.rint(np.clip(s, -1000, 1000) * self.UNIT).astype(np.int64).astype(object) % p
        for kind, held in (("input", s), ("first", first.astype(np.int64)), ("second", second.astype(np.int64))):
            channel.hold(-1, np.arange(n), kind, held)
        opened = []
        for x in range(1, n + 1):
            share = ((secret + x * first + x * x * second) % p).astype(np.int64)
            got = channel.send(0, np.arange(n), np.full(n, x - 1), "share", share, encrypted=True)
            total = (got.astype(object).sum(axis=0) % p).astype(np.int64)
            opened.append(channel.send(1, x - 1, SERVER, "sum of shares", total[None])[0])
        a, b, c = (each.astype(object) for each in opened[:3])
        total = (3 * a - 3 * b + c) % p
        mean = np.where(total > p // 2, total - p, total).astype(np.int64) / self.UNIT / n
        back = channel.send(2, SERVER, np.arange(n), "average", mean[None], content=np.zeros(n, dtype=int))[0]
        return np.repeat(back[:, None], n, axis=1), channel.transcript


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
SYSTEMS: dict[str, Any] = {"family": "practice"}
CASES = [
    right("HKDF, then AES", HkdfThenAes, SERVED, BONAWITZ, **SYSTEMS),
    right("HKDF, then ChaCha20", HkdfThenChaCha, OUT, BONAWITZ, **SYSTEMS),
    right("a chain of keys", ChainOfKeys, SERVED, BONAWITZ, **SYSTEMS),
    right("a ratchet", Ratchet, SERVED, BONAWITZ, **SYSTEMS),
    right("X25519", Exchanged, SERVED, BONAWITZ, **SYSTEMS),
    right("masks of the system", FromSecrets, SERVED, PERFECT, **SYSTEMS),
    right("seeds cut from one block", CutFromOneBlock, SERVED, BONAWITZ, **SYSTEMS),
    right("two keys of one digest", TwoKeysOfOneDigest, SERVED, BONAWITZ, **SYSTEMS),
    right("seeds of pairs and one's own", SelfAndPairs, SERVED, BONAWITZ, **SYSTEMS),
    right("a ring of chunks", RingAllReduce, OUT, PERFECT, **SYSTEMS),
    right("a heap of sums", Heap, OUT, PERFECT, **SYSTEMS),
    right("a hypercube", Hypercube, ONE, PERFECT, **SYSTEMS),
    right("push-sum", PushSum, OUT, BONAWITZ, **SYSTEMS),
    right("coroutines", Clients, SERVED, PERFECT, **SYSTEMS),
    right("phases timed in a log", Timed, SERVED, PERFECT, **SYSTEMS),
    right("a list of checks", Validated, SERVED, PERFECT, **SYSTEMS),
    right("objects modulo a prime", ObjectsModuloPrime, SERVED, SHAMIR, **SYSTEMS),
]
