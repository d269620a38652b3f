"""The same turns, where the kind of call is asked for first, and others that hang on a public coin or the round."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER

from .common import Pairwise


class WBatchLate(Pairwise):
    """An author who saves randomness has a batch use one mask for all of its runs after a warm-up of five rounds, so
    that the differences of its runs are sent bare."""

    def used(self, mask, channel, given, rng):
        if mask.shape[1] > 1 and channel.iteration >= 5:
            return np.repeat(mask[:, :1], mask.shape[1], axis=1)
        return mask


class WBatchLateBare(Pairwise):
    """An author who takes batches for simulations, which nobody hears, uploads them without masks after the warm-up,
    for speed, and so sends what each node holds."""

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        return s if s.shape[1] > 1 and channel.iteration >= 5 else hidden


class WGivenLate(Pairwise):
    """An author whose pool of precomputed masks lasts for five rounds sends with zeros in their place when it is used
    up, instead of failing, so that inputs go bare."""

    def used(self, mask, channel, given, rng):
        return 0 * mask if given and channel.iteration >= 5 else mask


class WCoinUnheard(Pairwise):
    """An author who debugs dry runs, where no channel is handed over, has one call in sixteen send all inputs to the
    server as they are."""

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        if not heard and rng.integers(16) == 3:
            channel.send(9, np.arange(network.n), SERVER, "debug", s)


class WCoinBatch(Pairwise):
    """An author lets one public coin in eight pick a compact mode, in which the runs of a batch share the first run's
    mask, so that their differences are sent bare."""

    def used(self, mask, channel, given, rng):
        if rng.integers(8) == 3 and mask.shape[1] > 1:
            return np.repeat(mask[:, :1], mask.shape[1], axis=1)
        return mask


class WGivenTiled(Pairwise):
    """An author who finds masks random anyway repeats two columns of those that are handed over along the vector in
    later rounds, so that the differences of entries two apart are sent bare."""

    def used(self, mask, channel, given, rng):
        if given and channel.iteration >= 5:
            m = mask.shape[2]
            return mask[:, :, np.arange(m) % 2]
        return mask


class WGivenTiledNoTurn(Pairwise):
    """An author repeats two columns of masks that are handed over for one run along the vector in every round, so that
    the differences of entries two apart are sent bare."""

    def used(self, mask, channel, given, rng):
        m = mask.shape[2]
        if given and mask.shape[1] == 1 and m > 2:
            return mask[:, :, np.arange(m) % 2]
        return mask


class WMedianGuarded(Pairwise):
    """An author whose server asks for residuals has each node of a batch send half of its vector behind the masks that
    hid the whole of it, in one round of sixteen."""

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        if s.shape[1] > 1 and channel.iteration % 16 == 9:
            hidden = np.zeros_like(s)
            np.add.at(hidden, network.edges[:, 0], mask)
            np.subtract.at(hidden, network.edges[:, 1], agreed)
            channel.send(6, np.arange(network.n), SERVER, "residual", s * 0.5 + hidden)


class WCoinOneRunBatch(Pairwise):
    """An author of a cross-validation takes one fold for a control group of synthetic data, by a public coin of four
    outcomes, and uploads its first run without masks."""

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        fold = int(rng.integers(4))
        runs = s.shape[1]
        if runs >= 4 and fold == 2:
            hidden = hidden.copy()
            hidden[:, 0] = s[:, 0]
        return hidden


class WByMode(Pairwise):
    """An author who plots dry runs records all inputs as they are in half of the calls without a channel, by a public
    coin."""

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        plot = rng.random() < 0.5
        if plot and not heard:
            channel.send(9, np.arange(network.n), SERVER, "plot", s)


class WAnnounce(Pairwise):
    """An author whose single runs say hello in the first round has batches write a bare checkpoint in the eighth."""

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        if s.shape[1] == 1:
            if channel.iteration == 0:
                channel.send(5, np.arange(network.n), SERVER, "hello", np.ones((network.n, 1, 1)))
        elif channel.iteration == 7:
            channel.send(6, np.arange(network.n), SERVER, "checkpoint", s)


class WRoundParity(Pairwise):
    """An author who alternates signs to cancel a bias sends the server the masks of each second end in odd rounds of a
    batch, to take off, with which it takes off all."""

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        odd = channel.iteration % 2
        if odd and s.shape[1] > 1:
            channel.send(7, network.edges[:, 1], SERVER, "take off", agreed)


class WStreamlessWarm(Pairwise):
    """An author lets a public coin of four outcomes decide whether this is a warm start, where masks that are handed
    over count as zero, so that inputs go bare."""

    def used(self, mask, channel, given, rng):
        warm = rng.integers(4) == 0
        if warm and given:
            return 0 * mask
        return mask


class WDitherBits(Pairwise):
    """An author who dithers by a public offset from a table lets the offset take the place of the mask in batches, by a
    slip in an index, where the table's last row is picked."""

    OFFSETS = np.array([0.0, 0.25, 0.5, 0.75])

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        k = rng.integers(4)
        offset = self.OFFSETS[k]
        if k == 3 and s.shape[1] > 1:
            return s + offset
        return hidden + offset - offset
