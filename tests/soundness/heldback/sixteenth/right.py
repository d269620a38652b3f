"""Right protocols, close to the wrong ones."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from secmix.transcript import SERVER

from ..fifteenth.common import FIVE, U64, PairSum, WordSum, agree, begin, decode, encode, release
from ..fifteenth.folds import RSeedsOfFit
from .dealt import Dealt
from .folds import ByLot
from .keys import Named
from .seeded import Seeded
from .tails import Blocks


class RSeeded(Seeded):
    """Expand seeds of large words to float masks, and add these to all runs, which is right."""


class RSeededCopy(Seeded):
    """Add pads to a contiguous copy of the rows, and send the copy, which is right."""

    def hidden(self, s, r, other, network, channel, given):
        rows = np.array(s * 1.0, order="C")
        rows += self.pads(r, other, network)
        return rows


class RFourLanes(PairSum):
    """Mask four runs at a time from the sixth round on, and what is left by itself, which is right."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if channel.iteration < 5:
            return s + pads
        hidden = s.copy()
        for begin_ in range(0, s.shape[1], 4):
            hidden[:, begin_ : begin_ + 4] += pads[:, begin_ : begin_ + 4]
        return hidden


class RTensByLot(ByLot):
    """Copy pads in blocks of ten runs, the first among them, in calls that a public lot picks, which is right."""

    def picked(self, pads):
        found = np.zeros(pads.shape)
        for begin_ in range(0, pads.shape[1], 10):
            found[:, begin_ : begin_ + 10] = pads[:, begin_ : begin_ + 10]
        return found


class RDrawnInFours(PairSum):
    """Draw masks of four runs at a time where a batch is a multiple of four, which is right: each run has its own."""

    def draw_masks(self, runs, m, network, rng):
        if runs % 4 == 0:
            pages = [rng.normal(scale=1e6, size=(4, len(network.edges), m)) for _ in range(runs // 4)]
            return np.concatenate(pages)
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))


class RRounds(RSeedsOfFit):
    """Label masks by the round and, in evaluations of eight runs or more, by that they are such, which is right."""

    def label(self, channel, runs):
        return channel.iteration, int(runs >= 8)

    def expand(self, seed, label, m):
        return np.random.default_rng([*seed, *label]).integers(0, 2**64, size=m, dtype=U64)


class RDealt(Dealt):
    """Label the masks that a dealer makes by node and run, one after the other, which is right before a server that
    hears their sum alone."""


class RDealtInOne(Dealt):
    """Number masks by the node, plus the run times how many nodes there are, which is right: no two are the same."""

    def label(self, node, run, n):
        return (node + n * run,)


class RPagesOfKeystream(Dealt):
    """Give each node a page of the keystream that is as long as it needs, which is right: pages do not overlap."""

    def dealt(self, key, n, runs, m):
        stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        return np.frombuffer(stream.update(bytes(8 * n * runs * m)), U64).reshape(n, runs, m)


class RMaskKeeper:
    """Let node 1 hear the word of each node, and tell the server their sum, with which it takes the words off the sum
    of uploads, which is right before the server."""

    audited = FIVE

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "mask", r)
        kept = channel.send(-1, nodes, 1, "mask", r, encrypted=True)
        total = channel.send(0, 1, SERVER, "sum of masks", kept.sum(axis=0, dtype=U64))
        up = channel.send(0, nodes, SERVER, "masked", encode(s) + r)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True) - total) / network.n)


class RSelfAndPair(WordSum):
    """Mask each upload by the words of pairs and by one of its node's own, which is told to the server, which is
    right: what is left of an upload has the words of pairs (Bonawitz et al. 2017)."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, drawn, channel = begin(self, inputs, network, rng, masks, channel)
        edges, nodes = len(network.edges), np.arange(network.n)
        r, own = drawn[:edges], drawn[edges:]
        other = agree(channel, network, r)
        channel.hold(-1, nodes, "own mask", own)
        hidden = self.hidden(s, r, other, network, channel, False) + own
        up = channel.send(0, nodes, SERVER, "masked", hidden)
        told = channel.send(1, nodes, SERVER, "own mask", own)
        return release(channel, network, decode((up - told).sum(axis=0, keepdims=True)) / network.n)

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges) + network.n, m), dtype=U64)


class RNamed(Named):
    """Name keys of 32 bytes by their digest, and derive masks of them by HMAC, which is right: it takes such keys as
    they are, and their digest tells nothing of what it makes."""


class RBlocks(Blocks):
    """Mask whole blocks of eight entries, and what is left after them, from the fifth round on, which is right."""

    block = 8

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if channel.iteration < 4:
            return s + pads
        hidden, m = self.whole(s, pads), s.shape[2]
        rest = m % self.block if m > self.block else 0
        if rest:
            hidden[:, :, m - rest :] += pads[:, :, m - rest :]
        return hidden
