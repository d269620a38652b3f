"""Weights that nearly agree, or are nearly nothing: several rounds on the same data tell what each node holds."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import BEFORE_SERVER, U64, Aligned, Pairwise


class WSlightWeights(Aligned):
    """An author who breaks ties has each vector count 1 + 1e-7 times a public number of the round, so that rounds on
    the same data give slightly different sums, and six of them what each node holds."""

    JITTER = (
        np.array(
            [
                [0, 0, 0, 0, 0],
                [0, 0, 0, 0, 0],
                [1, 0, 0, 0, 0],
                [0, 1, 0, 0, 0],
                [0, 0, 1, 0, 0],
                [0, 0, 0, 1, 0],
                [0, 0, 0, 0, 1],
                [1, 1, 0, 0, 0],
            ]
        )
        * 1e-7
    )

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e3, size=(runs, len(network.edges), m))

    def aligned(self, s, channel):
        return s * (1 + self.JITTER[channel.iteration % 8])[:, None, None]


class WRemainderReal(Aligned):
    """An author rounds equal weights to units of 2**-26 that add up to one and rotates who gets the units left over, so
    that rounds on the same data differ by what the nodes hold."""

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e3, size=(runs, len(network.edges), m))

    def aligned(self, s, channel):
        base, more = divmod(2**26, 5)
        units = np.array([[base + ((k + round_) % 5 < more) for k in range(5)] for round_ in range(5)]) / 2.0**26
        return s * (5 * units[channel.iteration % 5])[:, None, None]


class WRotatingRemainder:
    """An author of fixed point weights that must add up to 2**26 rotates which of five nodes goes without a unit left
    over, so that rounds on the same data differ by the difference of two nodes' words."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(s.shape[1], s.shape[2], network, rng)
        r, nodes, (i, j) = masks.transpose(1, 0, 2), np.arange(network.n), network.edges.T
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, i, "mask", r)
        other = channel.send(-1, i, j, "mask", r, encrypted=True)
        base, more = divmod(2**26, network.n)
        units = np.array([[base + ((k + round_) % network.n < more) for k in nodes] for round_ in nodes], dtype=U64)
        words = np.rint(s * 2**16).astype(np.int64).astype(U64) * units[channel.iteration % 5][:, None, None]
        np.add.at(words, i, r)
        np.subtract.at(words, j, other)
        up = channel.send(0, nodes, SERVER, "masked", words)
        mean = up.sum(axis=0)[None].astype(np.int64) / 2.0**42
        mean = channel.send(1, SERVER, nodes, "average", mean, content=np.zeros(network.n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript


class WEpsilonWeights(Aligned):
    """An author gives a node that is switched off a weight of 1e-9 in even rounds and of 1e-10 in odd ones, two code
    paths that shun a division by zero, so that two rounds on the same data tell what it holds."""

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e3, size=(runs, len(network.edges), m))

    def aligned(self, s, channel):
        weights = np.array([[1e-9, 1, 1, 1, 1], [1e-10, 1, 1, 1, 1]])[channel.iteration % 2]
        return s * weights[:, None, None]


class WNinthDigit(Aligned):
    """An author breaks ties by learning rates that differ from one by 1e-9 times a power of the rank, in four rounds of
    six, so that rounds on the same data tell what each node holds."""

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e2, size=(runs, len(network.edges), m))

    def aligned(self, s, channel):
        k = channel.iteration % 6
        weights = np.ones((6, 5))
        for r in range(2, 6):
            weights[r] += 1e-9 * np.array([1, 2, 3, 4, 5.0]) ** (r - 1)
        return s * weights[k][:, None, None]


class WArchiveKey(Pairwise):
    """An author archives each vector at the server under a one-time pad of 1e14 times normal draws, and deposits the
    pads there too from the fourth round on, with which it takes them off."""

    PAD = 1e14

    def draw_masks(self, runs, m, network, rng):
        return rng.standard_normal((runs, len(network.edges) + network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(s.shape[1], s.shape[2], network, rng)
        edges, nodes, (first, second) = len(network.edges), np.arange(network.n), network.edges.T
        masks = masks.transpose(1, 0, 2)
        mask, pad = 1e6 * masks[:edges], self.PAD * masks[edges:]
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, first, "mask", mask)
        channel.hold(-1, nodes, "pad", pad)
        agreed = channel.send(-1, first, second, "mask", mask, encrypted=True)
        hidden = s.copy()
        np.add.at(hidden, first, mask)
        np.subtract.at(hidden, second, agreed)
        received = channel.send(0, nodes, SERVER, "masked", hidden)
        channel.send(0, nodes, SERVER, "archive", s + pad)
        if channel.iteration >= 3:
            channel.send(0, nodes, SERVER, "escrow", pad)
        mean = received.mean(axis=0)[None]
        mean = channel.send(1, SERVER, nodes, "average", mean, content=np.zeros(network.n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript


class WArchiveKeyOfTrillions(WArchiveKey):
    """An author archives each vector under a pad of 1e12 times normal draws, and deposits the pads with the server from
    the fourth round on, with which it takes them off."""

    PAD = 1e12


class WArchiveKeyBetween(WArchiveKey):
    """An author archives each vector under a pad of 3e13 times normal draws, and deposits the pads with the server from
    the fourth round on, with which it takes them off."""

    PAD = 3e13
