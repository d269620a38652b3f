"""How each node of a cell stands, and what the cell says beside: all evidence about it in one line."""

from __future__ import annotations

import math

import numpy as np

from secmix.auditing import verdicts
from secmix.auditing.cells.attempt import in_doubt
from secmix.auditing.evidence.decoding import target_of
from secmix.auditing.evidence.gaussian import share_behind_masks
from secmix.auditing.evidence.interface import Case, evidence_of, is_of_runs
from secmix.auditing.evidence.premises import known_of_sums, output_share
from secmix.auditing.observation.collaborations import COLUMNS, CollaborationObservation
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.proof import proof_of, unproved
from secmix.auditing.report import Finding, NodeSummary
from secmix.auditing.setup import CollaborationSetup, Setup, SumSetup
from secmix.estimators.decoders import reconstruct
from secmix.protocols import Defences
from secmix.protocols.collaboration import CollaborationTraits
from secmix.scenario import Scenario
from secmix.transcript import SEALED, Origin

_ROWS, _DEALS = 10, 100  # rows of a group, and ways to draw from it, below which runs are much alike
_NEARLY = 0.99
"""Of a node of whose variance this share is known the error is a tenth of its spread at most. Whether it counts as
revealed a limit on revealed nodes does not say; so that limit alone does not clear it."""


def stand(case: Case, node: int, findings: list[Finding]) -> tuple[NodeSummary, list[str]]:
    """Return the line of ``node`` with its judged ``findings``, and the doubts about it."""
    observation = case.observation
    if isinstance(case.setup, SumSetup):
        assert isinstance(observation, SumObservation)
        doubts = _doubts(case.cell, case.setup, observation, node, findings)
        if not any(verdicts.is_revealed(finding) for finding in findings):
            doubts += unproved(case, node)
        doubts += in_doubt(case)
        exact = not observation.doubts
        share = given_away(case, node)
        return verdicts.summary(
            node, findings, doubts, share, clearance=proof_of(case), exact=exact, runs=case.cell.runs
        ), doubts
    assert isinstance(observation, CollaborationObservation)
    known = given_away(case, node)
    hidden = "; ".join([*observation.doubts, *in_doubt(case)]) or None
    sealed = any(origin.kind.endswith(SEALED) for origin in heard(case))
    return verdicts.summary_of_samples(
        node, findings, known, proof_of(case), hidden, runs=case.cell.runs, sealed=sealed
    ), []


def given_away(case: Case, node: int) -> float:
    """Return which share of a node's data the outcome itself gives away, of a collaboration at most."""
    if isinstance(case.setup, SumSetup):
        assert isinstance(case.observation, SumObservation)
        return output_share(case.setup, case.observation, node)
    assert isinstance(case.observation, CollaborationObservation)
    return _output_leakage(case.observation, node)


def notes(case: Case) -> list[str]:
    """What a reader of the cell's numbers must know."""
    cell, observation = case.cell, case.observation
    draws = [
        f"{cell.runs} runs; in each, rows are dealt anew without replacement from {case.setup.source}",
        *_few_rows(case.setup),
    ]
    if isinstance(case.setup, SumSetup):
        return [*draws, *_notes_on_sums(cell), *observation.doubts]
    assert isinstance(case.setup, CollaborationSetup)
    premises = CollaborationTraits.of(case.setup.protocol).premises(heard(case))
    return [*draws, *_notes_on_collaborations(cell), *premises, *observation.doubts]


def _few_rows(setup: Setup) -> list[str]:
    """Say of which nodes so few rows are at hand that runs are much alike."""
    if setup.groups is None:
        return []
    own = "each node draws from the rows of its own group, "
    sizes = [
        f"node {i}: {count} of {len(rows)}"
        for i, (count, rows) in enumerate(zip(setup.counts, setup.groups, strict=True))
    ]
    few = [
        f"node {i} has {len(rows)} rows to draw {count} from in each run: too few for resampling, what is measured of "
        "it says little"
        for i, (count, rows) in enumerate(zip(setup.counts, setup.groups, strict=True))
        if math.comb(len(rows), count) < _DEALS or len(rows) < _ROWS
    ]
    return [own + "; ".join(sizes), *few]


def heard(case: Case) -> list[Origin]:
    """The messages of a collaboration that the adversary reads, and that are not of its own nodes; none of a sum."""
    if not isinstance(case.observation, CollaborationObservation):
        return []
    origins = (origin for group in case.observation.groups for origin in group.view.origins)
    return [each for each in dict.fromkeys(origins) if each.line != "held" and each.sender not in case.setup.corrupt]


def leaked(case: Case) -> list[str]:
    """The basis of the leaked subspaces in words; none where the protocol does not sum."""
    if not isinstance(case.observation, SumObservation):
        return []
    described = [words for _, reading in case.observation.all_readings for words in reading.subspace.describe()]
    return list(dict.fromkeys(described))


def _doubts(
    cell: Scenario, setup: SumSetup, observation: SumObservation, node: int, findings: list[Finding]
) -> list[str]:
    """Why more may be known about ``node`` than the findings show."""
    doubts = list(observation.doubts)
    equations, unknowns = known_of_sums(setup, observation, node)
    if equations >= unknowns:
        counted = unknowns == setup.possible_rows
        behind = f"how often each of {unknowns} possible rows is" if counted else f"the {unknowns} unknown numbers"
        doubts.append(f"{equations} known sums over all iterations may be solved for {behind} behind them")
    if cell.policy.max_normalised_leakage is not None and not any(
        finding.verdict == "violated" or _bounds(finding) for finding in findings
    ):
        doubts.append("only lower bounds of its leakage were measured")
    now_and_then = max((f.value or 0.0 for f in findings if is_of_runs(f.evidence)), default=0.0)
    if cell.policy.max_normalised_leakage is None and now_and_then > 0:
        often = f"{now_and_then:.2%} of the runs"
        doubts.append(f"a row of it comes out in {often}: set max_normalised_leakage to say how often it may")
    share = max([share_behind_masks(setup, observation, node), *(finding.normalised_low for finding in findings)])
    if cell.policy.max_normalised_leakage is None and share >= _NEARLY:
        doubts.append(
            f"with masks of this size {min(share, 0.9999):.2%} of its variance is known, as good as revealed: "
            "set max_normalised_leakage to say how much may be"
        )
    return doubts


def solvable(case: Case, summaries: list[NodeSummary]) -> bool:
    """Whether of some node that is not revealed as many numbers are known as its rows and those it is summed with."""
    if not isinstance(case.setup, SumSetup) or not isinstance(case.observation, SumObservation):
        return False
    counts = [known_of_sums(case.setup, case.observation, s.node) for s in summaries if s.standing != "revealed"]
    return any(equations >= unknowns for equations, unknowns in counts)


def _bounds(finding: Finding) -> bool:
    """Whether it says how much is known at most."""
    evidence = evidence_of(finding.evidence)
    firm = finding.status != "unresolved" and finding.kind != "lower bound"
    return evidence is not None and evidence.bounds_leakage and firm


def _output_leakage(observation: CollaborationObservation, node: int) -> float:
    """Normalised leakage of what the adversary ends with by right, at most; 0 where that is nothing."""
    outputs = [group.output for group in observation.groups]
    target = target_of("row", np.concatenate([group.rows[node] for group in observation.groups]))
    if target is None or len({None if output is None else output.shape[1] for output in outputs}) > 1:
        return 0.0
    known = [output for output in outputs if output is not None]
    return reconstruct(target.values, np.concatenate(known)[:, :COLUMNS]).explained[2] if known else 0.0


def _notes_on_sums(cell: Scenario) -> list[str]:
    notes = [
        "exact evidence treats the summed vectors as independent between nodes and iterations; "
        "the measured evidence does not",
    ]
    defences = Defences(**cell.model.defences)
    if defences.blurs:
        notes.append(
            f"what enters the sums is blurred ({', '.join(defences.words)}): a sum or vector that is known is the "
            "blurred one, and of the rows exact evidence is an upper bound"
        )
    return notes


def _notes_on_collaborations(cell: Scenario) -> list[str]:
    notes = ["the protocol is no sum, so no exact evidence applies: what is shown is there, but there may be more"]
    if "reconstruction" not in cell.measure.evidence:
        notes.append("attacks made for its kinds of message were not tried: evidence 'reconstruction' was left out")
    return notes
