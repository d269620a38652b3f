"""Masks of which any three rounds look independent, and more do not: a pool that lasts for a fit."""

from __future__ import annotations

from .common import Pooled


class WParityRound(Pooled):
    """Take the three masks of a pool one after the other, and their sum in each fourth round, as codes do to save a
    quarter of the draws: the uploads of a node in rounds 0, 1 and 2 less that of round 3 have no mask, so the server
    learns that sum of its data, which is twice these where they stay the same."""

    pool = 3

    def of_round(self, pool, turn):
        return pool[turn] if turn < 3 else pool[0] + pool[1] + pool[2]


class WEpochTelescopes(Pooled):
    """Mask each round by the difference of two neighbours in a ring of four, so that noise cancels over an epoch and
    momentum at the server is exact: the four uploads of each node add up to four times its data, bare."""

    def of_round(self, pool, turn):
        return pool[turn] - pool[(turn + 1) % 4]


class WVandermonde(Pooled):
    """Stretch three masks to seven rounds by powers of the round, of which any three are independent: four uploads of
    a node have a combination without masks."""

    pool = 3

    def turn(self, channel, rng):
        return channel.iteration % 7

    def of_round(self, pool, turn):
        return pool[0] + turn * pool[1] + turn**2 * pool[2]


class WGrid(Pooled):
    """Make four masks of two rows and two columns of a pool: rounds 0 and 3 less rounds 1 and 2 have no mask, which
    tells how the data of each node change."""

    def of_round(self, pool, turn):
        return pool[turn // 2] + pool[2 + turn % 2]


class WPoolByLot(Pooled):
    """Draw by public lot which of four masks a round takes, the fourth being the sum of the others: once each has come,
    the uploads of a node tell its data."""

    pool = 3

    def turn(self, channel, rng):
        return rng.integers(4)

    def of_round(self, pool, turn):
        return pool[turn] if turn < 3 else pool[0] + pool[1] + pool[2]
