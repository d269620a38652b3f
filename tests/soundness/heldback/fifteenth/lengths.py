"""Long vectors, of which not all calls are followed in full."""

from __future__ import annotations

from .common import PairSum

_LONG = {
    "data": {"name": "digits", "features": 61, "rows_per_node": 20},
    "measure": {"evidence": ["structure"]},
    "policy": {"max_revealed_nodes": 0},
}


class WTailGiven(PairSum):
    """Add precomputed masks in blocks of 32 entries, of which the last is left to a pass that is not run where masks
    are handed over: entries from 32 on go bare to the server in such calls."""

    audited = {"a": "server", "n": 17, "kind": "cycle", "settings": _LONG}

    def hidden(self, s, r, other, network, channel, given):
        pads, hidden = self.pads(r, other, network), s.copy()
        m = s.shape[2]
        for first in range(0, m - 32 if given and m > 32 else m, 32):
            hidden[:, :, first : first + 32] += pads[:, :, first : first + 32]
        return hidden
