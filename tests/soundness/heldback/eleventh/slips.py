"""More of the author's mistakes: broadcasting, closures, labels, grids; and right protocols sold against stronger adversaries."""

import hashlib

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import fixed64, publish, unfixed64
from .more import Seeds, start
from .numbers import R33_RandomRing, R34_ZeroSumDealer, R35_RollRing, cancel
from .shares import R14_TwoServers
from .types import R57_GroupKey


class W34_BroadcastEntries:
    """WRONG: (of R51) masks are drawn with one number an edge, and broadcast over the entries: a vector wears one mask. The server
    learns x[k] - x[l] of each node, and what is one entry away from the whole vector."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 1), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, own, copies = start(self, inputs, network, rng, masks, channel)
        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            y[u] += own[:, e]
            y[v] -= copies[e]
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class W35_LateBinding(Seeds):
    """WRONG: (of R49) expanders are closures of a loop, `lambda: expand(seed)`, and all of them see the last seed. All pairs wear one
    mask r: node i sends x_i + (3 - 2 i) r of four nodes; y_1 + y_2 is x_1 + x_2, 3 y_1 - y_0 is 3 x_1 - x_0, and with the
    total only one vector of numbers is unknown."""

    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        expanders = []
        for e in range(len(network.edges)):
            rows = seeds[:, e]
            expanders.append(
                lambda: np.array([np.random.default_rng(s).integers(0, 2**64, m, dtype=np.uint64) for s in rows])  # noqa: B023
            )
        y = fixed64(x).transpose(1, 0, 2).copy()
        for expand, (u, v) in zip(expanders, network.edges):
            y[u] += expand()
            y[v] -= expand()
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class W36_LabelsAdded(R57_GroupKey):
    """WRONG: (of R57) node and iteration are added in the label, i + t, and the group's key is kept for the fit. Node i's mask of
    iteration t is node i + 1's of iteration t - 1: the server learns x_i(t) - x_{i+1}(t-1)."""

    audited = {"a": "server"}
    reuses_masks = True

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-1, 0, "group key", drawn[:, 0])
        told = channel.send(
            -1,
            0,
            np.arange(1, n),
            "group key",
            drawn.transpose(1, 0, 2),
            encrypted=True,
            content=np.zeros(n - 1, dtype=int),
        )
        at = [drawn[:, 0]] + [told[0]] * (n - 1)

        def f(key, i):
            label = (i % n + channel.iteration).to_bytes(8, "big")
            return np.frombuffer(hashlib.shake_256(key.tobytes() + label).digest(8 * m), np.uint64)

        y = [fixed64(x[:, i]) + np.array([f(k, i) - f(k, i + 1) for k in at[i]]) for i in range(n)]
        got = [channel.send(0, i, SERVER, "masked", y[i]) for i in range(n)]
        return publish(channel, 1, unfixed64(np.sum(got, axis=0, dtype=np.uint64)) / n, n), channel.transcript


class W37_GroupKeyAgainstNodes(R57_GroupKey):
    """WRONG: (R57 sold against curious nodes.) Node 1 has the group's key and hears the uploads: it takes off all masks."""

    audited = {"a": "1"}


class W38_DealerListens(R34_ZeroSumDealer):
    """WRONG: (R34 sold against the dealer.) Node 0 dealt all masks and hears the uploads: it reads every input."""

    audited = {"a": "0"}


class W39_ServerWithHelper(R14_TwoServers):
    """WRONG: (R14 where the same company runs both servers.) Server and node 0 have both shares of all."""

    audited = {"a": "server+0"}


class W40_RollRingTwo(R35_RollRing):
    """WRONG: (R35 against two nodes.) Nodes 1 and 3 hold both masks of node 2, and hear its upload."""

    audited = {"a": "1+3", "kind": "cycle", "n": 5}


class W41_RandomRingTwo(R33_RandomRing):
    """WRONG: (R33 against two nodes.) In the orders in which somebody stands between nodes 1 and 3, these hold both its masks."""

    audited = {"a": "1+3", "n": 5}


class W42_MaskOfHighWord:
    """WRONG: (of R51) masks are drawn as 32 bits and shifted to the upper half ("so that they cover the sign"). Words have 24 bits
    behind the point: the lower 32 bits of each node's word are bare, which is all of a number below 128."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**32, size=(runs, len(network.edges), m), dtype=np.uint64) << np.uint64(32)

    average = W34_BroadcastEntries.average


class W43_OneMaskForSumsAndCounts:
    """WRONG: (of R26) masks are drawn for m entries and tiled over sums and counts: entry k and its count wear one mask. Counts are 1
    where nothing is missing: the server takes the masked count off the masked sum, and has x[k] - 1 of each node."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, own, copies = start(self, inputs, network, rng, masks, channel)
        there = ~np.isnan(x)
        both = np.concatenate([np.where(there, x, 0.0), there.astype(float)], axis=2)
        y = fixed64(both).transpose(1, 0, 2).copy()
        y = cancel(y, np.tile(own.transpose(1, 0, 2), 2), np.tile(copies, 2), network)
        got = channel.send(0, np.arange(n), SERVER, "sums and counts", y)
        total = unfixed64(got.sum(axis=0, dtype=np.uint64))
        return publish(channel, 1, total[:, :m] / np.maximum(total[:, m:], 1.0), n), channel.transcript


class W44_ByteOfIteration(Seeds):
    """WRONG: (of R01) the label has one byte of the iteration: masks of iteration 256 are those of iteration 0, and the server
    learns how vectors changed in between."""

    audited = {"a": "server"}
    reuses_masks = True

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, keys, copies = start(self, inputs, network, rng, masks, channel)
        label = b"mask" + bytes([channel.iteration & 0xFF])

        def stream(key):
            return np.frombuffer(hashlib.shake_256(key.tobytes() + label).digest(8 * m), np.uint64)

        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            y[u] += np.array([stream(k) for k in keys[:, e]])
            y[v] -= np.array([stream(k) for k in copies[e]])
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class W45_KeyOfEdgeNumber(Seeds):
    """WRONG: (of R13) seeds are looked up by u + v instead of (u, v): pairs 0-3 and 1-2 wear the mask of 0-3. Against the server
    with nodes 0 and 3 the masks of nodes 1 and 2 are all known, and both vectors are read, where their sum should be."""

    audited = {"a": "server+0+3"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        table = {}
        for e, (u, v) in enumerate(network.edges.tolist()):
            table.setdefault(u + v, seeds[:, e])
        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges.tolist()):
            p = np.array([np.random.default_rng(s).integers(0, 2**64, m, dtype=np.uint64) for s in table[u + v]])
            channel.hold(-1, v, "pair mask", p)
            channel.hold(-1, u, "pair mask", p)
            y[u] += p
            y[v] -= p
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript
