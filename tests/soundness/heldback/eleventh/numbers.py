"""Sum counts and their kin (counts, rotations, levels, shares), and who is there."""

import numpy as np
import scipy.linalg

from secmix.transcript import SERVER, Channel

from .common import fixed64, publish, unfixed64


def cancel(y, masks, copies, network):
    """Add and take off pair masks, in place; y is (n, runs, entries), unsigned words or floats."""
    np.add.at(y, network.edges[:, 0], masks)
    np.subtract.at(y, network.edges[:, 1], copies)
    return y


def deal(channel, network, masks):
    """Masks (runs, edges, w) to both ends; returns (edges, runs, w) of each end."""
    words = masks.transpose(1, 0, 2)
    channel.hold(-1, network.edges[:, 0], "mask", words)
    return words, channel.send(-1, network.edges[:, 0], network.edges[:, 1], "mask", words, encrypted=True)


# ---- R26: missing values --------------------------------------------------------------------------------------------------
class R26_MissingAndCounts:
    """Count what is no number as zero; how many are there is summed as more entries, under masks as well."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2 * m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        own, copies = deal(channel, network, masks)
        there = ~np.isnan(x)
        both = np.concatenate([np.where(there, x, 0.0), there.astype(float)], axis=2)
        y = cancel(fixed64(both).transpose(1, 0, 2).copy(), own, copies, network)
        y = self.before_it_is_sent(y, x)
        got = channel.send(0, np.arange(n), SERVER, "sums and counts", y)
        total = unfixed64(got.sum(axis=0, dtype=np.uint64))
        mean = total[:, :m] / np.maximum(total[:, m:], 1.0)
        return publish(channel, 1, mean, n), channel.transcript

    def before_it_is_sent(self, y, x):
        return y


class W17_MissingCode(R26_MissingAndCounts):
    """WRONG: entries that are missing (-999 in this hospital's files) are put back after masking, "so that the server can leave
    them out": it reads which node lacks which entry, and where one node's entry is replaced."""

    def before_it_is_sent(self, y, x):
        m = x.shape[2]
        y[..., :m] = np.where(x.transpose(1, 0, 2) == -999, fixed64(x.transpose(1, 0, 2)), y[..., :m])
        return y


# ---- R27: weights ---------------------------------------------------------------------------------------------------------
class R27_SampleWeights:
    """Federated averaging: n_i x_i and n_i are summed under masks; n_i is a setting of the node, secret to others."""

    audited = {"a": "server"}

    def __init__(self, samples=(20, 20, 20, 20)):
        self.samples = np.asarray(samples, dtype=float)

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(0.0, 1e8, size=(runs, len(network.edges), m + 1))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        own, copies = deal(channel, network, masks)
        weight = np.broadcast_to(self.samples[:n, None, None], (n, runs, 1))
        y = cancel(np.concatenate([weight * x.transpose(1, 0, 2), weight], axis=2), own, copies, network)
        got = channel.send(0, np.arange(n), SERVER, "weighted", y)
        total = got.sum(axis=0)
        return publish(channel, 1, total[:, :-1] / total[:, -1:], n), channel.transcript


# ---- R28: rotation --------------------------------------------------------------------------------------------------------
class R28_HadamardRotated:
    """Zeros up to a power of two, public random signs, Hadamard, 20 bits behind the point, masks on all coordinates."""

    audited = {"a": "server"}

    @staticmethod
    def padded(m):
        return 1 << (m - 1).bit_length()

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), self.padded(m)), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        own, copies = deal(channel, network, masks)
        size = self.padded(m)
        signs = rng.choice([-1.0, 1.0], size=size)
        rotation = scipy.linalg.hadamard(size) / np.sqrt(size) * signs  # orthogonal
        rotated = np.pad(x, [(0, 0), (0, 0), (0, size - m)]) @ rotation.T
        y = self.hide(fixed64(rotated, 20).transpose(1, 0, 2).copy(), own, copies, network)
        got = channel.send(0, np.arange(n), SERVER, "rotated", y)
        total = unfixed64(got.sum(axis=0, dtype=np.uint64), 20)
        return publish(channel, 1, (total @ rotation)[:, :m] / n, n), channel.transcript

    def hide(self, y, own, copies, network):
        return cancel(y, own, copies, network)


class W18_PaddingUnmasked(R28_HadamardRotated):
    """WRONG: masks have as many entries as the vector, and only so many coordinates get one, as "the padding is zeros". After the
    rotation it is not: each of the last size - m coordinates is a combination of all entries of x, and is read per node."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def hide(self, y, own, copies, network):
        m = own.shape[2]
        y[..., :m] = cancel(y[..., :m].copy(), own, copies, network)
        return y


# ---- R29: levels -----------------------------------------------------------------------------------------------------------
class R29_SixteenBitLevels:
    """Clipped to +-64, one of 2^16 levels, masks and sums modulo 2^18 (four nodes do not overflow it)."""

    audited = {"a": "server"}
    top, levels, modulus = 64.0, 2**16 - 1, 2**18

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.modulus, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        if n * self.levels >= self.modulus:
            raise ValueError("too many nodes for the modulus")
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        own, copies = deal(channel, network, masks)
        level = np.rint((np.clip(x, -self.top, self.top) + self.top) / (2 * self.top) * self.levels).astype(np.int64)
        y = cancel(level.transpose(1, 0, 2).copy(), own, copies, network) % self.modulus
        got = channel.send(0, np.arange(n), SERVER, "levels", y)
        total = got.sum(axis=0) % self.modulus
        return publish(channel, 1, total / n / self.levels * 2 * self.top - self.top, n), channel.transcript


# ---- R30: shares of the data -------------------------------------------------------------------------------------------------
class R30_ShamirSums:
    """Each vector is shared 3 of n (Shamir); nodes add up shares, the server joins the first three sums."""

    audited = {"a": "1+2", "n": 5}
    Q = 2**31 - 1
    first = 1

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.Q, size=(runs, 2 * network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-1, np.repeat(np.arange(n), 2), "coefficient", masks.transpose(1, 0, 2))
        points = [self.first + j for j in range(n)]
        word = np.rint(x * 2**16).astype(np.int64)
        sums = [np.zeros((runs, m), dtype=np.int64) for _ in range(n)]
        for u in range(n):
            a, b = masks[:, 2 * u], masks[:, 2 * u + 1]
            for v, p in enumerate(points):
                share = (word[:, u] + a * p + b * p * p) % self.Q
                if v != u:
                    share = channel.send(0, u, v, "share", share, encrypted=True)
                sums[v] = (sums[v] + share) % self.Q
        got = channel.send(1, [0, 1, 2], SERVER, "sum of shares", np.stack(sums[:3]), encrypted=True)
        total = np.zeros((runs, m), dtype=np.int64)
        for v in range(3):
            top = bottom = 1
            for w in range(3):
                if w != v:
                    top, bottom = top * points[w] % self.Q, bottom * (points[w] - points[v]) % self.Q
            total = (total + got[v] * (top * pow(bottom, -1, self.Q) % self.Q)) % self.Q
        total = np.where(total > self.Q // 2, total - self.Q, total)
        return publish(channel, 2, total / 2**16 / n, n), channel.transcript


class W19_ShareAtZero(R30_ShamirSums):
    """WRONG: points begin at 0, as node numbers do. The share at 0 is the secret: node 0 is sent every node's vector."""

    audited = {"a": "0", "n": 5}
    first = 0


# ---- R31: noise of one's own -------------------------------------------------------------------------------------------------
class R31_DistributedNoise:
    """Each node adds a quarter of the variance of the noise, by coins of its own, and masks."""

    audited = {"a": "server"}
    sigma = 0.2

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        own, copies = deal(channel, network, masks)
        noisy = np.stack(
            [x[:, i] + np.random.default_rng().normal(0, self.sigma / np.sqrt(n), (runs, m)) for i in range(n)]
        )
        y = cancel(fixed64(noisy), own, copies, network)
        got = channel.send(0, np.arange(n), SERVER, "noisy", y)
        return publish(channel, 1, unfixed64(got.sum(axis=0, dtype=np.uint64)) / n, n), channel.transcript


# ---- R32: who is there is announced first ----------------------------------------------------------------------------------
class R32_AnnouncedAbsence:
    """The server says who is there in this fit (a setting, the same in all iterations), and those use masks among themselves."""

    audited = {"a": "server", "n": 5}

    def __init__(self, absent=3):
        self.absent = absent

    def draw_absent(self, rng, n):
        return self.absent

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        absent = self.draw_absent(rng, n)
        channel.send(-2, SERVER, np.arange(n), "absent", np.full((n, runs, 1), float(absent)))
        there = [i for i in range(n) if i != absent]
        y = {i: fixed64(x[:, i]) for i in there}
        for i in range(n):
            channel.hold(-1, i, "input", x[:, i])
        for e, (u, v) in enumerate(network.edges.tolist()):
            if absent not in (u, v):
                channel.hold(-1, u, "mask", masks[:, e])
                y[u] = y[u] + masks[:, e]
                y[v] = y[v] - channel.send(-1, u, v, "mask", masks[:, e], encrypted=True)
        got = [channel.send(0, i, SERVER, "masked", y[i]) for i in there]
        mean = unfixed64(np.sum(got, axis=0, dtype=np.uint64)) / len(there)
        told = channel.send(1, SERVER, there, "mean", mean[None], content=np.zeros(len(there), dtype=int))
        averages = np.full((runs, n, m), np.nan)
        averages[:, there] = told.transpose(1, 0, 2)
        return averages, channel.transcript


class W28_ParticipationChanges(R32_AnnouncedAbsence):
    """WRONG: who sits out is drawn in every iteration. Once the fit has converged vectors are the same from iteration to iteration,
    and two sums over all but one differ by x_i - x_j; with the total of all but each, five sums are five equations in five
    vectors: the server solves for everybody (So et al. 2021, Securing secure aggregation: multi-round privacy)."""

    def draw_absent(self, rng, n):
        return int(rng.integers(n))


class W20_KeysOfTheLost:
    """WRONG: pair keys are long-lived, and survivors hand the server their keys (not the masks of this iteration) with whoever is
    lost. Node 0 is lost in iteration 0, node 1 in iteration 1, when node 0 is back: the server has all keys of node 0 by
    then, expands its masks of iteration 1, and reads its vector."""

    audited = {"a": "server"}
    reuses_masks = True

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def expand(self, key, iteration, m):
        return np.random.default_rng([*key, iteration]).integers(0, 2**64, m, dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        keys = self.draw_masks(runs, m, network, rng) if masks is None else masks
        lost = channel.iteration % n
        y = {i: fixed64(x[:, i]) for i in range(n)}
        key = {}
        for i in range(n):
            channel.hold(-1, i, "input", x[:, i])
        for e, (u, v) in enumerate(network.edges.tolist()):
            channel.hold(-1, u, "key", keys[:, e])
            key[u, v] = keys[:, e]
            key[v, u] = channel.send(-1, u, v, "key", keys[:, e], encrypted=True)
            y[u] = y[u] + np.array([self.expand(k, channel.iteration, m) for k in key[u, v]])
            y[v] = y[v] - np.array([self.expand(k, channel.iteration, m) for k in key[v, u]])
        there = [i for i in range(n) if i != lost]
        total = sum(channel.send(0, i, SERVER, "masked", y[i]) for i in there)
        for i in there:
            told = channel.send(1, i, SERVER, "key with the lost", key[i, lost])
            p = np.array([self.expand(k, channel.iteration, m) for k in told])
            total = total - p if i < lost else total + p
        mean = unfixed64(total) / len(there)
        told = channel.send(2, SERVER, there, "mean", mean[None], content=np.zeros(len(there), dtype=int))
        averages = np.full((runs, n, m), np.nan)
        averages[:, there] = told.transpose(1, 0, 2)
        return averages, channel.transcript


# ---- R33: a graph of masks that is drawn anew --------------------------------------------------------------------------------
class R33_RandomRing:
    """Nodes stand in a public random order, and share masks with both neighbours in it (Bell et al.'s graph, of degree 2)."""

    audited = {"a": "server", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(0, 1e7, size=(runs, network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        order = rng.permutation(n)
        y = x.transpose(1, 0, 2).copy()
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        for k in range(n):
            u, v = order[k], order[(k + 1) % n]
            channel.hold(-1, u, "mask", masks[:, k])
            y[u] += masks[:, k]
            y[v] -= channel.send(-1, u, v, "mask", masks[:, k], encrypted=True)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, got.mean(axis=0), n), channel.transcript


class W21_RandomGraph:
    """WRONG: each pair of nodes shares a mask with probability a half (public coins). Of four nodes, a given one has no partner in
    one iteration of eight, and its vector goes to the server in the clear; two that have each other alone show their sum."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(0, 1e7, size=(runs, len(network.edges), m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        y = x.transpose(1, 0, 2).copy()
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        for e, (u, v) in enumerate(network.edges.tolist()):
            if rng.random() < 0.5:
                channel.hold(-1, u, "mask", masks[:, e])
                y[u] += masks[:, e]
                y[v] -= channel.send(-1, u, v, "mask", masks[:, e], encrypted=True)
        got = channel.send(0, np.arange(n), SERVER, "masked", y)
        return publish(channel, 1, got.mean(axis=0), n), channel.transcript


# ---- R34: a dealer ---------------------------------------------------------------------------------------------------------
class R34_ZeroSumDealer:
    """Node 0 deals masks that add up to zero, each sealed to its node by an encrypted line."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, network.n - 1, m), dtype=np.uint64)

    def shares(self, r, n):
        """(n, runs, m), and what the server has to take off their sum."""
        return np.concatenate([r, -r.sum(axis=0, keepdims=True, dtype=np.uint64)]), None

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        channel.hold(-1, np.arange(n), "input", x.transpose(1, 0, 2))
        channel.hold(-1, np.zeros(n - 1, dtype=int), "drawn", masks.transpose(1, 0, 2))
        shares, rest = self.shares(masks.transpose(1, 0, 2), n)
        dealt = np.concatenate([shares[:1], channel.send(-1, 0, np.arange(1, n), "mask", shares[1:], encrypted=True)])
        got = channel.send(0, np.arange(n), SERVER, "masked", fixed64(x).transpose(1, 0, 2) + dealt)
        total = got.sum(axis=0, dtype=np.uint64)
        if rest is not None:
            total = total - channel.send(0, 0, SERVER, "sum of masks", rest)
        return publish(channel, 1, unfixed64(total) / n, n), channel.transcript


class W22_DealerOffByOne(R34_ZeroSumDealer):
    """WRONG: the table of masks begins as zeros and the loop stops before the last row; so that the sum comes out the dealer tells
    the server what to take off. The last node's mask is zero: the server reads its vector."""

    def shares(self, r, n):
        table = np.zeros((n, *r.shape[1:]), dtype=np.uint64)
        for i in range(n - 1):
            table[i] = r[i]
        return table, table.sum(axis=0, dtype=np.uint64)


# ---- R35: neighbours on a ring --------------------------------------------------------------------------------------------
class R35_RollRing:
    """Each node draws a mask and sends it to the right: it adds its own, and takes off what came from the left."""

    audited = {"a": "eaves", "kind": "cycle", "n": 5}

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(0.0, 1e7, size=(runs, network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        r = np.moveaxis(self.draw_masks(runs, m, network, rng) if masks is None else masks, 1, 0)
        s = np.moveaxis(x, 1, 0)
        me = np.arange(n)
        channel.hold(-1, me, "input", s)
        channel.hold(-1, me, "mask", r)
        from_left = np.roll(channel.send(-1, me, np.roll(me, -1), "mask", r, encrypted=True), 1, axis=0)
        got = channel.send(0, me, SERVER, "masked", s + r - from_left)
        return publish(channel, 1, np.average(got, axis=0), n), channel.transcript


# ---- R36: both ends contribute ---------------------------------------------------------------------------------------------
class R36_XorSeeds:
    """A pair's seed is the exclusive or of 128 bits of each end."""

    audited = {"a": "server"}

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, 2 * len(network.edges), 2), dtype=np.uint64)

    def contributions(self, drawn, e):
        return drawn[:, 2 * e], drawn[:, 2 * e + 1]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        y = [fixed64(x[:, i]) for i in range(n)]
        for i in range(n):
            channel.hold(-1, i, "input", x[:, i])
        for e, (u, v) in enumerate(network.edges.tolist()):
            mine, theirs = self.contributions(drawn, e)
            channel.hold(-1, u, "contribution", mine)
            channel.hold(-1, v, "contribution", theirs)
            at_v = channel.send(-1, u, v, "contribution", mine, encrypted=True)
            at_u = channel.send(-1, v, u, "contribution", theirs, encrypted=True)
            y[u] = y[u] + self.expand(mine ^ at_u, m)
            y[v] = y[v] - self.expand(theirs ^ at_v, m)
        got = [channel.send(0, i, SERVER, "masked", y[i]) for i in range(n)]
        return publish(channel, 1, unfixed64(np.sum(got, axis=0, dtype=np.uint64)) / n, n), channel.transcript

    def expand(self, seeds, m):
        return np.array([np.random.default_rng(seed).integers(0, 2**64, m, dtype=np.uint64) for seed in seeds])


class W23_XorWithItself(R36_XorSeeds):
    """WRONG: both ends look their contribution up under (smaller, larger) in one table, so it is the same 128 bits, and the seed
    of every pair is zero. Everybody knows the masks: the server reads every input."""

    def contributions(self, drawn, e):
        return drawn[:, e], drawn[:, e]
