"""Seeds that pass through the server under a cipher of the library, not by ``sealed_for``."""

from __future__ import annotations

import os

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix.transcript import SERVER

from .derived import JoinMended
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}
LEAKS = {"server": "leaks", "two": "leaks", "eavesdropper": "leaks"}


class WrappedSeeds(JoinMended):
    """Seeds of pairs by ``draw_masks``; each passes the server as a ciphertext under a key that the pair agrees on."""

    def wrap(self, key, seed):
        raise NotImplementedError

    def unwrap(self, key, box):
        raise NotImplementedError

    def pair_keys(self, channel, network, runs, m, rng, masks):
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        n, edges = network.n, network.edges.tolist()
        keys = [[X25519PrivateKey.generate() for _ in range(runs)] for _ in range(n)]
        raw = np.array([[np.frombuffer(k.private_bytes_raw(), np.uint64) for k in row] for row in keys])
        channel.hold(-4, np.arange(n), "private key", raw)
        public = np.array([[np.frombuffer(k.public_key().public_bytes_raw(), np.uint8) for k in row] for row in keys])
        book = channel.send(-4, np.arange(n), SERVER, "public key", public)
        pairs = np.array([(i, j) for i in range(n) for j in range(n) if i != j])
        book = channel.send(-3, SERVER, pairs[:, 1], "public key", book, content=pairs[:, 0])

        def agree(me, other, r):
            shared = keys[me][r].exchange(X25519PublicKey.from_public_bytes(book[other, r].tobytes()))
            return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"wrap").derive(shared)

        first, second = network.edges.T
        channel.hold(-2, first, "pair seed", seeds.transpose(1, 0, 2))
        boxes = [
            [np.frombuffer(self.wrap(agree(i, j, r), seeds[r, e].tobytes()), np.uint8) for r in range(runs)]
            for e, (i, j) in enumerate(edges)
        ]
        up = channel.send(-2, first, SERVER, "box", np.array(boxes))
        down = channel.send(-1, SERVER, second, "box", up)
        mine = [{(i, j): seeds[r, e].tobytes() for e, (i, j) in enumerate(edges)} for r in range(runs)]
        theirs = [
            {(i, j): self.unwrap(agree(j, i, r), down[e, r].tobytes()) for e, (i, j) in enumerate(edges)}
            for r in range(runs)
        ]
        return mine, theirs


# Right: AES-GCM with a fresh nonce.
class Gcm(WrappedSeeds):
    def wrap(self, key, seed):
        nonce = os.urandom(12)
        return nonce + AESGCM(key).encrypt(nonce, seed, b"seed")

    def unwrap(self, key, box):
        return AESGCM(key).decrypt(box[:12], box[12:], b"seed")


# Right: ChaCha20-Poly1305, nonce zero, as the key is used once.
class Poly(WrappedSeeds):
    def wrap(self, key, seed):
        return ChaCha20Poly1305(key).encrypt(bytes(12), seed, None)

    def unwrap(self, key, box):
        return ChaCha20Poly1305(key).decrypt(bytes(12), box, None)


# Right: AES in counter mode by hand.
class Ctr(WrappedSeeds):
    def wrap(self, key, seed):
        return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(seed)

    def unwrap(self, key, box):
        return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).decryptor().update(box)


# Wrong: the "cipher" is base64-like: the seed is reversed.
class Reversed(WrappedSeeds):
    def wrap(self, key, seed):
        return seed[::-1]

    def unwrap(self, key, box):
        return box[::-1]


CASES = [
    *known("seeds under AES-GCM", Gcm, "an authenticated cipher", **SAFE),
    *known("seeds under ChaCha20-Poly1305", Poly, "an authenticated cipher", **SAFE),
    *known("seeds under AES-CTR", Ctr, "a one-time keystream", **SAFE),
    *known("seeds reversed", Reversed, "the seed is sent", **LEAKS),
]
