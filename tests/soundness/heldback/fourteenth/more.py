"""More right protocols: polynomials, chunks, objects, weights, and keys that are agreed on."""

from __future__ import annotations

import functools
import itertools
import operator
from dataclasses import dataclass, field

import numpy as np

from secmix.transcript import SERVER

from .common import BEFORE_SERVER, U64, FixedPoint, prepare, release


class RShamirByHand:
    """An author shares in degree two modulo 2^61 - 1 among all nodes by Python's integers (Ben-Or et al. 1988), which
    is right: shares go by encrypted lines, and only their sums are told."""

    audited = BEFORE_SERVER
    P = 2**61 - 1

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.P, size=(runs, 2 * network.n, m)).astype(object)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n, p = network.n, self.P
        nodes = np.arange(n)
        one, two = r[:n], r[n:]
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "coefficients", one)
        channel.hold(-1, nodes, "coefficients", two)
        x = np.rint(s * 2**16).astype(np.int64).astype(object) % p
        sums = []
        for point in range(1, n + 1):
            shares = (x + one * point + two * point**2) % p
            got = channel.send(0, nodes, point - 1, "share", shares, encrypted=True)
            sums.append(channel.send(1, point - 1, SERVER, "sum", (got.sum(axis=0) % p)[None]))
        lagrange = []
        for a in (1, 2, 3):
            c = 1
            for b in (1, 2, 3):
                if a != b:
                    c = c * b * pow(b - a, -1, p) % p
            lagrange.append(c)
        total = sum(c * y for c, y in zip(lagrange, sums)) % p
        total = np.where(total > p // 2, total - p, total).astype(float)
        return release(channel, network, total / 2.0**16 / n)


class RShamirInts:
    """An author shares in degree two modulo 2^61 - 1 (Ben-Or et al. 1988) by words that become Python's integers, which
    is right: shares go by encrypted lines, and only their sums are told."""

    audited = BEFORE_SERVER
    P = 2**61 - 1

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.P, size=(runs, 2 * network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n, p = network.n, self.P
        nodes = np.arange(n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "coefficients", r[:n])
        channel.hold(-1, nodes, "coefficients", r[n:])
        one, two = r[:n].astype(object), r[n:].astype(object)
        x = np.rint(s * 2**16).astype(np.int64).astype(object) % p
        sums = []
        for point in range(1, n + 1):
            shares = ((x + one * point + two * point**2) % p).astype(np.int64)
            got = channel.send(0, nodes, point - 1, "share", shares, encrypted=True)
            total = (got.astype(object).sum(axis=0) % p).astype(np.int64)
            sums.append(channel.send(1, point - 1, SERVER, "sum", total[None]).astype(object))
        total = 0
        for a in (1, 2, 3):
            c = 1
            for b in {1, 2, 3} - {a}:
                c = c * b * pow(b - a, -1, p) % p
            total = (total + c * sums[a - 1]) % p
        total = total.astype(np.int64)
        signed = np.where(total > p // 2, total - p, total)
        return release(channel, network, signed / 2.0**16 / n)


class RChunked:
    """An author cuts vectors in chunks of four, as for models that do not fit into one message, which is right: each
    chunk has masks of its own."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "mask", r)
        other = channel.send(-1, i, j, "mask", r, encrypted=True)
        signs = np.zeros((n, len(i)))
        signs[i, np.arange(len(i))] = 1.0
        back = np.zeros((n, len(i)))
        back[j, np.arange(len(i))] = -1.0
        parts = []
        pieces = -(-s.shape[2] // 4)
        for k, (x, a, b) in enumerate(zip(*(np.array_split(y, pieces, axis=2) for y in (s, r, other)))):
            hidden = x + np.tensordot(signs, a, axes=1) + np.tensordot(back, b, axes=1)
            up = channel.send(k, np.arange(n), SERVER, "chunk", hidden)
            parts.append(functools.reduce(operator.add, up) / n)
        return release(channel, network, np.concatenate(parts, axis=-1)[None])


@dataclass
class Client:
    """A participant of FedAvg."""

    number: int
    vector: object
    outbox: list = field(default_factory=list)

    def upload(self, peers, masks):
        y = self.vector.copy()
        for peer in peers:
            low, high = sorted((self.number, peer))
            y = y + masks[low, high] if self.number == low else y - masks[low, high]
        return y


class RClients:
    """An author of a tutorial has objects for clients with dictionaries of pair masks, which is right: it is the
    pairwise sum of Bonawitz et al. (2017) in words."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "mask", r)
        other = channel.send(-1, i, j, "mask", r, encrypted=True)
        words = FixedPoint().encode(s)
        clients = [Client(k, words[k]) for k in range(n)]
        mine = {(int(a), int(b)): r[e] for e, (a, b) in enumerate(zip(i, j))}
        theirs = {(int(a), int(b)): other[e] for e, (a, b) in enumerate(zip(i, j))}
        ups = []
        for client in clients:
            peers = [p for p in range(n) if p != client.number]
            merged = {edge: (mine if edge[0] == client.number else theirs)[edge] for edge in mine}
            ups.append(client.upload(peers, merged))
        up = channel.send(0, np.arange(n), SERVER, "masked", np.stack(ups))
        total = functools.reduce(np.add, list(up))[None]
        return release(channel, network, FixedPoint().decode(total, n))


class RWeighted:
    """An author of FedAvg weighs by public numbers of rows, which is right: weights are public, and what is sent is
    masked by the pairwise sum."""

    audited = BEFORE_SERVER
    WEIGHTS = np.array([3.0, 1.0, 2.0, 2.0, 1.0])

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "mask", r)
        other = channel.send(-1, i, j, "mask", r, encrypted=True)
        w = self.WEIGHTS[:n] / self.WEIGHTS[:n].sum()
        hidden = np.einsum("i,irm->irm", w, s)
        np.add.at(hidden, i, r)
        np.subtract.at(hidden, j, other)
        up = channel.send(0, np.arange(n), SERVER, "masked", np.ascontiguousarray(hidden))
        return release(channel, network, up.sum(0)[np.newaxis, ...])


class RTiles:
    """An author picks which masks a node adds by boolean tables of nodes and edges, which is right: it is the pairwise
    sum by broadcasting."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s, r, channel = prepare(self, inputs, network, rng, masks, channel)
        n = network.n
        i, j = network.edges.T
        channel.hold(-1, np.arange(n), "input", s)
        channel.hold(-1, i, "mask", r)
        other = channel.send(-1, i, j, "mask", r, encrypted=True)
        starts = (np.arange(n)[:, None] == i)[:, :, None, None]
        ends = (np.arange(n)[:, None] == j)[:, :, None, None]
        zero = np.zeros_like(r)
        total = np.where(starts, r[None], zero).sum(axis=1) - np.where(ends, other[None], zero).sum(axis=1)
        up = channel.send(0, np.arange(n), SERVER, "masked", s + total)
        return release(channel, network, np.nanmean(up, axis=0, keepdims=True))


class RChaChaSecAgg:
    """An author of the SecAgg+ deployment profile derives ChaCha20 key streams by X25519 and HKDF-SHA256, which is
    right: each call and run has key pairs of its own, and each pair one key stream."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        s, secrets, channel = prepare(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        nodes = np.arange(n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "key", secrets)
        words = FixedPoint().encode(s)
        for run in range(runs):
            keys = [X25519PrivateKey.from_private_bytes(secrets[i, run].tobytes()) for i in range(n)]
            told = [
                channel.send(
                    0,
                    i,
                    nodes,
                    "public key",
                    np.frombuffer(k.public_key().public_bytes_raw(), U64)[None, None],
                    content=np.zeros(n, dtype=int),
                )
                for i, k in enumerate(keys)
            ]
            public = [X25519PublicKey.from_public_bytes(t[0, 0].tobytes()) for t in told]
            for a, b in itertools.permutations(range(n), 2):
                shared = keys[a].exchange(public[b])
                key = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"pad" + bytes(sorted((a, b)))).derive(
                    shared
                )
                stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(8 * m))
                pad = np.frombuffer(stream, U64)
                words[a, run] = words[a, run] + pad if a < b else words[a, run] - pad
        up = channel.send(1, nodes, SERVER, "masked", words)
        return release(channel, network, FixedPoint().decode(up.sum(axis=0, keepdims=True), n))


class ROneShotChaCha:
    """An author of the SecAgg+ deployment profile sends public keys of all runs in one block, which is right: each run
    has key pairs of its own, and each pair one key stream."""

    audited = BEFORE_SERVER

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=U64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        s, drawn, channel = prepare(self, inputs, network, rng, masks, channel)
        n, runs, m = s.shape
        nodes = np.arange(n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, nodes, "key", drawn)
        private = [[X25519PrivateKey.from_private_bytes(drawn[i, k].tobytes()) for k in range(runs)] for i in range(n)]
        told = np.stack(
            [np.stack([np.frombuffer(key.public_key().public_bytes_raw(), U64) for key in row]) for row in private]
        )
        told = channel.send(0, nodes, SERVER, "public key", told)
        words = FixedPoint().encode(s)
        for i in nodes.tolist():
            for j in nodes.tolist():
                if i == j:
                    continue
                for k in range(runs):
                    peer = X25519PublicKey.from_public_bytes(told[j, k].tobytes())
                    key = HKDF(
                        algorithm=hashes.SHA256(), length=32, salt=None, info=b"pad" + bytes(sorted((i, j)))
                    ).derive(private[i][k].exchange(peer))
                    pad = np.frombuffer(
                        Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(8 * m)), U64
                    )
                    words[i, k] = words[i, k] + pad if i < j else words[i, k] - pad
        up = channel.send(2, nodes, SERVER, "masked", words)
        return release(channel, network, FixedPoint().decode(up.sum(axis=0, keepdims=True), n))
