"""Clusters and their heads, a sensor tree with a sink, a hub that relays, a collector and somebody who dropped out."""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from secmix.transcript import SERVER, Channel

from .common import STAR, TREE, begin, everybody, fixed, on, unfixed

Link = namedtuple("Link", "low high")


class R14HeadsUnderMasks:
    """Members mask among themselves and send to the head of their cluster; the heads share a mask too, and send to
    the server. Keys last for the training, masks are HMACs of key, iteration and counter. Right: what the server
    reads of a cluster wears the heads' mask, so it has the total; node 1's keys are for masks of messages that it and
    the server do not read."""

    audited = {"a": "server+1", "n": 6}
    reuses_masks = True
    clusters = ((0, 1, 2), (3, 4, 5))

    def links(self):
        within = [Link(*pair) for members in self.clusters for pair in itertools.combinations(members, 2)]
        heads = [members[0] for members in self.clusters]
        return within, [Link(*pair) for pair in itertools.combinations(heads, 2)]

    def draw_masks(self, runs, m, network, rng):
        count = sum(map(len, self.links()))
        return rng.integers(0, 2**64, size=(runs, count, 4), dtype=np.uint64)

    def prf(self, keys, level, iteration, m):
        """One HMAC for four words, for each run."""
        rows = []
        for key in keys:
            stream = b""
            for block in range(-(-m // 4)):
                label = level + iteration.to_bytes(8, "big") + block.to_bytes(4, "big")
                stream += hmac.new(key.tobytes(), label, hashlib.sha256).digest()
            rows.append(np.frombuffer(stream, dtype="<u8")[:m])
        return np.stack(rows)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, keys = begin(self, inputs, network, rng, masks, channel)
        m, t = x.shape[2], channel.iteration
        within, between = self.links()
        links = within + between
        channel.hold(-1, [link.low for link in links], "key", keys)
        copies = channel.send(-1, *zip(*links), "key", keys, encrypted=True)
        ends = dict(zip(links, zip(keys, copies)))

        words = fixed(x)
        for link in within:
            words[link.low] += self.prf(ends[link][0], b"member", t, m)
            words[link.high] -= self.prf(ends[link][1], b"member", t, m)
        sums = {}
        for head, *members in self.clusters:
            uploads = channel.send(0, members, head, "upload", words[members])
            sums[head] = words[head] + uploads.sum(axis=0)
        for link in between:
            sums[link.low] = sums[link.low] + self.prf(ends[link][0], b"head", t, m)
            sums[link.high] = sums[link.high] - self.prf(ends[link][1], b"head", t, m)
        report = {"sum": np.zeros_like(words[0]), "members": np.zeros((x.shape[1], 1), dtype=np.int64)}
        for head, *members in self.clusters:
            count = np.full((x.shape[1], 1), 1 + len(members))
            got = channel.send(1, head, SERVER, "cluster", {"sum": sums[head], "members": count})
            report = {name: part + got[name] for name, part in report.items()}
        mean = unfixed(report["sum"]) / report["members"]
        mean = channel.send(2, SERVER, range(network.n), "mean", mean[None], content=[0] * network.n)[0]
        return everybody(channel, network.n, mean)


class R15HeadsWithX25519:
    """Members of a cluster agree on masks by X25519, public keys go by the head; two heads tell each other their
    clusters' sums. Right, where sums of a group count: head 0 learns the sum over 1 and 2, who share a mask that it
    lacks, and that over 3, 4 and 5; the groups share no node."""

    audited = {"a": "0", "n": 6}
    clusters = {0: (0, 1, 2), 3: (3, 4, 5)}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=np.uint64)  # private keys

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        channel.hold(-1, range(n), "private key", drawn)
        private = [[X25519PrivateKey.from_private_bytes(key.tobytes()) for key in row] for row in drawn]
        public = np.array(
            [[np.frombuffer(key.public_key().public_bytes_raw(), np.uint64) for key in row] for row in private]
        )
        words, sums = fixed(x), {}
        for head, members in self.clusters.items():
            book = {head: public[head]}
            for node in members[1:]:
                book[node] = channel.send(-1, node, head, "public key", public[node])
            for node in members:
                for other in (each for each in members if each != node):
                    theirs = book[other] if node == head else channel.send(-1, head, node, "public key", book[other])
                    for run in range(runs):
                        peer = X25519PublicKey.from_public_bytes(theirs[run].tobytes())
                        digest = hashlib.sha512(private[node][run].exchange(peer) + b"cluster mask").digest()
                        stream = np.random.default_rng(np.frombuffer(digest, np.uint64))
                        pad = stream.integers(0, 2**64, m, dtype=np.uint64)
                        words[node, run] += pad if node < other else np.uint64(0) - pad
            sums[head] = words[head].copy()
            for node in members[1:]:
                sums[head] += channel.send(0, node, head, "upload", words[node])
        means = np.empty((runs, n, m))
        for head, other in ((0, 3), (3, 0)):
            mean = unfixed(sums[head] + channel.send(1, other, head, "cluster sum", sums[other])) / n
            means[:, head] = mean
            for node in self.clusters[head][1:]:
                means[:, node] = channel.send(2, head, node, "mean", mean)
        return means, channel.transcript


class R16SensorTree:
    """Sensors add a pad that only they and the sink can make (AES of the iteration, in counter mode) and pass sums up
    a tree in the clear, after Castelluccia; the sink takes all pads off. Right: to node 1, who hears every line, each
    number wears the pad of an honest sensor, and what the sink makes public is the mean."""

    audited = {"a": "1", "n": 7, "settings": on(TREE)}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, 4), dtype=np.uint64)

    @staticmethod
    def pad(key, iteration, m):
        counter = modes.CTR(iteration.to_bytes(12, "big") + bytes(4))
        return np.frombuffer(Cipher(algorithms.AES(key.tobytes()), counter).encryptor().update(bytes(8 * m)), np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        channel = channel or Channel()
        x, channel, keys = begin(self, inputs, network, rng, masks, channel)
        n, m = network.n, x.shape[2]
        channel.hold(-1, range(n), "sensor key", keys)
        registered = channel.send(-1, range(n), SERVER, "sensor key", keys, encrypted=True)
        pads = np.array([[self.pad(key, channel.iteration, m) for key in row] for row in keys])
        aggregate = fixed(x) + pads
        for sensor in range(n - 1, 0, -1):
            parent = (sensor - 1) // 2
            aggregate[parent] += channel.send(n - sensor, sensor, parent, "aggregate", aggregate[sensor])
        at_sink = channel.send(n, 0, SERVER, "aggregate", aggregate[0])
        for row in registered:
            at_sink = at_sink - np.array([self.pad(key, channel.iteration, m) for key in row])
        mean = unfixed(at_sink) / n
        told = channel.send(n + 1, SERVER, range(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return everybody(channel, n, told[0])


@dataclass
class Leaf:
    """A node that can talk to the hub alone, and its pads by peer."""

    number: int
    words: np.ndarray

    def cover(self, peer, seeds):
        sign = 1 if self.number < peer else -1
        for run, seed in enumerate(seeds):
            stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed.tolist())))
            pad = stream.integers(0, 2**64, self.words.shape[1], dtype=np.uint64)
            self.words[run] = self.words[run] + pad if sign > 0 else self.words[run] - pad


class R17HubRelaysSealedSeeds:
    """On a star all leaves agree on seeds of 256 bits, sealed for each other, by way of the hub; the hub adds up.
    Right: it forwards envelopes and reads words under pads that it lacks: the sum over the four leaves."""

    audited = {"a": "0", "n": 5, "settings": on(STAR)}

    def draw_masks(self, runs, m, network, rng):
        leaves = network.n - 1
        return rng.integers(0, 2**64, size=(runs, leaves * (leaves - 1) // 2, 4), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        hub, n = 0, network.n
        leaves = {i: Leaf(i, fixed(x[i])) for i in network.graph[hub]}
        for (a, b), seeds in zip(itertools.combinations(sorted(leaves), 2), drawn):
            channel.hold(-1, a, "seed", seeds)
            envelope = channel.send(-2, a, hub, "seed", seeds, sealed_for=b)
            leaves[a].cover(b, seeds)
            leaves[b].cover(a, channel.send(-1, hub, b, "seed", envelope))
        total = fixed(x[hub])
        for leaf in leaves.values():
            total += channel.send(0, leaf.number, hub, "covered", leaf.words)
        mean = channel.send(1, hub, range(1, n), "mean", unfixed(total)[None] / n, content=[0] * (n - 1))[0]
        return everybody(channel, n, mean)


class R18PadsOfTheMissing:
    """Node 3 is gone in this fit, once keys are agreed on: it uploads nothing. Collector 0 has the sum over the
    others, which wears their pads with node 3, and they tell it these pads, of this iteration. Right: 1, 2 and 4 keep
    the pads between them, so it learns their sum; node 3 never sent a number that wears what was told."""

    audited = {"a": "0", "n": 5}
    reuses_masks = True
    missing = frozenset({3})

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def pads(self, keys, iteration, m):
        label = b"pad" + iteration.to_bytes(8, "little")
        return np.array([np.frombuffer(hashlib.shake_256(k.tobytes() + label).digest(8 * m), "<u8") for k in keys])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, channel, drawn = begin(self, inputs, network, rng, masks, channel)
        n, m, t = network.n, x.shape[2], channel.iteration
        keyring = [{} for _ in range(n)]
        for (i, j), key in zip(network.edges.tolist(), drawn):
            channel.hold(-1, i, "key", key)
            keyring[i][j], keyring[j][i] = key, channel.send(-1, i, j, "key", key, encrypted=True)
        there = [i for i in range(n) if i not in self.missing]
        gathered = np.zeros(x.shape[1:], dtype=np.uint64)
        for i in there:
            covered = fixed(x[i])
            for j in keyring[i]:
                pad = self.pads(keyring[i][j], t, m)
                covered = covered + pad if i < j else covered - pad
            gathered = gathered + (channel.send(0, i, 0, "covered", covered) if i else covered)
        for i in there:
            for gone in sorted(self.missing):
                pad = self.pads(keyring[i][gone], t, m)
                pad = channel.send(1, i, 0, "pad with the missing", pad) if i else pad
                gathered = gathered - pad if i < gone else gathered + pad
        mean = unfixed(gathered) / len(there)
        told = channel.send(2, 0, range(1, n), "mean", mean[None], content=[0] * (n - 1))[0]
        return everybody(channel, n, told)
