"""The policy ``min_colluders``: who would have to collude, judged, with the coalition as witness."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from secmix.auditing import decide
from secmix.auditing.advice.trials import by_promise, in_words
from secmix.auditing.cells.attempt import why_failed
from secmix.auditing.exposure.repair import proposals
from secmix.auditing.exposure.search import exposure_of, recovered, spec_of
from secmix.auditing.report import Cell, Coalitions, NodeCoalition, Verdict
from secmix.auditing.setup import CollaborationSetup, SumSetup
from secmix.coalitions import Agent, Exposure, NodeExposure
from secmix.errors import ScenarioError
from secmix.kernel import Clearance, Open, clear_coalitions
from secmix.protocols import Defences
from secmix.scenario import PolicySpec, Scenario, from_dict, render
from secmix.transcript import SERVER

_SOLVED = 3  # groups of rows that are solved for, until one comes out
_MOST_KEPT = 16
_SOUGHT = {
    "network",
    "protocol.cycle",
    "protocol.encrypted",
    "protocol.masks",
    "data.rows_per_node",
    "model.iterations",
}
"""Keys of a scenario that repairs change: other measures that change them were weighed already."""
_FARTHEST = 4  # size up to which coalitions are looked for, where the policy asks for less


def with_coalitions(cell: Scenario, setup: SumSetup | CollaborationSetup, cell_result: Cell, reproduce: str) -> Cell:
    """The cell with the verdict of ``min_colluders``, where the policy sets it."""
    need = cell.policy.min_colluders
    if need is None:
        return cell_result
    found = judged(cell, setup, need, reproduce)
    verdict = decide.worst([cell_result.verdict, found.verdict])
    sentence = f"{cell_result.sentence} {found.why}"
    changed: dict[str, object] = {"coalitions": found, "verdict": verdict, "sentence": sentence}
    if found.repairs:  # what was tried takes the place of what is usual
        trials = [trial for trial in cell_result.trials if not set(trial.change) & _SOUGHT]
        changed["trials"] = trials
        changed["advice"] = [*found.repairs, *(in_words(trial) for trial in by_promise(trials))]
    return cell_result.model_copy(update=changed)


def judged(cell: Scenario, setup: SumSetup | CollaborationSetup, need: int, reproduce: str) -> Coalitions:
    """Whether any coalition of fewer than ``need`` nodes exposes anybody.

    Exposed at level "input" is a violation. At level "rows" (where rows are the target) it is one where the rows came
    out; where they are only counted as known it is inconclusive, and so is whatever is not proven.
    """
    anybody = cell.model_copy(update={"adversary": Scenario.model_fields["adversary"].default})
    key = _key(anybody, setup.protocol)
    known = _KEPT.get(key) if key else None
    if known is None:
        known = _Known(_searched(cell, setup, need))
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.clear()
        if key:
            _KEPT[key] = known
    exposures = known.exposures
    blurred, owners = Defences(**cell.model.defences).blurs, cell.network.owners or []
    nodes = [_entry(each, exposure, blurred, owners) for exposure in exposures for each in exposure.nodes]
    nodes = [min(group, key=lambda entry: _severity(entry, need, blurred)) for group in _by_node(nodes)]
    witness = min(nodes, key=lambda entry: _severity(entry, need, blurred), default=None)
    verdict, why = _verdict(witness, need, blurred, clearance_of(exposures, need))
    sizes = [entry.size for entry in nodes if entry.size is not None]
    command = ""
    if witness is not None and witness.coalition is not None:
        command = f"{reproduce} --colluders {listed(witness.coalition)}"
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
        witness=witness,
        command=command,
        method=exposures[0].method,
        notes=list(dict.fromkeys(notes)),
        repairs=known.repairs or [],
        verdict=verdict,
        why=why,
    )


@dataclass
class _Known:
    """What holds whoever the adversary of a cell is."""

    exposures: list[Exposure]
    repairs: list[str] | None = None


_KEPT: dict[bytes, _Known] = {}  # the same protocol stands in a cell for each adversary


def _key(scenario: Scenario, protocol: object) -> bytes:
    """What tells the protocol of a cell from all others: all that it holds; empty where that cannot be written out."""
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
    """Level "rows" with the rows of the smallest coalitions solved for, as far as they would violate the policy."""
    if Defences(**cell.model.defences).blurs:
        return counted
    nodes = {each.node: each for each in counted.nodes}
    tried: dict[frozenset[int], bool] = {}
    for each in sorted(counted.nodes, key=lambda each: (each.colluders.cost or 0.0, each.rows, each.node)):
        if each.colluders.cost is None or each.colluders.cost >= need:
            continue
        if each.group not in tried and len(tried) < _SOLVED and not any(tried.values()):
            tried[each.group] = recovered(cell, setup, each)
        if tried.get(each.group):
            nodes[each.node] = replace(each, known="recovered")
    return replace(counted, nodes=tuple(nodes.values()))


def _entry(each: NodeExposure, exposure: Exposure, blurred: bool, owners: list[str]) -> NodeCoalition:
    found = each.colluders
    exact = exposure.level == "input" and found.nodes is not None and not blurred
    at_least = None if found.at_least == float("inf") else int(found.at_least)
    return NodeCoalition(
        node=each.node,
        level=exposure.level,
        status=found.status,
        coalition=None if found.nodes is None else sorted(found.nodes),
        size=None if found.cost is None else int(found.cost),
        owners=sorted(found.owners),
        at_least=at_least,
        group=sorted(found.group),
        rows=found.rows,
        known="exact" if exact else each.known,
        guards=[_nodes_of(guard, owners) for guard in found.proof.guards],
        why=found.reason or found.proof.words,
    )


def _nodes_of(guard: frozenset[Agent], owners: list[str]) -> list[int]:
    """A guard as nodes: all those of an owner."""
    owned = {node for node, owner in enumerate(owners) if owner in guard}
    return sorted(owned | {agent for agent in guard if isinstance(agent, int)})


def _by_node(entries: list[NodeCoalition]) -> list[list[NodeCoalition]]:
    nodes = sorted({entry.node for entry in entries})
    return [[entry for entry in entries if entry.node == node] for node in nodes]


def _order(entry: NodeCoalition) -> tuple[float, bool, bool]:
    """Of two levels, the one at which fewer suffice; of equals what is known exactly."""
    bound = entry.at_least if entry.at_least is not None else float("inf")
    size = bound if entry.size is None else entry.size
    return size, entry.known == "counted", entry.level == "rows"


def clearance_of(exposures: Iterable[Exposure], need: float) -> Clearance | Open:
    """Clear all nodes against coalitions of fewer than ``need``, where each agent costs one."""
    guards: dict[str, tuple[frozenset[Agent], ...]] = {}
    searched: dict[str, float] = {}
    for exposure in exposures:
        for each in exposure.nodes:
            who = f"node {each.node} at level {exposure.level}"
            if each.proof.guards:
                guards[who] = each.proof.guards
            else:  # of large networks a programme finds the least coalition, and no guards show it
                searched[who] = each.colluders.at_least
    return clear_coalitions(guards, need, searched)


def _accused(entry: NodeCoalition, need: int, blurred: bool) -> decide.Accusation:
    if entry.size is not None and entry.size < need:
        return "violated" if entry.known in ("exact", "recovered") and not blurred else "inconclusive"
    if entry.status == "inconclusive" and (entry.at_least or 0) < need:
        return "inconclusive"
    return None


def _severity(entry: NodeCoalition, need: int, blurred: bool) -> tuple[int, tuple[float, bool, bool], int]:
    return -decide.severity(_accused(entry, need, blurred)), _order(entry), entry.node


def _verdict(
    witness: NodeCoalition | None, need: int, blurred: bool, clearance: Clearance | Open
) -> tuple[Verdict, str]:
    if witness is None:
        return "inconclusive", "Nobody was asked about, so that no coalition was looked for."
    verdict = decide.judged([_accused(witness, need, blurred)], clearance)
    wanted = f"the policy asks for at least {need}"
    if verdict == "violated":
        return verdict, f"{_suffices(witness)}; {wanted}."
    if verdict == "inconclusive":
        if witness.coalition is not None and witness.status == "found":
            how = "blurred before it was summed" if blurred else "as many numbers as the rows have, and not solved"
            return verdict, f"{_suffices(witness)}, {how}; {wanted}, and whether that holds is open."
        open_ = witness.why or (clearance.reason if isinstance(clearance, Open) else "not proven")
        return verdict, f"Who would have to collude against node {witness.node} is open: {open_}; {wanted}."
    if witness.coalition is None:
        return verdict, f"No coalition of fewer than {need} exposes anybody, by proof; {wanted}."
    return verdict, f"{_suffices(witness)}, and nobody fewer, by proof; {wanted}."


def _suffices(witness: NodeCoalition) -> str:
    coalition = witness.coalition or []
    who = (
        "An outsider on the open lines suffices"
        if not coalition
        else "The server alone suffices"
        if coalition == [SERVER]
        else f"{_owners_named(witness)}{named(coalition)} suffice{'s' * (len(coalition) == 1)}"
    )
    what = f"to know the vector of node {witness.node}"
    if witness.level == "rows" and len(witness.group) > 1:
        what = f"to know a sum over the {witness.rows} rows of {named(witness.group).lower()}"
    elif witness.level == "rows":
        what = f"to know the sum over the {witness.rows} row{'s' * (witness.rows > 1)} of node {witness.node}"
    if witness.known == "recovered":
        what += ", from which they come out"
    return f"{who} {what}"


def _owners_named(witness: NodeCoalition) -> str:
    return f"Owner{'s' * (len(witness.owners) > 1)} {' and '.join(witness.owners)}: " if witness.owners else ""


def named(nodes: Collection[int]) -> str:
    """Nodes in words, the server among them.

    Examples
    --------
    >>> named([1, 3, 4]), named([-1]), named([-1, 2])
    ('Nodes 1, 3 and 4', 'The server', 'The server and node 2')
    """
    numbers = [str(node) for node in sorted(nodes) if node != SERVER]
    listed = " and ".join([", ".join(numbers[:-1]), numbers[-1]] if len(numbers) > 1 else numbers)
    text = f"node{'s' if len(numbers) > 1 else ''} {listed}" if numbers else ""
    phrase = " and ".join(filter(None, ["the server" if SERVER in set(nodes) else "", text]))
    return phrase[:1].upper() + phrase[1:]


def listed(colluders: Iterable[int]) -> str:
    """A coalition as the command line takes it."""
    return ",".join("server" if node == SERVER else str(node) for node in sorted(colluders)) or "nobody"


def read(text: str) -> list[int]:
    """The coalition that ``listed`` wrote.

    Examples
    --------
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
    """``scenario`` with a coalition for its adversary; none of the honest may be revealed."""
    content = scenario.to_dict()
    content["adversary"] = spec_of(colluders).model_dump(exclude_none=True)
    swept = {key: values for key, values in content.pop("sweep", {}).items() if key.split(".")[0] != "adversary"}
    policy = {key: value for key, value in content["policy"].items() if key != "min_colluders"}
    content["policy"] = PolicySpec(**{"max_revealed_nodes": 0, **policy}).model_dump(exclude_none=True)
    return from_dict({**content, **({"sweep": swept} if swept else {})})
