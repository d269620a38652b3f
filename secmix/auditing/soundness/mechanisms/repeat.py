"""Whether a call depends on inputs, masks and public randomness alone: not on state, on company, or on who draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.compare import other_view, unlike_frames
from secmix.auditing.soundness.constants import whole_numbers
from secmix.auditing.soundness.masks.mixed import Mixed
from secmix.auditing.soundness.masks.traced import Logged
from secmix.auditing.soundness.mechanisms.generator import state_shown, unwatched
from secmix.auditing.soundness.mechanisms.moves import faint, moves_of, needed
from secmix.auditing.soundness.model import Bench, Case, Model, note_shares, read_model
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.runner import (
    ALLOWED,
    Call,
    call_alone,
    call_sum,
    fresh,
    same_bits,
    same_block,
    same_blocks,
)
from secmix.auditing.soundness.sight import Seen, other_frames, other_numbers
from secmix.transcript import Block

_LIFE = 48  # calls of one object in a row, at most
_COMPANIES = (slice(0, 1), slice(1, 2), slice(0, 2), slice(0, 3))  # runs of a call
_SIZES = (*range(5, 17), 20, 21, 25, 32, 50, 64, 100)  # runs of a call, tiled
_NEXT = (*range(1, 17), 30, 100, 1000)  # iterations beyond the last one
_MOST_RUNS, _NUMBERS = 2000, 8_000_000  # runs to which a number in the code may point; numbers sent in all such calls
_HARDER = 2.0  # times as large masks must move to explain other inputs, in another course of a schedule
_COURSES, _COURSE = 16, 5000  # other courses that are looked at, and the first of their seeds
_MANY = 500  # messages of a call
_MESSAGES = 5000  # of them together


def state(bench: Bench, models: list[Model]) -> Check:
    """A used object and a fresh copy send the same, and draw the same masks."""
    name, before = "state", bench.calls
    witness: Witness | None = None
    for model in models:
        one = model.case.single(0)
        for case, wanted in ((model.case, 3), (one, _LIFE)):
            wanted = 1 if bench.heavy else wanted
            first = bench.call(case)
            seen = bench.eyes.see(first)
            again = min(wanted, max(_MESSAGES // max(first.messages, 1), 3))
            for _ in range(again if witness is None else 0):
                witness = witness or _unlike_bits(bench, first, bench.call(case, protocol=bench.used), seen)
        if bench.used is not None and witness is None:  # a copy need not be what it is a copy of
            witness = _unlike_bits(bench, bench.call(one, own=True), bench.call(one, protocol=bench.used, own=True))
    case = models[-1].case
    if witness is None:
        shape = (case.runs, case.inputs.shape[2], bench.network)
        drawn = [
            np.asarray(p.draw_masks(*shape, bench.private(2)))
            for p in (fresh(bench.protocol), bench.used or bench.protocol)
        ]
        if not same_bits(*drawn):
            witness = Witness("the masks", "a used object draws others from the same randomness")
    used = bench.calls - before
    sentence = f"Over {used} calls, a used object and fresh copies send the same messages to the last bit."
    assumes = (
        f"{used} calls in a row were alike: what happens in fewer than one call in {max(used // 3, 1)} may be missed."
    )
    if witness is not None:
        sentence = (
            "What is sent depends on more than inputs, masks and public randomness. Draw what is random, session "
            "numbers too, from the generator that is given."
        )
    return Check(name, "failed" if witness else "passed", sentence, witness, used, assumes)


def _alone(bench: Bench, case: Case) -> Witness | None:
    """What is different where no channel is given, and the protocol makes its own."""
    bench.calls += 1
    alone = call_alone(fresh(bench.protocol), case.inputs, bench.network, bench.public(case.seed))
    if alone.failure or case.iteration:  # a channel of its own knows of no iteration
        return None
    return _unlike_bits(bench, bench.call(case, own=True), alone)


def _later(bench: Bench, models: list[Model]) -> Witness | None:
    """Iterations that the audit does not come to; what more is given away there is noted in the bench's shares.

    Those are the next, some far on, the start, and whatever numbers in the code point to.
    """
    case = models[-1].case
    many = (bench.most or 0) > ALLOWED * _MANY
    few = _one_by_one(case) if bench.heavy else case if many else None
    here = None if few is None else bench.eyes.see(bench.call(few))
    first: Call | None = None
    usual = (-1, *(case.iteration + more for more in ((1, 30) if many else _NEXT)))
    for iteration in dict.fromkeys((*usual, *_in_code(bench, 2 * _NEXT[-1]))):
        later = replace(case, iteration=iteration)
        if few and here and _says_the_same(bench, here, bench.call(replace(few, iteration=iteration))):
            continue
        call = bench.call(bench.probed(later))
        # What is known already need not be looked at again.
        if first is not None and _alike(first, call):
            continue
        if call.failure:  # so many may be too many for it, but not before it says what it says otherwise
            if first is None or same_blocks(_renamed(first, iteration)[: len(call.blocks)], call.blocks):
                continue
            return Witness(f"iteration {iteration}", f"it says something else, and ends with {call.failure}")
        first = first or call
        model = read_model(bench, later, call)
        if model.odd is not None:
            return Witness(f"iteration {iteration}, {model.odd.where}", model.odd.what, model.odd.entry)
        note_shares(bench, model)
        if faint(bench, models, model):
            return Witness(f"iteration {iteration}", "its masks hide less than those of others")
    return None


def _renamed(call: Call, iteration: int) -> list[Block]:
    return [replace(block, iteration=iteration) for block in call.blocks]


def _in_code(bench: Bench, most: int) -> list[int]:
    """Whole numbers to which the code points."""
    inner = bench.protocol.inner if isinstance(bench.protocol, Mixed) else bench.protocol
    return whole_numbers(inner, most, few=not bench.light)


def _alike(one: Call, other: Call) -> bool:
    """Whether two calls sent the same to the last bit, but for the number of the iteration."""
    return (
        len(one.blocks) == len(other.blocks)
        and all(same_block(a, replace(b, iteration=a.iteration)) for a, b in zip(one.blocks, other.blocks, strict=True))
        and same_bits(one.results, other.results)
    )


def _one_by_one(case: Case) -> Case:
    """Real runs, each node's unit input without any mask, and the masks of the real runs without inputs.

    In place of all unit masks, of which there may be thousands: messages that are the same in these runs have the same
    coefficients of every node, and of the masks but for a chance of rounding.
    """
    runs, n, m = case.inputs.shape
    inputs = np.concatenate([case.inputs, np.repeat(np.eye(n)[:, :, None], m, axis=2), np.zeros((runs, n, m))])
    masks = np.concatenate([case.masks, np.zeros((n, *case.masks.shape[1:])), case.masks])
    return Case(case.iteration, inputs, masks, case.seed)


def _says_the_same(bench: Bench, first: Seen, call: Call) -> bool:
    return not call.failure and first.same_numbers(bench.eyes.see(call))


def _unrecorded(bench: Bench, case: Case) -> Witness | None:
    """What is different on a channel that says that it keeps no record, as in use."""
    return _unlike_bits(bench, bench.call(case), bench.call(case, record=False))


def _in_other_forms(bench: Bench, model: Model, first: Seen) -> Witness | None:
    """What is different where inputs lie otherwise in memory, are a list, or may not be written on."""
    one = model.case
    for name, form in _FORMS.items():
        call = bench.call(one, form=form)
        if call.failure:  # it says that it takes no such inputs
            continue
        seen = bench.eyes.see(call)
        if witness := other_frames(first, seen) or other_view(model, (one, first), (one, seen)):
            return replace(witness, where=f"inputs given as {name}, {witness.where}")
    return None


def _in_other_sizes(bench: Bench, model: Model, together: Seen) -> Witness | None:
    """What is different where more runs go at once: those of the case, again and again."""
    sent = max((bench.most or 1) // ALLOWED, 1)
    sizes = _SIZES if sent <= _MANY else _SIZES[:3] if not bench.heavy else ()
    pointed = sorted(set(_in_code(bench, _MOST_RUNS)).difference(sizes, range(model.case.runs + 1)))
    allowed = np.cumsum(pointed) * sent * model.case.inputs.shape[2] <= _NUMBERS
    sizes = (*sizes, *(size for size, fits in zip(pointed, allowed.tolist(), strict=True) if fits))
    for size in sizes:
        tiled = np.arange(size) % model.case.runs
        many = model.case.some(tiled)
        call = bench.call(many)
        if call.failure:
            return Witness(f"{size} runs together", f"it ends with {call.failure}")
        seen = bench.eyes.see(call)
        witness = other_frames(together, seen, prefix=True)
        witness = witness or other_view(model, (many, together.of_runs(tiled)), (many, seen))
        if witness is not None:
            return replace(witness, where=f"{size} runs together, {witness.where}")
    return None


_FORMS: dict[str, Callable[[Array], Any]] = {
    "a view": lambda array: np.ascontiguousarray(array.transpose(2, 1, 0)).transpose(2, 1, 0),
    "a list": lambda array: array.tolist(),
    "what cannot be written on": lambda array: np.frombuffer(array.tobytes()).reshape(array.shape),
}


def _unlike_bits(bench: Bench, first: Call, other: Call, seen: Seen | None = None) -> Witness | None:
    """Where they differ by a bit; ``seen`` is the first, if it has been looked at."""
    if other.failure != first.failure:
        return Witness("the call", f"a used object ends with {other.failure or 'a result'}")
    one, two = seen or bench.eyes.see(first), bench.eyes.see(other)
    return other_frames(one, two) or other_numbers(one.rows, two.rows, one.names)


def calls(bench: Bench, models: list[Model]) -> Check:
    """Single runs send what they send in company; a protocol that draws its own masks draws those of draw_masks."""
    name, before = "calls", bench.calls
    witness = None
    seen = [bench.eyes.see(bench.call(model.case)) for model in models]
    for model, together in zip(models, seen, strict=True):
        for some in _COMPANIES if not bench.heavy else _COMPANIES[:2]:
            few = model.case.some(some)
            if witness is not None or few.runs in (0, model.case.runs):
                continue
            call = bench.call(few)
            if call.failure:
                what = "a single run" if few.runs == 1 else f"{few.runs} runs together"
                witness = Witness(what, f"it ends with {call.failure}")
                continue
            alone = bench.eyes.see(call)
            witness = other_frames(together, alone, prefix=True)
            witness = witness or other_view(model, (few, together.of_runs(some)), (few, alone))
        witness = witness or own_masks(bench, model) or _alone(bench, model.case.single(0))
        witness = witness or _unrecorded(bench, model.case.single(0))
        witness = witness or unwatched(bench, model.case.single(0)) or state_shown(bench, model.case)
        if witness is not None:
            break
    witness = witness or _in_other_forms(bench, models[0], seen[0]) or _in_other_sizes(bench, models[0], seen[0])
    witness = witness or _later(bench, models)
    done = bench.calls - before
    if witness is not None:
        sentence = "A run by itself, or one that draws its own masks, does not send what the audited runs do."
        return Check(name, "failed", sentence, witness, done)
    sentence = "Single runs send what they do in company, and masks that the protocol draws itself are those audited."
    return Check(name, "passed", sentence, calls=done)


def own_masks(bench: Bench, model: Model) -> Witness | None:
    """What is wrong where ``average`` draws its masks itself, which it does outside an audit."""
    drawn: list[tuple[int, ...]] = []
    foreign: list[np.random.Generator] = []

    def draws(case: Case) -> tuple[Call, int]:
        protocol = fresh(bench.protocol)
        if protocol is bench.protocol:
            raise TypeError("cannot be copied, so its draws cannot be watched")
        genuine, seen = protocol.draw_masks, len(drawn)
        rng = Logged(np.random.PCG64(bench.public_seed(case.seed)))

        def draw_masks(*arguments: Any, **more: Any) -> Array:
            given = [each for each in (*arguments, *more.values()) if isinstance(each, np.random.Generator)]
            foreign.extend(each for each in given if not isinstance(each, Logged) or each.log is not rng.log)
            own = np.asarray(genuine(*arguments, **more))  # as much randomness is used as ever
            drawn.append(own.shape)
            return case.masks.copy()

        object.__setattr__(protocol, "draw_masks", draw_masks)
        asked = Case(case.iteration, case.inputs, case.masks, case.seed)
        call = call_sum(protocol, asked.inputs, None, bench.network, rng, iteration=asked.iteration, most=bench.most)
        return bench.noted(call), len(drawn) - seen

    case = model.case
    probed = _one_by_one(case) if bench.heavy else bench.probed(case)
    call, times = draws(probed)
    if call.failure:
        return Witness("a call without masks", f"it ends with {call.failure}")
    if times != 1 and case.masks.shape[1]:
        return Witness("a call without masks", f"it calls draw_masks {times} times instead of once")
    if case.masks.shape[1] and drawn[-1] != probed.masks.shape:
        return Witness("a call without masks", "it draws masks of another shape")
    if foreign:
        return Witness("a call without masks", "it draws them from another generator than it was given")
    if bench.heavy:
        if _says_the_same(bench, bench.eyes.see(bench.call(probed)), call):
            return None
        probed = bench.probed(case)
        call, _ = draws(probed)
    # What is drawn in public may be another course now: the view of this one is read anew.
    own = read_model(bench, case, call)
    if own.odd is not None:
        return Witness(f"a call without masks, {own.odd.where}", own.odd.what, own.odd.entry)
    note_shares(bench, own)
    moves = moves_of(bench, own)
    if not moves.free:
        return None
    ds, dr, _ = moves.draw(bench.private(3), case, bench.scale)
    if bench.modulus is None and not _as_usual(bench, model, probed, float(np.linalg.norm(dr))):
        return Witness("a call without masks", "the masks that it draws hide less than those that it is given")
    moved = bench.probed(case.moved(ds, dr))  # as many numbers, so that as much is drawn
    looks = bench.eyes.see(draws(moved)[0])
    witness = unlike_frames(bench, (probed, own.seen), (moved, looks))
    return witness or other_view(own, (probed, own.seen), (moved, looks), exact=bench.modulus is not None)


def _as_usual(bench: Bench, model: Model, probed: Case, moved: float) -> bool:
    """Whether masks that are given must move as far as ``moved``, or nearly, to explain other inputs.

    They must in the course of ``model``, or in that which a call without masks took, its generator having drawn the
    masks before; or, where the course goes by lot in yet another way, in one of a few other courses.
    """

    if moved <= _HARDER * needed(bench, model, model.case):
        return True
    drawn = bench.public(model.case.seed)
    fresh(bench.protocol).draw_masks(probed.runs, probed.inputs.shape[2], bench.network, drawn)
    for rng in (drawn, *(bench.public(_COURSE + place) for place in range(_COURSES))):
        call = bench.call(probed, rng=rng)
        if not call.failure and moved <= _HARDER * needed(bench, read_model(bench, model.case, call), model.case):
            return True
    return False
