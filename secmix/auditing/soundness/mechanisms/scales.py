"""Whether size and sign matter: a linear protocol sends λ times as much for λ times as large inputs and masks."""

from __future__ import annotations

import numpy as np

from secmix.auditing.soundness.model import Bench, Model, note_shares, read_model
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.runner import same_bits
from secmix.auditing.soundness.sight import Seen, other_frames

NAME = "homogeneity"
FACTORS = (2.0, -1.0, 2.0**-7, 2.0**20)


def homogeneity(bench: Bench, models: list[Model]) -> Check:
    """V(λs, λr) = λ V(s, r) on the common beginning, and no more leaks at any λ than at 1."""
    if bench.modulus is not None:
        return Check(NAME, "not applicable", "Residues wrap round: other sizes are another matter.")
    before = bench.calls
    witness = None
    model = models[0]
    for factor in FACTORS:
        call = bench.call(bench.probed(model.case, factor))
        if call.failure:
            witness = Witness("the call", f"at {factor:g} times the size it ends with {call.failure}")
            break
        seen = bench.eyes.see(call)
        witness = other_frames(model.seen, seen, prefix=True)
        witness = witness or (None if bench.shifted else _unscaled(model.seen, seen, factor))
        if witness is None and (bench.grid or not _among(seen, model.seen, factor)):
            scaled = read_model(bench, model.case, call, factor)
            witness = scaled.odd or _more(bench, model, scaled, factor)
        if witness is not None:
            break
    done = bench.calls - before
    if witness is not None:
        return Check(NAME, "failed", "What is sent depends on the size or sign of the numbers.", witness, done)
    sentence = (
        f"At {', '.join(f'{factor:g}' for factor in FACTORS)} times the size, messages are that many times as large."
    )
    assumes = "Sizes from 2^-7 to 2^20 times those of the data were tried, and both signs; others are assumed alike."
    return Check(NAME, "passed", sentence, calls=done, assumes=assumes)


def _among(scaled: Seen, seen: Seen, factor: float) -> bool:
    """Whether ``scaled`` is the beginning of ``seen``, times ``factor`` to the last bit, probes and results included.

    Its rows then are the same linear functions as there, at other inputs; of fewer of them no more is known.
    """
    count = scaled.heard
    if count > seen.heard or not np.array_equal(abs(factor) * seen.tops[:count], scaled.tops[:count]):
        return False
    due = [factor * row for row in seen.rows]
    if not np.array_equal(seen.coarseness[:count], scaled.coarseness[:count]) or not all(
        same_bits(*pair) for pair in zip(due[:count], scaled.rows[:count], strict=True)
    ):
        return False
    results = scaled.rows[count:]  # who stops sooner ends with what it sent, or ended with, at another time
    return all(any(same_bits(result, row) for row in reversed(due)) for result in results)


def _unscaled(one: Seen, other: Seen, factor: float) -> Witness | None:
    pairs = [(one.rows[place], other.rows[place], one.names[place]) for place in range(min(one.heard, other.heard))]
    if one.heard == other.heard:  # what corrupt nodes end with
        pairs += zip(one.rows[one.heard :], other.rows[other.heard :], one.names[one.heard :], strict=False)
    for a, b, name in pairs:
        if a.dtype.kind != "f" or a.shape != b.shape:
            if a.shape == b.shape and bool(np.array_equal(a, b)) and bool((a == a[:1]).all()):
                continue
            return Witness(name, "it is no vector of floating-point numbers of the same length")
        if np.array_equal(a, b, equal_nan=True) and bool((a == a[:1]).all()):
            continue  # a public constant
        due = factor * a
        if not np.array_equal(due, b, equal_nan=True):
            entry = np.flatnonzero((due != b).any(axis=0))
            return Witness(name, f"at {factor:g} times the size it is something else", int(entry[0]))
    return None


def _more(bench: Bench, model: Model, scaled: Model, factor: float) -> Witness | None:
    mine, theirs = note_shares(bench, model), note_shares(bench, scaled)
    for node, share in theirs.items():
        if share > mine[node] + 1e-6:
            return Witness(f"the input of node {node}", f"at {factor:g} times the size {share:.0%} of it is known")
    return None
