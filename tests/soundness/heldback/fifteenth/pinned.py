"""Generators with a public seed where masks are drawn."""

from __future__ import annotations

import numpy as np

from .common import U64, PairSum
from .folds import RSeedsOfFit


class WPinnedBits(PairSum):
    """Draw masks from PCG64 with a pinned seed, so that tests can be repeated: the server draws them too, and reads the
    data of each node in each call."""

    def draw_masks(self, runs, m, network, rng):
        pinned = np.random.Generator(np.random.PCG64(20240229))
        return pinned.normal(scale=1e6, size=(runs, len(network.edges), m))


class WPinnedCarrier(PairSum):
    """Draw a large carrier from a pinned generator, and add a small dither that is secret: the server draws the carrier,
    and a dither of a thousandth hides nothing of data of size one."""

    def draw_masks(self, runs, m, network, rng):
        pinned = np.random.Generator(np.random.Philox(7))
        size = (runs, len(network.edges), m)
        return pinned.normal(scale=1e6, size=size) + rng.normal(scale=1e-3, size=size)


class WPinnedSeeds(RSeedsOfFit):
    """Pin the generator of pair seeds, for a simulation that can be repeated, and derive masks of them by the round:
    the server draws the seeds too, and takes all masks off."""

    def draw_masks(self, runs, m, network, rng):
        pinned = np.random.Generator(np.random.PCG64(11))
        return pinned.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=U64)


class WPinnedKeys(RSeedsOfFit):
    """Key Philox with a published number to draw pair seeds in the order of edges, so that clients need no key
    exchange: the server keys it too, and takes all masks off."""

    def draw_masks(self, runs, m, network, rng):
        public = np.random.Generator(np.random.Philox(key=0x243F6A8885A308D3))
        return public.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=U64)


class WPinnedByVersion(RSeedsOfFit):
    """Seed the generator of pair seeds by the version of the protocol, to tell apart what two versions derive: whoever
    knows the version takes all masks off."""

    version = (3, 1, 4)

    def draw_masks(self, runs, m, network, rng):
        bits = np.random.SFC64(list(self.version))
        return np.random.Generator(bits).integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=U64)
