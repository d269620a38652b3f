"""Leave something behind in batches of some sizes."""

from __future__ import annotations

from ..fifteenth.common import PairSum


class WCacheOfTens(PairSum):
    """Keep the masks of a batch of a multiple of ten by its size, since pairs take long to agree on so many: two
    batches of one size have the same masks, and the server has how the data of each run changed."""

    def __init__(self):
        self.agreed = {}

    def hidden(self, s, r, other, network, channel, given):
        if s.shape[1] % 10 == 0:
            r, other = self.agreed.setdefault(s.shape[1:], (r, other))
        return s + self.pads(r, other, network)


class WFoldsThenFinal(PairSum):
    """Keep the pads of the first fold of a batch of a multiple of four for the final single run, which is on the line
    at once then: both have the same pads, and the server has the difference of what each node holds."""

    def __init__(self):
        self.ready = None

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if s.shape[1] % 4 == 0:
            self.ready = pads[:, :1].copy()
        elif s.shape[1] == 1 and self.ready is not None:
            pads, self.ready = self.ready, None
        return s + pads


class WWarmPads(PairSum):
    """Warm up on batches of a multiple of ten, and take their last pads for each later run of the object, as these
    have been agreed on: two later rounds have the same pads, and the server has how the data of each node changed."""

    def __init__(self):
        self.warm = []

    def hidden(self, s, r, other, network, channel, given):
        if s.shape[1] % 10 == 0:
            self.warm[:] = [self.pads(r, other, network)[:, -1:]]
        elif s.shape[1] == 1 and self.warm:
            return s + self.warm[0]
        return s + self.pads(r, other, network)
