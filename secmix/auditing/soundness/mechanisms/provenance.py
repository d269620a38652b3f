"""Where masks come from: each must be a constant times a draw of its own from the generator that draw_masks was given,
or all of them a linear image of such draws.

Statistics cannot tell masks that hide from masks that only look it: an offset, a grid, a short seed, a recurrence.
A generator that logs what it draws can. What cannot be traced to it may still be sound (an expanded seed, a product
of draws), but that is then the protocol's word.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import sequence
from secmix.auditing.soundness.masks.law import Roles
from secmix.auditing.soundness.masks.mixed import Mixed, drawn_by
from secmix.auditing.soundness.masks.traced import PEAKS, Logged, repeats, trace
from secmix.auditing.soundness.mechanisms.moves import moves_of
from secmix.auditing.soundness.model import Bench, Case, Model, read_model
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.runner import fresh, same_bits

NAME = "mask provenance"
_MOVED = 4.0  # spreads of the inputs: two inputs so far apart
_MOST = 0.05  # must not be told apart more often than this by masks that are not normal
_SHAPES = [(4, 2)] * 6 + [(1, 1)] * 4 + [(2, 3)] * 8  # runs and entries: the same again, as in fit after fit
_SINGLE = 5  # single runs of as many entries as in use
_LARGE = 200_000  # numbers traced at once


def provenance(bench: Bench, models: list[Model]) -> Check:
    """Draw masks in batches of several sizes, from a fresh object and from the used one, and trace each."""
    if isinstance(bench.protocol, Mixed):
        return _mixed(bench, models[0])
    case = models[0].case
    if not case.masks.shape[1]:
        return Check(NAME, "not applicable", "The protocol draws no masks.")
    witness = None
    m = case.inputs.shape[2]
    scales: list[Array] = []
    families: list[str] = []
    k = case.masks.shape[1]
    large = (bench.runs, m) if bench.runs * k * m <= _LARGE else (bench.runs, 1)
    used = bench.used or fresh(bench.protocol)
    newly = [(fresh(bench.protocol), shape) for shape in ((6, m), (1, m))]
    for place, (protocol, (runs, entries)) in enumerate(
        [*newly, *((used, shape) for shape in [*_SHAPES, *[(1, m)] * _SINGLE, large])]
    ):
        plain, bits = (np.random.PCG64(sequence(bench.seed, "soundness", "masks", place)) for _ in "ab")
        generator = Logged(bits)
        unlogged = np.asarray(
            fresh(protocol).draw_masks(runs, entries, bench.network, np.random.Generator(plain)), dtype=float
        )
        masks = np.asarray(protocol.draw_masks(runs, entries, bench.network, generator), dtype=float)
        if not same_bits(unlogged, masks):  # a protocol may look at what it is handed
            witness = witness or Witness("the masks", "from a generator that logs its draws they are others")
        if masks.shape != (runs, k, entries):
            witness = witness or Witness("the masks", "their number is not the same in each call")
            break
        traced = trace(masks, generator.log, bench.modulus, bench.grid, scales[0] if scales else None)
        again = np.asarray(protocol.draw_masks(runs, entries, bench.network, generator), dtype=float)
        if place < 3 and repeats(masks, again, bench.modulus, bench.grid):
            witness = witness or Witness("the masks", "the generator hands out the same draws again")
        witness = witness or traced.witness
        if families and traced.family != families[-1]:
            witness = witness or Witness("the masks", "they are not of the same distribution in each call")
        families.append(traced.family)
        scales.append(traced.scales)
    if witness is None:
        away = max(float(np.abs(each / scales[0] - 1).max(initial=0.0)) for each in scales)
        if away > 1e-9:
            witness = Witness("the masks", "their size is not the same in each call")
    if witness is not None:
        sentence = (
            "Masks cannot be traced to independent draws: what they hide is the protocol's word. Draw each from the "
            "generator that draw_masks is given, by itself, or make them of such draws by a linear map."
        )
        return Check(NAME, "failed", sentence, witness)
    what = "uniform residues" if bench.modulus is not None else families[0]
    assumes = (
        "Each mask was traced to a draw of its own; that the generator's own draws cannot be predicted is assumed."
    )
    if what in PEAKS:
        density = PEAKS[what] / scales[0]
        apart, failed = _separation(
            bench,
            models[0],
            what,
            lambda moved: float(np.tensordot(np.abs(moved), density, axes=([1], [0])).max(initial=0.0)),
        )
        if failed is not None:
            return failed
        assumes = f"Each mask was traced to a {what} draw of its own, which nobody can predict: {apart}."
    sentence = f"Every mask is a constant times a draw of its own, {what}, from the generator it was given."
    return Check(NAME, "passed", sentence, assumes=assumes)


def _separation(bench: Bench, model: Model, family: str, bound: Callable[[Array], float]) -> tuple[str, Check | None]:
    """How often two inputs are told apart by masks that are not normal, in words; a check that failed if too often.

    Masks that explain another input with the same leaked sums are moved by some Δr (runs, k, m); their joint density
    changes by at most Σ |Δr_j| times the largest density of each, which ``bound`` says of Δr. The rule holds for every
    distribution with one peak, and needs no normal one.
    """
    moves, share = moves_of(bench, model), 0.0
    if moves.free:
        _, moved, _ = moves.draw(bench.private(11), model.case, _MOVED * bench.scale)
        share = bound(moved)
    apart = f"inputs {_MOVED:g} spreads apart are told apart in up to {share:.2g} of the calls"
    if share > _MOST:
        sentence = "Masks that are not normal are too small for what they hide: make them larger, or normal."
        return apart, Check(NAME, "failed", sentence, Witness("the masks", f"{family}: {apart}"))
    bench.masks = family
    return apart, None


def _mixed(bench: Bench, model: Model) -> Check:
    """As ``provenance``, for masks that are no draws of their own: each call's are explained by draws that are."""
    protocol = bench.protocol
    assert isinstance(protocol, Mixed)
    law, roles, m = protocol.law, Roles(protocol.law, bench.seed), model.case.inputs.shape[2]
    large = (bench.runs, m) if bench.runs * len(law.offset) * m <= _LARGE else (bench.runs, 1)
    used = bench.used.inner if isinstance(bench.used, Mixed) else fresh(protocol.inner)
    newly = [(fresh(protocol.inner), shape) for shape in ((6, m), (1, m))]
    witness, before = None, np.empty((0, 0, 0))
    for place, (one, shape) in enumerate(
        [*newly, *((used, shape) for shape in [*_SHAPES, *[(1, m)] * _SINGLE, large])]
    ):
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
        peak = PEAKS[law.family]
        apart, failed = _separation(bench, model, law.family, lambda moved: law.distinguished(moved, peak))
        if failed is not None:
            return failed
        assumes = f"{few}, which nobody can predict: {apart}."
    return Check(NAME, "passed", f"{few}, {law.family}, each of its own.", assumes=assumes)


def _opened(bench: Bench, model: Model) -> str:
    """A combination that is known because masks depend on each other, and that is not the sum; empty if there is none.

    A limit may allow for it; that the protocol means to tell it, nobody has said.
    """
    assert isinstance(bench.protocol, Mixed)
    n, case, eyes = bench.network.n, model.case, bench.eyes
    own = np.eye(n)[sorted(eyes.corrupt)]
    unmixed = Bench(bench.protocol.inner, bench.network, eyes, [], (), bench.scale, bench.seed)
    masks = bench.private(12).normal(size=(case.runs, len(bench.protocol.law.offset), case.masks.shape[2]))
    alone = Case(case.iteration, case.inputs, masks * (bench.grid or 1.0), case.seed)
    call = unmixed.call(unmixed.probed(alone))
    bases = [np.ones((1, n)), own]
    if not call.failure:
        bases.append(read_model(unmixed, alone, call).subspace.basis)
    allowed = np.vstack(bases)
    left = model.subspace.basis - model.subspace.basis @ np.linalg.pinv(allowed) @ allowed
    found = [
        words for words, row in zip(model.subspace.describe(), left, strict=True) if np.abs(row).max(initial=0.0) > 1e-6
    ]
    return f"{found[0]} is known" if found else ""
