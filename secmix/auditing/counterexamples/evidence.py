"""Counterexamples: where nothing is proved, whether the adversary can compute a node's input from what it reads.

How it is got: The protocol runs again as in use: one object, call after call, which draws its masks itself, and once
more on a batch of runs. The simplest decoder comes first: a number that is sent as a float, as a word in two's
complement or as a residue, times and plus public constants; of a node that all others collude against, the average less
what they put in. An outsider reads what these calls really print, log, write to files or send by sockets in the same
way. Next come the branches that the trace names (iterations in which the
protocol does something else, and inputs that take a branch), and calls in long use (counters, coins, batches). Last,
every message that the adversary reads is turned into features: numbers, residues modulo the steps of the masks, and
bits; for other messages, their metadata. A line or a linear regression from a feature to a node's input is chosen on
one instance, and judged on another, which shares no secret with it. It counts as far as it is better than a regression
on the sum of all honest inputs, which the average reveals. If a library encrypts words, it is tested on these inputs,
without the secret key.

What it assumes: Only that runs are independent. It is a lower bound: a better decoder may exist, so it can show a
violation, but never clears a node.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.random import stream
from secmix.auditing.counterexamples.affine import moduli
from secmix.auditing.counterexamples.calls.long_use import in_long_use
from secmix.auditing.counterexamples.ciphers.unsealed import sealed_findings
from secmix.auditing.counterexamples.decode import Decoded, decode, from_total
from secmix.auditing.counterexamples.direct_reading import DirectReading
from secmix.auditing.counterexamples.features import metadata_features, number_features
from secmix.auditing.counterexamples.instance import LEAST, InstanceCall, ProtocolInstance, steps_of, truth_of
from secmix.auditing.counterexamples.masks.removal import MaskRemoval
from secmix.auditing.counterexamples.masks.untraced import UntracedSeeds
from secmix.auditing.evidence.decoding import MOST, of_decoder
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.proof import proof_of, traced, unproved
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup, blurring, deep_copy
from secmix.auditing.soundness.numbers_read import Place
from secmix.errors import SecmixError
from secmix.estimators.exact.leakage import KNOWN
from secmix.kernel import KnownSums
from secmix.protocols.interfaces import SumTraits

_STREAM = ("soundness", "witness")  # of random numbers, which its name decides


def _applies(case: CellContext) -> bool:
    """Check that a sum is not proved, or a proof reveals an encoding, and that the data themselves are summed."""
    summed = isinstance(case.setup, SumSetup) and not blurring(case.cell)
    policy = case.cell.policy
    asks = policy.max_revealed_nodes is not None or policy.max_normalised_leakage is not None
    return summed and asks and (bool(_reasons(case)) or _knows_an_encoding(case))


def _knows_an_encoding(case: CellContext) -> bool:
    """Check whether a proof shows that an encoding of a node is known, whose leakage is then measured."""
    outcome = proof_of(case)
    return (
        isinstance(outcome, KnownSums) and bool(outcome.encoders) and max(outcome.exact.values(), default=0.0) >= KNOWN
    )


def _reasons(case: CellContext) -> list[str]:
    """Collect the reasons why no node is cleared; empty if a node is."""
    reasons = [unproved(case, node) for node in case.judged]
    return [*case.observation.unmet_premises, *min(reasons, key=len, default=[])]


def _gather(case: CellContext) -> Gathered:
    """Try the decoders one after the other, the simplest first, until one finds something."""
    missed: list[str] = []
    if isinstance(case.setup, SumSetup) and case.setup.too_wide:
        return Gathered(missed=("counterexamples, which take more runs than fit",))
    # The protocol's numbers may be anything; errors here must not prevent other evidence.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for decoder in _decoders(case, missed):
            try:
                if findings := decoder():
                    return Gathered(findings, missed=tuple(missed))
            except (ArithmeticError, ValueError, np.linalg.LinAlgError, SecmixError) as error:
                missed.append(f"counterexamples, {type(error).__name__}: {error}")
    return Gathered(missed=tuple(missed))


def _decoders(case: CellContext, missed: list[str]) -> Iterator[Callable[[], list[Finding]]]:
    assert isinstance(case.setup, SumSetup)
    assert isinstance(case.observation, SumObservation)
    setup, reasons = case.setup, _reasons(case)
    later = [t for t in case.observation.iterations if t >= 0] or case.observation.iterations
    inputs = {t: case.observation.inputs[t] for t in sorted({later[0], later[-1]})}
    built = deep_copy(case.built if case.built is not None else setup.protocol)
    instance = ProtocolInstance(built, setup.network, setup.adversary, case.cell.seed)
    reading = DirectReading(case, instance, inputs, _steps(case, inputs[later[0]].shape[2]), reasons)
    if not reading.nodes:
        return
    yield lambda: sealed_findings(case, reading.nodes)
    if not case.confirms:  # what these find came out in all runs that they were judged on
        yield lambda: _masks_off(reading, built, missed)
        yield lambda: UntracedSeeds(reading, built).findings(missed)
        yield reading.as_audited
        yield reading.left_alone
        yield reading.in_other_iterations
        yield reading.on_special_inputs
        if case.cell.policy.covers != "traced":  # it makes calls after those that are asked about
            yield lambda: in_long_use(reading)
    yield lambda: _by_decoders(reading, missed)


def _masks_off(reading: DirectReading, built: Any, missed: list[str]) -> list[Finding]:
    """Find what remains where masks cancel, or are known."""
    removal = MaskRemoval.of(reading.case, built, reading.inputs, reading.reasons)
    if removal is None:
        return []
    findings = removal.findings(reading.nodes)
    missed += [] if findings else removal.not_tried
    return findings


def _by_decoders(reading: DirectReading, missed: list[str]) -> list[Finding]:
    """Fit decoders on features of ordinary calls."""
    first, inputs = next(iter(reading.inputs.items()))
    for t, (train, test) in reading.ordinary_calls():
        fitted, runs = (len(truth_of(calls)) for calls in (train, [*train, *test]))
        if min(fitted, runs - fitted) < LEAST // 2:
            missed.append(
                f"counterexamples of iteration {t}: {runs} calls completed, expected two halves of {LEAST // 2}; "
                "increase runs"
            )
            continue
        compares = t == first and any(_reads_vectors(call, inputs.shape[2]) for call in train)
        if findings := _decoded(reading, train, test, reading.calls_on_zeros if compares else {}, t):
            return findings
    return []


def _reads_vectors(call: InstanceCall, m: int) -> bool:
    """Check whether the adversary reads a message of ``m`` floats: only these are compared with calls on zeros."""
    return any(row.dtype == np.float64 and row.shape[1:] == (m,) for row in call.rows.values())


def _decoded(
    reading: DirectReading,
    train: list[InstanceCall],
    test: list[InstanceCall],
    zeros: dict[Place, NDArray[Any]],
    iteration: int,
) -> list[Finding]:
    case, calls, rng = reading.case, [*train, *test], stream(reading.case.cell.seed, *_STREAM, iteration)
    truth, fitted = truth_of(calls), len(truth_of(train))
    frames = metadata_features(calls) if len(calls) > 2 else []
    features = [*frames, *number_features(calls, reading.reasons, reading.steps, zeros)]
    decoded = decode(truth, features, reading.nodes, fitted, rng, from_total(truth, reading.honest, fitted))
    violations = {node: result for node, result in decoded.items() if _is_violation(result, case)}
    return [_finding(result, case.about(node), reading.reasons) for node, result in violations.items()]


def _is_violation(decoded: Decoded, case: CellContext) -> bool:
    """Check whether the decoding is a violation by itself."""
    limit = case.cell.policy.max_normalised_leakage
    return decoded.exact >= MOST * decoded.runs or (limit is not None and decoded.explained[1] > limit)


def _steps(case: CellContext, m: int) -> list[float]:
    """Collect moduli in which masks vanish: of the draws, of what the trace reduced, and factors of a modulus.
    modulus."""
    assert isinstance(case.setup, SumSetup)
    traits, proof = SumTraits.of(case.setup.protocol), traced(case)
    steps = [] if proof is None else moduli(proof)
    rng = stream(case.cell.seed, "soundness", "steps of masks")
    try:
        masks = np.asarray(deep_copy(case.setup.protocol).draw_masks(60, m, case.setup.network, rng))
    except Exception:  # the protocol's code may raise anything: its masks are then unknown
        return steps
    words = masks.dtype.kind in "iu"
    steps += [float(np.gcd.reduce(masks, axis=None))] if words else steps_of(masks.astype(float)[:, :1, :1].ravel())
    if traits.modulus is not None and traits.grid:
        number = round(traits.modulus / traits.grid)
        for factor in (2, 3, 5):
            power = factor
            while number % power == 0 and power < number:
                steps += [traits.grid * power]
                power *= factor
        steps.append(traits.grid)
    return steps


def _finding(decoded: Decoded, about: dict[str, Any], reasons: Sequence[str]) -> Finding:
    if decoded.exact:
        comes_out = f"gives it to 1e-6, in {decoded.exact} of {decoded.runs} runs"
        note = f"{decoded.where} tells its input: {decoded.how} {comes_out}"
    else:
        comes_out = f"gives {decoded.explained[0]:.0%} of its variance"
        note = f"{decoded.where} tells entry {decoded.entry} of its input: {decoded.how} {comes_out}"
    fields = {"evidence": "counterexample", "view": "single", "target": "input", "notes": [note, *reasons[:1]]}
    return of_decoder(about, decoded.error, decoded.known, decoded.exact, decoded.runs, **fields)


EVIDENCE = Evidence(
    "counterexample",
    (
        Kind(
            "counterexample",
            "A node's input decoded where nothing is proved",
            "Nothing is proved, and at least one entry of the node's input can be computed from what the adversary "
            "reads. "
            "The decoder was chosen on one half of the calls, judged on the other, and compared with what the average "
            "reveals. Gives a lower bound: a better decoder may exist.",
        ),
    ),
    _applies,
    _gather,
    rank=7,
    always=True,
)
