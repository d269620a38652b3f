"""Pads without a server's help: agreed by exclusive or, broadcast as in a DC-net, exchanged in a butterfly."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
from typing import NamedTuple

import numpy as np

from secmix.transcript import SERVER

from .common import FreshWords, SessionSeeds, back, couples, exchange, from_words, start, to_words

log = logging.getLogger(__name__)


class R20AgreedByXor:
    """Both of a pair contribute words, and the exclusive or of the two is their pad; the server sees masked words."""

    audited = {"a": "server+1", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n * (network.n - 1), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = len(x)
        ways = [(i, j) for i in range(n) for j in range(n) if i != j]
        line.hold(-1, [i for i, _ in ways], "contribution", drawn)
        mine = dict(zip(ways, drawn))
        got = dict(zip(ways, line.send(-1, *zip(*ways), "contribution", drawn, encrypted=True)))
        masked = to_words(x)
        for i, j in ways:
            pad = mine[i, j] ^ got[j, i]
            masked[i] = masked[i] + pad if i < j else masked[i] - pad
        total = line.send(0, np.arange(n), SERVER, "masked", masked).sum(axis=0)
        return back(line, n, from_words(total) / n)


class R21DiningNodes(FreshWords):
    """A DC-net of words: each node tells all others its number plus and minus pads, and everybody adds up."""

    audited = {"a": "2", "n": 4}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn, "pad")
        signs = np.zeros((n, len(pairs)), dtype=np.int64)
        for e, (i, j) in enumerate(pairs):
            signs[i, e], signs[j, e] = 1, -1
        announced = to_words(x)
        for node in range(n):
            plus, minus = mine[signs[node] > 0], theirs[signs[node] < 0]
            announced[node] += plus.sum(axis=0) - minus.sum(axis=0)
        heard = [announced[node].copy() for node in range(n)]
        for node in range(n):
            for other in set(range(n)) - {node}:
                heard[other] += line.send(0, node, other, "announcement", announced[node])
        means = np.stack([from_words(words) / n for words in heard], axis=1)
        return means, line.transcript


class R22Butterfly(SessionSeeds):
    """Four nodes mask for all pairs, then swap partial sums in a butterfly; no partial sum is without its masks."""

    audited = {"a": "1", "n": 4}

    def pad(self, seed, t, m):
        label = b"|".join([b"butterfly", str(t).encode()])
        digest = hashlib.sha512(seed.tobytes() + label).digest()
        return np.random.default_rng(np.frombuffer(digest, "<u4")).integers(0, 2**64, m, dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        assert n & (n - 1) == 0, "a butterfly needs a power of two"
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        partial = to_words(x)
        for e, (i, j) in enumerate(pairs):
            partial[i] += np.array([self.pad(seed, line.iteration, m) for seed in mine[e]])
            partial[j] -= np.array([self.pad(seed, line.iteration, m) for seed in theirs[e]])
        nodes, step = np.arange(n), 0
        while 1 << step < n:
            partners = nodes ^ (1 << step)
            partial = partial + line.send(step, nodes, partners, "partial sum", partial, encrypted=True)[partners]
            step += 1
        return np.moveaxis(from_words(partial) / n, 0, 1), line.transcript


class Upload(NamedTuple):
    """What a client uploads: a masked vector, and how many entries it has."""

    masked: np.ndarray
    entries: np.ndarray


@contextlib.contextmanager
def phase(name, n):
    """Log the beginning and the end of a phase."""
    log.info("%s of %d clients begins", name, n)
    yield
    log.info("%s of %d clients ends", name, n)


class R23PhasesWithSecrets:
    """Seeds of pairs by token_bytes in a phase of their own, uploads as tuples with a length; the server gets sums."""

    audited = {"a": "server", "n": 4}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 1), dtype=np.uint64)  # not used: seeds are the system's

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, _ = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        pairs = couples(n)
        with phase("agreement", n):
            tokens = [[np.frombuffer(secrets.token_bytes(32), np.uint64) for _ in range(runs)] for _ in pairs]
            mine, theirs = exchange(line, pairs, np.array(tokens))
        with phase("masking", n):
            masked = to_words(x)
            for e, (i, j) in enumerate(pairs):
                for run in range(runs):
                    masked[i, run] += np.random.default_rng(mine[e, run]).integers(0, 2**64, m, dtype=np.uint64)
                    masked[j, run] -= np.random.default_rng(theirs[e, run]).integers(0, 2**64, m, dtype=np.uint64)
        total = np.zeros((runs, m), dtype=np.uint64)
        for node in range(n):
            upload = line.send(0, node, SERVER, "upload", Upload(masked[node], np.full((runs, 1), m)))
            total += upload.masked
        return back(line, n, from_words(total) / n)


class R24IncidenceMatrix(SessionSeeds):
    """Masks are a product of the graph's incidence matrix with one pad an edge, modulo 2^64; the server sees sums."""

    audited = {"a": "server+0", "n": 5}

    def incidence(self, n, pairs):
        tail, head = np.transpose(pairs)
        nodes = np.arange(n)[:, None]
        return (nodes == tail).astype(np.uint64), (nodes == head).astype(np.uint64)

    def pads(self, seeds, t, m):
        streams = [[np.random.Generator(np.random.SFC64([t, *seed])) for seed in row] for row in seeds]
        return np.stack([[stream.integers(0, 2**64, m, dtype=np.uint64) for stream in row] for row in streams])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, _, m = x.shape
        pairs = couples(n)
        mine, theirs = (self.pads(seeds, line.iteration, m) for seeds in exchange(line, pairs, drawn))
        tails, heads = self.incidence(n, pairs)
        masked = to_words(x)
        masked += np.einsum("ne,erm->nrm", tails, mine)
        masked -= np.einsum("ne,erm->nrm", heads, theirs)
        total = line.send(0, np.arange(n), SERVER, "masked", masked).sum(axis=0)
        return back(line, n, from_words(total) / n)
