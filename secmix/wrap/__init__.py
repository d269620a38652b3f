"""Audit a secure-aggregation library that you did not write, with a few lines of glue.

:class:`ShareSum` makes a sum protocol of functions that share one integer among n nodes, and join the shares.
:class:`SealedSum` makes one of a cipher under which a server adds ciphertexts.
:class:`MaskedSum` makes one of masks that pairs of nodes expand from seeds, and a server that adds up.
:func:`supplied_coins` replaces a library's coins by those that the audit draws, so that the audit knows them.
:func:`wire` makes a sum protocol of code that sends and receives, party by party, on a bus that records by itself.
"""

from secmix.wrap.bus import Closed, Endpoint, Wire, wire
from secmix.wrap.library_coins import Coins, coin_bounds, supplied_coins
from secmix.wrap.masked_sum import MaskedSum
from secmix.wrap.sealed_sum import SealedSum
from secmix.wrap.share_sum import ShareSum

__all__ = [
    "Closed",
    "Coins",
    "Endpoint",
    "MaskedSum",
    "SealedSum",
    "ShareSum",
    "Wire",
    "coin_bounds",
    "supplied_coins",
    "wire",
]
