"""Batches: keys without the round, and last chunks of later rounds."""

from __future__ import annotations

import hashlib
import itertools
import struct

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import THREE, U64, PairSum, WordSum, agree, begin, decode, encode, release


class WFoldsWithoutRound:
    """Expand pair seeds of a fit by the round, and those of several folds, which are evaluated once, by zero: two
    evaluations have the same masks, so the server learns how the data of each node changed in each fold."""

    audited = THREE
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, seeds, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, seeds)
        label = self.label(channel, s.shape[1])
        hidden = encode(s)
        for e, (a, b) in enumerate(network.edges):
            for run in range(s.shape[1]):
                hidden[a, run] += self.expand(seeds[e, run], label, s.shape[2])
                hidden[b, run] -= self.expand(other[e, run], label, s.shape[2])
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)

    def label(self, channel, runs):
        return channel.iteration if runs == 1 else 0

    def expand(self, seed, label, m):
        return np.random.default_rng([*seed, label]).integers(0, 2**64, size=m, dtype=U64)


class WPairsLate(PairSum):
    """Mask two folds at a time from the sixth round on, where kernels are warm: the last of an odd number of folds has
    no partner, and is sent bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if channel.iteration < 5 or s.shape[1] == 1:
            return s + pads
        hidden = s.copy()
        for run in range(0, s.shape[1] - 1, 2):
            hidden[:, run : run + 2] += pads[:, run : run + 2]
        return hidden


class WReplay(PairSum):
    """Keep uploads plain in a replay, which has masks handed over and nobody on the line: the transcript that is
    returned has the data of each node, and the server reads it."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        is_replay = channel is None and masks is not None
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, r)
        hidden = s if is_replay else s + self.pads(r, other, network)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, up.mean(axis=0, keepdims=True))


class WPrecomputedFolds(PairSum):
    """Give the folds of a batch, from the fifth round on, the mask of the first where masks were precomputed, since a
    batch is one upload: the differences of folds are sent bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if given and channel.iteration >= 4 and s.shape[1] > 1:
            pads = np.repeat(pads[:, :1], s.shape[1], axis=1)
        return s + pads


class RSeedsOfFit(WFoldsWithoutRound):
    """Expand pair seeds of a fit by the round, in single runs and folds alike, which is right: no two rounds have the
    same label."""

    def label(self, channel, runs):
        return channel.iteration


class WFoursLate(PairSum):
    """Mask four folds at a time from the ninth round on: the rest of a batch that is no multiple of four is left to the
    next chunk, which never comes, and goes bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads, runs = self.pads(r, other, network), s.shape[1]
        if channel.iteration < 8 or runs < 4:
            return s + pads
        hidden = s.copy()
        for chunk in range(runs // 4):
            part = slice(4 * chunk, 4 * chunk + 4)
            hidden[:, part] = s[:, part] + pads[:, part]
        return hidden


class WHalvesLate(PairSum):
    """Give each half of a batch to a worker from the third round on, by halves of its length: the last fold of an odd
    number is in neither, and goes bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads, half = self.pads(r, other, network), s.shape[1] // 2
        if channel.iteration < 2 or not half:
            return s + pads
        hidden = s.copy()
        for begin_ in (0, half):
            hidden[:, begin_ : begin_ + half] += pads[:, begin_ : begin_ + half]
        return hidden


class WGrouperByLot(PairSum):
    """Pair folds by zip, which drops the odd one, where a public lot asks for antithetic estimates: it goes bare to the
    server."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, r)
        hidden, pads, is_paired = s.copy(), self.pads(r, other, network), rng.integers(8) == 5 and s.shape[1] > 1
        pairs = zip(*[iter(range(s.shape[1]))] * 2) if is_paired else [range(s.shape[1])]
        for run in itertools.chain.from_iterable(pairs):
            hidden[:, run] += pads[:, run]
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, up.mean(axis=0, keepdims=True))


class WFoldsOfShake(WFoldsWithoutRound):
    """Derive the masks of folds by SHAKE of the pair's seed and a label that has the round in single runs, and zero in
    batches, since folds are of one round: the second batch has the masks of the first, and the server subtracts."""

    def expand(self, seed, label, m):
        shake = hashlib.shake_256(seed.tobytes() + struct.pack(">Q", label))
        return np.frombuffer(shake.digest(8 * m), U64)


class WFoldsOfPads(WordSum):
    """Draw the pads of a fit once and mix in the round by a generator of the first pad, but for batches, which take
    pads as they are, as in round 0: two batches have the same, and the server subtracts."""

    audited = THREE
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, seeds, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, seeds)
        when = 0 if s.shape[1] > 1 else channel.iteration
        hidden = encode(s)
        for e, (a, b) in enumerate(network.edges):
            for run in range(s.shape[1]):
                mine, theirs = (np.random.default_rng([*each[e, run], when]) for each in (seeds, other))
                hidden[a, run] += mine.integers(0, 2**64, size=s.shape[2], dtype=U64)
                hidden[b, run] -= theirs.integers(0, 2**64, size=s.shape[2], dtype=U64)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)


class WReplayAfterCrash(WordSum):
    """Write the plain words of a call into the transcript that it returns, where it makes up for one that crashed: its
    masks are handed over, and no channel is, so the server that gets the transcript reads the data of each node."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        makes_up, s = masks is not None and channel is None, np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        result, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        if makes_up:
            again = Channel()
            again.transcript = transcript
            again.send(5, np.arange(network.n), SERVER, "made up for", encode(s))
        return result, transcript
