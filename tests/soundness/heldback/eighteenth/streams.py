"""Masks that pairs of clients expand of session keys, by what the standard library and NumPy have."""

from __future__ import annotations

import functools
import hashlib
import hmac
import random
import secrets
import struct
from dataclasses import dataclass, field

import numpy as np

from secmix.transcript import SERVER

from .common import PairKeys, begin, hand_out, publish


class R01ShakeLabels(PairKeys):
    """Pairs stretch their key and a packed label by SHAKE-256 to words of 64 bits; a server adds up."""

    audited = {"a": "server", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)

        def stretch(key, i, j):
            label = struct.pack(">HHQ", i, j, channel.iteration)
            return np.frombuffer(hashlib.shake_256(key.tobytes() + label).digest(8 * m), dtype="<u8")

        y = np.rint(np.clip(s, -500.0, 500.0) * 2**20).astype(np.int64).astype(np.uint64)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                y[i, run] += stretch(mine[e, run], i, j)
                y[j, run] -= stretch(theirs[e, run], i, j)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        total = got.sum(axis=0, dtype=np.uint64).astype(np.int64)
        return publish(channel, n, total / 2**20 / n)


Q = 2**61 - 1


def prg_stream(seed, length):
    """Stretch a seed by HMAC in feedback mode: each block covers a counter and the block before."""
    out, previous, counter = bytearray(), b"", 1
    while len(out) < length:
        previous = hmac.new(seed, counter.to_bytes(4, "big") + previous, hashlib.sha256).digest()
        out.extend(previous)
        counter += 1
    return bytes(out[:length])


def prg_vector(seed, dim):
    """Read a stream as big-endian words modulo a prime."""
    stream = prg_stream(seed, 8 * dim)
    return [int.from_bytes(stream[8 * k : 8 * k + 8], "big") % Q for k in range(dim)]


class R02FeedbackIntegers(PairKeys):
    """Vectors are lists of Python's integers modulo a prime; masks come of HMAC in feedback mode, entry by entry."""

    audited = {"a": "server", "n": 4}
    scale = 10**6

    def quantize(self, row):
        return [int(round(v * self.scale)) % Q for v in row]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        info = b"round" + channel.iteration.to_bytes(8, "big")
        uploads = []
        for u in range(n):
            vectors = []
            for run in range(runs):
                acc = self.quantize(s[u, run])
                for e, (i, j) in enumerate(network.edges.tolist()):
                    if u not in (i, j):
                        continue
                    key = (mine if u == i else theirs)[e, run].tobytes()
                    mask = prg_vector(hmac.new(key, info, hashlib.sha256).digest(), m)
                    acc = [(a + r if u == i else a - r) % Q for a, r in zip(acc, mask)]
                vectors.append(np.array(acc, dtype=np.uint64))
            uploads.append(vectors)
        got = channel.send(0, np.arange(n), SERVER, "masked", np.array(uploads))
        total = functools.reduce(lambda a, b: (a + b) % np.uint64(Q), got).astype(np.int64)
        return publish(channel, n, np.where(total > Q // 2, total - Q, total) / self.scale / n)


class R03WorkerShares:
    """Each worker sends each other a random field element an entry, takes its own off and adds what it got."""

    audited = {"a": "server+1+3", "n": 5}
    prime, precision = 2**61 - 1, 10**6

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.prime, size=(runs, network.n * (network.n - 1), m), dtype=np.int64)

    def encode_finite_field(self, rational):
        return (rational * self.precision).astype(np.int64) % self.prime

    def decode_finite_field(self, element):
        return np.where(element > self.prime / 2, element - self.prime, element) / self.precision

    def add(self, arrays):
        return functools.reduce(lambda a, b: (a + b) % self.prime, arrays)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n = len(s)
        routes = [(i, j) for i in range(n) for j in range(n) if i != j]
        sender, receiver = zip(*routes)
        channel.hold(-1, sender, "own share", drawn)
        arrived = channel.send(-1, sender, receiver, "share", drawn, encrypted=True)
        encoded = []
        for worker in range(n):
            own = [drawn[k] for k, (i, _) in enumerate(routes) if i == worker]
            others = [arrived[k] for k, (_, j) in enumerate(routes) if j == worker]
            secret = (self.encode_finite_field(s[worker]) - self.add(own)) % self.prime
            encoded.append(self.add([*others, secret]))
        got = channel.send(0, np.arange(n), SERVER, "encoded", np.stack(encoded))
        return publish(channel, n, self.decode_finite_field(self.add(list(got))) / n)


@dataclass
class Member:
    """One participant of a round: its number, and a key for each peer."""

    index: int
    keys: dict[int, bytes] = field(default_factory=dict)

    @staticmethod
    def prg(seed, dim):
        out, counter = bytearray(), 0
        while len(out) < 8 * dim:
            out += hashlib.blake2b(counter.to_bytes(8, "big"), key=seed, digest_size=64, person=b"hive-mask").digest()
            counter += 1
        return np.frombuffer(bytes(out[: 8 * dim]), dtype=">u8").astype(np.uint64)

    def mask(self, value, round_id):
        out = value.copy()
        for peer, key in self.keys.items():
            seed = hashlib.blake2b(round_id, key=key, digest_size=32).digest()
            stream = self.prg(seed, len(value))
            out = out + stream if self.index < peer else out - stream
        return out


class R04KeyedBlake(PairKeys):
    """Members keep keys of peers in a dictionary and stretch them by keyed BLAKE2b into big-endian words."""

    audited = {"a": "server+0", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, _ = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        round_id = b"round:" + channel.iteration.to_bytes(8, "big")
        fixed = np.round(np.clip(s, -1000, 1000) * float(1 << 24)).astype(np.int64).astype(np.uint64)
        masked = np.empty_like(fixed)
        for run in range(runs):
            members = [Member(k) for k in range(n)]
            for e, (i, j) in enumerate(network.edges.tolist()):
                members[i].keys[j] = mine[e, run].tobytes()
                members[j].keys[i] = theirs[e, run].tobytes()
            for member in members:
                masked[member.index, run] = member.mask(fixed[member.index, run], round_id)
        got = channel.send(0, np.arange(n), SERVER, "masked", masked)
        total = got.sum(axis=0, dtype=np.uint64)
        return publish(channel, n, total.astype(np.int64).astype(np.float64) / (1 << 24) / n)


class R05TwisterBits(PairKeys):
    """Pairs seed Python's generator with bytes and take 64 bits an entry; sums are Python's, cut by a bit mask."""

    audited = {"a": "server", "n": 4}
    full = (1 << 64) - 1

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        words = np.rint(np.clip(s, -1000, 1000) * 65536).astype(np.int64).astype(np.uint64)
        rows = [[words[i, run].copy() for run in range(runs)] for i in range(n)]
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                for node, key, sign in ((i, mine[e, run], 1), (j, theirs[e, run], -1)):
                    seed = hashlib.sha512(key.tobytes() + channel.iteration.to_bytes(4, "little")).digest()
                    stream = random.Random(seed)
                    noise = [(sign * stream.getrandbits(64)) & self.full for _ in range(m)]
                    rows[node][run] = rows[node][run] + np.array(noise, dtype=np.uint64)
        got = channel.send(0, np.arange(n), SERVER, "masked", np.array(rows))
        total = np.add.reduce(got, axis=0).astype(np.int64)
        return publish(channel, n, total / 65536 / n)


class R06SpawnedPhilox(PairKeys):
    """Each pair spawns one sequence of seeds for the counts and one for the moments, with Philox on top."""

    audited = {"a": "eaves", "n": 5}

    def streams(self, key, iteration):
        children = np.random.SeedSequence([*key, iteration]).spawn(2)
        return [np.random.Generator(np.random.Philox(child)) for child in children]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        parts = np.split(np.rint(np.clip(s, -900, 900) * 2**18).astype(np.int64), [m // 3], axis=2)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                ours, other = (
                    self.streams(mine[e, run], channel.iteration),
                    self.streams(theirs[e, run], channel.iteration),
                )
                for part, plus, minus in zip(parts, ours, other):
                    shape = part.shape[2]
                    part[i, run] += plus.integers(-(2**63), 2**63, size=shape, dtype=np.int64)
                    part[j, run] -= minus.integers(-(2**63), 2**63, size=shape, dtype=np.int64)
        counts = channel.send(0, np.arange(n), SERVER, "counts", parts[0])
        moments = channel.send(0, np.arange(n), SERVER, "moments", parts[1])
        total = np.concatenate([counts.sum(axis=0), moments.sum(axis=0)], axis=1)
        return publish(channel, n, total / 2**18 / n)


class R07SystemSeeds:
    """Clients draw seeds of pairs by ``secrets`` in the call and hand them over; the mask is one row of 32-bit words."""

    audited = {"a": "server+2", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 1), dtype=np.uint64)  # not used: seeds are the system's

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, _ = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        seeds = [[secrets.token_bytes(32) for _ in range(runs)] for _ in network.edges]
        rows = np.array([[np.frombuffer(seed, dtype=np.uint32) for seed in by_run] for by_run in seeds])
        mine, theirs = hand_out(channel, network.edges, rows)
        y = (np.rint(np.clip(s, -100, 100) * 2**16)).astype(np.int64) % 2**32
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                plus = np.random.default_rng(mine[e, run]).integers(0, 2**32, m)
                minus = np.random.default_rng(theirs[e, run]).integers(0, 2**32, m)
                y[i, run] = (y[i, run] + plus) % 2**32
                y[j, run] = (y[j, run] - minus) % 2**32
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        total = got.sum(axis=0) % 2**32
        total = np.where(total >= 2**31, total - 2**32, total)
        return publish(channel, n, total / 2**16 / n)


class R08RegularGraph:
    """Clients mask with the two before and the two after them in a circle of seven, as SecAgg+ does."""

    audited = {"a": "server+0+3", "n": 7}
    reuses_masks = True

    def neighbours(self, n):
        return [(i, (i + step) % n) for i in range(n) for step in (1, 2)]

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 2 * network.n, 4), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        graph = self.neighbours(n)
        mine, theirs = hand_out(channel, graph, keys)
        book = {k: {"plus": [], "minus": []} for k in range(n)}
        for e, (i, j) in enumerate(graph):
            book[i]["plus"].append(mine[e])
            book[j]["minus"].append(theirs[e])

        def pad(key):
            seed = hashlib.sha3_256(b"pad" + key.tobytes() + channel.iteration.to_bytes(8, "little")).digest()
            gen = np.random.Generator(np.random.PCG64(np.frombuffer(seed, np.uint32).tolist()))
            return gen.integers(np.iinfo(np.uint64).max, size=m, dtype=np.uint64, endpoint=True)

        y = np.trunc(np.clip(s, -1e3, 1e3) * 1e6).astype(np.int64).view(np.uint64)
        for node, lists in book.items():
            for run in range(runs):
                for key in lists["plus"]:
                    y[node, run] += pad(key[run])
                for key in lists["minus"]:
                    y[node, run] -= pad(key[run])
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).view(np.int64) / 1e6 / n)
