"""Curves of how far colluders move a rule's result by their fraction, and the fraction at which nothing bounds it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer, positive
from secmix.adversaries.against_rules.oracle import Rule, configured
from secmix.adversaries.against_rules.worst_of_a_rule import RuleRefuses, Search, WorstCase, is_unbounded
from secmix.adversaries.attacks.sums import centre, honest_messages
from secmix.aggregators import rule_named
from secmix.errors import SecmixError
from secmix.estimators.estimate import Estimate
from secmix.estimators.robustness import proven

Sampler = Callable[[np.random.Generator], ArrayLike]
"""A new cloud of honest messages (h, p) at each call."""


@dataclass(frozen=True)
class BiasPoint:
    """The error that f colluders cause beside h honest nodes.

    Attributes
    ----------
    f, n : int
        n = h + f.
    error : Estimate or None
        The largest error found over the clouds, in units of ε, the largest distance of an honest message from their
        mean. A search bounds the worst case from below: ``low`` is the least that was found on any of the clouds,
        ``high`` the proven bound, or ``inf`` without one. None where the rule refuses f.
    kappa : Estimate or None
        The same as error²/V, V the mean squared distance of the honest messages from their mean.
    ratio : float or None
        The largest found/proven over the clouds; None without a bound.
    unbounded : bool
    worst : Search or None
        The search that found the largest error.
    honest : (h, p) or None
        The cloud on which it did.
    """

    f: int
    n: int
    error: Estimate | None
    kappa: Estimate | None
    ratio: float | None
    unbounded: bool
    worst: Search | None
    honest: Array | None

    @property
    def fraction(self) -> float:
        """f/n."""
        return self.f / self.n


@dataclass(frozen=True)
class _Measured:
    """One search on one cloud, with its yardsticks."""

    search: Search
    honest: Array
    kappa: float
    ratio: float | None
    allowed: float  # in units of ε
    allowed_kappa: float


def bias_curve(
    rule: Rule | str,
    honest: ArrayLike | Sampler,
    *,
    rng: int | np.random.Generator,
    fs: Sequence[int] | None = None,
    fractions: Sequence[float] | None = None,
    repeats: int | None = None,
    budget: int = 2000,
    save_to: str | Path = ".",
) -> tuple[BiasPoint, ...]:
    """Search for the largest error at each number of colluders.

    Parameters
    ----------
    rule : callable or str
        ``rule(messages (n, p), f=...) -> (p,)``, or its name.
    honest : (h, p), or a function of a Generator that returns one
        The h honest messages stay; f colluders come on top.
    rng : int or numpy.random.Generator
    fs, fractions : sequence, optional
        How many colluders, or which fraction τ of all: then f = ⌊τ h/(1 − τ)⌋, and the point says which f/n that is.
        By default every f from 1 to h − 1 that the rule accepts.
    repeats : int, optional
        How many clouds (with fixed messages: how many searches); 1 for fixed messages, else 5.
    budget : int
        Evaluations a search.
    save_to : path
        Where a counterexample to a proven bound is kept.

    Raises
    ------
    BoundViolated
        More was found than a theorem allows.

    Examples
    --------
    >>> from secmix.aggregators import trimmed_mean
    >>> cloud = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> [point] = bias_curve(trimmed_mean, cloud, fs=[1], rng=np.random.default_rng(0), budget=300)
    >>> round(point.error.value, 3), round(point.kappa.value, 3), round(point.ratio, 3)
    (0.25, 0.125, 0.707)
    """
    if fs is not None and fractions is not None:
        raise SecmixError("give fs or fractions, not both")
    if callable(honest):
        sampler, count = honest, integer(5 if repeats is None else repeats, "repeats")
    else:
        fixed = honest_messages(honest, 1)[0]
        sampler, count = (lambda _: fixed), integer(1 if repeats is None else repeats, "repeats")
    clouds = [(honest_messages(sampler(own), 1)[0], own) for own in np.random.default_rng(rng).spawn(count)]
    h = len(clouds[0][0])
    if any(len(cloud) != h for cloud, _ in clouds):
        raise SecmixError("the sampler must return the same number of honest messages each time")
    if fractions is not None:
        if any(not 0 <= tau < 1 for tau in fractions):
            raise SecmixError(f"fractions lie in [0, 1); given {list(fractions)}")
        wanted = [math.floor(tau * h / (1 - tau) + 1e-9) for tau in fractions]
    else:
        wanted = list(range(1, h)) if fs is None else [integer(f, "f", least=0) for f in fs]
    named = rule_named(rule)
    points = [_point(named, clouds, f, budget, save_to) for f in wanted]
    if fs is None and fractions is None:
        points = [point for point in points if point.error is not None]
    return tuple(points)


def _point(
    rule: Rule, clouds: list[tuple[Array, np.random.Generator]], f: int, budget: int, save_to: str | Path
) -> BiasPoint:
    n = len(clouds[0][0]) + f
    try:
        results = [_measured(rule, cloud, f, budget, rng, save_to) for cloud, rng in clouds]
    except RuleRefuses:
        return BiasPoint(f, n, None, None, None, False, None, None)
    worst = max(results, key=lambda result: _in_spreads(result.search))
    errors = [_in_spreads(result.search) for result in results]
    kappas = [result.kappa for result in results]
    ratios = [result.ratio for result in results if result.ratio is not None]
    notes: tuple[str, ...] = (
        f"least and largest of {len(results)} searches; a search bounds the worst case from below",
    )
    if worst.search.unbounded:
        notes += ("grows in proportion to the messages over four decades",)

    def estimate(values: list[float], high: float, unit: str) -> Estimate:
        return Estimate(max(values), min(values), high, unit, "worst-case search", "lower bound", notes=notes)

    return BiasPoint(
        f,
        n,
        estimate(errors, max(max(errors), max(result.allowed for result in results)), "ε"),
        estimate(kappas, max(max(kappas), max(result.allowed_kappa for result in results)), "κ"),
        max(ratios) if ratios else None,
        any(result.search.unbounded for result in results),
        worst.search,
        worst.honest,
    )


def _measured(
    rule: Rule, honest: Array, f: int, budget: int, rng: np.random.Generator, save_to: str | Path
) -> _Measured:
    search = WorstCase(rule, f, budget).search(honest, rng) if f else _undisturbed(rule, honest)
    deviations = (honest - centre(honest)) / (search.spread or 1.0)
    variance = float((deviations**2).sum(axis=1).mean())
    error = _in_spreads(search)
    endless = error > 1e150 or (error > 0 and variance == 0)  # its square is beyond a float, or nothing to compare
    kappa = math.inf if endless else error**2 / (variance or 1.0)
    rule_f = configured(rule)[1]
    if 2 * f >= len(honest) + f or rule_f not in (None, f):
        return _Measured(search, honest, kappa, None, math.inf, math.inf)  # no theorem speaks of this
    ratio = proven.hold(rule, honest, search.messages, search.error, save_to)
    tightest = proven.best(rule, honest, f)
    allowed = math.inf if tightest is None else tightest[1] / (search.spread or 1.0)
    return _Measured(search, honest, kappa, ratio, allowed, allowed**2 / variance if variance else math.inf)


def _undisturbed(rule: Rule, honest: Array) -> Search:
    """Run the rule with nobody Byzantine."""
    bare, rule_f = configured(rule)
    result = np.asarray(bare(honest, f=rule_f or 0), dtype=np.float64)
    spread = float(np.linalg.norm(honest - centre(honest), axis=1).max())
    error = float(np.linalg.norm(result - centre(honest)))
    return Search(np.empty((0, honest.shape[1])), error, spread, False, "nobody", {}, ((1, error),), 1, 0)


def _in_spreads(search: Search) -> float:
    if search.spread == 0.0:
        return math.inf if search.error > 0 else 0.0
    return search.error / search.spread


def breakdown_point(
    rule: Rule | str,
    *,
    n: int,
    p: int,
    rng: int | np.random.Generator,
    f: int | None = None,
    limit: float | None = None,
    repeats: int = 3,
    budget: int = 2000,
) -> Estimate:
    """Find the largest fraction of Byzantine nodes that the rule withstands.

    m of n messages *break* the rule when the error they cause grows in proportion to their scale over four decades
    (or is not finite, or exceeds ``limit``), or when the rule refuses to be set to them; the least such m is found
    by bisection. With t = m − 1 the most that are withstood, the value is t/n; but a rule that withstands every strict
    minority, t = ⌈n/2⌉ − 1, has the value 1/2, the largest for any translation-equivariant rule (Lopuhaä and Rousseeuw
    1991, theorem 2.1). So the mean has 0, the trimmed mean set to f has f/n, the medians 1/2, and Krum, which needs
    n >= 2f + 3 and is set to the number that attack, (n − 3)/(2n) at odd n.

    Parameters
    ----------
    rule : callable or str
        ``rule(messages (n, p), f=...) -> (p,)``, or its name.
    n, p : int
    rng : int or numpy.random.Generator
    f : int, optional
        What the rule is set to, however many attack; ``functools.partial(rule, f=2)`` says the same. By default it is
        always set to the number of Byzantine messages.
    limit : float, optional
        A policy: an error above ``limit`` · ε counts as broken too. The whole search then looks for it.
    repeats : int
        Clouds of honest messages, from a standard normal distribution.
    budget : int
        Evaluations for each number of colluders, where ``limit`` is given.

    Returns
    -------
    Estimate
        ``low`` is the least t/n over the clouds, ``high`` the largest (t + 1)/n. A number of colluders with whom the
        search found no breaking attack counts as withstood: with a sly enough attack the truth may be lower.

    Examples
    --------
    >>> from secmix.aggregators import coordinate_median, mean
    >>> breakdown_point(mean, n=10, p=2, rng=np.random.default_rng(0)).value
    0.0
    >>> breakdown_point(coordinate_median, n=10, p=2, rng=np.random.default_rng(0)).value
    0.5
    """
    n, p = integer(n, "n", least=2), integer(p, "p")
    if limit is not None:
        positive(limit, "limit")
    bare, fixed = configured(rule)
    rule_f = fixed if f is None else integer(f, "f", least=0)
    most = (n + 1) // 2 - 1
    withstood, refusals = [], []
    for own in np.random.default_rng(rng).spawn(integer(repeats, "repeats")):
        cloud = own.standard_normal((n, p))
        low, high, refused = 0, most + 1, False
        while high - low > 1:
            m = (low + high) // 2
            try:
                broken, why = _broken(bare, cloud[m:], m, rule_f, limit, budget, own), False
            except RuleRefuses:
                broken, why = True, True
            if broken:
                high, refused = m, why
            else:
                low = m
        withstood.append(low)
        refusals.append(refused)
    t = min(withstood)
    value = 0.5 if t == most else t / n
    notes = [f"n = {n}, p = {p}, {len(withstood)} clouds; not broken by {t} of {n}"]
    if any(refusals):
        notes.append(f"the rule refuses to be set to more than {t} of {n}")
    if t == most:
        notes.append("every strict minority is withstood; half or more defeats any translation-equivariant rule")
    method = "bisection over worst-case searches" + ("" if rule_f is None else f", rule set to f = {rule_f}")
    return Estimate(value, t / n, (max(withstood) + 1) / n, "fraction of nodes", method, "estimate", notes=tuple(notes))


def _broken(
    rule: Rule | str,
    honest: Array,
    m: int,
    rule_f: int | None,
    limit: float | None,
    budget: int,
    rng: np.random.Generator,
) -> bool:
    """Check whether m colluders move the rule without bound, or beyond the policy's limit."""
    if limit is None:
        return is_unbounded(rule, honest, m, rng, rule_f)
    search = WorstCase(rule, m, budget, rule_f).search(honest, rng)
    return search.unbounded or _in_spreads(search) > limit
