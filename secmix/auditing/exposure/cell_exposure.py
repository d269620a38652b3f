"""Search for who would have to collude against the protocol of a cell, and try whether rows do come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from secmix._base.checks import Progress
from secmix._base.random import sequence, stream
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.decide import is_revealed
from secmix.auditing.evidence import interface, inversion
from secmix.auditing.exposure.coalitions import (
    Agent,
    CoalitionQuery,
    Exposure,
    Least,
    NodeExposure,
    RowEquations,
    least_coalitions,
)
from secmix.auditing.observation.invertible_sums import InvertibleSums
from secmix.auditing.observation.observe import observe
from secmix.auditing.setup import CollaborationSetup, SumSetup, blurring, build_model
from secmix.estimators.exact.linear import Probed, are_seeds
from secmix.network import nodes_listed
from secmix.protocols import Plain
from secmix.protocols.interfaces import SumTraits
from secmix.protocols.released import Released
from secmix.scenario import PartSpec, Scenario
from secmix.transcript import SERVER

Level = Literal["input", "rows"]

_RUNS = 2  # real ones, on which probes are checked


def exposure_of(
    cell: Scenario,
    setup: SumSetup | CollaborationSetup,
    level: Level,
    *,
    colluders: float = 4,
    taps: bool = True,
    owners: tuple[str, ...] | None = None,
    costs: Mapping[Agent, float] | None = None,
    recover: bool = True,
    progress: Progress | None = None,
) -> Exposure:
    """Search for every node who would have to collude; the cell's own adversary does not matter."""
    asked = tuple(range(setup.network.n) if cell.measure.nodes is None else sorted(set(cell.measure.nodes)))
    sealed = isinstance(setup, SumSetup) and SumTraits.of(setup.protocol).cipher(setup.network) is not None
    if sealed or isinstance(setup, CollaborationSetup):
        reason = f"'{cell.protocol.title}' is not a sum: what its messages reveal together is not known exactly"
        if isinstance(setup.protocol, Released):
            reason = "the scenario's adversary reads the released result alone: name another to ask who would collude"
        if sealed:
            reason = f"'{cell.protocol.title}' seals words: what seals them is tried for one adversary, in an audit"
        return _undecided(level, colluders, asked, reason)
    inputs, extra = _summed(cell, setup)
    width = inputs[0].shape[2]
    if are_seeds(setup.protocol.draw_masks(1, width, setup.network, stream(cell.seed, "coalitions", "seeds")), width):
        reason = f"'{cell.protocol.title}' makes masks of seeds, and its messages are not linear in these"
        return _undecided(level, colluders, asked, f"{reason}: audit it against coalitions that you name")
    equations = equations_of(cell, setup, extra) if level == "rows" else None
    if owners is None and cell.network.owners is not None:
        owners = tuple(cell.network.owners)
    case = CoalitionQuery(
        setup.protocol, setup.network, inputs, setup.counts, equations, colluders, taps, owners, costs or {}, asked
    )
    if progress is not None:
        case = replace(case, progress=progress)
    exposure = least_coalitions(case, stream(cell.seed, "coalitions"))
    if blurred := blurring(cell):
        note = f"what is sent is blurred ({blurred}): what a coalition knows is the blurred vector"
        exposure = replace(exposure, notes=(*exposure.notes, note), blurred=True)
    if level == "rows":
        exposure = _with_rows(cell, setup, exposure, recover=recover and not blurred)
    return exposure


def _undecided(level: Level, colluders: float, asked: Sequence[int], reason: str) -> Exposure:
    """Return that of no node it is known who would have to collude."""
    nothing = Least("inconclusive", None, None, 0.0, reason=reason)
    none = tuple(NodeExposure(node, nothing) for node in asked)
    return Exposure(level, None, colluders, none, "none: nothing about such a protocol is exact", (reason,))


def equations_of(cell: Scenario, setup: SumSetup, extra: int = 0) -> RowEquations:
    """Return how many numbers the known sums of a cell are, ``extra`` ones before EM's own among them."""
    return RowEquations.of(
        features=setup.rows.shape[1],
        components=cell.model.components,
        iterations=1 if cell.model.hold_parameters else cell.model.iterations,
        extra=extra,
        possible=setup.possible_rows,
        rows=len(setup.rows),
    )


def _summed(cell: Scenario, setup: SumSetup) -> tuple[list[np.ndarray], int]:
    """Return what nodes put into the sums of a few runs, EM's iterations first, and the length of those before."""
    watching = Probed(Plain(), probing=False)
    rows_by_node = setup.sample_rows(_RUNS, stream(cell.seed, "coalitions", "rows"))
    build_model(cell, setup, watching, record=False).run(
        rows_by_node, network=setup.network, rng=stream(cell.seed, "coalitions", "protocol")
    )
    inputs = [seen for seen, _ in watching.recorded]
    before = len(inputs) - cell.model.iterations
    return [*inputs[before:], *inputs[:before]], sum(each.shape[2] for each in inputs[:before])


def _with_rows(cell: Scenario, setup: SumSetup, exposure: Exposure, *, recover: bool) -> Exposure:
    """Find out at level "rows" whether what is counted as known comes out, by the inversion of an audit."""
    comes_out: dict[frozenset[int], bool] = {}
    nodes = []
    for node in exposure.nodes:
        known: Literal["counted", "recovered", ""] = ""
        if node.coalition is not None:
            if node.group not in comes_out:
                comes_out[node.group] = recover and recovered(cell, setup, node)
            known = "recovered" if comes_out[node.group] else "counted"
        nodes.append(replace(node, known=known))
    return replace(exposure, nodes=tuple(nodes))


def recovered(cell: Scenario, setup: SumSetup, exposed: NodeExposure) -> bool:
    """Find out whether the rows of a node's group come out, in one run that its coalition observes."""
    coalition = exposed.coalition or frozenset()
    if exposed.group == {exposed.node} and exposed.rows == 1:
        return True  # its statistics are P_j and P_j x: the row is their quotient
    against = facing(setup, coalition)
    measure = cell.measure.model_copy(update={"evidence": ["structure", "inversion"], "nodes": None})
    tried = cell.model_copy(update={"adversary": spec_of(coalition), "runs": 100, "measure": measure})
    observation = observe(tried, against, (sequence(cell.seed, "data"), sequence(cell.seed, "coalitions")))
    sums = [_short(known) for known in observation.sums if set(known.members) == exposed.group]
    gathered = inversion.EVIDENCE.gather(interface.CellContext(tried, against, replace(observation, sums=sums)))
    return any(is_revealed(finding) for finding in gathered.findings if finding.node == exposed.node)


def _short(known: InvertibleSums) -> InvertibleSums:
    """Take one run of it: solving takes seconds to minutes."""
    parameters = [mixture[:1] for mixture in known.parameters]
    first = {name: getattr(known, name)[:1] for name in ("values", "error", "rows")}
    return replace(known, parameters=parameters, **first)


def facing(setup: SumSetup, coalition: frozenset[int]) -> SumSetup:
    """Return ``setup`` against a coalition, of all other nodes."""
    adversary = adversary_of(coalition)
    corrupt = adversary.corrupt_nodes(setup.network)
    asked = tuple(i for i in range(setup.network.n) if i not in corrupt)
    return replace(setup, adversary=adversary, corrupt=corrupt, asked=asked)


def adversary_of(coalition: frozenset[int]) -> Adversary:
    """Return the coalition as an adversary of an audit."""
    if not coalition:
        return Eavesdropper()
    if SERVER in coalition:
        return CuriousServer(corrupt=sorted(coalition - {SERVER}))
    return HonestButCurious(coalition)


def spec_of(coalition: Sequence[int] | frozenset[int]) -> PartSpec:
    """Return the coalition as an adversary of a scenario."""
    nodes = sorted(set(coalition) - {SERVER})
    named = nodes_listed(nodes)
    if SERVER in coalition:
        with_nodes = {"corrupt": nodes, "label": f"Server with {named}"} if nodes else {"label": "Server"}
        return PartSpec.model_validate({"name": "curious_server", **with_nodes})
    if not nodes:
        return PartSpec(name="eavesdropper", label="Eavesdropper")
    return PartSpec.model_validate({"name": "honest_but_curious", "corrupt": nodes, "label": f"Colluding {named}"})
