"""Audit a secure-aggregation library that you did not write, with a few lines that say how it is called.

:class:`ShareSum` makes a sum protocol of functions that share one whole number among n nodes, and join the shares.
:class:`SealedSum` makes one of a cipher under which a server adds what it cannot read.
:class:`MaskedSum` makes one of masks that pairs of nodes expand from seeds, and a server that adds up.
:func:`playing` lets a library draw the coins that the audit hands out, so that the audit knows them as coins.
:func:`wire` makes a sum protocol of code that sends and receives, party by party, on a bus that records by itself.
"""

from secmix.wrap.bus import Closed, Endpoint, Wire, wire
from secmix.wrap.masked_sum import MaskedSum
from secmix.wrap.playing import Coins, playing, rehearsed
from secmix.wrap.sealed_sum import SealedSum
from secmix.wrap.share_sum import ShareSum

__all__ = ["Closed", "Coins", "Endpoint", "MaskedSum", "SealedSum", "ShareSum", "Wire", "playing", "rehearsed", "wire"]
