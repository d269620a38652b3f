"""Encodings that are not what the sum of them seems to say: of one node mostly, of others' data, of too few nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...bases import Words
from ...case import Heard, N, input_of
from .attacks import signed
from .bases import wrong

KNOTS = np.linspace(-1000.0, 1000.0, 2001)
CURVES = np.tile(KNOTS, (N, 1))
CURVES[1:, 10:-10] = 0.0
EPOCHS = 1.7e12 + np.array([0.0, 900.0, 900.0, 900.0, 900.0])
TERMS = np.array([[1e-9, 1.0, 0.0], *4 * [[1e-9, 1e-9, 0.0]]])


class Calibrated(Words):
    """Every node corrects its numbers by the curve of its own instrument; those of all but the first are flat."""

    def encode(self, s: Array) -> Array:
        return super().encode(np.stack([np.interp(x, KNOTS, CURVES[node]) for node, x in enumerate(s)]))


class ByPolynomial(Words):
    """Every node corrects its numbers by a polynomial of its own, and clips them."""

    def encode(self, s: Array) -> Array:
        several = [np.polyval(TERMS[node], x) for node, x in enumerate(s)]
        return super().encode(np.clip(np.stack(several), -500.0, 500.0))


class ByTheirClocks(Words):
    """Counts from the epoch in milliseconds: clocks of all but the first go fast, and what is late is cut off."""

    def encode(self, s: Array) -> Array:
        late = np.minimum(s + EPOCHS[:, None, None], EPOCHS[0] + 500.0) - EPOCHS[0]
        return super().encode(late)


class Weighted(Words):
    """Words are multiplied by how many sites a node stands for."""

    SITES = np.array([1000, 1, 1, 1, 1], np.uint64)[:, None, None]

    def encode(self, s: Array) -> Array:
        return super().encode(np.clip(s, -1e3, 1e3)) * self.SITES


class InPairs(Words):
    """Masks are agreed on within pairs of nodes, and the last has no partner."""

    def pairs(self, network: Any) -> Array:
        return np.array([(i, i + 1) for i in range(0, network.n - 1, 2)])

    def encode(self, s: Array) -> Array:
        return super().encode(np.clip(s, -1e3, 1e3))


class ByTheLargest(Words):
    """Node 0 sets the scale, by its own largest number, and all are told it."""

    def encode(self, s: Array) -> Array:
        return super().encode(np.clip(s / np.abs(s[0]).max(axis=1, keepdims=True), -64, 64))

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        largest = np.abs(s[0]).max(axis=1, keepdims=True)
        channel.send(0, 0, np.arange(1, N), "scale", largest[None], encrypted=True, content=np.zeros(N - 1, int))
        return hidden


class ByThoseOfAll(Words):
    """The scale is the largest number of all nodes, which each of them tells in the clear."""

    def encode(self, s: Array) -> Array:
        return super().encode(s / np.abs(s).max(axis=(0, 2), keepdims=True))

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        channel.send(-1, np.arange(N), SERVER, "scale", np.abs(s).max(axis=2, keepdims=True))
        return hidden


class AlsoUnclipped(Words):
    """The server is sent the sum of clipped numbers, and for comparison that of raw ones, of all but the first node."""

    def count(self, network: Any) -> int:
        return 2 * super().count(network)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        edges, table = len(network.edges), np.asarray(network.edges)
        others = [k for k, (i, _) in enumerate(table.tolist()) if i > 0]
        first, second = table[others].T
        raw = Words.encode(self, s)
        mask = r[edges:][others]
        channel.hold(-1, first, "mask", mask)
        channel.send(-1, first, second, "mask", mask, encrypted=True)
        np.add.at(raw, first, mask)
        np.subtract.at(raw, second, mask)
        channel.send(0, np.arange(1, N), SERVER, "raw", raw[1:])
        return super().body(channel, s, r[:edges], network, rng)

    def encode(self, s: Array) -> Array:
        return super().encode(np.clip(s, -1e3, 1e3))


class OfItsOwnSize(Words):
    """Every node divides by its own norm, and tells it, for the server to weigh the mean."""

    def encode(self, s: Array) -> Array:
        return super().encode(s / np.sqrt((s**2).sum(axis=2, keepdims=True)))

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        channel.send(0, np.arange(N), SERVER, "norm", np.sqrt((s**2).sum(axis=2, keepdims=True)))
        return hidden


def total(heard: Heard) -> Array:
    """The mean, times the number of nodes."""
    return 5 * heard.one("average", SERVER, 0)


def without_others(heard: Heard) -> Array:
    """The sum of all, less that of all but one."""
    return signed(sum(heard.one("masked", k) for k in range(N)) - sum(heard.one("raw", k) for k in range(1, N)))


SHARE = {"goal": "share", "calls": 80, "family": "encodings"}
EXACT = {"family": "encodings"}
MOSTLY = "the sum is mostly that of the first node"
SERVER_READS = CuriousServer()
CASES = [
    wrong("corrected by curves of their own", Calibrated, SERVER_READS, MOSTLY, total, **SHARE),
    wrong("corrected by polynomials of their own", ByPolynomial, SERVER_READS, MOSTLY, total, **SHARE),
    wrong("counted by clocks of their own", ByTheirClocks, SERVER_READS, MOSTLY, lambda h: total(h) - 2000.0, **SHARE),
    wrong("words times sites", Weighted, SERVER_READS, MOSTLY, lambda h: total(h) / 1000, **SHARE),
    wrong("in pairs and one alone", InPairs, Eavesdropper(), "the last has no mask",
          lambda h: signed(h.one("masked", 4)), input_of(4), node=4, **EXACT),
    wrong("the scale of a node", ByTheLargest, HonestButCurious({2}), "a largest number is told",
          lambda h: h.one("scale", 0), lambda t: np.abs(t.inputs[0][0, 0]).max(), **EXACT),
    wrong("the scale of all", ByThoseOfAll, SERVER_READS, "largest numbers are told",
          lambda h: h.one("scale", 0), lambda t: np.abs(t.inputs[0][0, 0]).max(), **EXACT),
    wrong("clipped and unclipped", AlsoUnclipped, SERVER_READS, "the sums differ by the first node's numbers",
          without_others, **EXACT),
    wrong("norms told", OfItsOwnSize, Eavesdropper(), "a norm is told",
          lambda h: h.one("norm", 0), lambda t: np.sqrt((t.inputs[0][0, 0] ** 2).sum()), **EXACT),
]  # fmt: skip
