"""check_aggregator: every promise on drawn inputs, then the worst-case search, and what fails made small."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any, Literal

import numpy as np

from secmix._base.checks import integer
from secmix.adversaries.against_rules.oracle import Rule, configured, quietly
from secmix.adversaries.against_rules.worst_of_a_rule import RuleRefuses, WorstCase
from secmix.aggregators import rule_named, traits_of
from secmix.errors import SecmixError
from secmix.testing.check_summary import AggregatorCheck
from secmix.testing.counterexample import BrokenPromise, Promise, name_of, rule_defined
from secmix.testing.promise_trials import UNBOUNDED, Trials, values_of
from secmix.testing.rule_inputs import CHAINS, SPREAD, RuleDraw, RuleInputs, Space, filled, of_zeros
from secmix.testing.rule_promises import (
    BY_TITLE,
    CONSENSUS,
    DRAWN,
    EQUIVARIANCES,
    ITSELF,
    JUDGED,
    NO_MEMORY,
    REACH,
    REPEATED,
    SHAPE,
    WORST,
)  # fmt: skip
from secmix.testing.sizes import BEYOND, MOST_ENTRIES, WIDTHS, Pair, accepted, beyond, largest, numbers_of
from secmix.testing.strategies import smallest_failure

Bound = float | Callable[[int, int], float]
DEFAULT_EQUIVARIANCES = ("permutation", "translation", "scale", "embedding")

# Examples of each promise for a reader, and of all together at any size; those about numbers that the code names; calls
# of one and the same; worst-case searches. A fault in one call of 997 is missed in 7,000 with 0.1 %.
_EFFORT = {"quick": [30, 640, 220, 4400, 4], "thorough": [225, 6000, 1600, 20_000, 24]}
_GROUPS = ((CONSENSUS, REACH), JUDGED, (NO_MEMORY, *ITSELF), EQUIVARIANCES)  # tried on one example together
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
        How much is tried: some 3,000 cases and 8,000 results, or ten times as many.
    examples : int, optional
        How many small cases each property is tried on, and in proportion the others; by default as ``level`` says.
    budget : int
        Evaluations of each worst-case search.
    seed : int, optional
        Another seed draws other cases; the same call draws the same ones.

    Returns
    -------
    AggregatorCheck
        How many cases of which sizes were tried, and what is assumed; print it. That nothing was found is no proof.

    Raises
    ------
    AssertionError
        A promise is broken; the message holds the smallest counterexample that was found, as a test to paste. It is
        made small by Hypothesis, where that is installed (``pip install 'secmix[test]'``).
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
    seed = integer(seed or 0, "seed", least=0)
    return _RuleCheck(rule_named(rule), f, bound, n, p, equivariances, frozenset(skip), effort, budget, seed).run()


@dataclass
class _RuleCheck:
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
        self.random = Random(self.seed)
        self.searches = self.evaluations = 0
        traits = traits_of(configured(self.rule)[0])
        if self.equivariances is None:
            self.equivariances = DEFAULT_EQUIVARIANCES if traits is None else traits.equivariances
        self.stochastic = traits is not None and traits.stochastic
        try:
            uncalled = copy.deepcopy(self.rule)
        except Exception:
            uncalled = None
        self.trials = Trials(self.rule, self._allowed, uncalled)
        self.named = numbers_of(self.rule)
        self.counts = {int(v) + step for v in self.named if v == int(v) and abs(v) < 1e9 for step in (-1, 0, 1)}
        pairs = accepted(self._refusal, self.f, self.n)
        small = [pair for pair in pairs if pair[1] == self.f][:5:2] if self.n is None else pairs[:1]
        # An off-by-one, and a breakdown point below one half, show where f is the largest that n messages allow.
        often = [*pairs, *pairs[: len(pairs) // 2], *(largest(pairs) * (len(pairs) // (4 * len(largest(pairs))) + 1))]
        self.space = Space(
            often,
            WIDTHS if self.p is None else (self.p,),
            translates="translation" in self.equivariances,
            scales="scale" in self.equivariances,
            withstands=lambda n, g: g if traits is None or g == self.f else traits.tolerates(n, g),
        )
        self.plain = self.space.plain(small)

    def run(self) -> AggregatorCheck:
        """Go through all stages, from what is read well to what takes long."""
        small_searches, large_searches, named, repeated, searches = self.effort
        promises = [promise for promise in DRAWN if self._promises(promise)]
        for promise in promises:
            self._search([(promise,)], self.plain, min(small_searches, promise.most or small_searches))
        promises = [promise for promise in promises if promise.most is None]
        groups = [tuple(promise for promise in group if promise in promises) for group in _GROUPS]
        robust, *others = [group for group in groups if group] or [()]
        self._search([*[robust] * 5, *others], self.space, large_searches)
        if REACH in robust:  # many colluders, each next farther by the same factor: one that goes along is led away
            series = replace(self.space, pairs=largest(self.space.pairs)[-3:], kinds=CHAINS)
            self._search([(REACH,)], replace(series, widths=(self.p,) if self.p else range(1, 10)), small_searches)
        self._named_numbers(robust, named)
        shapes = beyond({*self.counts, *BEYOND}, self._refusal, self.space.pairs, self.f, self.n, self.p)
        self._search([robust], replace(self.space, most=np.inf), 0, shapes * max(named // 60, 1))
        if REPEATED.title not in self.skip and not self.stochastic:
            self._every_call(repeated)
        if WORST.title not in self.skip:
            medium = [pair for pair in self.space.pairs if pair[0] <= 20] or self.space.pairs[:1]
            small = [width for width in self.space.widths if width <= 30] or self.space.widths
            self._search([(WORST,)], replace(self.plain, kinds=SPREAD), min(4, searches))
            self._search([(WORST,)], replace(self.space, pairs=medium, widths=small, kinds=SPREAD), searches)
        return self._summary()

    def _allowed(self, n: int, f: int) -> float:
        if f == 0 < self.f:  # a bound is of what was asked about
            return UNBOUNDED
        return float(self.bound(n, f)) if callable(self.bound) else float(self.bound or UNBOUNDED)

    def _promises(self, promise: Promise) -> bool:
        if promise.title in self.skip or (promise.only_if and promise.only_if not in (self.equivariances or ())):
            return False
        if (promise.only_if == "embedding" and self.p is not None) or (promise.only_if and self.p == 1):
            return False
        if self.stochastic and (promise in (NO_MEMORY, *ITSELF) or promise.title == "permutation"):
            return False
        return promise is not NO_MEMORY or self.trials.uncalled is not None

    def _refusal(self, n: int, f: int) -> ValueError | None:
        """Return why the rule takes no n messages with f; another error is a failure."""
        inputs = of_zeros(n, f, self.p or 2, f, {})
        try:
            quietly(lambda: self.rule(inputs.harmless(), f=f))
        except ValueError as error:
            return error
        except (Exception, SystemExit) as error:
            self._raise(self._broken(SHAPE, inputs, error))
        return None

    def _search(
        self,
        groups: Sequence[tuple[Promise, ...]],
        space: Space,
        examples: int,
        shapes: Iterable[tuple[Pair, int]] = (),
    ) -> None:
        """Try the promises of a group on inputs of ``shapes`` and others from ``space``; raise the smallest failure."""

        def fails(drawn: Any, first: BrokenPromise | None) -> BrokenPromise | None:
            if first is not None:  # simpler inputs are to break the same promise in the same way
                failure = self._failure(first.promise, RuleDraw(*drawn[1:]), space)
                return failure if failure and type(failure.why) is type(first.why) else None
            tried = (self._failure(promise, RuleDraw(*drawn[1:]), space, count=True) for promise in drawn[0])
            return next(filter(None, tried), None)

        options, choice = (groups, *space.options), self.random.choice
        first = ((choice(groups), *shape, *map(choice, options[3:])) for shape in shapes)
        self._raise(smallest_failure(options, fails, examples=examples, random=self.random, first=first))

    def _failure(self, promise: Promise, drawn: RuleDraw, space: Space, *, count: bool = False) -> BrokenPromise | None:
        if drawn.pair[0] * drawn.p > space.most:
            return None
        if promise is WORST:
            return self._worst(drawn, space)
        inputs = filled(promise, drawn, space)
        why = self.trials.hold(promise, inputs) if count else self.trials.fails(promise, inputs)
        if why is None and self.trials.written_on and "shape" not in self.skip:
            promise, why = SHAPE, self.trials.fails(SHAPE, inputs)
        if why is None:
            return None
        return self._steady(promise, inputs, why) if count else self._broken(promise, inputs, why)

    def _broken(
        self, promise: Promise, inputs: RuleInputs, why: BaseException, note: str = "", tries: int = 600
    ) -> BrokenPromise:
        sizes = f"n = {inputs.n}, p = {inputs.p}, f = {inputs.f}, {inputs.dtype}"
        return BrokenPromise(promise, values_of(promise, inputs, self._allowed), why, sizes, note, inputs.layout, tries)

    def _steady(self, promise: Promise, inputs: RuleInputs, why: BaseException) -> BrokenPromise:
        """Return the failure; in place of one that comes and goes, many calls in which one comes."""
        changed, too = self.trials.changed(promise, inputs), f'("{promise.title}" failed too, in some calls)'
        if REPEATED.title not in self.skip and (changed or self.trials.fades(promise, inputs)):
            # The rule counts, remembers or draws, or a value is special. The test to paste calls it many times.
            for (n, f), p in ((self.plain.pairs[0], self.p or 2), ((inputs.n, inputs.f), inputs.p)):
                often = self._often(n, p, f, _LATER)
                if later := self.trials.fails(REPEATED, often):
                    return self._broken(REPEATED, often, later, too, tries=0)
        note = "(in some calls, not in all)" * changed
        return self._broken(promise, inputs, why, note, tries=0) if changed else self._broken(promise, inputs, why)

    def _named_numbers(self, robust: tuple[Promise, ...], count: int) -> None:
        """Try the numbers that the code names: as entries and sizes of messages, and as how many there are."""
        pairs = sorted(set(self.space.pairs))
        named = [pair for pair in pairs if pair[0] in self.counts]
        pairs = sorted([*named, *pairs[:: max(1, len(pairs) // max(len(named), 10))]])
        widths = [self.p] if self.p else [c for c in sorted(self.counts) if 1 <= c <= MOST_ENTRIES]
        both = list(product(named, widths))
        shapes = self.random.sample(both, min(len(both), count // 2))
        widths = widths if self.p else sorted({*widths, 1, 2, 3, 7})
        space = replace(self.space, pairs=pairs, widths=widths, most=np.inf, values=self.named)
        self._search([robust], space, count, shapes)

    def _every_call(self, count: int) -> None:
        pairs, widths = self.plain.pairs[:2], (1, 3, 40) if self.p is None else (self.p,)
        for (n, f), p in product(pairs, widths):
            inputs = self._often(n, p, f, -(-count // (len(widths) * len(pairs))))
            if why := self.trials.hold(REPEATED, inputs):
                self._raise(self._broken(REPEATED, replace(inputs, extra={**inputs.extra, "calls": _LATER}), why))

    def _often(self, n: int, p: int, f: int, calls: int) -> RuleInputs:
        """Return so many calls, each with other messages, on which all but f agree."""
        extra = {"n": n, "p": p, "calls": calls, "seed": self.seed}
        return of_zeros(n, f, p, min(f, self.space.withstands(n, f)), extra)

    def _worst(self, drawn: RuleDraw, space: Space) -> BrokenPromise | None:
        """Search for the worst messages beside a drawn cloud."""
        inputs = filled(REACH, drawn, space)
        if inputs.n * inputs.p > 600 or not len(inputs.byzantine) or np.abs(inputs.honest).max() > 1e12:
            return None
        inputs = replace(inputs, dtype="float64", layout="C", order=np.arange(inputs.n), extra={})
        rule_f = inputs.f if configured(self.rule)[1] is None else None
        search = WorstCase(self.rule, len(inputs.byzantine), self.budget, rule_f)
        try:
            reached = search.search(inputs.honest, np.random.default_rng(drawn.seed))
        except RuleRefuses:
            return None
        except SecmixError as error:
            return self._broken(REACH, inputs, error, tries=0)
        self.searches += 1
        self.evaluations += reached.evaluations
        grows = "The error grows in proportion to the messages: the rule breaks down." * reached.unbounded
        # The messages in few digits, if they do as much harm; the message is for a reader.
        few = np.array([float(f"{x:.3g}") for x in reached.messages.ravel()]).reshape(reached.messages.shape)
        finite = np.isfinite(reached.messages).all()
        for messages in (few, reached.messages):
            worst = replace(inputs, byzantine=messages)
            if np.isfinite(messages).all() == finite and (why := self.trials.fails(WORST, worst)):
                return self._broken(WORST, worst, why, grows, tries=20)
        unbounded = AssertionError("the error grows with the messages")
        return self._broken(WORST, inputs, unbounded, grows, tries=0) if grows else None

    def _raise(self, failure: BrokenPromise | None) -> None:
        if failure is not None:
            found = f"found with seed={self.seed} after {sum(self.trials.cases.values())} cases"
            raise failure.error(name_of(self.rule), "rule", rule_defined(self.rule), found) from None

    def _summary(self) -> AggregatorCheck:
        trials = self.trials
        ns, ps, fs, types, layouts = zip(*trials.shapes.elements(), strict=True) if trials.shapes else ((0,),) * 5
        withstood = [f for n, f in zip(ns, fs, strict=True) if 0 < 2 * f < n] or [self.f]
        return AggregatorCheck(
            name_of(self.rule), dict(trials.cases), trials.calls, (min(ns), max(ns)), (min(ps), max(ps)),
            (min(withstood), max(withstood)), dict(Counter(types)), dict(Counter(layouts)), dict(trials.refused),
            self.searches, self.evaluations, len(self.named), self.seed,
        )  # fmt: skip
