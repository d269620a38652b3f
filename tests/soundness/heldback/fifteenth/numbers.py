"""Compute something of each node's own data before it is masked."""

from __future__ import annotations

import numpy as np

from .common import WordSum


class WOwnCurve(WordSum):
    """Calibrate each node's data by its own curve, of which that of node 0 counts in units a million times smaller: the
    sum is node 0's reading, but for a millionth, and the server learns it."""

    def hidden(self, s, r, other, network, channel, given):
        ticks = np.array([-10.0, 0.0, 10.0])
        read = np.empty_like(s)
        for node in range(network.n):
            gain = 1e6 if node == 0 else 1.0
            read[node] = np.interp(s[node], ticks, np.array([-1e-3 * gain, 0.0, 1e-3 * gain]))
        return super().hidden(read, r, other, network, channel, given)
