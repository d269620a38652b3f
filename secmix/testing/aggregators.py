"""check_aggregator: every promise on drawn cases, then the worst-case search, and what fails made small."""

from __future__ import annotations

import copy
import secrets
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import cycle, islice, product
from typing import Literal

import numpy as np

from secmix._base.checks import integer
from secmix.adversaries.search.oracle import Rule, configured, quietly
from secmix.adversaries.search.worst_case import RuleRefuses, WorstCase
from secmix.aggregators import rule_named, traits_of
from secmix.errors import SecmixError
from secmix.testing.cases import Case, of_zeros
from secmix.testing.counterexample import Promise, as_test, failure, name_of, rule_defined
from secmix.testing.drawing import Space, draw_for
from secmix.testing.rule_promises import BY_TITLE, CONSENSUS, DRAWN, ITSELF, NO_MEMORY, REACH, REPEATED, SHAPE, WORST
from secmix.testing.sizes import BEYOND, MOST_ENTRIES, accepted, beyond, numbers_of
from secmix.testing.summary import AggregatorCheck
from secmix.testing.trials import UNBOUNDED, Trials, values_of

Bound = float | Callable[[int, int], float]
DEFAULT_EQUIVARIANCES = ("permutation", "translation", "scale", "embedding")

# Cases of each promise that are small, and of all that are wide; those about numbers that the code names; calls of one
# and the same; worst-case searches of drawn sizes. A fault in one call of 997 is missed in 7,000 with 0.1 %.
_EFFORT = {"quick": [40, 1600, 600, 4400, 4], "thorough": [300, 20_000, 4000, 20_000, 24]}
_FEW = 6  # cases of each size beyond the usual
_LATER = 10_000  # calls in which a failure must come back that came once and not again


def check_aggregator(
    rule: Rule | str,
    *,
    f: int,
    bound: Bound | None = None,
    n: int | None = None,
    p: int | None = None,
    equivariances: Collection[str] | None = None,
    skip: Collection[str] = (),
    level: Literal["quick", "thorough"] = "quick",
    examples: int | None = None,
    budget: int = 600,
    seed: int | None = None,
) -> AggregatorCheck:
    """Hold an aggregation rule to everything that a robust rule owes its users.

    Numbers of messages (to 64) and of entries (to 2,000; more of both where the code names it), number types, layouts
    in memory, orders of arrival, scales, directions and collusions are drawn. The rule must keep its promises on all of
    them, and agree with itself: in another order, moved, scaled, turned, with more entries, in another number type, in
    a thread or in lists, and in every one of several thousand calls. It must withstand every f that it accepts.

    Parameters
    ----------
    rule : callable or str
        ``rule(messages (n, p), f=...) -> (p,)``, or its name (:func:`secmix.aggregators.rule_named`). It refuses an f
        that it cannot withstand, f >= n/2 above all, and messages it cannot use, by a ValueError ("f limits"); any
        other error is a failure.
    f : int
        How many Byzantine messages it is to withstand; 0 for a rule, as the mean, that refuses any more.
    bound : float or function of (n, f), optional
        The largest error allowed, in units of ε, the largest distance of an honest message from the honest mean.
        Without one, an error of a thousand ε fails.
    n, p : int, optional
        Fix the number of messages and of their entries.
    equivariances : collection of str, optional
        Which of "permutation", "translation", "scale", "embedding" (entries that all share change nothing) and
        "orthogonal" are promised; by default what the rule's traits say, or else the first four.
    skip : collection of str
        Properties, by title, that the rule does not promise.
    level : {"quick", "thorough"}
        How much is tried: some 3,000 cases and 7,000 results, or ten times as many.
    examples : int, optional
        How many small cases each property is tried on, and in proportion the others; by default as ``level`` says.
    budget : int
        Evaluations of each worst-case search.
    seed : int, optional
        Draws the same cases again; by default each run draws others, and a failure names its seed.

    Returns
    -------
    AggregatorCheck
        How many cases of which sizes were tried, and what is assumed; print it. That nothing was found is no proof.

    Raises
    ------
    AssertionError
        A promise is broken; the message holds the smallest counterexample that was found, as a test to paste.
    SecmixError
        The arguments make no sense.

    Examples
    --------
    >>> from secmix.aggregators import coordinate_median
    >>> check = check_aggregator(coordinate_median, f=1, examples=5, budget=200, seed=0)
    >>> check.n[1] > 20, check.p[1] > 50, "float32" in check.types
    (True, True, True)
    """
    integer(f, "f", least=0)
    if level not in _EFFORT:
        raise SecmixError(f"level is 'quick' or 'thorough'; given {level!r}")
    effort = _EFFORT[level]
    if examples is not None:
        effort = [max(1, round(count * integer(examples, "examples") / effort[0])) for count in effort]
    if unknown := set(skip) - set(BY_TITLE):
        raise SecmixError(f"skip names {sorted(unknown)}; the promises are {sorted(BY_TITLE)}")
    if not callable(bound) and bound is not None and not bound > 0:
        raise SecmixError(f"bound must be above 0; given {bound!r}")
    seed = secrets.randbits(32) if seed is None else integer(seed, "seed", least=0)
    return _Battery(rule_named(rule), f, bound, n, p, equivariances, frozenset(skip), effort, budget, seed).run()


@dataclass
class _Battery:
    """One check, from the first call to the summary."""

    rule: Rule
    f: int
    bound: Bound | None
    n: int | None
    p: int | None
    equivariances: Collection[str] | None
    skip: frozenset[str]
    effort: list[int]
    budget: int
    seed: int

    def __post_init__(self) -> None:
        self.searches = self.evaluations = 0
        self.rng = np.random.default_rng(self.seed)
        traits = traits_of(configured(self.rule)[0])
        if self.equivariances is None:
            self.equivariances = DEFAULT_EQUIVARIANCES if traits is None else traits.equivariances
        self.stochastic = traits is not None and traits.stochastic
        try:
            fresh = copy.deepcopy(self.rule)
        except Exception:
            fresh = None
        self.trials = Trials(self.rule, self._allowed, fresh)
        self.named = numbers_of(self.rule)
        self.counts = {int(v) + step for v in self.named if v == int(v) and abs(v) < 1e9 for step in (-1, 0, 1)}
        pairs, widths = accepted(self._refusal, self.f, self.n), None if self.p is None else (self.p,)
        self.small = Space(
            [pair for pair in pairs if pair[1] == self.f][:5:2] if self.n is None else pairs[:1],
            widths or (1, 2, 3),
            moves="translation" in self.equivariances,
            scales="scale" in self.equivariances,
            withstands=lambda n, g: g if traits is None or g == self.f else traits.tolerates(n, g),
        )
        self.wide = replace(self.small, pairs=pairs, widths=widths or (1, MOST_ENTRIES), wide=True)

    def run(self) -> AggregatorCheck:
        """Go through all stages, from what shrinks well to what takes long."""
        few, many, named, repeated, searches = self.effort
        promises = [one for one in DRAWN if self._promises(one)]
        for one in promises:
            for _ in range(min(few, one.most or few)):
                self._try(one, self.small)
        weighted = [one for one in promises if one.most is None for _ in range(5 if one in (CONSENSUS, REACH) else 1)]
        for one in islice(cycle(weighted), many):
            self._try(one, self.wide)
        robust = [one for one in weighted if one in (CONSENSUS, REACH)] or weighted
        if REACH in robust:
            self._in_series(few * 3 // 4)
        self._named_numbers(robust, named)
        self._beyond(robust, max(_FEW * named // 600, 1))
        if REPEATED.title not in self.skip and not self.stochastic:
            self._every_call(repeated)
        if WORST.title not in self.skip:
            for space in [self.small] * min(4, searches) + [self.wide] * searches:
                self._worst(space)
        return self._summary()

    def _allowed(self, n: int, f: int) -> float:
        if f == 0 < self.f:  # a bound is of what was asked about
            return UNBOUNDED
        return float(self.bound(n, f)) if callable(self.bound) else float(self.bound or UNBOUNDED)

    def _promises(self, one: Promise) -> bool:
        if one.title in self.skip or (one.only_if and one.only_if not in (self.equivariances or ())):
            return False
        if one.only_if == "embedding" and self.p is not None:
            return False
        if self.stochastic and (one in (NO_MEMORY, *ITSELF) or one.title == "permutation"):
            return False
        return one is not NO_MEMORY or self.trials.fresh is not None

    def _refusal(self, n: int, f: int) -> ValueError | None:
        """Return why the rule takes no n messages with f; another error is a failure."""
        case = of_zeros(n, f, self.p or 2, f, {})
        try:
            quietly(lambda: self.rule(case.harmless(), f=f))
        except ValueError as error:
            return error
        except (Exception, SystemExit) as error:
            self._fail(SHAPE, case, error)
        return None

    def _try(self, one: Promise, space: Space) -> None:
        case = draw_for(one, space, self.rng)
        why = self.trials.hold(one, case)
        if why is None and self.trials.written_on and "shape" not in self.skip:
            one, why = SHAPE, self.trials.fails(SHAPE, case)
        if why is None:
            return
        changed = self.trials.changed(one, case)
        if changed or self.trials.fades(one, case):
            # The rule counts, remembers or draws, or a value is special. The test to paste calls it many times.
            for (n, f), p in ((self.small.pairs[0], 2), ((case.n, case.f), case.p)):
                often = self._often(n, self.p or p, f, _LATER)
                if REPEATED.title not in self.skip and (later := self.trials.fails(REPEATED, often)):
                    self._fail(REPEATED, often, later, f'("{one.title}" failed too, in some calls)')
        if changed:
            self._fail(one, case, why, "(in some calls, not in all)")
        self._fail(one, *self.trials.smallest(one, case, why))

    def _in_series(self, count: int) -> None:
        """Try many colluders, each next farther by the same factor: who reaches from one to the next goes along."""
        pairs = self.wide.largest[-3:]
        space = replace(self.wide, widths=(self.p,) if self.p else (1, 9), how="chain")
        for i in range(count):
            self._try(REACH, replace(space, pairs=[pairs[i % len(pairs)]]))

    def _named_numbers(self, robust: list[Promise], count: int) -> None:
        """Try the numbers that the code names, as entries and sizes of messages, and as how many there are."""
        space = replace(self.wide, values=self.named)
        named = [pair for pair in space.pairs if pair[0] in self.counts]
        space = replace(space, pairs=named + space.pairs[:: max(1, len(space.pairs) // max(len(named), 10))])
        widths = [self.p] if self.p else [c for c in sorted(self.counts) if 1 <= c <= MOST_ENTRIES]
        both = [(pair, width) for pair in named for width in widths]
        for i in self.rng.permutation(len(both))[: count // 2].tolist():
            self._try(robust[i % len(robust)], replace(space, pairs=[both[i][0]], widths=(both[i][1],)))
        for one, width in zip(islice(cycle(robust), count), cycle([*widths, *(() if self.p else (1, 2, 3, 7))])):
            self._try(one, replace(space, widths=(width,)))

    def _beyond(self, robust: list[Promise], count: int) -> None:
        """Try a few cases of each size that is larger than the usual ones."""
        for n, f, p in beyond({*self.counts, *BEYOND}, self._refusal, self.wide.pairs, self.f, self.n, self.p):
            for one in robust[:count]:
                self._try(one, replace(self.wide, pairs=[(n, f)], widths=(p,)))

    def _every_call(self, count: int) -> None:
        pairs, widths = self.small.pairs[:2], (1, 3, 40) if self.p is None else (self.p,)
        for (n, f), p in product(pairs, widths):
            case = self._often(n, p, f, -(-count // (len(widths) * len(pairs))))
            if why := self.trials.hold(REPEATED, case):
                self._fail(REPEATED, replace(case, numbers={**case.numbers, "calls": _LATER}), why)

    def _often(self, n: int, p: int, f: int, calls: int) -> Case:
        """Return so many calls, each with other messages, on which all but f agree."""
        numbers = {"n": n, "p": p, "calls": calls, "seed": int(self.rng.integers(2**31))}
        return of_zeros(n, f, p, min(f, self.small.withstands(n, f)), numbers)

    def _worst(self, space: Space) -> None:
        """Search for the worst messages beside a drawn cloud."""
        case = draw_for(REACH, space, self.rng)
        if case.n * case.p > 600 or not len(case.byzantine) or np.abs(case.cloud).max() > 1e12:
            case = draw_for(REACH, self.small, self.rng)
        if not len(case.byzantine):
            return
        case = replace(case, dtype="float64", layout="C", keys=np.arange(case.n, dtype=np.float64), numbers={})
        try:
            rule_f = case.f if configured(self.rule)[1] is None else None
            found = WorstCase(self.rule, len(case.byzantine), self.budget, rule_f).search(case.cloud, self.rng)
        except RuleRefuses:
            return
        except SecmixError as error:
            self._fail(REACH, case, error)
            return
        self.searches += 1
        self.evaluations += found.evaluations
        grows = "The error grows in proportion to the messages: the rule breaks down." * found.unbounded
        # The messages in few digits, if they do as much harm; the message is for a reader.
        few = np.array([float(f"{x:.3g}") for x in found.messages.ravel()]).reshape(found.messages.shape)
        for messages in (few, found.messages):
            worst = replace(case, byzantine=messages)
            if np.isfinite(messages).all() != np.isfinite(found.messages).all():
                continue
            if why := self.trials.fails(WORST, worst):
                self._fail(WORST, *self.trials.smallest(WORST, worst, why), grows)
        if found.unbounded:
            self._fail(WORST, case, AssertionError("the error grows with the messages"), grows)

    def _fail(self, one: Promise, case: Case, why: BaseException, note: str = "") -> None:
        name, tried = name_of(self.rule), sum(self.trials.cases.values())
        sizes = f"n = {case.n}, p = {case.p}, f = {case.f}, {case.dtype}"
        notes = [*([note] if note else []), f"{sizes}; found with seed={self.seed} after {tried} cases."]
        values = values_of(one, case, self._allowed)
        test = as_test(name, "rule", rule_defined(self.rule), one, values, case.layout)
        raise failure(one, name, "rule", why, notes, test) from None

    def _summary(self) -> AggregatorCheck:
        trials = self.trials
        ns, ps, fs, types, layouts = zip(*trials.shapes.elements(), strict=True) if trials.shapes else ((0,),) * 5
        withstood = [f for n, f in zip(ns, fs, strict=True) if 0 < 2 * f < n] or [self.f]
        return AggregatorCheck(
            name_of(self.rule), dict(trials.cases), trials.calls, (min(ns), max(ns)), (min(ps), max(ps)),
            (min(withstood), max(withstood)), dict(Counter(types)), dict(Counter(layouts)), dict(trials.refused),
            self.searches, self.evaluations, len(self.named), self.seed,
        )  # fmt: skip
