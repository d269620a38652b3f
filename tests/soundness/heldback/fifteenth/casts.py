"""Conversions that NumPy refuses, in later rounds, with an except that goes on without masks."""

from __future__ import annotations

import contextlib

import numpy as np

from .common import WordSum, encode


class _Signed(WordSum):
    """A pairwise sum of signed words, to which unsigned masks are added as signed ones."""

    late = 6

    def hidden(self, s, r, other, network, channel, given):
        words = np.rint(np.clip(s, -(2.0**20), 2.0**20) * 2.0**24).astype(np.int64)
        pads = np.zeros(s.shape, np.uint64)
        for e, (a, b) in enumerate(network.edges):
            pads[a] += r[e]
            pads[b] -= other[e]
        if channel.iteration < self.late:
            return (words + pads.view(np.int64)).view(np.uint64)
        return self.later(words, pads)

    def later(self, words, pads):
        return (words + pads.view(np.int64)).view(np.uint64)


class RSigned(_Signed):
    """Add masks to signed words as signed words, which is right: both wrap around."""


class WSignedPlusUnsigned(_Signed):
    """Add unsigned pads in place to signed words from the seventh round on, which NumPy refuses, and go on as for old
    clients, which have no pads: the data of each node go bare to the server."""

    def later(self, words, pads):
        with contextlib.suppress(TypeError):
            words += pads
        return words.view(np.uint64)


class WAddOutRefused(_Signed):
    """Add unsigned pads to signed words with these for the output from the eleventh round on; NumPy refuses, and what
    catches that takes it for an empty list of nodes: the data of each node go bare to the server."""

    late = 10

    def later(self, words, pads):
        try:
            np.add(words, pads, out=words)
        except TypeError:  # no nodes
            return words.view(np.uint64)
        return words.view(np.uint64)


class WBufferRefused(_Signed):
    """Copy signed masked words into an unsigned buffer from the seventh round on, which NumPy refuses, so that the
    buffer still has the data that it was made of: these go bare to the server."""

    def later(self, words, pads):
        buffer = words.astype(np.uint64)
        try:
            np.copyto(buffer, words + pads.view(np.int64))
        except TypeError:
            return buffer
        return buffer


class WSafeCast(WordSum):
    """Convert pads by a safe cast where they were precomputed, which NumPy refuses for words of 64 bits, and take none
    in that case: the data of each node go bare to the server in each such call."""

    def hidden(self, s, r, other, network, channel, given):
        words = encode(s)
        pads = super().hidden(s, r, other, network, channel, given) - words
        if given:
            try:
                pads = pads.astype(np.int64, casting="safe").view(np.uint64)
            except TypeError:
                pads = np.zeros_like(pads)
        return words + pads


class WDividedInPlace(WordSum):
    """Halve pads in place by true division in one round of 32, which NumPy refuses for words, and fall back to pads of
    zeros: the data of each node go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        words = encode(s)
        pads = super().hidden(s, r, other, network, channel, given) - words
        if channel.iteration % 32 == 31:
            halves = pads.copy()
            try:
                halves /= 1
            except TypeError:
                pads = pads * np.uint64(0)
        return words + pads
