"""Witnesses: where nothing is proved, whether the adversary can compute a node's input from what it holds.

How it is got: The protocol runs again as in use: one object, call after call, which draws its masks itself, and once
more on many runs together. Every message that the adversary reads is read as a number, as a rest modulo the steps of
the masks, and as bits; of those it only notices, who sends when what to whom. A line or a linear regression from these
to a node's input is chosen in one life of the object, and judged in another, which shares no secret with it. It counts
by how much it does better than a regression on the sum of all honest inputs, which the average tells everybody.

What it assumes: Nothing but that runs are independent. It is a lower bound: a better decoder may exist, so it
convicts and never acquits.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing import soundness
from secmix.auditing.evidence.decoding import MOST
from secmix.auditing.evidence.interface import Case, Evidence, Gathered, Kind
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.proof import unproved
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.auditing.soundness.holding import Place
from secmix.auditing.witnesses.clues import clues_in_frames, clues_in_numbers
from secmix.auditing.witnesses.decode import Decoded, decode, from_total
from secmix.auditing.witnesses.usage import LEAST, Service, Use, steps_of
from secmix.errors import SecmixError
from secmix.estimators.estimate import wilson
from secmix.protocols import Defences
from secmix.protocols.interfaces import SumTraits

_STREAM = ("soundness", "witness")


def _applies(case: Case) -> bool:
    """Say whether a sum is not proved, and what is summed are the data themselves."""
    summed = isinstance(case.setup, SumSetup) and not Defences(**case.cell.model.defences).blurs
    policy = case.cell.policy
    asks = policy.max_revealed_nodes is not None or policy.max_normalised_leakage is not None
    return summed and asks and bool(_reasons(case))


def _reasons(case: Case) -> list[str]:
    """Say why nobody is cleared; nothing where somebody is."""
    reasons = [unproved(case, node) for node in case.judged]
    return [*case.observation.doubts, *min(reasons, key=len, default=[])]


def _gather(case: Case) -> Gathered:
    # A stranger's numbers may be anything; they must not cost the other evidence.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return _found(case)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError, SecmixError):
            return Gathered()


def _found(case: Case) -> Gathered:
    assert isinstance(case.setup, SumSetup)
    assert isinstance(case.observation, SumObservation)
    setup, reasons = case.setup, _reasons(case)
    later = [t for t in case.observation.iterations if t >= 0] or case.observation.iterations
    inputs = {t: case.observation.inputs[t] for t in sorted({later[0], later[-1]})}
    n, _, m = inputs[later[0]].shape
    built = soundness.fresh(case.built if case.built is not None else setup.protocol)
    service = Service(built, setup.network, setup.adversary, case.cell.seed)
    steps = _steps(setup, m, case.cell.seed)
    zeros = service.zeros(later[0], n, m)
    for how in (service.single_calls, service.batches):
        for t, lives in how(inputs).items():
            rng = stream(case.cell.seed, *_STREAM, t)
            found = _decoded(case, reasons, lives, steps, zeros if t == later[0] else {}, rng)
            if found:  # what is known in ordinary calls needs no others
                return Gathered(found)
    return Gathered()


def _decoded(
    case: Case,
    reasons: list[str],
    lives: tuple[list[Use], list[Use]],
    steps: list[float],
    zeros: dict[Place, NDArray[Any]],
    rng: np.random.Generator,
) -> list[Finding]:
    fitted, runs = len(_truth(lives[0])), sum(len(_truth(life)) for life in lives)
    if min(fitted, runs - fitted) < LEAST // 2:
        return []
    uses = [*lives[0], *lives[1]]
    clues = [*(clues_in_frames(uses) if len(uses) > 2 else []), *clues_in_numbers(uses, reasons, steps, zeros)]
    truth = _truth(uses)
    honest = [node for node in range(truth.shape[1]) if node not in case.setup.corrupt]
    decoded = decode(truth, clues, case.judged, fitted, rng, from_total(truth, honest, fitted))
    return [_finding(of, case.about(node), reasons) for node, of in decoded.items() if _stands(of, case)]


def _truth(uses: list[Use]) -> Array:
    return np.concatenate([use.truth for use in uses]) if uses else np.empty((0, 0, 0))


def _stands(found: Decoded, case: Case) -> bool:
    """Whether it is a violation by itself."""
    limit = case.cell.policy.max_normalised_leakage
    return found.exact >= MOST * found.runs or (limit is not None and _low(found) > limit)


def _steps(setup: SumSetup, m: int, seed: int) -> list[float]:
    """Steps modulo which masks vanish: of the numbers that are drawn, and the factors of a modulus."""
    traits = SumTraits.of(setup.protocol)
    try:
        masks = soundness.fresh(setup.protocol).draw_masks(
            60, m, setup.network, stream(seed, "soundness", "steps of masks")
        )
    except Exception:  # a stranger's code may fail in any way: then nothing is known of its masks
        return []
    found = steps_of(np.asarray(masks, dtype=float)[:, :1, :1].ravel())
    if traits.modulus is not None and traits.grid:
        words = round(traits.modulus / traits.grid)
        for factor in (2, 3, 5):
            power = factor
            while words % power == 0 and power < words:
                found += [traits.grid * power]
                power *= factor
        found.append(traits.grid)
    return found


def _low(found: Decoded) -> float:
    """Lower end of the explained variance of the best entry."""
    return max(0.0, 1.0 - found.error.high**2)


def _finding(found: Decoded, about: dict[str, Any], doubts: list[str]) -> Finding:
    value = max(0.0, 1.0 - found.error.value**2)
    share, known = wilson(found.exact, found.runs)[0], found.exact >= MOST * found.runs
    notes = [f"its input is computed by {found.how} of {found.where}, in {found.exact} of {found.runs} runs to 1e-6"]
    if not found.exact:
        notes = [f"entry {found.entry} of its input is computed by {found.how} of {found.where}"]
    return Finding(
        **about,
        evidence="witness",
        view="single",
        target="input",
        method=found.error.method,
        value=found.error.value,
        unit=found.error.unit,
        low=found.error.low,
        high=found.error.high,
        kind="upper bound",
        status="determined" if known else "resolved",
        normalised_leakage=max(value, found.exact / found.runs),
        normalised_low=max(_low(found), share),
        normalised_high=1.0,
        notes=[*notes, *doubts[:1]],
    )


EVIDENCE = Evidence(
    "witness",
    (
        Kind(
            "witness",
            "A node's input decoded where a check failed",
            "A check of the protocol failed, and at least one entry of the node's input can be computed from what the "
            "adversary holds in ordinary calls. The decoder was chosen on one half of the calls and judged on the "
            "other, against what the average tells. Gives a lower bound: a better decoder may exist.",
        ),
    ),
    _applies,
    _gather,
    rank=7,
    always=True,
)
