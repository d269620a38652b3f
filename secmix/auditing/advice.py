"""What to change: the measures that would mend what a cell shows, in plain words.

What a protocol advises about itself is its own ``advise``; what holds for every protocol stands here.
"""

from __future__ import annotations

from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.report import NodeSummary, Robustness, SigmaPoint
from secmix.auditing.setup import Setup, SumSetup
from secmix.protocols.interfaces import Shown, SumTraits


def advice(
    setup: Setup,
    nodes: list[NodeSummary],
    points: list[SigmaPoint],
    robustness: Robustness | None,
    solvable: bool,
) -> list[str]:
    """Measures for the findings of one cell, the most effective first; empty where there is nothing to mend.

    Parameters
    ----------
    solvable : bool
        Whether the sums that are known may be solved for the rows of a node that is not revealed otherwise.
    """
    if isinstance(setup, SumSetup):
        return _of_sums(setup, nodes, points, robustness, solvable)
    return _of_collaborations(setup, nodes, robustness)


def _of_sums(
    setup: SumSetup, nodes: list[NodeSummary], points: list[SigmaPoint], robustness: Robustness | None, solvable: bool
) -> list[str]:
    known = [s for s in nodes if s.standing == "revealed"]
    solved = [s.node for s in known if s.worst_evidence == "inversion"]
    revealed = tuple(s.node for s in known if s.node not in solved)
    partly = [s.node for s in nodes if s.standing == "partly leaked"]
    traits = SumTraits.of(setup.protocol)
    broken = robustness is not None and robustness.verdict == "violated"
    colluders = robustness.colluders if robustness is not None and broken else 0
    sentences = list(traits.advise(Shown(revealed, setup.corrupt, setup.network, colluders)))
    if traits.reuses_masks:
        sentences.append(
            "Draw fresh masks for every averaging: reused ones cancel in the differences between iterations."
        )
    if partly and points and not traits.reuses_masks:
        sentences += _enough_sigma(points, traits.sigma)
    if broken and traits.aggregate is None:
        sentences.append(
            "Where colluders count more than curiosity, let a server apply a robust rule: a sum counts every message, "
            "however false. The price is that the server sees every contribution."
        )
    if solved and AdversaryTraits.of(setup.adversary).active is not None:
        sentences.append(
            "Let every node refuse parameters under which the likelihood of its own rows falls (likelihood_drop under "
            "[model]), and keep covariances above a floor (covariance_floor): rows are singled out by bending both."
        )
    if solved or solvable:
        sentences.append(
            "Give each node more rows, or run fewer iterations: fewer known sums than unknown numbers cannot be solved."
        )
    return sentences


def _enough_sigma(points: list[SigmaPoint], now: float | None) -> list[str]:
    least = min(p.normalised_leakage for p in points)
    enough = next(p for p in points if p.normalised_leakage <= least + 1e-3)
    if now is None or enough.sigma <= now:
        return []
    return [
        f"Raise sigma from {now:g} to {enough.sigma:g}: the masks then hide all that they can, for a relative error of "
        f"{enough.error:.1g} in the sums."
    ]


def _of_collaborations(setup: Setup, nodes: list[NodeSummary], robustness: Robustness | None) -> list[str]:
    sentences = []
    if any(s.standing == "revealed" for s in nodes):
        sentences.append(
            "Give each node more rows than its messages have numbers to tell of them, or add noise to what is sent: as "
            "they are, the messages determine rows."
        )
    if not setup.corrupt and any(s.standing in ("revealed", "partly leaked") for s in nodes):
        sentences.append("Encrypt the lines: that keeps outsiders out, though not the participants.")
    if robustness is not None and robustness.verdict == "violated":
        sentences.append(
            "Combine what arrives by a rule with a proven bound, where there is one, or admit fewer strangers."
        )
    return sentences
