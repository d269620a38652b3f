"""Keys that pairs agree on by X25519 through the server, HKDF, AES in counter mode, ChaCha20: with ``cryptography``."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix.transcript import SERVER, Channel

from .common import tell_all


def to_fixed(x):
    """Write floats as words of 64 bits."""
    return np.rint(x * 2.0**24).astype(np.int64).astype(np.uint64)


def aes_ctr(key, nonce, size):
    """Expand a key to words of 64 bits by AES in counter mode."""
    encryptor = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
    return np.frombuffer(encryptor.update(b"\0" * (8 * size)) + encryptor.finalize(), dtype=np.uint64)


def chacha(key, nonce, size):
    """Expand a key to words of 64 bits by ChaCha20."""
    encryptor = Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor()
    return np.frombuffer(encryptor.update(bytes(8 * size)), dtype=np.uint64)


class KeyAgreement:
    """Make a key pair at every node, pass public keys on by the server, and expand what pairs agree on."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=np.uint64)

    def pairwise(self, private, own, peer, i, j, iteration, size):
        """Return the mask of nodes i < j, from a private key, the raw public key that goes with it, and the peer's."""
        raise NotImplementedError

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=np.float64)
        runs, n, m = x.shape
        channel = channel or Channel()
        secret = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-2, np.arange(n), "private key", secret.transpose(1, 0, 2))
        private = [[X25519PrivateKey.from_private_bytes(secret[r, u].tobytes()) for u in range(n)] for r in range(runs)]
        raw = [[np.frombuffer(key.public_key().public_bytes_raw(), dtype=np.uint8) for key in row] for row in private]
        up = channel.send(-2, np.arange(n), SERVER, "public key", np.array(raw).transpose(1, 0, 2))
        bulletin = [
            channel.send(-1, SERVER, u, "public keys", up.transpose(1, 0, 2).reshape(runs, -1)) for u in range(n)
        ]

        masked = to_fixed(x)
        for r in range(runs):
            for u in range(n):
                for v in range(n):
                    if u == v:
                        continue
                    peer = bulletin[u][r, 32 * v : 32 * v + 32].tobytes()
                    own = raw[r][u].tobytes()
                    pad = self.pairwise(private[r][u], own, peer, min(u, v), max(u, v), channel.iteration, m)
                    masked[r, u] = masked[r, u] + pad if u < v else masked[r, u] - pad
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        got = channel.send(0, np.arange(n), SERVER, "masked", masked.transpose(1, 0, 2))
        return tell_all(channel, n, got.sum(axis=0, dtype=np.uint64).astype(np.int64) / 2.0**24 / n)


class RHkdfAesCounter(KeyAgreement):
    """Derive a key of 256 bits by HKDF with the pair as info, and expand it by AES-CTR from nonce zero: right, keys are
    new in every call, so that no key meets a nonce twice."""

    audited = {"n": 4, "a": "server"}

    def pairwise(self, private, own, peer, i, j, iteration, size):
        shared = private.exchange(X25519PublicKey.from_public_bytes(peer))
        info = b"secagg pairwise mask" + struct.pack(">HH", i, j)
        key = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info).derive(shared)
        return aes_ctr(key, bytes(16), size)


class RSessionChaCha(KeyAgreement):
    """Keep key pairs for the training and put the round into HKDF's info, then expand by ChaCha20: right, each round
    has a key of its own."""

    audited = {"n": 4, "a": "server+2"}
    reuses_masks = True

    def pairwise(self, private, own, peer, i, j, iteration, size):
        shared = private.exchange(X25519PublicKey.from_public_bytes(peer))
        info = b"round" + iteration.to_bytes(8, "big")
        key = HKDF(algorithm=hashes.SHA256(), length=32, salt=b"secagg", info=info).derive(shared)
        return chacha(key, b"\0" * 16, size)


class RHashedSecret(KeyAgreement):
    """Hash what a pair agrees on with both public keys, in order, and the round to a seed of PCG64: right, who has
    neither private key cannot compute the first of these."""

    audited = {"n": 4, "a": "1+3"}
    reuses_masks = True

    def pairwise(self, private, own, peer, i, j, iteration, size):
        shared = private.exchange(X25519PublicKey.from_public_bytes(peer))
        digest = hashlib.sha256(shared + f"{i}:{j}".encode() + iteration.to_bytes(8, "little")).digest()
        return np.random.default_rng(list(digest)).integers(0, 2**64, size=size, dtype=np.uint64)


class RAesRoundNonce(KeyAgreement):
    """Hash what a pair agrees on to a key for the training, and count rounds in the first twelve bytes of AES-CTR's
    nonce: right, streams of different rounds begin 2^32 blocks apart."""

    audited = {"n": 4, "a": "server"}
    reuses_masks = True

    def pairwise(self, private, own, peer, i, j, iteration, size):
        shared = private.exchange(X25519PublicKey.from_public_bytes(peer))
        key = hashlib.sha256(b"mask key" + shared).digest()
        return aes_ctr(key, iteration.to_bytes(12, "big") + b"\0" * 4, size)


class WKeyOfPublicKeys(KeyAgreement):
    """Hash the two public keys instead of what the pair agrees on, which both ends can do, so that sums come out right:
    the server has passed these keys on, computes every mask in every call, and reads every vector."""

    audited = {"n": 4, "a": "server"}

    def pairwise(self, private, own, peer, i, j, iteration, size):
        material = b"".join(sorted([own, peer]))
        key = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"secagg").derive(material)
        return aes_ctr(key, bytes(16), size)


class WSameNonce(KeyAgreement):
    """Keep key pairs for the training and expand each pair's key from nonce zero in every round: the masks of all
    rounds are the same, and the server subtracts a node's second upload from its first: it learns how each vector
    changed."""

    audited = {"n": 4, "a": "server"}
    reuses_masks = True

    def pairwise(self, private, own, peer, i, j, iteration, size):
        shared = private.exchange(X25519PublicKey.from_public_bytes(peer))
        key = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"secagg").derive(shared)
        return chacha(key, bytes(16), size)


class WSameNonceForHalves(KeyAgreement):
    """Expand masks of the two halves of a vector from one key and one nonce, each half anew: a node's halves are
    masked alike, and the server subtracts them: it learns the difference of entries k and m/2 + k of each node in
    every call."""

    audited = {"n": 4, "a": "server"}

    def pairwise(self, private, own, peer, i, j, iteration, size):
        shared = private.exchange(X25519PublicKey.from_public_bytes(peer))
        key = hashlib.sha256(b"mask key" + shared).digest()
        half = size // 2
        return np.concatenate([aes_ctr(key, b"\0" * 16, part) for part in (half, size - half)])
