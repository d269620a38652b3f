"""Prove a protocol on a network: trace it in all its ways, whoever looks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix.kernel.algebra import Component, components
from secmix.kernel.check import disagreement, not_explained, other_calls, other_frames
from secmix.kernel.kept import KEPT
from secmix.kernel.numbers import Number
from secmix.kernel.state import Place
from secmix.kernel.trace import Fit, follow
from secmix.network import Network
from secmix.transcript import SEALED, WITHOUT_KEY

_CALLS = 3
_LONG = 1000  # numbers that nodes sum: of more the calls after the first are traced with few entries
_MUCH, _TOO_MUCH = 2 * 10**6, 10**8  # terms that a call adds up: likewise, and of more nothing is traced
_FEW = 2  # entries of what is traced beside the fit: how a call is made does not hang on their number
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


def prove(
    protocol: Any, network: Network, inputs: Sequence[Any], *, seed: int = 0, in_other_calls: bool = True
) -> Proof:
    """Trace a sum protocol in all its ways: calls of a fit, masks drawn and given, guards and turns taken.

    ``inputs`` are those of three calls at least, (1, n, m) each, as the real data give them. Without ``in_other_calls``
    nothing is asked of calls without a channel and of batches of other sizes.
    """
    few = [each[:, :, :_FEW] for each in inputs[:_CALLS]]
    reuses = getattr(protocol, "reuses_masks", False)
    run = functools.partial(follow, protocol, network, seed=seed)
    handed = [run([each], masks_seed=k) for k, each in enumerate(few[1:])]
    terms = handed[0].trace.terms * inputs[0].shape[2] // few[1].shape[2]
    if terms > _TOO_MUCH:
        reason = f"a call adds up {terms:.1g} terms, more than are followed: use fewer nodes or entries"
        return Proof((handed[0],), (), reason, (), ())
    long = (np.size(inputs[0]) > _LONG or terms > _MUCH) and not reuses
    inputs = [inputs[0], *few[1:]] if long else inputs[:_CALLS]
    fit = run(inputs)
    if not fit.error and fit.varying:
        run = functools.partial(run, varying=fit.varying)
        fit = run(inputs)
        handed = [run([each], masks_seed=k) for k, each in enumerate(few[1:])]
    if fit.error:
        return Proof((fit,), (), fit.error, (), ())
    alone = [fit, *handed, run([np.repeat(few[0], 2, axis=0)])]
    others, all_tried = _otherwise(run, inputs, fit, apart=not reuses)
    fits = [*alone, *others]
    guards = {place: each.trace.script for each in (*reversed(others), fit) for place in each.trace.guards}

    def reasons() -> Iterator[str]:
        yield from (each.error for each in alone)
        yield disagreement(protocol, network, fit, inputs, seed=seed)
        yield other_frames(*handed)
        yield from (f"{each.error}, where public numbers are others" for each in others if each.error)
        yield from (_not_a_guard(run, fit, (few, inputs), place, script) for place, script in guards.items())
        yield from (not_explained(each) for each in fits)
        if in_other_calls:
            yield other_calls(protocol, network, inputs[0], seed=seed, alike=not fit.trace.system_seeds)

    open_ = next(filter(None, reasons()), "")  # what comes after the first is not asked
    covers = [f"{how} ({place})" for each in fits for how, place in each.trace.by_value.items()]
    names = dict.fromkeys(name for each in (fit, *others) for *_, name in each.trace.turns)
    covers += [f"{name}, on which more hangs than was tried" for name in names if not all_tried]
    covers += [KEPT] * any(len(each.kept) > _CALLS and each.kept[2] != each.kept[3] for each in fits)
    for each in fits:  # it is compared by now, and would weigh on whoever keeps the proof
        each.kept.clear()
        each.counts.clear()
    tables = tuple(components(_cells(each), each.trace.variables, each.formulas) for each in fits) if not open_ else ()
    assumes = _assumptions(fit, guards) + (
        ("calls after the first treat all entries as they treat the first two",) * long
    )
    return Proof(tuple(fits), tables, open_, tuple(dict.fromkeys(covers)), assumes)


def _cells(fit: Fit) -> Iterator[tuple[tuple[int, int], Number]]:
    for k, message in enumerate(fit.messages):
        for row, cells in enumerate(message.rows.objects):
            for cell in cells.ravel().tolist():
                if isinstance(cell, Number) and (cell.modulus == np.inf or cell.pure) and cell.form:
                    yield (k, row), cell


def _not_a_guard(
    run: Callable[..., Fit], fit: Fit, ways: Sequence[Sequence[Any]], place: Place, script: tuple[int, ...]
) -> str:
    """Say why a test decides more than whether the call ends in an error; ``ways`` are calls that may meet it.

    What is kept after it must be what was kept before, or what is kept after a call of ``fit``.
    """
    for inputs in ways:
        taken = run(inputs, flip=place, script=script)
        if taken.trace.answering:
            if not taken.error and taken.kept[-1] != taken.kept[-2] and taken.kept[-1] not in fit.kept:
                return f"a call that ends in an error leaves something behind, after the guard {place}"
            return f"{taken.error}, after the guard {place}" if taken.error else ""
    return f"the guard is not met again: {place}"


def _otherwise(run: Callable[..., Fit], inputs: Sequence[Any], fit: Fit, *, apart: bool) -> tuple[list[Fit], bool]:
    """Trace the fits in which public numbers are others, and say whether these are all.

    ``apart``, other numbers in one call are not combined with others in the next. That is all where what a call leaves
    does not hang on them; and of two calls that begin with the same, one speaks for both.
    """
    found: list[Fit] = []
    waiting, work = [(fit, 0)], 0
    ways = [
        math.prod(count for _, count, at, _ in fit.trace.turns if at == call or not apart) for call in range(_CALLS)
    ]
    if max(ways) > max(_LEAST_TURNS, _MOST_WORK / max(_size(fit), 1)):
        return [], False
    while waiting:
        one, begin = waiting.pop()
        outcomes = [outcome for outcome, *_ in one.trace.turns]
        for k, (_, count, call, _) in list(enumerate(one.trace.turns))[begin:]:
            if apart and fit.kept[call] in fit.kept[:call]:
                continue
            for other in {*range(count)} - {outcomes[k]}:
                if work > _MOST_WORK and len(found) >= _LEAST_TURNS:
                    return found, False
                found.append(run(inputs[: call + 1] if apart else inputs, script=(*outcomes[:k], other)))
                if found[-1].error:  # nothing is proved, whatever the others are
                    return found, True
                waiting.append((found[-1], k + 1))
                work += _size(found[-1])
    if apart and any(each.kept != fit.kept[: len(each.kept)] for each in found):
        return _otherwise(run, inputs, fit, apart=False)
    return found, True


def _size(fit: Fit) -> int:
    return sum(message.rows.size for message in fit.messages)


def _assumptions(fit: Fit, guards: Iterable[Place]) -> tuple[str, ...]:
    overflow = f"overflow beyond the {fit.largest_data:.3g} seen"
    assumed = ["the author of the protocol is honest, and may be mistaken"]
    assumed.append(f"sums are those of real numbers: rounding, and {overflow}, are not followed")
    made = dict.fromkeys(each.key[0] for each in fit.trace.streams if each.pieces)
    weak = " (no cryptographic generators)" * any(name.startswith(_NOT_CRYPTOGRAPHIC) for name in made)
    if made:
        assumed.append(f"nobody tells from random what {', '.join(made)}{weak} make of a secret seed")
    assumed += [WITHOUT_KEY] * any(message.frame[2].endswith(SEALED) for message in fit.messages)
    stops = "; ".join(str(place) for place in guards)
    return (*assumed, f"that a call ends in an error tells nothing that matters ({stops})") if stops else tuple(assumed)
