"""Sensitivity to the threshold: whom every cutoff would keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from secmix._base.checks import Array, Ints
from secmix.aggregators.mixture.centre import Coat
from secmix.aggregators.mixture.screening import honest_machines

_CLEAR = 1.5
"""A jump in distance by less than this factor is what machines show that only sampled different rows."""


@dataclass(frozen=True)
class Sensitivity:
    """Whom COAT's cutoffs would keep, from its nearest majority to all."""

    # (c,): root distances in units of COAT's radius r, ascending: at each of them one machine more is kept
    cutoffs: Array
    machines: Ints  # (c,): which
    count: Ints  # (c,): how many are kept then
    jump: float  # the largest factor from one cutoff to the next; ``inf`` before machines that sent no mixture
    before: int  # how many machines are kept before that jump
    # whether the jump is clear, a factor of 1.5 or more. If not, no threshold separates: whom a rule keeps depends on
    # where its threshold happens to lie
    separated: bool
    # missed, wronged: (c,), if it is known who is honest: how many Byzantine machines are kept and honest ones
    # are rejected
    missed: Ints | None = None
    wronged: Ints | None = None
    separable: bool | None = None  # if it is known: whether some cutoff keeps exactly the honest


def sensitivity(coat: Coat, honest: Iterable[int] | None = None) -> Sensitivity:
    """Show whom each cutoff around ``coat`` would keep, and whether some cutoff stands out.

    ``coat``: from :func:`coat`, or as an aggregate holds it; ``honest``, indices or (m,) booleans: who is honest, known
    in a simulation.

    >>> import numpy as np
    >>> from secmix import Mixture
    >>> from secmix.aggregators.mixture import coat
    >>> five = Mixture(np.ones((5, 1)), [[[0.0]], [[0.1]], [[0.12]], [[9.0]], [[-9.0]]], np.ones((5, 1, 1, 1)))
    >>> table = sensitivity(coat(five))
    >>> table.before, table.separated
    (3, True)
    """
    distances = coat.distances
    m = len(distances)
    order = np.argsort(distances, kind="stable")[m // 2 :]
    radius = coat.radius if coat.radius > 0 else 1.0  # a majority that agrees exactly: distances as they are
    cutoffs = distances[order] / radius
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(cutoffs[1:] == cutoffs[:-1], 1.0, cutoffs[1:] / cutoffs[:-1])
    at = int(np.argmax(factors)) if len(factors) else 0
    jump = float(factors[at]) if len(factors) else 1.0
    count = m // 2 + 1 + np.arange(len(order))
    table = Sensitivity(cutoffs, order, count, jump, int(count[at]), jump >= _CLEAR)
    if honest is None:
        return table
    good = honest_machines(honest, m)
    kept = distances[None, :] <= distances[order][:, None]
    missed, wronged = (kept & ~good).sum(axis=1), (~kept & good).sum(axis=1)
    separable = bool(distances[good].max(initial=0.0) < distances[~good].min(initial=np.inf))
    return replace(table, missed=missed, wronged=wronged, separable=separable)
