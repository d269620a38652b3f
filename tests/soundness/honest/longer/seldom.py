"""Faults that show on data, iterations or draws which an audit comes to only if it goes there on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...bases import Modular, Pairwise
from ...case import Case, Deployed, Heard, each, input_of
from ..together.collaborations import Means


def rewound(draw: Any, rng: Any) -> Any:
    """What ``draw`` gives; the generator is left as it was."""
    before = rng.bit_generator.state
    drawn = draw()
    rng.bit_generator.state = before
    return drawn


class Rewinds(Pairwise):
    """Leaves the generator as it was, so that the next averaging of a fit draws the same masks."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rewound(lambda: super(Rewinds, self).draw_masks(runs, m, network, rng), rng)


class RewindsResidues(Modular):
    """The same with residues."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rewound(lambda: super(RewindsResidues, self).draw_masks(runs, m, network, rng), rng)


class Beacon(Rewinds):
    """Then tells everybody what the generator says next: the masks."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        drawn = rng.normal(scale=self.sigma, size=(s.shape[1], len(network.edges), s.shape[2]))
        channel.send(8, SERVER, [0] * 4, "beacon", drawn.transpose(1, 0, 2)[:4])


def step_of_one(heard: Heard) -> Array:
    """What a masked vector changed by, from one averaging to the next."""
    return heard.one("masked", 0, iteration=1) - heard.one("masked", 0)


def step_of_residue(heard: Heard) -> Array:
    """The same modulo the modulus."""
    step = step_of_one(heard)
    return step - Modular().modulus * np.round(step / Modular().modulus)


def with_the_beacon(heard: Heard) -> Array:
    """Node 0 stands first on the first four edges."""
    rows = [m.numbers for m in heard.all("beacon", iteration=0) if m.numbers is not None]
    return heard.one("masked", 0) - sum(row[0] for row in rows[:4])


def change_of_one(truth: Deployed) -> Array:
    """By how much the vector of node 0 changes."""
    return truth.inputs[1][0, 0] - truth.inputs[0][0, 0]


class InTheFourth(Pairwise):
    """The fourth averaging of a fit is in the clear."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if self.open(channel.iteration):
            channel.send(-1, 0, SERVER, "state", s[0])

    def open(self, iteration: int) -> bool:
        return iteration == 3


class FromTheThirdOn(InTheFourth):
    """Masks are thought to be of no use any more once the fit has settled."""

    def open(self, iteration: int) -> bool:
        return iteration >= 2


class NotToBeginWith(InTheFourth):
    """One averaging of three, from the third on."""

    def open(self, iteration: int) -> bool:
        return iteration % 3 == 2


class Ahead(Pairwise):
    """A node that is far larger than its neighbour in everything needs no mask."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.where(self.ahead(np.abs(s)), s, hidden)

    def ahead(self, s: Array) -> Array:
        return (s[:1] > 2.5 * s[1:2]).all(axis=2, keepdims=True)


class Behind(Ahead):
    """So does one that is far smaller."""

    def ahead(self, s: Array) -> Array:
        return (2.5 * s[1:2] < s[2:3]).all(axis=2, keepdims=True)


class AheadOfTwo(Ahead):
    """So does one that is larger than two others."""

    def ahead(self, s: Array) -> Array:
        return (s[:1] > 2.0 * s[1:3]).all(axis=(0, 2))[None, :, None]


def one_in_clear(heard: Heard) -> Array:
    """A vector without mask is a thousand times smaller than masks are."""
    x = heard.one("masked", 0)
    return x if np.abs(x).max() < 1e4 else np.full_like(x, np.nan)


class SignsSeen(Means):
    """Sends as many numbers as the means have signs."""

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Array:
        """As the means, with one line before."""
        size = self.size(parts[0])
        channel.send(-2, 0, SERVER, "shape", np.zeros((len(parts[0]), size)), encrypted=True)
        return super().collaborate(parts, network, rng, channel=channel)

    def size(self, rows: Array) -> int:
        """How many numbers."""
        return len(np.unique(np.sign(rows[..., 0])))


class InOrder(SignsSeen):
    """Compresses rows that are in order."""

    def size(self, rows: Array) -> int:
        return 1 + bool((np.diff(rows[..., 0], axis=1) >= 0).all())


class AllBelow(SignsSeen):
    """Sends a shorter message where no row is above zero."""

    def size(self, rows: Array) -> int:
        return 1 + bool((rows[..., 0] > 0).any())


def shape_of(heard: Heard) -> Array:
    """How long the line was."""
    return np.array(heard.all("shape")[0].size - 1)


OUT, TWO = Eavesdropper(), HonestButCurious({2}, eavesdrops=False)
NAME = "seldom"
LATER = {"deployed": {"model": {"iterations": 9}}}
FEW = {"deployed": {"data": {"name": "breast_cancer", "features": 2, "rows_per_node": 2}}, "goal": "bits", "calls": 40}
ONE_COLUMN = {"name": "breast_cancer", "features": 1}
UNEQUAL: dict[str, Any] = {"deployed": {"data": {**ONE_COLUMN, "rows_per_node": [60, 5, 10, 20, 20]}}, "calls": 200,
                           "claims": 0.005}  # fmt: skip


def first_rows(truth: Deployed) -> Array:
    """The first column of node 0."""
    return truth.rows[0][0, :, 0]


CASES = [
    Case("rewound generator", NAME, Rewinds, OUT, "what changes between two averagings is bare",
         attack=each(step_of_one), secret=change_of_one, chained=True),
    Case("rewound residues", NAME, RewindsResidues, CuriousServer(), "what changes between two averagings is bare",
         attack=each(step_of_residue), secret=change_of_one, chained=True, accuracy=1e-4),
    Case("rewound before a beacon", NAME, Beacon, OUT, "the beacon is the masks", attack=each(with_the_beacon),
         secret=input_of(0)),
    Case("open in the fourth", NAME, InTheFourth, OUT, "a longer fit than the audited one is open",
         attack=each(lambda h: h.one("state", iteration=3)), secret=input_of(0, 3), **LATER),
    Case("open from the third on", NAME, FromTheThirdOn, OUT, "a longer fit than the audited one is open",
         attack=each(lambda h: h.one("state", iteration=5)), secret=input_of(0, 5), **LATER),
    Case("open every third", NAME, NotToBeginWith, OUT, "a longer fit than the audited one is open",
         attack=each(lambda h: h.one("state", iteration=8)), secret=input_of(0, 8), **LATER),
    Case("ahead in everything", NAME, Ahead, OUT, "a node with more of everything is bare", attack=each(one_in_clear),
         secret=input_of(0), **UNEQUAL),
    Case("behind in everything", NAME, Behind, OUT, "a node with less of everything is bare", attack=each(one_in_clear),
         secret=input_of(0), **{**UNEQUAL, "deployed": {"data": {**ONE_COLUMN, "rows_per_node": [20, 5, 40, 20, 20]}}}),
    Case("ahead of two", NAME, AheadOfTwo, OUT, "a node with more of everything is bare", attack=each(one_in_clear),
         secret=input_of(0), **UNEQUAL),
    Case("as many numbers as signs", NAME, SignsSeen, OUT, "the length tells whether signs differ",
         attack=each(shape_of), secret=lambda t: float(len(np.unique(np.sign(first_rows(t)))) - 1), **FEW),
    Case("rows in order", NAME, InOrder, OUT, "the length tells whether they are", attack=each(shape_of),
         secret=lambda t: float((np.diff(first_rows(t)) >= 0).all()), **FEW),
    Case("no row above zero", NAME, AllBelow, OUT, "the length tells whether one is", attack=each(shape_of),
         secret=lambda t: float((first_rows(t) > 0).any()), **FEW),
]  # fmt: skip
