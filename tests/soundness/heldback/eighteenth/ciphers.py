"""Masks that pairs of clients expand by the package ``cryptography``."""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix.transcript import SERVER

from .common import PairKeys, begin, hand_out, publish


class R09EphemeralKeys:
    """Clients make a key pair a round, the server passes public keys on, HKDF makes seeds with salt and labels."""

    audited = {"a": "server+1", "n": 4}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 1), dtype=np.uint64)  # not used: keys are generated

    def seed(self, private, public, i, j):
        info = f"pair:{min(i, j)}|{max(i, j)}".encode()
        kdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=b"secagg-hkdf", info=info)
        return kdf.derive(private.exchange(X25519PublicKey.from_public_bytes(public.tobytes())))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, _ = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        keys = [[X25519PrivateKey.generate() for _ in range(runs)] for _ in range(n)]
        raw = np.array([[np.frombuffer(k.private_bytes_raw(), np.uint8) for k in row] for row in keys])
        channel.hold(-1, np.arange(n), "private key", raw)
        public = np.array([[np.frombuffer(k.public_key().public_bytes_raw(), np.uint8) for k in row] for row in keys])
        roster = channel.send(-2, np.arange(n), SERVER, "public key", public)
        senders, receivers = zip(*[(i, j) for i in range(n) for j in range(n) if i != j])
        told = channel.send(-1, SERVER, receivers, "roster", roster, content=list(senders))
        y = np.rint(np.clip(s, -1000, 1000) * 2**16).astype(np.int64).astype(np.uint64)
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                for run in range(runs):
                    gen = np.random.default_rng(np.frombuffer(self.seed(keys[i][run], told[j, run], i, j), np.uint32))
                    noise = gen.integers(0, 2**64, m, dtype=np.uint64)
                    y[i, run] = y[i, run] + noise if i < j else y[i, run] - noise
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)


class R10CounterOfZeros(PairKeys):
    """Pairs derive a key a round by HKDF and encrypt zeros with AES-CTR, a counter of zero; words of 32 bits."""

    audited = {"a": "server", "n": 5}

    def prg(self, key, iteration, m):
        kdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=iteration.to_bytes(8, "big"))
        encryptor = Cipher(algorithms.AES(kdf.derive(key)), modes.CTR(b"\x00" * 16)).encryptor()
        ct = encryptor.update(b"\x00" * 4 * m) + encryptor.finalize()
        return np.frombuffer(ct, dtype=np.dtype("u4"))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        y = np.rint(np.clip(s, -100, 100) * 2**16).astype(np.int32).view(np.uint32)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                y[i, run] += self.prg(mine[e, run].tobytes(), channel.iteration, m)
                y[j, run] -= self.prg(theirs[e, run].tobytes(), channel.iteration, m)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        total = got.sum(axis=0, dtype=np.uint32).view(np.int32)
        return publish(channel, n, total / 2**16 / n)


class R11SecretNonce(PairKeys):
    """Of a pair's seed one digest is the key and another the nonce of ChaCha20, which gives the mask."""

    audited = {"a": "server+4", "n": 5}

    def expand(self, seed, nbytes):
        key = hashlib.sha256(seed + b"chacha-key").digest()
        nonce = hashlib.sha256(seed + b"chacha-nonce").digest()[:16]
        return Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor().update(b"\x00" * nbytes)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        label = channel.iteration.to_bytes(8, "little")
        y = np.rint(np.clip(s, -1000, 1000) * 2**16).astype(np.int64).astype(np.uint64)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                y[i, run] += np.frombuffer(self.expand(mine[e, run].tobytes() + label, 8 * m), np.uint64)
                y[j, run] -= np.frombuffer(self.expand(theirs[e, run].tobytes() + label, 8 * m), np.uint64)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)


class W01NonceIsCounter(PairKeys):
    """The iteration stands first in the nonce of ChaCha20, where blocks are counted: streams of two rounds overlap."""

    audited = {"a": "server", "n": 5}

    def expand(self, key, iteration, nbytes):
        nonce = iteration.to_bytes(16, "little")
        return Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor().update(bytes(nbytes))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        y = np.rint(np.clip(s, -1000, 1000) * 2**16).astype(np.int64).astype(np.uint64)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                y[i, run] += np.frombuffer(self.expand(mine[e, run].tobytes(), channel.iteration, 8 * m), np.uint64)
                y[j, run] -= np.frombuffer(self.expand(theirs[e, run].tobytes(), channel.iteration, 8 * m), np.uint64)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)


class W02FreshCipherPerChunk(PairKeys):
    """A cipher is begun anew for each chunk with one key and one nonce: all chunks get the same mask."""

    audited = {"a": "server", "n": 5}
    chunk = 4

    def prg(self, key, iteration, words):
        kdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=iteration.to_bytes(8, "big"))
        encryptor = Cipher(algorithms.AES(kdf.derive(key)), modes.CTR(bytes(16))).encryptor()
        return np.frombuffer(encryptor.update(bytes(8 * words)), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        y = np.rint(np.clip(s, -1000, 1000) * 2**16).astype(np.int64).astype(np.uint64)
        for start in range(0, m, self.chunk):
            part = slice(start, min(start + self.chunk, m))
            words = part.stop - part.start
            for e, (i, j) in enumerate(network.edges.tolist()):
                for run in range(runs):
                    y[i, run, part] += self.prg(mine[e, run].tobytes(), channel.iteration, words)
                    y[j, run, part] -= self.prg(theirs[e, run].tobytes(), channel.iteration, words)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)
