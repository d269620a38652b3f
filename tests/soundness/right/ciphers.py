"""Right protocols with masks of generators of old and of ciphers."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious

from ..honest.seeds.ciphers import HAS_CIPHERS, by_python, by_state, of_aes, of_chacha
from .expanded import KeptKeys, Own, Seeded
from .published import BONAWITZ, right

if HAS_CIPHERS:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand


class StateOfWords(Seeded):
    """Seeds RandomState by all words of a hash of the seed."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        several = np.frombuffer(hashlib.sha256(seed.tobytes()).digest(), np.uint32)
        return by_state(np.random.RandomState(several), m)


class PythonOfBytes(Own):
    """Seeds Python's generator by the bytes of a seed, and of a label for weights and for biases."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        half, key = m // 2, seed.tobytes()
        parts = [(b"weights", half), (b"biases", m - half)]
        return np.concatenate([by_python(random.Random(key + label), size) for label, size in parts])


class PythonOfNumber(Seeded):
    """Seeds Python's generator by a number of 256 bits."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        number = int.from_bytes(hashlib.sha256(seed.tobytes()).digest(), "big")
        return by_python(random.Random(number), m)


class NumberedNonces(KeptKeys):
    """AES in counter mode: the round is the nonce, and the last four bytes count blocks."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return of_aes(seed.tobytes(), channel.iteration.to_bytes(12, "big") + bytes(4), m)


class LongCiphers(Seeded):
    """ChaCha20 with keys of 256 bits, and the pair for a nonce."""

    width = 4

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return of_chacha(seed.tobytes(), pair, m)


class StateOfShortWords(Seeded):
    """Seeds RandomState by four words of 32 bits."""

    width = 4

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**32, size=(runs, self.count(network), self.width), dtype=np.uint64))

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return by_state(np.random.RandomState([int(word) for word in seed]), m)


class ImportedWhereUsed(Seeded):
    """Imports its cipher in the function that uses it."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        cipher = Cipher(algorithms.AES(seed.tobytes()), modes.CTR(bytes(16)))
        return np.frombuffer(cipher.encryptor().update(bytes(8 * m)), np.uint64)


class Derived(Seeded):
    """HKDF of the package ``cryptography``."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        derive = HKDF(algorithm=hashes.SHA256(), length=8 * m, salt=b"secure sum", info=b"mask")
        return np.frombuffer(derive.derive(seed.tobytes()), dtype=np.uint64)


class DerivedByIteration(KeptKeys):
    """The second half of HKDF, with the averaging in its label."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        info = b"mask" + channel.iteration.to_bytes(8, "big")
        derive = HKDFExpand(algorithm=hashes.SHA256(), length=8 * m, info=info)
        return np.frombuffer(derive.derive(seed.tobytes()), dtype=np.uint64)


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
WHY = BONAWITZ + "; seeds are secret and no stream is used twice"
CASES = [
    right("RandomState of several words", StateOfWords, SERVED, WHY, family="seeds"),
    right("Random of bytes and a label", PythonOfBytes, OUT, WHY, family="seeds"),
    right("Random of a long number", PythonOfNumber, ONE, WHY, family="seeds"),
    right("RandomState of short words", StateOfShortWords, SERVED, WHY, family="seeds"),
]
if HAS_CIPHERS:
    CASES += [
        right("nonces numbered by round", NumberedNonces, SERVED, WHY, family="seeds"),
        right("ChaCha20 of long keys", LongCiphers, ONE, WHY, family="seeds"),
        right("keys by HKDF", Derived, SERVED, WHY, family="seeds"),
        right("keys by HKDF and averaging", DerivedByIteration, SERVED, WHY, family="seeds"),
        right("a cipher imported where it is used", ImportedWhereUsed, OUT, WHY, family="seeds"),
    ]
