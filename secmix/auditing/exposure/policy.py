"""The policy ``min_colluders``: who would have to collude, judged, with the coalition that decides."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from secmix.auditing import decide
from secmix.auditing.advice import recommended
from secmix.auditing.cell_parts import Coalitions, NodeCoalition, Verdict
from secmix.auditing.evidence.interface import why_failed
from secmix.auditing.exposure.cell_exposure import exposure_of, recovered, spec_of
from secmix.auditing.exposure.coalitions import Agent, Exposure, NodeExposure
from secmix.auditing.exposure.repair import SETTINGS, proposals
from secmix.auditing.report import Cell
from secmix.auditing.setup import CollaborationSetup, SumSetup
from secmix.errors import ScenarioError
from secmix.kernel import Clearance, Open, clear_coalitions
from secmix.scenario import PolicySpec, Scenario, from_dict, render
from secmix.transcript import SERVER

_SOLVED = 3  # groups of rows that are solved for, until one comes out
_MOST_CACHED = 16
_FARTHEST = 4  # size up to which coalitions are looked for, where the policy asks for less


def with_coalitions(cell: Scenario, setup: SumSetup | CollaborationSetup, cell_result: Cell, reproduce: str) -> Cell:
    """Return the cell with the verdict of ``min_colluders``, where the policy sets it."""
    need = cell.policy.min_colluders
    if need is None:
        return cell_result
    coalitions = judged(cell, setup, need, reproduce)
    verdict = decide.of_cell([cell_result.verdict, coalitions.verdict])
    sentence = f"{cell_result.sentence} {coalitions.why}"
    changed: dict[str, object] = {"coalitions": coalitions, "verdict": verdict, "sentence": sentence}
    if coalitions.repairs:  # what was tried takes the place of what is usual
        trials = [trial for trial in cell_result.trials if not set(trial.change) & SETTINGS]
        changed |= {"trials": trials, "advice": recommended(trials, coalitions.repairs)}
    return cell_result.model_copy(update=changed)


def judged(cell: Scenario, setup: SumSetup | CollaborationSetup, need: int, reproduce: str) -> Coalitions:
    """Find out whether any coalition of fewer than ``need`` nodes exposes anybody.

    Exposed at level "input" is a violation. At level "rows" (where rows are the target) it is one where the rows came
    out; where they are only counted as known it is inconclusive, and so is whatever is not proven.
    """
    anybody = cell.model_copy(update={"adversary": Scenario.model_fields["adversary"].default})
    key = _key(anybody, setup.protocol)
    known = _CACHE.get(key) if key else None
    if known is None:
        known = _Answer(_searched(cell, setup, need))
        if len(_CACHE) >= _MOST_CACHED:
            _CACHE.clear()
        if key:
            _CACHE[key] = known
    exposures, owners = known.exposures, cell.network.owners or []
    verdict, why, nodes, weakest = judge(exposures, need, owners)
    sizes = [entry.size for entry in nodes if entry.size is not None]
    command = ""
    if weakest is not None and weakest.coalition is not None:
        command = f"{reproduce} --colluders {listed(weakest.coalition)}"
    notes = [note for exposure in exposures for note in exposure.notes]
    if verdict == "violated" and known.repairs is None:
        try:
            proposed = proposals(cell, setup, need, exposures, owners=tuple(owners) or None)
            known.repairs = [repair.sentence for repair in proposed]
        except BaseException as error:
            notes.append(f"repairs were not tried: {why_failed(error)}")
    return Coalitions(
        min_colluders=need,
        least=min(sizes, default=None),
        limit=max(need, _FARTHEST),
        nodes=nodes,
        weakest=weakest,
        command=command,
        method=exposures[0].method,
        notes=list(dict.fromkeys(notes)),
        repairs=known.repairs or [],
        verdict=verdict,
        why=why,
    )


@dataclass
class _Answer:
    """Answers that hold whoever the adversary of a cell is."""

    exposures: list[Exposure]
    repairs: list[str] | None = None


_CACHE: dict[bytes, _Answer] = {}  # the same protocol stands in a cell for each adversary


def _key(scenario: Scenario, protocol: object) -> bytes:
    """Return a scenario and its protocol as bytes, to tell them from others; empty if they cannot be written."""
    try:
        return render(scenario).encode() + pickle.dumps(protocol)
    except Exception:  # objects of a user's own may refuse in any way
        return b""


def _searched(cell: Scenario, setup: SumSetup | CollaborationSetup, need: int) -> list[Exposure]:
    limit = max(need, _FARTHEST)
    exposures = [exposure_of(cell, setup, "input", colluders=limit, taps=False)]
    if cell.measure.target == "row" and isinstance(setup, SumSetup):
        counted = exposure_of(cell, setup, "rows", colluders=limit, taps=False, recover=False)
        exposures.append(_solved_for(cell, setup, counted, need))
    return exposures


def _solved_for(cell: Scenario, setup: SumSetup, counted: Exposure, need: int) -> Exposure:
    """Solve for the rows of the smallest coalitions at level "rows", as far as they would violate the policy."""
    if counted.blurred:
        return counted
    nodes = {node.node: node for node in counted.nodes}
    comes_out: dict[frozenset[int], bool] = {}
    for node in sorted(counted.nodes, key=lambda node: (node.colluders.cost or 0.0, node.rows, node.node)):
        if node.colluders.cost is None or node.colluders.cost >= need:
            continue
        if node.group not in comes_out and len(comes_out) < _SOLVED and not any(comes_out.values()):
            comes_out[node.group] = recovered(cell, setup, node)
        if comes_out.get(node.group):
            nodes[node.node] = replace(node, known="recovered")
    return replace(counted, nodes=tuple(nodes.values()))


class Judgement(NamedTuple):
    """Judgement by ``min_colluders``; ``nodes`` has for each node the level that accuses most."""

    verdict: Verdict
    why: str
    nodes: list[NodeCoalition]
    weakest: NodeCoalition | None


def judge(exposures: Sequence[Exposure], need: float, owners: Sequence[str] = (), *, costs: bool = False) -> Judgement:
    """Judge by ``min_colluders = need`` who exposes whom; with ``costs`` colluders cost more or less than one."""
    ranked = sorted(
        ((exposure, node) for exposure in exposures for node in exposure.nodes),
        key=lambda pair: _rank(pair[0], pair[1], need),
    )
    worst = {node.node: (exposure, node) for exposure, node in reversed(ranked)}
    nodes = {number: _entry(*worst[number], owners) for number in sorted(worst)}
    if not ranked:
        why = "Nobody was asked about, so that no coalition was looked for."
        return Judgement("inconclusive", why, [], None)
    clearance = _clearance(exposures, need, costs)
    verdict = decide.judged([_accused(*ranked[0], need)], clearance)
    weakest = nodes[ranked[0][1].node]
    why = _why(verdict, weakest, need, clearance, blurred=ranked[0][0].blurred)
    return Judgement(verdict, why, list(nodes.values()), weakest)


def _accused(exposure: Exposure, node: NodeExposure, need: float) -> decide.Accusation:
    least = node.colluders
    known = not exposure.blurred and (exposure.level == "input" or node.known == "recovered")
    return decide.of_coalition(least.cost, least.at_least, need, known=known, open_=least.status == "inconclusive")


def _rank(exposure: Exposure, node: NodeExposure, need: float) -> tuple[int, float, bool, bool, int]:
    """Order by the gravest verdict, then the fewest colluders, then what is known exactly."""
    least = node.colluders
    cost = least.at_least if least.cost is None else least.cost
    severity = decide.severity(_accused(exposure, node, need))
    return -severity, cost, node.known == "counted", exposure.level == "rows", node.node


def _entry(exposure: Exposure, node: NodeExposure, owners: Sequence[str]) -> NodeCoalition:
    least = node.colluders
    exact = exposure.level == "input" and least.nodes is not None and not exposure.blurred
    return NodeCoalition(
        node=node.node,
        level=exposure.level,
        status=least.status,
        coalition=None if least.nodes is None else sorted(least.nodes),
        size=None if least.cost is None else int(least.cost),
        owners=sorted(least.owners),
        at_least=None if least.at_least == float("inf") else int(least.at_least),
        group=sorted(least.group),
        rows=least.rows,
        known="exact" if exact else node.known,
        guards=[_nodes_of(guard, owners) for guard in least.proof.guards],
        why=least.reason or least.proof.words,
    )


def _nodes_of(guard: frozenset[Agent], owners: Sequence[str]) -> list[int]:
    """Return a guard as nodes: all those of an owner."""
    owned = {node for node, owner in enumerate(owners) if owner in guard}
    return sorted(owned | {agent for agent in guard if isinstance(agent, int)})


def _clearance(exposures: Sequence[Exposure], need: float, costs: bool) -> Clearance | Open:
    """Clear all nodes against coalitions cheaper than ``need``; guards say so only where each agent costs one."""
    if costs:
        return clear_coalitions({}, need, {"all nodes": min(exposure.at_least for exposure in exposures)})
    guards: dict[str, tuple[frozenset[Agent], ...]] = {}
    searched: dict[str, float] = {}
    for exposure in exposures:
        for node in exposure.nodes:
            who = f"node {node.node} at level {exposure.level}"
            if node.proof.guards:
                guards[who] = node.proof.guards
            else:  # of large networks a programme finds the least coalition, and no guards show it
                searched[who] = node.colluders.at_least
    return clear_coalitions(guards, need, searched)


def _why(verdict: Verdict, weakest: NodeCoalition, need: float, clearance: Clearance | Open, *, blurred: bool) -> str:
    wanted = f"the policy asks for at least {need}"
    if verdict == "violated":
        return f"{_suffices(weakest)}; {wanted}."
    if verdict == "inconclusive":
        if weakest.coalition is not None and weakest.status == "found":
            how = "blurred before it was summed" if blurred else "as many numbers as the rows have, and not solved"
            return f"{_suffices(weakest)}, {how}; {wanted}, and whether that holds is open."
        open_ = weakest.why or (clearance.reason if isinstance(clearance, Open) else "not proven")
        return f"Who would have to collude against node {weakest.node} is open: {open_}; {wanted}."
    if weakest.coalition is None:
        return f"No coalition of fewer than {need} exposes anybody, by proof; {wanted}."
    return f"{_suffices(weakest)}, and nobody fewer, by proof; {wanted}."


def _suffices(weakest: NodeCoalition) -> str:
    coalition = weakest.coalition or []
    owners = f"Owner{'s' * (len(weakest.owners) > 1)} {' and '.join(weakest.owners)}: " if weakest.owners else ""
    who = (
        "An outsider on the open lines suffices"
        if not coalition
        else "The server alone suffices"
        if coalition == [SERVER]
        else f"{owners}{named(coalition)} suffice{'s' * (len(coalition) == 1)}"
    )
    what = f"to know the vector of node {weakest.node}"
    if weakest.level == "rows" and len(weakest.group) > 1:
        what = f"to know a sum over the {weakest.rows} rows of {named(weakest.group).lower()}"
    elif weakest.level == "rows":
        what = f"to know the sum over the {weakest.rows} row{'s' * (weakest.rows > 1)} of node {weakest.node}"
    if weakest.known == "recovered":
        what += ", from which they come out"
    return f"{who} {what}"


def named(nodes: Collection[int]) -> str:
    """Name nodes in words, the server among them.

    >>> named([1, 3, 4]), named([-1]), named([-1, 2])
    ('Nodes 1, 3 and 4', 'The server', 'The server and node 2')
    """
    numbers = [str(node) for node in sorted(nodes) if node != SERVER]
    listed = " and ".join([", ".join(numbers[:-1]), numbers[-1]] if len(numbers) > 1 else numbers)
    text = f"node{'s' if len(numbers) > 1 else ''} {listed}" if numbers else ""
    phrase = " and ".join(filter(None, ["the server" if SERVER in set(nodes) else "", text]))
    return phrase[:1].upper() + phrase[1:]


def listed(colluders: Iterable[int]) -> str:
    """Write a coalition as the command line takes it."""
    return ",".join("server" if node == SERVER else str(node) for node in sorted(colluders)) or "nobody"


def read(text: str) -> list[int]:
    """Read the coalition that ``listed`` wrote.

    >>> read("1,3"), read("server"), read("nobody")
    ([1, 3], [-1], [])
    """
    words = [word.strip() for word in text.split(",") if word.strip() and word.strip() != "nobody"]
    try:
        return [SERVER if word == "server" else int(word) for word in words]
    except ValueError:
        raise ScenarioError(
            f"colluders are node numbers with commas, such as 1,3, or 'server', or 'nobody'; given '{text}'"
        ) from None


def against(scenario: Scenario, colluders: list[int]) -> Scenario:
    """Return ``scenario`` with a coalition for its adversary; none of the honest may be revealed."""
    content = scenario.to_dict()
    content["adversary"] = spec_of(colluders).model_dump(exclude_none=True)
    swept = {key: values for key, values in content.pop("sweep", {}).items() if key.split(".")[0] != "adversary"}
    policy = {key: value for key, value in content.get("policy", {}).items() if key != "min_colluders"}
    content["policy"] = PolicySpec(**{"max_revealed_nodes": 0, **policy}).model_dump(exclude_none=True)
    return from_dict({**content, **({"sweep": swept} if swept else {})})
