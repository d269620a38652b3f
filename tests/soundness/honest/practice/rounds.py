"""Seeds are agreed on once, and every averaging has a keystream by its number: or by a number computed from that."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper

from ..seeds.bases import wrong
from ..seeds.same import Kept, between


def words(key: Any, m: int) -> Any:
    """Return m words of a key's stream."""
    return np.frombuffer(hashlib.shake_256(key).digest(8 * m), dtype=np.uint64)


class Epochs(Kept):
    """Keys are rotated every ten averagings."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng([*seed, channel.iteration // 10]).integers(0, 2**64, size=m, dtype=np.uint64)


class OneByte(Kept):
    """The number of the averaging has one byte in the key."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return words(seed.tobytes() + (channel.iteration & 0xFF).to_bytes(1, "big"), m)


class Hundred(Kept):
    """Streams are numbered from nought to ninety-nine, and then again."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng([*seed, channel.iteration % 100]).integers(0, 2**64, size=m, dtype=np.uint64)


class Halved(Kept):
    """One averaging goes there and the next one back, with one key for both."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return words(seed.tobytes() + (channel.iteration >> 1).to_bytes(8, "big"), m)


def change(one: int, other: int) -> Any:
    """Return what node 0 puts into one averaging, less what it puts into another."""
    return lambda truth: truth.inputs[other][0, 0] - truth.inputs[one][0, 0]


def repeats(name: str, protocol: Any, adversary: Any, other: int) -> Any:
    """Return a case in which the first averaging's masks are those of another."""

    def attack(heard: Any) -> Array:
        return between(heard, 0, other)

    deployed = {"model": {"iterations": other + 1}}
    why = f"averaging {other} has the masks of averaging 0"
    return wrong(name, protocol, adversary, why, attack, change(0, other), family="rounds", calls=4, deployed=deployed)


CASES = [
    repeats("a keystream for ten averagings", Epochs, CuriousServer(), 1),
    repeats("a keystream there and back", Halved, Eavesdropper(), 1),
    repeats("a hundred keystreams", Hundred, CuriousServer(), 100),
    repeats("a byte for the averaging", OneByte, CuriousServer(), 256),
]
