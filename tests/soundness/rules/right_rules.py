"""Rules that are right, with theory or by construction: the check must accept every one."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from soundness.rules.wrong_rules import refuse

from secmix import aggregators


@dataclass(frozen=True)
class Right:
    """A right rule, what it is held to, and whether it is quick enough for every run."""

    name: str
    rule: Callable[..., Any]
    source: str
    f: int = 1
    settings: tuple[tuple[str, Any], ...] = ()
    quick: bool = True


def trimmed_mean(messages, f):
    refuse(messages, f)
    x = np.sort(np.asarray(messages, dtype=np.float64), axis=0)
    return x[f : len(x) - f].mean(axis=0)


def median(messages, f):
    refuse(messages, f)
    return np.median(np.asarray(messages, dtype=np.float64), axis=0)


def winsorised_mean(messages, f):
    refuse(messages, f)
    x = np.sort(np.asarray(messages, dtype=np.float64), axis=0)
    return np.clip(x, x[f], x[len(x) - 1 - f]).mean(axis=0)


def midpoint_of_the_shorth(messages, f):
    """The middle of the shortest interval that holds n − f values, in each entry; of several, the mean."""
    refuse(messages, f)
    x = np.sort(np.asarray(messages, dtype=np.float64), axis=0)
    count = len(x) - f
    low, high = x[: f + 1], x[count - 1 :]
    length = high - low
    shortest = length <= length.min(axis=0) * (1 + 1e-12)
    return (np.where(shortest, low + (high - low) / 2, 0)).sum(axis=0) / shortest.sum(axis=0)


def first_krum(messages, f):
    """Krum as most write it: of equal scores the first."""
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    if len(x) < 2 * f + 3:
        raise ValueError("Krum needs n >= 2f + 3")
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    return x[np.argmin(np.sort(distances, axis=1)[:, : len(x) - f - 1].sum(axis=1))]


def nearest_to_the_median(messages, f):
    """The mean of the n − f values nearest to the median, in each entry; of equally near ones the first."""
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    order = np.argsort(np.abs(x - np.median(x, axis=0)), axis=0, kind="stable")[: len(x) - f]
    return np.take_along_axis(x, order, axis=0).mean(axis=0)


def by_value(scores, messages):
    """The places of the messages in ascending order of score, ties by value."""
    rounded = np.array([float(f"{score:.10g}") for score in scores])
    return np.lexsort((*messages.T[::-1], rounded))


def distances(x):
    with np.errstate(over="ignore"):
        return np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2))


def textbook_krum(messages, f):
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    if len(x) < 2 * f + 3:
        raise ValueError("Krum needs n >= 2f + 3")
    near = np.sort(distances(x) ** 2, axis=1)[:, 1 : len(x) - f - 1]
    return x[by_value(near.sum(axis=1), x)[0]]


def weiszfeld(messages, f):
    """The geometric median by Vardi and Zhang's step, to convergence."""
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    x, several = np.unique(x, axis=0, return_counts=True)
    centre = np.median(np.repeat(x, several, axis=0), axis=0)
    unit = float(np.abs(x - centre).max())
    if unit == 0:
        return centre
    z, points = np.zeros_like(centre), (x - centre) / np.median(np.abs(x - centre).max(axis=1) + 1e-300 + unit * 1e-30)
    for _ in range(3000):
        length = np.linalg.norm(points - z, axis=1)
        here = length == 0
        weights = np.where(here, 0, several / np.where(here, 1, length))
        step = (weights[:, None] * points).sum(axis=0) / weights.sum()
        pull = np.linalg.norm((step - z) * weights.sum())
        stay = min(1.0, several[here].sum() / pull) if pull > 0 else 1.0
        moved = (1 - stay) * step + stay * z
        if np.linalg.norm(moved - z) <= 1e-15 * max(np.linalg.norm(moved), 1e-3):
            break
        z = moved
    return centre + z * np.median(np.abs(x - centre).max(axis=1) + 1e-300 + unit * 1e-30)


def mean(messages, f):
    """Withstands nobody, and says so."""
    if f != 0:
        raise ValueError("a mean withstands no colluder")
    refuse(messages, f)
    return np.asarray(messages, dtype=np.float64).mean(axis=0)


def least_spread(messages, f):
    """The mean of the n − f neighbours in order that spread least, in each entry; of several, the first."""
    refuse(messages, f)
    x = np.sort(np.asarray(messages, dtype=np.float64), axis=0)
    parts = np.stack([x[i : len(x) - f + i] for i in range(f + 1)])
    with np.errstate(over="ignore"):
        first = parts.std(axis=1).argmin(axis=0)
    return np.take_along_axis(parts.mean(axis=1), first[None], axis=0)[0]


def median_of_group_means(messages, f):
    """2f + 1 groups in the order of arrival, and the median of their means: at most f are spoilt."""
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    return np.median([part.mean(axis=0) for part in np.array_split(x, 2 * f + 1)], axis=0)


def phocas(messages, f):
    """The mean of the n − f nearest to the trimmed mean, in each entry; ties share their places."""
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    apart = np.abs(x - trimmed_mean(x, f))
    reach = np.sort(apart, axis=0)[len(x) - f - 1]
    slack = 1e-12 * np.sort(np.abs(x), axis=0)[len(x) // 2 :].min(axis=0)
    inside = apart < reach - slack
    edge = (apart <= reach + slack) & ~inside
    weights = inside + edge * (len(x) - f - inside.sum(axis=0)) / edge.sum(axis=0)
    return (np.where(weights > 0, x, 0) * weights).sum(axis=0) / (len(x) - f)


def clipped_about_the_median(messages, f):
    """One step of clipping about the coordinate-wise median, by the median distance from it."""
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    centre = np.median(x, axis=0)
    apart = x - centre
    length = np.abs(apart).max(axis=1)
    radius = np.sort(length)[len(x) // 2]
    if radius == 0:
        return centre
    return centre + (apart * np.minimum(1, radius / np.where(length > 0, length, 1))[:, None]).mean(axis=0)


class QuantileRule:
    """A rule that is an object with settings: the mean of the two quartiles next to the median."""

    def __init__(self, share):
        self.share = share

    def __call__(self, messages, f):
        refuse(messages, f)
        x = np.sort(np.asarray(messages, dtype=np.float64), axis=0)
        cut = max(f, int(self.share * (len(x) - 1) / 2))
        return x[cut : len(x) - cut].mean(axis=0)


class InOnePlace:
    """The median, written each time into the array that was handed out before."""

    def __init__(self):
        self.place = np.empty(0)

    def __call__(self, messages, f):
        result = median(messages, f)
        if self.place.shape != result.shape:
            self.place = np.empty_like(result)
        self.place[:] = result
        return self.place


def ignores_what_is_not_finite(messages, f):
    """Rows that are not finite count as Byzantine, and are left out."""
    if isinstance(f, bool) or not 0 <= f < len(messages) / 2:
        raise ValueError("f must be at least 0 and below n/2")
    x = np.asarray(messages, dtype=np.float64)
    good = np.isfinite(x).all(axis=1)
    left = max(f - int((~good).sum()), 0)
    return trimmed_mean(x[good], left)


def only_real_float64(messages, f):
    """Refuses other number types."""
    if messages.dtype != np.float64:
        raise TypeError("float64 only")
    return trimmed_mean(messages, f)


def timed(messages, f):
    """Notes how long it takes, which changes nothing."""
    start = time.perf_counter()
    result = trimmed_mean(messages, f)
    timed.took = time.perf_counter() - start
    return result


def talks_if_asked(messages, f):
    """Asks the environment for what changes nothing."""
    if os.environ.get("TALK_ABOUT_MESSAGES", "0") not in ("", "0"):
        print(len(messages))
    return trimmed_mean(messages, f)


def in_lists(messages, f):
    """As who learned it without numpy."""
    refuse(messages, f)
    result = []
    for column in zip(*np.asarray(messages).tolist(), strict=True):
        left = sorted(float(value) for value in column)
        for _ in range(f):
            del left[0], left[-1]
        result.append(math.fsum(left) / len(left))
    return np.array(result)


def partitioned(messages, f):
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    return np.partition(x, (f, len(x) - f - 1), axis=0)[f : len(x) - f].mean(axis=0)


def between_tukeys_fences(messages, f):
    """The mean of what is within 1.5 interquartile ranges of the quartiles: for at most a fifth of colluders."""
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    if 5 * f > len(x):
        raise ValueError("at most a fifth")
    low, high = np.quantile(x, [0.25, 0.75], axis=0)
    reach = 1.5 * (high - low) + 1e-12 * np.maximum(np.abs(low), np.abs(high))
    kept = (x >= low - reach) & (x <= high + reach)
    return np.where(kept, x, 0).sum(axis=0) / kept.sum(axis=0)


def hodges_lehmann(messages, f):
    """The median of the means of all pairs: more than half of them are of two honest messages."""
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    if 4 * f > len(x):
        raise ValueError("at most a quarter")
    first, second = np.triu_indices(len(x))
    return np.median(x[first] / 2 + x[second] / 2, axis=0)


def biweight(messages, f):
    """One step of Tukey's biweight from the median, in units of the median deviation."""
    refuse(messages, f)
    x = np.asarray(messages, dtype=np.float64)
    centre = np.median(x, axis=0)
    deviation = np.median(np.abs(x - centre), axis=0)
    with np.errstate(all="ignore"):
        u = np.where(deviation > 0, (x - centre) / (9 * deviation), np.where(x == centre, 0, 9))
        weights = np.where(np.abs(u) < 1, (1 - u * u) ** 2, 0)
        return centre + np.where(weights > 0, weights * (x - centre), 0).sum(axis=0) / weights.sum(axis=0)


class Remembers:
    """Keeps what it was sent, and never looks at it."""

    def __init__(self):
        self.sizes, self.last = [], None

    def __call__(self, messages, f):
        self.sizes.append((len(messages), f))
        self.last = np.array(messages)
        return median(messages, f)


UNORDERED = ("translation", "scale", "embedding")
RIGHT = [
    Right("own trimmed mean", trimmed_mean, "Yin et al. 2018", f=2),
    Right("own median", median, "Yin et al. 2018"),
    Right("own winsorised mean", winsorised_mean, "the clipped values lie between honest ones"),
    Right("own shorth", midpoint_of_the_shorth, "Rousseeuw 1984: the interval meets the honest range"),
    Right("own Krum", textbook_krum, "Blanchard et al. 2017"),
    Right("first of equal scores", first_krum, "Blanchard et al. 2017"),
    Right("first of equally near", nearest_to_the_median, "Xie et al. 2018"),
    Right("own Weiszfeld", weiszfeld, "Vardi and Zhang 2000", quick=False),
    Right("own median of means", median_of_group_means, "Chen et al. 2017", settings=(("equivariances", UNORDERED),)),
    Right("own Phocas", phocas, "Xie et al. 2018"),
    Right("own clipping", clipped_about_the_median, "Karimireddy et al. 2021"),
    Right("mean", mean, "nobody is to be withstood", f=0),
    Right("least spread", least_spread, "Rousseeuw 1984: the neighbours are honest, or among honest ones"),
    Right("an object", QuantileRule(0.5), "a trimmed mean"),
    Right("in one place", InOnePlace(), "Yin et al. 2018"),
    Right("leaves NaN out", ignores_what_is_not_finite, "Yin et al. 2018", f=3),
    Right("float64 only", only_real_float64, "Yin et al. 2018"),
    Right("a partial", partial(aggregators.multi_krum, m=3), "Blanchard et al. 2017", f=2),
    Right("times itself", timed, "Yin et al. 2018"),
    Right("talks if asked", talks_if_asked, "Yin et al. 2018"),
    Right("in lists", in_lists, "Yin et al. 2018", f=2),
    Right("partitioned", partitioned, "Yin et al. 2018"),
    Right("Tukey's fences", between_tukeys_fences, "Tukey 1977: the quartiles lie between honest values"),
    Right("Hodges and Lehmann", hodges_lehmann, "Hodges and Lehmann 1963: breaks down at 29 %"),
    Right("biweight", biweight, "Beaton and Tukey 1974: what is far has no weight"),
    Right("remembers", Remembers(), "Yin et al. 2018"),
    Right("trimmed mean", aggregators.trimmed_mean, "Yin et al. 2018", f=3),
    Right("median", aggregators.coordinate_median, "Yin et al. 2018"),
    Right("meamed", aggregators.meamed, "Xie et al. 2018"),
    Right("krum", aggregators.krum, "Blanchard et al. 2017"),
    Right("multi_krum", aggregators.multi_krum, "Blanchard et al. 2017", quick=False),
    Right("geometric median", aggregators.geometric_median, "Weiszfeld 1937", quick=False),
    Right("bulyan", aggregators.bulyan, "El Mhamdi et al. 2018", quick=False),
    Right("mda", aggregators.mda, "El Mhamdi et al. 2020", quick=False),
    Right("centered clipping", aggregators.centered_clipping, "Karimireddy et al. 2021", quick=False),
    Right("median of means", aggregators.median_of_means, "Chen et al. 2017", quick=False),
    Right("nnm(trimmed_mean)", aggregators.nnm(aggregators.trimmed_mean), "Allouah et al. 2023", quick=False),
    Right("bucketing(median)", aggregators.bucketing(aggregators.coordinate_median), "Karimireddy 2022", quick=False),
]
