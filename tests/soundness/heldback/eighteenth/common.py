"""What these protocols share: how a call begins, how pair keys go round, how the mean comes back."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER, Channel


def begin(protocol, inputs, network, rng, masks, channel):
    """Return the inputs by node (n, runs, m), a channel, and what the protocol drew, (k, runs, w)."""
    s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
    channel = channel or Channel()
    if masks is None:
        masks = protocol.draw_masks(s.shape[1], s.shape[2], network, rng)
    channel.hold(-1, np.arange(len(s)), "input", s)
    return s, channel, masks.transpose(1, 0, 2)


def hand_out(channel, pairs, keys):
    """Give the second node of each pair the key that the first one drew; return both copies, (k, runs, w)."""
    first, second = np.array(pairs).T
    channel.hold(-1, first, "pair key", keys)
    return keys, channel.send(-1, first, second, "pair key", keys, encrypted=True)


def publish(channel, n, mean, sender=SERVER, step=90):
    """Send a mean (runs, m) to all n nodes; return what they end with and the transcript."""
    got = channel.send(step, sender, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
    return np.repeat(got.transpose(1, 0, 2), n, axis=1), channel.transcript


class PairKeys:
    """Draw a key of 256 bits for each edge of the network; it lasts for a training."""

    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)
