"""Slips that show in long vectors alone: a mask that repeats after some entries, or ends before the vector does."""

from __future__ import annotations

import hashlib
import hmac
import random
import struct

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from .fedavg import SecAgg
from .keys import PairStreams
from .statistics import MaskedSums
from .truth import known

LEAKS = {"server": "leaks", "two": "leaks", "eavesdropper": "leaks"}
SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}


# Wrong: a digest of four words is repeated over twelve entries: entries 0, 4 and 8 have one mask, their differences are read.
class DigestResized(PairStreams):
    def stream(self, key, iteration, m):
        digest = hashlib.sha256(key + iteration.to_bytes(8, "big")).digest()
        return np.resize(np.frombuffer(digest, np.uint64), m)


# Wrong: the block counter goes up to one only (a flag of "first block"): all later blocks are the same.
class BlockFlag(PairStreams):
    def stream(self, key, iteration, m):
        blocks = b""
        for start in range(0, m, 4):
            blocks += hmac.new(key, iteration.to_bytes(8, "big") + bytes([start > 0]), hashlib.sha256).digest()
        return np.frombuffer(blocks, np.uint64)[:m]


# Wrong: vectors go up in chunks of four, and each chunk is masked by a new generator of the same seed.
class ChunksOfOneSeed(SecAgg):
    def expand(self, seed, m, iteration):
        chunks = []
        for start in range(0, m, 4):
            source = np.random.default_rng([*seed, iteration])
            chunks.append(source.integers(0, 2**64, size=min(4, m - start), dtype=np.uint64))
        return np.concatenate(chunks)


# Wrong: the mask covers the first eight entries, the size of last year's model.
class FirstEight(SecAgg):
    def expand(self, seed, m, iteration):
        mask = np.zeros(m, dtype=np.uint64)
        mask[:8] = np.random.default_rng([*seed, iteration]).integers(0, 2**64, size=min(m, 8), dtype=np.uint64)
        return mask


# Wrong: one-time pads of eight words are drawn and indexed modulo eight.
class PadsOfEight(MaskedSums):
    def draw_masks(self, runs, m, network, rng):
        pads = rng.integers(0, 2**64, (runs, len(network.edges), min(m, 8)), dtype=np.uint64)
        return pads[..., np.arange(m) % 8]


# Wrong: AES in counter mode, block by block, and the counter of the block is kept in two bits.
class TwoBitCounter(PairStreams):
    def stream(self, key, iteration, m):
        out = b""
        for block in range((m + 1) // 2):
            counter = iteration.to_bytes(12, "big") + (block & 3).to_bytes(4, "big")
            out += Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(bytes(16))
        return np.frombuffer(out, np.uint64)[:m]


# Right: the same with all of the counter.
class FullCounter(PairStreams):
    def stream(self, key, iteration, m):
        out = b""
        for block in range((m + 1) // 2):
            counter = iteration.to_bytes(12, "big") + block.to_bytes(4, "big")
            out += Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(bytes(16))
        return np.frombuffer(out, np.uint64)[:m]


# Wrong: the standard library's generator is seeded anew for every six entries.
class SeededAnew(PairStreams):
    def stream(self, key, iteration, m):
        words = []
        while len(words) < m:
            source = random.Random(int.from_bytes(key, "big"))
            words += [source.getrandbits(64) for _ in range(6)]
        return np.array(words[:m], dtype=np.uint64)


# Wrong: long vectors are sent raw beyond a limit of what one message may have (a forgotten branch of a fallback).
class RawTail(SecAgg):
    LIMIT = 10

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        tail = np.asarray(inputs)[..., self.LIMIT :]
        if channel is not None and tail.shape[-1] > 0:
            channel.send(5, np.arange(network.n), -1, "overflow", tail.transpose(1, 0, 2))
        return averages, transcript


# Right: SHA-256 in counter mode, with struct for the counter, where concatenation is by +=.
class HashCounter(PairStreams):
    def stream(self, key, iteration, m):
        stream, counter = b"", 0
        while len(stream) < 8 * m:
            stream += hashlib.sha256(key + struct.pack("<II", 7, counter) + iteration.to_bytes(8, "big")).digest()
            counter += 1
        return np.frombuffer(stream[: 8 * m], np.uint64)


CASES = [
    *known("digest resized", DigestResized, "entries four apart share a mask", **LEAKS),
    *known("flag in place of a block counter", BlockFlag, "entries of later blocks share masks", **LEAKS),
    *known("chunks of one seed", ChunksOfOneSeed, "entries four apart share a mask", **LEAKS),
    *known("first eight entries masked", FirstEight, "entries 8 to 11 are bare", **LEAKS),
    *known("pads of eight words", PadsOfEight, "entries eight apart share a mask", **LEAKS),
    *known("block counter of two bits", TwoBitCounter, "entries eight apart share a mask", **LEAKS),
    *known("AES block by block", FullCounter, "pseudorandom words of a secret key", **SAFE),
    *known("seeded anew every six entries", SeededAnew, "entries six apart share a mask", **LEAKS),
    *known("raw tail of long vectors", RawTail, "entries 10 and 11 are sent", **LEAKS),
    *known("SHA-256 in counter mode", HashCounter, "pseudorandom words of a secret key", **SAFE),
]
