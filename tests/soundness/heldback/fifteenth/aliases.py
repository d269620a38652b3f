"""Views that are taken for copies, and copies that are taken for views, in later rounds."""

from __future__ import annotations

import numpy as np

from .common import PairSum, WordSum, encode


class WResidualView(WordSum):
    """Note from the sixth round on what quantisation left over, in a view that is taken for a copy: the masks come off
    the very words that are sent to the server, which reads the data of each node."""

    def hidden(self, s, r, other, network, channel, given):
        words = super().hidden(s, r, other, network, channel, given)
        if channel.iteration >= 5:
            pads = words - encode(s)
            plain = words.view(np.int64)
            plain -= pads.view(np.int64)
            self.check(plain, s)
        return words

    def check(self, plain, s):
        assert plain.shape == s.shape


class WFlatLate(PairSum):
    """Add masks from the sixth round on to a flattened upload: of several runs that is a copy, since axes were turned,
    so that the server is sent the data of all runs of a batch bare."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if channel.iteration < 5:
            return s + pads
        upload = np.array(s)
        flat = upload.reshape(-1, s.shape[2])
        flat += pads.reshape(-1, s.shape[2])
        return upload


class WGivenView(WordSum):
    """Look, where masks were precomputed, at how many bits of each word are in use, in a view from which masks are taken
    off: it is the memory of the upload, and the server is sent the data of each node bare in each such call."""

    def hidden(self, s, r, other, network, channel, given):
        words = super().hidden(s, r, other, network, channel, given)
        if given:
            pads = words - encode(s)
            plain = words.view(np.int64)
            np.subtract(plain, pads.view(np.int64), out=plain)
        return words


class WWipedEarly(WordSum):
    """Wipe the pads from the fourth round on by a view of signed words, as memory hygiene asks for, a line too early:
    zeros are added in place of masks, and the server reads the data of each node."""

    def hidden(self, s, r, other, network, channel, given):
        words = encode(s)
        pads = super().hidden(s, r, other, network, channel, given) - words
        if channel.iteration >= 3:
            memory = pads.view(np.int64)
            memory.fill(0)
        return words + pads


class WZerosLike(PairSum):
    """Gather pads from the 31st round on in rows of an array like the data: in a batch their flattened
    rows are a copy, as axes were turned, so that no pad arrives and all data go bare to the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if channel.iteration < 30:
            return s + pads
        gathered = np.zeros_like(s)
        gathered.reshape(-1, s.shape[2])[...] = pads.reshape(-1, s.shape[2])
        return s + gathered


class WContiguous(PairSum):
    """Add pads in later rounds to the contiguous upload that a kernel in C would want: of a batch that is a copy, and
    what is sent to the server is the array without them."""

    def hidden(self, s, r, other, network, channel, given):
        pads, upload = self.pads(r, other, network), np.array(s)
        block = upload if channel.iteration < 8 else np.ascontiguousarray(upload)
        block += pads
        return upload


class WRavelByLot(PairSum):
    """Add pads in one call of a hundred, by a public lot that tries a faster path, to the raveled upload: of a batch it
    is a copy, and its runs go bare to the server."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        self.tries = bool(rng.random() < 0.01)
        try:
            return super().average(inputs, network, rng, masks=masks, channel=channel)
        finally:
            self.tries = False

    def hidden(self, s, r, other, network, channel, given):
        pads, upload = self.pads(r, other, network), s * 1.0
        flat = upload.ravel() if self.tries else upload
        flat += pads.ravel() if self.tries else pads
        return upload


class WRavelInPlace(PairSum):
    """Add pads in odd rounds to the raveled upload, which is a copy where a batch has turned axes: its runs go bare to
    the server."""

    def hidden(self, s, r, other, network, channel, given):
        pads, upload = self.pads(r, other, network), s * 1.0
        if channel.iteration % 2:
            flat = upload.ravel()
            flat += pads.ravel()
            return upload
        return upload + pads


class WPlainView(PairSum):
    """Take pads off in a plain view from the seventh round on, to check what was masked: the view is the upload's own
    memory, and the server is sent the data of each node bare."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if channel.iteration < 6:
            return s + pads
        hidden = s + pads
        own = hidden.view()
        own -= pads
        return hidden
