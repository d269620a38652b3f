"""Averages before the rule: median of means, bucketing, nearest-neighbour mixing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import integer
from secmix.aggregators.numerics.blocks import averages
from secmix.aggregators.numerics.geometry import distances
from secmix.aggregators.numerics.ordering import smallest
from secmix.aggregators.screened_messages import Vector, admitted
from secmix.aggregators.traits import WRAPPED, Traits, traits_of
from secmix.aggregators.vector_rules.geometric_median import geometric_median
from secmix.errors import SecmixError

Rule = Callable[..., Any]
Seed = int | np.random.Generator


def median_of_means(messages: ArrayLike, f: int, *, groups: int | None = None, rng: Seed | None = None) -> Vector:
    """Compute the geometric median of the means of groups of messages.

    Each Byzantine message spoils one group at most, so that 2f + 1 groups leave a majority unspoilt.

    Parameters
    ----------
    messages : (n, p)
    f : int
        Below n/2.
    groups : int, optional
        At least 2f + 1, the default, and at most n.
    rng : int or Generator, optional
        Draws the groups. By default they are neighbours in the order given, so that the order matters.

    Source: Chen, Su and Xu 2017, algorithm 2.

    Examples
    --------
    >>> median_of_means([[1.0], [3.0], [2.0], [4.0], [1e9], [0.0]], f=1)
    array([3.])
    """
    usable, f = admitted(messages, f, "median_of_means")
    n = len(usable)
    least = 2 * f + 1
    count = least if groups is None else integer(groups, "groups")
    if not least <= count <= n:
        raise SecmixError(f"groups = {count}; with n = {n} and f = {f} use {least} to {n}")
    order = np.arange(n) if rng is None else np.random.default_rng(rng).permutation(n)
    means = averages(usable, np.array_split(order, count))
    return geometric_median(means, f=f)


def bucketing(rule: Rule, size: int = 2, rng: Seed = 0) -> Rule:
    """Wrap ``rule`` to work on the means of buckets of ``size`` messages, drawn by lot (the last may be smaller).

    There are ⌈n/size⌉ buckets, of which at most f hold a Byzantine message.

    Parameters
    ----------
    rule : callable
        ``rule(messages, f=...)``, one of ours or any other.
    size : int
    rng : int or Generator
        A seed makes the same buckets each time, and whoever knows it can foresee them; a Generator new ones at each
        call.

    Source: Karimireddy, He and Jaggi 2022, Byzantine-robust learning on heterogeneous datasets via bucketing.

    Examples
    --------
    >>> from secmix.aggregators import coordinate_median
    >>> bucketing(coordinate_median, size=2)([[1.0]] * 9 + [[1e9]], f=1)
    array([1.])
    """
    size = integer(size, "size")
    inner = traits_of(rule)
    source = "Karimireddy, He, Jaggi 2022, bucketing"

    def count(n: int) -> int:
        return -(-n // size)

    traits = inner and replace(
        inner,
        name=f"bucketing({inner.name}, size={size})",
        source=f"{source}; {inner.source}",
        least=lambda f: size * (inner.least(f) - 1) + 1,
        breakdown=lambda n, f: min(inner.breakdown(count(n), f) * count(n) / n, 1.0),
        tolerates=lambda n, f: inner.tolerates(count(n), f),
        equivariances=inner.equivariances - {"permutation"},
        stochastic=inner.stochastic or isinstance(rng, np.random.Generator),
    )

    def bucketed(messages: ArrayLike, f: int, **options: Any) -> Vector:
        usable, left = admitted(messages, f, traits)
        order = np.random.default_rng(rng).permutation(len(usable))
        buckets = [order[i : i + size] for i in range(0, len(usable), size)]
        return np.asarray(rule(averages(usable, buckets), f=left, **options))

    return _named(bucketed, "bucketing", rule, traits)


def nnm(rule: Rule) -> Rule:
    """Wrap ``rule`` to work on messages each replaced by the mean of its n − f nearest, itself among them.

    Parameters
    ----------
    rule : callable
        ``rule(messages, f=...)``, one of ours or any other.

    Source: Allouah et al. 2023, Fixing by mixing, algorithm 2 (nearest-neighbour mixing).

    Examples
    --------
    >>> from secmix.aggregators import krum
    >>> nnm(krum)([[0.0], [1.0], [2.0], [3.0], [1e9]], f=1)
    array([1.5])
    """
    inner = traits_of(rule)
    traits = inner and replace(
        inner,
        name=f"nnm({inner.name})",
        source=f"Allouah et al. 2023, Fixing by mixing; {inner.source}",
        least=lambda f: max(inner.least(f), 2 * f + 1),
        tolerates=lambda n, f: min(inner.tolerates(n, f), f),
        # Neighbours often have the same mean, so that a rule which selects meets ties, and breaks them by value.
        equivariances=inner.equivariances - (frozenset() if inner.differentiable else {"orthogonal"}),
        differentiable=False,
    )

    def averaged(messages: ArrayLike, f: int, **options: Any) -> Vector:
        kept, left = admitted(messages, f, traits)
        nearest = [smallest(row, len(kept) - left, kept) for row in distances(kept)]
        return np.asarray(rule(averages(kept, nearest), f=left, **options))

    return _named(averaged, "nnm", rule, traits)


def _named(function: Rule, wrapper: str, rule: Rule, traits: Traits | None) -> Rule:
    name = f"{wrapper}({getattr(rule, '__name__', type(rule).__name__)})"
    function.__name__ = function.__qualname__ = name
    function.traits = traits  # type: ignore[attr-defined]
    WRAPPED[function] = rule
    return function
