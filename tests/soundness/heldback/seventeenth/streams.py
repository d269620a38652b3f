"""Streams of masks from keys that pairs keep for a whole training, by what Python and NumPy have for it."""

from __future__ import annotations

import hashlib
import hmac
import random
import struct
from functools import partial

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import tell_all


class PairKeys:
    """Keep keys of 256 bits for every pair in all rounds; a subclass says what stream a key makes in a round."""

    reuses_masks = True
    dtype = np.uint64
    signed = np.int64
    scale = 2.0**24

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def stream(self, key: bytes, round_number: int, pair: tuple[int, int], size: int) -> np.ndarray:
        raise NotImplementedError

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=np.float64)
        runs, n, m = x.shape
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        lower, upper = network.edges.T
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-1, lower, "key", keys.transpose(1, 0, 2))
        copies = channel.send(-1, lower, upper, "key", keys.transpose(1, 0, 2), encrypted=True)
        words = np.rint(x * self.scale).astype(self.signed).astype(self.dtype)
        for run in range(runs):
            for e, (i, j) in enumerate(network.edges.tolist()):
                words[run, i] += self.stream(keys[run, e].tobytes(), channel.iteration, (i, j), m)
                words[run, j] -= self.stream(copies[e, run].tobytes(), channel.iteration, (i, j), m)
        received = channel.send(0, np.arange(n), SERVER, "masked", words.transpose(1, 0, 2))
        total = received.sum(axis=0, dtype=self.dtype).astype(self.signed)
        return tell_all(channel, n, total / self.scale / n)


class RHmacBlocks(PairKeys):
    """Compute HMAC-SHA256 over round and block number, four words a block: right, no label comes twice with a key."""

    audited = {"n": 5, "a": "server"}

    def stream(self, key, round_number, pair, size):
        blocks = (
            hmac.new(key, struct.pack(">QI", round_number, block), hashlib.sha256).digest()
            for block in range(-(-size // 4))
        )
        return np.frombuffer(b"".join(blocks), dtype=np.uint64)[:size]


class RShaCounterMode(PairKeys):
    """Run SHA-256 in counter mode, with words of 32 bits and a prefix for the domain: right, fields have fixed
    widths."""

    audited = {"n": 4, "a": "server+1"}
    dtype, signed, scale = np.uint32, np.int32, 2.0**16

    def stream(self, key, round_number, pair, size):
        out = bytearray()
        counter = 0
        prefix = b"secagg" + key + round_number.to_bytes(8, "little")
        while len(out) < 4 * size:
            out += hashlib.sha256(prefix + counter.to_bytes(4, "little")).digest()
            counter += 1
        return np.frombuffer(bytes(out[: 4 * size]), dtype="<u4")


class RTextLabels(PairKeys):
    """Hash an f-string of pair and round after the key: right, texts of different rounds differ, and keys do by
    pair."""

    audited = {"n": 4, "a": "server"}

    def stream(self, key, round_number, pair, size):
        label = f"mask|{pair[0]}|{pair[1]}|round={round_number}"
        digest = hashlib.sha256(key + label.encode("utf-8")).digest()
        rng = np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
        return rng.integers(0, 2**64, size=size, dtype=np.uint64)


class RPairInLabel(PairKeys):
    """Hash key, round and an f-string of the pair to a seed of PCG64: right, labels are public and keys are not."""

    audited = {"n": 5, "a": "1+3"}

    def stream(self, key, round_number, pair, size):
        h = hashlib.sha256()
        h.update(key)
        h.update(round_number.to_bytes(8, "big"))
        h.update(f"{pair[0]}->{pair[1]}".encode())
        seed = int.from_bytes(h.digest(), "big")
        return np.random.default_rng(seed).integers(0, 2**64, size=size, dtype=np.uint64)


class RPhiloxRounds(PairKeys):
    """Key Philox with 128 bits and put the round into the highest word of its counter: right, rounds lie 2^192 blocks
    apart."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def stream(self, key, round_number, pair, size):
        bit_generator = np.random.Philox(key=np.frombuffer(key, dtype=np.uint64), counter=[0, 0, 0, round_number])
        return np.random.Generator(bit_generator).integers(0, 2**64, size=size, dtype=np.uint64)


class RSpawnKey(PairKeys):
    """Give SeedSequence the words of the key as entropy and the round as spawn key: right, that is what it is for."""

    audited = {"n": 4, "a": "server"}

    def stream(self, key, round_number, pair, size):
        entropy = struct.unpack("<8I", key)
        sequence = np.random.SeedSequence(entropy, spawn_key=(round_number,))
        return np.random.Generator(np.random.PCG64DXSM(sequence)).integers(0, 2**64, size=size, dtype=np.uint64)


class RMersenneSeeded(PairKeys):
    """Seed random.Random by SHA-512 of key and round and take getrandbits(32): right as far as a Mersenne Twister is,
    of which 12 words of 32 bits are seen at most, behind data."""

    audited = {"n": 4, "a": "server"}
    dtype, signed, scale = np.uint32, np.int32, 2.0**16

    def stream(self, key, round_number, pair, size):
        material = hashlib.sha512(key + struct.pack("!Q", round_number)).digest()
        gen = random.Random(int.from_bytes(material, byteorder="big"))
        return np.array([gen.getrandbits(32) for _ in range(size)], dtype=np.uint32)


class RBlakeXof(PairKeys):
    """Expand keyed BLAKE2b of the round by its block number, eight words a block: right, a keyed hash is a PRF."""

    audited = {"n": 5, "a": "server+0"}

    def stream(self, key, round_number, pair, size):
        prf = partial(hashlib.blake2b, key=key, digest_size=64, person=b"secure-sum")
        blocks = [prf(struct.pack("<QQ", round_number, k)).digest() for k in range((size + 7) // 8)]
        return np.concatenate([np.frombuffer(b, dtype=np.uint64) for b in blocks])[:size]


class RShakeToField(PairKeys):
    """Reduce 16 bytes of SHAKE-256 for each entry modulo 2^31 - 1: right, what is left of 128 bits is uniform to
    2^-97."""

    audited = {"n": 4, "a": "server"}
    p = 2**31 - 1

    def stream(self, key, round_number, pair, size):
        raw = hashlib.shake_256(b"field" + key + round_number.to_bytes(8, "big")).digest(16 * size)
        return np.array([int.from_bytes(raw[16 * k : 16 * k + 16], "big") % self.p for k in range(size)])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=np.float64)
        runs, n, m = x.shape
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        peers = {u: [] for u in range(n)}
        for e, (u, v) in enumerate(network.edges.tolist()):
            channel.hold(-1, u, "key", keys[:, e])
            peers[u].append((1, (u, v), keys[:, e]))
            peers[v].append((-1, (u, v), channel.send(-1, u, v, "key", keys[:, e], encrypted=True)))
        total = np.zeros((runs, m), dtype=np.int64)
        for u in range(n):
            channel.hold(-1, u, "input", x[:, u])
            residue = np.round(x[:, u] * 1e5).astype(np.int64) % self.p
            for sign, pair, key in peers[u]:
                mask = np.stack([self.stream(k.tobytes(), channel.iteration, pair, m) for k in key])
                residue = (residue + sign * mask) % self.p
            total = (total + channel.send(0, u, SERVER, "residue", residue)) % self.p
        centred = np.where(total > self.p // 2, total - self.p, total)
        return tell_all(channel, n, centred / 1e5 / n)


class RChainedChunks(PairKeys):
    """Hash the key on for each chunk of the vector, in a chain that begins at the round: right, who has no link before
    has none after."""

    audited = {"n": 4, "a": "server"}
    chunk = 5

    def stream(self, key, round_number, pair, size):
        link = hmac.new(key, b"chain" + round_number.to_bytes(8, "big"), "sha256").digest()
        parts = []
        for start in range(0, size, self.chunk):
            width = min(self.chunk, size - start)
            parts.append(np.frombuffer(hashlib.shake_128(b"out" + link).digest(8 * width), dtype=np.uint64))
            link = hashlib.sha256(b"next" + link).digest()
        return np.concatenate(parts)
