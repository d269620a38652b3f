"""What of a call hangs on public numbers, or on guards: each way that it may take is traced."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from secmix.kernel.tracing.trace import Fit, Way
from secmix.kernel.values.current_trace import Place

Calls = Sequence[Any]
_LEAST_TURNS, _MOST_WORK = 24, 100_000  # fits in which public numbers are others, and numbers that are sent in these


def turns_of(*fits: Fit) -> dict[tuple[tuple[int, str], ...], None]:
    """Return on what, of how many outcomes, calls hang one after the other, in order."""
    of_calls: dict[Any, list[tuple[int, str]]] = {}
    for fit in fits:
        for _, count, call, name in fit.trace.turns:
            of_calls.setdefault((id(fit), call), []).append((count, name))
    return dict.fromkeys(map(tuple, of_calls.values()))


def guards_of(fit: Fit) -> dict[tuple[Place, int], int]:
    """Return how often each guard was met, and each function that may fail: both end a call."""
    return {(place, 0): times for place, times in fit.trace.stops.items()} | fit.trace.guards


def not_a_guard(
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


def otherwise(run: Callable[..., Fit], inputs: Sequence[Any], fit: Fit, *, apart: bool) -> tuple[list[Fit], bool]:
    """Trace the fits in which public numbers are others, and say whether these are all.

    ``apart``, other numbers in one call are not combined with others in the next. That is all where what a call leaves
    does not hang on them; and of two calls that begin with the same, and may be any, one speaks for both.
    """
    fits: list[Fit] = []
    waiting, work = [(fit, 0)], 0
    turns, calls = fit.trace.turns, range(len(inputs))
    outcomes = [math.prod(count for _, count, at, _ in turns if at == call or not apart) for call in calls]
    if max(outcomes) > max(
        _LEAST_TURNS, _MOST_WORK * len(inputs) / max(size_of(fit), 1)
    ):  # of a call: more are counted
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
                work += size_of(fits[-1])
    if apart and any(each.kept != fit.kept[: len(each.kept)] for each in fits):
        return otherwise(run, inputs, fit, apart=False)
    return fits, True


def in_kinds(
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
        several, all_tried = otherwise(of_kind, calls, first, apart=apart)
        fits += [first, *several]
        if all_tried and all(each.kept == first.kept[: len(each.kept)] for each in several):
            tried |= turns_of(first, *several)
    return fits, tried


def size_of(fit: Fit) -> int:
    return sum(message.rows.size for message in fit.messages)
