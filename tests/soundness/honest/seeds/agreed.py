"""Keys that pairs agree on by X25519, and that others know, can guess, or use again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...case import Case, Heard, N, each, input_of
from ...right.agreed import Agreeing
from .attacks import between_rounds, net, signed, words


def of_seed(seed: bytes, pair: tuple[int, int], m: int = 12, iteration: int = 0) -> Array:
    """The mask that a pair expands its secret to."""
    info = bytes(pair) + iteration.to_bytes(8, "big")
    return np.frombuffer(HKDF(hashes.SHA256(), 8 * m, None, info).derive(seed), np.uint64)


class OfPublicKeys(Agreeing):
    """Hashes both public keys, which takes no arithmetic on curves."""

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        keys = self.keys(channel, r)
        told = np.array([[np.frombuffer(self.announced(key), np.uint64) for key in of_node] for of_node in keys])
        passed = channel.send(-2, np.arange(len(r)), SERVER, "public key", told)
        seeds = [
            [np.frombuffer(hashlib.sha256(a.tobytes() + b.tobytes()).digest(), np.uint64) for a, b in zip(*of_pair)]  # noqa: B905
            for of_pair in ((passed[i], passed[j]) for i, j in pairs.tolist())
        ]
        return np.array(seeds)


class PrivateTold(Agreeing):
    """Tells the server its private key in place of the public one."""

    def announced(self, key: Any) -> Any:
        return key.private_bytes_raw()

    def secret(self, own: Any, public: Any) -> Any:
        return own.exchange(X25519PrivateKey.from_private_bytes(public).public_key())


class ByRank(Agreeing):
    """Makes private keys of the number of a node, so that nobody needs to be told."""

    def keys(self, channel: Any, r: Array) -> list[list[Any]]:
        own = [X25519PrivateKey.from_private_bytes(bytes([node + 1] * 32)) for node in range(len(r))]
        return [[key] * r.shape[1] for key in own]


class ShortKey(Agreeing):
    """Fills a private key of ten bits up with noughts."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**10, size=(runs, network.n, 1), dtype=np.uint64))

    def private(self, octets: Any) -> Any:
        return octets + bytes(24)


class OneKeyForAll(Agreeing):
    """One node draws a key pair and hands it to all: every pair agrees on the same secret."""

    def count(self, network: Any) -> int:
        return 1

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        channel.hold(-1, 0, "private key", r)
        channel.send(-1, np.zeros(N, int), np.arange(N), "private key", r, encrypted=True, content=np.zeros(N, int))
        own = [X25519PrivateKey.from_private_bytes(of_run.tobytes()) for of_run in r[0]]
        secrets = [np.frombuffer(key.exchange(key.public_key()), np.uint64) for key in own]
        return np.array([secrets] * len(pairs))


@dataclass(frozen=True)
class FirstAgreement(Agreeing):
    """Agrees on keys in the first round, and expands them alike in every round."""

    kept: dict[Any, Any] = field(default_factory=dict)

    def keys(self, channel: Any, r: Array) -> list[list[Any]]:
        return self.kept.setdefault(r.shape, super().keys(channel, r))  # type: ignore[no-any-return]

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return words(np.random.default_rng(seed), m)


def of_public_keys(heard: Heard) -> Array:
    public = [heard.one("public key", node).tobytes() for node in range(N)]
    return less_masks(heard, lambda i, j: hashlib.sha256(public[i] + public[j]).digest())


def less_masks(heard: Heard, secret: Any) -> Array:
    """Return what node 0 sends without its masks, where ``secret(i, j)`` is what a pair agrees on."""
    return signed(heard.one("masked", 0) - net(0, lambda i, j: of_seed(secret(i, j), (i, j))))


def exchanged(private: Any, other: Any) -> bytes:
    own, of_other = (X25519PrivateKey.from_private_bytes(each) for each in (private, other))
    return own.exchange(of_other.public_key())


def of_private_keys(heard: Heard) -> Array:
    private = [heard.one("public key", node).tobytes() for node in range(N)]
    return less_masks(heard, lambda i, j: exchanged(private[i], private[j]))


def of_ranks(heard: Heard) -> Array:
    return less_masks(heard, lambda i, j: exchanged(bytes([i + 1] * 32), bytes([j + 1] * 32)))


def of_all_short_keys(heard: Heard) -> Array:
    tried = (np.array([k, 0, 0, 0], np.uint64).tobytes() for k in range(2**10))
    by_public = {X25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw(): key for key in tried}
    private = [by_public[heard.one("public key", node).tobytes()] for node in range(N)]
    return less_masks(heard, lambda i, j: exchanged(private[i], private[j]))


def of_one_pair(heard: Heard) -> Array:
    key = heard.one("private key", 0, 1).tobytes()
    return less_masks(heard, lambda i, j: exchanged(key, key))


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
GRID: dict[str, Any] = {"accuracy": 1e-5, "secret": input_of(0)}
ROUNDS: dict[str, Any] = GRID | {"secret": lambda t: t.inputs[1][0, 0] - t.inputs[0][0, 0]}
KNOWN, TWICE, SHORT = "known seeds", "masks used twice", "short seeds"
CASES = [
    Case("a hash of public keys", KNOWN, OfPublicKeys, OUT, "both public keys pass in the clear",
         attack=each(of_public_keys), **GRID),
    Case("private keys told", KNOWN, PrivateTold, SERVED, "who has private keys computes what pairs agree on",
         attack=each(of_private_keys), **GRID),
    Case("private keys by rank", KNOWN, ByRank, OUT, "who knows the code knows the private keys",
         attack=each(of_ranks), **GRID),
    Case("private keys of ten bits", SHORT, ShortKey, SERVED, "1,024 private keys can all be tried",
         attack=each(of_all_short_keys), **GRID),
    Case("one key pair for all", KNOWN, OneKeyForAll, ONE, "every node computes what any pair agrees on",
         attack=each(of_one_pair), **GRID),
    Case("agreed on once", TWICE, FirstAgreement, SERVED, "differences of rounds are bare",
         attack=each(between_rounds), **ROUNDS),
]  # fmt: skip
