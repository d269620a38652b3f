"""Indistinguishability: other honest inputs that agree in all that is known, and masks that explain them.

If the adversary knows no more of the inputs than the leaked subspace L says, then for every change Δs with L Δs = 0
there are masks r + Δr that make the same view of s + Δs. The protocol runs again on those, with the same public
randomness; what the adversary sees must be the same: frames, numbers, results (the simulation paradigm; Goldreich 2004,
ch. 7).
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from secmix.auditing.soundness.compare import other_view, unlike_frames
from secmix.auditing.soundness.mechanisms.moves import Moves, moves_of
from secmix.auditing.soundness.model import Bench, Case, Model
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.runner import ALLOWED, Call
from secmix.auditing.soundness.sight import Seen
from secmix.estimators.exact.linear import KAPPA

NAME = "replay"
RESIDUAL = 1e-12
_STEPS = (2.0**-10, 1.0, 2.0**10)
_APART = 2.0**4  # of the spread, between one node and the next where all are put in order
_AHEAD = 6  # nodes that are put before all others, and behind
_SINGLES = (6, 48)
_MESSAGES = 2_000  # of all single calls


def replay(bench: Bench, models: list[Model]) -> Check:
    """Replay every model's case as a batch and run by run."""
    before, tried = bench.calls, 0
    for model in models:
        moves = moves_of(bench, model)
        if not moves.free:
            continue
        rng = bench.private(1, model.case.iteration + 100)
        as_it_is = _look(bench, model.case)
        for step in _steps(bench):
            size = step * bench.scale
            ds, dr, residual = moves.draw(rng, model.case, size)
            if residual > RESIDUAL:
                what = f"no masks explain other inputs; {residual:.1g} of a change shows"
                return _failed(bench, before, Witness("all messages together", what))
            moved = model.case.moved(ds, dr)
            witness = _unlike(bench, model, as_it_is, moved, prefix=step > 1)
            if witness is not None:
                return _failed(bench, before, witness)
            tried += model.case.runs
        if isinstance(moves, Moves) and not bench.heavy and model is models[0]:
            witness, more = _in_order(bench, model, moves, as_it_is)
            if witness is not None:
                return _failed(bench, before, witness)
            tried += more
        singles = 2 if bench.heavy else int(np.clip(_MESSAGES // _messages(bench), *_SINGLES)) // len(models)
        ones = [_look(bench, model.case.single(run)) for run in range(min(singles, model.case.runs))]
        for run in range(singles):
            one = ones[run % len(ones)]
            ds, dr, _ = moves.draw(rng, one.case, (1.0 + run % 2) * bench.scale)
            witness = _unlike(bench, model, one, one.case.moved(ds, dr), prefix=False)
            if witness is not None:
                return _failed(bench, before, witness)
            tried += 1
    calls = bench.calls - before
    if not tried:
        return Check(NAME, "not applicable", "Every honest input is known already: nothing is left to replay.")
    sentence = f"{tried} runs on other inputs, with masks that explain them, gave the same view."
    assumes = (
        f"The view was the same on {tried} replays with honest inputs moved by 2^-10 to 2^10 of their spread, to "
        f"within {4 * KAPPA:g} units of rounding: what is coded below that, or beyond that range, is not seen."
    )
    return Check(NAME, "passed", sentence, calls=calls, assumes=assumes)


def _steps(bench: Bench) -> tuple[float, ...]:
    """How far inputs are moved, in spreads; residues not so far that they wrap round."""
    if bench.heavy:
        return (1.0,)
    if bench.modulus is None:
        return _STEPS
    room = bench.modulus / (64 * bench.network.n * max(float(bench.scale.max(initial=0.0)), 1e-300))
    return (1.0, min(_STEPS[-1], room)) if room > 2 else (1.0,)


class _Look(NamedTuple):
    """A call as it is, to which replays of it are held."""

    case: Case
    call: Call
    seen: Seen


def _look(bench: Bench, case: Case) -> _Look:
    call = bench.call(case)
    return _Look(case, call, bench.eyes.see(call))


def _in_order(bench: Bench, model: Model, moves: Moves, as_it_is: _Look) -> tuple[Witness | None, int]:
    """Replays in which nodes stand in order, or one before or behind all others; and how many runs were tried."""
    honest = [node for node in range(bench.network.n) if node not in bench.eyes.corrupt]
    chosen: list[int | None] = [None, *honest[: int(np.clip(_MESSAGES // _messages(bench), 1, _AHEAD))]]
    tried = 0
    for sign, node in product((1.0, -1.0), chosen):
        ds, dr, _ = moves.ordered(model.case, sign * _APART * bench.scale, node)
        witness = _unlike(bench, model, as_it_is, model.case.moved(ds, dr), prefix=True)
        if witness is not None:
            return witness, tried
        tried += model.case.runs
    return None, tried


def _messages(bench: Bench) -> int:
    return max((bench.most or 1) // ALLOWED, 1)


def _failed(bench: Bench, before: int, witness: Witness) -> Check:
    sentence = "Other inputs that agree in all that is said to be known, with masks that explain them, look different."
    return Check(NAME, "failed", sentence, witness, calls=bench.calls - before)


def _unlike(bench: Bench, model: Model, first: _Look, moved: Case, *, prefix: bool) -> Witness | None:
    other = bench.call(moved)
    if other.failure:
        return Witness("the call", f"it ends with {other.failure}, and did not before")
    pairs = (first.case, first.seen), (moved, bench.eyes.see(other))
    witness = unlike_frames(bench, *pairs, prefix=prefix)
    witness = witness or other_view(model, *pairs, exact=bench.modulus is not None)
    # As many messages took as many draws, unless the data decide.
    if witness is None and first.call.messages == other.messages and first.call.left != other.left:
        return Witness("the public generator", "it is left in another state, which shows in what it draws next")
    return witness
