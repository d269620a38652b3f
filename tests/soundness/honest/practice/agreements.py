"""Keys and seeds that are the same, though they are written down in two ways."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper

from ...case import Case, Heard, each
from ...right.agreed import Agreeing, Generated
from ...right.expanded import Seeded, words
from ..seeds.attacks import between_rounds, signed


@dataclass(frozen=True)
class RoundInKey(Agreeing):
    """Draws private keys once, and puts the round in front: X25519 ignores the three lowest bits of the first byte."""

    kept: dict[Any, Array] = field(default_factory=dict)

    def used(self, r: Array, s: Array) -> Array:
        return self.kept.setdefault(r.shape, r)

    def keys(self, channel: Any, r: Array) -> list[list[Any]]:
        channel.hold(-1, np.arange(len(r)), "private key", r)
        turn = channel.iteration.to_bytes(8, "little")
        return [[X25519PrivateKey.from_private_bytes(turn + run.tobytes()[8:]) for run in node] for node in r]

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return words(np.random.default_rng(seed), m)


class InHalves:
    """Masks weights by one half of a seed, and biases by the other."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return np.concatenate([words(np.random.default_rng(part), m // 2) for part in (seed[:4], seed[4:])])


class Restored(InHalves, Generated):
    """Masks weights by the keys in memory, and biases by the keys that were saved: these are the same keys."""

    def secret(self, own: Any, public: Any) -> Any:
        saved = np.frombuffer(own.private_bytes_raw(), np.uint64)
        restored = X25519PrivateKey.from_private_bytes(saved.tobytes())
        return super().secret(own, public) + super().secret(restored, public)


class DerivedTwice(InHalves, Agreeing):
    """Derives a key of what a pair agreed on as it came, and one of the words in which it is stored."""

    def secret(self, own: Any, public: Any) -> Any:
        shared = super().secret(own, public)
        stored = np.frombuffer(shared, np.uint64)
        return derived(shared) + derived(stored.tobytes())


def derived(secret: Any) -> Any:
    return HKDF(hashes.SHA256(), 32, None, b"mask").derive(secret)


class AsOneNumber(Seeded):
    """Masks weights by a seed of two words, and biases by the same seed as one number, which NumPy splits again."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        number = int.from_bytes(seed.tobytes(), "little")
        return np.concatenate([words(np.random.default_rng(each), m // 2) for each in (seed, number)])


class LabelledAsOneNumber(Seeded):
    """Puts the same label behind a seed of words and behind one number."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        several = ([*seed, 1], [int.from_bytes(seed.tobytes(), "little"), 1])
        return np.concatenate([words(np.random.default_rng(each), m // 2) for each in several])


class ZeroAndRound(Seeded):
    """Labels weights by zero and biases by the round, which is zero at first."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        labels = (0, channel.iteration)
        return np.concatenate([words(np.random.default_rng([*seed, label]), m // 2) for label in labels])


class SaltOfRound(Agreeing):
    """Derives weights' masks without a salt, and biases' with the round for one: HKDF takes no salt for zeros."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        salts = (None, channel.iteration.to_bytes(8, "big"))
        octets = [HKDF(hashes.SHA256(), 4 * m, salt, b"mask").derive(seed.tobytes()) for salt in salts]
        return np.concatenate([np.frombuffer(each, np.uint64) for each in octets])


class RoundBehindKey(Agreeing):
    """Keys one hash by what a pair agreed on, and one by that and the round: HMAC fills keys up with zeros."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        keys = (seed.tobytes(), seed.tobytes() + channel.iteration.to_bytes(8, "big"))
        digests = [hmac.new(key, bytes(pair), hashlib.sha512).digest() for key in keys]
        return np.concatenate([np.frombuffer(each, np.uint64)[: m // 2] for each in digests])


def between_halves(heard: Heard) -> Array:
    weights, biases = np.split(heard.one("masked", 0), 2)
    return signed(weights - biases)


SERVED, OUT = CuriousServer(), Eavesdropper()
ROUNDS: dict[str, Any] = {"accuracy": 1e-5, "secret": lambda t: t.inputs[1][0, 0] - t.inputs[0][0, 0]}
HALVES: dict[str, Any] = {"accuracy": 1e-5, "secret": lambda t: t.inputs[0][0, 0, :6] - t.inputs[0][0, 0, 6:]}
TWICE = "masks used twice"
CASES = [
    Case("the round in a private key", TWICE, RoundInKey, SERVED, "the private keys of eight rounds are the same",
         attack=each(between_rounds), **ROUNDS),
    Case("keys in memory and keys saved", TWICE, Restored, SERVED, "keys that were saved are the same keys",
         attack=each(between_halves), **HALVES),
    Case("derived of bytes and of words", TWICE, DerivedTwice, OUT, "the words are of the same bytes",
         attack=each(between_halves), **HALVES),
    Case("a seed as words and as one number", TWICE, AsOneNumber, SERVED, "NumPy makes the same words of both",
         attack=each(between_halves), **HALVES),
    Case("a labelled seed as words and as one number", TWICE, LabelledAsOneNumber, OUT, "NumPy makes the same words",
         attack=each(between_halves), **HALVES),
    Case("a label of zero, and the round", TWICE, ZeroAndRound, SERVED, "the first round is zero",
         attack=each(between_halves), **HALVES),
    Case("no salt, and the round for a salt", TWICE, SaltOfRound, OUT, "a salt of zeros is as good as none",
         attack=each(between_halves), **HALVES),
    Case("the round behind a key", TWICE, RoundBehindKey, SERVED, "a key that ends with zeros is the same key",
         attack=each(between_halves), **HALVES),
]  # fmt: skip
