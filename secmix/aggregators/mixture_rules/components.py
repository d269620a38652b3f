"""A rule of our own for failures that touch single components of many machines.

Where nearly every machine has some component wrong, none lies amid the others as a whole, and each rule that keeps or
rejects whole machines fails. Component by component a majority is still right. So COAT is sought among components: the
one with counterparts nearby on most machines. These counterparts are reduced together, and the search goes on among the
components left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints, integer, probability
from secmix.aggregators.mixture_rules.aggregate import Aggregate
from secmix.aggregators.mixture_rules.centre import centre, screen
from secmix.aggregators.mixture_rules.overlap import overlaps
from secmix.aggregators.mixture_rules.reduction import reduced
from secmix.aggregators.mixture_rules.screening import Mixtures
from secmix.errors import DataError, SecmixError
from secmix.mixture import Mixture

_TIED = 1e-12
_UNLIKE = 0.5
"""A squared distance at which two components have little in common; equal Gaussians 1.7 standard deviations apart."""


def component_wise(
    mixtures: Mixtures,
    p: float = 0.1,
    *,
    components: int | None = None,
    squared: ArrayLike | None = None,
) -> Aggregate:
    """Keep and reduce the machines component by component.

    A component keeps the machines within m^p times the radius of its majority, as DFMR does, with ``p`` in [0, 0.1]. As
    many ``components`` are looked for as the median machine sent, unless given. ``squared`` (m, m), squared
    distances between the machines where they are known already, only serve ``coat`` of the result. ``shares`` of it
    says which components were kept; ``kept`` are machines with one at least. The weight of a component is the median
    over the machines it kept, scaled to a sum of 1; ``cutoff`` is infinite. Raises DataError where no majority of
    machines has so many components, or none is usable; SecmixError for p out of range.

    The distance between components is that of their densities scaled to norm 1, 1 − ⟨f, g⟩ / (‖f‖ ‖g‖), which is the
    same in any units. The rule is sound where fewer than half of the machines are wrong in any one component *and*
    components can be told apart. Where a majority agrees on no further component, a note says so.
    """
    if not 0 <= probability(p, "p") <= 0.1:
        raise SecmixError(f"p lies in [0, 0.1]; given {p!r}")
    screened = screen(mixtures, squared)
    coat = centre(screened)
    source, m = screened.machines.mixture, screened.machines.m
    sizes = (source.weights > 0).sum(axis=1)
    k = int(np.median(sizes)) if components is None else integer(components, "components")
    if 2 * (sizes >= k).sum() <= m:
        raise DataError(f"no majority of the {m} machines has {k} components; look for fewer")
    machine, component = np.nonzero(source.weights > 0)
    singles = Mixture(
        np.ones((len(machine), 1)),
        source.means[machine, component][:, None],
        source.covariances[machine, component][:, None],
    )
    apart = _apart(singles)
    free = np.ones(len(machine), dtype=bool)
    weights, means, covariances = np.empty(k), np.empty((k, source.n_features)), np.empty((k, *[source.n_features] * 2))
    objectives, shares = np.empty(k), np.zeros((m, source.n_components))
    notes = tuple(f"machine {j} {why}" for j, why in screened.machines.reasons.items())
    for c in range(k):
        first, members, radius = _majority(apart, machine, free, m, p)
        if radius > _UNLIKE:
            notes += (f"no majority of the machines agrees on component {c} of the result: do not rely on it",)
        free[members] = False
        shares[screened.machines.usable[machine[members]], component[members]] = 1.0
        weights[c] = np.median(source.weights[machine[members], component[members]])
        reduction = reduced(singles[members], singles[first])
        means[c], covariances[c], objectives[c] = (
            reduction.mixture.means[0],
            reduction.mixture.covariances[0],
            reduction.objective,
        )
    weights /= weights.sum()
    objective = float(weights @ objectives)
    used = np.flatnonzero(shares.sum(axis=1) > 0)
    return Aggregate(
        mixture=Mixture(weights, means, covariances),
        kept=used,
        rejected=np.setdiff1d(np.arange(m), used),
        objective=objective,
        history=(objective,),
        coat=coat,
        cutoff=float("inf"),
        shares=shares,
        notes=notes,
    )


def _apart(singles: Mixture) -> Array:
    """Compute 1 − ⟨f, g⟩ / (‖f‖ ‖g‖) between all components, (n, n), in [0, 1]."""
    table = overlaps(singles)
    norms = np.sqrt(np.diag(table))
    if not ((norms > 0) & (norms < 1e150)).all():
        raise DataError("the density of a component leaves the range of floats; scale the features")
    table /= norms[:, None]
    table /= norms
    table = np.subtract(1.0, table, out=table)
    np.clip(table, 0.0, 1.0, out=table)  # by Cauchy and Schwarz no more than rounding is clipped
    np.fill_diagonal(table, 0.0)
    return table


def _majority(apart: Array, machine: Ints, free: Array, m: int, p: float) -> tuple[int, Ints, float]:
    """Find the free component with the nearest majority: which, its counterparts on other machines, squared radius."""
    at = np.flatnonzero(free)
    owners, begins = np.unique(machine[at], return_index=True)
    rows = apart[np.ix_(at, at)]
    nearest = np.full((len(at), m), np.inf)
    nearest[:, owners] = np.minimum.reduceat(rows, begins, axis=1)
    ordered = np.sort(nearest, axis=1)[:, : m // 2 + 1]
    radii = ordered[:, -1]
    if not np.isfinite(radii).any():
        raise DataError("too few components are left for a majority of the machines; look for fewer components")
    tied = np.flatnonzero(radii <= radii.min() + _TIED)
    best = int(tied[np.argmin(ordered[tied].sum(axis=1))])
    radius = float(radii[best])
    close = owners[nearest[best, owners] <= m ** (2 * p) * radius + _TIED]
    counterparts = [at[machine[at] == j][np.argmin(rows[best, machine[at] == j])] for j in close]
    return int(at[best]), np.asarray(counterparts, dtype=np.intp), radius
