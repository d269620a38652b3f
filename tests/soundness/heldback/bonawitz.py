"""Secure aggregation with shared seeds (Bonawitz et al. 2017), as it is implemented: self masks, shares, drop-outs."""

from __future__ import annotations

import numpy as np

from secmix.transcript import SERVER, Channel

from .keys import from_words, to_words
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}
LEAKS = {"server": "leaks", "two": "leaks", "eavesdropper": "leaks"}
P = 2**31 - 1
WORDS = 5  # of 31 bits: a seed of 155


class Bonawitz:
    """Self masks of shared seeds and pair masks; node 4 leaves before it uploads; three shares open a seed.

    Right: the server gets shares of the self seeds of those who uploaded, and shares of the pair seeds of who left.
    """

    DEGREE, GONE = 2, 4

    def draw_masks(self, runs, m, network, rng):
        n, k = network.n, len(network.edges)
        # seeds of nodes, seeds of pairs, and the coefficients by which both are shared
        return rng.integers(0, P, size=(runs, (n + k) * (1 + self.DEGREE), WORDS))

    def expand(self, seed, iteration, m):
        return np.random.default_rng([*seed, iteration]).integers(0, 2**64, size=m, dtype=np.uint64)

    def share(self, secret, coefficients, holder):
        value = np.zeros_like(secret)
        for coefficient in [*coefficients[::-1], secret]:
            value = (value * (holder + 1) + coefficient) % P
        return value

    def join(self, shares):
        """The secret, of shares by holder."""
        total = 0
        for i, share in shares.items():
            top = bottom = 1
            for j in shares:
                if j != i:
                    top, bottom = top * (j + 1) % P, bottom * (j - i) % P
            total = (total + share * (top * pow(bottom, -1, P) % P)) % P
        return total

    def opened(self, n, uploaded, gone):
        """Whose self seeds and which nodes' pair seeds are opened."""
        return uploaded, gone

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        r = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        edges = network.edges.tolist()
        k = len(edges)
        own, pair, rest = r[:n], r[n : n + k], r[n + k :].reshape(n + k, self.DEGREE, runs, WORDS)
        first, second = network.edges.T
        owners = np.concatenate([np.arange(n), first])
        channel.hold(-3, owners, "seed", r[: n + k])
        for d in range(self.DEGREE):
            channel.hold(-3, owners, "coefficient", rest[:, d])
        got = channel.send(-3, first, second, "pair seed", pair, encrypted=True)
        held = {}
        for holder in range(n):
            rows = [e for e in range(n + k) if owners[e] != holder]
            value = np.stack([self.share(r[e], list(rest[e]), holder) for e in range(n + k)])
            told = channel.send(-2, owners[rows], holder, "share", value[rows], encrypted=True)
            held[holder] = {e: told[row] for row, e in enumerate(rows)}
            held[holder] |= {e: value[e] for e in range(n + k) if owners[e] == holder}
        alive = [node for node in range(n) if node != self.GONE]
        words = to_words(x.transpose(1, 0, 2))
        for run in range(runs):
            for node in range(n):
                words[node, run] += self.expand(own[node, run], channel.iteration, m)
            for e, (i, j) in enumerate(edges):
                words[i, run] += self.expand(pair[e, run], channel.iteration, m)
                words[j, run] -= self.expand(got[e, run], channel.iteration, m)
        received = channel.send(0, alive, SERVER, "masked", words[alive])
        selves, gone = self.opened(n, alive, [self.GONE])
        wanted = [*selves, *(n + e for e, ends in enumerate(edges) if set(ends) & set(gone))]
        shares = {}
        for holder in alive[: self.DEGREE + 1]:
            shares[holder] = channel.send(
                1, [holder] * len(wanted), SERVER, "share", np.stack([held[holder][e] for e in wanted])
            )
        seeds = self.join(shares)
        total = received.sum(axis=0)
        for row, e in enumerate(wanted):
            for run in range(runs):
                mask = self.expand(seeds[row, run], channel.iteration, m)
                if e in alive:
                    total[run] -= mask
                elif e >= n:
                    i, j = edges[e - n]
                    if i in alive and j == self.GONE:
                        total[run] -= mask
        mean = from_words(total) / len(alive)
        told = channel.send(2, SERVER, alive, "mean", mean[None], content=np.zeros(len(alive), dtype=int))
        averages = np.full((runs, n, m), np.nan)
        averages[:, alive] = told.transpose(1, 0, 2)
        return averages, channel.transcript


# Right: nobody leaves; self seeds alone are opened.
class NobodyLeaves(Bonawitz):
    GONE = -9

    def opened(self, n, uploaded, gone):
        return uploaded, []


# Wrong: pair seeds of node 3, whose message came late but came, are opened with its self seed.
class BothOfNodeThree(Bonawitz):
    def opened(self, n, uploaded, gone):
        return uploaded, [*gone, 3]


# Wrong against nodes 1 and 2: two shares open a seed, as the polynomial has degree one.
class DegreeOne(NobodyLeaves):
    DEGREE = 1


CASES = [
    *known("Bonawitz, one leaves", Bonawitz, "the sum over the four who are left", **SAFE),
    *known("Bonawitz, nobody leaves", NobodyLeaves, "the sum over all", **SAFE),
    *known("Bonawitz, both seeds of node 3", BothOfNodeThree, "both masks of node 3 come off", **LEAKS),
    *known("Bonawitz of degree one", DegreeOne, "nodes 1 and 2 open all seeds", server="safe", two="leaks",
           eavesdropper="safe"),
]  # fmt: skip
