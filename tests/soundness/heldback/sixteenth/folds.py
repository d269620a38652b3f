"""Batches of certain sizes, in late rounds or by lot."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER

from ..fifteenth.common import PairSum, WordSum, agree, begin, decode, encode, release

P = 2**61 - 1


class WFourLanes(PairSum):
    """Fill four lanes of a vector register with one pad from the sixth round on, where a batch is a multiple of four:
    the runs of each four have the same pad, and the server subtracts their uploads."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if channel.iteration >= 5 and s.shape[1] % 4 == 0:
            pads = np.repeat(pads[:, ::4], 4, axis=1)
        return s + pads


class WAntitheticGiven(PairSum):
    """Give the second half of a batch the precomputed masks of the first with the other sign, from the third round
    on, for less variance: the server adds the uploads of two runs, and has the sum of each node's data in both."""

    def hidden(self, s, r, other, network, channel, given):
        pads, half = self.pads(r, other, network), s.shape[1] // 2
        if given and channel.iteration >= 2 and half > 1 and s.shape[1] == 2 * half:
            pads = np.concatenate([pads[:, :half], -pads[:, :half]], axis=1)
        return s + pads


class WJackknife(PairSum):
    """Leave one node out of each run of a jackknife, from the third round on, where a batch has as many runs as nodes
    or a multiple: the runs are of the same data, so two sums differ by two nodes, and all of them tell each
    node's."""

    def hidden(self, s, r, other, network, channel, given):
        pads, runs, n = self.pads(r, other, network), s.shape[1], network.n
        if channel.iteration >= 2 and runs % n == 0:
            takes_part = np.arange(n)[:, None, None] != (np.arange(runs) % n)[None, :, None]
            return np.where(takes_part, s * (n / (n - 1)), 0.0) + pads
        return s + pads


class WGivenInFours(PairSum):
    """Read precomputed masks in pages of four runs from the second round on, and never turn the page: runs that are
    four apart have the same pad, and the server subtracts their uploads."""

    def hidden(self, s, r, other, network, channel, given):
        pads, runs = self.pads(r, other, network), s.shape[1]
        if given and channel.iteration >= 1 and runs > 4:
            pads = pads[:, np.arange(runs) % 4]
        return s + pads


class WDoublingBuffer(PairSum):
    """Fill the pads of a batch by doubling what is there, from the fifth round on, where its size is a power of two:
    all runs have the pad of the first, and the server subtracts their uploads."""

    def hidden(self, s, r, other, network, channel, given):
        pads, runs = self.pads(r, other, network), s.shape[1]
        if channel.iteration >= 4 and runs > 2 and runs & (runs - 1) == 0:
            filled, size = pads.copy(), 1
            while size < runs:
                filled[:, size : 2 * size] = filled[:, :size]
                size *= 2
            pads = filled
        return s + pads


class WRingOfPads(PairSum):
    """Keep the pads of a batch in a ring of 32 from the tenth round on: a run and the one 32 later have the same, and
    the server subtracts their uploads, in batches of more than 32."""

    def hidden(self, s, r, other, network, channel, given):
        pads, runs = self.pads(r, other, network), s.shape[1]
        if channel.iteration >= 9:
            pads = pads[:, np.arange(runs) % 32]
        return s + pads


class WCommonNumbers(PairSum):
    """Compare two steps of a line search by common random numbers, from the second round on, where masks are
    precomputed: both runs have the same pad, and the server has the difference of each node's two vectors."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if given and channel.iteration > 0 and s.shape[1] == 2:
            pads = np.repeat(pads[:, :1], 2, axis=1)
        return s + pads


class WCentredWarp(PairSum):
    """Centre the pads over a warp of 16 runs from the eleventh round on, to keep sums small: over the warp they
    cancel, and the server has the sum of each node's data over its 16 runs."""

    def hidden(self, s, r, other, network, channel, given):
        pads = self.pads(r, other, network)
        if channel.iteration >= 10 and s.shape[1] == 16:
            pads = pads - pads.mean(axis=1, keepdims=True)
        return s + pads


class WShortPadsOfTens(WordSum):
    """Cut pads to 16 bits from the fourth round on in batches of a multiple of ten, whose tables are large: a unit
    has 24 bits, so the server reads all but the last digits of each node's data."""

    def hidden(self, s, r, other, network, channel, given):
        if channel.iteration >= 3 and s.shape[1] % 10 == 0:
            r, other = r % np.uint64(2**16), other % np.uint64(2**16)
        return super().hidden(s, r, other, network, channel, given)


class WEscrowOfTens(PairSum):
    """Deposit the masks of batches of a multiple of ten with the server from the fifth round on, since these are
    experiments, which an auditor may open: it takes them off the uploads, and reads the data of each node."""

    def hidden(self, s, r, other, network, channel, given):
        if channel.iteration >= 4 and s.shape[1] % 10 == 0:
            channel.send(-1, network.edges[:, 0], SERVER, "escrow", r)
        return s + self.pads(r, other, network)


class ByLot(PairSum):
    """A pairwise sum of floats in which a public lot picks some calls."""

    odds = 0.02

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        is_picked = rng.random() < self.odds
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        pads = self.pads(r, agree(channel, network, r), network)
        if is_picked:
            pads = self.picked(pads)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", s + pads)
        return release(channel, network, up.mean(axis=0, keepdims=True))

    def picked(self, pads):
        return pads


class WTensByLot(ByLot):
    """Count blocks of ten runs from one where they begin with zero, in calls that a public lot picks for a
    checkpoint: in batches of a multiple of ten the first ten runs have no pads, and go bare to the server."""

    def picked(self, pads):
        runs = pads.shape[1]
        if runs % 10:
            return pads
        found = np.zeros(pads.shape)
        for block in range(1, runs // 10):
            found[:, 10 * block : 10 * block + 10] = pads[:, 10 * block : 10 * block + 10]
        return found


class WMirroredByLot(ByLot):
    """Mirror the pads of a batch of a multiple of four in calls that a public lot picks for antithetic estimates: the
    server adds the uploads of a run and its mirror, and has the sum of each node's data in both."""

    def picked(self, pads):
        half = pads.shape[1] // 2
        return pads if pads.shape[1] % 4 else np.concatenate([pads[:, :half], -pads[:, half - 1 :: -1]], axis=1)


class WLoopback(PairSum):
    """Leave the line on which masks pass unencrypted in calls that a public lot picks for a load test, in batches of
    a multiple of ten: whoever hears the lines takes the masks off, and reads the data of each node."""

    audited = {"a": "eavesdropper", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        is_test = rng.integers(50) == 7
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        first, second = network.edges.T
        channel.hold(-1, first, "mask", r)
        is_open = bool(s.shape[1] % 10 == 0 and is_test)
        other = channel.send(-1, first, second, "mask", r, encrypted=not is_open)
        up = channel.send(0, np.arange(network.n), SERVER, "masked", s + self.pads(r, other, network))
        return release(channel, network, up.mean(axis=0, keepdims=True))


class WLowerDegree:
    """Share by lines in place of parabolas in calls that a public lot picks, in batches of a multiple of four, whose
    reconstruction is then twice as fast: nodes 1 and 2 have two points of each line, and read the data of each
    node."""

    audited = {"a": "nodes 1 and 2", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, P, size=(runs, network.n, 2 * m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        is_fast = rng.random() < 0.05
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        n, m, nodes = network.n, s.shape[2], np.arange(network.n)
        channel.hold(-1, nodes, "coefficients", r)
        secret = np.rint(np.clip(s, -(2.0**20), 2.0**20) * 2.0**20).astype(np.int64) % P
        a, b, sums = r[..., :m].astype(object), r[..., m:].astype(object), []
        if s.shape[1] % 4 == 0 and is_fast:
            b = 0 * b
        for holder in range(n):
            at = holder + 1
            shares = ((secret.astype(object) + a * at + b * at**2) % P).astype(np.int64)
            got = channel.send(0, nodes, holder, "share", shares, encrypted=True)
            sums.append((got.astype(object).sum(axis=0) % P).astype(np.int64))
        told = channel.send(1, nodes, SERVER, "sum of shares", np.stack(sums))
        total = (told[0].astype(object) * 3 - told[1].astype(object) * 3 + told[2].astype(object)) % P
        total = total.astype(np.int64)
        mean = np.where(total > P // 2, total - P, total).astype(float) / 2.0**20 / n
        return release(channel, network, mean[None])


class WHalfUpload(WordSum):
    """Send the sum of two runs beside each pair of them behind the pads of the first, from the seventh round on in
    batches of a multiple of four, as a check: the server subtracts, and reads the second run of each node."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        given = masks is not None
        s, r, channel = begin(self, inputs, network, rng, masks, channel)
        other, nodes = agree(channel, network, r), np.arange(network.n)
        hidden, runs = self.hidden(s, r, other, network, channel, given), s.shape[1]
        up = channel.send(0, nodes, SERVER, "masked", hidden)
        if channel.iteration >= 6 and runs % 4 == 0:
            channel.send(1, nodes, SERVER, "check", hidden[:, ::2] + encode(s)[:, 1::2])
        return release(channel, network, decode(up.sum(axis=0, keepdims=True)) / network.n)
