"""What these protocols share: the graphs they run on, the start of a call, fixed-point words, and masks of edges."""

from __future__ import annotations

import numpy as np

from secmix.transcript import Channel

HOUSE = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2], [1, 3]]  # five nodes, a ring with two chords
GRID = [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]  # two rows of three
MESH = [[0, 1], [0, 2], [1, 2], [1, 3], [2, 4], [3, 4], [3, 5], [4, 5], [2, 5]]  # six nodes, as a radio finds them
PRISM = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [0, 3], [1, 4], [2, 5]]  # two triangles, joined
CUBE = [[a, a ^ 1 << k] for a in range(8) for k in range(3) if not a >> k & 1]
TREE = [[0, 1], [0, 2], [1, 3], [1, 4], [2, 5], [2, 6]]  # the parent of i is (i - 1) // 2
STAR = [[0, 1], [0, 2], [0, 3], [0, 4]]

FRACTION = 2.0**20


def on(edges):
    """Return the settings of an audit on a graph of these edges."""
    return {"network": {"nodes": 1 + max(map(max, edges)), "edges": edges}}


def begin(protocol, inputs, network, rng, masks, channel):
    """Return inputs by node, (n, runs, m), a channel on which they are noted, and the draws, (k, runs, w)."""
    x = np.asarray(inputs, dtype=np.float64).transpose(1, 0, 2)
    channel = Channel() if channel is None else channel
    if masks is None:
        masks = protocol.draw_masks(x.shape[1], x.shape[2], network, rng)
    channel.hold(-1, np.arange(network.n), "input", x)
    return x, channel, masks.transpose(1, 0, 2)


def fixed(x, bound=2.0**16):
    """Words of 64 bits, 20 of them behind the point; negative numbers wrap around."""
    return np.rint(np.clip(x, -bound, bound) * FRACTION).astype(np.int64).astype(np.uint64)


def unfixed(words):
    """Read words as signed numbers again."""
    return words.astype(np.int64) / FRACTION


def share_edges(channel, edges, drawn, kind="mask"):
    """The first end of each edge drew a row, and tells the second: two dictionaries, of what each end has."""
    first, second = np.transpose(edges)
    channel.hold(-1, first, kind, drawn)
    told = channel.send(-1, first, second, kind, drawn, encrypted=True)
    keys = [(int(i), int(j)) for i, j in edges]
    return dict(zip(keys, drawn)), dict(zip(keys, told))


def wear(states, mine, theirs):
    """Add the mask of each edge at its first end, and take it off at its second."""
    worn = states.copy()
    for (i, j), mask in mine.items():
        worn[i] += mask
        worn[j] -= theirs[i, j]
    return worn


def everybody(channel, n, mean):
    """All nodes end with the same mean, (runs, m)."""
    return np.repeat(mean[:, None], n, axis=1), channel.transcript


class EdgeWords:
    """One uniform word for each edge and entry, in every averaging."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)


class EdgeNormals:
    """One normal draw of a million for each edge and entry, in every averaging."""

    spread = 1e6

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(0.0, self.spread, size=(runs, len(network.edges), m))


class EdgeKeys:
    """A key of 256 bits for each edge, for all averagings of a training."""

    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)
