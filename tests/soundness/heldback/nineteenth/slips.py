"""One slip each, of authors who meant well."""

from __future__ import annotations

import hashlib
import logging

import numpy as np

from secmix.transcript import SERVER

from .common import FreshWords, SessionSeeds, back, couples, exchange, from_words, start, to_words
from .moments import Moments

log = logging.getLogger(__name__)


def pad(seed, label, size):
    """Stretch a seed with a label to words."""
    digest = hashlib.sha256(seed.tobytes() + label).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32)).integers(0, 2**64, size, dtype=np.uint64)


class W01MirroredTriangle(SessionSeeds):
    """The triangle is mirrored before the mask of its upper half is added: the lower half goes as it is."""

    audited = {"a": "server", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        mine, theirs = exchange(line, couples(n), drawn)
        d = next(d for d in range(1, m + 2) if d * (d + 1) // 2 >= m)
        rows, columns = (index[:m] for index in np.triu_indices(d))
        full = np.zeros((n, runs, d, d), dtype=np.uint64)
        full[..., rows, columns] = full[..., columns, rows] = to_words(x)
        label = b"covariance" + line.iteration.to_bytes(8, "big")
        for e, (i, j) in enumerate(couples(n)):
            for run in range(runs):
                full[i, run, rows, columns] += pad(mine[e, run], label, m)
                full[j, run, rows, columns] -= pad(theirs[e, run], label, m)
        total = line.send(0, np.arange(n), SERVER, "matrix", full.reshape(n, runs, d * d)).sum(axis=0)
        mean = from_words(total.reshape(runs, d, d)[:, rows, columns]) / n
        return back(line, n, mean)


class W02CountsBesideSums(FreshWords):
    """Masks were written for the sums of clusters; counts, which came later, are put in front without any."""

    audited = {"a": "server", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, _, m = x.shape
        clusters = max(1, m // 3)
        counts, sums = np.split(to_words(x), [clusters], axis=2)
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn[..., clusters:], "mask")
        for e, (i, j) in enumerate(pairs):
            sums[i] += mine[e]
            sums[j] -= theirs[e]
        upload = np.concatenate([counts, sums], axis=2)
        total = line.send(0, np.arange(n), SERVER, "clusters", upload).sum(axis=0)
        return back(line, n, from_words(total) / n)


class W03LabelWithoutPart(SessionSeeds):
    """The label has the round and no part, so weights, means and scatter get one pad: their differences show."""

    audited = {"a": "server", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, _ = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        stats = Moments.unflatten(to_words(x))
        for e, (i, j) in enumerate(pairs):
            label = f"{i}-{j}/round {line.iteration}".encode()
            for run in range(runs):
                for value in vars(stats).values():
                    value[i, run] += pad(mine[e, run], label, value.shape[-1])
                    value[j, run] -= pad(theirs[e, run], label, value.shape[-1])
        received = line.send(0, np.arange(n), SERVER, "moments", stats.flatten())
        return back(line, n, from_words(received.sum(axis=0)) / n)


class W04RelayedShares:
    """Shares among nodes go by the server on encrypted lines, but not sealed from it: it adds up each node's shares."""

    audited = {"a": "server", "n": 4}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n * (network.n - 1), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = len(x)
        line.hold(-1, np.repeat(np.arange(n), n - 1), "share", drawn)
        words = to_words(x)
        inbox = np.zeros_like(words)
        for node in range(n):
            randoms = drawn[node * (n - 1) : (node + 1) * (n - 1)]
            shares = [*randoms, words[node] - randoms.sum(axis=0)]
            for peer, share in enumerate(shares):
                relayed = line.send(0, node, SERVER, "share", share, encrypted=True)
                inbox[peer] += line.send(1, SERVER, peer, "share", relayed, encrypted=True)
        total = line.send(2, np.arange(n), SERVER, "sum of shares", inbox).sum(axis=0)
        return back(line, n, from_words(total) / n)


class W05BeforeNodeZero:
    """Masks go to the node before; before node 0 comes -1, the server, who with node 1 knows both masks of node 0."""

    audited = {"a": "server+1", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n, m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = network.n
        masked = to_words(x)
        for node in range(n):
            line.hold(-1, node, "mask", drawn[node])
            masked[node] += drawn[node]
            masked[node - 1] -= line.send(-1, node, node - 1, "mask", drawn[node], encrypted=True)
        total = line.send(0, np.arange(n), SERVER, "masked", masked).sum(axis=0)
        return back(line, n, from_words(total) / n)


class W06ResidualForTheBoard(SessionSeeds):
    """Each node reports what it rounded away for a board of statistics: its numbers modulo the step."""

    audited = {"a": "server", "n": 5}
    step = 0.25

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        codes = np.floor(np.clip(x, -1000, 1000) / self.step)
        residual = x - codes * self.step
        words = codes.astype(np.int64).astype(np.uint64)
        mine, theirs = exchange(line, couples(n), drawn)
        label = b"codes" + line.iteration.to_bytes(8, "big")
        for e, (i, j) in enumerate(couples(n)):
            words[i] += np.stack([pad(seed, label, m) for seed in mine[e]])
            words[j] -= np.stack([pad(seed, label, m) for seed in theirs[e]])
        total = line.send(0, np.arange(n), SERVER, "codes", words).sum(axis=0)
        lost = line.send(1, np.arange(n), SERVER, "residual", residual)
        return back(line, n, (from_words(total, 1 / self.step) + lost.sum(axis=0)) / n)


class W07StragglerInTheClear(SessionSeeds):
    """Whoever is late in a round uploads without masks, since the others have gone on without it."""

    audited = {"a": "server", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        late = line.iteration % n
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        words = to_words(x)
        label = b"round" + line.iteration.to_bytes(8, "big")
        for e, (i, j) in enumerate(pairs):
            if late in (i, j):
                continue
            for run in range(runs):
                words[i, run] += pad(mine[e, run], label, m)
                words[j, run] -= pad(theirs[e, run], label, m)
        in_time = [node for node in range(n) if node != late]
        total = line.send(0, in_time, SERVER, "upload", words[in_time]).sum(axis=0)
        log.info("waiting for 1 client of %d", n)
        total += line.send(1, late, SERVER, "upload", words[late], encrypted=True)
        return back(line, n, from_words(total) / n)


class W08MorePrecision:
    """Precision went up to 12 digits and masks stayed at 31 bits: the upper digits of every number show."""

    audited = {"a": "server", "n": 5}
    precision = 10**12

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**31, size=(runs, len(couples(network.n)), m), dtype=np.int64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = network.n
        mine, theirs = exchange(line, couples(n), drawn, "mask")
        encoded = np.rint(np.clip(x, -(10**5), 10**5) * self.precision).astype(np.int64)
        first, second = np.transpose(couples(n))
        np.add.at(encoded, first, mine)
        np.subtract.at(encoded, second, theirs)
        total = line.send(0, np.arange(n), SERVER, "masked", encoded).sum(axis=0)
        return back(line, n, total / self.precision / n)


class W09MasksLikeWeights:
    """Masks are floats below a tenth, as large as the weights of a network, and hide no statistic to more than that."""

    audited = {"a": "server", "n": 5}
    mask_scale = 0.1

    def draw_masks(self, runs, m, network, rng):
        uniforms = rng.random((runs, len(couples(network.n)), m))
        return (uniforms * 2.0 - 1.0) * self.mask_scale

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = network.n
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn, "mask")
        masked = x.copy()
        for e, (i, j) in enumerate(pairs):
            masked[i] += mine[e]
            masked[j] -= theirs[e]
        got = line.send(0, np.arange(n), SERVER, "masked", masked)
        return back(line, n, got.mean(axis=0))


class W10PadsOfTheFirstRound(SessionSeeds):
    """Pads are expensive, so they are kept by pair, run and size; the next round takes those of the first."""

    audited = {"a": "server", "n": 5}

    def __init__(self):
        self.kept = {}

    def pads(self, seeds, e, t, m):
        if (e, len(seeds), m) not in self.kept:
            label = b"round" + t.to_bytes(8, "big")
            self.kept[e, len(seeds), m] = np.stack([pad(seed, label, m) for seed in seeds])
        return self.kept[e, len(seeds), m]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, _, m = x.shape
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn)
        words = to_words(x)
        for e, (i, j) in enumerate(pairs):
            words[i] += self.pads(mine[e], (e, 0), line.iteration, m)
            words[j] -= self.pads(theirs[e], (e, 1), line.iteration, m)
        total = line.send(0, np.arange(n), SERVER, "masked", words).sum(axis=0)
        return back(line, n, from_words(total) / n)


class W11ChecksumOfMasks(FreshWords):
    """To check that masks cancel, each node tells the server the sum of its own: the server takes it off."""

    audited = {"a": "server", "n": 4}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n = network.n
        pairs = couples(n)
        mine, theirs = exchange(line, pairs, drawn, "mask")
        net = np.zeros(x.shape, dtype=np.uint64)
        for e, (i, j) in enumerate(pairs):
            net[i] += mine[e]
            net[j] -= theirs[e]
        checks = line.send(-1, np.arange(n), SERVER, "mask checksum", net)
        total = line.send(0, np.arange(n), SERVER, "masked", to_words(x) + net).sum(axis=0)
        total -= checks.sum(axis=0)
        return back(line, n, from_words(total) / n)


class W12NormsInTheLog(SessionSeeds):
    """Clients log the norm of their vector for debugging, as training loops do; who reads the log has all norms."""

    audited = {"a": "eaves", "n": 5}

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, drawn = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        mine, theirs = exchange(line, couples(n), drawn)
        words = to_words(x)
        for node in range(n):
            log.debug("client %d: norm %.6f", node, np.linalg.norm(x[node, 0]))
        label = line.iteration.to_bytes(8, "big")
        for e, (i, j) in enumerate(couples(n)):
            words[i] += np.stack([pad(seed, label, m) for seed in mine[e]])
            words[j] -= np.stack([pad(seed, label, m) for seed in theirs[e]])
        total = line.send(0, np.arange(n), SERVER, "masked", words).sum(axis=0)
        return back(line, n, from_words(total) / n)


class W13SeedsOfNames:
    """The seed of a pair is a digest of its two names and the round, which everybody can compute."""

    audited = {"a": "server", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 1, 1), dtype=np.uint64)  # not used: names make the seeds

    @staticmethod
    def pair_mask(i, j, run, t, m):
        raw = f"client_{i}:client_{j}:{run}:{t}".encode()
        seed = int(hashlib.sha256(raw).hexdigest(), 16)
        return np.random.default_rng(seed).integers(0, 2**64, m, dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, line, _ = start(self, inputs, network, rng, masks, channel)
        n, runs, m = x.shape
        words = to_words(x)
        for i, j in couples(n):
            for run in range(runs):
                mask = self.pair_mask(i, j, run, line.iteration, m)
                words[i, run] += mask
                words[j, run] -= mask
        total = line.send(0, np.arange(n), SERVER, "masked", words).sum(axis=0)
        return back(line, n, from_words(total) / n)
