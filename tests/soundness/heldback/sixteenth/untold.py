"""Simulations that take masks off which nobody was told: who takes them off has to know them."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER

from ..fifteenth.common import FIVE, FOUR, U64, begin, decode, encode, release


class WSelfMasksAlone:
    """Mask each upload by a word of its node's own, and let the server take each off, as it would after putting
    shares of it together, which are left out: a server that can do so reads the data of each node in each call."""

    audited = FIVE

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "mask", r)
        up = channel.send(0, nodes, SERVER, "masked", encode(s) + r)
        opened = up - r
        return release(channel, network, decode(opened.sum(axis=0, keepdims=True)) / network.n)


class WSeedsAtServer:
    """Have the server expand the seed of each node again, to take its mask off, though no message brings it the seed:
    a server that can do so reads the data of each node in each call."""

    audited = FOUR

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, seeds, channel = begin(self, inputs, network, rng, masks, channel)
        nodes, m = np.arange(network.n), s.shape[2]
        channel.hold(-1, nodes, "seed", seeds)
        up = channel.send(0, nodes, SERVER, "masked", encode(s) + self.expanded(seeds, m))
        total = (up - self.expanded(seeds, m)).sum(axis=0, keepdims=True)
        return release(channel, network, decode(total) / network.n)

    def expanded(self, seeds, m):
        rows = [[np.random.default_rng(seed).integers(0, 2**64, size=m, dtype=U64) for seed in node] for node in seeds]
        return np.stack([np.stack(node) for node in rows])


class WAggregatorUnmasks:
    """Let node 0 collect what the others mask by words of their own, and take each word off before it adds up: no
    message brings it a word, and where it has them it reads the data of each node in each call."""

    audited = {"a": "0", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        nodes, words = np.arange(network.n), encode(s)
        channel.hold(-1, nodes[1:], "mask", r[1:])
        got = channel.send(0, nodes[1:], 0, "masked", words[1:] + r[1:])
        total = words[0] + (got - r[1:]).sum(axis=0)
        mean = decode(total[None]) / network.n
        mean = channel.send(1, 0, nodes, "average", mean, content=np.zeros(network.n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript


class WHelperUnmasks:
    """Have node 1 help the server: it is forwarded the uploads, takes off each node's word, which no message brings
    it, and tells the sum; where it has the words it reads the data of each node in each call."""

    audited = {"a": "1", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "mask", r)
        up = channel.send(0, nodes, SERVER, "masked", encode(s) + r, encrypted=True)
        up = channel.send(1, SERVER, np.ones(network.n, dtype=int), "forwarded", up, encrypted=True)
        opened = up - r
        total = channel.send(2, 1, SERVER, "sum", opened.sum(axis=0), encrypted=True)
        return release(channel, network, decode(total[None]) / network.n)
