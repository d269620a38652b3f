"""Carry what these protocols share: keys of pairs for a whole fit, pads of words, and the way the mean goes back."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np

from secmix.transcript import SERVER, Channel

UNIT = 2.0**20


def couples(n):
    """Return all pairs i < j of n nodes."""
    return list(itertools.combinations(range(n), 2))


def to_words(x):
    """Clip, scale and round; negative numbers wrap around."""
    return np.rint(np.clip(x, -1000.0, 1000.0) * UNIT).astype(np.int64).astype(np.uint64)


def stretch(key, label, m):
    """Return m words that follow from a key of words and a label of bytes."""
    return np.frombuffer(hashlib.shake_256(key.tobytes() + label).digest(8 * m), "<u8")


def long(t):
    """Return all of a number."""
    return t.to_bytes(8, "big")


class Session:
    """Keys of 256 bits for each pair, drawn once for a fit; pads follow from key and iteration."""

    reuses_masks = True
    audited = {"a": "server", "n": 4}
    width = 4  # words of a key

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(couples(network.n)), 4), dtype=np.uint64)

    def own_keys(self, runs, m, network, rng):
        """Keys where none are handed over."""
        return self.draw_masks(runs, m, network, rng)

    def begin(self, line, keys, runs, given):
        """A place to look at a call before anything is sent."""

    def label(self, line, keys, e, run):
        """The label of a pad."""
        return long(line.iteration)

    def pad(self, line, keys, e, run, m):
        """The pad of a pair in a run; None for none."""
        return stretch(keys[run, e, :4], self.label(line, keys, e, run), m)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.moveaxis(np.asarray(inputs, dtype=np.float64), 1, 0)
        line = Channel() if channel is None else channel
        n, runs, m = x.shape
        keys = self.own_keys(runs, m, network, rng) if masks is None else masks
        self.begin(line, keys, runs, (channel, masks))
        line.hold(-1, np.arange(n), "input", x)
        first, second = map(list, zip(*couples(n)))
        drawn = np.moveaxis(keys[:, : len(first), : self.width], 1, 0)
        line.hold(-1, first, "key", drawn)
        line.send(-1, first, second, "key", drawn, encrypted=True)
        words = to_words(x)
        for e, (i, j) in enumerate(couples(n)):
            for run in range(runs):
                pad = self.pad(line, keys, e, run, m)
                if pad is not None:
                    words[i, run] += pad
                    words[j, run] -= pad
        total = line.send(0, np.arange(n), SERVER, "masked", words).sum(axis=0)
        mean = total.astype(np.int64) / UNIT / n
        heard = line.send(99, SERVER, np.arange(n), "mean", mean[None], content=[0] * n)
        return np.repeat(np.moveaxis(heard, 0, 1), n, axis=1), line.transcript


class Counted(Session):
    """Keys with a counter beside each, in a fifth word."""

    def draw_masks(self, runs, m, network, rng):
        keys = super().draw_masks(runs, m, network, rng)
        return np.concatenate([keys, np.zeros((*keys.shape[:2], 1), dtype=np.uint64)], axis=2)


class Fresh(Session):
    """Pads that are drawn in every call."""

    reuses_masks = False
    width = None

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(couples(network.n)), m), dtype=np.uint64)

    def pad(self, line, keys, e, run, m):
        return keys[run, e]
