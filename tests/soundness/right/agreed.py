"""Right protocols in which pairs agree on keys by X25519, and expand what they agree on."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from .expanded import Seeded
from .published import BONAWITZ, right


class Agreeing(Seeded):
    """Public keys pass through the server; each end of a pair computes the common secret, and expands it."""

    width: ClassVar[int] = 4

    def count(self, network: Any) -> int:
        return int(network.n)

    def private(self, octets: Any) -> Any:
        """The private key (octets) that a node makes of what it drew."""
        return octets

    def secret(self, own: Any, public: Any) -> Any:
        """Return what both ends of a pair compute."""
        return own.exchange(X25519PublicKey.from_public_bytes(public))

    def announced(self, key: Any) -> Any:
        """Return what a node tells all others."""
        return key.public_key().public_bytes_raw()

    def keys(self, channel: Any, r: Array) -> list[list[Any]]:
        """The private keys by node and run, of what nodes drew."""
        channel.hold(-1, np.arange(len(r)), "private key", r)
        return [
            [X25519PrivateKey.from_private_bytes(self.private(of_run.tobytes())) for of_run in of_node] for of_node in r
        ]

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        nodes, keys = np.arange(len(r)), self.keys(channel, r)
        told = np.array([[np.frombuffer(self.announced(key), np.uint64) for key in of_node] for of_node in keys])
        passed = channel.send(-2, nodes, SERVER, "public key", told)
        for node in nodes:
            passed = channel.send(-1, SERVER, np.full(len(nodes), node), "public keys", passed)
        secrets = [
            [self.secret(key, public.tobytes()) for key, public in zip(keys[i], passed[j], strict=True)]
            for i, j in pairs.tolist()
        ]
        return np.array([[np.frombuffer(secret, np.uint64) for secret in of_pair] for of_pair in secrets])

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        info = bytes(pair) + channel.iteration.to_bytes(8, "big")
        return np.frombuffer(HKDF(hashes.SHA256(), 8 * m, None, info).derive(seed.tobytes()), np.uint64)


class Generated(Agreeing):
    """Generates key pairs as the library does it."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.zeros((runs, network.n, 0), np.uint64)

    def keys(self, channel: Any, r: Array) -> list[list[Any]]:
        keys = [[X25519PrivateKey.generate() for _ in of_node] for of_node in r]
        held = np.array([[np.frombuffer(key.private_bytes_raw(), np.uint64) for key in of_node] for of_node in keys])
        channel.hold(-1, np.arange(len(r)), "private key", held)
        return keys


class Longhand(Agreeing):
    """Names the encoding of keys, as older versions of the library ask for it."""

    def announced(self, key: Any) -> Any:
        return key.public_key().public_bytes(encoding=Encoding.Raw, format=PublicFormat.Raw)


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
AGREED: dict[str, Any] = {"family": "practice"}
CASES = [
    right("keys agreed on through the server", Agreeing, SERVED, BONAWITZ, **AGREED),
    right("keys agreed on, before a node", Agreeing, ONE, BONAWITZ, **AGREED),
    right("key pairs of the library", Generated, OUT, BONAWITZ, **AGREED),
    right("key pairs written out", Longhand, SERVED, BONAWITZ, **AGREED),
]
