"""One stream of masks, used twice: by ways of writing it down that look as if they made two."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from ...case import Heard
from .attacks import signed
from .bases import Rehearsed, Seeded, blocks, less_rehearsal, sha, wrong


class UsualLength(Rehearsed):
    """BLAKE2 with the digest's usual length; the newer code says how long that is."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hashlib.blake2b(seed.tobytes() + block).digest(), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hashlib.blake2b(seed.tobytes() + block, digest_size=64).digest(), m)


class FieldFilledUp(Rehearsed):
    """BLAKE2 by the name of the use; in one place it is filled up to the length of the field."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return blocks(lambda b: hashlib.blake2s(seed.tobytes() + b, person=b"masks").digest(), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        person = b"masks".ljust(8, b"\0")
        return blocks(lambda b: hashlib.blake2s(seed.tobytes() + b, person=person).digest(), m)


class LongKey(Rehearsed):
    """Seeds of 128 bytes as keys of HMAC; newer code hashes them first, which HMAC does with long keys anyway."""

    width = 16

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hmac.new(seed.tobytes(), block, hashlib.sha256).digest(), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        key = hashlib.sha256(seed.tobytes()).digest()
        return blocks(lambda block: hmac.new(key, block, hashlib.sha256).digest(), m)


class KeyFilledUp(Rehearsed):
    """HMAC, the key filled up with zeros to the block in one place."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hmac.new(seed.tobytes(), block, "sha256").digest(), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hmac.new(seed.tobytes() + bytes(48), block, "sha256").digest(), m)


class Remade(Rehearsed):
    """A bit generator is kept as it is, and every use draws from a copy of it; ``again`` copies."""

    again = staticmethod(copy.deepcopy)

    def bits(self, seed: Any) -> Any:
        """What is copied."""
        return np.random.Philox(key=seed)

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return np.random.Generator(self.again(self.bits(seed))).integers(0, 2**64, size=m, dtype=np.uint64)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return self.first(seed, m, channel)


class Pickled(Remade):
    """The copy has been to a file."""

    again = staticmethod(lambda bits: pickle.loads(pickle.dumps(bits)))

    def bits(self, seed: Any) -> Any:
        return np.random.PCG64(seed)


class Jumped(Remade):
    """Both jump ahead, to be far from other uses."""

    again = staticmethod(lambda bits: bits.jumped())


class SetBack(Rehearsed):
    """One generator, the state of which is put back after the rehearsal."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        rng = np.random.default_rng(seed)
        state = rng.bit_generator.state
        words = rng.integers(0, 2**64, size=m, dtype=np.uint64)
        rng.bit_generator.state = state
        return words

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng(seed).integers(0, 2**64, size=m, dtype=np.uint64)


class Spawned(Rehearsed):
    """A child of the generator for every use: but each is the first child."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng(seed).spawn(1)[0].integers(0, 2**64, size=m, dtype=np.uint64)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return self.first(seed, m, channel)


class TwoNames(Rehearsed):
    """``default_rng`` in one place, PCG64 in another: these are the same."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed))).integers(
            0, 2**64, size=m, dtype=np.uint64
        )

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng(list(seed)).integers(0, 2**64, size=m, dtype=np.uint64)


class RunTogether(Rehearsed):
    """Use and round are put after the seed without a mark between them: use 1, round 11, or use 11, round 1."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return sha(seed.tobytes(), m, b"1" + b"11")

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return sha(seed.tobytes(), m, b"11" + b"1")


class FirstIteration(Rehearsed):
    """The rehearsal has number 0, the sum that of the iteration."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return sha(seed.tobytes(), m, (0).to_bytes(8, "big"))

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return sha(seed.tobytes(), m, channel.iteration.to_bytes(8, "big"))


class TwiceCut(Rehearsed):
    """One digest for both uses, each of which cuts off what it needs."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(16 * m)[: 8 * m], dtype=np.uint64)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(8 * m), dtype=np.uint64)


class CounterWraps(Seeded):
    """Numbers blocks of four words by one bit."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        several = [hashlib.sha256(seed.tobytes() + bytes([k % 2])).digest() for k in range(-(-m // 4))]
        whole = several[0]
        for each in several[1:]:
            whole = whole + each
        return np.frombuffer(whole, dtype=np.uint64)[:m]


@dataclass(frozen=True)
class Kept(Seeded):
    """Agrees on seeds once, and expands them in every averaging."""

    seeds: dict[Any, Any] = field(default_factory=dict)

    def used(self, r: Array, s: Array) -> Array:
        return self.seeds.setdefault(r.shape, r)


class KeptByFours(Kept):
    """Seeds that are kept, with the iteration's number in two bits."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return sha(seed.tobytes(), m, int(channel.iteration % 4).to_bytes(1, "big"))


def between(heard: Heard, one: int, other: int) -> Array:
    return signed(heard.one("masked", 0, SERVER, other) - heard.one("masked", 0, SERVER, one))


def across(heard: Heard) -> Array:
    words = heard.one("masked", 0)
    return signed(words[8:] - words[:4])


TWICE = "both uses have the same masks"
SERVER_, OUT = CuriousServer(), Eavesdropper()
CASES = [
    *(
        wrong(name, made, adversary, TWICE, less_rehearsal)
        for name, made, adversary in (
            ("a digest of the usual length", UsualLength, SERVER_),
            ("a field filled up", FieldFilledUp, SERVER_),
            ("a long key hashed", LongKey, SERVER_),
            ("a key filled up", KeyFilledUp, OUT),
            ("bits copied deeply", Remade, SERVER_),
            ("bits from a file", Pickled, OUT),
            ("both jump ahead", Jumped, SERVER_),
            ("a seeded generator set back", SetBack, SERVER_),
            ("each the first child", Spawned, OUT),
            ("one generator by two names", TwoNames, SERVER_),
            ("labels run together", RunTogether, SERVER_),
            ("numbered from nought twice", FirstIteration, OUT),
            ("one digest cut twice", TwiceCut, SERVER_),
        )
    ),
    wrong("a counter of one bit", CounterWraps, SERVER_, "entries have masks in common", across,
          lambda t: t.inputs[0][0, 0, 8:] - t.inputs[0][0, 0, :4]),
    wrong("seeds kept", Kept, OUT, "the same masks in all iterations", lambda h: between(h, 0, 1),
          lambda t: t.inputs[1][0, 0] - t.inputs[0][0, 0]),
    wrong("seeds kept, two bits of the iteration", KeptByFours, SERVER_, "the same masks every fourth iteration",
          lambda h: between(h, 0, 4), lambda t: t.inputs[4][0, 0] - t.inputs[0][0, 0],
          deployed={"model": {"iterations": 5}}),
]  # fmt: skip
