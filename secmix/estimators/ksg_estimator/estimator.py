"""Mutual information from nearest neighbours (Kraskov, Stögbauer and Grassberger), with its standing.

The number alone says little: it is finite where the truth is infinite, and low in many dimensions. `ksg`
therefore returns an `Estimate` whose status says whether the number may be relied on.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from secmix.errors import DataError
from secmix.estimators.estimate import Estimate, Kind, Status
from secmix.estimators.ksg_estimator.entropies import npeet_reading, reader
from secmix.estimators.ksg_estimator.fading import steps
from secmix.estimators.ksg_estimator.invariance import SMOOTH, cross_checked
from secmix.estimators.ksg_estimator.levels import levels
from secmix.estimators.ksg_estimator.premises import determined, unmet_premises
from secmix.estimators.samples import (
    Samples,
    logarithm_base,
    standardised_samples,
    untied,
    validated,
)


def ksg(
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike | None = None,
    *,
    k: int = 3,
    base: float | None = None,
    npeet_compatible: bool = False,
    interval: bool = True,
    checks: bool = True,
    bound: Estimate | bool = True,
    rng: int | np.random.Generator = 0,
) -> Estimate:
    """Estimate mutual information I(X; Y), or I(X; Y | Z), of continuous variables from N samples.

    I = ψ(k) + ψ(N) − ⟨ψ(n_x + 1) + ψ(n_y + 1)⟩, where ε_i is the maximum-norm distance from sample i to its
    k-th neighbour in the joint space and n_x, n_y count the other samples strictly closer than ε_i in each
    marginal space. With Z, I = ψ(k) + ⟨ψ(n_z + 1) − ψ(n_xz + 1) − ψ(n_yz + 1)⟩. Columns are standardised
    first. No noise is added to columns of distinct values; where values repeat (the rows of a finite data set
    drawn again and again), noise of 1e-10 breaks the ties, which leaves the information as it is.

    What it cannot see: information that cancels. For x against (x + mask, mask) with a wide mask the number
    falls to nothing although x is determined. A linear relation is caught by the regression check, a
    non-linear one is not; structure has to be asked first. An x of M distinct rows cannot show more than
    ln M; near that the result is left unresolved.

    Neither does it see a few rows that leak wholly, and under heavy tails it reads low without wavering. A number is
    therefore resolved only where it agrees on several scales of the same data and with `information_lower_bound`,
    which also gives its lower end; the upper end is a tenth above the largest reading, and its noise. The bound costs
    seconds, and is computed only where all else would have let the number stand. Between two columns, rows that lie on
    a line which others avoid are looked for too; copies through an unknown curve in a row or two of a hundred beside a
    relation that is strong anyway are seen by nothing here.

    A number that grows with N is left unresolved, save where two columns of 1,500 rows or more show that growth ends:
    where a density jumps, fewer neighbours add less and less.

    Parameters
    ----------
    x, y, z : (N, d) or (N,) arrays
        The target, the view and, if given, what is known already. Numbers of any real type, in any units.
    k : int, default 3
        Neighbours; more lowers the variance and raises the bias.
    base : float, optional
        Base of the logarithm, above 1: e (nats) by default, 2 (bits) by default when ``npeet_compatible``.
    npeet_compatible : bool
        Reproduce npeet's number: no standardising, uniform noise of 1e-10 on x then y, radius ε − 1e-15 with
        its boundary. Its faults included: it depends on the units once distances pass about 16. No interval
        and no checks.
    interval : bool
        Give a 95 % interval, by subsampling without replacement (m = N/4): the noise of the sample, what the
        number moved from N/4 to N and, with ``checks``, above it a tenth of the largest reading on several scales.
    checks : bool
        Test for determinism, saturation and too many dimensions, on other scales and against a lower bound. Without
        them nothing is known of how far the number can be relied on, and it is returned *unresolved*.
    bound : Estimate or bool, default True
        What `information_lower_bound` said of the same x and y, where it is known already. True computes it where it
        can change the status; False does not, and leaves the number *unresolved* for want of it.
    rng : int or Generator, default 0
        Randomness of the subsamples, the planted data and the breaking of ties, the only part of it that touches
        the number (or of npeet's noise: an integer gives what npeet draws after ``numpy.random.seed`` of it).

    Returns
    -------
    Estimate
        In nats, bits or "base-b units". *determined* (value ``inf``, ``low`` from the number) where a
        combination of x is a linear function of y; *unresolved* (a lower bound, ``high = inf``) where the
        number follows N or nears the most that x can show, what is planted in data of the same shape is not
        found, other scales of the data or a lower bound contradict it, the rows are too few to tell, or z is given
        (no bound is known for conditional information); else *resolved*. Not clipped at 0.

    Raises
    ------
    DataError
        Not numbers, not finite, of different lengths, empty, a constant column, N ≤ k, k not a positive
        integer, base not above 1, or a bound that is no lower bound in nats.

    References
    ----------
    Kraskov, Stögbauer and Grassberger, *Estimating mutual information*, Phys. Rev. E 69, 066138 (2004),
    algorithm 1, equation (8). Conditional: Frenzel and Pompe, Phys. Rev. Lett. 99, 204101 (2007), equation
    (5). Interval: Holmes and Nemenman, Phys. Rev. E 100, 022404 (2019).

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> x, noise = draw.standard_normal((2, 1000))
    >>> ksg(x, x + noise)  # the truth is ½ ln 2 = 0.347
    Estimate(0.3573 [..., ...] nats, estimate, resolved; KSG, k = 3, N = 1000, 1 + 1 dimensions)
    >>> ksg(x, 2 * x).status
    'determined'
    """
    samples, k = validated(x, y, z, k)
    if isinstance(bound, Estimate) and (bound.unit, bound.kind) != ("nats", "lower bound"):
        raise DataError(f"bound is {bound.kind} in {bound.unit}; give what information_lower_bound returned, or a bool")
    base = logarithm_base(base, 2.0 if npeet_compatible else math.e)
    method = _method(samples, k, npeet_compatible)
    unit = {math.e: "nats", 2.0: "bits"}.get(base, f"base-{base:g} units")
    if npeet_compatible:
        number = npeet_reading(samples, k, rng) / math.log(base)
        note = "reproduces npeet, which depends on the units of the data; nothing was checked"
        return Estimate(number, -math.inf, math.inf, unit, method, "estimate", "unresolved", (note,))

    raw_samples, samples = samples, standardised_samples(samples)
    for_ties, for_levels, for_checks, for_scales, for_bound = np.random.default_rng(rng).spawn(5)
    apart = untied(samples, for_ties)
    read = reader(k)
    nats = read(*apart)
    notes = [] if interval else ["no interval was asked for"]
    low, high = -math.inf, math.inf
    value = nats
    kind: Kind = "estimate"
    status: Status = "resolved"
    if interval or checks:
        parts = levels(read, apart, nats, 4 * (k + 1), for_levels)
    if interval:
        low, high = parts.interval
        if math.isinf(parts.error):
            notes.append(f"{len(apart[0])} rows are too few for an interval; {16 * (k + 1)} are needed")
    if not checks:
        notes.append("not checked for determinism, saturation or dimension")
        status = "unresolved"
    elif findings := determined(samples, nats, for_checks):
        value, high, status = math.inf, math.inf, "determined"
        notes += findings
    else:
        # Growth is excused for a pair of columns only: there copies are looked for whatever the other rows do.
        by_neighbours = steps(reader, apart, nats, k) if _a_pair(samples) else None
        unmet = unmet_premises(read, samples, nats, parts, by_neighbours, for_checks)
        if not unmet:
            readers = read, reader(min(max(SMOOTH, k), len(apart[0]) - 1))
            checked = cross_checked(raw_samples, samples, nats, parts.error, bound, readers, (for_scales, for_bound))
            unmet = checked.unmet
            if interval:
                low, high = (low if checked.low is None else min(checked.low, nats)), max(high, checked.high)
        if unmet:
            high, kind, status = math.inf, "lower bound", "unresolved"
        elif interval and by_neighbours:
            high = max(high, nats + by_neighbours.to_go + parts.noise)
        notes += [f"at least this much: {premise}" for premise in unmet]
    scale = math.log(base)
    return Estimate(value / scale, low / scale, high / scale, unit, method, kind, status, tuple(notes))


def ksg_number(x: ArrayLike, y: ArrayLike, *, k: int = 3) -> float:
    """Return the value of ``ksg(x, y, k=k)`` alone, at a fraction of its price: no interval, no premises.

    Infinite where a combination of x is a linear function of y. ``x``, ``y`` (N, d) or (N,) arrays; ``k``: neighbours,
    as in `ksg`. Raises DataError as `ksg`.

    >>> x, noise = np.random.default_rng(0).standard_normal((2, 1000))
    >>> ksg_number(x, x + noise) == ksg(x, x + noise).value, ksg_number(x, 2 * x)
    (True, inf)
    """
    samples, k = validated(x, y, None, k)
    samples = standardised_samples(samples)
    for_ties, _, for_checks, _, _ = np.random.default_rng(0).spawn(5)
    nats = reader(k)(*untied(samples, for_ties))
    return math.inf if determined(samples, nats, for_checks) else nats


def _a_pair(samples: Samples) -> bool:
    """Say whether x and y are a column each, and nothing is known already."""
    return [part.shape[1] for part in samples] == [1, 1, 0]


def _method(samples: Samples, k: int, npeet_compatible: bool) -> str:
    x, y, z = samples
    given = f" given {z.shape[1]}" if z.shape[1] else ""
    name = "KSG as npeet" if npeet_compatible else "KSG"
    return f"{name}, k = {k}, N = {len(x)}, {x.shape[1]} + {y.shape[1]}{given} dimensions"
