"""Prove a protocol on a network: trace it in all its ways, whoever looks, and check every trace.

A trace is what the untraced code does, and every message follows from what its sender holds.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix.kernel.randomness.streams import OUTLIVING, PUBLIC
from secmix.kernel.tracing.checks import (
    FEW_ENTRIES,
    disagreement,
    largest_batch,
    not_explained,
    other_calls,
    other_frames,
    otherwise_in_plain_calls,
    shared_coins,
)
from secmix.kernel.tracing.kept import KEPT, first_change, in_any_order, kept, may_hold_draws
from secmix.kernel.tracing.projections import BY_PRODUCTS, by_projections, stands_for_others
from secmix.kernel.tracing.senders import not_computed
from secmix.kernel.tracing.trace import Fit, Way, copied, follow, uncollected
from secmix.kernel.tracing.world import modules_of
from secmix.kernel.values.algebra import UNIFORM, Component, Row, components, components_of_tables
from secmix.kernel.values.arrays import Followed, is_secret
from secmix.kernel.values.current_trace import Place
from secmix.kernel.values.forms import MOST_TERMS
from secmix.kernel.values.numbers import Number, traced_back
from secmix.kernel.values.tables import are_apart
from secmix.network import Network
from secmix.transcript import SEALED, WITHOUT_KEY, Channel

_CALLS = 3
Calls = Sequence[Any]
Run = Callable[..., Fit]
Ints = Sequence[int]
_LONG = 1000  # numbers that nodes sum: of more the calls after the first are traced with few entries
_MUCH, _MANY = 2 * 10**6, 2_000  # terms that a call adds up, and numbers that it sends of few entries: likewise
_LARGE = 10**6  # terms that entries share: of fewer projections take about as long
_MOST_HANDED, _MOST_STREAMS = 2_000, 24  # numbers that it sends or holds, and its streams: each is compared with all
_MOST_FOLLOWED = 331  # runs of a batch that is traced
_LEAST_TURNS, _MOST_WORK = 24, 100_000  # fits in which public numbers are others, and numbers that are sent in these
_NOT_CRYPTOGRAPHIC = ("PCG64", "MT19937", "SFC64", "Philox")
_UNHEARD, _GIVEN = Way(is_heard=False), Way(masks_seed=0)
_UNHEARD_GIVEN = Way(is_heard=False, masks_seed=0)
_WAYS = (Way(), _UNHEARD, _GIVEN, _UNHEARD_GIVEN)
_SEVERAL = 3  # runs of a small batch that is traced: a pair of them, and one that is left
_ROUNDS = 3  # in which calls of all kinds come


@dataclass(frozen=True)
class Proof:
    """Say what holds of a protocol on a network, whoever looks; ``open`` says why it does not."""

    fits: tuple[Fit, ...]
    tables: tuple[list[Component], ...]
    open: str
    covers: tuple[str, ...]
    assumes: tuple[str, ...]
    iterations: tuple[int, ...] = ()  # of which it is said, and of no others; empty: of all


def prove(
    protocol: Any,
    network: Network,
    inputs: Calls,
    *,
    seed: int = 0,
    in_other_calls: bool = True,
    iterations: Ints = (),
    in_full: bool = False,
) -> Proof:
    """Trace a sum protocol in all its ways: calls of a fit, masks drawn and given, guards and turns taken.

    ``inputs`` are those of three calls at least, (1, n, m) each, as the real data give them. Without ``in_other_calls``
    nothing is asked of calls without a channel and of batches of other sizes. With ``iterations`` these are traced, in
    order, and nothing is said of others: ``inputs`` are those of each, and then others of each. Calls after the first
    are traced with few of many entries, unless ``in_full``: so they are where something is kept from the first, or
    where the protocol fails on few.
    """
    traces = _Traces(protocol, network, inputs, seed, in_other_calls, iterations, in_full)
    for step in (traces.try_one, traces.follow_fit, traces.follow_all_kinds):
        step()
        if traces.fails_on_few:
            others: dict[str, Any] = {"in_other_calls": in_other_calls, "iterations": iterations, "in_full": True}
            return prove(protocol, network, traces.given, seed=seed, **others)
        if traces.ends_with:
            return Proof(tuple(traces.fits), (), traces.ends_with, (), ())
    return traces.proof()


@dataclass
class _Traces:
    """The traces of a protocol: of the calls of a fit, and of calls of every kind that may come in use."""

    protocol: Any
    network: Network
    given: Calls
    seed: int
    in_other_calls: bool
    iterations: Ints
    in_full: bool

    def __post_init__(self) -> None:
        calls = len(self.iterations) or _CALLS
        self.is_one_shape = len({*map(np.shape, self.given)}) == 1  # as that of all iterations
        if self.is_one_shape and not self.iterations:  # the first, followed in full, is that of the largest numbers
            self.given = sorted(self.given, key=lambda each: float(np.abs(each).max(initial=0.0)), reverse=True)
        several = self.given[: 2 * calls if self.iterations else calls]
        brief = [each[:, :, : None if self.in_full else FEW_ENTRIES] for each in several]
        self.brief, self.inputs = brief[:calls], self.given[:calls]
        self.of_traces = [brief[:calls], brief[calls:]] if self.iterations else [[each] for each in brief[1:]]
        self.is_cut = np.shape(self.given[0])[2] > FEW_ENTRIES and not self.in_full
        self.reuses = getattr(self.protocol, "reuses_masks", False)
        # Any call may be the first of its kind, but where they come in order.
        self.each_alone = slice(None if self.iterations or self.reuses else 1)
        of_fit = functools.partial(follow, iterations=self.iterations)
        self.run: Run = functools.partial(of_fit, self.protocol, self.network, seed=self.seed)
        # Of single calls nobody asks what they leave.
        self.aside: Run = functools.partial(self.run, looks=bool(self.iterations))
        self.fails_on_few, self.ends_with = False, ""
        self.fits: list[Fit] = []

    def try_one(self) -> None:
        """Trace one call with few entries and say whether more can be followed."""
        first = self.aside(self.of_traces[0], ways=_GIVEN)
        self.traces = self.fits = [first]
        size = np.size(self.given[0])
        if self.is_cut and (first.failed or (first.error and size <= _LONG)):  # entries mean other things
            self.fails_on_few = True
        self.once = first.trace.shared  # however many entries there are
        terms = first.trace.terms - self.once
        terms = self.once + terms * self.given[0].shape[2] // self.of_traces[0][0].shape[2]
        if terms > MOST_TERMS:
            self.ends_with = f"a call adds up {terms:.1g} terms, more than are followed: use fewer nodes or entries"
        is_long = size > _LONG or terms > _MUCH or _size(first) > _MANY
        self.is_long = is_long and not (self.reuses or self.iterations or self.in_full)
        if self.is_long:
            self.inputs = [self.given[0], *self.brief[1:]]

    def follow_fit(self) -> None:
        """Trace the calls of a fit; and two others, with masks that are handed over, of which it is to be one."""
        plainly = self.run, self.aside
        if self.once > _LARGE and not self.iterations and stands_for_others(self.traces[0]):
            self.run = by_projections(self.run, self.traces[0])
            self.aside = functools.partial(self.run, looks=False)
        other_masks = Way(masks_seed=1)
        self.traces = [self.traces[0], self.aside(self.of_traces[1], ways=other_masks)]
        # What is kept where nobody looks shows in a second call: so two speak for all.
        self.repeats = 2 if self.is_long and self.is_one_shape and not _decides(self.traces[0]) else 0
        self.fit, *self.discarded = _of_calls(self.run, self.inputs, self.inputs[: self.repeats])
        if self.run is not plainly[0] and not self.fit.is_as_another:  # nor need others be that begin with it
            self.run, self.aside = plainly
            self.traces[1] = self.aside(self.of_traces[1], ways=other_masks)
        self.inputs = self.inputs[: len(self.fit.results) or None]
        if not self.fit.error and self.fit.varying and not self.iterations:
            self.run = self.aside = functools.partial(plainly[0], varying=self.fit.varying)
            self.fit = self.run(self.inputs)
            ways = zip(self.of_traces, (_GIVEN, other_masks), strict=True)
            self.traces = [self.run(several, ways=way) for several, way in ways]
        self.fits, self.ends_with = [self.fit], self.fit.error

    def follow_all_kinds(self) -> None:
        """Trace calls of every kind, and all turns that these take.

        In use nobody hands over a channel, and many runs may be averaged in one call, of an object that is used again.
        """
        self._follow_batches()
        self.alone = [self.fit, *self.discarded, *self.traces, *self.several]
        self.others, self.all_tried = _otherwise(self.run, self.inputs, self.fit, apart=not self.reuses)
        changed = (each.kept[1:] and each.kept[1] != each.kept[0] for each in (self.fit, *self.others))
        if self.is_long and any(changed):
            self.fails_on_few = True
            return
        self.fits = [*self.alone, *self.others, *self.unheard]
        self.in_kinds, self.tried_in_kinds = list[Fit](), dict[Any, None]()
        if self.all_tried and any(each.trace.turns for each in self.fits):
            kinds = [(calls[self.each_alone], way) for calls, way in self._kinds()]
            self.in_kinds, self.tried_in_kinds = _in_kinds(self.run, kinds, apart=not self.reuses)
        self.fits += self.in_kinds
        self.looks = [(each.kept[2], each.kept[3]) for each in self.fits if len(each.kept) > _CALLS]
        leaves, begin_alike = self._leaves_in_use()
        # Calls of a session are handed the same masks, and are of one kind: what they leave to other kinds is by value.
        self.is_left = not begin_alike or (self.reuses and leaves)
        self.mixed = [_of_all_kinds(self.run, self.brief[0], self.sizes_in_use)] if leaves and not self.reuses else []
        self.looks += [look for each in self.mixed for look in _looks_at_all(each)]
        self.fits += self.mixed
        self.traces[0].is_as_another = self.fit.is_as_another  # by which it was judged

    def _follow_batches(self) -> None:
        """Trace batches, calls without a channel, with masks or without; in ``several`` and ``unheard``."""
        self.runs = _batch_followed(self.traces[0])
        self.sizes_in_use = sorted({1, 2, _SEVERAL, self.runs})
        sizes = self.runs, _prime_below(self.runs), _SEVERAL, 2
        of_sizes = ([np.repeat(each, size, axis=0) for each in self.brief] for size in sizes)
        self.batch, self.odd, self.three, self.two = of_sizes
        self.is_used_again = self.in_other_calls and not self.iterations and not self.reuses and self.runs > 2
        again = self.batch if self.is_used_again else []
        own = self.each_alone
        in_use = [*again, self.two[0], self.three[0], self.odd[0]]
        self.several = [self.run(in_use) if again else self.aside(self.two[own])]
        self.unheard: list[Fit] = []
        if self.in_other_calls:
            repeated = [] if again else self.brief[: self.repeats]
            self.unheard = _of_calls(self.run, [*self.brief, *again[:1]], repeated, ways=_UNHEARD)
        self.full: list[tuple[Calls, Way]] = []  # with as many entries as the data have
        if not self.is_long and np.shape(self.inputs[0])[2] > FEW_ENTRIES:
            calls = self.inputs if self.iterations else self.inputs[:1]
            self.full = [([np.repeat(each, 2, axis=0) for each in calls], Way()), (calls, _GIVEN)]
            self.full += [(calls, _UNHEARD)] * self.in_other_calls
        self.ways = [way for way in _WAYS if way.is_heard or self.in_other_calls]
        kinds = [*((self.three[own], way) for way in self.ways), *self.full]
        kinds += [(self.brief[own], _UNHEARD_GIVEN)] * self.in_other_calls
        for calls, way in kinds + self._without_keys() if not self.is_long else ():
            fit = self.aside(calls, ways=way)
            if not (way.draws_own and fit.failed):  # a session that is handed none may do without such calls
                (self.several if way.is_heard else self.unheard).append(fit)

    def _without_keys(self) -> list[tuple[Calls, Way]]:
        """Return calls of a session that is handed no masks, each the first of an object."""
        if not (self.reuses and self.in_other_calls):
            return []
        ways = Way(draws_own=True), Way(is_heard=False, draws_own=True)
        return [(calls[:1], way) for calls in (self.brief, self.three) for way in ways]

    def _kinds(self) -> Iterator[tuple[Calls, Way]]:
        """Yield calls of every kind, in which turns are tried."""
        yield from ((self.brief, way) for way in self.ways[1:])
        yield from ((self.three, way) for way in self.ways)
        yield self.two, Way()
        if self.is_used_again:
            yield from ((self.odd, Way()), (self.batch, _UNHEARD))  # which take the longest by far
        yield from (*self.full, *self._without_keys())

    def _leaves_in_use(self) -> tuple[bool, bool]:
        """Say whether calls of any kind leave anything, and whether an object keeps the same whichever comes first.

        Those that are not traced count too; of a session, what they leave beyond its first call.
        """
        if not self.in_other_calls or self.iterations:
            return False, True
        largest = largest_batch(_size(self.fit) // max(len(self.fit.results), 1))
        kinds = [*itertools.product(self.sizes_in_use, _WAYS), (largest, _UNHEARD)]
        used = functools.partial(_Used, self.protocol, self.network, self.brief[0], self.seed)
        in_use = used(self.fit.lets_vary if self.reuses else frozenset())
        nothing, first = in_use.after(), in_use.after(kinds[0])
        before = first if self.reuses else nothing
        leaves = not self.reuses and any(map(_leaves_something, self.fits))
        leaves = leaves or first != before or any(in_use.after(kind) != before for kind in kinds)
        is_narrow = any(each.trace.by_value for each in self.fits)  # without this question
        if is_narrow or (first == nothing and not leaves):
            return leaves, True
        return leaves, _begin_alike(lambda: used(self.fit.lets_vary), kinds, in_order=self.reuses)

    def proof(self) -> Proof:
        """Check all traces, and say what follows from them."""
        fit, texts = self.fit, list[Place]()
        telling = [each for each in self.fits if each is fit or not (fit.is_as_another and each.is_as_another)]
        of_one_kind = (*reversed(self.others), *self.discarded, fit)
        guards = {guard: each.trace.script for each in of_one_kind for guard in _guards(each)}
        open_ = next(filter(None, self._reasons(telling, guards, texts)), "")  # what comes after the first is not asked
        if open_ and "draw_masks" in getattr(self.protocol, "__dict__", {}):
            open_ += "; its draws are public coins, since draw_masks is no method of its class: make it one"
        covers = tuple(dict.fromkeys(self._covers()))
        for each in self.fits:  # it is compared by now, and would weigh on whoever keeps the proof
            each.kept, each.counts = [], []
        of_calls = self._of_other_calls() if self.in_other_calls else ()
        assumes = _assumptions(fit, of_calls, [place for place, _ in (*fit.trace.guards, *guards)], texts)
        return Proof(tuple(telling), _tables([] if open_ else telling), open_, covers, assumes, tuple(self.iterations))

    def _of_other_calls(self) -> Iterator[str]:
        """Yield what is assumed of calls of kinds that were not traced."""
        *sizes, largest = sorted({len(given) for each in self.fits for given in each.inputs})
        of_sizes = f"{', '.join(map(str, sizes))} and {largest}" if sizes else str(largest)
        yield f"calls of other numbers of runs than {of_sizes} treat each run as these do"
        yield "masks that are handed over are used as those that are drawn"
        if self.is_cut and (self.is_long or largest > 2):
            yield f"calls of several runs treat all entries of a vector as {FEW_ENTRIES} of them"

    def _reasons(self, telling: list[Fit], guards: dict[Any, Any], texts: list[Place]) -> Iterator[str]:
        """Yield why nothing is proved; empty texts where it is."""
        protocol, network, fit, seed = self.protocol, self.network, self.fit, self.seed
        yield from (each.error for each in self.alone)
        yield disagreement(protocol, network, fit, self.inputs, seed=seed)
        yield other_frames(*self.traces)
        turned = (*self.others, *self.in_kinds)
        yield from (f"{each.error}, where public numbers are others" for each in turned if each.error)
        yield from (f"{each.error}, where no channel is given" for each in self.unheard if each.error)
        yield from (f"{each.error}, where calls of other kinds come before" for each in self.mixed if each.error)
        checked = (
            otherwise_in_plain_calls(protocol, network, each, seed=seed) for each in self.fits if each is not fit
        )
        yield from (f"{each}, in calls of another kind" for each in checked if each)
        for guard, script in guards.items():
            calls = 1 if self.iterations and guard in fit.trace.guards else len(self.inputs)
            often = max(_guards(fit).get(guard, 1) // calls, 1)  # it is met in a call
            for time in sorted({1, often}):  # what is left behind may hang on how far a loop has come
                yield _not_a_guard(self.run, fit, (self.brief, self.inputs), (*guard, time), script, texts)
        elsewhere = (*self.several, *self.unheard, *self.in_kinds)
        met = (guard for each in elsewhere for guard in _guards(each) if guard not in guards)
        yield from (f"a guard that calls of one run on a channel do not meet: {place}" for place, _ in met)
        yield from (shared_coins(each) or not_explained(each) for each in telling)
        yield from (not_computed(each) for each in (fit, *self.others))
        if self.in_other_calls:
            yield other_calls(protocol, network, fit, self.inputs, seed=seed)

    def _covers(self) -> Iterator[str]:
        """Yield on what a claim hangs beyond which it says nothing."""
        fit, fits = self.fit, self.fits
        yield from (f"{how} ({place})" for each in fits for how, place in each.trace.by_value.items())
        keeps_keys = self.reuses and any(may_hold_draws(fit.kept[0], each) for each in fit.kept)
        yield from [OUTLIVING] * keeps_keys  # also where draw_masks keeps them
        of_one_kind = [fit, *self.discarded, *self.others]
        tried = _turns(fit, *self.others) if self.all_tried else {}
        untried = [turns for turns in _turns(*of_one_kind) if turns not in tried]
        in_others = _turns(*(each for each in fits if not any(each is one for one in of_one_kind)))
        untried += [turns for turns in in_others if turns not in self.tried_in_kinds]
        names = dict.fromkeys(name for turns in untried for _, name in turns)
        yield from (f"{name}, on which more hangs than was tried" for name in names)
        # In order, what a call leaves is followed, where all begin alike but the first: it may fill a cache.
        looks = [(fit.kept[0], each.kept[0]) for each in fits[2:]] if self.iterations else self.looks
        changes = (f"{KEPT} ({first_change(*each)})".removesuffix(" ()") for each in looks if each[0] != each[1])
        is_left = self.is_left or (not self.iterations and any(each.changes_masks for each in fits))
        yield from itertools.islice(itertools.chain(changes, [KEPT] * is_left), 1)


def _of_calls(run: Callable[..., Fit], calls: Calls, first: Calls, **how: Any) -> list[Fit]:
    """Trace calls; the ``first``, if there are any, alone, where they leave nothing and others can only repeat them.

    Where these say that all have to be traced, they are returned last, for all that they have met.
    """
    if not len(first):
        return [run(calls, **how)]
    fit = run(first, **how)
    is_enough = fit.error or not (_decides(fit) or _leaves_something(fit))
    return [fit] if is_enough else [run(calls, **how), fit]


def _of_all_kinds(run: Callable[..., Fit], inputs: Any, sizes: Iterable[int]) -> Fit:
    """Trace calls of several kinds one after the other: single runs and batches, with a channel, masks, or without.

    Once all kinds have come each is to leave what it finds, whichever came before: so they come again, backwards first.
    """
    kinds = [(np.repeat(inputs, size, axis=0), way) for size in sizes for way in _WAYS]
    several = [*kinds, *kinds[::-1], *kinds]
    return run([each for each, _ in several], ways=[way for _, way in several])


def _looks_at_all(fit: Fit) -> list[tuple[Any, Any]]:
    """Pair what is kept once calls of all kinds have come with what is kept after each later one.

    Where no trace shows what a call leaves, the two of the one pair are unlike.
    """
    if not _leaves_something(fit):  # so a kind leaves something that is not traced
        return [(object(), object())]
    first, *later = fit.kept[len(fit.kept) // _ROUNDS :]
    return [(first, each) for each in later]


@dataclass
class _Used:
    """An object in use, by calls that are not traced; ``varying`` numbers that it keeps may be any."""

    protocol: Any
    network: Network
    inputs: Any
    seed: int
    varying: frozenset[str]

    def __post_init__(self) -> None:
        self.used, self.channel, self.modules = copied(self.protocol), Channel(), modules_of(self.protocol)
        self.rng = np.random.default_rng([self.seed])

    def after(self, *kinds: tuple[int, Way]) -> Any:
        """Return what is kept after a call of each kind, of so many runs."""
        for size, way in kinds:
            batch = np.repeat(self.inputs, size, axis=0)
            with suppress(Exception):  # of which others tell
                is_given = way.masks_seed is not None
                masks = self.used.draw_masks(size, batch.shape[2], self.network, self.rng) if is_given else None
                own = self.channel if way.is_heard else None
                self.used.average(batch, self.network, self.rng, masks=masks, channel=own)
        digest = kept(self.used, self.network, self.channel.__dict__, self.modules, self.varying)[0]
        if self.varying:
            kept(self.used, self.network, self.channel.__dict__, self.modules, None)  # which are what they are again
        return digest


def _begin_alike(used: Callable[[], _Used], kinds: Sequence[tuple[int, Way]], *, in_order: bool) -> bool:
    """Say whether an object keeps the same whichever call is its first; unless ``in_order``, once all have come."""
    first = used().after(kinds[0])
    others = [kind for kind in kinds[1:] if used().after(kind) != first]
    if not others or in_order:
        return not others
    in_the_end = in_any_order(used().after(*kinds))
    return all(in_any_order(used().after(kind, *kinds)) == in_the_end for kind in others)


def _leaves_something(fit: Fit) -> bool:
    return any(each != fit.kept[0] for each in fit.kept)


def _decides(fit: Fit) -> bool:
    """Say whether a call may differ from another by a seed that comes again, by coins, or by anything used by value."""
    return bool(fit.trace.streams or fit.trace.turns or fit.trace.by_value)


def _turns(*fits: Fit) -> dict[tuple[tuple[int, str], ...], None]:
    """Return on what, of how many outcomes, calls hang one after the other, in order."""
    of_calls: dict[Any, list[tuple[int, str]]] = {}
    for fit in fits:
        for _, count, call, name in fit.trace.turns:
            of_calls.setdefault((id(fit), call), []).append((count, name))
    return dict.fromkeys(map(tuple, of_calls.values()))


def _guards(fit: Fit) -> dict[tuple[Place, int], int]:
    """Return how often each guard was met, and each function that may fail: both end a call."""
    return {(place, 0): times for place, times in fit.trace.stops.items()} | fit.trace.guards


def _not_a_guard(
    run: Callable[..., Fit],
    fit: Fit,
    several: Sequence[Calls],
    guard: tuple[Place, int, int],
    script: tuple[int, ...],
    texts: list[Place],
) -> str:
    """Say why a test decides more than whether the call ends in an error; ``several`` are calls that may meet it.

    What is kept after it must be what was kept before, or what is kept after a call of ``fit``. Where the text of the
    error has secrets in it, that is added to ``texts``.
    """
    for inputs in several:
        taken = run(inputs, flip=guard, script=script)
        texts += taken.trace.tells
        if taken.trace.answering:
            if not taken.error and _leaves_after_error(taken, fit):
                return f"a call that ends in an error leaves something behind, after the guard {guard[0]}"
            return f"{taken.error}, after the guard {guard[0]}" if taken.error else ""
    return f"the guard is not met again: {guard[0]}"


def _leaves_after_error(taken: Fit, fit: Fit) -> bool:
    """Say whether the last call, which ended in an error, left what no call of ``fit`` leaves, or changed its keys."""
    is_left = taken.kept[-1] != taken.kept[-2] and taken.kept[-1] not in fit.kept
    return is_left or taken.trace.call in taken.changes_masks


def _otherwise(run: Callable[..., Fit], inputs: Sequence[Any], fit: Fit, *, apart: bool) -> tuple[list[Fit], bool]:
    """Trace the fits in which public numbers are others, and say whether these are all.

    ``apart``, other numbers in one call are not combined with others in the next. That is all where what a call leaves
    does not hang on them; and of two calls that begin with the same, and may be any, one speaks for both.
    """
    fits: list[Fit] = []
    waiting, work = [(fit, 0)], 0
    turns, calls = fit.trace.turns, range(len(inputs))
    outcomes = [math.prod(count for _, count, at, _ in turns if at == call or not apart) for call in calls]
    if max(outcomes) > max(_LEAST_TURNS, _MOST_WORK * len(inputs) / max(_size(fit), 1)):  # of a call: more are counted
        return [], False
    while waiting:
        one, begin = waiting.pop()
        outcomes = [outcome for outcome, *_ in one.trace.turns]
        for k, (_, count, call, _) in list(enumerate(one.trace.turns))[begin:]:
            if apart and not fit.iterations and fit.kept[call] in fit.kept[:call]:
                continue
            for other in {*range(count)} - {outcomes[k]}:
                if work > _MOST_WORK and len(fits) >= _LEAST_TURNS:
                    return fits, False
                fits.append(run(inputs[: call + 1] if apart else inputs, script=(*outcomes[:k], other)))
                if fits[-1].error:  # nothing is proved, whatever the others are
                    return fits, True
                waiting.append((fits[-1], k + 1))
                work += _size(fits[-1])
    if apart and any(each.kept != fit.kept[: len(each.kept)] for each in fits):
        return _otherwise(run, inputs, fit, apart=False)
    return fits, True


def _in_kinds(
    run: Callable[..., Fit], kinds: Iterable[tuple[Calls, Way]], *, apart: bool
) -> tuple[list[Fit], dict[Any, None]]:
    """Trace the fits in which public numbers are others in calls of several kinds; return the turns that were tried.

    What a call does may hang on its kind only once a number has come out otherwise. Where it then leaves something
    else, nothing of its kind is said.
    """
    fits: list[Fit] = []
    tried: dict[Any, None] = {}
    for calls, way in kinds:
        of_kind = functools.partial(run, ways=way)
        first = of_kind(calls)
        several, all_tried = _otherwise(of_kind, calls, first, apart=apart)
        fits += [first, *several]
        if all_tried and all(each.kept == first.kept[: len(each.kept)] for each in several):
            tried |= _turns(first, *several)
    return fits, tried


def _size(fit: Fit) -> int:
    return sum(message.rows.size for message in fit.messages)


def _batch_followed(fit: Fit) -> int:
    """Count the runs of a batch that is traced, by what one of them takes."""
    runs = min(_MOST_HANDED // max(_size(fit), 1), _MOST_STREAMS // max(len(fit.trace.streams), 1), _MOST_FOLLOWED)
    return max(runs // 2 * 2, 2)  # pairs fit into it


def _prime_below(runs: int) -> int:
    """Return the largest prime that is smaller, or 2: however many are taken at a time, some are left."""
    return next((k for k in range(runs - 1, 2, -1) if all(k % by for by in range(2, math.isqrt(k) + 1))), 2)


@uncollected()
def _tables(fits: Iterable[Fit]) -> tuple[list[Component], ...]:
    return tuple(map(_components, fits))


def _components(fit: Fit) -> list[Component]:
    """Return what the messages of a fit tell; of vectors, where all are followed as one, by the first entry for all."""
    payloads = [message.rows for message in fit.messages]
    secret = [(k, x.table) for k, x in enumerate(payloads) if x.table is not None or is_secret(x)]
    tables = [(k, table) for k, table in secret if table is not None]
    if len(tables) == len(secret) and are_apart(table for _, table in tables):
        return components_of_tables(tables, fit.trace.variables, fit.encodings.formulas)
    return components(_cells(payloads), fit.trace.variables, fit.encodings.formulas)


def _cells(payloads: Iterable[Followed]) -> Iterator[Row]:
    """Yield the numbers that messages tell, by message and row."""
    for k, payload in enumerate(payloads):
        for row, cells in enumerate(payload.reading):
            several = [cell for cell in cells.ravel().tolist() if isinstance(cell, Number)]
            yield from (((k, row), cell) for cell in several if cell.is_followed)
            lost = [cell for cell in several if not cell.is_followed]
            yield from (((k, row), cell) for cell in traced_back(lost)[0])


def _assumptions(fit: Fit, of_calls: Iterable[str], stops: Iterable[Place], texts: Iterable[Place]) -> tuple[str, ...]:
    overflow = f"overflow beyond the {fit.largest_data:.3g} seen"
    assumed = ["the author of the protocol is honest, and may be mistaken"]
    assumed.append(f"sums are those of real numbers: rounding, and {overflow}, are not followed")
    assumed += of_calls
    functions = dict.fromkeys(each.key[0] for each in fit.trace.streams if each.pieces and each.key[0] != PUBLIC)
    weak = " (no cryptographic generators)" * any(name.startswith(_NOT_CRYPTOGRAPHIC) for name in functions)
    if functions:
        assumed.append(f"nobody tells from random what {', '.join(functions)}{weak} make of a secret seed")
    by_iteration = any(piece[0] == "iteration" for each in fit.trace.streams for piece in each.key[1:])
    once = "with the seeds that make masks, each iteration comes once (a call without a channel is iteration 0)"
    assumed += [once] * by_iteration
    codes = [abs(float(x.value)) for v in fit.made_of(fit.messages) if (x := fit.trace.variables[v]).kind == "code"]
    have_size = any(each.kind == "draw" and not each.range for each in fit.trace.variables.values())
    bound = (
        f"what nodes encode is at most the {max(codes, default=0.0):.3g} seen, beside which masks of a size are large"
    )
    assumed += [bound] * bool(codes and have_size)
    is_uniform = any(each.law in UNIFORM for each in fit.trace.variables.values())
    assumed += ["uniform masks hide several numbers together as they hide each of them"] * is_uniform
    assumed += [WITHOUT_KEY] * any(message.frame[2].endswith(SEALED) for message in fit.messages)
    assumed += ["a fit is of a new object, which is called in this order, each iteration once"] * bool(fit.iterations)
    assumed += ["coins that go into what a node encodes stay with that node"] * bool(fit.encodings.coins)
    assumed += [BY_PRODUCTS] * fit.is_as_another
    several = len(fit.trace.threads) > 1
    assumed += ["threads of a call do what they do in the order in which they begin"] * several
    ends, reads = ("; ".join(dict.fromkeys(map(str, places))) for places in (stops, texts))
    assumed += [f"that a call ends in an error tells nothing that matters ({ends})"] * bool(ends)
    assumed += [f"the text of that error, which has data in it, is read by their node alone ({reads})"] * bool(reads)
    return tuple(assumed)
