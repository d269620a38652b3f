"""Names and check values of keys, from which masks follow by the way in which a function shortens its key."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix.transcript import SERVER

from ..fifteenth.common import FOUR, U64, WordSum, agree, begin, decode, encode, release


class Named(WordSum):
    """A pairwise sum of words, of which each pair names its key to the server, and derives masks of it."""

    audited = FOUR
    words = 4  # of a key

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), self.words), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, keys, channel = begin(self, inputs, network, rng, masks, channel)
        other, m = agree(channel, network, keys), s.shape[2]
        names = [[np.frombuffer(self.name(key.tobytes()), U64) for key in of_edge] for of_edge in keys]
        channel.send(0, network.edges[:, 0], SERVER, "name of a key", np.stack([np.stack(each) for each in names]))
        hidden = encode(s)
        for e, (a, b) in enumerate(network.edges):
            for run in range(s.shape[1]):
                hidden[a, run] += np.frombuffer(self.derive(keys[e, run].tobytes(), 8 * m), U64)
                hidden[b, run] -= np.frombuffer(self.derive(other[e, run].tobytes(), 8 * m), U64)
        up = channel.send(1, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)

    def name(self, key):
        return hashlib.sha256(key).digest()

    def derive(self, key, length):
        derived = hmac.new(key, bytes([0]), hashlib.sha256).digest()
        for k in range(1, -(-length // 32)):
            derived = derived + hmac.new(key, bytes([k]), hashlib.sha256).digest()
        return derived[:length]


class WNameOfLongKey(Named):
    """Name keys of 72 bytes by their digest, and derive masks by HMAC, which makes that digest of a key of more than
    64 bytes first: the server has it, and takes the masks off each node's data in each call."""

    words = 9


class WCheckValue(Named):
    """Tell the server HMAC of each key by a key of zeros for a check value, and derive masks by HKDF without salt,
    whose first step is just that: the server takes the second, and the masks off each node's data in each call."""

    def name(self, key):
        return hmac.new(bytes(32), key, hashlib.sha256).digest()

    def derive(self, key, length):
        return HKDF(hashes.SHA256(), length, None, b"mask").derive(key)
