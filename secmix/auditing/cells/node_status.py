"""Summarise what a verdict on each node rests on beside its findings, and what a reader of the cell must know."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from secmix._base.naming import nodes_listed
from secmix.auditing.cell_parts import NodeSummary
from secmix.auditing.cells.groups import notes_on_groups
from secmix.auditing.decide import Premises
from secmix.auditing.evidence.decoding import target_of
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.noise.noise_bounds import noise_clearance
from secmix.auditing.observation.collaboration_observation import COLUMNS, CollaborationObservation
from secmix.auditing.observation.sum_observation import SumObservation, known_of_sums, output_share, share_behind_masks
from secmix.auditing.proof import in_words, iterations_in_words, proof_of, unproved
from secmix.auditing.setup import CollaborationSetup, Setup, SumSetup
from secmix.estimators.learned_decoders import reconstruct
from secmix.kernel import Clearance
from secmix.protocols import Defences
from secmix.protocols.collaboration import CollaborationTraits
from secmix.protocols.interfaces import SumTraits
from secmix.protocols.released import Released
from secmix.scenario import Scenario
from secmix.transcript import SEALED, Origin

_ROWS, _SAMPLES = 10, 100  # rows of a group, and ways to draw from it, below which runs are much alike


def premises_of(case: CellContext, node: int) -> Premises:
    """Return what a verdict on ``node`` rests on beside the findings about it."""
    observation, clearance = case.observation, proof_of(case)
    share, unmeasured = outcome_share(case, node), case.in_doubt
    if isinstance(observation, CollaborationObservation):
        noise = noise_clearance(case, node)
        # A replay compares whole calls: to what noise hides, decoders that were not fitted are nothing.
        missed = [observation.few_alike] * bool(observation.few_alike and not isinstance(noise, Clearance))
        return Premises(
            clearance=clearance,
            output_share=share,
            unmet=[*observation.unmet_premises, *missed],
            unmeasured=unmeasured,
            is_sum=False,
            opaque=_opaque(case),
            noise=noise,
        )
    assert isinstance(observation, SumObservation)
    assert isinstance(case.setup, SumSetup)
    return Premises(
        clearance=clearance,
        output_share=share,
        unmet=[*observation.unmet_premises, *_solvable_sums(case.setup, observation, node)],
        unproved=unproved(case, node),
        unmeasured=unmeasured,
        exact=not observation.unmet_premises,
        behind_masks=partial(share_behind_masks, case.setup, observation, node),
        covers=iterations_in_words(clearance),
    )


def _opaque(case: CellContext) -> str:
    """Say to whom a part of what the adversary reads is opaque; empty if nothing is."""
    if any(origin.kind.endswith(SEALED) for origin in readable(case)):
        return "sealed, and opaque to who lacks the key"
    assert isinstance(case.setup, CollaborationSetup)
    masked = CollaborationTraits.of(case.setup.protocol).opaque(readable(case))
    return "masked or encrypted, and opaque to this adversary" if masked else ""


def outcome_share(case: CellContext, node: int) -> float:
    """Return which share of a node's data the outcome itself gives away, of a collaboration at most."""
    if isinstance(case.setup, SumSetup):
        assert isinstance(case.observation, SumObservation)
        return output_share(case.setup, case.observation, node)
    assert isinstance(case.observation, CollaborationObservation)
    return _output_leakage(case.observation, node)


def notes(case: CellContext) -> list[str]:
    """Say what a reader of the cell's numbers must know."""
    cell, observation = case.cell, case.observation
    draws = [
        f"{cell.runs} runs; in each, rows are drawn anew without replacement from {case.setup.source}",
        *_few_rows(case.setup),
    ]
    if isinstance(case.setup, SumSetup):
        assert isinstance(observation, SumObservation)
        if observation.runs < cell.runs:
            draws[0] += (
                f"; {observation.runs} were made: exact evidence does not depend on their number, and each is long"
            )
        if case.setup.unprobed and SumTraits.of(case.setup.protocol).modulus is None:
            draws.append(f"other sizes of masks are not tried: {case.setup.unprobed}")
        return [*draws, *_notes_on_sums(cell), *observation.unmet_premises]
    assert isinstance(case.setup, CollaborationSetup)
    assert isinstance(observation, CollaborationObservation)
    premises = [*CollaborationTraits.of(case.setup.protocol).premises(readable(case)), *observation.unmet_premises]
    few_alike = [observation.few_alike] * bool(observation.few_alike)
    return [*draws, *_notes_on_collaborations(case), *premises, *few_alike, *notes_on_groups(case)]


def stated(case: CellContext) -> str:
    """Put into words what is proved of a cell, for a report: of its messages, or of each node by noise."""
    outcome = proof_of(case)
    if isinstance(outcome, Clearance) or isinstance(case.setup, SumSetup):
        return in_words(outcome)
    noise = {node: noise_clearance(case, node) for node in case.judged}
    if None in noise.values():
        return in_words(outcome)
    nodes: dict[str, list[int]] = {}
    for node, bound in noise.items():
        nodes.setdefault(in_words(bound), []).append(node)
    return " ".join(f"{nodes_listed(which).capitalize()}: {text}" for text, which in nodes.items())


def _few_rows(setup: Setup) -> list[str]:
    """Name the nodes with so few rows that runs hardly differ."""
    if setup.groups is None:
        return []
    own = "each node draws from the rows of its own group, "
    sizes = [
        f"node {i}: {count} of {len(rows)}"
        for i, (count, rows) in enumerate(zip(setup.counts, setup.groups, strict=True))
    ]
    small_groups = [
        f"node {i} has {len(rows)} rows to draw {count} from in each run: too few for resampling, what is measured of "
        "it says little"
        for i, (count, rows) in enumerate(zip(setup.counts, setup.groups, strict=True))
        if math.comb(len(rows), count) < _SAMPLES or len(rows) < _ROWS
    ]
    return [own + "; ".join(sizes), *small_groups]


def readable(case: CellContext) -> list[Origin]:
    """Return the messages of other nodes that the adversary reads in a collaboration; none of a sum."""
    if not isinstance(case.observation, CollaborationObservation):
        return []
    origins = (origin for group in case.observation.groups for origin in group.view.origins)
    return [each for each in dict.fromkeys(origins) if each.line != "held" and each.sender not in case.setup.corrupt]


def leaked(case: CellContext) -> list[str]:
    """Return the basis of the leaked subspaces in words; nothing where the protocol does not sum."""
    if not isinstance(case.observation, SumObservation):
        return []
    described = [words for _, reading in case.observation.all_readings for words in reading.subspace.describe()]
    return list(dict.fromkeys(described))


def _solvable_sums(setup: SumSetup, observation: SumObservation, node: int) -> list[str]:
    """Say where as many sums are known as there are numbers behind them."""
    equations, unknowns = known_of_sums(setup, observation, node)
    if equations < unknowns:
        return []
    counted = unknowns == setup.possible_rows
    behind = f"how often each of {unknowns} possible rows is" if counted else f"the {unknowns} unknown numbers"
    return [f"{equations} known sums over all iterations may be solved for {behind} behind them"]


def solvable(case: CellContext, summaries: list[NodeSummary]) -> bool:
    """Say whether of some node that is not revealed as many numbers are known as there are behind its sums."""
    if not isinstance(case.setup, SumSetup) or not isinstance(case.observation, SumObservation):
        return False
    counts = [known_of_sums(case.setup, case.observation, s.node) for s in summaries if s.standing != "revealed"]
    return any(equations >= unknowns for equations, unknowns in counts)


def _output_leakage(observation: CollaborationObservation, node: int) -> float:
    """Bound from above the normalised leakage of the result that the adversary may have; 0 if it gets none."""
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


def _notes_on_collaborations(case: CellContext) -> list[str]:
    bounded = all(isinstance(noise_clearance(case, node), Clearance) for node in case.judged)
    more = "noise bounds what is known" if bounded else "what is shown is there, but there may be more"
    read = "the protocol is not a sum"
    if isinstance(case.setup, CollaborationSetup) and isinstance(case.setup.protocol, Released):
        read = "the adversary reads the released result and no message before"
    notes = [f"{read}, so no exact evidence applies: {more}"]
    if "reconstruction" not in case.cell.measure.evidence:
        notes.append("attacks made for its kinds of message were not tried: evidence 'reconstruction' was left out")
    return notes
