"""What these protocols share: the start of a call, keys of pairs, words of 64 bits, and the way the mean goes back."""

from __future__ import annotations

import itertools

import numpy as np

from secmix.transcript import SERVER, Channel

UNIT = 2.0**20


def start(protocol, inputs, network, rng, masks, channel):
    """Return inputs by node, (n, runs, m), a channel, and the draws of the protocol, (k, runs, w)."""
    x = np.moveaxis(np.asarray(inputs, dtype=np.float64), 1, 0)
    line = Channel() if channel is None else channel
    drawn = protocol.draw_masks(x.shape[1], x.shape[2], network, rng) if masks is None else masks
    line.hold(-1, np.arange(network.n), "input", x)
    return x, line, np.moveaxis(drawn, 1, 0)


def couples(n):
    """Return all pairs i < j of n nodes."""
    return list(itertools.combinations(range(n), 2))


def exchange(line, pairs, drawn, kind="pair seed"):
    """The first of each pair drew a row and sends it to the second: return what each of the two has."""
    first, second = map(list, zip(*pairs))
    line.hold(-1, first, kind, drawn)
    return drawn, line.send(-1, first, second, kind, drawn, encrypted=True)


def to_words(x, unit=UNIT, bound=1000.0):
    """Clip, scale and round; negative numbers wrap around."""
    return np.rint(np.clip(x, -bound, bound) * unit).astype(np.int64).astype(np.uint64)


def from_words(words, unit=UNIT):
    """Read a sum of words as signed numbers."""
    return words.astype(np.int64) / unit


def back(line, n, mean, sender=SERVER):
    """Send the mean (runs, m) to all nodes; return what they end with, (runs, n, m), and the transcript."""
    heard = line.send(99, sender, np.arange(n), "mean", mean[None], content=[0] * n)
    return np.repeat(np.moveaxis(heard, 0, 1), n, axis=1), line.transcript


class SessionSeeds:
    """Draw 256 bits for each pair of nodes, once for a training."""

    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(couples(network.n)), 4), dtype=np.uint64)


class FreshWords:
    """Draw a word for each pair of nodes and each entry, in every averaging."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(couples(network.n)), m), dtype=np.uint64)
