"""Share what these protocols are built on: a right pairwise sum with steps to override, and fixed point words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secmix.transcript import SERVER, Channel

U64 = np.uint64
BEFORE_SERVER = {"a": "server", "n": 5}


class Pairwise:
    """A pairwise sum with a server (Bonawitz et al. 2017), with steps to override."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        heard = channel is not None
        channel = channel or Channel()
        given = masks is not None
        if masks is None:
            masks = self.draw_masks(s.shape[1], s.shape[2], network, rng)
        mask, nodes, (first, second) = masks.transpose(1, 0, 2), np.arange(network.n), network.edges.T
        mask = self.used(mask, channel, given, rng)
        s = self.scaled(s)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, first, "mask", mask)
        agreed = channel.send(-1, first, second, "mask", mask, encrypted=True)
        hidden = s.copy()
        np.add.at(hidden, first, mask)
        np.subtract.at(hidden, second, agreed)
        received = channel.send(0, nodes, SERVER, "masked", self.sent(hidden, s, mask, channel, heard, given, rng))
        self.afterwards(channel, s, mask, agreed, network, heard, given, rng)
        mean = self.unscaled(received.mean(axis=0)[None])
        mean = channel.send(1, SERVER, nodes, "average", mean, content=np.zeros(network.n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript

    def used(self, mask, channel, given, rng):
        return mask

    def scaled(self, s):
        return s

    def unscaled(self, mean):
        return mean

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        return hidden

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng): ...


class Aligned(Pairwise):
    """The pairwise sum with a step before masks."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(s.shape[1], s.shape[2], network, rng)
        mask, nodes, (first, second) = masks.transpose(1, 0, 2), np.arange(network.n), network.edges.T
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, first, "mask", mask)
        agreed = channel.send(-1, first, second, "mask", mask, encrypted=True)
        hidden = self.aligned(s, channel)
        np.add.at(hidden, first, mask)
        np.subtract.at(hidden, second, agreed)
        received = channel.send(0, nodes, SERVER, "masked", hidden)
        mean = received.mean(axis=0)[None]
        mean = channel.send(1, SERVER, nodes, "average", mean, content=np.zeros(network.n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript


@dataclass(frozen=True)
class FixedPoint:
    """Fixed point codec of 64 bit words."""

    fraction: int = 24

    def encode(self, x):
        return np.rint(np.clip(x, -(2.0**20), 2.0**20) * 2.0**self.fraction).astype(np.int64).view(U64)

    def decode(self, words, n):
        return words.view(np.int64).astype(float) / 2.0**self.fraction / n


def prepare(protocol, inputs, network, rng, masks, channel):
    """Inputs and masks with nodes or edges first, and a channel."""
    s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
    if masks is None:
        masks = protocol.draw_masks(s.shape[1], s.shape[2], network, rng)
    return s, np.moveaxis(np.asarray(masks), 0, 1), channel or Channel()


def release(channel, network, mean):
    """The server sends the mean (1, runs, m) to all nodes."""
    mean = channel.send(9, SERVER, np.arange(network.n), "average", mean, content=np.zeros(network.n, dtype=int))
    return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript
