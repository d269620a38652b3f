"""Inputs and masks as no data of an audit are: zero, whole, all alike, tiny, at the numbers that stand in the code.

A linear message is c + A s + M r on these too, and sent as it is on all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.constants import levels
from secmix.auditing.soundness.masks.mixed import Mixed
from secmix.auditing.soundness.model import Bench, Case, Model, sizes_of
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.sight import numbers, other_frames
from secmix.estimators.exact.linear import KAPPA, residue

NAME = "corners"
_RANGE = 16.0  # times n: how far below the modulus numbers stay


def corners(bench: Bench, models: list[Model]) -> Check:
    """All of them in a call, and some by themselves."""
    before, witness = bench.calls, None
    for model in models if bench.light else models[:1]:
        usual, far = list(_usual(bench, model.case)), list(_levels(bench, model.case))
        batches = [usual, [*usual, *far]] if bench.light else [[*usual, *far[::4]]]
        for some in (*batches, *([each] for each in usual[: 10 if bench.light else 3 if not bench.heavy else 1])):
            inputs, masks = (np.stack(part) for part in zip(*some, strict=True))
            case = Case(model.case.iteration, inputs, masks, model.case.seed)
            witness = witness or _off(bench, model, case)
    done = bench.calls - before
    if witness is not None:
        return Check(NAME, "failed", "What is sent of certain numbers is not what is sent of others.", witness, done)
    return Check(
        NAME, "passed", "Zeros, whole and tiny numbers, ties and levels in the code change nothing.", calls=done
    )


def _usual(bench: Bench, case: Case) -> Iterator[tuple[Array, Array]]:
    """Corners of the inputs, then of the masks."""
    s, r = case.inputs[0], case.masks[0]
    odd = np.where(np.arange(s.shape[1]) % 2, s, 0.0)
    alike = np.repeat(s[:1], len(s), axis=0)
    part = np.where(np.arange(len(s))[:, None] == 0, 0.0, s)
    for each in (
        np.round(s) + 2.0,
        alike,
        odd,
        part,
        1e-12 * s,
        np.round(alike),
        -np.abs(s),
        np.abs(s),
        0.0 * s,
        -0.0 * s,
    ):
        yield each, r
    for each in (1e-30 * s, 1e-200 * s, np.ones_like(s), np.sort(s, axis=1), np.full_like(s, 1e-9)):
        yield each, r
    if bench.modulus is None:
        for each in (np.round(r), np.abs(r), -np.abs(r), 8.0 * r, np.repeat(r[:1], len(r), axis=0), np.sort(r, axis=1)):
            yield s, each


def _levels(bench: Bench, case: Case) -> Iterator[tuple[Array, Array]]:
    """Inputs and masks about the numbers in the code, these in units of their size too."""
    s, r = case.inputs[-1], case.masks[-1]
    inner = bench.protocol.inner if isinstance(bench.protocol, Mixed) else bench.protocol
    sign = np.where(np.indices(s.shape).sum(axis=0) % 2, -1.0, 1.0)
    most = np.inf if bench.modulus is None else bench.modulus / (_RANGE * len(s))
    for level in levels(inner):
        if level < most:
            yield np.where(sign > 0, level, s), r
            yield -level * (1 + 0.001 * np.abs(sign * s) / (1 + np.abs(s))), r
    size = float(r.std()) if r.size else 0.0
    if bench.modulus is None and size:
        ways = np.where(np.indices(r.shape).sum(axis=0) % 2, -1.0, 1.0)
        for level in chain.from_iterable((x, x * size) for x in levels(inner)[:40] if x < 64):
            yield s, level * ways


def _off(bench: Bench, model: Model, case: Case) -> Witness | None:
    """The first message that is not what the model says; none where the call refuses such numbers."""
    call = bench.call(case)
    if call.failure:
        return None
    seen = bench.eyes.see(call)
    if witness := other_frames(model.seen, seen, prefix=True):
        return witness
    linear = model.linear
    kept = np.flatnonzero(model.which < min(seen.heard, model.seen.heard))
    pairs = [(row, seen.rows[model.which[row]]) for row in kept.tolist()]
    if any(values.shape != case.inputs[:, 0].shape for _, values in pairs):
        return Witness("the messages", "they are of another length")
    if not pairs:
        return None
    part, places = linear.rows(kept), model.which[kept]
    values = part.normalised(np.stack([numbers(values) for _, values in pairs]).copy())
    off = values - np.tensordot(part.A, case.inputs.transpose(1, 0, 2), axes=1)
    off -= np.tensordot(part.M, case.masks.transpose(1, 0, 2), axes=1)
    off = np.abs(residue(off, linear.modulus))
    scale = 1.0 if part.scale is None else part.scale[:, None, None]
    terms = np.maximum(seen.tops[places][:, : case.runs, None], sizes_of(part, case))
    allowed = KAPPA * seen.coarseness[places, None, None] * terms * scale
    allowed = allowed + 1.01 * bench.grid * np.abs(part.A).sum(axis=1)[:, None, None]
    bad = np.argwhere(~(off <= allowed))
    if not len(bad):
        return None
    row, _, entry = bad[0]
    return Witness(seen.names[places[row]], "of certain numbers it is something else", int(entry))
