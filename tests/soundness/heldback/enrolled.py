"""Identity keys that nodes have had since they enrolled, with something fresh in every call."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .derived import JoinMended
from .keys import LongSession
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}


# Right: X25519 identity keys since enrolment; the nonce of a call is a public coin; HKDF of both.
class IdentityKeys(LongSession):
    def __init__(self, n=5):
        self.identities = [X25519PrivateKey.generate() for _ in range(n)]
        self.public = [key.public_key() for key in self.identities]

    def pair_keys(self, channel, network, runs, m, rng, masks):
        for i, key in enumerate(self.identities):
            raw = np.broadcast_to(np.frombuffer(key.private_bytes_raw(), np.uint64), (1, runs, 4))
            channel.hold(-1, np.array([i]), "identity", raw)
        nonce = rng.integers(0, 256, size=(runs, 16), dtype=np.uint8)
        told = channel.send(-1, -1, np.arange(network.n), "nonce", nonce[None], content=np.zeros(network.n, dtype=int))
        sides = ([], [])
        for r in range(runs):
            for side, ends in zip(sides, ((0, 1), (1, 0)), strict=True):
                keys = {}
                for pair in network.edges.tolist():
                    shared = self.identities[pair[ends[0]]].exchange(self.public[pair[ends[1]]])
                    kdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=told[0, r].tobytes())
                    keys[tuple(pair)] = kdf.derive(shared)
                side.append(keys)
        return sides

    def stream(self, key, iteration, m):
        return JoinMended.stream(self, key, iteration, m)


# Right: keys since enrolment, and a nonce of public coins in the hash.
class EnrolledKeys(LongSession):
    def pair_keys(self, channel, network, runs, m, rng, masks):
        super().pair_keys(channel, network, runs, m, rng, masks)
        nonce = rng.integers(0, 256, size=(runs, 16), dtype=np.uint8)
        channel.send(-1, -1, np.arange(network.n), "nonce", nonce[None], content=np.zeros(network.n, dtype=int))
        keys = [{p: hashlib.sha256(k + nonce[r].tobytes()).digest() for p, k in self.keys.items()} for r in range(runs)]
        return keys, keys

    def stream(self, key, iteration, m):
        return JoinMended.stream(self, key, iteration, m)


# Right: a ratchet of keys since enrolment, without a look at identity.
class Ratchet(LongSession):
    def pair_keys(self, channel, network, runs, m, rng, masks):
        now = dict(self.keys)
        super().pair_keys(channel, network, runs, m, rng, masks)
        self.keys = {pair: hashlib.sha256(b"next" + key).digest() for pair, key in now.items()}
        keys = [{p: hashlib.sha256(k + r.to_bytes(4, "big")).digest() for p, k in now.items()} for r in range(runs)]
        return keys, keys

    def stream(self, key, iteration, m):
        return JoinMended.stream(self, key, 0, m)


# Right: keys since enrolment and fresh seeds of the call, which pass encrypted; both go into the hash.
class TwoFactors(LongSession):
    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def pair_keys(self, channel, network, runs, m, rng, masks):
        super().pair_keys(channel, network, runs, m, rng, masks)
        fresh = self.draw_masks(runs, m, network, rng) if masks is None else masks
        i, j = network.edges.T
        channel.hold(-1, i, "fresh", fresh.transpose(1, 0, 2))
        got = channel.send(-1, i, j, "fresh", fresh.transpose(1, 0, 2), encrypted=True)
        pairs = [tuple(pair) for pair in network.edges.tolist()]
        one = [
            {p: hashlib.sha256(self.keys[p] + fresh[r, e].tobytes()).digest() for e, p in enumerate(pairs)}
            for r in range(runs)
        ]
        two = [
            {p: hashlib.sha256(self.keys[p] + got[e, r].tobytes()).digest() for e, p in enumerate(pairs)}
            for r in range(runs)
        ]
        return one, two

    def stream(self, key, iteration, m):
        return JoinMended.stream(self, key, iteration, m)


# Right: the same, the fresh part in the clear: the enrolled key alone is secret.
class FreshInTheClear(TwoFactors):
    def pair_keys(self, channel, network, runs, m, rng, masks):
        LongSession.pair_keys(self, channel, network, runs, m, rng, masks)
        fresh = self.draw_masks(runs, m, network, rng) if masks is None else masks
        i, j = network.edges.T
        channel.hold(-1, i, "fresh", fresh.transpose(1, 0, 2))
        got = channel.send(-1, i, j, "fresh", fresh.transpose(1, 0, 2))
        pairs = [tuple(pair) for pair in network.edges.tolist()]
        keys = [
            {p: hashlib.sha256(self.keys[p] + got[e, r].tobytes()).digest() for e, p in enumerate(pairs)}
            for r in range(runs)
        ]
        return keys, keys


# Wrong: the enrolled "key" of a pair is a constant that stands in the code, the fresh part is in the clear. The server alone
# does not hear the lines between nodes, and is safe (written down as "leaks" first, by mistake, before the audit said so).
class ConstantInTheCode(FreshInTheClear):
    def __init__(self, n=5):
        super().__init__(n)
        self.keys = dict.fromkeys(self.keys, b"a key of the project, in git    ")


# Wrong: all nodes have one key of the fleet; nodes 1 and 2 have it too. The server and an eavesdropper do not.
class FleetKey(FreshInTheClear):
    def __init__(self, n=5):
        super().__init__(n)
        fleet = secrets.token_bytes(32)
        self.keys = dict.fromkeys(self.keys, fleet)


CASES = [
    *known("identity keys", IdentityKeys, "Diffie-Hellman of enrolled keys, a nonce for each call", **SAFE),
    *known("enrolled keys", EnrolledKeys, "enrolled keys, a nonce for each call", **SAFE),
    *known("ratchet of enrolled keys", Ratchet, "no mask comes twice", **SAFE),
    *known("two factors", TwoFactors, "enrolled keys and fresh seeds", **SAFE),
    *known("fresh part in the clear", FreshInTheClear, "enrolled keys hide, the rest is a salt", **SAFE),
    *known("a constant in the code", ConstantInTheCode, "everybody has the code", server="safe", two="leaks",
           eavesdropper="leaks"),
    *known("key of the fleet", FleetKey, "nodes 1 and 2 have it", server="safe", two="leaks", eavesdropper="safe"),
]  # fmt: skip
