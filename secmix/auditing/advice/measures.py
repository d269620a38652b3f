"""Measures that might mend what a cell shows, each with the change of the scenario that it means.

What a protocol advises about itself is its own ``advise``; what holds for every protocol stands here. What of it a
report recommends is decided where it is tried (``secmix.auditing.advice.trials``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.advice.change import fewer_iterations, fresh_masks, more_rows
from secmix.auditing.report import NodeSummary, Robustness, SigmaPoint
from secmix.auditing.setup import CollaborationSetup, Setup, SumSetup
from secmix.protocols.collaboration import CollaborationTraits
from secmix.protocols.interfaces import Advice, Revealed, SumTraits
from secmix.protocols.released import Released
from secmix.scenario import Scenario
from secmix.transcript import Origin

_OF_RESULTS = (
    "Release what more rows make, fewer numbers of it, or add noise before it is released: masks and encryption hide "
    "messages on the way, and nothing of the result."
)


def advised(
    cell: Scenario,
    setup: Setup,
    nodes: list[NodeSummary],
    points: list[SigmaPoint],
    robustness: Robustness | None,
    solvable: bool,
    readable: Sequence[Origin] = (),
) -> list[Advice]:
    """Return measures for the findings of one cell, the most effective first; empty where there is nothing to mend.

    ``solvable`` are known sums that may give away the rows of a node that is not revealed otherwise; ``readable`` of a
    collaboration the messages of other nodes that the adversary reads.
    """
    if isinstance(setup, SumSetup):
        measures = _of_sums(cell, setup, nodes, points, robustness, solvable)
    else:
        assert isinstance(setup, CollaborationSetup)
        measures = _of_collaborations(setup, nodes, robustness, tuple(readable))
    return [Advice(measure) if isinstance(measure, str) else measure for measure in measures]


def _of_sums(
    cell: Scenario,
    setup: SumSetup,
    nodes: list[NodeSummary],
    points: list[SigmaPoint],
    robustness: Robustness | None,
    solvable: bool,
) -> list[Advice | str]:
    known = [s for s in nodes if s.standing == "revealed"]
    solved = [s.node for s in known if s.worst_evidence == "inversion"]
    revealed = tuple(s.node for s in known if s.node not in solved)
    partly = [s.node for s in nodes if s.standing == "partly leaked"]
    traits = SumTraits.of(setup.protocol)
    broken = robustness is not None and robustness.verdict == "violated"
    colluders = robustness.colluders if robustness is not None and broken else 0
    advised: list[Advice | str] = list(traits.advise(Revealed(revealed, setup.corrupt, setup.network, colluders)))
    if traits.reuses_masks:
        advised.append(
            _because(fresh_masks(setup.protocol), "reused ones cancel in the differences between iterations")
        )
    if partly and points and not traits.reuses_masks:
        advised += _enough_sigma(points, traits.sigma)
    if broken and traits.aggregate is None:
        words = (
            "Where colluders count more than curiosity, let a server apply a robust rule: a sum counts every message, "
            "however false. The price is that the server sees every contribution."
        )
        change = {"protocol": {"name": "robust_server", "rule": "trimmed_mean", "f": max(colluders, 1)}}
        advised.append(Advice(words, change, "let a server discard extreme contributions", "falsehood"))
    if solved and AdversaryTraits.of(setup.adversary).active is not None:
        advised.append(
            "Let every node refuse parameters under which the likelihood of its own rows falls (likelihood_drop under "
            "[model]), and keep covariances above a floor (covariance_floor): rows are singled out by bending both."
        )
    if solved or solvable:
        advised += _fewer_equations(cell, setup)
    return advised


def _fewer_equations(cell: Scenario, setup: SumSetup) -> list[Advice | str]:
    """Return two ways to have fewer sums than unknown numbers, step by step; the trial finds how far they must go."""
    why = "fewer known sums than unknown numbers cannot be solved"
    steps = [_because(step, why) for step in (*more_rows(setup), *fewer_iterations(cell))]
    return [*steps] or [f"Give each node more rows: {why}."]


def _because(advice: Advice, why: str) -> Advice:
    return replace(advice, words=f"{advice.words}: {why}.")


def _enough_sigma(points: list[SigmaPoint], now: float | None) -> list[Advice]:
    least = min(p.normalised_leakage for p in points)
    enough = next(p for p in points if p.normalised_leakage <= least + 1e-3)
    if now is None or enough.sigma <= now:
        return []
    words = (
        f"Raise sigma from {now:g} to {enough.sigma:g}: the masks then hide all that they can, for a relative error of "
        f"{enough.error:.1g} in the sums."
    )
    found = f"Tried: the curve of mask sizes in this report gives a leakage of {enough.normalised_leakage:.3f} there."
    return [Advice(words, {"protocol.sigma": enough.sigma}, "use larger masks", found=found)]


def _of_collaborations(
    setup: CollaborationSetup, nodes: list[NodeSummary], robustness: Robustness | None, readable: tuple[Origin, ...]
) -> list[Advice | str]:
    broken = robustness is not None and robustness.verdict == "violated"
    colluders = robustness.colluders if robustness is not None and broken else 0
    learned = tuple(s.node for s in nodes if s.standing in ("revealed", "partly leaked"))
    if isinstance(setup.protocol, Released):  # what protects messages on the way hides nothing of the result
        return [_OF_RESULTS] * bool(learned)
    revealed = Revealed(learned, setup.corrupt, setup.network, colluders, readable)
    sentences: list[Advice | str] = list(CollaborationTraits.of(setup.protocol).advise(revealed))
    if any(s.standing == "revealed" for s in nodes):
        sentences.append(
            "Give each node more rows than its messages have numbers to tell of them, or add noise to what is sent: as "
            "they are, the messages determine rows."
        )
    outsider = not setup.corrupt and AdversaryTraits.of(setup.adversary).eavesdrops
    if learned and outsider and any(origin.line == "plain" for origin in readable):
        sentences.append("Encrypt the lines: that keeps outsiders out, though not the participants.")
    if broken:
        sentences.append(
            "Combine what arrives by a rule with a proven bound, where there is one, or admit fewer strangers."
        )
    return sentences
