"""Pads of the system's, of which an audit can draw no others the same: batches of them."""

from __future__ import annotations

import secrets

import numpy as np

from secmix.transcript import SERVER

from .common import THREE, U64, WordSum, agree, begin, decode, encode, release


class _Fresh(WordSum):
    """A pairwise sum of words behind pads of the system's, which the first end draws in the call."""

    audited = THREE

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, _, channel = begin(self, inputs, network, rng, masks, channel)
        r = self.drawn(len(network.edges), *s.shape[1:])
        other = agree(channel, network, r)
        pads = np.zeros(s.shape, U64)
        for e, (a, b) in enumerate(network.edges):
            pads[a] += r[e]
            pads[b] -= other[e]
        up = channel.send(0, np.arange(network.n), SERVER, "masked", self.masked(encode(s), pads))
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)

    def drawn(self, edges, runs, m):
        rows = [np.frombuffer(secrets.token_bytes(8 * m), U64) for _ in range(edges * runs)]
        return np.array(rows).reshape(edges, runs, m)

    def masked(self, words, pads):
        return words + pads


class RFresh(_Fresh):
    """Add pads of the system's to all runs, which is right."""


class WFreshPairs(_Fresh):
    """Mask two runs of a batch at a time, and one run by itself: the last of three, five or seven runs has no partner,
    and goes bare to the server."""

    def masked(self, words, pads):
        runs = words.shape[1]
        if runs == 1:
            return words + pads
        hidden = words.copy()
        for run in range(0, runs - 1, 2):
            hidden[:, run : run + 2] += pads[:, run : run + 2]
        return hidden


class WFreshRows(_Fresh):
    """Add pads to the rows of a reshaped array, which is a copy where a batch has turned axes: all runs of a batch go
    bare to the server."""

    def masked(self, words, pads):
        rows = words.reshape(-1, words.shape[2])
        rows += pads.reshape(-1, words.shape[2])
        return words


class WFreshThirds(_Fresh):
    """Cut a batch of more than two runs into three workers' parts by a third of its length each, which leaves one or
    two runs of four or five to nobody: they go bare to the server."""

    def masked(self, words, pads):
        third = words.shape[1] // 3
        if third == 0:
            return words + pads
        hidden = words.copy()
        for worker in range(3):
            part = slice(worker * third, (worker + 1) * third)
            hidden[:, part] = words[:, part] + pads[:, part]
        return hidden


class WFreshGenerator(_Fresh):
    """Draw pads by a generator of the system's for an even number of runs, as it fills two buffers, and leave those of
    the last run of an odd number at zero: it goes bare to the server."""

    def drawn(self, edges, runs, m):
        r = np.zeros((edges, runs, m), U64)
        even = runs if runs == 1 else runs - runs % 2
        r[:, :even] = np.random.default_rng().integers(0, 2**64, size=(edges, even, m), dtype=U64)
        return r
