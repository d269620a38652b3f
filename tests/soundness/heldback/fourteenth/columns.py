"""Columns that get to another place in some rounds: two rounds on the same data differ by what a node's columns do."""

from __future__ import annotations

import numpy as np

from .common import Aligned


class WColumnSlip(Aligned):
    """An operator of node 0 runs an older schema, by which its columns are rotated by one in every fourth round, so
    that two rounds on the same data differ by what its columns do."""

    def aligned(self, s, channel):
        hidden = s.copy()
        if channel.iteration % 4 == 3:
            hidden[0] = np.roll(s[0], 1, axis=-1)
        return hidden


class WLeaderColumn(Aligned):
    """An author counts columns from zero in one code path and from one in that of the round's leader, so that two
    rounds on the same data differ by what the leader's columns do."""

    def aligned(self, s, channel):
        hidden = s.copy()
        leader = channel.iteration % 5
        for k in range(2, 5):
            if leader == k:
                hidden[k] = s[k][:, [-1, *range(s.shape[2] - 1)]]
        return hidden


class WEntrySwap(Aligned):
    """An author merges with a stale index, by which node 0 swaps two columns in every eighth round, so that two rounds
    on the same data differ by what these columns do."""

    def aligned(self, s, channel):
        hidden = s.copy()
        if channel.iteration % 8 == 5:
            hidden[0, :, 0], hidden[0, :, 1] = s[0, :, 1], s[0, :, 0]
        return hidden


class WStale(Aligned):
    """An author leaves a stale copy of a column, by which node 0 sends column 0 in place of column 3 in every eighth
    round, so that two rounds on the same data differ by what these columns do."""

    def aligned(self, s, channel):
        hidden = s.copy()
        if channel.iteration % 8 == 5:
            hidden[0, :, 3] = s[0, :, 0]
        return hidden


class WThreeRowsSlip(Aligned):
    """An author applies the imputation of a column that node 0 lacks to all of its columns in one round of four, so
    that two rounds on the same data tell how its columns differ from their mean."""

    def aligned(self, s, channel):
        hidden = s.copy()
        if channel.iteration % 4 == 2:
            hidden[0] = s[0].mean(axis=-1, keepdims=True) + np.zeros_like(s[0])
        return hidden
