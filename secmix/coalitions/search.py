"""The search: for every node the cheapest coalition, the fewest tapped lines, and both together, each with a proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from secmix._base.checks import Array
from secmix.coalitions.case import Case
from secmix.coalitions.declared import checked_in_small, contradiction, declared_graph
from secmix.coalitions.graph import arrays, cheapest_boundaries, component
from secmix.coalitions.held import Recorded, held
from secmix.coalitions.hitting import Choice, Searched, fewest, search, total
from secmix.coalitions.knowledge import Knowledge, knowledge
from secmix.coalitions.programme import cheapest_choice
from secmix.coalitions.result import Agent, Exposure, Least, NodeExposure, Proof
from secmix.coalitions.rows import Undecided, input_group, rows_group
from secmix.estimators.exact.masks import mask_doubts
from secmix.network import Network
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import SERVER

_COLUMNS = 700  # inputs and masks up to which the protocol is recorded as a whole
_HITTING = 60  # nodes up to which the graph's answers come with guards
_DRAWS = 300
_AGAIN = 4  # recordings of the same data, to see whether the course is drawn by lot
_JOINT = 3  # averagings read jointly where masks are reused; of a fixed course two tell all

_LOT = "its course is drawn by lot: in another course fewer may do"


@dataclass
class _Oracle:
    """Whether a choice exposes a node, read off recorded runs; each choice is worked out once."""

    case: Case
    runs: list[Recorded]
    _known: dict[tuple[Choice, bool], list[Knowledge]] = field(default_factory=dict)

    @property
    def server(self) -> bool:
        """Whether a server takes part."""
        return any(SERVER in run.rows for run in self.runs)

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """Lines on which anything travels in the open."""
        return sorted({line for run in self.runs for line in run.lines})

    def known(self, choice: Choice, eavesdrops: bool) -> list[Knowledge]:
        """What ``choice`` knows in each recorded run."""
        nodes, tapped = self.case.nodes_of(choice), frozenset(a for a in choice if isinstance(a, tuple))
        if eavesdrops or len(tapped) == len(self.lines):  # who taps all lines hears what is open
            tapped, eavesdrops = frozenset(), True
        key: tuple[Choice, bool] = frozenset[Agent]({*nodes, *tapped}), eavesdrops
        if key not in self._known:
            self._known[key] = [
                knowledge(run, [a for a in key[0] if a in run.rows], eavesdrops=eavesdrops) for run in self.runs
            ]
        return self._known[key]

    def group(self, choice: Choice, node: int, eavesdrops: bool) -> frozenset[int] | None:
        """The group of ``node`` that ``choice`` exposes; None where it does not.

        Raises
        ------
        Undecided
        """
        undecided = False
        for known in self.known(choice, eavesdrops):
            try:
                if self.case.equations is None:
                    group = input_group(known, node)
                else:
                    group = rows_group(known, node, self.case.counts, self.case.equations)
            except Undecided:
                undecided = True
                continue
            if group is not None:
                return group
            undecided |= known.strange
        if undecided:
            raise Undecided
        return None

    def exposes(self, node: int, eavesdrops: bool) -> Callable[[Choice], bool | None]:
        """Whether a choice exposes ``node``; None where that is not known."""

        def answer(choice: Choice) -> bool | None:
            try:
                return self.group(choice, node, eavesdrops) is not None
            except Undecided:
                return None

        return answer


def least_coalitions(case: Case, rng: np.random.Generator) -> Exposure:
    """For every node asked about, who would have to collude.

    The *generic* method asks the messages themselves, recorded once on unit inputs and unit masks. Where the protocol
    declares an exposure graph, the graph proposes, and the messages confirm each coalition and each guard; on networks
    too large to record they confirm the graph on a small piece of it.
    """
    columns = case.network.n + case.protocol.draw_masks(1, 1, case.network, rng.spawn(1)[0]).shape[1]
    graph = declared_graph(case.protocol, case.network)
    if columns > _COLUMNS:
        return _in_large(case, graph, columns, rng)
    masks, again = (case.protocol.draw_masks(_DRAWS, 2, case.network, rng.spawn(1)[0]) for _ in range(2))
    traits = SumTraits.of(case.protocol)
    doubts = mask_doubts([masks, again], traits.modulus, traits.grid)
    shared = bool(traits.reuses_masks) or (masks.size > 0 and np.array_equal(masks, again))
    runs, varied = _recorded(case, shared, rng)
    doubts += [doubt for run in runs for doubt in run.doubts]
    oracle = _Oracle(case, runs)
    notes = []
    if graph is not None and (oracle.server or doubts):
        graph = None
    if graph is not None and (said := contradiction(runs[0], graph, rng.spawn(1)[0])):
        notes.append(f"the exposure graph that the protocol declares is not used: {said}")
        graph = None
    trouble = "; ".join(dict.fromkeys(doubts)) or (_LOT if varied and graph is None else "")
    found = []
    for done, node in enumerate(case.asked):
        case.tell(done, len(case.asked), f"searching who exposes node {node}")
        found.append(_of_node(case, oracle, graph, node, trouble))
    method = (
        "the exposure graph that the protocol declares, each coalition and each guard confirmed on recorded messages"
        if graph is not None
        else f"unit inputs and unit masks through the protocol itself ({len(runs)} recorded course{'s' * (len(runs) > 1)})"  # noqa: E501
    )
    return _exposure(case, found, method, notes)


def _exposure(case: Case, found: list[NodeExposure], method: str, notes: list[str]) -> Exposure:
    level, most = ("input", None) if case.equations is None else ("rows", case.equations.most_rows())
    return Exposure(level, most, case.limit, tuple(found), method, tuple(notes))  # type: ignore[arg-type]


def _recorded(case: Case, shared: bool, rng: np.random.Generator) -> tuple[list[Recorded], bool]:
    """Recorded runs that differ, and whether the course of a run is drawn by lot."""
    protocol, network = case.protocol, case.network

    def record(inputs: list[Array], times: int = 1) -> list[Recorded]:
        kept = protocol.draw_masks(inputs[0].shape[0], inputs[0].shape[2], network, rng.spawn(1)[0])
        recorded = []
        for _ in range(times):
            case.tell(0, len(case.asked), "recording what the protocol sends")
            recorded.append(held(protocol, network, inputs, rng.spawn(1)[0], masks=kept))
        return recorded

    # The same data again, so that what differs is the course; every iteration, since no two need send the same.
    alike = [each for each in case.inputs if each.shape == case.inputs[0].shape]
    joint = shared and len(alike) > 1
    again = record(alike[:_JOINT] if joint else case.inputs[:1], times=_AGAIN)
    by_lot = any(len(run.table) != len(again[0].table) or not _begins(run, again[0]) for run in again)
    runs = again if joint else [*again, *(run for each in case.inputs[1:] for run in record([each]))]
    kept: list[Recorded] = []  # of one course that went on for longer, the longer
    for run in sorted(runs, key=lambda run: -len(run.table)):
        if not any(_begins(run, other) for other in kept):
            kept.append(run)
    return kept, by_lot or len(kept) > 1


def _begins(one: Recorded, other: Recorded) -> bool:
    """Whether ``one`` is how ``other`` begins."""
    count = len(one.table)
    if one.table.shape[1] != other.table.shape[1] or one.rows.keys() - other.rows.keys():
        return False
    rows = all(np.array_equal(mine, other.rows[agent][other.rows[agent] < count]) for agent, mine in one.rows.items())
    same = np.array_equal(one.strange, other.strange[:count])
    return rows and same and np.allclose(one.table, other.table[:count], atol=1e-12)


def _of_node(case: Case, oracle: _Oracle, graph: Network | None, node: int, trouble: str) -> NodeExposure:
    players = case.players(node, server=oracle.server)
    ask = oracle.exposes(node, True)
    searched = _by_graph(case, oracle, graph, node, players) if graph is not None else None
    by = "searched on the exposure graph; every guard and the coalition confirmed on the messages"
    if searched is None:
        searched, by = search(players, ask, case.limit), "searched on the messages themselves"
    colluders = _least(case, oracle, node, searched, players, True, trouble, by)
    if not case.taps:
        return NodeExposure(node, colluders)
    lines = case.lines(oracle.lines)
    listening = oracle.exposes(node, False)
    tapped = search(lines, listening, case.limit)
    taps = _least(case, oracle, node, tapped, lines, False, trouble, "searched on the messages themselves")
    # Guards against colluders who hear every line are guards against those who must choose their lines.
    everything = players | lines
    both = Searched(None, searched.at_least, searched.guards, searched.stuck)
    if searched.choice is not None and listening(searched.choice):
        both = searched
    elif searched.choice is not None or searched.stuck:
        both = search(everything, listening, case.limit, searched.guards)
    together = _least(case, oracle, node, both, everything, False, trouble, "searched on the messages themselves")
    return NodeExposure(node, colluders, taps, together)


def _by_graph(case: Case, oracle: _Oracle, graph: Network, node: int, players: dict[Agent, float]) -> Searched | None:
    """The answer of the graph, or None where the messages do not bear it out."""
    confirm = oracle.exposes(node, True)
    most, rows = _rows(case)

    def exposes(choice: Choice) -> bool | None:
        if not choice:  # what an outsider learns is no matter of the graph
            return confirm(choice)
        return sum(rows[v] for v in component(graph, node, case.nodes_of(choice))) <= most

    if graph.n > _HITTING:
        found = _without_guards(case, graph, node, players, outsider=bool(confirm(frozenset())))
    else:
        found = search(players, exposes, case.limit)
    everybody = frozenset(players)
    borne_out = all(confirm(everybody - guard) is False for guard in found.guards)
    if found.choice is not None:
        borne_out = borne_out and confirm(found.choice) is True
    return found if borne_out else None


def _rows(case: Case) -> tuple[int, tuple[int, ...]]:
    """How many rows a group may have, and the rows of each node; at level "input" it is the node alone."""
    if case.equations is None:
        return 1, (1,) * case.network.n
    return case.equations.most_rows(), case.counts


def _without_guards(case: Case, graph: Network, node: int, players: dict[Agent, float], *, outsider: bool) -> Searched:
    most, rows = _rows(case)
    if case.owners is not None:
        found = cheapest_choice(
            graph, node, rows, most, players, members=case.members, limit=case.limit, empty_boundary=outsider
        )
        stuck = "" if found.proved else "the integer programme was not solved"
        return Searched(found.choice, found.at_least if found.choice is not None else case.limit + 1, (), stuck)
    weights = np.array([players.get(v, 1.0) for v in range(graph.n)])
    branched = cheapest_boundaries(
        *arrays(graph), rows, most, limit=case.limit, weights=weights, nodes=np.array([node]), empty_boundary=outsider
    )
    cost, proved = float(branched.cost[0]), bool(branched.proved[0])
    stuck = "" if proved else "the search took too many steps"
    if np.isinf(cost):
        return Searched(None, case.limit + 1 if proved else 0.0, (), stuck)
    return Searched(frozenset(branched.boundaries[0]), cost if proved else 0.0, (), stuck)


def _in_large(case: Case, graph: Network | None, columns: int, rng: np.random.Generator) -> Exposure:
    """A network on which the protocol cannot be recorded on units as a whole."""
    large = f"{columns} inputs and masks are more than the {_COLUMNS} on which messages are recorded"
    outsider, said = False, "the protocol declares no exposure graph"
    if graph is not None:
        outsider, said = checked_in_small(case.protocol, case.network, case.inputs[0].shape[2], rng)
    found = []
    for node in case.asked:
        players = case.players(node, server=False)
        nothing = Least("inconclusive", None, None, 0.0, reason=f"{large}; {said or 'lines need that'}")
        least = nothing
        if graph is not None and not said:
            searched = _without_guards(case, graph, node, players, outsider=outsider)
            nodes = None if searched.choice is None else case.nodes_of(searched.choice)
            group = frozenset({node}) if nodes is None else component(graph, node, nodes)
            least = _summed(
                case, searched, nodes, frozenset() if nodes is None else group, "",
                "searched on the exposure graph, which is confirmed on a small piece of the network",
            )  # fmt: skip
        found.append(NodeExposure(node, least, nothing if case.taps else None, nothing if case.taps else None))
    method = "the exposure graph that the protocol declares, confirmed on a small piece of the network"
    return _exposure(case, found, method if graph is not None and not said else large, [said] if said else [])


def _least(
    case: Case,
    oracle: _Oracle,
    node: int,
    searched: Searched,
    costs: dict[Agent, float],
    eavesdrops: bool,
    trouble: str,
    by: str,
) -> Least:
    choice, stuck = searched.choice, searched.stuck
    if choice is None and stuck:  # an upper bound is worth having, and may be the lower one
        choice = _any(oracle, node, costs, eavesdrops, case.limit)
        if choice is not None and total(costs, choice) <= searched.at_least:
            stuck = ""
    group: frozenset[int] = frozenset()
    if choice is not None:
        group = oracle.group(choice, node, eavesdrops) or frozenset()
    nodes = None if choice is None else case.nodes_of(choice)
    at_least = searched.at_least
    guards = searched.guards if stuck or trouble or not searched.guards else fewest(searched.guards, costs, at_least)
    found = Searched(choice, at_least, guards, stuck)
    return _summed(case, found, nodes, group, trouble, by, cost=total(costs, choice or frozenset()))


def _any(oracle: _Oracle, node: int, costs: dict[Agent, float], eavesdrops: bool, limit: float) -> Choice | None:
    """Some choice within the limit that exposes the node: greedily made smaller from everybody."""
    ask = oracle.exposes(node, eavesdrops)
    choice = frozenset(costs)
    if not ask(choice):
        return None
    for agent in sorted(costs, key=lambda a: (-costs[a], str(a))):
        if ask(choice - {agent}):
            choice -= {agent}
    return choice if total(costs, choice) <= limit else None


def _summed(
    case: Case,
    searched: Searched,
    nodes: frozenset[int] | None,
    group: frozenset[int],
    trouble: str,
    by: str,
    cost: float | None = None,
) -> Least:
    choice = searched.choice
    stuck = searched.stuck or trouble
    status = "inconclusive" if stuck else "none up to the limit" if choice is None else "found"
    if cost is None and choice is not None:
        cost = float(sum(case.costs.get(agent, 1.0) for agent in choice))
    method = "none" if stuck else "guards" if searched.guards else "exhaustive search"
    if not stuck and not searched.guards and case.owners is not None and choice:
        method = "integer programme"
    return Least(
        status,  # type: ignore[arg-type]
        nodes,
        None if choice is None else cost,
        0.0 if trouble else searched.at_least,
        group,
        sum(case.counts[i] for i in group),
        frozenset(a for a in choice or () if isinstance(a, tuple)),
        frozenset(a for a in choice or () if isinstance(a, str)),
        Proof(method, searched.guards, by),  # type: ignore[arg-type]
        stuck,
    )
