"""Sessions that outlive a fit: keys kept by the object, labels that begin again with each fit."""

import hashlib
import secrets
import struct

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import fixed64, publish, unfixed64
from .keys import R03_ChaChaSession


class W46_KeysNeverRenewed(R03_ChaChaSession):
    """WRONG: (of R03) keys are made when there are none, and kept for the life of the object, while the nonce is the iteration of
    the fit. A second fit of the object wears the masks of the first: the server subtracts iteration t of the one from that of
    the other, and learns how each node's vector differs."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        if self._keys is None or len(self._keys) < runs * len(network.edges):
            self.setup(runs, network)
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        y = fixed64(x).transpose(1, 0, 2).copy()
        for a, b in network.edges:
            p = np.stack([self.mask(self._keys[r, int(a), int(b)], channel.iteration, m) for r in range(runs)])
            channel.hold(-1, int(a), "pair mask", p)
            channel.hold(-1, int(b), "pair mask", p)
            y[a] += p
            y[b] -= p
        got = channel.send(0, np.arange(n), SERVER, "y", y)
        return publish(channel, 1, unfixed64(got.sum(0, dtype=np.uint64)) / n, n), channel.transcript


class W47_KeysOfInit:
    """WRONG: keys are made in __init__ and labels are (iteration, run): the same in each fit of the object, as in W46."""

    audited = {"a": "server"}

    def __init__(self, clients=4):
        self.keys = {(a, b): secrets.token_bytes(32) for a in range(clients) for b in range(a + 1, clients)}

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def stream(self, key, iteration, run, m):
        return np.frombuffer(hashlib.shake_256(key + struct.pack(">QQ", iteration, run)).digest(8 * m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        y = fixed64(x).transpose(1, 0, 2).copy()
        for (a, b), key in self.keys.items():
            p = np.stack([self.stream(key, channel.iteration, r, m) for r in range(runs)])
            channel.hold(-1, [a, b], "pair mask", np.stack([p, p]))
            y[a] += p
            y[b] -= p
        got = channel.send(0, np.arange(n), SERVER, "y", y)
        return publish(channel, 1, unfixed64(got.sum(0, dtype=np.uint64)) / n, n), channel.transcript


class W48_GeneratorOfInit(W47_KeysOfInit):
    """WRONG: keys are words of NumPy's generator, drawn in __init__; labels begin again in each fit, as in W46."""

    def __init__(self, clients=4):
        words = np.random.default_rng()
        self.keys = {(a, b): words.bytes(32) for a in range(clients) for b in range(a + 1, clients)}


class W49_KeyOfTheConfiguration(W47_KeysOfInit):
    """WRONG: keys are made of a literal in the configuration, which is in the repository: everybody expands all masks."""

    def __init__(self, clients=4, secret="change-me"):
        self.keys = {
            (a, b): hashlib.sha256(f"{secret}/{a}/{b}".encode()).digest()
            for a in range(clients)
            for b in range(a + 1, clients)
        }


class W50_GeneratorKept:
    """WRONG: each pair keeps a generator from fit to fit, and reset() copies what it was at first ("reproducible fits"): masks of
    iteration t are the same in each fit."""

    audited = {"a": "server"}

    def __init__(self, clients=4):
        self.entropy = {(a, b): secrets.randbits(128) for a in range(clients) for b in range(a + 1, clients)}
        self.streams = {}

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        if channel.iteration == 0:
            self.streams = {pair: np.random.default_rng(entropy) for pair, entropy in self.entropy.items()}
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        y = fixed64(x).transpose(1, 0, 2).copy()
        for (a, b), stream in self.streams.items():
            p = stream.integers(0, 2**64, size=(runs, m), dtype=np.uint64)
            channel.hold(-1, [a, b], "pair mask", np.stack([p, p]))
            y[a] += p
            y[b] -= p
        got = channel.send(0, np.arange(n), SERVER, "y", y)
        return publish(channel, 1, unfixed64(got.sum(0, dtype=np.uint64)) / n, n), channel.transcript
