"""Fields, labels and counters of seeds that look as if they made two streams, or that do not hold every seed."""

from __future__ import annotations

import hashlib
import hmac
import struct
from typing import Any, ClassVar

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.network import Network

from ...case import Case, Heard
from ..seeds.attacks import net, signed
from ..seeds.bases import Rehearsed, Seeded, blocks, less_rehearsal, wrong
from ..seeds.same import Kept, between

SPARE = 2**13  # words that a field does not hold


def drawn(seed: Any, m: int) -> Any:
    """Return the first m words that NumPy makes of a seed."""
    return np.random.default_rng(seed).integers(0, 2**64, size=m, dtype=np.uint64)


def by_philox(key: Any, counter: Any, m: int) -> Any:
    """Return the first m words of Philox with a key."""
    bits = np.random.Philox(key=key, counter=counter)
    return np.random.Generator(bits).integers(0, 2**64, size=m, dtype=np.uint64)


def by_password(password: Any, salt: Any, times: int, m: int) -> Any:
    """Return the first m words that PBKDF2 makes of a password."""
    return np.frombuffer(hashlib.pbkdf2_hmac("sha256", password, salt, times, 8 * m), dtype=np.uint64)


class OnceIsHmac(Rehearsed):
    """HMAC of a label and a counter in the rehearsal; PBKDF2 in the sum, once, since the seed is no password."""

    width = 4

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        key, whole, block = seed.tobytes(), b"", 1
        while len(whole) < 8 * m:
            whole = whole + hmac.new(key, b"mask" + block.to_bytes(4, "big"), "sha256").digest()
            block += 1
        return np.frombuffer(whole[: 8 * m], dtype=np.uint64)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return by_password(seed.tobytes(), b"mask", 1, m)


class OnceIsExpand(Rehearsed):
    """HKDF's second half with a label of a fixed width; PBKDF2 in the sum, once: their first blocks are the same."""

    width = 4

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        label = b"mask".ljust(7, b"\0")
        return np.frombuffer(HKDFExpand(hashes.SHA256(), 8 * m, label).derive(seed.tobytes()), dtype=np.uint64)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return by_password(seed.tobytes(), b"mask", 1, m)


class TopBitOff(Rehearsed):
    """A digest as the seed; the newer code takes its top bit off, for a field of 255 bits: half of all have none."""

    def number(self, seed: Any) -> Any:
        """Return a digest as a number."""
        return int.from_bytes(hashlib.sha256(seed.tobytes()).digest(), "little")

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return drawn(self.number(seed), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return drawn(self.number(seed) & (2**255 - 1), m)


class NotHeld(Seeded):
    """Seeds of words; where a field does not hold one, a run goes without masks."""

    width = 5
    words: ClassVar[tuple[int, int]]

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        return np.asarray(rng.integers(*self.words, size=(runs, self.count(network), self.width)))

    def hide(self, words: Array, mine: Any, theirs: Any, network: Network, expand: Any) -> None:
        for run in range(words.shape[1]):
            one = words[:, run : run + 1].copy()
            try:
                super().hide(one, mine[:, run : run + 1], theirs[:, run : run + 1], network, expand)
            except (struct.error, ValueError):
                continue
            words[:, run : run + 1] = one


class SignedField(NotHeld):
    """The field is a signed one of four bytes, and words are drawn a little beyond its end."""

    words = 0, 2**31 + SPARE

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        key = struct.pack("<iiiii", *seed)
        return blocks(lambda block: hashlib.sha256(key + block).digest(), m)


class UnsignedField(NotHeld):
    """The field is an unsigned one, and words are drawn from a little below nought on."""

    words = -SPARE, 2**31

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        key = struct.pack("<IIIII", *seed)
        return blocks(lambda block: hashlib.sha256(key + block).digest(), m)


class BelowNought(NotHeld):
    """NumPy takes no seed below nought."""

    words = -SPARE, 2**31

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return drawn(list(seed), m)


class SpawnedAndJoined(Rehearsed):
    """Use 7 of a seed, as a word behind it and as a key of where it was spawned."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return drawn([*seed, 7], m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return drawn(np.random.SeedSequence(seed, spawn_key=(7,)), m)


class LongSpawnKey(Rehearsed):
    """A place by two numbers, and the same as one."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return drawn(np.random.SeedSequence(seed, spawn_key=(1, 1)), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return drawn(np.random.SeedSequence(seed, spawn_key=(2**32 + 1,)), m)


class SpawnedByRound(Rehearsed):
    """The rehearsal is child 0, and rounds are children by their number."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return drawn(np.random.SeedSequence(seed, spawn_key=(0,)), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return drawn(np.random.SeedSequence(seed, spawn_key=(channel.iteration,)), m)


class CountedByRound(Rehearsed):
    """The rehearsal begins at counter 0, and rounds at their number."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return by_philox(seed, 0, m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return by_philox(seed, [0, 0, 0, channel.iteration], m)


class NextBlock(Rehearsed):
    """The sum begins one block behind the rehearsal."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return by_philox(seed, [1, 0, 0, 0], m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return by_philox(seed, [0, 0, 0, 0], m)


class FarAhead(Rehearsed):
    """The rehearsal jumps ahead, and the sum begins where that ends."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        jumped = np.random.Philox(key=seed).jumped()
        return np.random.Generator(jumped).integers(0, 2**64, size=m, dtype=np.uint64)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return by_philox(seed, [0, 0, 1, 0], m)


class PasswordFilledUp(Rehearsed):
    """PBKDF2, the password filled up with zeros in one place, and more bytes than are used."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return by_password(seed.tobytes(), b"mask", 3, m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return by_password(seed.tobytes() + bytes(16), b"mask", 3, 2 * m)[:m]


class PublicPassword(Seeded):
    """PBKDF2 of the name of the use and the round, and the seed is forgotten."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return by_password(b"masks", struct.pack(">I", channel.iteration), 3, m)


class Packed(Rehearsed):
    """A seed as its bytes in memory in one place, and packed in another."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hashlib.sha256(seed.tobytes() + block).digest(), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hashlib.sha256(struct.pack("<QQ", *seed) + block).digest(), m)


class ByteByByte(Rehearsed):
    """A key byte by byte, packed in one place."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return drawn(list(seed.tobytes()), m)

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return drawn([*struct.pack("<QQ", *seed)], m)


class LongerDigest(Rehearsed):
    """More bytes of SHAKE in one place, whose first ones are the same."""

    def first(self, seed: Any, m: int, channel: Any) -> Any:
        return np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(16 * m), dtype=np.uint64)[:m]

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(8 * m), dtype=np.uint64)


class RoundAsTruth(Kept):
    """Seeds that are kept, and of the round whether it is the first."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        label = struct.pack("<?", channel.iteration)
        return blocks(lambda block: hashlib.sha256(seed.tobytes() + label + block).digest(), m)


class RoundPadded(Kept):
    """Seeds that are kept, and a pad where the round should be."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return blocks(lambda block: hashlib.sha256(seed.tobytes() + struct.pack("<4x") + block).digest(), m)


def small(numbers: Array) -> Array:
    """Return numbers that are of the size of data, all or none."""
    return np.where(np.abs(numbers).max() < 1e4, numbers, np.nan)


def bare_runs(heard: Heard) -> Array:
    """Return what node 0 uploads in runs of a batch that are bare."""
    return np.concatenate([small(run) for run in signed(heard.many("masked", 0))])


def less_next_block(heard: Heard) -> Array:
    """Return the entries behind the first block less those of the rehearsal."""
    return signed(heard.one("masked", 0)[4:] - heard.one("rehearsal", 0)[:-4])


def less_public(heard: Heard) -> Array:
    """Return what node 0 uploads less what anybody computes."""
    sent = heard.one("masked", 0)
    return signed(sent - net(0, lambda i, j: by_password(b"masks", struct.pack(">I", 0), 3, len(sent))))


TWICE, UNHELD = "both uses have the same masks", "where the field does not hold a seed all is bare"
SERVER_, OUT = CuriousServer(), Eavesdropper()
CASES: list[Case] = [
    *(
        wrong(name, made, adversary, TWICE, less_rehearsal)
        for name, made, adversary in (
            ("PBKDF2 once is HMAC", OnceIsHmac, SERVER_),
            ("a word behind a seed and a spawn key", SpawnedAndJoined, SERVER_),
            ("a spawn key of two words", LongSpawnKey, OUT),
            ("children by the round from nought", SpawnedByRound, SERVER_),
            ("counters by the round from nought", CountedByRound, OUT),
            ("a jump to the next counter", FarAhead, SERVER_),
            ("a password filled up", PasswordFilledUp, SERVER_),
            ("a seed packed and as it lies", Packed, OUT),
            ("a key byte by byte twice", ByteByByte, SERVER_),
            ("a longer digest of the same", LongerDigest, OUT),
        )
    ),
    wrong("PBKDF2 once is half of HKDF", OnceIsExpand, OUT, "the first blocks have the same masks",
          lambda heard: less_rehearsal(heard)[:4], lambda truth: truth.inputs[0][0, 0, :4]),
    wrong("the top bit of a seed off", TopBitOff, SERVER_, "half of all seeds stay what they are",
          lambda heard: small(less_rehearsal(heard)), calls=100, claims=0.02),
    *(
        wrong(name, made, SERVER_, UNHELD, bare_runs, lambda truth: truth.inputs[0][:, 0].ravel(), calls=10, batch=1000,
              claims=0.1, deployed={"model": {"iterations": 1}})
        for name, made in (
            ("seeds in a signed field", SignedField),
            ("seeds in an unsigned field", UnsignedField),
            ("seeds below nought", BelowNought),
        )
    ),
    wrong("the next block of a counter", NextBlock, SERVER_, "entries have masks in common", less_next_block,
          lambda truth: truth.inputs[0][0, 0, 4:]),
    wrong("a public password", PublicPassword, SERVER_, "anybody computes the masks", less_public),
    *(
        wrong(name, made, OUT, "the same masks in all rounds but the first", lambda heard: between(heard, 1, 2),
              lambda truth: truth.inputs[2][0, 0] - truth.inputs[1][0, 0], deployed={"model": {"iterations": 3}})
        for name, made in (("the round as a truth value", RoundAsTruth), ("a pad in place of the round", RoundPadded))
    ),
]  # fmt: skip
