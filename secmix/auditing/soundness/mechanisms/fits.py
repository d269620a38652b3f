"""Whole fits: one object, one channel and averaging after averaging, on other data each time.

What an averaging says of the one before, or only on a channel that has carried something, or only in some iteration,
no single call shows. Two fits whose inputs differ in all of their averagings, by what leaves the known sums as they
are, must look the same from the first message to the last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.compare import other_view, unlike_frames
from secmix.auditing.soundness.mechanisms.moves import moves_of
from secmix.auditing.soundness.model import Bench, Case, Model, read_model
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.runner import ALLOWED, fresh
from secmix.auditing.soundness.sight import Seen
from secmix.network import Network
from secmix.transcript import Channel

NAME = "fits"
_TURNS, _FITS = 5, 4  # averagings beyond the last one that was audited, and pairs of fits
_MESSAGES = 8_000  # of all of them
_APART = 4.0  # spreads of the inputs


def fits(bench: Bench, models: list[Model]) -> Check:
    """Fits of single runs, with masks that are given and masks of their own."""
    before, witness = bench.calls, None
    first, last = models[0].case.iteration, models[-1].case.iteration
    messages = max((bench.most or 1) // ALLOWED, 1)
    turns = range(first, last + 1 + (_TURNS if bench.light else 0 if bench.heavy else 1))
    each = int(np.clip(_MESSAGES // (3 * messages * len(turns)), 1, _FITS))
    known = [_model_at(bench, models, t) for t in turns]
    tried = 0
    for number in range(each if any(moves_of(bench, model).free for model in known) else 0):
        rng, own = bench.private(20, number), bool(number % 2) or each == 1
        cases = [model.case.single((number + place) % model.case.runs) for place, model in enumerate(known)]
        shifts = [moves_of(bench, m).draw(rng, c, _APART * bench.scale)[:2] for m, c in zip(known, cases, strict=True)]
        moved = [[case.moved(*shift) for case, shift in zip(cases, shifts, strict=True)]]
        if bench.modulus is None:
            moved.append([case.moved(-ds, -dr) for case, (ds, dr) in zip(cases, shifts, strict=True)])
        one = _fit(bench, cases, own)
        for others in moved:
            witness = witness or _unlike(bench, known, (cases, one), (others, _fit(bench, others, own)))
            tried += 1
    done = bench.calls - before
    if witness is not None:
        sentence = "A fit on other data looks different, though no single averaging of it does."
        return Check(NAME, "failed", sentence, witness, done)
    return Check(
        NAME, "passed", f"{tried} fits of {len(turns)} averagings on other data gave the same view.", calls=done
    )


def _model_at(bench: Bench, models: list[Model], iteration: int) -> Model:
    """What is known of an averaging, on the data of one that was audited."""
    near = min(models, key=lambda model: abs(model.case.iteration - iteration))
    if near.case.iteration == iteration:
        return near
    case = replace(near.case, iteration=iteration)
    call = bench.call(bench.probed(case))
    return near if call.failure else read_model(bench, case, call)


def _fit(bench: Bench, cases: list[Case], own: bool) -> list[Seen | str]:
    """What is seen of each averaging, or the kind of error that ended it."""
    protocol, channel, drawing = fresh(bench.protocol), Channel(), bench.private(21)
    own = own and protocol is not bench.protocol
    seen: list[Seen | str] = []
    genuine, given = protocol.draw_masks, [cases[0].masks]

    def draw_masks(runs: int, m: int, network: Network, *_: Any, **__: Any) -> Array:
        genuine(runs, m, network, drawing)  # what it remembers of its draws it is to remember
        return given[-1].copy()

    if own:
        object.__setattr__(protocol, "draw_masks", draw_masks)
    for case in cases:
        given.append(case.masks)
        call = bench.call(case, protocol=protocol, own=own, channel=channel)
        seen.append(call.failure or bench.eyes.see(call))
    return seen


def _unlike(
    bench: Bench,
    models: list[Model],
    one: tuple[list[Case], list[Seen | str]],
    two: tuple[list[Case], list[Seen | str]],
) -> Witness | None:
    for model, a, b, mine, theirs in zip(models, one[0], two[0], one[1], two[1], strict=True):
        where = f"iteration {a.iteration} of a fit"
        if isinstance(mine, str) or isinstance(theirs, str):
            if mine == theirs:
                continue
            kind = mine if isinstance(mine, str) else theirs
            return Witness(where, f"it ends with {kind} on some data, and not on others")
        pairs = (a, mine), (b, theirs)
        witness = unlike_frames(bench, *pairs) or other_view(model, *pairs, exact=bench.modulus is not None)
        if witness is not None:
            return replace(witness, where=f"{where}, {witness.where}")
    return None
