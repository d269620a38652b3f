"""Long-lived pairwise keys: agreed once, a mask per iteration from a KDF of (key, iteration)."""

import hashlib
import hmac
import os
import secrets
import struct

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix.transcript import SERVER, Channel

from .common import fixed32, fixed64, publish, unfixed32, unfixed64


class R01_EnrolledHKDF:
    """256-bit pair keys drawn once a fit (reuses_masks); the mask of iteration t is HKDF(key, info=t)."""

    audited = {"a": "server"}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def info(self, iteration):
        return b"secagg/v1/mask" + iteration.to_bytes(8, "big")

    def expand(self, key, iteration, m):
        kdf = HKDF(algorithm=hashes.SHA256(), length=8 * m, salt=None, info=self.info(iteration))
        return np.frombuffer(kdf.derive(key.tobytes()), dtype="<u8")

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        i, j = network.edges.T
        # enrolment: one end draws the key, and sends it to the other over TLS
        channel.hold(-2, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-2, i, "pair key", keys.transpose(1, 0, 2))
        theirs = channel.send(-1, i, j, "pair key", keys.transpose(1, 0, 2), encrypted=True)
        words = fixed64(x).transpose(1, 0, 2)
        for e in range(len(network.edges)):
            words[i[e]] += np.stack([self.expand(keys[r, e], channel.iteration, m) for r in range(runs)])
            words[j[e]] -= np.stack([self.expand(theirs[e, r], channel.iteration, m) for r in range(runs)])
        got = channel.send(0, np.arange(n), SERVER, "masked", words)
        mean = unfixed64(got.sum(axis=0, dtype=np.uint64)) / n
        return publish(channel, 1, mean, n), channel.transcript


class W01_EnrolledHKDFWithoutIteration(R01_EnrolledHKDF):
    """WRONG: the iteration is not in the info. The mask of a pair is the same word in all iterations, so the server
    subtracts two messages of a node and learns the change of its vector between iterations (no mask is left in it)."""

    def info(self, iteration):
        return b"secagg/v1/mask"


class R02_SessionHMAC:
    """Pair keys made in __init__ by the enrolment; HMAC-SHA256 in counter mode over (own round, run, block)."""

    audited = {"a": "server"}

    def __init__(self, clients=4):
        self.clients = clients
        self.keys = {(a, b): secrets.token_bytes(32) for a in range(clients) for b in range(a + 1, clients)}
        self.round = 0  # never set back: no label comes twice in the life of a session

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def label(self, run, block):
        return struct.pack(">QIQ", self.round, run, block)

    def stream(self, key, run, m):
        blocks = [hmac.new(key, self.label(run, b), hashlib.sha256).digest() for b in range(-(-m // 4))]
        return np.frombuffer(b"".join(blocks), dtype="<u8")[:m]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        self.round += 1
        for node in range(n):
            channel.hold(-1, node, "input", x[:, node])
        uploads = []
        for node in range(n):
            y = fixed64(x[:, node])
            for (a, b), key in self.keys.items():
                if node in (a, b):
                    mask = np.stack([self.stream(key, run, m) for run in range(runs)])
                    channel.hold(-1, node, f"mask {a}-{b}", mask)
                    y = y + mask if node == a else y - mask
            uploads.append(channel.send(0, node, SERVER, "upload", y))
        total = sum(uploads[1:], uploads[0])
        return publish(channel, 1, unfixed64(total) / n, n), channel.transcript


class W02_SessionHMACOverlap(R02_SessionHMAC):
    """WRONG: round and block are added instead of put side by side. Block 1 of round t is block 0 of round t + 1: entry
    4 of round t and entry 0 of round t + 1 wear the same mask, and the server learns x_t[4] - x_{t+1}[0] of each node."""

    def label(self, run, block):
        return struct.pack(">QQ", self.round + block, run)


class R03_ChaChaSession:
    """Pair keys from os.urandom at iteration 0, kept in the object; ChaCha20 with nonce = (fit, iteration)."""

    audited = {"a": "server"}

    def __init__(self):
        self._keys = None

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def setup(self, runs, network):
        self._keys = {(r, int(a), int(b)): os.urandom(32) for r in range(runs) for a, b in network.edges}

    def nonce(self, iteration):
        return struct.pack("<IIQ", 0, 0, iteration)  # 4 bytes of block counter, then the nonce

    def mask(self, key, iteration, m):
        stream = Cipher(algorithms.ChaCha20(key, self.nonce(iteration)), mode=None).encryptor()
        return np.frombuffer(stream.update(b"\0" * (8 * m)), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        if channel.iteration == 0 or self._keys is None:
            self.setup(runs, network)  # a new fit, new keys
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        y = fixed64(x).transpose(1, 0, 2)
        for a, b in network.edges:
            p = np.stack([self.mask(self._keys[r, int(a), int(b)], channel.iteration, m) for r in range(runs)])
            channel.hold(-1, int(a), "pair mask", p)
            channel.hold(-1, int(b), "pair mask", p)
            y[a] += p
            y[b] -= p
        got = channel.send(0, np.arange(n), SERVER, "y", y)
        return publish(channel, 1, unfixed64(got.sum(0, dtype=np.uint64)) / n, n), channel.transcript


class R04_AesCtr32:
    """Fresh 128-bit pair seeds an iteration; AES-CTR key stream of zeros, 32-bit fixed point modulo 2^32."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    @staticmethod
    def prg(seed, m):
        enc = Cipher(algorithms.AES(seed.tobytes()), modes.CTR(bytes(16))).encryptor()
        return np.frombuffer(enc.update(bytes(4 * m)) + enc.finalize(), dtype=np.uint32)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        y = fixed32(x).transpose(1, 0, 2)
        for e, (u, v) in enumerate(network.edges.tolist()):
            channel.hold(-1, u, "seed", seeds[:, e])
            received = channel.send(-1, u, v, "seed", seeds[:, e], encrypted=True)
            y[u] = y[u] + np.array([self.prg(s, m) for s in seeds[:, e]])
            y[v] = y[v] - np.array([self.prg(s, m) for s in received])
        got = channel.send(0, np.arange(n), SERVER, "y", y)
        total = np.add.reduce(got, axis=0, dtype=np.uint32)
        return publish(channel, 1, unfixed32(total) / n, n), channel.transcript


class W03_KeyAsMask(R04_AesCtr32):
    """WRONG: "the seed is random already": its two words are repeated along the vector instead of expanded. Entries 0, 4,
    8 ... of a vector wear one mask (four 32-bit words), and the server learns x[0] - x[4] and so on, of each node."""

    @staticmethod
    def prg(seed, m):
        return np.resize(seed.view(np.uint32), m)


class R05_ShakeXof:
    """SHAKE-256 of key, label and iteration, squeezed to the length; keys long-lived."""

    audited = {"a": "server"}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def pad(self, key, iteration, m):
        xof = hashlib.shake_256()
        xof.update(key.tobytes())
        xof.update(b"pairwise")
        xof.update(struct.pack("<Q", iteration))
        return np.frombuffer(xof.digest(4 * m), dtype="<u4")

    def masked(self, x, pads, signs):
        return fixed32(x) + sum(np.where(s > 0, p, -p) for p, s in zip(pads, signs))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        t = channel.iteration
        ring = {u: {} for u in range(n)}
        for e, (u, v) in enumerate(network.edges.tolist()):
            channel.hold(-1, u, "key", keys[:, e])
            ring[u][v] = keys[:, e]
            ring[v][u] = channel.send(-1, u, v, "key", keys[:, e], encrypted=True)
        got = []
        for u in range(n):
            channel.hold(-1, u, "input", x[:, u])
            pads = [np.stack([self.pad(k, t, m) for k in ring[u][v]]) for v in sorted(ring[u])]
            got.append(
                channel.send(0, u, SERVER, "masked", self.masked(x[:, u], pads, [v - u for v in sorted(ring[u])]))
            )
        total = np.zeros((runs, m), dtype=np.uint32)
        for y in got:
            total += y.astype(np.uint32)
        return publish(channel, 1, unfixed32(total) / n, n), channel.transcript


class W04_ShortMasks(R05_ShakeXof):
    """WRONG: pads of 12 bits (the author counts bits behind the point, and forgets those before it): numbers have 16 bits
    behind the point, so a pad is below 1/16, and an upload is the node's entry up to 3/16. Sums reach 40: the server knows
    them to within half a percent, in each iteration."""

    def pad(self, key, iteration, m):
        return super().pad(key, iteration, m) >> 20


class R06_PcgStreams:
    """default_rng of [key words, iteration]: NumPy users' way, doubles, normal masks of a million."""

    audited = {"a": "server"}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def generator(self, key, iteration):
        return np.random.default_rng([*key, iteration])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.array(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        src, dst = network.edges[:, 0], network.edges[:, 1]
        channel.hold(-1, src, "key", keys.transpose(1, 0, 2))
        copies = channel.send(-1, src, dst, "key", keys.transpose(1, 0, 2), encrypted=True)
        noisy = x.transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(zip(src, dst)):
            for r in range(runs):
                noisy[u, r] += self.generator(keys[r, e], channel.iteration).normal(0, 1e6, m)
                noisy[v, r] -= self.generator(copies[e, r], channel.iteration).normal(0, 1e6, m)
        got = channel.send(0, np.arange(n), SERVER, "noisy", noisy)
        return publish(channel, 1, got.mean(axis=0), n), channel.transcript


class W05_SeedOf32Bits(R06_PcgStreams):
    """WRONG: the key is cut to 32 bits, since "a seed is an int". On a cycle each upload wears two masks: the server lists what
    2^32 seeds give of the one and of the other, and matches the lists (meet in the middle), an afternoon's work. It learns the
    vector of each node."""

    audited = {"a": "server", "kind": "cycle"}

    def generator(self, key, iteration):
        return np.random.default_rng([int(key[0] & np.uint64(0xFFFFFFFF)), iteration])
