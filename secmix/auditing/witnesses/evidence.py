"""Witnesses: where nothing is proved, whether the adversary can compute a node's input from what it holds.

How it is got: The protocol runs again as in use: one object, call after call, which draws its masks itself, and once
more on many runs together. First comes the simplest decoder: a number that is sent as it is, as a float, as a word in
two's complement or as a rest, times and plus public constants. What these calls really print, log, write to files or
send by sockets is read likewise, by an outsider. Then come the ways out that the trace names, iterations in which the
protocol takes another turn and inputs that take a branch, and calls in long use, as of counters, coins and batches.
Last, every message that the adversary reads is read as a number, as a rest modulo the steps of the masks, and as bits;
of those it only notices, who sends when what to whom. A line or a linear regression from these to a node's input is
chosen in one life of the object, and judged in another, which shares no secret with it. It counts by how much it does
better than a regression on the sum of all honest inputs, which the average tells everybody. Where a library seals
words, it is tried on these inputs, without the secret key.

What it assumes: Nothing but that runs are independent. It is a lower bound: a better decoder may exist, so it
convicts and never acquits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.random import stream
from secmix.auditing import soundness
from secmix.auditing.evidence.decoding import MOST
from secmix.auditing.evidence.interface import Case, Evidence, Gathered, Kind
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.proof import proof_of, traced, unproved
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.auditing.soundness.holding import Place
from secmix.auditing.witnesses.calls.shown import in_long_use
from secmix.auditing.witnesses.clues import clues_in_frames, clues_in_numbers
from secmix.auditing.witnesses.decode import Decoded, decode, from_total
from secmix.auditing.witnesses.masks.off import MasksOff
from secmix.auditing.witnesses.plain import moduli
from secmix.auditing.witnesses.shown import KNOWN, Looks
from secmix.auditing.witnesses.unsealed import sealed_findings
from secmix.auditing.witnesses.usage import LEAST, Service, Use, steps_of, truth_of
from secmix.errors import SecmixError
from secmix.estimators.estimate import wilson
from secmix.kernel import KnownSums
from secmix.protocols import Defences
from secmix.protocols.interfaces import SumTraits

_STREAM = ("soundness", "witness")


def _applies(case: Case) -> bool:
    """Say whether a sum is not proved, or an encoding is known by proof, and what is summed are the data themselves."""
    summed = isinstance(case.setup, SumSetup) and not Defences(**case.cell.model.defences).blurs
    policy = case.cell.policy
    asks = policy.max_revealed_nodes is not None or policy.max_normalised_leakage is not None
    return summed and asks and (bool(_reasons(case)) or _knows_an_encoding(case))


def _knows_an_encoding(case: Case) -> bool:
    """Say whether it is proved that something is known which a node encodes: how much that tells is to be shown."""
    outcome = proof_of(case)
    return (
        isinstance(outcome, KnownSums) and bool(outcome.encoders) and max(outcome.exact.values(), default=0.0) >= KNOWN
    )


def _reasons(case: Case) -> list[str]:
    """Say why nobody is cleared; nothing where somebody is."""
    reasons = [unproved(case, node) for node in case.judged]
    return [*case.observation.doubts, *min(reasons, key=len, default=[])]


def _gather(case: Case) -> Gathered:
    """Look for what is told as it is, then for other decoders, then on the ways out: what is found ends it."""
    missed: list[str] = []
    # A stranger's numbers may be anything; they must not cost the other evidence.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for look in _looks(case, missed):
            try:
                if found := look():
                    return Gathered(found, missed=tuple(missed))
            except (ArithmeticError, ValueError, np.linalg.LinAlgError, SecmixError) as error:
                missed.append(f"witnesses, {type(error).__name__}: {error}")
    return Gathered(missed=tuple(missed))


def _looks(case: Case, missed: list[str]) -> Iterator[Callable[[], list[Finding]]]:
    assert isinstance(case.setup, SumSetup)
    assert isinstance(case.observation, SumObservation)
    setup, reasons = case.setup, _reasons(case)
    later = [t for t in case.observation.iterations if t >= 0] or case.observation.iterations
    inputs = {t: case.observation.inputs[t] for t in sorted({later[0], later[-1]})}
    built = soundness.fresh(case.built if case.built is not None else setup.protocol)
    service = Service(built, setup.network, setup.adversary, case.cell.seed)
    looks = Looks(case, service, inputs, _steps(case, inputs[later[0]].shape[2]), reasons)
    if not looks.nodes:
        return
    yield lambda: sealed_findings(case, looks.nodes)
    yield lambda: _masks_off(looks, built, missed)
    yield looks.as_audited
    yield looks.in_other_iterations
    yield looks.on_special_inputs
    yield lambda: in_long_use(looks)
    yield lambda: _by_decoders(looks, missed)


def _masks_off(looks: Looks, built: Any, missed: list[str]) -> list[Finding]:
    """Return what is left where masks cancel, or are known."""
    off = MasksOff.of(looks.case, built, looks.inputs, looks.doubts)
    if off is None:
        return []
    found = off.findings(looks.nodes)
    missed += [] if found else off.not_tried
    return found


def _by_decoders(looks: Looks, missed: list[str]) -> list[Finding]:
    """What other decoders get of ordinary calls."""
    first = next(iter(looks.inputs))
    n, _, m = looks.inputs[first].shape
    zeros = looks.service.zeros(first, n, m)
    for way in (looks.service.single_calls, looks.service.batches):
        for t, lives in way(looks.inputs).items():
            fitted, runs = (len(truth_of(each)) for each in (lives[0], [*lives[0], *lives[1]]))
            if min(fitted, runs - fitted) < LEAST // 2:
                missed.append(f"witnesses of iteration {t}: of {runs} calls no two halves are {LEAST // 2}")
            elif found := _decoded(looks, lives, zeros if t == first else {}, t):
                return found
    return []


def _decoded(
    looks: Looks, lives: tuple[list[Use], list[Use]], zeros: dict[Place, NDArray[Any]], iteration: int
) -> list[Finding]:
    case, uses, rng = looks.case, [*lives[0], *lives[1]], stream(looks.case.cell.seed, *_STREAM, iteration)
    truth, fitted = truth_of(uses), len(truth_of(lives[0]))
    frames = clues_in_frames(uses) if len(uses) > 2 else []
    clues = [*frames, *clues_in_numbers(uses, looks.doubts, looks.steps, zeros)]
    decoded = decode(truth, clues, looks.nodes, fitted, rng, from_total(truth, looks.honest, fitted))
    return [_finding(of, case.about(node), looks.doubts) for node, of in decoded.items() if _stands(of, case)]


def _stands(found: Decoded, case: Case) -> bool:
    """Whether it is a violation by itself."""
    limit = case.cell.policy.max_normalised_leakage
    return found.exact >= MOST * found.runs or (limit is not None and _low(found) > limit)


def _steps(case: Case, m: int) -> list[float]:
    """Steps modulo which masks vanish: of the numbers that are drawn, of what the trace reduced, and the factors of a
    modulus."""
    assert isinstance(case.setup, SumSetup)
    traits, proof = SumTraits.of(case.setup.protocol), traced(case)
    found = [] if proof is None else moduli(proof)
    rng = stream(case.cell.seed, "soundness", "steps of masks")
    try:
        masks = np.asarray(soundness.fresh(case.setup.protocol).draw_masks(60, m, case.setup.network, rng))
    except Exception:  # a stranger's code may fail in any way: then nothing is known of its masks
        return found
    words = masks.dtype.kind in "iu"
    found += [float(np.gcd.reduce(masks, axis=None))] if words else steps_of(masks.astype(float)[:, :1, :1].ravel())
    if traits.modulus is not None and traits.grid:
        number = round(traits.modulus / traits.grid)
        for factor in (2, 3, 5):
            power = factor
            while number % power == 0 and power < number:
                found += [traits.grid * power]
                power *= factor
        found.append(traits.grid)
    return found


def _low(found: Decoded) -> float:
    """Lower end of the explained variance of the best entry."""
    return max(0.0, 1.0 - found.error.high**2)


def _finding(found: Decoded, about: dict[str, Any], doubts: Sequence[str]) -> Finding:
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
        runs=found.runs,
        hits=found.exact,
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
