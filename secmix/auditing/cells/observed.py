"""The runs of a cell, whether what is read off them may be believed, and what a verdict on a node rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from secmix._base.random import sequence, stream
from secmix.adversaries import Adversary
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing import soundness
from secmix.auditing.cell_parts import NodeSummary
from secmix.auditing.counterexamples.ciphers.unsealed import sealed_check
from secmix.auditing.decide import Premises
from secmix.auditing.evidence.decoding import target_of
from secmix.auditing.evidence.interface import CellContext, is_exact
from secmix.auditing.noise.noise_bounds import noise_clearance
from secmix.auditing.observation.collaboration_observation import (
    COLUMNS,
    CollaborationObservation,
    observe_collaboration,
)
from secmix.auditing.observation.memory import TooLong, too_large_to_probe
from secmix.auditing.observation.observe import Seeds, observe, seeds_of
from secmix.auditing.observation.sum_observation import SumObservation, known_of_sums, output_share, share_behind_masks
from secmix.auditing.proof import (
    as_proved,
    iterations_in_words,
    proof_of,
    sends_alike,
    unproved,
    with_proof_of,
    without_proof,
)
from secmix.auditing.setup import CollaborationSetup, SumSetup, deep_copy
from secmix.auditing.soundness import Soundness
from secmix.auditing.soundness.check_result import BLIND
from secmix.auditing.soundness.collaborations.undeclared import undeclared_flow
from secmix.auditing.soundness.linear_masks import with_linear_masks
from secmix.estimators.learned_decoders import reconstruct
from secmix.kernel import Clearance, KnownSums, Open
from secmix.protocols.collaboration import CollaborationTraits
from secmix.protocols.interfaces import SumTraits
from secmix.protocols.released import Released
from secmix.scenario import FEWEST_RUNS, Scenario
from secmix.transcript import SEALED, Origin

_ACCUSES = "attacks on the released result accuse and never clear: another attack may tell more"
_FICKLE = "the adversary named different corrupt nodes in two calls"


def observed(
    cell: Scenario,
    setup: SumSetup | CollaborationSetup,
    seeds: Seeds,
    look: Callable[[CellContext, str], None] = lambda case, after: None,
) -> tuple[CellContext, Soundness]:
    """Return all runs of ``cell`` and the checks of its protocol; what fails is among the observation's unmet premises.

    ``look`` is called before what may take long, with the runs until then and the name of what follows: with the first
    runs before the others, and with all before anything is proved of them. Nobody is cleared there.
    """
    setup = setup if isinstance(setup, CollaborationSetup) else _with_linear_masks(cell, setup)
    # As they were before any run.
    built, asked = deep_copy(setup.protocol), deep_copy(setup.adversary)
    case, checks = _observed(cell, setup, seeds, built, asked, look)
    if setup.adversary.corrupt_nodes(setup.network) != setup.corrupt:
        case = replace(
            case, observation=replace(case.observation, unmet_premises=[_FICKLE, *case.observation.unmet_premises])
        )
    return case, checks


def unchecked(cell: Scenario, setup: SumSetup, seeds: Seeds) -> CellContext:
    """Return all runs of ``cell`` without a proof, to ask whether a node is revealed."""
    setup = _with_linear_masks(cell, setup)
    built = deep_copy(setup.protocol)
    observation = observe(cell, setup, seeds, exact=is_exact(cell, setup))
    return without_proof(
        CellContext(
            cell,
            setup,
            replace(observation, unmet_premises=[*observation.unmet_premises, *observation.unread]),
            built=built,
        )
    )


def again(case: CellContext, nodes: list[int]) -> CellContext:
    """Return fresh runs of the same cell, which share no draw with those of ``case``, observed as those are."""
    seed = int(sequence(case.cell.seed, "fresh runs").generate_state(1)[0])
    cell = case.cell.model_copy(update={"seed": seed})
    asked = tuple(node for node in nodes if node in case.setup.asked)
    if isinstance(case.setup, CollaborationSetup):
        setup = replace(case.setup, asked=asked)
        watched = observe_collaboration(cell, setup, seeds_of(cell))
        return with_proof_of(case, replace(case, cell=cell, setup=setup, observation=watched, fitted={}, decided=set()))
    assert isinstance(case.setup, SumSetup)
    setup_of_sum = replace(case.setup, asked=asked)
    observation, proof = observe(cell, setup_of_sum, seeds_of(cell)), proof_of(case)
    if isinstance(proof, KnownSums) and observation.unread:
        observation = as_proved(observation, setup_of_sum, proof)
    observation = replace(observation, unmet_premises=case.observation.unmet_premises)
    return with_proof_of(
        case, replace(case, cell=cell, setup=setup_of_sum, observation=observation, fitted={}, decided=set())
    )


def _with_linear_masks(cell: Scenario, setup: SumSetup) -> SumSetup:
    """Return ``setup`` with the masks from which all others follow, where the distribution of all is known.

    They are for what probes read; where nothing is probed, the protocol stays as it is.
    """
    if unprobed := too_large_to_probe(cell, setup, exact=is_exact(cell, setup)):
        return replace(setup, unprobed=unprobed)
    entries = cell.model.components * (1 + setup.rows.shape[1])  # what exact EM sums at least
    shapes = [(6, 3), (1, entries)]
    return replace(setup, protocol=with_linear_masks(setup.protocol, setup.network, shapes, cell.seed))


def _observed(
    cell: Scenario,
    setup: SumSetup | CollaborationSetup,
    seeds: Seeds,
    built: Any,
    asked: Adversary,
    look: Callable[[CellContext, str], None],
) -> tuple[CellContext, Soundness]:
    if isinstance(setup, CollaborationSetup):
        watched = observe_collaboration(cell, setup, seeds)
        if isinstance(setup.protocol, Released):  # nothing clears, and so nothing needs a check
            watched = replace(watched, unmet_premises=[_ACCUSES, *watched.unmet_premises])
            return CellContext(cell, setup, watched, built=built), Soundness([])
        checks = soundness.examine_collaboration(
            built,
            setup.network,
            asked,
            lambda runs, key: setup.sample_rows(runs, stream(cell.seed, "soundness", key)),
            reads_messages=not all(watched.holds_nothing_of(node) for node in setup.asked),
            used=setup.protocol,
            seed=cell.seed,
        )
        if checks.public:
            watched = replace(watched, features={node: {} for node in watched.features}, identical_calls=checks.calls)
        hidden = undeclared_flow(cell, setup)
        unmet_premises = [*([hidden] if hidden else checks.unmet_premises), *watched.unmet_premises]
        return CellContext(cell, setup, replace(watched, unmet_premises=unmet_premises), built=built), checks

    def before(observation: SumObservation, after: str) -> None:
        made = cell.model_copy(update={"runs": observation.runs})
        look(without_proof(CellContext(made, setup, _with_all_premises(observation), built=built)), after)

    def proved(first: SumObservation) -> bool:
        if first.runs < FEWEST_RUNS:
            before(first, "the proof")
        return sends_alike(CellContext(cell, setup, first, built=built, fitted=fitted))

    fitted: dict[Any, Any] = {}  # what is traced of the first runs is traced of all
    exact = is_exact(cell, setup)
    observation = observe(
        cell, setup, seeds, lambda first, left: before(first, f"the other {left} runs"), exact=exact, proved=proved
    )
    before(observation, "the proof")
    case = CellContext(cell, setup, observation, built=built, fitted=fitted)
    has_cipher = SumTraits.of(built).cipher(setup.network) is not None
    sealed = sealed_check(case) if has_cipher else None
    if sealed is not None and sealed.failed:
        observation = replace(observation, unmet_premises=[*observation.unmet_premises, str(sealed)])
        case = replace(case, observation=observation)
    proof = proof_of(case)
    may_be_probed = setup.unprobed and not setup.too_wide and SumTraits.of(setup.protocol).modulus is None
    if may_be_probed and isinstance(proof, Open):
        raise TooLong(setup.unprobed, proof.reason)  # probes of a few runs say more than nothing
    if not isinstance(proof, KnownSums):  # a proof reckons with the law of the masks
        case = replace(case, observation=_with_all_premises(observation))
    elif observation.unread:
        case = replace(case, observation=as_proved(observation, setup, proof))
    blind = not AdversaryTraits.of(asked).sees_metadata
    return case, Soundness([*[BLIND] * blind, *([sealed] if sealed is not None else [])])


def _with_all_premises(observation: SumObservation) -> SumObservation:
    """Return the observation with all doubts that a proof could dispel."""
    return replace(
        observation, unmet_premises=[*observation.unmet_premises, *observation.unread, *observation.mask_shape]
    )


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


def _output_leakage(observation: CollaborationObservation, node: int) -> float:
    """Bound from above the normalised leakage of the result that the adversary may have; 0 if it gets none."""
    outputs = [group.output for group in observation.groups]
    target = target_of("row", np.concatenate([group.rows[node] for group in observation.groups]))
    if target is None or len({None if output is None else output.shape[1] for output in outputs}) > 1:
        return 0.0
    known = [output for output in outputs if output is not None]
    return reconstruct(target.values, np.concatenate(known)[:, :COLUMNS]).explained[2] if known else 0.0


def readable(case: CellContext) -> list[Origin]:
    """Return the messages of other nodes that the adversary reads in a collaboration; none of a sum."""
    if not isinstance(case.observation, CollaborationObservation):
        return []
    origins = (origin for group in case.observation.groups for origin in group.view.origins)
    return [each for each in dict.fromkeys(origins) if each.line != "held" and each.sender not in case.setup.corrupt]


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
