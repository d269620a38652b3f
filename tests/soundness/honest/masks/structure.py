"""Masks that are each what they should be, and not independent: of each other, or of the inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious

from ...bases import Dealt, Pairwise, Shares
from ...case import ENTRY, Case, Heard, each, input_of, sign_of
from .values import ROWS


class Balanced(Pairwise):
    """The masks of node 0 add up to zero."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        masks[:, :4] -= masks[:, :4].mean(axis=1, keepdims=True)
        return masks


class SameSize(Dealt):
    """One number for all nodes, each with a sign of its own."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        signs = rng.choice([-1.0, 1.0], size=(runs, network.n, m))
        return signs * rng.normal(scale=self.sigma, size=(runs, 1, m))


def by_signs(heard: Heard) -> Array:
    """The sign of a message is that of its mask; their sum is known, so is then their size."""
    sent = np.stack([heard.one("masked", node) for node in range(5)])
    return sent[0] - np.sign(sent[0]) * heard.one("sum of masks") / np.sign(sent).sum(axis=0)


class SameSizeOverEntries(Pairwise):
    """One number for all entries of a vector, each with a sign of its own; the first edge masks node 0 alone."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        signs = rng.choice([-1.0, 1.0], size=(runs, self.count(network), m))
        return signs * rng.normal(scale=self.sigma, size=(runs, self.count(network), 1))

    def used(self, r: Array, s: Array) -> Array:
        r[1:4] = 0.0
        return r


def by_the_number_of_rows(heard: Heard) -> Array:
    """Two entries add up to the rows of a node: where their masks do not cancel, their size follows."""
    x = heard.one("masked", 0)
    if np.sign(x[0]) != np.sign(x[6]):
        return np.full(len(x), np.nan)
    return x - np.sign(x) * abs(x[0] + x[6] - ROWS) / 2


def _tent(u: Array) -> Array:
    return 1 - np.abs(2 * u - 1)


class Chaotic(Dealt):
    """The tent map stretches one number over all nodes: the masks are Gaussian and uncorrelated, and one is all."""

    @staticmethod
    def stretched(u: Array) -> list[Array]:
        chain = [u]
        for _ in range(4):
            chain.append(_tent(chain[-1]))
        return [1e6 * ndtri(link) for link in chain]

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.stack(self.stretched(rng.uniform(1e-3, 1 - 1e-3, size=(runs, m))), axis=1)


def by_solving_the_sum(heard: Heard) -> Array:
    """The sum of the masks is known, and is a function of one number that the first message all but tells."""
    x, total = heard.one("masked", 0), heard.one("sum of masks")
    found = np.full(len(x), np.nan)
    for e in range(len(x)):
        ends = np.linspace(*ndtr((x[e] + np.array([-300.0, 300.0])) / 1e6), 3000)
        off = sum(Chaotic.stretched(ends)) - total[e]
        crossings = np.flatnonzero(off[:-1] * off[1:] < 0)
        if len(crossings) == 1:
            a, b = ends[crossings[0]], ends[crossings[0] + 1]
            goal = total[e]
            u = brentq(lambda v, goal=goal: float(sum(Chaotic.stretched(np.array(v))) - goal), a, b, xtol=1e-17)
            found[e] = x[e] - 1e6 * ndtri(u)
    return found


class SumsToZero(Dealt):
    """The masks of a vector's twelve entries add up to zero, in four groups of three."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng).reshape(runs, network.n, -1, 3)
        return (masks - masks.mean(axis=3, keepdims=True)).reshape(runs, network.n, m)


class HiddenPlane(Dealt):
    """Masks across entries leave out four directions, none of them along an entry or a pair of entries."""

    OUT = np.linalg.qr(np.random.default_rng(3).normal(size=(12, 2)))[0]

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        return masks - masks @ self.OUT @ self.OUT.T


class Antithetic(Dealt):
    """Every other run has the masks of the run before with the other sign, to lower the variance of means."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        masks[1::2] = -masks[: runs - runs % 2 : 2]
        return masks


class SharedOverRuns(Dealt):
    """Two thirds of the runs have masks of their own; the rest share one."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        masks[2::3] = masks[1:2]
        return masks


class TwoNodesAlike(Dealt):
    """Nodes 0 and 4 have the same mask, and 4 is the dealer."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        masks[:, 0] = masks[:, 1]
        return masks


class SymmetricShares(Shares):
    """Two nodes give each other the same share."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        table = rng.normal(scale=self.sigma, size=(runs, network.n, network.n, m))
        table = np.triu(table.transpose(0, 3, 1, 2), 1)
        table = (table + table.swapaxes(2, 3)).transpose(0, 2, 3, 1)
        return table[:, ~np.eye(network.n, dtype=bool)]


class SignOfInput(Dealt):
    """A mask takes the sign of what it hides, lest it change it."""

    def used(self, r: Array, s: Array) -> Array:
        return np.copysign(r, s)


class SizeOfInput(Dealt):
    """Masks no larger than needed: those of small inputs are small."""

    def used(self, r: Array, s: Array) -> Array:
        return np.where(np.abs(s) < 0.5, 1e-9 * r, r)


@dataclass(frozen=True)
class Reused(Dealt):
    """Every other averaging of a fit takes the masks of the one before, changed."""

    last: dict[tuple[int, ...], Array] = field(default_factory=dict)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        fresh = super().draw_masks(runs, m, network, rng)
        before = self.last.pop((runs, m), None)
        if before is None:
            self.last[runs, m] = fresh
            return fresh
        return self.changed(before, rng)

    def changed(self, masks: Array, rng: Any) -> Array:
        return masks.copy()


class ReusedTurned(Reused):
    """Each entry takes the mask of the entry before."""

    def changed(self, masks: Array, rng: Any) -> Array:
        return np.roll(masks, 1, axis=2)


class ReusedTurnedTwice(Reused):
    """Each entry of a node takes the mask of the next entry of the next node."""

    def changed(self, masks: Array, rng: Any) -> Array:
        return np.roll(masks, (1, 5), axis=(1, 2))


class ReusedWithSigns(Reused):
    """Each mask takes a sign by lot."""

    def changed(self, masks: Array, rng: Any) -> Array:
        return masks * rng.choice([-1.0, 1.0], size=masks.shape)


def over_both(guess: Any) -> Any:
    """A guess from what nodes sent in the first and in the second iteration, (5, m) each."""
    return each(lambda h: guess(*(np.stack([h.one("masked", node, iteration=t) for node in range(5)]) for t in (0, 1))))


def small_one(first: Array, second: Array) -> Array:
    """The sum or the difference, whichever is free of masks."""
    return np.where(np.abs(first + second) < np.abs(first - second), np.nan, first - second)


CASES = [
    Case("balanced", "mask structure", Balanced, Eavesdropper(), "the masks of node 0 cancel in its own message",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0)),
    Case("same size, signs by lot", "mask structure", SameSize, CuriousServer(), "uncorrelated is not independent",
         attack=each(by_signs), secret=input_of(0)),
    Case("same size over entries", "mask structure", SameSizeOverEntries, Eavesdropper(),
         "what is public of two entries tells the mask of all", attack=each(by_the_number_of_rows),
         secret=input_of(0), claims=0.2),
    Case("chaotic", "mask structure", Chaotic, Eavesdropper(), "one number, stretched over all nodes",
         attack=each(by_solving_the_sum), secret=input_of(0), accuracy=1e-3, calls=4),
    Case("groups of entries", "mask structure", SumsToZero, Eavesdropper(), "sums of three entries are bare",
         attack=each(lambda h: h.one("masked", 0).reshape(-1, 3).sum(axis=1)),
         secret=lambda t: t.inputs[0][0, 0].reshape(-1, 3).sum(axis=1)),
    Case("hidden plane", "mask structure", HiddenPlane, CuriousServer(), "two combinations of the entries are bare",
         attack=each(lambda h: h.one("masked", 0) @ HiddenPlane.OUT),
         secret=lambda t: t.inputs[0][0, 0] @ HiddenPlane.OUT),
    Case("antithetic runs", "mask structure", Antithetic, Eavesdropper(), "the sum of two runs is bare",
         attack=lambda heard: np.stack([h.many("masked", 0)[:2].sum(axis=0) for h in heard]),
         secret=lambda t: t.inputs[0][:2, 0].sum(axis=0), batch=2),
    Case("shared over runs", "mask structure", SharedOverRuns, Eavesdropper(),
         "runs with one mask tell their difference",
         attack=lambda heard: np.stack([h.many("masked", 0)[2] - h.many("masked", 0)[5] for h in heard]),
         secret=lambda t: t.inputs[0][2, 0] - t.inputs[0][5, 0], batch=6),
    Case("two nodes alike", "mask structure", TwoNodesAlike, Eavesdropper(),
         "their messages tell how their inputs differ",
         attack=each(lambda h: h.one("masked", 0) - h.one("masked", 1)),
         secret=lambda t: t.inputs[0][0, 0] - t.inputs[0][0, 1]),
    Case("shares alike", "mask structure", SymmetricShares, HonestButCurious({1}), "what goes out comes in again",
         attack=each(lambda h: h.one("opened", 0)), secret=input_of(0)),
    Case("sign of the input", "mask structure", SignOfInput, Eavesdropper(), "a message has the sign of its input",
         attack=each(lambda h: h.one("masked", 0)[ENTRY] < 0), secret=sign_of(0), goal="bits", calls=60),
    Case("size of the input", "mask structure", SizeOfInput, Eavesdropper(), "small messages are not masked",
         attack=each(lambda h: np.where(np.abs(x := h.one("masked", 0)) < 1, x, np.nan)), secret=input_of(0),
         accuracy=1e-2, claims=0.05, calls=60),
    Case("reused, turned over entries", "mask structure", ReusedTurned, Eavesdropper(),
         "differences across entries are bare",
         attack=over_both(lambda a, b: a[0, :-1] - b[0, 1:]),
         secret=lambda t: t.inputs[0][0, 0, :-1] - t.inputs[1][0, 0, 1:]),
    Case("reused, turned over nodes and entries", "mask structure", ReusedTurnedTwice, Eavesdropper(),
         "differences across nodes and entries are bare",
         attack=over_both(lambda a, b: a[0, :-5] - b[1, 5:]),
         secret=lambda t: t.inputs[0][0, 0, :-5] - t.inputs[1][0, 1, 5:]),
    Case("reused, signs by lot", "mask structure", ReusedWithSigns, Eavesdropper(),
         "a difference without masks is small, which tells the sign", attack=over_both(lambda a, b: small_one(a[0],
         b[0])),
         secret=lambda t: t.inputs[0][0, 0] - t.inputs[1][0, 0], claims=0.9),
]  # fmt: skip
