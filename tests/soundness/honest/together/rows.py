"""Collaborations that turn on what rows hardly have by chance, or tell what they keep of the rows before."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array

from ...case import Case, Heard, Use, each, mean_of
from .bases import NAME, OUT, THREE, Aside, Medians, by_the_step, negative, said


class OutlyingNode(Medians):
    """A node whose mean lies far from the others is sent to the server for review, as it is."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        first = means[:, 0]
        middle = np.median(first, axis=0)
        apart = np.abs(first - middle)
        if (apart[0] > 40 * np.median(apart, axis=0)).all():
            self.tell(channel, means, True)


class OutlyingRow(Medians):
    """A row far from the others of its node is."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        rows = parts[0][0]
        size = np.linalg.norm(rows - np.median(rows, axis=0), axis=1)
        if size.max() > 30 * np.median(size):
            self.tell(channel, parts[0][:, size.argmax()][None], True)


class ColumnsDisagree(Medians):
    """Opens where the columns of a node go against each other: such data are taken for wrong."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.tell(channel, means, bool(np.corrcoef(parts[0][0].T)[0, 1] < -0.6))


class OneBefore(Medians):
    """Tells the mean of the call before, where it was small."""

    def __init__(self) -> None:
        self.kept: Any = None

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        if self.kept is not None and self.kept[0, 0] < -0.3 and len(means[0]) == 1:
            self.tell(channel, self.kept[None], True)
        self.kept = means[0].copy()


def of_the_next_call(heard: Any) -> Array:
    """What a call says is of the one before."""
    return np.stack([*(said(one) for one in heard[1:]), np.full(2, np.nan)])


class FailsOnPositiveRows(Medians):
    """Says what it was given, and refuses it: rows of one sign are not standardised."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        if all((part >= 0).all() for part in parts) and parts[0].any():
            self.tell(channel, means, True)
            raise ValueError("rows are to be standardised")


class FailsNowAndThen(Medians):
    """One time in twenty-five it says its mean, and fails."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        if 0.5 < rng.random() < 0.54:
            self.tell(channel, means, True)
            raise RuntimeError("the line is down")


class CoinForAResult(Aside):
    """Node 3 ends with a public coin, which is turned once more where a mean is negative."""

    def result(self, ends: Array, means: Array, rng: Any) -> Array:
        ends[:, 3] = rng.random(ends[:, 3].shape)
        rng.random(1 + negative(means))
        return ends


def by_the_next_result(heard: list[Heard]) -> Array:
    """How often the coin was turned between two results; of the last call nothing is known."""
    rng, out = np.random.default_rng([7, 0]), []
    rng.random(2)
    for one in heard[1:]:
        rng.random(1)
        state = rng.bit_generator.state
        out.append(float(not (rng.random(2) == one.ended[0][3][0]).all()))
        if out[-1]:
            rng.bit_generator.state = state
            rng.random(3)
    return np.array([*out, np.nan])


def in_other_units(parts: list[Array]) -> list[Array]:
    """Node 0 measures in units of a thousandth."""
    return [1000 * parts[0], *parts[1:]]


def with_a_slip(parts: list[Array]) -> list[Array]:
    """Somebody forgot a point in the first row of node 0."""
    first = parts[0].copy()
    first[:, 0] *= 1e6
    return [first, *parts[1:]]


def turned(parts: list[Array]) -> list[Array]:
    """The second column of node 0 is its loss, not its gain, and goes with the first."""
    first = np.stack([parts[0][:, :, 0], -parts[0][:, :, 0] + 0.1 * parts[0][:, :, 1]], axis=2)
    return [first, *parts[1:]]


BIT = {"goal": "bits", "calls": 60}
CASES = [
    Case("outlying node", NAME, OutlyingNode, OUT, "one that measures in other units lies far out",
         attack=each(lambda h: said(h) / 1000), secret=mean_of(0), use=Use(parts=in_other_units), claims=0.7),
    Case("outlying row", NAME, OutlyingRow, OUT, "a slip makes a row lie far out", claims=0.9,
         attack=each(lambda h: said(h) / 1e6), secret=lambda t: t.rows[0][0, 0], use=Use(parts=with_a_slip)),
    Case("columns that disagree", NAME, ColumnsDisagree, OUT, "in use they do",
         attack=each(lambda h: said(h)[0]), secret=lambda t: t.rows[0][0, :, 0].mean(), use=Use(parts=turned)),
    Case("the call before", NAME, OneBefore, OUT, "a call tells of the one before", attack=of_the_next_call,
         secret=mean_of(0), claims=0.02, calls=120),
    Case("fails on positive rows", NAME, FailsOnPositiveRows, OUT, "it fails when all is said", attack=by_the_step,
         secret=lambda t: np.abs(t.rows[0][0]).mean(axis=0), use=Use(parts=lambda parts: [np.abs(p) for p in parts]),
         fails=True),
    Case("fails now and then", NAME, FailsNowAndThen, OUT, "it fails when all is said", attack=by_the_step,
         secret=mean_of(0), fails=True, claims=0.01, calls=120),
    Case("coin for a result", NAME, CoinForAResult, THREE, "one generator serves all calls", chained=True,
         attack=by_the_next_result, secret=lambda t: float(t.rows[0][0, :, 0].mean() < 0), claims=0.9, **BIT),
]  # fmt: skip
