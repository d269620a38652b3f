"""Colluders who know the rule and all honest mixtures, and stay just under its threshold.

Random failures are far from the honest mixtures and are rejected. Colluders who all send the same mixture, just near
enough to be kept, are not; and with enough of them their mixture itself becomes the centre from which distances count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from secmix._base.checks import Array, integer
from secmix.adversaries.against_rules.cma_es import evolve
from secmix.adversaries.against_rules.mixture_directions import Direction, directions, shifted
from secmix.adversaries.against_rules.oracle import Spent
from secmix.adversaries.against_rules.ties import above, ranked
from secmix.aggregators.mixture_rules import Aggregate, gmr, ise, ise_matrix, wasserstein
from secmix.errors import SecmixError
from secmix.mixture import Mixture

Rule = Callable[..., Aggregate]
"""``rule(mixtures (m), squared=(m, m)) -> Aggregate``."""

LEAST_BUDGET = 100
_COARSE = (0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 1.7, 3.0, 6.0, 1e2, 1e4, 1e6)
_FAR = (1e4, 1e6)


@dataclass(frozen=True)
class Collusion:
    """The worst that was found.

    Attributes
    ----------
    mixture : Mixture
        What all f colluders send.
    error : float
        W1 from what the rule then returns to the reference: the truth if it was given, else the oracle's mixture.
    oracle : float
        W1 from the oracle's mixture, the reduction of the honest machines, to the reference.
    kept : int
        How many of the colluders the rule kept.
    centre : bool
        Whether COAT is a colluder.
    margin : float
        Their root distance from COAT over the rule's cutoff: at most 1 means undetected. NaN for rules without one.
    unbounded : bool
        The error grows in proportion to the distance from 10⁴ to 10⁶ standard deviations: it has no bound.
    found_by : str
    history : tuple of (evaluations, error)
        Each improvement.
    evaluations : int
    """

    mixture: Mixture
    error: float
    oracle: float
    kept: int
    centre: bool
    margin: float
    unbounded: bool
    found_by: str
    history: tuple[tuple[int, float], ...]
    evaluations: int


def collude(
    rule: Rule,
    honest: Mixture,
    f: int,
    rng: np.random.Generator,
    *,
    truth: Mixture | None = None,
    budget: int = 1500,
    undetected: bool = False,
    reach: float = math.inf,
) -> Collusion:
    """Search for the mixture that moves the rule most when f colluders send it.

    Parameters
    ----------
    rule : callable
        One of :mod:`secmix.aggregators.mixture_rules`; ``functools.partial(dfmr, p=0.05)`` sets its parameters.
    honest : Mixture with one leading axis h
    f : int
        Colluders; they come after the honest in what the rule is given.
    truth : Mixture, optional
        The population's mixture, known in a simulation: the error is then the distance to it.
    budget : int
        How often the rule may be tried, at least 100.
    undetected : bool
        Only count what the rule keeps.
    reach : float
        How far each component may be from the oracle's: its mean so many standard deviations (Mahalanobis), its weight
        and its variance in any direction by factors up to e^reach. Anyone who knows the data roughly would notice
        components further off. Below 10⁶ nothing is called unbounded.

    Raises
    ------
    SecmixError
        f, the budget or the reach out of range.

    Notes
    -----
    Around the oracle's mixture: shifts of all means together and of each by itself, in the principal directions of
    its covariance; covariances grown and shrunk; weights moved; further along the oracle's own error; towards the
    honest machines furthest out. Each is taken as far as it pays, by a line search, and taken to 10⁶ standard
    deviations, where an error that keeps growing is called unbounded. The best is then varied in all means, weights
    and scales at once by CMA-ES. The result is a lower bound of the worst case.
    """
    integer(f, "f", least=1)
    integer(budget, "budget", least=LEAST_BUDGET)
    if not reach > 0:
        raise SecmixError(f"reach is above 0, in standard deviations; given {reach!r}")
    if f >= len(honest.weights):
        raise SecmixError(f"f colluders are fewer than the honest machines; given {f} beside {len(honest.weights)}")
    search = _Search(rule, honest, f, budget, truth, undetected, reach)
    try:
        tops: list[tuple[float, float, Direction]] = []
        for shape in directions(search.oracle, honest, truth, rng):
            tops.append((*_coarse(search, shape), shape))
            if search.unbounded or search.used > 0.6 * budget:
                break
        if not search.unbounded:
            for _, scale, shape in (tops[k] for k in ranked([top[0] for top in tops])[:4]):
                _finer(search, shape, scale)
            _push(search)
            _vary(search, rng)
    except Spent:
        pass
    return search.result()


@dataclass
class _Search:
    """Tries mixtures, counts, and keeps the best."""

    rule: Rule
    honest: Mixture
    f: int
    budget: int
    truth: Mixture | None
    undetected: bool
    reach: float
    used: int = 0
    unbounded: bool = False
    best: tuple[float, Mixture, str, Aggregate] | None = None
    history: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.squared = ise_matrix(self.honest)
        self.oracle = gmr(self.honest, squared=self.squared).mixture
        self.lower = np.linalg.cholesky(self.oracle.covariances)
        self.reference = self.oracle if self.truth is None else self.truth
        self.oracle_error = wasserstein(self.oracle, self.reference)
        h = len(self.honest.weights)
        self.every = np.zeros((h + self.f, h + self.f))
        self.every[:h, :h] = self.squared

    def __call__(self, sent: Mixture, found_by: str) -> float:
        """Return the error that ``sent`` causes; below zero, and the lower the further out, where it is not counted."""
        if self.used >= self.budget:
            raise Spent
        self.used += 1
        if (beyond := self._beyond(sent)) > 0:
            return -1.0 - beyond
        h, f = len(self.honest.weights), self.f
        try:
            row = ise(sent.expand(1), self.honest)[0]
            self.every[:h, h:], self.every[h:, :h] = row[:, None], row
            both = Mixture(*(np.concatenate([getattr(self.honest, n), getattr(sent.expand(f), n)]) for n in _FIELDS))
            aggregate = self.rule(both, squared=self.every)
            error = wasserstein(aggregate.mixture, self.reference)
        except (ValueError, ArithmeticError):  # what the rule or the server refuses does no damage
            return -1e9
        if self.undetected and not (aggregate.kept >= h).any():
            return -float(np.nan_to_num(aggregate.margins[h], nan=1.0, posinf=1e9))
        if self.best is None or above(error, self.best[0]):
            self.best = error, sent, found_by, aggregate
            self.history.append((self.used, error))
        return error

    def _beyond(self, sent: Mixture) -> float:
        """Measure by how much the component furthest out lies beyond the reach; all keep the oracle's order."""
        if math.isinf(self.reach):
            return 0.0
        off = np.linalg.solve(self.lower, (sent.means - self.oracle.means)[..., None])[..., 0]
        half = np.linalg.solve(self.lower, sent.covariances)
        growth = np.linalg.eigvalsh(np.linalg.solve(self.lower, half.swapaxes(-1, -2)))
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = [np.abs(np.log(sent.weights / self.oracle.weights)).max(), np.abs(np.log(growth)).max()]
        return float(max(np.linalg.norm(off, axis=-1).max(), *np.nan_to_num(rates, nan=np.inf))) - self.reach

    def result(self) -> Collusion:
        h = len(self.honest.weights)
        if self.best is None:
            raise SecmixError("the rule kept nothing that the colluders tried; raise the budget")
        error, sent, found_by, aggregate = self.best
        return Collusion(
            mixture=sent,
            error=error,
            oracle=self.oracle_error,
            kept=int((aggregate.kept >= h).sum()),
            centre=aggregate.coat.index >= h,
            margin=float(aggregate.margins[h]) if np.isfinite(aggregate.cutoff) else float("nan"),
            unbounded=self.unbounded,
            found_by=found_by,
            history=tuple(self.history),
            evaluations=self.used,
        )


def _coarse(search: _Search, shape: Direction) -> tuple[float, float]:
    """Try coarse scales along a shape: the best error, and its scale; note whether it grows without bound."""
    scales = [t for t in _COARSE if t <= min(search.reach, math.inf if shape.endless else 6)] or [search.reach]
    errors = {t: search(shape.at(t), shape.name) for t in scales}
    if shape.endless and search.reach >= _FAR[1]:
        near, far = (errors[t] for t in _FAR)
        # A hundred times the distance, a hundred times the error: within a tenth.
        if near > 0 and 90 < far / near < 110 and far > 100 * search.oracle_error:
            search.unbounded = True
    best = scales[ranked([errors[t] for t in scales])[0]]
    return errors[best], best


def _finer(search: _Search, shape: Direction, scale: float) -> None:
    """Try steps about the best scale, smaller and smaller, up to where the rule no longer keeps the mixture."""
    error = search(shape.at(scale), shape.name)
    step = 0.4
    for _ in range(7):
        for t in (scale * (1 + step), scale / (1 + step)):
            tried = search(shape.at(t), shape.name)
            if above(tried, error):
                error, scale = tried, t
        step /= 2


def _vary(search: _Search, rng: np.random.Generator) -> None:
    """Vary all means, weights and scales of the best by CMA-ES, until the budget is spent."""
    base = search.oracle
    k, d = base.n_components, base.n_features
    step = 0.05
    while search.best is not None:
        start = search.best[1]
        if start.n_components != k:
            return

        def moved(z: Array, start: Mixture = start) -> Mixture:
            shift, rates, tilt = z[: k * d].reshape(k, d), z[k * d : k * d + k], z[k * d + k :]
            weights = start.weights * np.exp(tilt)
            return Mixture(
                weights / weights.sum(),
                start.means + np.einsum("kij,kj->ki", search.lower, shift),
                start.covariances * np.exp(rates)[:, None, None],
            )

        trials = max((search.budget - search.used) // 3, 40)
        evolve(lambda z: search(moved(z), "CMA-ES"), np.zeros(k * d + 2 * k), step, trials, rng)
        _push(search)
        if search.unbounded:
            return
        step /= 2


def _push(search: _Search) -> None:
    """Take the component that the best moves furthest further still: far away already, it costs no more distance."""
    if search.best is None:
        return
    best, base = search.best[1], search.oracle
    shift = best.means - base.means
    sizes = np.linalg.norm(shift, axis=1)
    c = int(np.argmax(sizes))
    if sizes[c] > 0:
        step = np.zeros_like(shift)
        step[c] = shift[c] / sizes[c] * np.sqrt(np.linalg.eigvalsh(base.covariances[c])[-1])
        _coarse(search, Direction(f"the mean of component {c}, further", shifted(best, step)))


@dataclass(frozen=True)
class CollusionPoint:
    """One point of the curve: f of m machines collude."""

    f: int
    m: int
    worst: Collusion

    @property
    def ratio(self) -> float:
        """Error over that of the oracle; infinite if unbounded or the oracle's is 0."""
        return float("inf") if self.worst.unbounded or not self.worst.oracle else self.worst.error / self.worst.oracle


def collusion_curve(
    rule: Rule,
    local: Mixture,
    counts: Sequence[int],
    rng: np.random.Generator,
    *,
    truth: Mixture | None = None,
    budget: int = 1500,
    undetected: bool = False,
    reach: float = math.inf,
) -> tuple[CollusionPoint, ...]:
    """Search for the worst mixture at each number of colluders among m machines.

    Parameters
    ----------
    local : Mixture with one leading axis m
        Honest fits of all machines; the last f of them give way to colluders.
    counts : sequence of int
        Each at least 1 and below m/2.
    rule, truth, budget, undetected, reach
        As for :func:`collude`.
    """
    m = len(local.weights)
    for f in counts:
        if not 1 <= integer(f, "f") < m / 2:
            raise SecmixError(f"each count of colluders is at least 1 and below m/2 = {m / 2}; given {f}")
    generators = rng.spawn(len(counts))
    return tuple(
        CollusionPoint(
            f,
            m,
            collude(rule, local[: m - f], f, draw, truth=truth, budget=budget, undetected=undetected, reach=reach),
        )
        for f, draw in zip(counts, generators, strict=True)
    )


_FIELDS = ("weights", "means", "covariances")
