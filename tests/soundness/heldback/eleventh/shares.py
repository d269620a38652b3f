"""Key agreement, secret sharing, coded masks, rings and trees."""

import hashlib
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix.transcript import SERVER, Channel

from .common import fixed64, publish, unfixed64


# ---- R07: clients with key pairs, dataclass messages -------------------------------------------------------------
@dataclass
class Hello:
    public: np.ndarray  # (runs, 4) words


@dataclass
class Upload:
    words: np.ndarray  # (runs, m)
    # a real one has the client's id and the round; both are public


class Client:
    def __init__(self, me, vector, channel):
        self.me, self.vector, self.channel = me, vector, channel
        channel.hold(-2, me, "input", vector)
        self.private = [X25519PrivateKey.generate() for _ in vector]
        words = np.array([np.frombuffer(k.private_bytes_raw(), np.uint64) for k in self.private])
        channel.hold(-2, me, "private key", words)

    def hello(self):
        return Hello(np.array([np.frombuffer(k.public_key().public_bytes_raw(), np.uint64) for k in self.private]))

    def mask_with(self, other, public, iteration, m):
        """The pair's words: HKDF of the X25519 secret; the smaller id adds."""
        words = []
        for key, theirs in zip(self.private, public):
            shared = key.exchange(X25519PublicKey.from_public_bytes(theirs.tobytes()))
            info = b"mask" + min(self.me, other).to_bytes(4, "big") + max(self.me, other).to_bytes(4, "big")
            info += iteration.to_bytes(8, "big")
            derived = HKDF(hashes.SHA256(), length=8 * m, salt=None, info=info).derive(shared)
            words.append(np.frombuffer(derived, np.uint64))
        return np.array(words)

    def upload(self, directory, iteration):
        words = fixed64(self.vector)
        for other, public in directory.items():
            if other != self.me:
                mask = self.mask_with(other, public, iteration, self.vector.shape[1])
                words = words + mask if self.me < other else words - mask
        return Upload(words)


class R07_X25519Clients:
    """Fresh key pairs an iteration, public keys by way of the server, HKDF masks."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return np.zeros((runs, 0, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        clients = [Client(i, x[:, i], channel) for i in range(n)]
        told = {c.me: channel.send(-2, c.me, SERVER, "hello", c.hello()).public for c in clients}
        got = []
        for c in clients:
            directory = {
                i: channel.send(-1, SERVER, c.me, f"key of {i}", public) for i, public in told.items() if i != c.me
            }
            got.append(channel.send(0, c.me, SERVER, "upload", c.upload(directory, channel.iteration)))
        total = np.sum([u.words for u in got], axis=0, dtype=np.uint64)
        return publish(channel, 1, unfixed64(total) / n, n), channel.transcript


# ---- R08: Python's own integers ----------------------------------------------------------------------------------
class R08_PythonInts:
    """Lists of Python ints modulo the prime 2^61 - 1; each mask is 16 bytes of SHAKE modulo it (bias below 2^-60)."""

    audited = {"a": "server"}
    P = 2**61 - 1
    SCALE = 2**40
    BYTES = 16

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def masks_of(self, seed, m):
        size = self.BYTES
        stream = hashlib.shake_128(seed.tobytes()).digest(size * m)
        return [int.from_bytes(stream[size * k : size * (k + 1)], "big") % self.P for k in range(m)]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        edges = network.edges.tolist()
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        copies = {}
        for e, (u, v) in enumerate(edges):
            channel.hold(-1, u, "seed", seeds[:, e])
            copies[e] = channel.send(-1, u, v, "seed", seeds[:, e], encrypted=True)
        totals = [[0] * m for _ in range(runs)]
        for node in range(n):
            sent = []
            for r in range(runs):
                words = [int(w) % self.P for w in np.rint(x[r, node] * self.SCALE).astype(np.int64)]
                for e, (u, v) in enumerate(edges):
                    if node == u:
                        words = [(w + k) % self.P for w, k in zip(words, self.masks_of(seeds[r, e], m))]
                    elif node == v:
                        words = [(w - k) % self.P for w, k in zip(words, self.masks_of(copies[e][r], m))]
                sent.append(words)
            got = channel.send(0, node, SERVER, "masked", np.array(sent, dtype=np.int64))
            totals = [[(a + int(b)) % self.P for a, b in zip(row, new)] for row, new in zip(totals, got)]
        half = self.P // 2
        mean = np.array([[(t - self.P if t > half else t) / self.SCALE / n for t in row] for row in totals])
        return publish(channel, 1, mean, n), channel.transcript


class W06_FourByteMasks(R08_PythonInts):
    """WRONG: 4 bytes of the stream a word, "reduced" modulo a prime of 61 bits: not uniform, the masks are below 2^32. Words have
    40 bits behind the point, so a mask is below 2^-8: the server reads every entry of every node up to 0.012."""

    BYTES = 4


# ---- R09: key-homomorphic masks (Joye and Libert's interface, from LWE) ----------------------------------------------
class R09_LweAggregator:
    """User i has a long-lived key s_i, the aggregator has their sum. In iteration t user i sends A(t) s_i + e_i + 2^26 x_i
    modulo 2^64 with public A(t); the sum less A(t) sum(s_i) is 2^26 sum(x_i) and errors below 2^25. Dimension 2048, errors
    of 2^20: q / sigma = 2^44, harder than the 128-bit line of the HE standard (2^52)."""

    audited = {"a": "server"}
    reuses_masks = True
    DIM = 2048

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, self.DIM), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-2, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-2, np.arange(n), "key", keys.transpose(1, 0, 2))
        # a dealer gives the aggregator the sum of keys, and keeps nothing
        channel.hold(-2, SERVER, "sum of keys", keys.sum(axis=1, dtype=np.uint64))
        digest = hashlib.sha256(b"A" + channel.iteration.to_bytes(8, "big")).digest()
        public = np.random.default_rng(np.frombuffer(digest, np.uint32)).integers(
            0, 2**64, size=(m, self.DIM), dtype=np.uint64
        )
        own = np.random.default_rng()
        got = []
        for i in range(n):
            error = np.rint(own.normal(0, 2.0**20, (runs, m))).astype(np.int64).astype(np.uint64)
            word = fixed64(x[:, i], 24) * np.uint64(2**26) + error
            got.append(channel.send(0, i, SERVER, "ciphertext", keys[:, i] @ public.T + word))
        total = np.sum(got, axis=0, dtype=np.uint64) - keys.sum(axis=1, dtype=np.uint64) @ public.T
        mean = np.rint(total.view(np.int64) / 2.0**26) / 2.0**24 / n
        return publish(channel, 1, mean, n), channel.transcript


# ---- R10: double masks, Shamir, drop-outs --------------------------------------------------------------------------
PRIME = 2**256 - 189
THRESHOLD = 3


def as_int(words):
    return int.from_bytes(words.tobytes(), "little") % PRIME


def as_words(number):
    return np.frombuffer(number.to_bytes(32, "little"), dtype=np.uint64)


def expand(number, label, m):
    return np.frombuffer(hashlib.shake_256(number.to_bytes(32, "little") + label).digest(8 * m), dtype=np.uint64)


def recover(points):
    """The value at 0 of the polynomial through ``points``, pairs (x, y)."""
    secret = 0
    for x, y in points:
        top = bottom = 1
        for other, _ in points:
            if other != x:
                top, bottom = top * other % PRIME, bottom * (other - x) % PRIME
        secret = (secret + y * top * pow(bottom, -1, PRIME)) % PRIME
    return secret


class R10_BonawitzDropOut:
    """Node 3 falls silent before it uploads, node 2 once it has told its pair seed with node 3. Self seeds are shared 3 of 5; survivors hand over what pair seeds
    they have with whoever dropped out (fresh in every iteration), and shares of survivors' self seeds."""

    audited = {"a": "server", "n": 5}
    gone, silent = 3, 2

    def draw_masks(self, runs, m, network, rng):
        n = network.n  # self seeds, two coefficients each, pair seeds
        return rng.integers(0, 2**64, size=(runs, 3 * n + len(network.edges), 4), dtype=np.uint64)

    def hide(self, words, self_seed, m):
        return words + expand(self_seed, b"self", m)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        edges = network.edges.tolist()
        channel.hold(-2, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-2, np.repeat(np.arange(n), 3), "self seed and coefficients", drawn[:, : 3 * n].transpose(1, 0, 2))
        pair = {}
        for e, (u, v) in enumerate(edges):
            channel.hold(-2, u, "pair seed", drawn[:, 3 * n + e])
            pair[u, v] = drawn[:, 3 * n + e]
            pair[v, u] = channel.send(-2, u, v, "pair seed", pair[u, v], encrypted=True)
        number = [[[as_int(drawn[r, 3 * u + k]) for k in range(3)] for u in range(n)] for r in range(runs)]
        share = {}
        for u in range(n):
            for v in range(n):
                values = [sum(c * (v + 1) ** k for k, c in enumerate(number[r][u])) % PRIME for r in range(runs)]
                words = np.array([as_words(value) for value in values])
                share[u, v] = words if u == v else channel.send(-1, u, v, "share", words, encrypted=True)
        alive = [u for u in range(n) if u != self.gone]
        uploads = []
        for u in alive:
            y = []
            for r in range(runs):
                row = self.hide(fixed64(x[r, u]), number[r][u][0], m)
                for v in range(n):
                    if v != u:
                        p = expand(as_int(pair[u, v][r]), b"pair", m)
                        row = row + p if u < v else row - p
                y.append(row)
            uploads.append(channel.send(0, u, SERVER, "upload", np.array(y)))
        total = np.sum(uploads, axis=0, dtype=np.uint64)
        answering = [u for u in alive if u != self.silent]
        for u in alive:
            told = channel.send(2, u, SERVER, "pair seed of the lost", pair[u, self.gone])
            p = np.array([expand(as_int(row), b"pair", m) for row in told])
            total = total - p if u < self.gone else total + p
        for u in alive:
            shares = {v: channel.send(3, v, SERVER, f"share of {u}", share[u, v]) for v in answering[:THRESHOLD]}
            seeds = [recover([(v + 1, as_int(words[r])) for v, words in shares.items()]) for r in range(runs)]
            total = total - np.array([self.unhide(s, m) for s in seeds])
        return self.result(channel, unfixed64(total) / len(alive), alive, n)

    def unhide(self, seed, m):
        return expand(seed, b"self", m)

    def result(self, channel, mean, alive, n):
        got = channel.send(4, SERVER, alive, "mean", mean[None], content=np.zeros(len(alive), dtype=int))
        averages = np.full((mean.shape[0], n, mean.shape[1]), np.nan)
        averages[:, alive] = got.transpose(1, 0, 2)
        return averages, channel.transcript


class W07_NoSelfMaskLate(R10_BonawitzDropOut):
    """WRONG: self masks were left out ("the pair masks suffice"), and node 3's upload arrives after the server counted it as
    lost. The server has the pair seeds of node 3 with all others by then: it takes them off, and reads x_3."""

    def hide(self, words, self_seed, m):
        return words

    def unhide(self, seed, m):
        return np.zeros(m, dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        averages, transcript = super().average(inputs, network, rng, masks=drawn, channel=channel)
        late = fixed64(x[:, self.gone])
        for e, (u, v) in enumerate(network.edges.tolist()):
            if self.gone in (u, v):
                p = np.array([expand(as_int(row), b"pair", m) for row in drawn[:, 3 * n + e]])
                late = late + p if u == self.gone else late - p
        channel.send(5, self.gone, SERVER, "upload", late)  # stored, not summed
        return averages, transcript


# ---- R11: coded masks (LightSecAgg) ------------------------------------------------------------------------------
class R11_LightSecAgg:
    """So et al. 2022: each mask is cut into 2 pieces, with 1 random piece coded over 5 nodes; sums of coded pieces of 3 nodes
    give the sum of the masks of those who uploaded (0 to 3; node 4 drops out)."""

    audited = {"a": "server", "n": 5}
    Q = 2**31 - 1
    PIECES, NOISE = 2, 1
    lost = 4

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.Q, size=(runs, 2 * network.n, m + m % self.PIECES))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        drawn = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        channel.hold(-1, np.arange(n), "input", x)
        channel.hold(-1, np.tile(np.arange(n), 2), "mask and noise", drawn)
        z, width = drawn[:n], drawn.shape[2] // self.PIECES
        pieces = np.stack([z[..., :width], z[..., width:], drawn[n:, :, :width]][: self.PIECES + self.NOISE], axis=1)
        degree = pieces.shape[1]
        code = np.vander(np.arange(1, n + 1), degree, increasing=True)  # (n, degree), row j for node j
        coded = np.einsum("jd,udrw->ujrw", code, pieces) % self.Q
        held = {}
        for u in range(n):
            others = [j for j in range(n) if j != u]
            got = channel.send(-1, u, others, "coded piece", coded[u, others], encrypted=True)
            held[u] = {u: coded[u, u], **dict(zip(others, got))}
        alive = [u for u in range(n) if u != self.lost]
        word = np.rint(x * 2**16).astype(np.int64)
        uploads = channel.send(0, alive, SERVER, "upload", (word[alive] + z[alive][..., :m]) % self.Q)
        helpers = alive[:degree]
        sums = np.stack([sum(held[u][j] for u in alive) % self.Q for j in helpers])
        sums = channel.send(1, helpers, SERVER, "sum of pieces", sums)
        decode = self.inverse([j + 1 for j in helpers])
        z_total = np.stack([sum(c * s % self.Q for c, s in zip(row, sums)) % self.Q for row in decode])
        z_total = np.concatenate([z_total[0], z_total[1]], axis=-1)[..., :m]
        total = (uploads.sum(axis=0) - z_total) % self.Q
        total = np.where(total > self.Q // 2, total - self.Q, total)
        mean = total / 2**16 / len(alive)
        got = channel.send(2, SERVER, alive, "mean", mean[None], content=np.zeros(len(alive), dtype=int))
        averages = np.full((runs, n, m), np.nan)
        averages[:, alive] = got.transpose(1, 0, 2)
        return averages, channel.transcript

    def inverse(self, points):
        """Inverse of the Vandermonde matrix of ``points`` modulo Q: row d gives coefficient d."""
        size = len(points)
        columns = []
        for i, a in enumerate(points):  # Lagrange's polynomial of point i, lowest coefficient first
            poly, scale = [1], 1
            for b in points[:i] + points[i + 1 :]:
                poly = [(low - b * high) % self.Q for low, high in zip([0, *poly], [*poly, 0])]
                scale = scale * (a - b) % self.Q
            columns.append([c * pow(scale, -1, self.Q) % self.Q for c in poly])
        return [[columns[i][d] for i in range(size)] for d in range(size)]


class W08_LightSecAggWithoutNoise(R11_LightSecAgg):
    """WRONG: the random piece is left out (T = 0: "the mask is random already"). Node 1's coded piece of node u's mask is z_a +
    2 z_b. Node 1 hears the upload (open lines to the server): it learns x_u[k] + 2 x_u[k + half] of each node u, for each k."""

    audited = {"a": "1", "n": 5}
    NOISE = 0


# ---- R12: ring all-reduce ------------------------------------------------------------------------------------------
class R12_RingAllReduce:
    """Pair masks on the whole, padded vector; then reduce-scatter and all-gather of chunks around the ring; no server."""

    audited = {"a": "1", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m + (-m) % network.n), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        y = np.pad(fixed64(x), [(0, 0), (0, 0), (0, (-m) % n)]).transpose(1, 0, 2)
        a, b = network.edges.T
        channel.hold(-1, a, "mask", masks.transpose(1, 0, 2))
        agreed = channel.send(-1, a, b, "mask", masks.transpose(1, 0, 2), encrypted=True)
        np.add.at(y, a, masks.transpose(1, 0, 2))
        np.subtract.at(y, b, agreed)
        chunks = y.reshape(n, runs, n, -1).transpose(2, 0, 1, 3).copy()  # (chunk, node, runs, width)
        me = np.arange(n)
        right = (me + 1) % n
        for step in range(n - 1):
            which = (me - step) % n
            got = channel.send(step, me, right, "reduce", chunks[which, me], encrypted=True)
            chunks[which, right] += got
        for step in range(n - 1):
            which = (me + 1 - step) % n
            chunks[which, right] = channel.send(n + step, me, right, "gather", chunks[which, me], encrypted=True)
        total = chunks.transpose(1, 2, 0, 3).reshape(n, runs, -1)[..., :m]
        return unfixed64(np.ascontiguousarray(total)).transpose(1, 0, 2) / n, channel.transcript


class W09_RingTailUnmasked(R12_RingAllReduce):
    """WRONG: chunks have m // n entries, masks as many as fit into whole chunks, and the tail (the last m % n entries) goes around
    by itself, unmasked. Node 1 reads the tail of node 0's vector from the running sum that node 0 starts."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m - m % network.n), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        channel = channel or Channel()
        runs, n, m = x.shape
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        whole = m - m % n
        averages, transcript = super().average(x[..., :whole], network, rng, masks=masks, channel=channel)
        tail = x[..., whole:].transpose(1, 0, 2)
        channel.hold(-1, np.arange(n), "tail", tail)
        running = tail[0]
        for node in range(n - 1):
            running = channel.send(2 * n, node, node + 1, "tail", running, encrypted=True) + tail[node + 1]
        got = channel.send(
            2 * n + 1,
            n - 1,
            np.arange(n - 1),
            "tail total",
            running[None],
            encrypted=True,
            content=np.zeros(n - 1, dtype=int),
        )
        tails = np.repeat(got, n, axis=0).transpose(1, 0, 2) / n
        return np.concatenate([averages, tails], axis=2), transcript


# ---- R13: ternary tree ----------------------------------------------------------------------------------------------
class R13_TernaryTree:
    """Sums of masked vectors go up a ternary tree to node 0, the mean comes down."""

    audited = {"a": "1", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        parent = {i: (i - 1) // 3 for i in range(1, n)}
        children = {i: [c for c, p in parent.items() if p == i] for i in range(n)}
        y = [fixed64(x[:, i]) for i in range(n)]
        for i in range(n):
            channel.hold(-1, i, "input", x[:, i])
        for e, (a, b) in enumerate(network.edges.tolist()):
            channel.hold(-1, a, "seed", seeds[:, e])
            copy = channel.send(-1, a, b, "seed", seeds[:, e], encrypted=True)
            y[a] = y[a] + np.array(
                [
                    np.random.Generator(np.random.Philox(np.random.SeedSequence(s))).integers(
                        0, 2**64, m, dtype=np.uint64
                    )
                    for s in seeds[:, e]
                ]
            )
            y[b] = y[b] - np.array(
                [
                    np.random.Generator(np.random.Philox(np.random.SeedSequence(s))).integers(
                        0, 2**64, m, dtype=np.uint64
                    )
                    for s in copy
                ]
            )

        def collect(node, depth):
            total = y[node]
            for child in children[node]:
                total = total + channel.send(10 - depth, child, node, "up", collect(child, depth + 1), encrypted=True)
            return total

        mean = {0: unfixed64(collect(0, 1)) / n}

        def spread(node, depth):
            for child in children[node]:
                mean[child] = channel.send(20 + depth, node, child, "down", mean[node], encrypted=True)
                spread(child, depth + 1)

        spread(0, 1)
        return np.stack([mean[i] for i in range(n)], axis=1), channel.transcript


# ---- R14: two servers ------------------------------------------------------------------------------------------------
class R14_TwoServers:
    """Prio's sums: a share to the leader (SERVER), a share to the helper (node 0, a client too), modulo 2^61 - 1."""

    audited = {"a": "server"}
    P = 2**61 - 1

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.P, size=(runs, network.n, m), dtype=np.int64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-1, np.arange(n), "share", r)
        words = np.rint(x * 2**24).astype(np.int64).transpose(1, 0, 2)
        leader = channel.send(0, np.arange(n), SERVER, "leader's share", (words - r) % self.P, encrypted=True)
        helper = channel.send(0, np.arange(1, n), 0, "helper's share", r[1:], encrypted=True)
        partial = r[0]
        for share in helper:
            partial = (partial + share) % self.P
        partial = channel.send(1, 0, SERVER, "helper's sum", partial, encrypted=True)
        total = partial
        for share in leader:
            total = (total + share) % self.P
        total = np.where(total > self.P // 2, total - self.P, total)
        return publish(channel, 2, total / 2**24 / n, n), channel.transcript


class W10_FloatShares:
    """WRONG: shares are floats, one uniform in (-1, 1), the other the rest. The helper (node 0) gets x - u: each entry of each node
    up to 1, where entries are sums over 20 rows that vary by tens."""

    audited = {"a": "0"}

    def draw_masks(self, runs, m, network, rng):
        return rng.uniform(-1, 1, size=(runs, network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        u = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        x = x.transpose(1, 0, 2)
        channel.hold(-1, np.arange(n), "input", x)
        channel.hold(-1, np.arange(n), "share", u)
        leader = channel.send(0, np.arange(n), SERVER, "leader's share", u, encrypted=True)
        helper = channel.send(0, np.arange(1, n), 0, "helper's share", (x - u)[1:], encrypted=True)
        partial = channel.send(1, 0, SERVER, "helper's sum", (x - u)[0] + helper.sum(axis=0), encrypted=True)
        return publish(channel, 2, (leader.sum(axis=0) + partial) / n, n), channel.transcript
