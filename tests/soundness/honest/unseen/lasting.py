"""Keys that an object makes when it first needs them, and keeps: the next fit counts its iterations from zero again."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper

from ...case import Case, input_of
from ..seeds.attacks import signed
from ..seeds.reused import FirstSeeds


@dataclass(frozen=True)
class FirstSeedsByIteration(FirstSeeds):
    """Enrols once: the seeds of the first call are the keys of all others, and the iteration is their label."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        key = hmac.new(seed.tobytes(), channel.iteration.to_bytes(8, "big"), hashlib.sha256).digest()
        return np.frombuffer(hashlib.shake_256(key).digest(8 * m), np.uint64)


@dataclass(frozen=True)
class KeysWhenNeeded(FirstSeedsByIteration):
    """Asks the system for the key of a pair where there is none yet."""

    def key(self, place: tuple[int, int]) -> bytes:
        return bytes(self.kept.setdefault(place, os.urandom(32)))

    def used(self, r: Array, s: Array) -> Array:
        keys = [
            [np.frombuffer(self.key((run, edge)), np.uint64) for run in range(r.shape[1])] for edge in range(len(r))
        ]
        return np.array(keys)


@dataclass(frozen=True)
class KeysIfMissing(KeysWhenNeeded):
    """Looks whether there is a key, and makes one with Python's ``secrets``."""

    def key(self, place: tuple[int, int]) -> bytes:
        if place not in self.kept:
            self.kept[place] = secrets.token_bytes(32)
        return bytes(self.kept[place])


@dataclass(frozen=True)
class ExpandedOnce(FirstSeedsByIteration):
    """Derives a key of the first seeds, and keeps that."""

    def used(self, r: Array, s: Array) -> Array:
        if not self.kept:
            keys = [[hashlib.sha256(of_run.tobytes()).digest() for of_run in of_pair] for of_pair in r]
            self.kept[0] = np.array([[np.frombuffer(key, np.uint64) for key in of_pair] for of_pair in keys])
        return np.asarray(self.kept[0]) if self.kept[0].shape[:2] == r.shape[:2] else r


@dataclass(frozen=True)
class FirstSeedsOfReused(FirstSeedsByIteration):
    """Gets keys for each fit, and goes on with those of the first."""

    reuses_masks = True


@dataclass(frozen=True)
class DrawnOnce(FirstSeedsOfReused):
    """Draws keys once, and hands out the same for each fit."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(self.kept.setdefault((runs, "drawn"), super().draw_masks(runs, m, network, rng)))

    def used(self, r: Array, s: Array) -> Array:
        return r


def between_fits(heard: Any) -> Array:
    """Return how what node 0 sends differs from fit to fit."""
    masked = np.stack([each.one("masked", 0) for each in heard])
    return signed(masked - masked[:1])


WHY = "differences of two fits are bare"


def case(name: str, protocol: Any, adversary: Any) -> Case:
    return Case(name, "keys of an object", protocol, adversary, WHY, relative=True, accuracy=1e-5,
                attack=between_fits, secret=input_of(0))  # fmt: skip


SERVED, OUT = CuriousServer(), Eavesdropper()
CASES = [
    case("seeds of the first call are the keys", FirstSeedsByIteration, SERVED),
    case("keys when they are needed", KeysWhenNeeded, SERVED),
    case("keys if they are missing", KeysIfMissing, OUT),
    case("keys derived once", ExpandedOnce, SERVED),
    case("keys of the first fit", FirstSeedsOfReused, SERVED),
    case("keys that are drawn once", DrawnOnce, OUT),
]
