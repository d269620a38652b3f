"""Masks of generators of old and of ciphers: seeded by rank, cut to 32 bits, started again, counted twice."""

from __future__ import annotations

import hashlib
import importlib.util
import random
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious

from ...case import Case, Heard, each, input_of
from .attacks import Own, Seeded, between_rounds, net, signed
from .reused import FirstSeeds

HAS_CIPHERS = importlib.util.find_spec("cryptography") is not None
"""Ciphers are those of the package cryptography, which is optional."""
if HAS_CIPHERS:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def by_state(state: Any, m: int) -> Array:
    """The first m words of a RandomState."""
    return np.asarray(state.randint(0, 2**64, size=m, dtype=np.uint64))


def by_python(generator: Any, m: int) -> Array:
    """The first m words of a generator of Python's."""
    return np.array([generator.getrandbits(64) for _ in range(m)], dtype=np.uint64)


def of_aes(key: Any, nonce: Any, m: int) -> Array:
    """The first m words that AES in counter mode makes of zeros."""
    return zeros_encrypted(Cipher(algorithms.AES(key), modes.CTR(nonce)), m)


def of_chacha(key: Any, pair: tuple[int, int], m: int) -> Array:
    """The first m words that ChaCha20 makes of zeros, with the pair for a nonce."""
    return zeros_encrypted(Cipher(algorithms.ChaCha20(key, bytes([0, 0, 0, 0, *pair, *bytes(10)])), None), m)


def zeros_encrypted(cipher: Any, m: int) -> Array:
    """What a cipher makes of m words of zeros."""
    return np.frombuffer(cipher.encryptor().update(bytes(8 * m)), np.uint64)


class StateOfRank(Own):
    """Every node seeds RandomState by its rank, for runs that can be repeated."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return by_state(np.random.RandomState(42 + pair[0]), m)


class PythonOfPair(Seeded):
    """Pairs seed Python's generator by both ranks."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return by_python(random.Random(1000 * pair[0] + pair[1]), m)


class Folded(Own):
    """Pads vectors to 128 words; RandomState takes no more than 32 bits of the seed, so that is what it gets."""

    padded: ClassVar[int] = 128

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        short, m = self.padded - s.shape[2], s.shape[2]
        full = np.concatenate([s, np.zeros((*s.shape[:2], short))], axis=2)
        return super().body(channel, full, r, network, rng)[:, :m]

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return by_state(np.random.RandomState(int(seed[0]) % 2**32), m)


class FoldedByXor(Folded):
    """Adds up the words of the seed bit by bit, so that all of them count, and seeds RandomState by the sum."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        octets, folded = seed.tobytes(), 0
        for begin in range(0, len(octets), 4):
            folded ^= int.from_bytes(octets[begin : begin + 4], "little")
        return by_state(np.random.RandomState(folded), m)


class ShortState(Own):
    """Takes a long seed modulo 2^14 for RandomState."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return by_state(np.random.RandomState(int(seed[0]) % 2**14), m)


class Halves(Seeded):
    """Masks weights, then biases, by a generator of Python's that is made anew for each."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        half = m // 2
        return np.concatenate([by_python(random.Random(seed.tobytes()), size) for size in (half, m - half)])


class KeptState(FirstSeeds):
    """Keeps the seeds of the first round, and seeds RandomState by the words of their hash in every round."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        several = np.frombuffer(hashlib.sha256(seed.tobytes()).digest(), np.uint32)
        return by_state(np.random.RandomState(several), m)


class NonceForAll(FirstSeeds):
    """AES in counter mode with the keys of the first round, and a nonce of zeros in every round."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return of_aes(seed.tobytes(), bytes(16), m)


class CountedTwice(FirstSeeds):
    """Makes the round the nonce: AES counts blocks from there, and the next round begins with this one's second."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return of_aes(seed.tobytes(), channel.iteration.to_bytes(16, "big"), m)


class KeyInTheCode(Seeded):
    """ChaCha20 with a key that stands in the code, and the pair for a nonce."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return of_chacha(b"our federation's own secret key!", pair, m)


class OneKey(Seeded):
    """All nodes have one key of ChaCha20; that of a pair is its nonce."""

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        channel.hold(-1, 0, "secret", r[:1])
        one = channel.send(-1, 0, np.arange(1, 5), "secret", r[:1], encrypted=True, content=np.zeros(4, dtype=int))
        return np.repeat(one, len(pairs), axis=0)

    width = 4

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return of_chacha(seed.tobytes(), pair, m)


def of_rank(heard: Heard) -> Array:
    return signed(heard.one("masked", 0) - by_state(np.random.RandomState(42), 12))


def of_pairs(heard: Heard) -> Array:
    mask = lambda i, j: by_python(random.Random(1000 * i + j), 12)  # noqa: E731
    return signed(heard.one("masked", 0) - net(0, mask))


def of_code(heard: Heard) -> Array:
    return signed(heard.one("masked", 0) - net(0, lambda i, j: KeyInTheCode.mask(None, None, None, (i, j), 12)))


def of_one_key(heard: Heard) -> Array:
    key = heard.one("secret", 0, 1)
    return signed(heard.one("masked", 0) - net(0, lambda i, j: OneKey.mask(None, None, key, (i, j), 12)))


def of_short_state(heard: Heard) -> Array:
    several = (signed(heard.one("masked", 0) - by_state(np.random.RandomState(k), 12)) for k in range(2**14))
    return min(several, key=lambda found: float(np.abs(found).max()))


def from_two_words(heard: Heard) -> Array:
    """Solve for the seed by two words of padding: the state of Mersenne Twister is made of it word by word."""
    masked = heard.one("masked", 0)
    outputs = [int(word) >> shift & 0xFFFFFFFF for word in masked.tolist() for shift in (32, 0)]
    first = 2 * 12  # of the padding
    twist = _untempered(outputs[first + 227]) ^ _untempered(outputs[first])
    odd = twist >> 31
    low = ((twist ^ 0x9908B0DF * odd) << 1 | odd) & 0x7FFFFFFF
    seeds = [_seed_of(low | high << 31, first + 228) for high in (0, 1)]
    several = (masked - by_state(np.random.RandomState(seed), len(masked)) for seed in seeds)
    return signed(next(left for left in several if not left[12:].any())[:12])


def _untempered(y: int) -> int:
    """Return the word of the state that an output is made of (Matsumoto, Nishimura 1998, section 2.1)."""
    y ^= y >> 18
    y ^= y << 15 & 0xEFC60000
    x = y
    for _ in range(5):
        x = y ^ x << 7 & 0x9D2C5680
    y = x & 0xFFFFFFFF
    x = y
    for _ in range(3):
        x = y ^ x >> 11
    return x


def _seed_of(word: int, place: int) -> int:
    """Go back from a word of the first state to the seed, step by step."""
    for k in range(place, 0, -1):
        word = (word - k) * pow(1812433253, -1, 2**32) % 2**32
        word ^= word >> 30
    return word


def between_blocks(heard: Heard) -> Array:
    return signed(heard.one("masked", 0, iteration=1)[:-2] - heard.one("masked", 0)[2:])


def between_halves(heard: Heard) -> Array:
    masked = heard.one("masked", 0)
    return signed(masked[6:] - masked[:6])


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
GRID: dict[str, Any] = {"accuracy": 1e-5, "secret": input_of(0)}
ROUNDS: dict[str, Any] = GRID | {"secret": lambda t: t.inputs[1][0, 0] - t.inputs[0][0, 0]}
KNOWN, TWICE, SHORT = "known seeds", "masks used twice", "short seeds"
CASES = [
    Case("RandomState of the rank", KNOWN, StateOfRank, OUT, "who knows the code knows the masks",
         attack=each(of_rank), **GRID),
    Case("Random of both ranks", KNOWN, PythonOfPair, SERVED, "who knows the code knows the masks",
         attack=each(of_pairs), **GRID),
    Case("RandomState of 32 bits", SHORT, Folded, OUT, "two words of a mask tell a seed of 32 bits",
         attack=each(from_two_words), **GRID),
    Case("RandomState of folded words", SHORT, FoldedByXor, OUT, "two words of a mask tell a seed of 32 bits",
         attack=each(from_two_words), **GRID),
    Case("RandomState modulo 2^14", SHORT, ShortState, OUT, "16,384 seeds can all be tried", calls=4,
         attack=each(of_short_state), **GRID),
    Case("Random for weights and biases", TWICE, Halves, SERVED, "differences of halves are bare",
         attack=each(between_halves), **GRID | {"secret": lambda t: t.inputs[0][0, 0, 6:] - t.inputs[0][0, 0, :6]}),
    Case("RandomState of the first round", TWICE, KeptState, OUT, "differences of rounds are bare",
         attack=each(between_rounds), **ROUNDS),
]  # fmt: skip
if HAS_CIPHERS:
    CASES += [
        Case("a nonce of zeros in every round", TWICE, NonceForAll, SERVED, "differences of rounds are bare",
             attack=each(between_rounds), **ROUNDS),
        Case("the round as a counter", TWICE, CountedTwice, OUT, "blocks of two rounds are the same",
             attack=each(between_blocks),
             **GRID | {"secret": lambda t: t.inputs[1][0, 0, :-2] - t.inputs[0][0, 0, 2:]}),
        Case("a key in the code", KNOWN, KeyInTheCode, OUT, "who knows the code knows the masks",
             attack=each(of_code), **GRID),
        Case("one key of the group", KNOWN, OneKey, ONE, "every node knows the masks of all",
             attack=each(of_one_key), **GRID),
    ]  # fmt: skip
