"""The rules: which machines are kept, and the reduction of their mixtures (Zhang 2024; Zhang and others, JRSS B 2026).

Each reduces the mixtures of the machines it keeps, starting from COAT, and says whom it kept and why.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import probability
from secmix.aggregators.mixture_rules.aggregate import Aggregate, reduce, within
from secmix.aggregators.mixture_rules.centre import centre, screen
from secmix.aggregators.mixture_rules.screening import Mixtures, honest_machines
from secmix.errors import DataError, SecmixError
from secmix.mixture import Mixture


def cred(
    mixtures: Mixtures,
    *,
    start: Mixture | None = None,
    squared: ArrayLike | None = None,
    shares: ArrayLike | None = None,
) -> Aggregate:
    """Reduce the ⌊m/2⌋ mixtures nearest to COAT, COAT included (Zhang 2024).

    ``start``: where the reduction starts, by default at COAT; ``squared`` (m, m): their squared distances, where they
    are known already; ``shares`` (m,): what each machine counts for in the reduction, by default the same. Raises
    DataError: no majority of usable machines; covariances too close to singular.

    >>> four = Mixture(np.ones((4, 1)), [[[0.0]], [[0.1]], [[0.3]], [[9.0]]], np.ones((4, 1, 1, 1)))
    >>> cred(four).kept, cred(four).mixture.means.round(3)
    (array([0, 1]), array([[0.05]]))
    """
    screened = screen(mixtures, squared)
    coat = centre(screened)
    count = max(screened.machines.m // 2, 1)
    order = np.argsort(coat.distances, kind="stable")
    order = np.concatenate([[coat.index], order[order != coat.index]])  # before a duplicate at distance zero
    kept = np.sort(order[:count])
    return reduce(screened, coat, kept, start, shares, float(coat.distances[kept].max()))


def ared(
    mixtures: Mixtures,
    *,
    start: Mixture | None = None,
    squared: ArrayLike | None = None,
    shares: ArrayLike | None = None,
) -> Aggregate:
    """Reduce the mixtures within the adaptive radius of COAT (Zhang 2024): D <= ½ log(m/2) log(log m) · c.

    c is the ⌊m/2⌋-th entry, counted from 0, of COAT's sorted row of squared distances.

    The theory is for many machines. Below m = 15 the factor is below 1, so that fewer than half are kept; a note says
    so. Takes and raises what :func:`cred` does, and a SecmixError for m < 3: log(log m) is not above zero then.
    """
    screened = screen(mixtures, squared)
    m = screened.machines.m
    factor = ared_factor(m)
    note = (
        ()
        if factor >= 1
        else (f"the radius of ARED keeps fewer than half of {m} machines; it is meant for 15 or more",)
    )
    return within(screened, factor, start, shares, note)


def ared_factor(m: int) -> float:
    """Compute ½ log(m/2) log(log m): ARED's squared radius in units of c.

    Raises SecmixError: m < 3.

    >>> round(ared_factor(100) ** 0.5, 2)
    1.73
    """
    if m <= 2:
        raise SecmixError(
            f"ARED needs more than two machines, since log(log m) must be above 0; given m = {m}. Use cred or dfmr"
        )
    return 0.5 * math.log(m / 2) * math.log(math.log(m))


def dfmr(
    mixtures: Mixtures,
    p: float = 0.1,
    *,
    start: Mixture | None = None,
    squared: ArrayLike | None = None,
    shares: ArrayLike | None = None,
) -> Aggregate:
    """Reduce the mixtures within m^p times COAT's radius, in root distance (the authors' later rule, JRSS B 2026).

    ``p`` in [0, 0.1], where 0 keeps ⌊m/2⌋ + 1 machines; else a SecmixError. All else is as for :func:`cred`.
    """
    if not 0 <= probability(p, "p") <= 0.1:
        raise SecmixError(f"p lies in [0, 0.1], where DFMR's theory holds; given {p!r}")
    screened = screen(mixtures, squared)
    return within(screened, float(screened.machines.m ** (2 * p)), start, shares)


def gmr(
    mixtures: Mixtures,
    *,
    start: Mixture | None = None,
    squared: ArrayLike | None = None,
    shares: ArrayLike | None = None,
) -> Aggregate:
    """Reduce all mixtures (Zhang and Chen 2022): one Byzantine machine moves it anywhere.

    Takes and raises what :func:`cred` does.
    """
    screened = screen(mixtures, squared)
    return reduce(screened, centre(screened), screened.machines.usable, start, shares, math.inf)


def trim(
    mixtures: Mixtures,
    alpha: float = 0.5,
    *,
    start: Mixture | None = None,
    squared: ArrayLike | None = None,
    shares: ArrayLike | None = None,
) -> Aggregate:
    """Reduce all components but the ``alpha`` of the total weight that fits worst (del Barrio et al. 2019).

    It trims components, not machines: ``shares`` of the result says how much of each is kept. ``alpha`` in [0, 1). All
    else is as for :func:`cred`.
    """
    screened = screen(mixtures, squared)
    alpha = probability(alpha, "alpha")
    return reduce(screened, centre(screened), screened.machines.usable, start, shares, math.inf, trim=alpha)


def oracle(
    mixtures: Mixtures,
    honest: Iterable[int],
    *,
    start: Mixture | None = None,
    squared: ArrayLike | None = None,
    shares: ArrayLike | None = None,
) -> Aggregate:
    """Reduce the honest mixtures, which only a simulation knows: what the other rules are compared with.

    Starts at COAT, or if COAT is not honest at the COAT of the honest. ``honest``: indices or (m,) booleans. All else
    is as for :func:`cred`.
    """
    screened = screen(mixtures, squared)
    used = np.flatnonzero(honest_machines(honest, screened.machines.m))
    if len(used) == 0 or not np.isin(used, screened.machines.usable).all():
        raise DataError(f"honest must name at least one machine, and only usable ones; given {used.tolist()}")
    coat = centre(screened)
    if start is None and coat.index not in used:
        inner = np.sort(screened.squared[np.ix_(used, used)], axis=1)
        start = screened.mixture(int(used[np.argmin(inner[:, len(used) // 2])]))
    return reduce(screened, coat, used, start, shares, math.inf)
