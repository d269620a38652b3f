"""Sessions that leak nothing, as practice writes them."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .common import Counted, Session, long


class R01Shake(Session):
    """SHAKE of the key of a pair and the iteration."""


class R02Generator(Session):
    """A generator that is seeded by the key of a pair and the iteration."""

    def pad(self, line, keys, e, run, m):
        return np.random.default_rng([*keys[run, e], line.iteration]).integers(0, 2**64, m, dtype=np.uint64)


class R03Counters(Session):
    """A cipher in counter mode under the key of a pair, with the iteration for a nonce."""

    def pad(self, line, keys, e, run, m):
        nonce = line.iteration.to_bytes(8, "big") + bytes(8)
        cipher = Cipher(algorithms.AES(keys[run, e].tobytes()), modes.CTR(nonce)).encryptor()
        return np.frombuffer(cipher.update(bytes(8 * m)), "<u8")


class R04Derived(Session):
    """HKDF makes a key of each iteration, whose HMAC makes blocks."""

    def pad(self, line, keys, e, run, m):
        info = b"round" + long(line.iteration)
        key = HKDF(hashes.SHA256(), 32, None, info).derive(keys[run, e].tobytes())
        stream = b""
        for block in range(-(-m // 4)):
            stream = stream + hmac.new(key, block.to_bytes(4, "big"), hashlib.sha256).digest()
        return np.frombuffer(stream[: 8 * m], "<u8")


class R05Ratchet(Session):
    """Keys are replaced by their hash in place, once each has made its pad."""

    def pad(self, line, keys, e, run, m):
        octets = keys[run, e].tobytes()
        keys[run, e] = np.frombuffer(hashlib.sha256(octets + b"next").digest(), np.uint64)
        return np.frombuffer(hashlib.shake_256(octets + b"pad").digest(8 * m), "<u8")


class R06CounterOfAllUses(Counted):
    """A counter beside each key says how often it was used, in a word of 64 bits, and is the label."""

    def begin(self, line, keys, runs, given):
        keys[:, :, 4] += np.uint64(1)

    def label(self, line, keys, e, run):
        return long(int(keys[run, e, 4]))


class R07FirstRoundApart(Session):
    """The first iteration has a label of its own, as a handshake; all others have their number, with another prefix."""

    def label(self, line, keys, e, run):
        return b"handshake" if line.iteration == 0 else long(line.iteration)
