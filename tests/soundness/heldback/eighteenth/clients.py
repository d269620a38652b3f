"""Clients and servers as projects have them: layers, weights, drop-outs, threads, rounding by lot, rotation, chunks, noise."""

from __future__ import annotations

import hashlib
import hmac
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.linalg import hadamard

from secmix.transcript import SERVER

from .common import PairKeys, begin, hand_out, publish

FIELD = 2**61 - 1


def deal(secret, coefficients, x):
    """Evaluate the polynomials of a vector of words at x, modulo the field."""
    y = np.zeros(secret.shape, dtype=object)
    for coefficient in reversed([secret, *coefficients]):
        y = (y * x + coefficient.astype(object)) % FIELD
    return y.astype(np.uint64)


def interpolate(shares):
    """Join shares {x: words} at zero, modulo the field."""
    total = 0
    for x, words in shares.items():
        weight = 1
        for other in shares:
            if other != x:
                weight = weight * other * pow(other - x, -1, FIELD) % FIELD
        total = (total + words.astype(object) * weight) % FIELD
    return total.astype(np.uint64)


class R12DoubleMasks:
    """Pair masks and a self mask; a client drops out, survivors tell their seeds with it, and shares of self seeds."""

    audited = {"a": "server", "n": 5}
    gone, threshold = 3, 3

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, FIELD, size=(runs, 3 * network.n + len(network.edges), 3), dtype=np.uint64)

    def noise(self, seeds, m):
        return np.array([np.random.default_rng([*seed]).integers(0, 2**64, m, dtype=np.uint64) for seed in seeds])

    def late(self, channel, y):
        """What the server does where the lost client's vector comes after all, and whose self seeds it asks for."""
        return [u for u in range(len(y)) if u != self.gone]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, m = len(s), s.shape[2]
        nodes, alive = np.arange(n), [u for u in range(n) if u != self.gone]
        own, coefficients, pair = drawn[:n], drawn[n : 3 * n].reshape(n, 2, -1, 3), drawn[3 * n :]
        channel.hold(-1, nodes, "self seed", own)
        channel.hold(-1, np.repeat(nodes, 2), "coefficient", drawn[n : 3 * n])
        mine, theirs = hand_out(channel, network.edges, pair)
        shares = {}
        for u in range(n):
            for v in range(n):
                sealed = channel.send(-1, u, SERVER, "share", deal(own[u], coefficients[u], v + 1), sealed_for=v)
                shares[u, v] = channel.send(-1, SERVER, v, "share", sealed)
        y = np.rint(np.clip(s, -1000, 1000) * 2**20).astype(np.int64).astype(np.uint64)
        for u in range(n):
            y[u] += self.noise(own[u], m)
        for e, (i, j) in enumerate(network.edges.tolist()):
            y[i] += self.noise(mine[e], m)
            y[j] -= self.noise(theirs[e], m)
        total = channel.send(0, alive, SERVER, "masked", y[alive]).sum(axis=0)
        for e, (i, j) in enumerate(network.edges.tolist()):
            if self.gone in (i, j):
                survivor, seed = (j, theirs[e]) if i == self.gone else (i, mine[e])
                told = channel.send(1, survivor, SERVER, "seed with the lost", seed)
                total = total - self.noise(told, m) if survivor == i else total + self.noise(told, m)
        asked = self.late(channel, y)
        for u in asked:
            told = {v + 1: channel.send(2, v, SERVER, "share of self", shares[u, v]) for v in alive[: self.threshold]}
            mask = self.noise(interpolate(told), m)
            total = total - mask if u != self.gone else total
        return publish(channel, n, total.astype(np.int64) / 2**20 / len(alive))


@dataclass
class Client:
    """A client with a number of rows, a state of named layers, and seeds of its peers."""

    number: int
    rows: int
    state: dict
    seeds: dict

    def update(self):
        masked = {name: np.rint(value * self.rows * 2**16).astype(np.int64) for name, value in self.state.items()}
        for peer, seed in sorted(self.seeds.items()):
            gen = np.random.default_rng(seed)
            for name in masked:
                mask = gen.integers(-(2**63), 2**63, size=masked[name].shape, dtype=np.int64)
                masked[name] = masked[name] + (mask if peer > self.number else -mask)
        return masked


class Coordinator:
    """A server that collects layers by name and divides by the number of rows."""

    def __init__(self):
        self.totals, self.rows = {}, 0

    def collect(self, update, rows):
        for name, value in update.items():
            self.totals[name] = self.totals[name] + value if name in self.totals else value
        self.rows += rows

    def finish(self):
        return np.concatenate([total / 2**16 / self.rows for total in self.totals.values()], axis=-1)


class R13NamedLayers(PairKeys):
    """States are dictionaries of layers that are weighted by rows, masked layer by layer and sent as they are."""

    audited = {"a": "server", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        copies = hand_out(channel, network.edges, keys)
        updates = [[] for _ in range(n)]
        for run in range(runs):
            for u in range(n):
                seeds = {}
                for e, (i, j) in enumerate(network.edges.tolist()):
                    if u in (i, j):
                        seeds[j if u == i else i] = [*copies[u != i][e, run], channel.iteration]
                state = {
                    "weights": s[u, run, : m // 4],
                    "means": s[u, run, m // 4 : m // 2],
                    "rest": s[u, run, m // 2 :],
                }
                updates[u].append(Client(u, 20, state, seeds).update())
        server = Coordinator()
        for u in range(n):
            layers = {name: np.stack([update[name] for update in updates[u]]) for name in updates[u][0]}
            server.collect(channel.send(0, u, SERVER, "layers", layers), 20)
        return publish(channel, n, server.finish())


class R14PoolOfClients(PairKeys):
    """Clients mask in a pool of threads; the server adds up what the pool returns."""

    audited = {"a": "server", "n": 4}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        words = np.rint(np.clip(s, -1000, 1000) * 2**16).astype(np.int64).astype(np.uint64)

        def mask(args):
            node, run = args
            out = words[node, run].copy()
            for e, (i, j) in enumerate(network.edges.tolist()):
                if node == i:
                    out += self.pad(mine[e, run], channel.iteration, m)
                elif node == j:
                    out -= self.pad(theirs[e, run], channel.iteration, m)
            return out

        with ThreadPoolExecutor(max_workers=4) as pool:
            done = list(pool.map(mask, [(node, run) for node in range(n) for run in range(runs)]))
        got = channel.send(0, np.arange(n), SERVER, "masked", np.array(done).reshape(n, runs, m))
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)

    def pad(self, key, iteration, m):
        label = b"mask" + iteration.to_bytes(8, "big")
        return np.frombuffer(hashlib.pbkdf2_hmac("sha256", key.tobytes(), label, 10, dklen=8 * m), dtype=np.uint64)


class R15RoundedByLot(PairKeys):
    """Numbers are shifted to be positive, rounded up and brought down by lot; masks and sums are cut to 32 bits."""

    audited = {"a": "server", "n": 5}
    clipping, target, cut = 256.0, 2**24, 2**32 - 1

    def stochastic_round(self, arr, own):
        ret = np.ceil(arr).astype(np.int64)
        ret[own.random(ret.shape) < ret - arr] -= 1
        return ret

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        quantizer = self.target / (2 * self.clipping)
        y = []
        for u in range(n):
            shifted = (np.clip(s[u], -self.clipping, self.clipping) + self.clipping) * quantizer
            y.append(self.stochastic_round(shifted, np.random.default_rng()))
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                plus = np.random.default_rng([*mine[e, run], channel.iteration]).integers(0, 2**32, m)
                minus = np.random.default_rng([*theirs[e, run], channel.iteration]).integers(0, 2**32, m)
                y[i][run] = (y[i][run] + plus) & self.cut
                y[j][run] = (y[j][run] - minus) & self.cut
        got = channel.send(0, np.arange(n), SERVER, "masked", np.stack(y))
        total = got.sum(axis=0) & self.cut
        return publish(channel, n, total / quantizer / n - self.clipping)


class R16RowsInFront(PairKeys):
    """Each vector is multiplied by rows, and the number of rows stands in front of it, under masks as all else."""

    audited = {"a": "server", "n": 5}
    rows, modulus = 20, 1 << 40

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        scaled = np.rint(np.clip(s, -1000, 1000) * self.rows * 2**12).astype(np.int64)
        words = np.concatenate([np.full((n, runs, 1), self.rows), scaled], axis=2) % self.modulus
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                for node, key, sign in ((i, mine[e, run], 1), (j, theirs[e, run], -1)):
                    label = b"rows" + channel.iteration.to_bytes(8, "big") + bytes([i, j])
                    seed = hmac.digest(key.tobytes(), label, "sha256")
                    mask = np.random.default_rng(np.frombuffer(seed, np.uint32)).integers(self.modulus, size=m + 1)
                    words[node, run] = (words[node, run] + sign * mask) % self.modulus
        total = channel.send(0, np.arange(n), SERVER, "masked", words).sum(axis=0) % self.modulus
        total = np.where(total > self.modulus // 2, total - self.modulus, total)
        return publish(channel, n, total[:, 1:] / 2**12 / total[:, :1])


class R17RotatedVectors(PairKeys):
    """Vectors are padded, turned by public signs and a Hadamard matrix, clipped and masked; the server turns back."""

    audited = {"a": "server", "n": 5}

    def __init__(self, seed=7):
        self.seed = seed

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        size = 1 << (m - 1).bit_length()
        signs = np.random.default_rng(self.seed).choice([-1.0, 1.0], size=size)
        turn = hadamard(size) / np.sqrt(size)
        mine, theirs = hand_out(channel, network.edges, keys)
        padded = np.pad(s, ((0, 0), (0, 0), (0, size - m)))
        y = np.rint(np.clip((padded * signs) @ turn, -2000, 2000) * 2**16).astype(np.int64)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                y[i, run] += self.mask(mine[e, run], channel.iteration, size)
                y[j, run] -= self.mask(theirs[e, run], channel.iteration, size)
        total = channel.send(0, np.arange(n), SERVER, "masked", y).sum(axis=0)
        return publish(channel, n, ((total / 2**16) @ turn * signs)[:, :m] / n)

    def mask(self, key, iteration, size):
        seed = hashlib.sha256(key.tobytes() + iteration.to_bytes(8, "big")).digest()
        gen = np.random.RandomState(np.frombuffer(seed, dtype=np.uint32))
        return gen.randint(-(2**63), 2**63 - 1, size=size, dtype=np.int64)


class R18LabelledChunks(PairKeys):
    """Vectors are padded to whole chunks; each chunk has a label of its own, and is sent by itself."""

    audited = {"a": "server", "n": 4}
    length = 5

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        whole = np.zeros((n, runs, -(-m // self.length) * self.length))
        whole[:, :, :m] = s
        chunks = np.array_split(
            np.rint(whole * 2**16).astype(np.int64).view(np.uint64), whole.shape[2] // self.length, axis=2
        )
        totals = []
        for number, chunk in enumerate(chunks):
            masked = chunk.copy()
            for e, (i, j) in enumerate(network.edges.tolist()):
                context = b"|".join([b"chunk", number.to_bytes(4, "big"), channel.iteration.to_bytes(8, "big")])
                for run in range(runs):
                    masked[i, run] += self.pad(mine[e, run].tobytes(), context)
                    masked[j, run] -= self.pad(theirs[e, run].tobytes(), context)
            totals.append(channel.send(number, np.arange(n), SERVER, "chunk", masked).sum(axis=0))
        total = np.concatenate(totals, axis=1)[:, :m].view(np.int64)
        return publish(channel, n, total / 2**16 / n)

    def pad(self, key, context):
        outer = hmac.new(key, digestmod=hashlib.sha512)
        outer.update(context)
        return np.array(
            [int.from_bytes(outer.digest()[8 * k : 8 * k + 8], "little") for k in range(5)], dtype=np.uint64
        )


class R19NoiseAtNodes(PairKeys):
    """Each client cuts its vector to a norm, adds Gaussian noise of its own, and masks what it rounded."""

    audited = {"a": "eaves", "n": 5}
    bound, sigma = 2000.0, 0.01

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        mine, theirs = hand_out(channel, network.edges, keys)
        norm = np.sqrt((s**2).sum(axis=2, keepdims=True))
        cut = s * np.minimum(1.0, self.bound / np.maximum(norm, 1e-12))
        noise = np.stack([np.random.default_rng().normal(0.0, self.sigma, size=(runs, m)) for _ in range(n)])
        y = np.rint((cut + noise) * 2**16).astype(np.int64).astype(np.uint64)
        for e, (i, j) in enumerate(network.edges.tolist()):
            for run in range(runs):
                for node, key in ((i, mine[e, run]), (j, theirs[e, run])):
                    seed = hashlib.blake2s(channel.iteration.to_bytes(8, "big"), key=key.tobytes()).digest()
                    mask = np.random.default_rng(list(seed)).integers(0, 2**64, m, dtype=np.uint64)
                    y[node, run] = y[node, run] + mask if node == i else y[node, run] - mask
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, n, got.sum(axis=0).astype(np.int64) / 2**16 / n)
