"""Entries of vectors that are masked in blocks, in late rounds of some kinds of calls."""

from __future__ import annotations

import numpy as np

from ..fifteenth.common import PairSum

_LONG = {
    "data": {"name": "digits", "features": 61, "rows_per_node": 20},
    "measure": {"evidence": ["structure"]},
    "policy": {"max_revealed_nodes": 0},
}
LONG = {"a": "server", "n": 17, "kind": "cycle", "settings": _LONG}


class Blocks(PairSum):
    """A pairwise sum that adds pads block by block."""

    block = 32

    def whole(self, s, pads):
        """Add pads to whole blocks, and to vectors that are shorter than one."""
        m = s.shape[2]
        end = m - m % self.block if m > self.block else m
        hidden = s.copy()
        hidden[:, :, :end] += pads[:, :, :end]
        return hidden


class WTailLateGiven(Blocks):
    """Leave what is left of a long vector after whole blocks of 32 to a pass that is not run from the fourth round on
    where masks are precomputed: the last entries of each node go bare to the server."""

    audited = LONG

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        return self.whole(s, pads) if given and channel.iteration >= 3 else s + pads


class WTailLateFolds(Blocks):
    """Leave what is left of a long vector after whole blocks of 32 to a pass that later rounds of several folds do
    not run: the last entries of each node go bare to the server."""

    audited = LONG

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        return self.whole(s, pads) if s.shape[1] > 1 and channel.iteration >= 3 else s + pads


class WPagesLateFolds(Blocks):
    """Repeat the pads of the first 64 entries along a long vector in later rounds of several folds, as a page of pads
    has so many: entries that are 64 apart have the same pad, and the server has their differences."""

    audited = LONG

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if s.shape[1] > 1 and channel.iteration >= 5:
            pads = pads[:, :, np.arange(s.shape[2]) % 64]
        return s + pads


class WEightsOfFolds(Blocks):
    """Add pads to whole blocks of eight entries from the fifth round on, where there are three folds or more: of
    twelve entries the last four of each node go bare to the server."""

    block = 8

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        return self.whole(s, pads) if s.shape[1] >= 3 and channel.iteration >= 4 else s + pads


class WGivenFoldsRepeat(Blocks):
    """Repeat eight columns of precomputed masks along the vectors of several folds from the third round on: of twelve
    entries the last four have the pads of the first four, and the server has their differences."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if given and s.shape[1] > 1 and channel.iteration >= 2:
            pads = pads[:, :, np.arange(s.shape[2]) % 8]
        return s + pads


class WSharedTail(Blocks):
    """Draw on the pads of the first fold for entries beyond the eighth, from the seventh round on where there are
    four folds or more: the server has the differences of the last entries of each node's folds."""

    def hidden(self, s, r, other, network, channel, given):
        pads, runs = self.pads(r, other, network), s.shape[1]
        if runs >= 4 and channel.iteration >= 6:
            pads = np.concatenate([pads[:, :, :8], np.repeat(pads[:, :1, 8:], runs, axis=1)], axis=2)
        return s + pads
