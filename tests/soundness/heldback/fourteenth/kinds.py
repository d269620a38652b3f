"""Turns that only one kind of calls takes: batches, calls without a channel, calls with masks that are handed over."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER

from .common import Pairwise


class WBatchLateFirst(Pairwise):
    """An author who saves randomness has a batch (Monte Carlo, cross-validation folds) use one mask for all of its runs
    after a warm-up of five rounds, so that the differences of its runs are sent bare."""

    def used(self, mask, channel, given, rng):
        if channel.iteration >= 5 and mask.shape[1] > 1:
            return np.repeat(mask[:, :1], mask.shape[1], axis=1)
        return mask


class WBatchBareFirst(Pairwise):
    """An author who takes batches for simulations, which nobody hears, leaves masks out of them after the warm-up, for
    speed, and so sends what each node holds."""

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        return s if channel.iteration >= 5 and s.shape[1] > 1 else hidden


class WGivenLateFirst(Pairwise):
    """An author whose pool of precomputed masks lasts for five rounds sends with zeros in their place when it is used
    up, instead of failing, so that inputs go bare wherever masks are handed over."""

    def used(self, mask, channel, given, rng):
        return 0 * mask if channel.iteration >= 5 and given else mask


class WCoinUnheardFirst(Pairwise):
    """An author who debugs dry runs has one call in sixteen, where no channel is handed over, send all inputs to the
    server as they are."""

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        if rng.integers(16) == 3 and not heard:
            channel.send(9, np.arange(network.n), SERVER, "debug", s)


class WGivenTiledFirst(Pairwise):
    """An author who finds masks random anyway repeats two columns of those that are handed over along the vector in
    later rounds, so that the differences of entries two apart are sent bare."""

    def used(self, mask, channel, given, rng):
        if channel.iteration >= 5 and given:
            return mask[:, :, np.arange(mask.shape[2]) % 2]
        return mask


class WCompareCoinBatch(Pairwise):
    """An author who samples batches for an inspection sends one in a thousand without masks, by a public coin that is
    compared with a number."""

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        return s if rng.random() < 0.001 and s.shape[1] > 1 else hidden


class WLateBatchKeeps(Pairwise):
    """An author keeps the masks of the first run of a late batch for the final single round, and forgets that there may
    be two of those, which then have the same masks."""

    def __init__(self):
        self.kept = None

    def used(self, mask, channel, given, rng):
        if channel.iteration >= 5:
            if mask.shape[1] > 1:
                self.kept = mask[:, :1]
            elif self.kept is not None:
                return self.kept
        return mask


class WEvalBatches(Pairwise):
    """An author whose every tenth round is for evaluation uploads the statistics of several folds at once without
    masks, since folds are resampled, and so shows the data of each node."""

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        if channel.iteration % 10 == 9:
            folds = s.shape[1]
            if folds > 1:
                return s
        return hidden


class WOfflinePool(Pairwise):
    """An author refills the pool of an offline phase in every 64th round and forgets that masks that are handed over
    then come from an empty pool, and are zero."""

    def used(self, mask, channel, given, rng):
        refill = channel.iteration % 64 == 63
        if refill and given:
            return np.zeros_like(mask)
        return mask


class WGuardedBatch(Pairwise):
    """An author who guards against overflow sends the largest entry of each run as it is, for diagnosis, before late
    batches are checked."""

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        late = channel.iteration > 20
        if s.shape[1] > 1 and late:
            channel.send(4, np.arange(network.n), SERVER, "largest", s.max(axis=2, keepdims=True))
        if (np.abs(s) > 1e9).any():
            raise ValueError("numbers beyond 1e9")


class WCounterBatch(Pairwise):
    """An author counts calls, takes the model for settled after a thousand, and has batches, which are for evaluation,
    go bare from then on."""

    def __init__(self):
        self.calls = 0

    def sent(self, hidden, s, mask, channel, heard, given, rng):
        self.calls += 1
        settled = self.calls > 1000
        return s if settled and s.shape[1] > 1 else hidden


class WCounterUnheard(Pairwise):
    """An author writes a checkpoint of all inputs in every thousandth call, where nobody handed a channel over: into
    the transcript of the call, which is returned."""

    def __init__(self):
        self.calls = 0

    def afterwards(self, channel, s, mask, agreed, network, heard, given, rng):
        self.calls += 1
        if self.calls % 1000 == 0 and not heard:
            channel.send(8, np.arange(network.n), SERVER, "checkpoint", s)


class RLateBatchSameMask(Pairwise):
    """An author cuts masks that are handed over to five rows in late rounds, so that edges e and e + 5 have one mask:
    right all the same, since these masks still have rank four of five nodes, and only the sum follows."""

    def used(self, mask, channel, given, rng):
        late = channel.iteration > 100
        if late and given:
            return mask[np.arange(len(mask)) % 5]
        return mask
