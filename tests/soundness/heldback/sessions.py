"""Keys that outlive a call: ratchets, counters and generators that go on."""

from __future__ import annotations

import hashlib
import itertools
import secrets

import numpy as np

from .derived import JoinMended
from .keys import LongSession
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}


# Right: a hash ratchet: after each averaging the key of a pair is the hash of what it was; no mask comes twice, in any fit.
class RatchetedSession(LongSession):
    def pair_keys(self, channel, network, runs, m, rng, masks):
        now = dict(self.keys)
        held = super().pair_keys(channel, network, runs, m, rng, masks)
        assert held[0][0] is self.keys
        self.keys = {pair: hashlib.sha256(b"next" + key).digest() for pair, key in now.items()}
        per_run = [{p: hashlib.sha256(k + r.to_bytes(4, "big")).digest() for p, k in now.items()} for r in range(runs)]
        return per_run, per_run

    def stream(self, key, iteration, m):
        return JoinMended.stream(self, key, 0, m)


# Right: a counter of messages under the keys of the session goes into each mask; it never goes back.
class CountedSession(LongSession):
    def __init__(self, n=5):
        super().__init__(n)
        self.counter = itertools.count()

    def pair_keys(self, channel, network, runs, m, rng, masks):
        super().pair_keys(channel, network, runs, m, rng, masks)
        labels = [next(self.counter).to_bytes(8, "big") for _ in range(runs)]
        per_run = [{p: hashlib.sha256(k + label).digest() for p, k in self.keys.items()} for label in labels]
        return per_run, per_run

    def stream(self, key, iteration, m):
        return JoinMended.stream(self, key, 0, m)


# Right: each pair has a generator of 256 bits that goes on from round to round.
class GeneratorsGoOn(LongSession):
    def __init__(self, n=5):
        super().__init__(n)
        self.sources = {p: np.random.default_rng(int.from_bytes(k, "big")) for p, k in self.keys.items()}

    def pair_keys(self, channel, network, runs, m, rng, masks):
        super().pair_keys(channel, network, runs, m, rng, masks)
        drawn = [
            {p: s.integers(0, 2**64, size=m, dtype=np.uint64) for p, s in self.sources.items()} for _ in range(runs)
        ]
        return drawn, drawn

    def stream(self, key, iteration, m):
        return key


# Right: keys of a session that each call mixes with a fresh salt, which passes in the clear.
class SaltedSession(LongSession):
    def pair_keys(self, channel, network, runs, m, rng, masks):
        super().pair_keys(channel, network, runs, m, rng, masks)
        salts = [secrets.token_bytes(16) for _ in range(runs)]
        words = np.array([np.frombuffer(salt, np.uint64) for salt in salts])
        channel.send(-1, -1, np.arange(network.n), "salt", words[None], content=np.zeros(network.n, dtype=int))
        per_run = [{p: hashlib.sha256(k + salt).digest() for p, k in self.keys.items()} for salt in salts]
        return per_run, per_run

    def stream(self, key, iteration, m):
        return JoinMended.stream(self, key, iteration, m)


CASES = [
    *known("ratcheted session", RatchetedSession, "no mask comes twice", **SAFE),
    *known("counted session", CountedSession, "no mask comes twice", **SAFE),
    *known("generators go on", GeneratorsGoOn, "no mask comes twice", **SAFE),
    *known("salted session", SaltedSession, "a fresh salt for every call", **SAFE),
]
