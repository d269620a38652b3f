"""Masks that a dealer makes of one key for all nodes and runs of a call, and pads of the system's."""

from __future__ import annotations

import secrets

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from secmix.transcript import SERVER

from ..fifteenth.common import U64, WordSum, begin, decode, encode, release
from ..fifteenth.fresh import _Fresh


class Dealt(WordSum):
    """Node 0 draws a key for each call, deals a mask to each node, and tells the server their sum."""

    audited = {"a": "server", "n": 3}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, _, channel = begin(self, inputs, network, rng, masks, channel)
        (n, runs, m), nodes = s.shape, np.arange(network.n)
        key = secrets.token_bytes(32)
        channel.hold(-1, 0, "key", np.stack([np.frombuffer(key, U64)] * runs))
        r = self.dealt(key, n, runs, m)
        own = channel.send(-1, np.zeros(n, dtype=int), nodes, "mask", r, encrypted=True)
        total = channel.send(0, 0, SERVER, "sum of masks", r.sum(axis=0, dtype=U64))
        up = channel.send(1, nodes, SERVER, "masked", encode(s) + own)
        return release(channel, network, decode(up.sum(axis=0, keepdims=True) - total) / n)

    def dealt(self, key, n, runs, m):
        words = np.frombuffer(key, U64)
        rows = [[self.expand([*words, *self.label(node, run, n)], m) for run in range(runs)] for node in range(n)]
        return np.stack([np.stack(row) for row in rows])

    def expand(self, seed, m):
        return np.random.default_rng(seed).integers(0, 2**64, size=m, dtype=U64)

    def label(self, node, run, n):
        return node, run


class WStrideOfEight(Dealt):
    """Number masks by eight times the node, plus the run, as a call once had at most eight runs: run 8 of node 0 has
    the mask of run 0 of node 1, and the server has the difference of what they hold, in batches of nine or more."""

    def label(self, node, run, n):
        return (8 * node + run,)


class WStrideOfNodes(Dealt):
    """Number masks by the node times how many nodes there are, in place of runs, plus the run: run 12 of node 0 has
    the mask of run 0 of node 1, and the server has the difference of what they hold, in batches of 13 or more."""

    audited = {"a": "server", "n": 12, "settings": {"data": {"name": "wine", "features": 2, "rows_per_node": 12}}}

    def label(self, node, run, n):
        return (node * n + run,)


class WDigitsTogether(Dealt):
    """Write the digits of node and run together for a label: node 0 in run 10 and node 1 in run 0 have the same, as
    have node 1 in run 11 and node 11 in run 1: the server has the difference of what they hold, in batches of 11 or
    more."""

    audited = {"a": "server", "n": 12, "settings": {"data": {"name": "wine", "features": 2, "rows_per_node": 12}}}

    def label(self, node, run, n):
        return (int(f"{node}{run}"),)


class WPagesOfKeystream(Dealt):
    """Give each node a page of 256 words of the keystream, and let it read on where a batch has more numbers: the
    pages overlap, and the server has differences of what two nodes hold, in batches of more than 256 numbers a
    node."""

    def dealt(self, key, n, runs, m):
        stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        words = np.frombuffer(stream.update(bytes(8 * (256 * n + runs * m))), U64)
        return np.stack([words[256 * node : 256 * node + runs * m].reshape(runs, m) for node in range(n)])


class WFreshForTens(_Fresh):
    """Have the system's pads of each tenth run stand for all ten, in batches of a multiple of ten, as one upload has
    room for ten: the server subtracts uploads, and has the differences of each node's runs."""

    def masked(self, words, pads):
        if words.shape[1] % 10 == 0:
            pads = np.repeat(pads[:, ::10], 10, axis=1)
        return words + pads


class WFreshShorts(_Fresh):
    """Ask the system for the pads of a batch of a multiple of ten at once, and read two bytes as a word where eight
    make one: a unit has 24 bits, so the server reads all but the last digits of each node's data."""

    def drawn(self, edges, runs, m):
        if runs % 10:
            return super().drawn(edges, runs, m)
        count = edges * runs * m
        return np.frombuffer(secrets.token_bytes(2 * count), np.uint16).astype(U64).reshape(edges, runs, m)
