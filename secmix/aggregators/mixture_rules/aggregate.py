"""Results of a rule: the reduced mixture, whom it kept, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints
from secmix.aggregators.mixture_rules.centre import Coat, ScreenedMixtures, centre
from secmix.aggregators.mixture_rules.reduction import reduced
from secmix.errors import DataError
from secmix.mixture import Mixture


@dataclass(frozen=True)
class Aggregate:
    """The mixture that a rule made of m mixtures."""

    mixture: Mixture
    # kept, rejected: which machines were used, at least in part, and which were not
    kept: Ints
    rejected: Ints
    objective: float  # of the reduction, at ``mixture``, in nats
    history: tuple[float, ...]  # the objective after each round; it never increases
    coat: Coat  # the centre, with the root distances of all machines from it
    cutoff: float  # the root distance up to which machines were kept; infinite where a rule has none
    # (m, K): the share of each component that was used: 1 and 0, but for a component that was trimmed in part
    shares: Array
    # what a reader should know: machines set aside, centres moved, a threshold that keeps fewer than half
    notes: tuple[str, ...] = ()

    @property
    def margins(self) -> Array:
        """Root distance over the cutoff, (m,): above 1 is rejected, by that factor."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.coat.distances == 0, 0.0, self.coat.distances / self.cutoff)


def within(
    screened: ScreenedMixtures,
    factor: float,
    start: Mixture | None,
    shares: ArrayLike | None,
    notes: tuple[str, ...] = (),
) -> Aggregate:
    """Reduce the machines whose squared distance from COAT is at most ``factor`` times its squared radius."""
    coat = centre(screened)
    row = screened.squared[coat.index]
    limit = factor * float(np.sort(row)[screened.machines.m // 2])
    # Where half of the machines agree to the last bit but one, the limit is zero or rounding noise itself.
    kept = np.flatnonzero(row <= limit + screened.rounding)
    return reduce(screened, coat, kept, start, shares, math.sqrt(limit), notes=notes)


def reduce(
    screened: ScreenedMixtures,
    coat: Coat,
    machines: Ints,
    start: Mixture | None,
    shares: ArrayLike | None,
    cutoff: float,
    *,
    trim: float = 0.0,
    notes: tuple[str, ...] = (),
) -> Aggregate:
    """Reduce what ``machines`` sent, from ``start`` or else from COAT."""
    m = screened.machines.m
    chosen = None
    if shares is not None:
        chosen = np.asarray(shares, dtype=np.float64)
        if chosen.shape != (m,):
            raise DataError(f"shares has one number for each of the {m} machines; given shape {chosen.shape}")
        chosen = chosen[machines]
    reduction = reduced(screened.mixtures(machines), coat.mixture if start is None else start, shares=chosen, trim=trim)
    used = np.zeros((m, screened.machines.mixture.n_components))
    used[machines] = reduction.used
    really = np.flatnonzero(used.sum(axis=1) > 0)
    notes += tuple(f"machine {j} {why}" for j, why in screened.machines.reasons.items())
    if reduction.reseeded:
        notes += (f"{len(reduction.reseeded)} time(s) a component without members moved to the one that fitted worst",)
    if not reduction.converged:
        notes += (f"the reduction stopped after {len(reduction.history) - 2} rounds, short of its tolerance",)
    return Aggregate(
        mixture=reduction.mixture,
        kept=really,
        rejected=np.setdiff1d(np.arange(m), really),
        objective=reduction.objective,
        history=reduction.history,
        coat=coat,
        cutoff=cutoff,
        shares=used,
        notes=notes,
    )
