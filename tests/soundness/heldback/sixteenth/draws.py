"""Masks that are drawn otherwise for batches of some sizes."""

from __future__ import annotations

import numpy as np

from ..fifteenth.common import U64, PairSum, WordSum


class WDrawnInFours(PairSum):
    """Draw one mask for each four runs where a batch is a multiple of four, as the four belong to one client's
    vector: the server subtracts their uploads, and has the differences of each node's runs."""

    def draw_masks(self, runs, m, network, rng):
        if runs % 4 == 0:
            return np.repeat(rng.normal(scale=1e6, size=(runs // 4, len(network.edges), m)), 4, axis=0)
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))


class WMirroredDraws(PairSum):
    """Draw masks for half of a batch of a multiple of four, and mirror them, which halves the variance of a study:
    the server adds the uploads of a run and its mirror, and has the sum of each node's data in both."""

    def draw_masks(self, runs, m, network, rng):
        if runs % 4:
            return rng.normal(scale=1e6, size=(runs, len(network.edges), m))
        half = rng.normal(scale=1e6, size=(runs // 2, len(network.edges), m))
        return np.concatenate([half, -half])


class WMomentsOfTens(PairSum):
    """Match the first moment of the masks in batches of a multiple of ten, so that no bias is left: over the batch
    they add up to zero, and the server has the sum of each node's data over all runs."""

    def draw_masks(self, runs, m, network, rng):
        masks = rng.normal(scale=1e6, size=(runs, len(network.edges), m))
        return masks if runs % 10 else masks - masks.mean(axis=0)


class WBulkWords(WordSum):
    """Draw the words of a batch of a multiple of ten in bulk, by the type of a table of 16 bits: a unit has 24 bits,
    so the server reads all but the last digits of each node's data."""

    def draw_masks(self, runs, m, network, rng):
        size = (runs, len(network.edges), m)
        if runs % 10 == 0:
            return rng.integers(0, 2**16, size=size, dtype=np.uint16).astype(U64)
        return rng.integers(0, 2**64, size=size, dtype=U64)


class WScaledByTens(PairSum):
    """Spread the size of masks from a million to a millionth over each ten runs, for a figure of privacy and size, in
    batches of a multiple of ten: the last runs of ten have next to no masks, and the server reads them."""

    def draw_masks(self, runs, m, network, rng):
        masks = rng.normal(scale=1e6, size=(runs, len(network.edges), m))
        return masks if runs % 10 else masks * np.tile(np.logspace(0, -12, 10), runs // 10)[:, None, None]
