"""Readings that must agree, since mutual information does not change with the scale that x and y are written in.

A nearest-neighbour estimate does: heavy tails crowd all but a few rows into one corner, and it reads low there without
any sign of it in how it varies or follows N. So the same rows are read on several scales. What they disagree by is
error, and no function of x and of y may carry more than x and y do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from secmix.estimators.estimate import Estimate
from secmix.estimators.information import information_lower_bound
from secmix.estimators.information.normal_scores import normal_scores
from secmix.estimators.ksg_estimator.copies import on_a_line
from secmix.estimators.ksg_estimator.levels import Read
from secmix.estimators.ksg_estimator.nearness import nearness
from secmix.estimators.samples import Floats, Samples, standardised, untied

SMOOTH = 10
"""Neighbours of the one reading that is to vary less."""

_SPREAD = 0.1  # of the largest reading, or
_APART = 0.04  # nats, by which readings on several scales may differ
_MARGIN = 0.02  # nats: what a bound or a part may exceed the whole by, from noise
_FEW = 0.25  # share of the rows that may nearly agree and still be few
_SURE = 1.645  # standard errors, 95 % one-sided, that the number may lie below what a bound shows
_SHARE = 1.1  # a bound's value above this share of the number contradicts it, and so far may the truth lie above it


class Scales(NamedTuple):
    """KSG's readings of the same rows, in nats."""

    # raw, scores, asinh: on standardised columns, on normal scores, and on the arsinh of columns measured from their
    # median in quartile distances
    raw: float
    scores: float
    asinh: float
    smooth: float  # on normal scores, with more neighbours
    # between the normal scores of ln ‖x‖ and of ln ‖y‖, a function of each: no more than any of the others
    norms: float

    def unmet(self, error: float) -> list[str]:
        """Say why the number cannot be right on at least one scale, if its standard error is ``error``: maybe none."""
        unmet = []
        readings = self.raw, self.scores, self.asinh
        least, most = min(readings), max(readings)
        if self.norms > min(self.raw, self.scores) + _MARGIN + error:
            unmet.append(f"the lengths of x and y alone carry {self.norms:.3g} nats, more than the {least:.3g} read")
        if most - least > max(_SPREAD * most, _APART):
            unmet.append(f"on other scales of the same data KSG reads {least:.3g} to {most:.3g} nats")
        return unmet

    def high(self, error: float) -> float:
        """Return what the truth hardly exceeds: a tenth above the largest reading, and its noise."""
        return _SHARE * max(self.raw, self.scores, self.asinh, self.smooth, 0.0) + 1.96 * error


def scales(read: Read, smooth: Read, samples: Samples, nats: float, rng: np.random.Generator) -> Scales:
    """Read standardised ``samples`` x, y (no z), whose raw reading is ``nats``, on every scale."""
    x, y, none = samples
    ranked = untied((normal_scores(x)(x), normal_scores(y)(y), none), rng)
    compressed = untied((_compressed(x), _compressed(y), none), rng)
    lengths = untied((_length_scores(x), _length_scores(y), none), rng)
    return Scales(nats, read(*ranked), read(*compressed), smooth(*ranked), read(*lengths))


class CrossCheck(NamedTuple):
    """Doubts in words, and the ends of an interval in nats; ``low`` is None where no bound was asked for."""

    unmet: list[str]
    low: float | None
    high: float


def cross_checked(
    raw: Samples,
    samples: Samples,
    nats: float,
    error: float,
    bound: Estimate | bool,
    readers: tuple[Read, Read],
    streams: tuple[np.random.Generator, np.random.Generator],
) -> CrossCheck:
    """Tell what other scales and a lower bound say of a reading that nothing else speaks against.

    ``nats``, ``error``: the reading and its standard error; ``bound``: what is known from below; True computes it where
    the scales agree; ``readers``: the estimator, and the same with more neighbours; ``streams``: for the breaking of
    ties and the search for copies, and for the bound.
    """
    if samples[2].shape[1]:
        return CrossCheck(
            ["no lower bound is known for conditional information that could contradict it"], None, math.inf
        )
    on_scales = scales(*readers, samples, nats, streams[0])
    nearby = [nearness(*each[:2]) for each in (raw, samples)]
    near = max(nearby, key=lambda found: found.sure)
    unmet, low, least_high = on_scales.unmet(error), None, 0.0
    if near.sure > max(nats, _MARGIN):
        unmet.append(f"how near x and y are to each other carries {near.nats:.3g} nats alone")
    elif few := [each for each in nearby if each.sure > _MARGIN and each.share <= _FEW and each.high > nats]:
        unmet.append(
            f"the {few[0].share:.0%} of rows where x and y are nearest may carry all of it ({few[0].nats:.3g} nats), "
            "and KSG reads few rows low"
        )
    if not unmet and raw[0].shape[1] == raw[1].shape[1] == 1:
        copies = on_a_line(raw[0], raw[1], streams[0].spawn(1)[0])
        if copies:
            unmet.append(f"{copies} rows or more lie on one line and their neighbours do not, as copies of x would")
    if bound is True and not unmet:
        bound = information_lower_bound(raw[0], raw[1], rng=streams[1])
    if isinstance(bound, Estimate):
        unmet, low = unmet + contradicted(bound, nats, error), bound.low
        least_high = _SHARE * bound.value + 1.96 * error
    elif not bound:
        unmet = [*unmet, "no lower bound that could contradict it was computed"]
    return CrossCheck(unmet, low, max(on_scales.high(error), near.high, least_high))


def contradicted(bound: Estimate, nats: float, error: float) -> list[str]:
    """Say whether a lower bound (nats) shows that the number reads low by more than its standard error explains."""
    noise = _SURE * error
    if bound.low > max(nats + noise, 0.0):
        return [f"at least {bound.low:.3g} nats are known by {bound.method}"]
    if bound.value > _SHARE * max(nats + noise, 0.0) + _MARGIN:
        return [f"{bound.value:.3g} nats were found by {bound.method}"]
    return []


def _compressed(array: Floats) -> Floats:
    return standardised("x", np.arcsinh(_robust(array)))[0]


def _length_scores(array: Floats) -> Floats:
    length = np.linalg.norm(_robust(array), axis=1, keepdims=True)
    scored = normal_scores(length)(length)
    return scored if scored.shape[1] else np.zeros((len(array), 1))


def _robust(array: Floats) -> Floats:
    """Measure columns from their median, in units of their quartile distance (as they are, where that is nothing)."""
    low, middle, high = np.quantile(array, (0.25, 0.5, 0.75), axis=0)
    width = high - low
    return np.asarray((array - middle) / np.where(width > 1e-100, width, 1.0))
