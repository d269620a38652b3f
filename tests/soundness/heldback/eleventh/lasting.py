"""W46 reduced: keys made when first needed, and kept by the object, under labels that begin again with each fit."""

import os
import secrets

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import fixed64, publish, unfixed64
from .keys import R03_ChaChaSession


class W51_LazyKeysUrandom:
    """WRONG, as W46: a second fit (or a second call without a channel) wears the masks of the first. Keys by setdefault."""

    audited = {"a": "server"}

    def __init__(self):
        self.keys = {}

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def new_key(self):
        return os.urandom(32)

    def key(self, r, a, b):
        return self.keys.setdefault((r, int(a), int(b)), self.new_key())

    def mask(self, key, iteration, m):
        return R03_ChaChaSession().mask(key, iteration, m)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        y = fixed64(x).transpose(1, 0, 2).copy()
        for a, b in network.edges:
            p = np.stack([self.mask(self.key(r, a, b), channel.iteration, m) for r in range(runs)])
            channel.hold(-1, int(a), "pair mask", p)
            channel.hold(-1, int(b), "pair mask", p)
            y[a] += p
            y[b] -= p
        got = channel.send(0, np.arange(n), SERVER, "y", y)
        return publish(channel, 1, unfixed64(got.sum(0, dtype=np.uint64)) / n, n), channel.transcript


class W52_LazyKeysIf(W51_LazyKeysUrandom):
    """WRONG, as W46: with `if ... not in`, secrets."""

    def key(self, r, a, b):
        if (r, int(a), int(b)) not in self.keys:
            self.keys[r, int(a), int(b)] = secrets.token_bytes(32)
        return self.keys[r, int(a), int(b)]


class W53_FirstMasksKept:
    """WRONG, as W46: keys are those that draw_masks gave in the object's first call ("enrolment happens once")."""

    audited = {"a": "server"}

    def __init__(self):
        self.enrolled = None

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(runs, m, network, rng)
        if self.enrolled is None or len(self.enrolled) != runs:
            self.enrolled = masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-1, network.edges[:, 0], "key", self.enrolled.transpose(1, 0, 2))
        copies = channel.send(-1, *network.edges.T, "key", self.enrolled.transpose(1, 0, 2), encrypted=True)
        y = fixed64(x).transpose(1, 0, 2).copy()

        def f(k):
            return np.random.default_rng([*k, channel.iteration]).integers(0, 2**64, m, dtype=np.uint64)

        for e, (a, b) in enumerate(network.edges):
            y[a] += np.array([f(k) for k in self.enrolled[:, e]])
            y[b] -= np.array([f(k) for k in copies[e]])
        got = channel.send(0, np.arange(n), SERVER, "y", y)
        return publish(channel, 1, unfixed64(got.sum(0, dtype=np.uint64)) / n, n), channel.transcript


class W54_LenRuns(R03_ChaChaSession):
    """WRONG, as W46, with `if self._keys is None` alone (fails where a call has more runs than the first)."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        if self._keys is None:
            self.setup(2000, network)
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
