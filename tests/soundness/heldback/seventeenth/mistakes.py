"""Mistakes of ordinary authors, in code that sums rightly."""

from __future__ import annotations

import hashlib
import itertools
import random

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import tell_all


def quantize(x):
    """Write floats as words of 64 bits."""
    return np.rint(x * 2.0**24).astype(np.int64).astype(np.uint64)


def dequantize(words):
    """Read words of 64 bits as floats."""
    return words.astype(np.int64) / 2.0**24


class PairwiseSum:
    """Mask words of 64 bits in pairs, before a server that adds up; subclasses differ in a step."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def pairs(self, network):
        return network.edges.tolist()

    def mask(self, drawn, pair, iteration, m):
        """Return the mask (runs, m) of a pair, of what was drawn for it (runs, w)."""
        return drawn

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        words = quantize(x.transpose(1, 0, 2))
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        for e, (i, j) in enumerate(self.pairs(network)):
            channel.hold(-1, i, "mask", drawn[:, e])
            theirs = channel.send(-1, i, j, "mask", drawn[:, e], encrypted=True)
            words[i] += self.mask(drawn[:, e], (i, j), channel.iteration, m)
            words[j] -= self.mask(theirs, (i, j), channel.iteration, m)
        up = channel.send(0, np.arange(n), SERVER, "masked", words)
        return tell_all(channel, n, dequantize(up.sum(axis=0, dtype=np.uint64)) / n)


class WLastNodeForgotten(PairwiseSum):
    """Loop over pairs up to n - 1, as range() seems to ask for, so that the last node is in no pair: the server reads
    its vector in every call."""

    audited = {"n": 5, "a": "server"}

    def pairs(self, network):
        return [(i, j) for i in range(network.n - 1) for j in range(i + 1, network.n - 1)]


class WRoundForgotten(PairwiseSum):
    """Keep pair keys for the training and hash the pair's number to its mask, but not the round: masks are those of the
    round before, and the server learns how each vector changed from round to round."""

    audited = {"n": 5, "a": "server"}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def mask(self, drawn, pair, iteration, m):
        seeds = [hashlib.sha256(k.tobytes() + f"{pair[0]}-{pair[1]}".encode()).digest() for k in drawn]
        return np.array([np.frombuffer(hashlib.shake_256(s).digest(8 * m), np.uint64) for s in seeds])


class WSeededByIds(PairwiseSum):
    """Seed each pair's generator by both ids and the round, which needs no key exchange: the server knows these
    numbers, computes every mask and reads every vector in every call."""

    audited = {"n": 5, "a": "server"}

    def mask(self, drawn, pair, iteration, m):
        rng = np.random.default_rng([pair[0], pair[1], iteration])
        return rng.integers(0, 2**64, size=(len(drawn), m), dtype=np.uint64)


class WSixteenBitSeeds(PairwiseSum):
    """Draw the seed of each pair below 65536: the server has the seeds of node 2, and tries all of the one pair that is
    left. The right one leaves small vectors; it reads those of nodes 0 and 1 in every call."""

    audited = {"n": 3, "a": "server+2"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 65536, size=(runs, len(network.edges), 1), dtype=np.uint64)

    def mask(self, drawn, pair, iteration, m):
        return np.stack([np.random.default_rng(int(s[0])).integers(0, 2**64, m, dtype=np.uint64) for s in drawn])


class WOneByteMasks(PairwiseSum):
    """Read a stream of bytes as one mask a byte, where words have 64 bits of which 24 lie behind the point: a mask is
    below 2^-16 in units of the data, and the server reads every vector to three digits or more in every call."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def mask(self, drawn, pair, iteration, m):
        streams = [hashlib.shake_256(key.tobytes()).digest(m) for key in drawn]
        return np.array([np.frombuffer(stream, dtype=np.uint8) for stream in streams]).astype(np.uint64)


class WOneMaskForAllEntries(PairwiseSum):
    """Draw one word for each pair and let NumPy spread it over the vector: all entries of a node have one mask, and the
    server learns all differences between entries of a node's vector in every call."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 1), dtype=np.uint64)

    def mask(self, drawn, pair, iteration, m):
        return np.broadcast_to(drawn, (len(drawn), m))


class WMasksReducedEarly(PairwiseSum):
    """Reduce masks modulo 2^16, the range of one earlier quantised vector, and words modulo 2^64: what lies above bit
    18 of a word is in the clear, and the server reads every vector to 0.02 in every call."""

    audited = {"n": 5, "a": "server"}
    mod_range = np.uint64(1 << 16)

    def mask(self, drawn, pair, iteration, m):
        return drawn % self.mod_range


class WSmallNormalMasks:
    """Draw normal masks of deviation 0.02, that of noise in differential privacy, for vectors of size ten: the server
    reads every vector to a tenth in every call."""

    audited = {"n": 5, "a": "server"}
    std = 0.02

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(0.0, self.std, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        z = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", x)
        channel.hold(-1, i, "mask", z)
        agreed = channel.send(-1, i, j, "mask", z, encrypted=True)
        y = x.copy()
        np.add.at(y, i, z)
        np.subtract.at(y, j, agreed)
        return tell_all(channel, n, channel.send(0, np.arange(n), SERVER, "y", y).mean(axis=0))


class WBothAxes:
    """Make an antisymmetric matrix of masks and add up its rows and its columns, which is nothing: all masks cancel at
    their node, and the server reads every vector in every call."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        rows, cols = np.triu_indices(n, 1)
        upper = masks.transpose(1, 0, 2)
        channel.hold(-1, np.arange(n), "x", x)
        channel.hold(-1, rows, "mask", upper)
        lower = channel.send(-1, rows, cols, "mask", upper, encrypted=True)
        matrix = np.zeros((n, n, runs, m), dtype=np.uint64)
        matrix[rows, cols] = upper
        matrix[cols, rows] = np.uint64(0) - lower
        y = quantize(x) + matrix.sum(axis=0, dtype=np.uint64) + matrix.sum(axis=1, dtype=np.uint64)
        up = channel.send(0, np.arange(n), SERVER, "y", y)
        return tell_all(channel, n, dequantize(up.sum(axis=0, dtype=np.uint64)) / n)


class WGroupKey:
    """Let node 0 make one key for the group, which all expand anew for each peer: a node's masks are one stream, added
    and subtracted as often as it has peers above and below. The middle of five has two of each: the server reads it."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 4), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        key = (self.draw_masks(runs, m, network, rng) if masks is None else masks)[:, 0]
        channel.hold(-1, 0, "group key", key)
        others = list(range(1, n))
        channel.send(-1, 0, others, "group key", key[None], content=[0] * len(others), encrypted=True)
        total = np.zeros((runs, m), dtype=np.uint64)
        for me in range(n):
            channel.hold(-1, me, "input", x[:, me])
            y = quantize(x[:, me])
            for peer in range(n):
                if peer != me:
                    mask = np.stack([np.random.default_rng(k).integers(0, 2**64, m, dtype=np.uint64) for k in key])
                    y = y + mask if me < peer else y - mask
            total = total + channel.send(0, me, SERVER, "y", y)
        return tell_all(channel, n, dequantize(total) / n)


class WSeedsByTheServer:
    """Have the server pass pair seeds on, over lines that are encrypted to and from it but not through it: the server
    reads every seed in every call, and with it every vector."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def expand(self, seeds, m):
        gens = [random.Random(int.from_bytes(seed.tobytes(), "big")) for seed in seeds]
        return np.array([[gen.getrandbits(64) for _ in range(m)] for gen in gens], dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        words = quantize(x.transpose(1, 0, 2))
        channel.hold(-2, np.arange(n), "input", x.transpose(1, 0, 2))
        for e, (i, j) in enumerate(itertools.combinations(range(n), 2)):
            channel.hold(-2, i, "seed", seeds[:, e])
            at_server = channel.send(-2, i, SERVER, "seed", seeds[:, e], encrypted=True)
            forwarded = channel.send(-1, SERVER, j, "seed", at_server, encrypted=True)
            words[i] += self.expand(seeds[:, e], m)
            words[j] -= self.expand(forwarded, m)
        up = channel.send(0, np.arange(n), SERVER, "masked", words)
        return tell_all(channel, n, dequantize(up.sum(axis=0, dtype=np.uint64)) / n)


class WLateUpload:
    """Count the last node as gone when its upload is late, have the others open their masks with it, and keep its
    upload when it comes: the server takes the opened masks off and reads the late vector, in every call."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        pair_mask, y = {}, quantize(x.transpose(1, 0, 2))
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        for e, (i, j) in enumerate(network.edges.tolist()):
            channel.hold(-1, i, "mask", masks[:, e])
            pair_mask[i, j] = masks[:, e]
            y[i] += masks[:, e]
            y[j] -= channel.send(-1, i, j, "mask", masks[:, e], encrypted=True)
        late = n - 1
        total = np.zeros((runs, m), dtype=np.uint64)
        for i in range(late):
            total += channel.send(0, i, SERVER, "masked", y[i])
        for i in range(late):
            total -= channel.send(1, i, SERVER, "opened mask", pair_mask[i, late])
        total_without = dequantize(total)
        channel.send(2, late, SERVER, "masked", y[late])  # too late for this sum
        mean = channel.send(3, SERVER, np.arange(late), "mean", total_without[None] / late, content=[0] * late)
        averages = np.full((runs, n, m), np.nan)
        averages[:, :late] = mean.transpose(1, 0, 2)
        return averages, channel.transcript


class WOddOneOut:
    """Mask nodes two by two, and leave masks out where one stays without a partner: of five nodes the last sends its
    word as it is, and the server reads it in every call, besides the sums of pairs."""

    audited = {"n": 5, "a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n // 2, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        total = np.zeros((runs, m), dtype=np.uint64)
        for left in range(0, n, 2):
            right = left + 1
            channel.hold(-1, left, "input", x[:, left])
            if right == n:
                total += channel.send(0, left, SERVER, "masked", quantize(x[:, left]))
                continue
            channel.hold(-1, right, "input", x[:, right])
            channel.hold(-1, left, "mask", masks[:, left // 2])
            mask = channel.send(-1, left, right, "mask", masks[:, left // 2], encrypted=True)
            total += channel.send(0, left, SERVER, "masked", quantize(x[:, left]) + masks[:, left // 2])
            total += channel.send(0, right, SERVER, "masked", quantize(x[:, right]) - mask)
        return tell_all(channel, n, dequantize(total) / n)


class WThresholdOffByOne:
    """Share by Shamir's scheme for a threshold of three with coefficients from range(1, t - 1), one too few: the
    polynomial is a line, and nodes 1 and 3 compute every other node's vector of their two shares, in every call."""

    audited = {"n": 5, "a": "1+3"}
    p = 2**31 - 1
    t = 3

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.p, size=(runs, network.n * (self.t - 1), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        coefficients = masks.reshape(runs, n, self.t - 1, m)
        sums = [np.zeros((runs, m), dtype=np.int64) for _ in range(n)]
        for i in range(n):
            channel.hold(-1, i, "input", x[:, i])
            for k in range(self.t - 1):
                channel.hold(-1, i, "coefficient", coefficients[:, i, k])
            secret = np.rint(x[:, i] * 1e5).astype(np.int64) % self.p
            for j in range(n):
                share = secret
                for k in range(1, self.t - 1):
                    share = (share + (j + 1) ** k * coefficients[:, i, k - 1]) % self.p
                if i != j:
                    share = channel.send(0, i, j, "share", share, encrypted=True)
                sums[j] = (sums[j] + share) % self.p
        up = [channel.send(1, j, SERVER, "sum share", sums[j], encrypted=True) for j in range(self.t)]
        total = (3 * up[0] - 3 * up[1] + up[2]) % self.p
        return tell_all(channel, n, np.where(total > self.p // 2, total - self.p, total) / 1e5 / n)


class WSiblingsOnATree:
    """Mask siblings on a binary tree against each other, so that their parent sees their sum only: the last of six has
    no sibling, and its parent, node 2, reads its vector in every call."""

    audited = {"n": 6, "a": "2"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, (network.n - 1) // 2, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        subtotal, pad = {}, {}
        for node in range(n):
            channel.hold(-1, node, "x", x[:, node])
            subtotal[node] = quantize(x[:, node])
        for k in range((n - 1) // 2):
            left, right = 2 * k + 1, 2 * k + 2
            channel.hold(-1, left, "mask", masks[:, k])
            pad[left] = masks[:, k]
            pad[right] = -channel.send(-1, left, right, "mask", masks[:, k], encrypted=True)
        for node in range(n - 1, 0, -1):
            up = subtotal[node] + pad[node] if node in pad else subtotal[node]
            parent = (node - 1) // 2
            subtotal[parent] = subtotal[parent] + channel.send(n - node, node, parent, "subtotal", up, encrypted=True)
        mean = dequantize(subtotal[0]) / n
        got = channel.send(n, 0, np.arange(1, n), "mean", mean[None], content=[0] * (n - 1))
        return np.concatenate(
            [mean[:, None], np.repeat(got.transpose(1, 0, 2), n - 1, axis=1)], axis=1
        ), channel.transcript


class WPadInTheOpen:
    """Hand the pad of a ring sum to the last node, so that it can take it off before the way back, and forget to
    encrypt that one line: node 1 hears the pad, gets the first running sum, and reads the vector of node 0 in every
    call."""

    audited = {"n": 5, "a": "1"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        pad = (self.draw_masks(runs, m, network, rng) if masks is None else masks)[:, 0]
        channel.hold(-1, np.arange(n), "x", x.transpose(1, 0, 2))
        channel.hold(-1, 0, "pad", pad)
        at_last = channel.send(-1, 0, n - 1, "pad", pad)
        running = quantize(x[:, 0]) + pad
        for node in range(1, n):
            arrived = channel.send(node, node - 1, node, "running", running, encrypted=True)
            running = arrived + quantize(x[:, node])
        mean = dequantize(running - at_last) / n
        got = channel.send(n, n - 1, np.arange(n - 1), "mean", mean[None], content=[0] * (n - 1))
        return np.concatenate(
            [np.repeat(got.transpose(1, 0, 2), n - 1, axis=1), mean[:, None]], axis=1
        ), channel.transcript
