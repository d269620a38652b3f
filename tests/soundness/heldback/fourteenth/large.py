"""For the way that proofs of large protocols go: rows stay in tables, and go wrong in late rounds or large batches."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import BEFORE_SERVER, Pairwise


class WFemtoLate(Pairwise):
    """An author who sends data in femto-units refreshes masks with both signs at both ends from the eleventh round on,
    so that all cancel in each upload."""

    large = True

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e22, size=(runs, len(network.edges), m))

    def scaled(self, s):
        return s * 1e15

    def unscaled(self, mean):
        return mean / 1e15

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        if channel.iteration >= 10:
            hidden = hidden - (hidden - s)
        return hidden


class RTabled:
    """An author writes rows of the pairwise sum (Bonawitz et al. 2017) one by one, which is right: all pairs have masks
    of their own."""

    SCALE, SIGMA = 1.0, 1e6
    audited = BEFORE_SERVER
    large = True

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=self.SIGMA, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(s.shape[1], s.shape[2], network, rng)
        mask, nodes, (first, second) = masks.transpose(1, 0, 2), np.arange(network.n), network.edges.T
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, first, "mask", mask)
        agreed = channel.send(-1, first, second, "mask", mask, encrypted=True)
        s = s * self.SCALE
        hidden = s.copy()
        for e, (i, j) in enumerate(network.edges.tolist()):
            hidden[i] = hidden[i] + mask[e]
            hidden[j] = hidden[j] - agreed[e]
        hidden = self.sent(hidden, s, channel, mask, agreed, network)
        received = channel.send(0, nodes, SERVER, "masked", hidden)
        total = (received.sum(axis=0) / (network.n * self.SCALE)).reshape(1, *s.shape[1:])
        mean = channel.send(1, SERVER, nodes, "average", total, content=np.zeros(network.n, dtype=int))
        ends = np.zeros(s.shape)
        ends[...] = mean
        return ends.transpose(1, 0, 2), channel.transcript

    def sent(self, hidden, s, channel, mask, agreed, network):
        return hidden


class WTabledFemto(RTabled):
    """An author who sends data in femto-units takes masks off again before the upload from the eleventh round on, the
    settled phase, and so sends what each node holds."""

    SCALE, SIGMA = 1e15, 1e21

    def sent(self, hidden, s, channel, mask, agreed, network):
        if channel.iteration >= 10:
            for e, (i, j) in enumerate(network.edges.tolist()):
                hidden[i] = hidden[i] - mask[e]
                hidden[j] = hidden[j] + agreed[e]
        return hidden


class WTabledFemtoOneMask(RTabled):
    """An author who sends data in femto-units loses the index of a loop from the eleventh round on, so that each node
    adds and subtracts one mask alike, and sends what it holds."""

    SCALE, SIGMA = 1e15, 1e21

    def sent(self, hidden, s, channel, mask, agreed, network):
        if channel.iteration >= 10:
            hidden = s.copy()
            for e, (i, j) in enumerate(network.edges.tolist()):
                hidden[i] = hidden[i] + mask[e]
                hidden[i] = hidden[i] - mask[e]
                hidden[j] = hidden[j] - agreed[e]
                hidden[j] = hidden[j] + agreed[e]
        return hidden


class WTabledMega(WTabledFemto):
    """An author who sends data in units of 1e-13 behind masks of 1e19 takes masks off again before the upload from the
    eleventh round on, and so sends what each node holds."""

    SCALE, SIGMA = 1e13, 1e19


class WScheduled(RTabled):
    """An author lets masks follow the noise schedule of the optimiser, from 1e6 to 1e-3 after ten rounds, so that they
    hide nothing of data whose spread is one."""

    def draw_masks(self, runs, m, network, rng, round_=0):
        sigma = 1e6 if round_ < 10 else 1e-3
        return rng.normal(scale=sigma, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        if masks is None:
            runs, _, m = np.shape(inputs)
            masks = self.draw_masks(runs, m, network, rng, channel.iteration)
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class WUniformLate(WScheduled):
    """An author draws cheaper masks from the eleventh round on, uniform ones of the size of the updates, so that they
    hide nothing of data whose spread is one."""

    def draw_masks(self, runs, m, network, rng, round_=0):
        shape = (runs, len(network.edges), m)
        if round_ < 10:
            return rng.normal(scale=1e6, size=shape)
        return rng.uniform(-0.01, 0.01, size=shape)


class WBatchSigma(RTabled):
    """An author who sweeps privacy levels spaces the masks of a batch of eight runs or more from 1e6 to 1e-3, so that
    its last runs have nearly none."""

    def draw_masks(self, runs, m, network, rng):
        levels = np.geomspace(1e6, 1e-3, runs) if runs >= 8 else np.full(runs, 1e6)
        return rng.normal(scale=levels[:, None, None], size=(runs, len(network.edges), m))
