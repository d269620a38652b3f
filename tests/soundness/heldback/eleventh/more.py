"""More habits: big integers, texts as labels, pools, state machines, error feedback, lanes, clusters, votes."""

import base64
import enum
import functools
import hashlib
import itertools
import logging
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from secmix.transcript import SERVER, Channel

from .common import fixed64, publish, unfixed64

log = logging.getLogger("practice")


def start(self, inputs, network, rng, masks, channel, width=None):
    x = np.asarray(inputs, dtype=float)
    runs, n, m = x.shape
    channel = channel or Channel()
    masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
    channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
    channel.hold(-1, network.edges[:, 0], "seed", masks.transpose(1, 0, 2))
    copies = channel.send(-1, *network.edges.T, "seed", masks.transpose(1, 0, 2), encrypted=True)
    return x, runs, n, m, channel, masks, copies


class Seeds:
    words = 4

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), self.words), dtype=np.uint64)


class R37_ObjectArrays(Seeds):
    """dtype=object: words modulo 2^127 - 1, masks 24 bytes of SHAKE each modulo it; sent as two halves of 64 bits."""

    audited = {"a": "server"}
    P = 2**127 - 1

    def big(self, seed, m):
        stream = hashlib.shake_256(seed.tobytes()).digest(24 * m)
        return np.array(
            [int.from_bytes(stream[24 * k : 24 * k + 24], "little") % self.P for k in range(m)], dtype=object
        )

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        y = np.rint(x.transpose(1, 0, 2) * 2**30).astype(np.int64).astype(object)
        for e, (u, v) in enumerate(network.edges):
            for r in range(runs):
                y[u, r] = (y[u, r] + self.big(seeds[r, e], m)) % self.P
                y[v, r] = (y[v, r] - self.big(copies[e, r], m)) % self.P
        low = (y % 2**64).astype(np.uint64)
        high = (y // 2**64).astype(np.uint64)
        got = channel.send(0, np.arange(n), SERVER, "halves", np.concatenate([low, high], axis=2))
        got = got.astype(object)
        total = (got[..., :m] + got[..., m:] * 2**64).sum(axis=0) % self.P
        signed = np.where(total > self.P // 2, total - self.P, total).astype(np.int64)
        return publish(channel, 1, signed / 2**30 / n, n), channel.transcript


class R38_ErrorFeedback(Seeds):
    """Keep what quantising cut off at the node, and add it in the next iteration; a new fit begins with nothing kept."""

    audited = {"a": "server"}
    step = 2.0**-6

    def __init__(self):
        self.residual = None

    def extra(self, channel, residual):
        pass

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        if channel.iteration == 0 or self.residual is None or self.residual.shape != x.shape:
            self.residual = np.zeros_like(x)
        wanted = x + self.residual
        level = np.rint(wanted / self.step)
        self.residual = wanted - level * self.step
        self.extra(channel, self.residual)
        y = level.astype(np.int64).astype(np.uint64).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            for r in range(runs):
                y[u, r] += np.random.default_rng(seeds[r, e]).integers(0, 2**64, m, dtype=np.uint64)
                y[v, r] -= np.random.default_rng(copies[e, r]).integers(0, 2**64, m, dtype=np.uint64)
        got = channel.send(0, np.arange(n), SERVER, "levels", y)
        total = got.sum(axis=0, dtype=np.uint64).view(np.int64)
        return publish(channel, 1, total * self.step / n, n), channel.transcript


class W24_ResidualTold(R38_ErrorFeedback):
    """WRONG: residuals go to the server "for diagnostics; they are rounding noise". They are the low part of each node's entries:
    of counts and of whatever is smaller than 2^-6 (a step) they are the data."""

    step = 2.0**2  # coarse, as with few bits: entries below 2 in size are wholly in the residual

    def extra(self, channel, residual):
        channel.send(0, np.arange(residual.shape[1]), SERVER, "residual", residual.transpose(1, 0, 2))


class R39_TextLabels(Seeds):
    """Long-lived keys; the mask is SHAKE of the key and a text, f"round {t}"; progress is logged."""

    audited = {"a": "server"}
    reuses_masks = True

    def label(self, iteration):
        return f"secagg round {iteration}"

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, keys, copies = start(self, inputs, network, rng, masks, channel)
        log.info("round %d: %d nodes, %d entries", channel.iteration, n, m)
        label = self.label(channel.iteration).encode()

        def stream(key):
            return np.frombuffer(hashlib.shake_256(key.tobytes() + label).digest(8 * m), np.uint64)

        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            y[u] += np.array([stream(k) for k in keys[:, e]])
            y[v] -= np.array([stream(k) for k in copies[e]])
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class W25_LabelOfTwoDigits(R39_TextLabels):
    """WRONG: the label has two digits, f"{t % 100:02d}". Masks of iteration 100 are those of iteration 0: the server subtracts
    uploads and learns the change of each node's vector. (Not in two iterations; in every fit of more than a hundred.)"""

    def label(self, iteration):
        return f"secagg round {iteration % 100:02d}"


class R40_Pool(Seeds):
    """Masks are expanded in a pool of threads, one task a pair; the pool is closed before anything is sent."""

    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)

        def expand(rows):
            return np.array([np.random.default_rng(s).integers(0, 2**64, m, dtype=np.uint64) for s in rows])

        with ThreadPoolExecutor(max_workers=2) as pool:
            own = list(pool.map(expand, [seeds[:, e] for e in range(len(network.edges))]))
            other = list(pool.map(expand, copies))
        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            y[u] += own[e]
            y[v] -= other[e]
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class R41_RandomState(Seeds):
    """The generator of old, seeded with eight 32-bit words of the pair's key."""

    audited = {"a": "server"}

    def legacy(self, seed):
        return np.random.RandomState(seed.view(np.uint32))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        y = x.transpose(1, 0, 2).copy()
        for (e, (u, v)), r in itertools.product(enumerate(network.edges.tolist()), range(runs)):
            y[u, r] += 1e7 * self.legacy(seeds[r, e]).standard_normal(m)
            y[v, r] -= 1e7 * self.legacy(copies[e, r]).standard_normal(m)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, functools.reduce(np.add, got) / n, n), channel.transcript


class W26_RandomStateOfOneWord(R41_RandomState):
    """WRONG: RandomState takes 32 bits as a number, so the key is reduced to them. On a cycle each upload wears two masks: the server
    meets in the middle of 2^32 seeds each, and reads each vector."""

    audited = {"a": "server", "kind": "cycle"}

    def legacy(self, seed):
        return np.random.RandomState(int(seed[0] % np.uint64(2**32)))


class Stage(enum.Enum):
    SHARE = "share"
    UPLOAD = "upload"
    DONE = "done"


class Machine(ABC):
    def run(self, context):
        stage = Stage.SHARE
        while stage is not Stage.DONE:
            stage = getattr(self, f"on_{stage.value}")(context)
        return context

    @abstractmethod
    def on_share(self, context): ...

    @abstractmethod
    def on_upload(self, context): ...


class R42_StateMachine(Seeds, Machine):
    """An abstract base runs stages (an Enum) by name; a context dictionary has everything."""

    audited = {"a": "server"}

    def on_share(self, context):
        context["y"] = fixed64(context["x"]).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(context["network"].edges):
            context["y"][u] += self.expand(context["seeds"][:, e], context["m"])
            context["y"][v] -= self.expand(context["copies"][e], context["m"])
        return Stage.UPLOAD

    def on_upload(self, context):
        n = context["n"]
        got = context["channel"].send(0, np.arange(n), SERVER, Stage.UPLOAD.value, context["y"])
        context["mean"] = unfixed64(got.sum(axis=0, dtype=np.uint64)) / n
        return Stage.DONE

    def expand(self, rows, m):
        return np.array(
            [np.random.Generator(np.random.PCG64DXSM(s)).integers(0, 2**64, m, dtype=np.uint64) for s in rows]
        )

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        done = self.run(
            {"x": x, "n": n, "m": m, "network": network, "channel": channel, "seeds": seeds, "copies": copies}
        )
        return publish(channel, 1, done["mean"], n), channel.transcript


class R43_Base64(Seeds):
    """Uploads are base64 of the words' bytes, as in a JSON API: always of one length."""

    audited = {"a": "server"}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            for r in range(runs):
                y[u, r] += np.random.default_rng(seeds[r, e]).integers(0, 2**64, m, dtype=np.uint64)
                y[v, r] -= np.random.default_rng(copies[e, r]).integers(0, 2**64, m, dtype=np.uint64)
        total = np.zeros((runs, m), dtype=np.uint64)
        for i in range(n):
            texts = np.array([np.frombuffer(base64.b64encode(row.tobytes()), np.uint8) for row in y[i]])
            got = channel.send(0, i, SERVER, "base64", texts)
            total += np.array([np.frombuffer(base64.b64decode(row.tobytes()), np.uint64) for row in got])
        return publish(channel, 1, unfixed64(total) / n, n), channel.transcript


class R44_Lanes(Seeds):
    """The vector is packed into one big integer with lanes of 64 bits, masked by a pad as long modulo 2^(64 m), and sent as its
    bytes; sums carry from lane to lane, so lanes hold 40 bits of an offset number."""

    audited = {"a": "server"}
    OFFSET = 2**39

    def pack(self, row):
        packed = 0
        for number in reversed(row.tolist()):
            packed = (packed << 64) | (int(round(number * 2**24)) + self.OFFSET)
        return packed

    def pad(self, seed, m):
        return int.from_bytes(hashlib.shake_256(seed.tobytes()).digest(8 * m), "little")

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        top = 1 << (64 * m)
        totals = [0] * runs
        for i in range(n):
            frames = []
            for r in range(runs):
                y = self.pack(x[r, i])
                for e, (u, v) in enumerate(network.edges.tolist()):
                    if i == u:
                        y += self.pad(seeds[r, e], m)
                    elif i == v:
                        y -= self.pad(copies[e][r], m)
                frames.append(np.frombuffer((y % top).to_bytes(8 * m, "little"), np.uint8))
            got = channel.send(0, i, SERVER, "packed", np.array(frames))
            totals = [(t + int.from_bytes(row.tobytes(), "little")) % top for t, row in zip(totals, got)]
        lanes = [[((t >> (64 * k)) & (2**64 - 1)) - n * self.OFFSET for k in range(m)] for t in totals]
        return publish(channel, 1, np.array(lanes) / 2.0**24 / n, n), channel.transcript


class R45_Clusters(Seeds):
    """Two levels: nodes 0 and 1 head a cluster each, add up their members' masked vectors, and send a sum each to the server; masks
    are between all pairs, so that neither head nor server reads a cluster."""

    audited = {"a": "0", "n": 5}
    head = (0, 1, 0, 1, 0)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges):
            for r in range(runs):
                y[u, r] += np.random.default_rng(seeds[r, e]).integers(0, 2**64, m, dtype=np.uint64)
                y[v, r] -= np.random.default_rng(copies[e, r]).integers(0, 2**64, m, dtype=np.uint64)
        partial = {}
        for head in sorted(set(self.head)):
            members = [i for i in range(n) if self.head[i] == head and i != head]
            got = channel.send(0, members, head, "masked", y[members], encrypted=True)
            partial[head] = y[head] + got.sum(axis=0, dtype=np.uint64)
        total = sum(channel.send(1, head, SERVER, "cluster", p, encrypted=True) for head, p in partial.items())
        return publish(channel, 2, unfixed64(total) / n, n), channel.transcript


class R46_GuardedInputs(Seeds):
    """Checks what it is given first: shape, finite, in range; then as others."""

    audited = {"a": "server"}

    def check(self, x, network):
        if x.ndim != 3 or x.shape[1] != network.n:
            raise ValueError(f"inputs have shape {x.shape}")
        if not np.all(np.isfinite(x)):
            raise ValueError("inputs are not finite")
        assert np.max(np.abs(x)) < 2**30, "out of the range of the fixed point"
        return x

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        self.check(np.asarray(inputs, dtype=float), network)
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        try:
            y = fixed64(x).transpose(1, 0, 2).copy()
            for e, (u, v) in enumerate(network.edges):
                for r in range(runs):
                    y[u, r] += np.random.default_rng(seeds[r, e]).integers(0, 2**64, m, dtype=np.uint64)
                    y[v, r] -= np.random.default_rng(copies[e, r]).integers(0, 2**64, m, dtype=np.uint64)
        except MemoryError:
            log.error("out of memory")
            raise
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class MaskCache:
    """Expands a pair's mask once for both ends (they run in one process here)."""

    def __init__(self):
        self.table = {}

    def key(self, iteration, edge, run):
        return iteration, edge, run

    def get(self, iteration, edge, run, seed, m):
        key = self.key(iteration, edge, run)
        if key not in self.table:
            self.table[key] = np.random.default_rng([*seed, iteration]).integers(0, 2**64, m, dtype=np.uint64)
        return self.table[key]


class R47_CacheWithinACall(Seeds):
    """A new cache each call: a pair's mask is expanded once, for both ends. Keys are long-lived."""

    audited = {"a": "server"}
    reuses_masks = True

    def cache(self):
        return MaskCache()

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, runs, n, m, channel, seeds, copies = start(self, inputs, network, rng, masks, channel)
        cache = self.cache()
        y = fixed64(x).transpose(1, 0, 2).copy()
        for e, (u, v) in enumerate(network.edges.tolist()):
            for r in range(runs):
                y[u, r] += cache.get(channel.iteration, e, r, seeds[r, e], m)
                y[v, r] -= cache.get(channel.iteration, e, r, copies[e, r], m)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


class CacheByEdge(MaskCache):
    def key(self, iteration, edge, run):
        return edge, run


class W27_CacheTooLong(R47_CacheWithinACall):
    """WRONG: the cache is kept in the object, and its key lacks the iteration (it was made for one call). From the second iteration
    on every pair wears the mask of the first: the server learns how each node's vector changes."""

    def __init__(self):
        self.kept = CacheByEdge()

    def cache(self):
        return self.kept
