"""Right protocols whose masks follow from seeds, and right encodings, of the kinds that are easy to get wrong."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious

from ..bases import Words
from ..honest.seeds.bases import Rehearsed, Seeded, blocks, sha
from ..honest.seeds.small import Floats
from .published import BONAWITZ, PERFECT, right


class ByLabel(Rehearsed):
    """A label of its own for every use."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return sha(seed.tobytes(), m, b"rehearsal")

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return sha(seed.tobytes(), m, b"sum")


class ByPerson(Rehearsed):
    """BLAKE2 by the name of the use."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return blocks(lambda b: hashlib.blake2b(b, key=seed.tobytes(), person=b"rehearsal").digest(), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return blocks(lambda b: hashlib.blake2b(b, key=seed.tobytes(), person=b"sum").digest(), m)


class ExtractAndExpand(Rehearsed):
    """HKDF: extracts a key with a public salt, expands it by label and counter (RFC 5869)."""

    def first(self, seed: Any, m: int, channel: Any, label: bytes = b"rehearsal") -> Any:
        key = hmac.new(b"salt", seed.tobytes(), hashlib.sha256).digest()
        return blocks(lambda block: hmac.new(key, label + block, hashlib.sha256).digest(), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return self.first(seed, m, channel, b"sum")


class LongKeys(Rehearsed):
    """Seeds of 128 bytes as keys of HMAC, with a label for every use."""

    width = 16

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hmac.new(seed.tobytes(), b"rehearsal" + block, "sha256").digest(), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hmac.new(seed.tobytes(), b"sum" + block, "sha256").digest(), m)


class HalfAndHalf(Rehearsed):
    """One digest, of which the rehearsal has the first half and the sum the second."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(16 * m)[: 8 * m], dtype=np.uint64)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(16 * m)[8 * m :], dtype=np.uint64)


class InTurn(Rehearsed):
    """One generator, of which the rehearsal has the first draw and the sum the second."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng(seed).integers(0, 2**64, size=m, dtype=np.uint64)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        rng = np.random.default_rng(seed)
        rng.integers(0, 2**64, size=m, dtype=np.uint64)
        return rng.integers(0, 2**64, size=m, dtype=np.uint64)


class Keyed(Seeded):
    """Philox with the seed for a key."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.random.Generator(np.random.Philox(key=seed)).integers(0, 2**64, size=m, dtype=np.uint64)


class Renewed(Seeded):
    """Seeds are agreed on once a fit; every averaging has its number in the key."""

    reuses_masks = True

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return sha(seed.tobytes(), m, channel.iteration.to_bytes(8, "big"))


class LargeFloats(Floats):
    """Two decimals, clipped, behind floats of a seed that are large."""

    scale = 1e6

    def encode(self, s: Array) -> Array:
        return np.clip(np.round(s, 2), -1e3, 1e3)


KNOTS = np.linspace(-1000.0, 1000.0, 2001)
CURVE = np.tanh(KNOTS / 100)


class OneCurve(Words):
    """All correct their numbers by one curve, from a table."""

    def encode(self, s: Array) -> Array:
        return super().encode(np.stack([np.interp(x, KNOTS, CURVE) for x in s]))


class FromTheEpoch(Words):
    """Counts from the epoch in milliseconds, which is the same for all."""

    def encode(self, s: Array) -> Array:
        return super().encode(np.minimum(s + 1.7e9, 1.7e9 + 500.0) - 1.7e9)


class OnlySigns(Words):
    """Every number votes by its sign (Bernstein et al. 2018, signSGD)."""

    def encode(self, s: Array) -> Array:
        return super().encode(np.sign(s))


WHY = BONAWITZ + "; seeds are secret and no stream is used twice"
CASES = [
    right("a label for every use", ByLabel, CuriousServer(), WHY, family="seeds"),
    right("a person for every use", ByPerson, Eavesdropper(), WHY, family="seeds"),
    right("extracted and expanded", ExtractAndExpand, HonestButCurious({1}), WHY, family="seeds"),
    right("long keys", LongKeys, CuriousServer(), WHY, family="seeds"),
    right("half a digest each", HalfAndHalf, CuriousServer(), WHY, family="seeds"),
    right("drawn in turn", InTurn, CuriousServer(), WHY, family="seeds"),
    right("keyed with the seed", Keyed, Eavesdropper(), WHY, family="seeds"),
    right("seeds kept, numbered", Renewed, CuriousServer(), WHY, family="seeds"),
    right("large floats of a seed", LargeFloats, CuriousServer(), WHY, family="seeds"),
    right("corrected by one curve", OneCurve, CuriousServer(), PERFECT, family="encodings"),
    right("counted from the epoch", FromTheEpoch, HonestButCurious({1}), PERFECT, family="encodings"),
    right("only signs", OnlySigns, CuriousServer(), PERFECT, family="encodings"),
]  # fmt: skip
