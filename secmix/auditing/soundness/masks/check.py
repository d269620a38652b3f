"""Where mixed masks come from: each call's are explained by draws, and they open no more than they should."""

from __future__ import annotations

import numpy as np

from secmix._base.random import sequence
from secmix.auditing.soundness.masks.law import Roles
from secmix.auditing.soundness.masks.mixed import Mixed, drawn_by
from secmix.auditing.soundness.mechanisms.moves import moves_of
from secmix.auditing.soundness.mechanisms.provenance import LARGE, MOVED, NAME, PEAKS, SHAPES, TOLD, repeats
from secmix.auditing.soundness.model import Bench, Case, Model, read_model
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.runner import fresh


def mixed(bench: Bench, model: Model) -> Check:
    """As ``provenance``, for masks that are no draws of their own: each call's are explained by draws that are."""
    protocol = bench.protocol
    assert isinstance(protocol, Mixed)
    law, roles, m = protocol.law, Roles(protocol.law, bench.seed), model.case.inputs.shape[2]
    large = (bench.runs, m) if bench.runs * len(law.offset) * m <= LARGE else (bench.runs, 1)
    used = bench.used.inner if isinstance(bench.used, Mixed) else fresh(protocol.inner)
    newly = [(fresh(protocol.inner), shape) for shape in ((6, m), (1, m))]
    witness, before = None, np.empty((0, 0, 0))
    for place, (one, shape) in enumerate([*newly, *((used, shape) for shape in [*SHAPES, large])]):
        seeds = sequence(bench.seed, "soundness", "masks", place)
        masks = drawn_by(law, roles, one, shape, bench.network, seeds)
        if masks is None:
            what = "in some call they are not the linear image of independent draws that they are in others"
            witness = witness or Witness("the masks", what)
            break
        if repeats(law.of(masks), before, bench.modulus, bench.grid):
            witness = Witness("the masks", "the generator hands out the same draws again")
        before = law.of(masks)
    generator = np.random.Generator(np.random.PCG64(sequence(bench.seed, "soundness", "masks", -1)))
    again = [protocol.draw_masks(6, m, bench.network, generator) for _ in "ab"]
    if repeats(again[0], again[1], bench.modulus, bench.grid):
        witness = witness or Witness("the masks", "the generator hands out the same draws again")
    if witness is not None:
        return Check(NAME, "failed", "Masks cannot be traced to independent draws in every call.", witness)
    if more := _opened(bench, model):
        sentence = "Masks that depend on each other open more than the sum."
        return Check(NAME, "failed", sentence, Witness("all messages together", more))
    few = f"Masks are {len(law.kept)} that all others follow from, linear images of {law.mixing.shape[1]} draws"
    assumes = f"{few}, each of its own; that the generator's own draws cannot be predicted is assumed."
    if law.family in PEAKS:
        moves, told = moves_of(bench, model), 0.0
        if moves.free:
            _, moved, _ = moves.draw(bench.private(11), model.case, MOVED * bench.scale)
            told = law.told_apart(moved, PEAKS[law.family])
        apart = f"inputs {MOVED:g} spreads apart are told apart in up to {told:.2g} of the calls"
        if told > TOLD:
            sentence = "Masks that are not normal are too small for what they hide: make them larger, or normal."
            return Check(NAME, "failed", sentence, Witness("the masks", f"{law.family}: {apart}"))
        bench.masks = law.family
        assumes = f"{few}, which nobody can predict: {apart}."
    return Check(NAME, "passed", f"{few}, {law.family}, each of its own.", assumes=assumes)


def _opened(bench: Bench, model: Model) -> str:
    """A combination that is known because masks depend on each other, and that is not the sum; empty if there is none.

    A limit may allow for it; that the protocol means to tell it, nobody has said.
    """
    assert isinstance(bench.protocol, Mixed)
    n, case, eyes = bench.network.n, model.case, bench.eyes
    own = np.eye(n)[sorted(eyes.corrupt)]
    whole = Bench(bench.protocol.inner, bench.network, eyes, [], (), bench.scale, bench.seed)
    masks = bench.private(12).normal(size=(case.runs, len(bench.protocol.law.offset), case.masks.shape[2]))
    alone = Case(case.iteration, case.inputs, masks * (bench.grid or 1.0), case.seed)
    call = whole.call(whole.probed(alone))
    bases = [np.ones((1, n)), own]
    if not call.failure:
        bases.append(read_model(whole, alone, call).subspace.basis)
    allowed = np.vstack(bases)
    left = model.subspace.basis - model.subspace.basis @ np.linalg.pinv(allowed) @ allowed
    found = [
        words for words, row in zip(model.subspace.describe(), left, strict=True) if np.abs(row).max(initial=0.0) > 1e-6
    ]
    return f"{found[0]} is known" if found else ""
