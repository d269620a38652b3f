"""Prove a protocol on a network: trace it in all its ways, whoever looks, and check every trace.

A trace is what the untraced code does, and every message follows from what its sender holds.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from secmix.kernel.randomness.streams import OUTLIVING, PUBLIC, follows
from secmix.kernel.tracing.kept import KEPT, first_change, kept
from secmix.kernel.tracing.projections import BY_PRODUCTS, by_projections, stands_for_others
from secmix.kernel.tracing.trace import (
    RESULT,
    ROUNDING,
    Fit,
    Message,
    Way,
    copied,
    follow,
    have_draws_in_common,
    uncollected,
)
from secmix.kernel.tracing.untraced import (
    disagreement,
    frame_of,
    largest_in,
    largest_within,
    near,
    otherwise_in_plain_calls,
)
from secmix.kernel.tracing.world import modules_of, with_method
from secmix.kernel.values.algebra import UNIFORM, Component, Row, components, components_of_tables
from secmix.kernel.values.arrays import Followed, is_secret, variables_of
from secmix.kernel.values.current_trace import INF, Place, Trace
from secmix.kernel.values.forms import MOST_TERMS, Shared, packed
from secmix.kernel.values.numbers import Number, traced_back
from secmix.kernel.values.tables import Table, are_apart
from secmix.network import Network
from secmix.transcript import SEALED, SERVER, WITHOUT_KEY, Block, Channel

_CALLS = 3
Calls = Sequence[Any]
Ints = Sequence[int]
_LONG = 1000  # numbers that nodes sum: of more the calls after the first are traced with few entries
_MUCH = 2 * 10**6  # terms that a call adds up: likewise
_LARGE = 10**6  # terms that entries share: of fewer projections take about as long
_FEW = 2  # entries of what is traced beside the fit: how a call is made does not hang on their number
_MOST_FOLLOWED = 331  # runs of a batch that is traced
_MOST_HANDED, _MOST_STREAMS = 2_000, 24  # numbers that it sends or holds, and its streams: each is compared with all
_LEAST_TURNS, _MOST_WORK = 24, 100_000  # fits in which public numbers are others, and numbers that are sent in these
_NOT_CRYPTOGRAPHIC = ("PCG64", "MT19937", "SFC64", "Philox")


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
    calls = len(iterations) or _CALLS
    is_one_shape = len({*map(np.shape, inputs)}) == 1  # as that of all iterations
    if is_one_shape and not iterations:  # the first is followed in full: it is that of the largest numbers
        inputs = sorted(inputs, key=lambda each: float(np.abs(each).max(initial=0.0)), reverse=True)
    brief = [each[:, :, : None if in_full else _FEW] for each in inputs[: 2 * calls if iterations else calls]]
    again = functools.partial(prove, protocol, network, seed=seed, in_other_calls=in_other_calls, in_full=True)
    reuses = getattr(protocol, "reuses_masks", False)
    run: Callable[..., Fit] = functools.partial(follow, protocol, network, seed=seed, iterations=iterations)
    of_traces = [brief[:calls], brief[calls:]] if iterations else [[each] for each in brief[1:]]
    # Of single calls nobody asks what they leave.
    aside: Callable[..., Fit] = functools.partial(run, looks=bool(iterations))
    traces = [aside(of_traces[0], ways=Way(masks_seed=0))]
    is_cut = np.shape(inputs[0])[2] > _FEW and not in_full
    if is_cut and (traces[0].failed or (traces[0].error and np.size(inputs[0]) <= _LONG)):  # entries mean other things
        return again(inputs, iterations=iterations)
    once = traces[0].trace.shared  # however many entries there are
    terms = once + (traces[0].trace.terms - once) * inputs[0].shape[2] // brief[1].shape[2]
    if terms > MOST_TERMS:
        reason = f"a call adds up {terms:.1g} terms, more than are followed: use fewer nodes or entries"
        return Proof((traces[0],), (), reason, (), ())
    plain_run, plain_aside = run, aside
    if once > _LARGE and not iterations and stands_for_others(traces[0]):
        run = by_projections(run, traces[0])
        aside = functools.partial(run, looks=False)
    unheard_given = Way(is_heard=not in_other_calls, masks_seed=1)
    traces.append(aside(of_traces[1], ways=unheard_given))
    long = (np.size(inputs[0]) > _LONG or terms > _MUCH) and not (reuses or iterations or in_full)
    given, inputs = inputs, [inputs[0], *brief[1:]] if long else inputs[:calls]
    # What is kept where nobody looks shows in a second call: so two speak for all.
    repeats = 2 if long and is_one_shape and not _decides(traces[0]) else 0
    fit, *discarded = _of_calls(run, inputs, inputs[:repeats])
    if run is not plain_run and not fit.is_as_another:  # nor need others be that begin with it
        run, aside = plain_run, plain_aside
        traces[1] = aside(of_traces[1], ways=unheard_given)
    inputs = inputs[: len(fit.results) or None]
    if not fit.error and fit.varying and not iterations:
        run = aside = functools.partial(plain_run, varying=fit.varying)
        fit = run(inputs)
        ways = Way(masks_seed=0), unheard_given
        traces = [run(several, ways=way) for several, way in zip(of_traces, ways, strict=True)]
    if fit.error:
        return Proof((fit,), (), fit.error, (), ())
    # In use nobody hands over a channel, and many runs may be averaged in one call, of an object that is used again.
    runs = _batch_followed(traces[0])
    batch, three = ([np.repeat(each, k, axis=0) for each in brief[:calls]] for k in (runs, _SEVERAL))
    each_alone = slice(None if iterations or reuses else 1)  # any call may be the first of its kind
    is_used_again = in_other_calls and not iterations and not reuses and runs > 2
    first = [] if is_used_again else brief[:repeats]
    unheard_calls = [*brief[:calls], *batch[:is_used_again]]
    unheard = _of_calls(run, unheard_calls, first, ways=_UNHEARD) if in_other_calls else []
    several = [run([*batch, three[0]]) if is_used_again else aside(three[each_alone])]
    by_way = {way: (three[each_alone], way) for way in _WAYS if way != Way() and (way.is_heard or in_other_calls)}
    if not long:
        several += [aside(each, ways=way) for each, way in by_way.values()]
    full: list[tuple[Calls, Way]] = []
    if not long and np.shape(inputs[0])[2] > _FEW:  # with as many entries as the data have
        full_calls = inputs if iterations else inputs[:1]
        full = [([np.repeat(each, 2, axis=0) for each in full_calls], Way()), (full_calls, Way(masks_seed=0))]
        several += [aside(each, ways=way) for each, way in full]
        unheard += [aside(full_calls, ways=_UNHEARD)] if in_other_calls else []
    alone = [fit, *discarded, *traces, *several]
    others, all_tried = _otherwise(run, inputs, fit, apart=not reuses)
    if long and any(each.kept[1:] and each.kept[1] != each.kept[0] for each in (fit, *others)):
        return again(given)
    fits = [*alone, *others, *unheard]
    kinds: list[tuple[Calls, Way]] = [(brief[:calls], way) for way in by_way]
    kinds += [(three, Way()), *[(batch, Way())] * is_used_again, *full, *by_way.values()]
    not_heard = [*[batch] * is_used_again, *[full_calls for _ in full[:1]]]
    kinds += [(each, _UNHEARD) for each in not_heard] * in_other_calls
    in_kinds, tried_in_kinds = (
        _in_kinds(run, [(each[each_alone], way) for each, way in kinds], apart=not reuses)
        if all_tried and any(each.trace.turns for each in fits)
        else ([], {})
    )
    fits += in_kinds
    looks = [(each.kept[2], each.kept[3]) for each in fits if len(each.kept) > _CALLS]
    mixed: list[Fit] = []
    if in_other_calls and not (iterations or reuses):
        most = min(_MOST_RUNS, max(_NUMBERS * len(fit.results) // max(_size(fit), 1), 2))
        if any(map(_leaves_something, fits)) or _leaves_in_use(
            protocol, network, brief[0], {1, _SEVERAL, runs, most}, seed
        ):
            mixed = [_of_all_kinds(run, brief[0], runs)]
            looks += _looks_at_all(mixed[0])
            fits += mixed
    traces[0].is_as_another = fit.is_as_another  # by which it was judged
    telling = [each for each in fits if each is fit or not (fit.is_as_another and each.is_as_another)]
    texts: list[Place] = []
    guards = {guard: each.trace.script for each in (*reversed(others), *discarded, fit) for guard in _guards(each)}
    in_call = {  # how often each is met in a call
        guard: max(_guards(fit).get(guard, 1) // (1 if iterations and guard in fit.trace.guards else len(inputs)), 1)
        for guard in guards
    }

    def reasons() -> Iterator[str]:
        yield from (each.error for each in alone)
        yield disagreement(protocol, network, fit, inputs, seed=seed)
        yield other_frames(*traces)
        checked = (otherwise_in_plain_calls(protocol, network, each, seed=seed) for each in fits if each is not fit)
        yield from (f"{each}, in calls of another kind" for each in checked if each)
        yield from (f"{each.error}, where public numbers are others" for each in (*others, *in_kinds) if each.error)
        yield from (
            _not_a_guard(run, fit, (brief[:calls], inputs), (*guard, time), script, texts)
            for guard, script in guards.items()
            for time in sorted({1, in_call[guard]})  # what is left behind may hang on how far a loop has come
        )
        yield from (f"{each.error}, where no channel is given" for each in unheard if each.error)
        yield from (f"{each.error}, where calls of other kinds come before" for each in mixed if each.error)
        met = (guard for each in (*several, *unheard, *in_kinds) for guard in _guards(each) if guard not in guards)
        yield from (f"a guard that calls of one run on a channel do not meet: {place}" for place, _ in met)
        yield from (shared_coins(each) or not_explained(each) for each in telling)
        if in_other_calls:
            yield other_calls(protocol, network, fit, inputs, seed=seed)

    open_ = next(filter(None, reasons()), "")  # what comes after the first is not asked
    if open_ and "draw_masks" in getattr(protocol, "__dict__", {}):
        open_ += "; its draws are public coins, since draw_masks is no method of its class: make it one"
    covers = [f"{how} ({place})" for each in fits for how, place in each.trace.by_value.items()]
    covers += [OUTLIVING] * (reuses and _leaves_something(fit))  # also where draw_masks keeps them
    tried = _turns(fit, *others) if all_tried else {}
    of_one_kind = [fit, *discarded, *others]
    in_others = _turns(*(each for each in fits if not any(each is one for one in of_one_kind)))
    untried = [turns for turns in _turns(*of_one_kind) if turns not in tried]
    untried += [turns for turns in in_others if turns not in tried_in_kinds]
    names = dict.fromkeys(name for turns in untried for _, name in turns)
    covers += [f"{name}, on which more hangs than was tried" for name in names]
    if iterations:  # what a call leaves is followed, where all traces begin alike but the first: that may fill a cache
        looks = [(fit.kept[0], each.kept[0]) for each in fits[2:]]
    covers += [f"{KEPT} ({first_change(*each)})".removesuffix(" ()") for each in looks if each[0] != each[1]][:1]
    for each in fits:  # it is compared by now, and would weigh on whoever keeps the proof
        each.kept, each.counts = [], []
    traced = runs if is_used_again else _SEVERAL
    of_few = f", and their vectors as {_FEW} entries are" * (is_cut and (long or traced > _SEVERAL))
    larger = [f"more runs in one call are treated as {traced} are{of_few}"] * in_other_calls
    assumes = _assumptions(fit, larger, [place for place, _ in (*fit.trace.guards, *guards)], texts)
    tables = _tables([] if open_ else telling)
    return Proof(tuple(telling), tables, open_, tuple(dict.fromkeys(covers)), assumes, tuple(iterations))


def _of_calls(run: Callable[..., Fit], calls: Calls, first: Calls, **how: Any) -> list[Fit]:
    """Trace calls; the ``first``, if there are any, alone, where they leave nothing and others can only repeat them.

    Where these say that all have to be traced, they are returned last, for all that they have met.
    """
    if not len(first):
        return [run(calls, **how)]
    fit = run(first, **how)
    is_enough = fit.error or not (_decides(fit) or _leaves_something(fit))
    return [fit] if is_enough else [run(calls, **how), fit]


_UNHEARD = Way(is_heard=False)
_WAYS = (Way(), _UNHEARD, Way(masks_seed=0), Way(is_heard=False, masks_seed=0))
_SEVERAL = 3  # runs of a batch that is traced in all ways: a pair of them, and one that is left
_ROUNDS = 3  # in which calls of all kinds come


def _of_all_kinds(run: Callable[..., Fit], inputs: Any, runs: int) -> Fit:
    """Trace calls of several kinds one after the other: single runs and batches, with a channel, masks, or without.

    Once all kinds have come each is to leave what it finds, whichever came before: so they come again, backwards first.
    """
    kinds = [(np.repeat(inputs, size, axis=0), way) for size in sorted({1, _SEVERAL, runs}) for way in _WAYS]
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


def _leaves_in_use(protocol: Any, network: Network, inputs: Any, sizes: Iterable[int], seed: int) -> bool:
    """Say whether an untraced call of any kind leaves anything, also of those kinds that take long to trace."""
    used, channel, modules, rng = copied(protocol), Channel(), modules_of(protocol), np.random.default_rng([seed])

    def look() -> Any:
        return kept(used, network, channel.__dict__, modules, frozenset())[0]

    before = look()
    for size, way in itertools.product(sorted(sizes), _WAYS):
        batch = np.repeat(inputs, size, axis=0)
        with suppress(Exception):  # of which others tell
            masks = used.draw_masks(size, inputs.shape[2], network, rng) if way.masks_seed is not None else None
            used.average(batch, network, rng, masks=masks, channel=channel if way.is_heard else None)
        if look() != before:
            return True
    return False


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


def _batch_followed(fit: Fit) -> int:
    """Count the runs of a batch that is traced, by what one of them takes."""
    numbers = sum(message.rows.size for message in fit.messages)
    most = min(_MOST_HANDED // max(numbers, 1), _MOST_STREAMS // max(len(fit.trace.streams), 1), _MOST_FOLLOWED)
    primes = (k for k in range(most, 2, -1) if all(k % divisor for divisor in range(2, math.isqrt(k) + 1)))
    return next(primes, 2)  # whatever runs are taken at a time, some are left


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
            if not taken.error and taken.kept[-1] != taken.kept[-2] and taken.kept[-1] not in fit.kept:
                return f"a call that ends in an error leaves something behind, after the guard {guard[0]}"
            return f"{taken.error}, after the guard {guard[0]}" if taken.error else ""
    return f"the guard is not met again: {guard[0]}"


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


def _assumptions(fit: Fit, larger: Iterable[str], stops: Iterable[Place], texts: Iterable[Place]) -> tuple[str, ...]:
    overflow = f"overflow beyond the {fit.largest_data:.3g} seen"
    assumed = ["the author of the protocol is honest, and may be mistaken"]
    assumed.append(f"sums are those of real numbers: rounding, and {overflow}, are not followed")
    assumed += larger
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


_MOST_RUNS, _NUMBERS = 1009, 10**6  # of the largest batch that is called: a prime, and how many numbers it may send
_EVERY, _MESSAGES = 65, 60_000  # below the first all batches are called, as far as they send no more messages


def other_calls(protocol: Any, network: Network, fit: Fit, inputs: Sequence[Any], *, seed: int) -> str:
    """Say how a call in use differs from a traced one, of a single run on a channel; empty where it does not.

    In use nobody hands over a channel, and many runs may be averaged in one call: each run of a batch sends what it
    sends in any other, by the same masks and coins. ``inputs`` are those of the calls of ``fit``, (runs, n, m) each.
    """
    inputs = [each[:1] for each in inputs[: len(fit.iterations) or 1]]
    alike = not fit.trace.system_seeds  # else calls of one seed send other numbers
    try:
        _, alone = copied(protocol).average(inputs[0], network, np.random.default_rng([seed]))
        _, together = copied(protocol).average(inputs[0], network, np.random.default_rng([seed]), channel=Channel())
        if difference := _unlike(list(alone), list(together), alike):
            return f"{difference} is another message where no channel is given"
        if alike and (difference := _handed_over(protocol, network, inputs[0], seed)):
            return f"{difference} is another message where masks are handed over"
        messages = sum(len(block.sender) for block in together) * len(inputs)
        return _other_batches(protocol, network, fit, inputs, seed, messages, alike)
    except Exception as error:
        return f"a call in use ends in {type(error).__name__}: {error}"[:200]


def _handed_over(protocol: Any, network: Network, given: Any, seed: int) -> str:
    """Name the first block that is another where a call is given the masks that it would draw first; empty: none.

    It is a long vector's only call of that kind with all entries. Where other masks are drawn, nothing is said.
    """
    drawn, own, runs = list[Any](), type(protocol).draw_masks, (len(given), np.shape(given)[2])

    def noted(self: Any, *args: Any, **kw: Any) -> Any:
        drawn.append(copy.deepcopy(masks := own(self, *args, **kw)))
        return masks

    with with_method(type(protocol), "draw_masks", noted):
        _, before = copied(protocol).average(given, network, np.random.default_rng([seed]), channel=Channel())
    for is_heard in (True, False):
        one, rng = copied(protocol), np.random.default_rng([seed])
        masks = one.draw_masks(*runs, network, rng)
        if len(drawn) == 1 and np.array_equal(drawn[0], masks):
            _, handed = one.average(given, network, rng, masks=masks, channel=Channel() if is_heard else None)
            if difference := _unlike(list(handed), list(before), alike=True):
                return difference
    return ""


def _other_batches(
    protocol: Any, network: Network, fit: Fit, inputs: Any, seed: int, messages: int, alike: bool
) -> str:
    most = min(_MOST_RUNS, max(_NUMBERS // max(messages * inputs[0].shape[2], 1), 2))
    batches = [each * (1 + np.arange(most) / most)[:, None, None] for each in inputs]
    draws = [
        copied(protocol).draw_masks(most, each.shape[2], network, np.random.default_rng([seed, 9])) for each in inputs
    ]

    def call(part: slice) -> list[Block]:
        channel, rng, of_these = Channel(), np.random.default_rng([seed]), copied(protocol)
        for channel.iteration, batch, masks in zip(fit.iterations or (0,), batches, draws, strict=True):
            of_these.average(batch[part], network, rng, masks=masks[part], channel=channel)
        return list(channel.transcript)

    if any(map(_is_repeated, draws)):
        return f"two of {most} runs in one call have the same masks"
    runs = min(most, _DRAWN_OF_SEEDS if fit.trace.streams else _MOST_FOLLOWED)
    if have_draws_in_common(protocol, network, runs, min(inputs[0].shape[2], _FEW), seed):
        return f"masks of several of {runs} runs in one call are made of the same draws"
    if _share_masks(protocol, network, fit, inputs[0], draws[0], seed):
        return f"two of {most} runs in one call have the same masks, where the protocol draws them"
    together = call(slice(None))
    for some in _batches(most, min(most, _EVERY, max(_MESSAGES // max(messages, 1), 2))):
        if difference := _unlike(together, call(some), alike, some, most):
            return f"{difference} is another message among {most} runs in one call than among {len(batches[0][some])}"
    return ""


def _batches(most: int, sizes: int) -> Iterator[slice]:
    """Yield which runs are called together: none is left out, and no size below so many.

    What hangs on the size of a batch, and on the place in it, shows whichever runs it is of: so batches of all sizes
    lie side by side, from the last run on and once more where they do not fit, and then come the largest.
    """
    end, size = most, 0
    while end > 0 or size < sizes - 1:
        end, size = (end if end > 0 else most), (size + 1 if size < sizes - 1 else _EVERY)
        yield slice(max(end - size, 0), end if size == _EVERY else max(end, size))
        end -= size


_DRAWN_OF_SEEDS = 17  # runs whose masks are followed where seeds make them: each is compared with all others
_FEW_RUNS = 5  # of equal inputs: where masks cancel, rounding and wrapped words leave fewer different numbers


def _share_masks(protocol: Any, network: Network, fit: Fit, inputs: Any, masks: Any, seed: int) -> bool:
    """Say whether runs of equal inputs send the same numbers in a large batch, where a few runs send all others.

    They do so in one call, or in the one after it, with masks that the protocol draws; ``masks`` are as many others.
    """
    draws = {v for v, each in fit.trace.variables.items() if each.kind == "draw"}
    masked = set[str]()
    for each in fit.messages:  # of a kind until one has a draw
        if each.frame[2] not in masked and not draws.isdisjoint(each.variables.tolist()):
            masked.add(each.frame[2])

    def calls(runs: int, most: int = 2, given: Any = None) -> list[list[Block]]:
        one, same = copied(protocol), np.repeat(inputs, runs, axis=0)
        rngs = [np.random.default_rng([seed, 5 + call]) for call in range(most)]
        return [list(one.average(same, network, rng, masks=given)[1]) for rng in rngs]

    runs = [_FEW_RUNS, _FEW_RUNS, *[len(masks)] * 3]
    several = zip(*calls(_FEW_RUNS), *calls(len(masks)), *calls(len(masks), 1, masks), strict=False)  # may send others
    blocks = [
        [block.payload for block in matching]
        for matching in several
        if matching[0].kind in masked
        and [block.payload.shape[1] for block in matching] == runs
        and matching[0].payload.dtype.kind in "iuf"
    ]
    sizes = [float(np.abs(few).max(initial=0)) for few, *_ in blocks if few.dtype.kind == "f"]
    allowed = ROUNDING * max(sizes, default=0.0)
    of_all = ([payload[: min(map(len, block))] for payload in block] for block in blocks)  # a lot may decide who sends
    return any(_are_shared(allowed, *block) for block in of_all)


def _are_shared(allowed: float, few_runs: Any, few_again: Any, many_runs: Any, many_again: Any, others: Any) -> bool:
    """Say whether runs of some row (P, runs, m) have the same numbers, in any order or entry, not so by chance.

    Others are those that differ by more than rounding. What all runs send alike has no mask in it, since a coin has it
    that another node begins, say.
    """

    def arenear(runs: Any) -> Any:
        runs = runs.astype(float)
        return near(runs[:, :1], runs[:, 1:], allowed).all(axis=2)

    def are_as_before(runs: Any, before: Any) -> Any:
        return (runs == before).mean(axis=1) > 0.5

    of_each = ~(arenear(few_runs).any(axis=1) | arenear(many_runs).all(axis=1))
    several = (each[of_each] for each in (few_runs, few_again, many_runs, many_again, others))
    few_runs, few_again, many_runs, many_again, others = several
    different = _different(many_runs)
    fresh = ~are_as_before(few_again, few_runs) & (_different(few_runs) == few_runs.shape[1]) & (different > 1)
    shared = (2 * different < _different(others)) | are_as_before(many_again, many_runs)
    rows = zip(many_runs, few_runs, strict=True)
    return bool((fresh & shared).any() or any(_is_repeated(many) and not _is_repeated(few) for many, few in rows))


def _different(runs: Any) -> Any:
    """Count the different numbers of each entry, (P, m)."""
    ordered = np.sort(runs, axis=1)
    return 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)


def _is_repeated(numbers: Any) -> bool:
    """Say whether two runs have the same numbers, in whatever order, where no two have by chance."""
    kind = numbers.dtype.kind
    bits = 64.0 if kind == "f" else math.log2(2.0 + float(numbers.max(initial=0)) - float(numbers.min(initial=0)))
    several = np.sort(numbers.reshape(len(numbers), -1), axis=1)
    return bool(several[:1].size * bits >= 64 and len({of_run.tobytes() for of_run in several}) < len(several))


def _unlike(blocks: list[Block], others: list[Block], alike: bool, part: slice = slice(None), most: int = 1) -> str:
    """Name the first block that differs from the other, by more than rounding where they are ``alike``; empty: none."""
    if len(blocks) != len(others):
        return f"one of {len(blocks)} or {len(others)} blocks"
    # Of another length than ``most`` it is the same for all runs, of which the others are ``part``.
    payloads = [x[:, part] if x.shape[1] == most else x for x in (block.payload for block in blocks)]
    for block, payload, other in zip(blocks, payloads, others, strict=True):
        same_kind = payload.dtype == other.payload.dtype and payload.dtype.kind in "biuf"
        if not same_kind or frame_of(block, payload) != frame_of(other, other.payload):
            return f"'{block.kind}' in round {block.round}"
    if not alike or all((x == other.payload).all() for x, other in zip(payloads, others, strict=True)):
        return ""
    a, b = (np.concatenate([x.ravel() for x in each], dtype=float) for each in (payloads, [x.payload for x in others]))
    sizes = [x.payload.ravel() for x in others if x.payload.dtype.kind != "b"]
    same = near(a, b, ROUNDING * np.fmax.reduce(abs(np.concatenate([np.zeros(1), *sizes]))))
    place = np.cumsum([each.size for each in payloads]).searchsorted(same.argmin(), "right")
    return "" if same.all() else f"'{blocks[place].kind}' in round {blocks[place].round}"


def other_frames(first: Fit, second: Fit) -> str:
    """Say how two traces of other inputs and other masks differ, but for their numbers; empty where they do not.

    Forms are equal, and so is what is public beside them: else a coefficient would be wrong, or hang on a secret.
    """
    if len(first.messages) != len(second.messages):
        return "other inputs make other messages"
    for a, b in zip(first.messages, second.messages, strict=True):
        if (a.frame, a.sender, a.receiver, a.content) != (b.frame, b.sender, b.receiver, b.content):
            return f"{a} is another message for other inputs"
        if not _same_forms(a.rows, b.rows, first, second):
            return f"{a} is made otherwise for other inputs"
    return ""


def _same_forms(a: Followed, b: Followed, first: Fit, second: Fit) -> bool:
    table, other, apart = a.table, b.table, second.trace.ends[0] - first.trace.ends[0]
    moved = second.is_as_another  # its columns are those of the first, but for how they are counted
    if table is None or other is None or not (moved or np.array_equal(table.columns + apart, other.columns)):
        pairs = zip(a.reading.ravel().tolist(), b.reading.ravel().tolist(), strict=True)
        return all(_same_form(x, y, first, second) for x, y in pairs)
    if not all(x is y or np.array_equal(x, y) for x, y in zip(table.numberless, other.numberless, strict=True)):
        return False
    off = _constants(table, first) - _constants(other, second)
    largest = np.maximum(largest_in(table, first), largest_in(other, second))
    public = near(table.values, other.values, ROUNDING * max(first.largest, second.largest))
    of_form = abs(off) <= ROUNDING * np.maximum(1e3 * largest, np.maximum(abs(table.values), abs(other.values)))
    return bool(np.where(table.is_public, public, of_form).all())


def _constants(table: Table, fit: Fit) -> Any:
    """Return what is public beside the combinations of a table."""
    at = np.add.outer(table.columns - fit.trace.ends[0], np.arange(table.values.shape[-1]))
    return table.values - table.scale[..., None] * (table.coefficients @ fit.values[at])


def _same_form(x: Any, y: Any, first: Fit, second: Fit) -> bool:
    if not (isinstance(x, Number) and isinstance(y, Number)):
        same = not isinstance(x, Number) and not isinstance(y, Number)
        largest = max(first.largest, second.largest)
        return same and bool(near(np.array(float(x)), np.array(float(y)), ROUNDING * largest))
    if (x.modulus, x.depends, x.pure) != (y.modulus, y.depends, y.pure) or not _same_terms(x, y, first, second):
        return False
    if not x.is_followed:
        back, beside = traced_back([x])[0], traced_back([y])[0]
        return len(back) == len(beside) and all(
            _same_form(a, b, first, second) for a, b in zip(back, beside, strict=True)
        )
    if x.modulus == 0:
        return True
    off = _constant(x, first) - _constant(y, second)
    if x.modulus != INF:
        off -= round(off / Fraction(x.modulus)) * Fraction(x.modulus)
    own = max(abs(x.value), abs(y.value)) if x.modulus == INF else 0.0  # its units may be others than those of masks
    return bool(abs(off) <= ROUNDING * max(1e3 * largest_within(x, first), 1e3 * largest_within(y, second), own))


def _same_terms(x: Number, y: Number, first: Fit, second: Fit) -> bool:
    """Say whether two forms are the same by variables counted within their fits."""
    apart = second.trace.ends[0] - first.trace.ends[0]
    long, other = packed(x.form), packed(y.form)
    if isinstance(x.form, Shared) and isinstance(y.form, Shared) and (x.scale, x.form.base) == (y.scale, y.form.base):
        return x.form.first + apart == y.form.first
    if long is not None and other is not None and x.scale == y.scale:
        same = np.array_equal(long.variables + apart, other.variables)
        return same and np.array_equal(long.coefficients, other.coefficients)
    return {v + apart: c for v, c in x.terms.items()} == dict(y.terms.items())


def _constant(number: Number, fit: Fit) -> Any:
    """Return what is public beside the form; exactly, where it is known modulo a number: coefficients may be long."""
    variables = fit.trace.variables
    if number.modulus == INF and (long := packed(number.form)) is not None:
        return number.value - number.scale * (long.coefficients @ fit.values[long.variables - fit.trace.ends[0]])
    if number.modulus == INF:
        return number.value - sum(c * variables[v].value for v, c in number.terms.items())
    pairs = [(c, variables[v].value) for v, c in number.form.items()]
    form = sum(c * x if type(c) is type(x) is int else Fraction(c) * Fraction(x) for c, x in pairs)
    return Fraction(number.value) - Fraction(number.scale) * form


def not_explained(fit: Fit) -> str:
    """Name the first message with what its sender neither made, nor held, nor was sent; empty: none."""
    first, last = fit.trace.ends
    # By node, the server last, which variables, counted from the first.
    held = np.zeros((fit.n + 1, last - first + 1), dtype=bool)
    by_all = np.zeros(last - first + 2, dtype=int)  # how many variables before each all nodes hold
    for message in fit.messages:
        if _held_by_all(message, by_all, first):  # nobody learns of another
            continue
        if _all_explained(message, held, fit):
            by_all[1:] = held[:-1].all(axis=0).cumsum()
            continue
        content: dict[int, Any] = {}
        for sender, receiver, row in zip(message.sender, message.receiver, message.content, strict=True):
            if row not in content:  # one at a time, since all may be much
                content = {row: variables_of(message.rows[row : row + 1]) - first}
            own, of_receiver = held[sender], held[receiver]
            if message.frame[3] != "held" or message.frame[2] == RESULT:
                left = {*(content[row][~own[content[row]]] + first).tolist()}
                strange = [v for v in sorted(left) if not _made(v, sender, lambda v: own[v - first], fit.trace)]  # noqa: B023
                if strange:
                    return f"{message} from {sender} has in it {_unknown(strange, sender, fit.trace)}"
            of_receiver[content[row]] = True
    return ""


def shared_coins(fit: Fit) -> str:
    """Name coins that a node uses in an encoding, and that something else is made of, or a seed; empty: none."""
    if not fit.encodings.coins:
        return ""
    variables, nodes = fit.trace.variables, dict[int, set[int]]()
    for code, coins in fit.encodings.coins.items():
        for coin in coins:
            nodes.setdefault(coin, set()).add(variables[code].node)
    sent = {*fit.made_of(fit.messages)}
    shared = next((v for v, of in nodes.items() if len(of) > 1 or v in sent or variables[v].stream >= 0), None)
    if shared is None:
        return ""
    return f"what a node encodes is made of draws that it does not have for itself alone: {variables[shared].place}"


def _held_by_all(message: Message, by_all: Any, first: int) -> bool:
    """Say whether a table from node to node has nothing in it but what all nodes held before."""
    table = message.rows.table
    if table is None or message.frame[3] == "held" or SERVER in (*message.sender, *message.receiver):
        return False
    columns, entries = table.columns - first, table.values.shape[-1]
    return bool((by_all[columns + entries] - by_all[columns] == entries).all())


def _all_explained(message: Message, held: Any, fit: Fit) -> bool:
    """Say whether a table has nothing in it but what its senders held before; then its receivers hold it, too."""
    table = message.rows.table
    if table is None or message.frame[3] == "held":
        return False
    used = np.zeros((len(table.values), held.shape[1]), dtype=bool)  # by row, in any run
    of_entry = table.coefficients.any(axis=1)
    for entry in range(table.values.shape[-1]):
        used[:, table.columns - fit.trace.ends[0] + entry] |= of_entry
    senders, content = map(list, zip(*{*zip(message.sender, message.content, strict=True)}, strict=True))
    if (used[content] & ~held[senders]).any():
        return False
    for row in {*content}:
        to = [receiver for receiver, which in zip(message.receiver, message.content, strict=True) if which == row]
        held[to] |= used[row]
    return True


def _unknown(variables: list[int], sender: int, trace: Trace) -> str:
    """Say what ``sender`` is not known to have, and how to mend it."""
    drawn = [v for v in (trace.variables[v] for v in variables) if v.stream >= 0 and not trace.streams[v.stream].pieces]
    if drawn:
        return f"coins of the system that the audit does not hand out, drawn at {drawn[0].place}: see secmix.wrap"
    return f"what {sender} neither holds nor was sent: note it with hold"


def _made(variable: int, sender: int, is_held: Callable[[int], bool], trace: Trace) -> bool:
    own = trace.variables[variable]
    return follows(variable, is_held, trace) if own.kind == "draw" else own.node == sender
