"""What to change: the measures that would mend what a cell shows, in plain words."""

from __future__ import annotations

from secmix.auditing.report import NodeSummary, Robustness, SigmaPoint
from secmix.auditing.setup import Setup, SumSetup
from secmix.protocols import PDMM, Plain, RobustServer, SecureSum
from secmix.scenario import Scenario


def advice(
    cell: Scenario, setup: Setup, nodes: list[NodeSummary], points: list[SigmaPoint], pushed: Robustness | None
) -> list[str]:
    """Measures for the findings of one cell, the most effective first."""
    if isinstance(setup, SumSetup):
        return _of_sums(cell, setup, nodes, points, pushed)
    return _of_collaborations(setup, nodes, pushed)


def _of_sums(
    cell: Scenario, setup: SumSetup, nodes: list[NodeSummary], points: list[SigmaPoint], pushed: Robustness | None
) -> list[str]:
    """Changes that follow from how the nodes stand; empty where there is nothing to mend."""
    known = [s for s in nodes if s.standing == "revealed"]
    solved = [s.node for s in known if s.worst_evidence == "inversion"]
    revealed = [s.node for s in known if s.node not in solved]
    partly = [s.node for s in nodes if s.standing == "partly leaked"]
    protocol, told = setup.protocol, []
    if isinstance(protocol, Plain) and revealed:
        told.append(
            "Sum through secure summation or PDMM: in the plain protocol the server, and who hears its lines, "
            "holds every node's statistics."
        )
        if not protocol.encrypted:
            told.append("Encrypt the lines to the server; that keeps eavesdroppers out, not the server.")
    if isinstance(protocol, SecureSum) and revealed:
        if not protocol.encrypted:
            told.append("Encrypt the lines along the cycle: the protocol hides nothing without it.")
        told.append(
            f"Order the cycle so that {_nodes(revealed)} has an honest neighbour on it, or use PDMM: it hides a node "
            "as long as one of its neighbours in the network is honest."
        )
    if isinstance(protocol, PDMM) and protocol.dropout is not None and protocol.dropout[0] in revealed:
        told.append(
            f"Start again with fresh masks when a node falls silent: what all have summed to by then, less what the "
            f"others sum to, is what node {protocol.dropout[0]} put in."
        )
    if isinstance(protocol, PDMM) and revealed:
        alone = [i for i in revealed if set(setup.network.neighbours(i)) <= setup.corrupt]
        if alone:
            told.append(f"Give {_nodes(alone)} a neighbour that this adversary does not control.")
    if getattr(protocol, "reuses_masks", False):
        told.append("Draw fresh masks for every averaging: reused ones cancel in the differences between iterations.")
    if partly and points and not getattr(protocol, "reuses_masks", False):
        told += _enough_sigma(points, protocol)
    if pushed is not None and pushed.verdict == "violated":
        told.append(_against_colluders(protocol, setup.network.n, pushed))
    if solved and hasattr(setup.adversary, "active"):
        told.append(
            "Let every node refuse parameters under which the likelihood of its own rows falls (likelihood_drop under "
            "[model]), and keep covariances above a floor (covariance_floor): rows are singled out by bending both."
        )
    if solved or any("may be solved" in s.why for s in nodes):
        told.append(
            "Give each node more rows, or run fewer iterations: fewer known sums than unknown numbers cannot be solved."
        )
    return told


def _against_colluders(protocol: object, n: int, pushed: Robustness) -> str:
    if not isinstance(protocol, RobustServer):
        return (
            "Where colluders count more than curiosity, let a server apply a robust rule: a sum takes every lie at its "
            "word. The price is that the server sees every contribution."
        )
    if protocol.f < pushed.colluders <= (n - 1) // 2:
        return f"Set f to {pushed.colluders}: the rule is set to {protocol.f} and meets {pushed.colluders} colluders."
    return "Take a rule with a smaller worst case here, such as the trimmed mean, or more honest nodes."


def _enough_sigma(points: list[SigmaPoint], protocol: object) -> list[str]:
    least = min(p.normalised_leakage for p in points)
    enough = next(p for p in points if p.normalised_leakage <= least + 1e-3)
    now = getattr(protocol, "sigma", None)
    if now is None or enough.sigma <= now:
        return []
    return [
        f"Raise sigma from {now:g} to {enough.sigma:g}: the masks then hide all that they can, for a relative error of "
        f"{enough.error:.1g} in the sums."
    ]


def _nodes(nodes: list[int]) -> str:
    return f"node {nodes[0]}" if len(nodes) == 1 else f"each of nodes {', '.join(map(str, nodes))}"


def _of_collaborations(setup: Setup, nodes: list[NodeSummary], pushed: Robustness | None) -> list[str]:
    told = []
    if any(s.standing == "revealed" for s in nodes):
        told.append(
            "Give each node more rows than its messages have numbers to tell of them, or add noise to what is sent: as "
            "they are, the messages determine rows."
        )
    if not setup.corrupt and any(s.standing in ("revealed", "partly leaked") for s in nodes):
        told.append("Encrypt the lines: that keeps outsiders out, though not the participants.")
    if pushed is not None and pushed.verdict == "violated":
        told.append("Combine what arrives by a rule with a proven bound, where there is one, or admit fewer strangers.")
    return told
