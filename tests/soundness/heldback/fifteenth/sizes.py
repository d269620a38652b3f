"""Paths that are chosen by how an array lies in memory, in later rounds."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER

from .common import PairSum, WordSum, agree, begin, release

U32 = np.uint32


class _Short(PairSum):
    """A pairwise sum of words of 32 bits, with a path for later rounds."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**32, size=(runs, len(network.edges), m), dtype=U32)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other = agree(channel, network, r)
        words = np.rint(np.clip(s, -(2.0**14), 2.0**14) * 2.0**12).astype(np.int32).view(U32)
        hidden = words.copy()
        for e, (a, b) in enumerate(network.edges):
            hidden[a] += r[e]
            hidden[b] -= other[e]
        hidden = self.packed(words, hidden, channel)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", hidden)
        total = up.sum(axis=0, keepdims=True, dtype=U32).view(np.int32)
        return release(channel, network, total.astype(float) / 2.0**12 / network.n)

    def packed(self, words, hidden, channel):
        return hidden


class RShort(_Short):
    """Sum words of 32 bits behind uniform masks of as many, which is right."""


class WTinyBlocks(_Short):
    """Skip masks from the sixth round on for blocks below 64 bytes, which were once only heartbeats: five words of two
    entries have 40 bytes, so the data of each node go bare to the server."""

    def packed(self, words, hidden, channel):
        return words if channel.iteration >= 5 and hidden.nbytes < 64 else hidden


class WByItemsize(_Short):
    """Take words of four bytes for indices of embeddings from the sixth round on, which are public, and send them as
    they are: data in 32 bits go bare to the server."""

    def packed(self, words, hidden, channel):
        if channel.iteration < 5:
            return hidden
        return {4: words, 8: hidden}[hidden.itemsize]


class WGeneralPath(PairSum):
    """Have a fast path for arrays in order C and a general one, whose masks were lost in a merge, from the 11th round
    on: batches have turned axes, and their data go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        upload = s * 1.0
        if channel.iteration >= 10 and not upload.flags.c_contiguous:
            return upload
        return upload + self.pads(r, other, network)


class WOwned(WordSum):
    """Take words that own their memory for fresh from the pool of masked buffers, from the fourth round on, and add no
    mask to them: words of an encoder own theirs, too, and go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        words = np.rint(np.clip(s, -1e6, 1e6) * 2.0**24).astype(np.int64)
        if channel.iteration >= 3 and words.flags.owndata:
            return words.view(np.uint64)
        return super().hidden(s, r, other, network, channel, given)


class WStrided(PairSum):
    """Mask rows in later rounds only as long as the step between runs is that between nodes or less, which leaves out
    what a kernel in C would read twice: of batches with turned axes no row is masked before it goes to the server."""

    def hidden(self, s, r, other, network, channel, given):
        upload, pads = s * 1.0, self.pads(r, other, network)
        if channel.iteration >= 4 and s.shape[1] > 1:
            step, between = upload.strides[:2]
            return upload + pads if between <= step else upload
        return upload + pads
