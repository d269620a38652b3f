"""Masks that are given away, or taken again, or of a wrong size."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import BEFORE_SERVER, Pairwise


class WHugeSigmaRecovered(Pairwise):
    """An author who wants more than enough hiding scales normal draws by 1e14, and has each first end upload its masks
    from the fourth round on, to recover late dropouts, of those who stayed too."""

    SIGMA = 1e14

    def draw_masks(self, runs, m, network, rng):
        return self.SIGMA * rng.standard_normal((runs, len(network.edges), m))

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        if channel.iteration >= 3:
            channel.send(2, network.edges[:, 0], SERVER, "recovery", mask)


class WHugeSigmaRecoveredAlways(Pairwise):
    """An author who scales normal draws by 1e14 has each first end upload its masks in every round, to recover
    dropouts, of those who stayed too."""

    SIGMA = 1e14

    def draw_masks(self, runs, m, network, rng):
        return self.SIGMA * rng.standard_normal((runs, len(network.edges), m))

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        channel.send(2, network.edges[:, 0], SERVER, "recovery", mask)


class WSelfMaskHuge:
    """An author of a two-phase upload has each node send what it hides behind 1e14 times a normal draw, and then the
    mask itself, instead of a sum over all."""

    SIGMA = 1e14
    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.standard_normal((runs, network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(s.shape[1], s.shape[2], network, rng)
        r, nodes = masks.transpose(1, 0, 2) * self.SIGMA, np.arange(network.n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "mask", r)
        up = channel.send(0, nodes, SERVER, "masked", s + r)
        off = channel.send(1, nodes, SERVER, "mask", r)
        mean = ((up - off).sum(axis=0) / network.n)[None]
        mean = channel.send(2, SERVER, nodes, "average", mean, content=np.zeros(network.n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript


class WNanoUnits:
    """An author sends data in gigametres behind masks of 1e5, as before the units were changed, and each mask after
    them, with which the server takes it off."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return 1e5 * rng.standard_normal((runs, network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(s.shape[1], s.shape[2], network, rng)
        r, nodes = masks.transpose(1, 0, 2), np.arange(network.n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "mask", r)
        up = channel.send(0, nodes, SERVER, "masked", 1e-9 * s + r)
        off = channel.send(1, nodes, SERVER, "mask", r)
        mean = ((up - off).sum(axis=0) / network.n)[None] * 1e9
        mean = channel.send(2, SERVER, nodes, "average", mean, content=np.zeros(network.n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript


class WGossipRows:
    """An author who wants commitments has each node repeat its mask, 1e14 times a normal draw, to the server in sixty
    beacons as plain numbers, with which the server takes it off the upload."""

    SIGMA, ROUNDS = 1e14, 60
    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.standard_normal((runs, network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(s.shape[1], s.shape[2], network, rng)
        r, nodes = masks.transpose(1, 0, 2) * self.SIGMA, np.arange(network.n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "mask", r)
        for k in range(self.ROUNDS):
            channel.send(k, nodes, SERVER, "beacon", r)
        up = channel.send(100, nodes, SERVER, "masked", s + r)
        mean = ((up - r).sum(axis=0) / network.n)[None]
        mean = channel.send(101, SERVER, nodes, "average", mean, content=np.zeros(network.n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript


class WShortWords(Pairwise):
    """An author takes the largest integer of 32 bits for the modulus and masks words of 32 bits by draws of 31 bits,
    whose sums are not uniform."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, np.iinfo(np.int32).max, size=(runs, len(network.edges), m), dtype=np.int64)

    def scaled(self, s):
        return np.rint(s * 1000).astype(np.int64)

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        return hidden % 2**32

    def unscaled(self, mean):
        return mean / 1000


class WRolledLate(Pairwise):
    """An author who rekeys in every 64th round rolls masks by one entry and sends inputs behind them again, instead of
    drawing new ones."""

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        if channel.iteration % 64 == 63:
            hidden = s.copy()
            np.add.at(hidden, network.edges[:, 0], np.roll(mask, 1, axis=2))
            np.subtract.at(hidden, network.edges[:, 1], np.roll(agreed, 1, axis=2))
            channel.send(5, np.arange(network.n), SERVER, "again", hidden)
