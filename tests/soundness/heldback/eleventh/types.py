"""A last ten habits: array.array, vectorize, randbits, bytes of the generator, halves in doubles, votes, chunks, fsum, ratchets."""

import array
import hashlib
import hmac
import math
import secrets

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import fixed64, publish, unfixed64
from .more import Seeds, start


class R48_ArrayModule(Seeds):
    """array.array('Q') and memoryview, as in code without NumPy; arithmetic on Python ints modulo 2^64."""

    audited = {"a": "server"}

    def pad(self, seed, m):
        return array.array("Q", hashlib.shake_256(memoryview(seed.tobytes())).digest(8 * m)).tolist()

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        total = [[0] * m for _ in range(runs)]
        for i in range(n):
            sent = []
            for r in range(runs):
                y = [round(number * 2**24) for number in x[r, i].tolist()]
                for e, (u, v) in enumerate(network.edges.tolist()):
                    if i == u:
                        y = [a + b for a, b in zip(y, self.pad(seeds[r, e], m))]
                    elif i == v:
                        y = [a - b for a, b in zip(y, self.pad(copies[e][r], m))]
                sent.append([a % 2**64 for a in y])
            got = channel.send(0, i, SERVER, "masked", np.array(sent, dtype=np.uint64)).tolist()
            total = [[(a + b) % 2**64 for a, b in zip(row, more)] for row, more in zip(total, got)]
        mean = unfixed64(np.array(total, dtype=np.uint64)) / n
        return publish(channel, 1, mean, n), channel.transcript


class R49_Vectorized(Seeds):
    """np.apply_along_axis expands all seeds; np.vectorize turns numbers into words."""

    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)

        def expand(seed):
            return np.random.default_rng(seed).integers(0, 2**64, m, dtype=np.uint64)

        to_word = np.vectorize(lambda number: int(round(number * 2**24)) % 2**64, otypes=[np.uint64])
        y = to_word(x).transpose(1, 0, 2).copy()
        np.add.at(y, network.edges[:, 0], np.apply_along_axis(expand, 2, seeds).transpose(1, 0, 2))
        np.subtract.at(y, network.edges[:, 1], np.apply_along_axis(expand, 2, copies))
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class R50_Randbits:
    """Additive shares: secrets.randbits(64) for each entry and peer; peers add what they get, a server adds the rest."""

    audited = {"a": "server"}
    bits = 64

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        y = [fixed64(x[:, i]) for i in range(n)]
        for i in range(n):
            channel.hold(-1, i, "input", x[:, i])
        for i in range(n):
            for j in range(n):
                if j != i:
                    share = np.array(
                        [[secrets.randbits(self.bits) for _ in range(m)] for _ in range(runs)], dtype=np.uint64
                    )
                    channel.hold(-1, i, f"share for {j}", share)
                    y[i] = y[i] - share
                    y[j] = y[j] + channel.send(-1, i, j, "share", share, encrypted=True)
        got = [channel.send(0, i, SERVER, "rest", y[i]) for i in range(n)]
        return publish(channel, 1, unfixed64(np.sum(got, axis=0, dtype=np.uint64)) / n, n), channel.transcript


class W29_Randbits16(R50_Randbits):
    """WRONG: randbits(16) where bytes were meant: shares are below 2^16, with 24 bits behind the point that is 2^-8. The server
    reads each entry of each node to 0.02."""

    bits = 16


class R51_GeneratorBytes:
    """draw_masks takes bytes of the generator, and reads them as words."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        count = len(network.edges)
        return np.frombuffer(rng.bytes(8 * runs * count * m), dtype=np.uint64).reshape(runs, count, m)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, own, copies = start(self, inputs, network, rng, masks, channel)
        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            y[u] += own[:, e]
            y[v] -= copies[e]
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class R52_HalvesAsDoubles(Seeds):
    """Masked words go as two doubles of 32 bits each, since the wire format knows doubles alone."""

    audited = {"a": "server"}

    def masks_of(self, seed, m):
        return np.random.default_rng(seed).integers(0, 2**64, m, dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            for r in range(runs):
                y[u, r] += self.masks_of(seeds[r, e], m)
                y[v, r] -= self.masks_of(copies[e, r], m)
        halves = np.concatenate([y >> np.uint64(32), y & np.uint64(0xFFFFFFFF)], axis=2).astype(float)
        got = channel.send(0, np.arange(n), SERVER, "halves", halves).astype(np.uint64)
        words = (got[..., :m] << np.uint64(32)) | got[..., m:]
        return publish(channel, 1, unfixed64(words.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class W30_HalfMasked(R52_HalvesAsDoubles):
    """WRONG: masks are drawn below 2^16, "half of 32": 24 bits are behind the point, so a mask is below 2^-8, and the upper half of a
    word is masked by a carry at most. The server reads each entry of each node to 0.02."""

    def masks_of(self, seed, m):
        return np.random.default_rng(seed).integers(0, 2**16, m, dtype=np.uint64)


class R53_Votes(Seeds):
    """Signs as 0 or 1, masked modulo 16; the server learns how many nodes say yes. (What comes out is no mean of x: the share
    of yes.)"""

    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        y = (x > 0).astype(np.int64).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            for r in range(runs):
                y[u, r] += np.random.default_rng(seeds[r, e]).integers(0, 16, m)
                y[v, r] -= np.random.default_rng(copies[e, r]).integers(0, 16, m)
        got = channel.send(0, np.arange(n), SERVER, "votes", y % 16)
        return publish(channel, 1, (got.sum(axis=0) % 16) / n, n), channel.transcript


class R54_Chunks(Seeds):
    """The vector goes in messages of five entries; one stream a pair runs on from chunk to chunk."""

    audited = {"a": "server"}
    size = 5

    def streams(self, rows):
        return [np.random.default_rng(s) for s in rows]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        own = {e: self.streams(seeds[:, e]) for e in range(len(network.edges))}
        other = {e: self.streams(copies[e]) for e in range(len(network.edges))}
        parts = []
        for step, begin in enumerate(range(0, m, self.size)):
            chunk = fixed64(x[..., begin : begin + self.size]).transpose(1, 0, 2).copy()
            own, other = self.next_chunk(own, other, seeds, copies)
            for e, (u, v) in enumerate(network.edges):
                width = chunk.shape[2]
                chunk[u] += np.array([g.integers(0, 2**64, width, dtype=np.uint64) for g in own[e]])
                chunk[v] -= np.array([g.integers(0, 2**64, width, dtype=np.uint64) for g in other[e]])
            got = channel.send(step, np.arange(n), SERVER, "chunk", chunk)
            parts.append(got.sum(axis=0, dtype=np.uint64))
        mean = unfixed64(np.concatenate(parts, axis=1)) / n
        return publish(channel, 100, mean, n), channel.transcript

    def next_chunk(self, own, other, seeds, copies):
        return own, other


class W31_ChunksRestart(R54_Chunks):
    """WRONG: each chunk makes its generators anew of the same seeds: all chunks wear the same masks, and the server learns
    x[k] - x[k + 5] of each node."""

    def next_chunk(self, own, other, seeds, copies):
        return {e: self.streams(seeds[:, e]) for e in own}, {e: self.streams(copies[e]) for e in other}


class R55_FloatsByHand(Seeds):
    """Python floats in lists, masks of a million by random.gauss-like sums of the pair's generator, math.fsum at the server."""

    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        rows = [[list(map(float, x[r, i])) for r in range(runs)] for i in range(n)]
        for e, (u, v) in enumerate(network.edges.tolist()):
            for r in range(runs):
                for node, seed, sign in ((u, seeds[r, e], 1.0), (v, copies[e][r], -1.0)):
                    mask = np.random.default_rng(seed).normal(0.0, 1e7, m)
                    rows[node][r] = [a + sign * b for a, b in zip(rows[node][r], mask)]
        got = [channel.send(0, i, SERVER, "masked", np.array(rows[i])) for i in range(n)]
        mean = np.array([[math.fsum(g[r, k] for g in got) / n for k in range(m)] for r in range(runs)])
        return publish(channel, 1, mean, n), channel.transcript


class R56_Ratchet(Seeds):
    """Pair keys go forward: the next key is HMAC(key, "next"), the mask SHAKE of HMAC(key, "mask"). Iteration t is t steps from
    the key that was drawn."""

    audited = {"a": "server"}
    reuses_masks = True

    def step(self, key):
        return hmac.new(key, b"next", hashlib.sha256).digest()

    def told(self, channel, keys):
        pass

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        keys = [[seeds[r, e].tobytes() for e in range(len(network.edges))] for r in range(runs)]
        for _ in range(channel.iteration):
            keys = [[self.step(key) for key in row] for row in keys]
        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            for r in range(runs):
                sub = hmac.new(keys[r][e], b"mask", hashlib.sha256).digest()
                mask = np.frombuffer(hashlib.shake_256(sub).digest(8 * m), np.uint64)
                y[u, r] += mask
                y[v, r] -= mask
        self.told(channel, keys)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class W32_KeyIdIsNextKey(R56_Ratchet):
    """WRONG: the key's id, by which the server checks that both ends are in step, is sha256(key), and so is the next key. The server
    has each pair's key from the second iteration on, and reads every input."""

    def step(self, key):
        return hashlib.sha256(key).digest()

    def told(self, channel, keys):
        ids = np.array([[np.frombuffer(hashlib.sha256(k).digest(), np.uint64) for k in row] for row in keys])
        channel.send(0, np.zeros(ids.shape[1], dtype=int), SERVER, "key id", ids.transpose(1, 0, 2))


class R57_GroupKey:
    """All nodes have one key (node 0 draws it, and sends it encrypted), the server has not: node i's mask is F(i) - F(i + 1), F of
    key, node and iteration; masks add up to zero."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 4), dtype=np.uint64)

    def group_key(self, row):
        return row.tobytes()

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
            label = b"zero-sum" + (i % n).to_bytes(4, "big") + channel.iteration.to_bytes(8, "big")
            return np.frombuffer(hashlib.shake_256(self.group_key(key) + label).digest(8 * m), np.uint64)

        y = [fixed64(x[:, i]) + np.array([f(k, i) - f(k, i + 1) for k in at[i]]) for i in range(n)]
        got = [channel.send(0, i, SERVER, "masked", y[i]) for i in range(n)]
        return publish(channel, 1, unfixed64(np.sum(got, axis=0, dtype=np.uint64)) / n, n), channel.transcript


class W33_GroupNameAsKey(R57_GroupKey):
    """WRONG: the key is looked up by a default that nobody replaced: it is the group's name. Everybody knows it: the server
    reads every input."""

    def group_key(self, row):
        return b"federation-eu-west"
