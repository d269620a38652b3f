"""Slips of simulations, where one array holds all nodes."""

import numpy as np

from secmix.transcript import SERVER

from .common import publish
from .more import Seeds, start


class W55_ScaleOfAll(Seeds):
    """WRONG: (of R29) each node is to scale by the largest entry of all, which the simulation takes of the whole array: no message
    brings it to a node or to the server. A deployment has to tell it: the server uses it, so it knows somebody's largest
    number."""

    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        top = np.abs(x).max(axis=(1, 2), keepdims=True)
        y = np.rint(x / np.maximum(top, 1e-9) * 2**30).astype(np.int64).astype(np.uint64).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            for r in range(runs):
                y[u, r] += np.random.default_rng(seeds[r, e]).integers(0, 2**64, m, dtype=np.uint64)
                y[v, r] -= np.random.default_rng(copies[e, r]).integers(0, 2**64, m, dtype=np.uint64)
        got = channel.send(0, np.arange(n), SERVER, "scaled", y)
        total = got.sum(axis=0, dtype=np.uint64).view(np.int64)
        return publish(channel, 1, total * top[:, 0] / 2**30 / n, n), channel.transcript


class W56_KeepKeysOfRuns(Seeds):
    """WRONG, as W46: a pair's generator seeds are kept in a table by (edge, run) in the object, and streams are made of (seed,
    iteration): a second fit wears the masks of the first."""

    audited = {"a": "server"}

    def __init__(self):
        self.cache = {}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        y = np.rint(x * 2**24).astype(np.int64).astype(np.uint64).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges.tolist()):
            for r in range(runs):
                if (e, r) not in self.cache:
                    self.cache[e, r] = seeds[r, e]
                p = np.random.default_rng([*self.cache[e, r], channel.iteration]).integers(0, 2**64, m, dtype=np.uint64)
                y[u, r] += p
                y[v, r] -= p
        got = channel.send(0, np.arange(n), SERVER, "y", y)
        total = got.sum(axis=0, dtype=np.uint64).view(np.int64)
        return publish(channel, 1, total / 2**24 / n, n), channel.transcript
