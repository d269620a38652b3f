"""Share what these protocols are built on: pairwise sums of floats and of words, with steps to override."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER, Channel

U64 = np.uint64
FIVE = {"a": "server", "n": 5}
FOUR = {"a": "server", "n": 4}
THREE = {"a": "server", "n": 3}
_UNIT, _MOST = 2.0**24, 2.0**20


def encode(x):
    """Write numbers as words of 64 bits in fixed point."""
    return np.rint(np.clip(x, -_MOST, _MOST) * _UNIT).astype(np.int64).view(U64)


def decode(words):
    """Read numbers of words in fixed point."""
    return words.view(np.int64).astype(float) / _UNIT


def begin(protocol, inputs, network, rng, masks, channel):
    """Return inputs with nodes first, masks with edges or nodes first, and a channel; nodes hold their inputs."""
    s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
    channel = channel or Channel()
    if masks is None:
        masks = protocol.draw_masks(s.shape[1], s.shape[2], network, rng)
    channel.hold(-1, np.arange(network.n), "input", s)
    return s, np.moveaxis(np.asarray(masks), 0, 1), channel


def agree(channel, network, r):
    """Let the first end of each edge hold its mask, and send it to the second, which reads what is returned."""
    first, second = network.edges.T
    channel.hold(-1, first, "mask", r)
    return channel.send(-1, first, second, "mask", r, encrypted=True)


def release(channel, network, mean):
    """Let the server send the mean (1, runs, m) to all nodes, and return what ``average`` returns."""
    mean = channel.send(9, SERVER, np.arange(network.n), "average", mean, content=np.zeros(network.n, dtype=int))
    return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript


class PairSum:
    """A pairwise sum of floats (Bonawitz et al. 2017) with a server."""

    audited = FIVE

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        given = masks is not None
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, r)
        hidden = self.hidden(s, r, other, network, channel, given)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, up.mean(axis=0, keepdims=True))

    def hidden(self, s, r, other, network, channel, given):
        return s + self.pads(r, other, network)

    def pads(self, r, other, network):
        total = np.zeros((network.n, *r.shape[1:]))
        np.add.at(total, network.edges[:, 0], r)
        np.subtract.at(total, network.edges[:, 1], other)
        return total


class WordSum:
    """The same of words of 64 bits, in fixed point."""

    audited = FIVE

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        given = masks is not None
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, r)
        hidden = self.hidden(s, r, other, network, channel, given)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)

    def hidden(self, s, r, other, network, channel, given):
        hidden = encode(s)
        for e, (a, b) in enumerate(network.edges):
            hidden[a] += r[e]
            hidden[b] -= other[e]
        return hidden


class Pooled:
    """A pairwise sum that keeps a pool of masks for all rounds, and makes the mask of each round of it."""

    audited = THREE
    reuses_masks = True
    pool = 4

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), self.pool * m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, r)
        hidden, m = s.copy(), s.shape[2]
        turn = self.turn(channel, rng)
        for e, (a, b) in enumerate(network.edges):
            hidden[a] += self.of_round([r[e][:, k * m : (k + 1) * m] for k in range(self.pool)], turn)
            hidden[b] -= self.of_round([other[e][:, k * m : (k + 1) * m] for k in range(self.pool)], turn)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, up.mean(axis=0, keepdims=True))

    def turn(self, channel, rng):
        return channel.iteration % 4
