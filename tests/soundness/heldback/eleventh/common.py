"""Share what all of this author's protocols do: the last message (the mean goes to all), and fixed point."""

import numpy as np

from secmix.transcript import SERVER


def publish(channel, step, mean, n):
    """The server sends one mean (runs, m) to all n nodes; returns (runs, n, m)."""
    got = channel.send(step, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
    return np.repeat(got.transpose(1, 0, 2), n, axis=1)


def fixed64(x, bits=24):
    return np.rint(np.asarray(x, dtype=float) * 2.0**bits).astype(np.int64).astype(np.uint64)


def unfixed64(words, bits=24):
    return words.view(np.int64) / 2.0**bits


def fixed32(x, bits=16):
    return np.rint(np.asarray(x, dtype=float) * 2.0**bits).astype(np.int32).astype(np.uint32)


def unfixed32(words, bits=16):
    return words.view(np.int32) / 2.0**bits
