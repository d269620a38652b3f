"""One protocol (pair masks, a server sums), as many ways of writing it as colleagues have."""

import hashlib
import heapq
import json
import struct
from collections import defaultdict, deque
from typing import NamedTuple

import numpy as np
import scipy.sparse

from secmix.transcript import SERVER, Channel

from .common import fixed64, publish, unfixed64


class PairWords:
    """Base: a uniform 64-bit word an entry and edge, drawn by the first end, sent encrypted to the second."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def agreed(self, x, network, rng, masks, channel):
        runs, n, m = x.shape
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        first, second = network.edges.T
        channel.hold(-1, first, "mask", masks.transpose(1, 0, 2))
        return masks, channel.send(-1, first, second, "mask", masks.transpose(1, 0, 2), encrypted=True)


del PairWords.audited


# ---- R15: bytes on the wire, by struct -----------------------------------------------------------------------------------
class R15_StructBytes:
    """Words are packed and unpacked with struct; what is sent is bytes. 32 bits, 20 behind the point; masks are SHAKE bytes."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 4), dtype=np.uint64)

    def mask_words(self, seed, m):
        return struct.unpack(f"<{m}I", hashlib.shake_256(seed.tobytes()).digest(4 * m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        edges = network.edges.tolist()
        copies = []
        for e, (u, v) in enumerate(edges):
            channel.hold(-1, u, "seed", seeds[:, e])
            copies.append(channel.send(-1, u, v, "seed", seeds[:, e], encrypted=True))
        totals = [[0] * m for _ in range(runs)]
        for node in range(n):
            frames = []
            for r in range(runs):
                words = [int(w) for w in np.rint(x[r, node] * 2**20)]
                for e, (u, v) in enumerate(edges):
                    if node in (u, v):
                        stream = self.mask_words(seeds[r, e] if node == u else copies[e][r], m)
                        sign = 1 if node == u else -1
                        words = [w + sign * k for w, k in zip(words, stream)]
                frames.append(struct.pack(f"<{m}I", *(w % 2**32 for w in words)))
            wire = np.array([np.frombuffer(frame, dtype=np.uint8) for frame in frames])
            got = channel.send(0, node, SERVER, "frame", wire)
            for r in range(runs):
                totals[r] = [(a + b) % 2**32 for a, b in zip(totals[r], struct.unpack(f"<{m}I", got[r].tobytes()))]
        mean = np.array([[(t - 2**32 if t >= 2**31 else t) / 2**20 / n for t in row] for row in totals])
        return publish(channel, 1, mean, n), channel.transcript


class W11_StructShort(R15_StructBytes):
    """WRONG: the mask's words are unpacked as "<H", 16 bits each, where words have 32, of which 20 are behind the point. A mask is
    below 1/16, and the server reads each entry of each node up to 3/16."""

    def mask_words(self, seed, m):
        return struct.unpack(f"<{m}H", hashlib.shake_256(seed.tobytes()).digest(2 * m))


# ---- R16: JSON of hex ---------------------------------------------------------------------------------------------------
class R16_JsonHex(PairWords):
    """The upload is the bytes of a JSON text with 16 hex digits a word: always of one length."""

    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks, copies = self.agreed(x, network, rng, masks, channel)
        y = fixed64(x).transpose(1, 0, 2)
        for e, (u, v) in enumerate(network.edges):
            y[u] += masks[:, e]
            y[v] -= copies[e]
        total = np.zeros((runs, m), dtype=np.uint64)
        for node in range(n):
            texts = [json.dumps({"id": node, "v": [f"{int(w):016x}" for w in y[node, r]]}) for r in range(runs)]
            got = channel.send(0, node, SERVER, "json", np.array([np.frombuffer(t.encode(), np.uint8) for t in texts]))
            back = [json.loads(row.tobytes().decode()) for row in got]
            total += np.array([[int(w, 16) for w in message["v"]] for message in back], dtype=np.uint64)
        self.extra(x, channel)
        return publish(channel, 1, unfixed64(total) / n, n), channel.transcript

    def extra(self, x, channel):
        pass


class W12_LengthOfText(R16_JsonHex):
    """WRONG: each node also reports its norm to node 0 by way of the server, sealed, as decimal text. Sealing hides digits and
    not their number: the server learns the length of the text, so the order of magnitude of each node's norm."""

    def extra(self, x, channel):
        for node in range(1, x.shape[1]):
            texts = [f"{np.linalg.norm(row):.0f}".encode() for row in x[:, node]]
            width = max(len(t) for t in texts)
            padded = np.array([np.frombuffer(t.rjust(width), np.uint8) for t in texts])
            sealed = channel.send(2, node, SERVER, "report", padded, sealed_for=0)
            channel.send(3, SERVER, 0, "report", sealed)


# ---- R17: a dictionary of state per client ------------------------------------------------------------------------------
class R17_StateDicts(PairWords):
    """state[i] = {"vector", "keys": {peer: mask}, "masked"}; a message is the part of it that peers may see."""

    audited = {"a": "server"}

    def message(self, state):
        return {"masked": state["masked"]}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks, copies = self.agreed(x, network, rng, masks, channel)
        state = {i: {"vector": x[:, i], "keys": {}, "masked": None} for i in range(n)}
        for e, (u, v) in enumerate(network.edges.tolist()):
            state[u]["keys"][v] = masks[:, e]
            state[v]["keys"][u] = copies[e]
        inbox = {}
        for i, mine in state.items():
            mine["masked"] = fixed64(mine["vector"])
            for peer, key in sorted(mine["keys"].items()):
                mine["masked"] = mine["masked"] + (key if i < peer else np.negative(key))
            inbox[i] = channel.send(0, i, SERVER, "state", self.message(mine))
        total = sum(message["masked"] for message in inbox.values())
        return publish(channel, 1, unfixed64(total) / n, n), channel.transcript


class W13_WholeState(R17_StateDicts):
    """WRONG: the message is the state less its keys, and the plain vector is still in it: the server reads every input."""

    def message(self, state):
        return {name: value for name, value in state.items() if name != "keys"}


# ---- R18: nodes with mailboxes ------------------------------------------------------------------------------------------
class Mail(NamedTuple):
    sender: int
    kind: str
    body: np.ndarray


class Node:
    def __init__(self, me, vector, post):
        self.me, self.post, self.box = me, post, deque()
        self.word = fixed64(vector)

    def greet(self, peer, mask):
        self.word = self.word + mask
        self.post(self.me, peer, "mask", mask)

    def read(self):
        while self.box:
            mail = self.box.popleft()
            if mail.kind == "mask":
                self.word = self.word - mail.body


class R18_Mailboxes:
    """Objects with methods and a deque each; masks are sent as they are, encrypted."""

    audited = {"a": "eaves"}
    secret_kinds = frozenset({"mask"})

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        boxes = defaultdict(deque)

        def post(sender, receiver, kind, body):
            got = channel.send(0, sender, receiver, kind, body, encrypted=kind in self.secret_kinds)
            (nodes[receiver].box if receiver != SERVER else boxes[SERVER]).append(Mail(sender, kind, got))

        nodes = [Node(i, x[:, i], post) for i in range(n)]
        for i in range(n):
            channel.hold(-1, i, "input", x[:, i])
        for e, (u, v) in enumerate(network.edges.tolist()):
            channel.hold(-1, u, "mask", masks[:, e])
            nodes[u].greet(v, masks[:, e])
        for node in nodes:
            node.read()
            post(node.me, SERVER, "upload", node.word)
        total = np.zeros((runs, m), dtype=np.uint64)
        while boxes[SERVER]:
            total = total + boxes[SERVER].popleft().body
        return publish(channel, 1, unfixed64(total) / n, n), channel.transcript


class W14_MaskOnOpenLines(R18_Mailboxes):
    """WRONG: the kind was renamed in one place: post() encrypts what is called "key", and masks go out as "mask" in the clear. Who
    hears the lines takes them off each upload, and reads every input."""

    secret_kinds = frozenset({"key"})


# ---- R19: clients as generators -----------------------------------------------------------------------------------------
def client(vector, plus, minus):
    """Yields what it uploads; is sent the mean."""
    word = fixed64(vector)
    for mask in plus:
        word = word + mask
    for mask in minus:
        word = word - mask
    mean = yield word
    yield mean


class R19_Generators(PairWords):
    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks, copies = self.agreed(x, network, rng, masks, channel)
        edges = network.edges.tolist()
        running = [
            client(
                x[:, i],
                [masks[:, e] for e, (u, _) in enumerate(edges) if u == i],
                [copies[e] for e, (_, v) in enumerate(edges) if v == i],
            )
            for i in range(n)
        ]
        uploads = [channel.send(0, i, SERVER, "upload", next(c)) for i, c in enumerate(running)]
        mean = unfixed64(np.sum(uploads, axis=0, dtype=np.uint64)) / n
        ends = [c.send(channel.send(1, SERVER, i, "mean", mean)) for i, c in enumerate(running)]
        return np.stack(ends, axis=1), channel.transcript


# ---- R20: clipping --------------------------------------------------------------------------------------------------------
class R20_NormClipped(PairWords):
    """Each node scales its vector to a norm of 60 at most before it masks it."""

    audited = {"a": "server"}
    bound = 60.0

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks, copies = self.agreed(x, network, rng, masks, channel)
        norm = np.sqrt((x * x).sum(axis=2, keepdims=True))
        clipped = x * np.minimum(1.0, self.bound / np.maximum(norm, 1e-12))
        self.tell(norm, channel)
        y = fixed64(clipped).transpose(1, 0, 2)
        np.add.at(y, network.edges[:, 0], masks.transpose(1, 0, 2))
        np.subtract.at(y, network.edges[:, 1], copies)
        got = channel.send(0, np.arange(n), SERVER, "upload", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript

    def tell(self, norm, channel):
        pass


class W15_ClippedFlag(R20_NormClipped):
    """WRONG: for adaptive clipping each node tells the server whether it clipped: a bit of its norm, by itself, each iteration (it
    should be summed under masks as well)."""

    def tell(self, norm, channel):
        flags = (norm > self.bound).astype(float).transpose(1, 0, 2)
        channel.send(0, np.arange(flags.shape[0]), SERVER, "clipped", flags)


# ---- R21, R22: stochastic rounding ------------------------------------------------------------------------------------------
class R21_PrivateCoins(PairWords):
    """Each node rounds up with the probability of the fraction, by coins of its own."""

    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks, copies = self.agreed(x, network, rng, masks, channel)
        y = []
        for i in range(n):
            own = np.random.default_rng()
            scaled = x[:, i] * 2**16
            low = np.floor(scaled)
            up = own.random(scaled.shape) < scaled - low
            y.append((low + up).astype(np.int64).astype(np.uint64))
        y = np.stack(y)
        np.add.at(y, network.edges[:, 0], masks.transpose(1, 0, 2))
        np.subtract.at(y, network.edges[:, 1], copies)
        got = channel.send(0, np.arange(n), SERVER, "upload", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64), 16) / n, n), channel.transcript


class R22_PublicDither(PairWords):
    """Subtractive dither: floor(x / step + u) with public u, which the server sends and takes off again."""

    audited = {"a": "server"}
    step = 2.0**-10

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks, copies = self.agreed(x, network, rng, masks, channel)
        u = channel.send(-1, SERVER, np.arange(n), "dither", rng.random((n, runs, m)))
        y = np.floor(x.transpose(1, 0, 2) / self.step + u).astype(np.int64).astype(np.uint64)
        y = self.hide(y, network, masks, copies)
        got = channel.send(0, np.arange(n), SERVER, "upload", y)
        total = got.sum(axis=0, dtype=np.uint64).view(np.int64) - (u - 0.5).sum(axis=0)
        return publish(channel, 1, total * self.step / n, n), channel.transcript

    def hide(self, y, network, masks, copies):
        np.add.at(y, network.edges[:, 0], masks.transpose(1, 0, 2))
        np.subtract.at(y, network.edges[:, 1], copies)
        return y


class W16_DitherForMasks(R22_PublicDither):
    """WRONG: "the dither makes uploads random, masks are redundant". It is public, and rounds; the server reads every input to
    2^-10."""

    def hide(self, y, network, masks, copies):
        return y


# ---- R23, R24: in matrix form --------------------------------------------------------------------------------------------
class R23_SparseIncidence:
    """Masks are the incidence matrix of the network (sparse, public) times one vector an edge; each end knows its edges'."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e6, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        edges = network.edges
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-1, edges[:, 0], "mask", masks.transpose(1, 0, 2))
        channel.send(-1, edges[:, 0], edges[:, 1], "mask", masks.transpose(1, 0, 2), encrypted=True)
        count = len(edges)
        incidence = scipy.sparse.csr_array(
            (np.tile([1.0, -1.0], count), (edges.ravel(), np.repeat(np.arange(count), 2))), shape=(n, count)
        )
        flat = incidence @ masks.transpose(1, 0, 2).reshape(count, runs * m)
        got = channel.send(0, np.arange(n), SERVER, "upload", x.transpose(1, 0, 2) + flat.reshape(n, runs, m))
        return publish(channel, 1, got.mean(axis=0), n), channel.transcript


class R24_EinsumSigns:
    """S[i, j] = sign(j - i), R[i, j] = R[j, i] the pair's mask; masks = einsum over peers."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        n = network.n
        return rng.normal(scale=1e6, size=(runs, n * (n - 1) // 2, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        rows, columns = np.triu_indices(n, 1)
        pairs = masks.transpose(1, 0, 2)
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-1, rows, "mask", pairs)
        table = np.zeros((n, n, runs, m))
        table[rows, columns] = pairs
        table[columns, rows] = channel.send(-1, rows, columns, "mask", pairs, encrypted=True)
        sign = np.sign(np.arange(n)[None, :] - np.arange(n)[:, None]).astype(float)
        y = x.transpose(1, 0, 2) + np.einsum("ij,ijrm->irm", sign, table)
        got = channel.send(0, np.arange(n), SERVER, "upload", y)
        return publish(channel, 1, np.einsum("irm->rm", got) / n, n), channel.transcript


# ---- R25: a scheduler ---------------------------------------------------------------------------------------------------
class R25_EventQueue(PairWords):
    """A heap of events (time, number, what to do); uploads arrive by the (public) latency of their node."""

    audited = {"a": "server"}
    latency = (0.3, 0.1, 0.7, 0.2, 0.5)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks, copies = self.agreed(x, network, rng, masks, channel)
        word = {i: fixed64(x[:, i]) for i in range(n)}
        total = []

        def mask(i):
            for e, (u, v) in enumerate(network.edges.tolist()):
                if u == i:
                    word[i] = word[i] + masks[:, e]
                if v == i:
                    word[i] = word[i] - copies[e]

        def upload(i):
            total.append(channel.send(0, i, SERVER, "upload", word[i]))

        queue, number = [], 0
        for i in range(n):
            for delay, task in ((0.0, mask), (self.latency[i], upload)):
                heapq.heappush(queue, (delay, number, task, i))
                number += 1
        while queue:
            _, _, task, i = heapq.heappop(queue)
            task(i)
        return publish(channel, 1, unfixed64(np.add.reduce(total)) / n, n), channel.transcript
