"""Search for every node: the cheapest coalition, the fewest tapped lines, and both together, each with a proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.exposure.coalitions.declared import checked_in_small, contradiction, declared_graph
from secmix.auditing.exposure.coalitions.graph import arrays, cheapest_boundaries, component
from secmix.auditing.exposure.coalitions.hitting import Choice, Searched, fewest, search, total
from secmix.auditing.exposure.coalitions.knowledge import CoalitionKnowledge, knowledge
from secmix.auditing.exposure.coalitions.known_messages import Recorded, record_messages
from secmix.auditing.exposure.coalitions.programme import cheapest_choice
from secmix.auditing.exposure.coalitions.query import CoalitionQuery
from secmix.auditing.exposure.coalitions.result import Agent, Exposure, Least, NodeExposure, ProofOfLeast
from secmix.auditing.exposure.coalitions.row_equations import Undecided, input_group, rows_group
from secmix.estimators.exact.presumed import unmet_mask_premises
from secmix.network import Network
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import SERVER

_COLUMNS = 700  # inputs and masks up to which the protocol is recorded as a whole
_HITTING = 60  # nodes up to which the graph's answers come with guards
_DRAWS = 300
_AGAIN = 4  # recordings of the same data, to see whether the message schedule is random
_JOINT = 3  # averagings read jointly where masks are reused; two suffice for a fixed message schedule

_RANDOM = "its message schedule is random: with another schedule a smaller coalition may suffice"


@dataclass
class _Oracle:
    """Recorded runs that decide whether a choice exposes a node; each choice is computed once."""

    query: CoalitionQuery
    runs: list[Recorded]
    _known: dict[tuple[Choice, bool], list[CoalitionKnowledge]] = field(default_factory=dict)

    @property
    def server(self) -> bool:
        """True if a server takes part."""
        return any(SERVER in run.rows for run in self.runs)

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """Lines that carry unencrypted messages."""
        return sorted({line for run in self.runs for line in run.lines})

    def known(self, choice: Choice, eavesdrops: bool) -> list[CoalitionKnowledge]:
        """Compute what ``choice`` knows in each recorded run."""
        nodes, tapped = self.query.nodes_of(choice), frozenset(a for a in choice if isinstance(a, tuple))
        if eavesdrops or len(tapped) == len(self.lines):  # all lines tapped: all that is unencrypted is read
            tapped, eavesdrops = frozenset(), True
        key: tuple[Choice, bool] = frozenset[Agent]({*nodes, *tapped}), eavesdrops
        if key not in self._known:
            self._known[key] = [
                knowledge(run, [a for a in key[0] if a in run.rows], eavesdrops=eavesdrops) for run in self.runs
            ]
        return self._known[key]

    def group(self, choice: Choice, node: int, eavesdrops: bool) -> frozenset[int] | None:
        """Find the group of ``node`` that ``choice`` exposes; None if it exposes none.

        Raises Undecided.
        """
        undecided = False
        for known in self.known(choice, eavesdrops):
            try:
                if self.query.equations is None:
                    group = input_group(known, node)
                else:
                    group = rows_group(known, node, self.query.counts, self.query.equations)
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
        """Make a function that decides whether a choice exposes ``node``; it returns None if that is unknown."""

        def answer(choice: Choice) -> bool | None:
            try:
                return self.group(choice, node, eavesdrops) is not None
            except Undecided:
                return None

        return answer


def least_coalitions(query: CoalitionQuery, rng: np.random.Generator) -> Exposure:
    """Find the cheapest coalition against every node asked about.

    The *generic* method decides by the messages themselves, recorded once on unit inputs and unit masks. Where the
    protocol declares an exposure graph, the search runs on the graph, and the messages confirm each coalition and each
    guard. On networks that are too large to record, they confirm the graph on a small piece of the network.
    """
    columns = query.network.n + query.protocol.draw_masks(1, 1, query.network, rng.spawn(1)[0]).shape[1]
    graph = declared_graph(query.protocol, query.network)
    if columns > _COLUMNS:
        return _in_large(query, graph, columns, rng)
    masks, again = (query.protocol.draw_masks(_DRAWS, 2, query.network, rng.spawn(1)[0]) for _ in range(2))
    traits = SumTraits.of(query.protocol)
    unmet_premises = unmet_mask_premises([masks, again], traits.modulus, traits.grid)
    shared = bool(traits.reuses_masks) or (masks.size > 0 and np.array_equal(masks, again))
    runs, varied = _recorded(query, shared, rng)
    unmet_premises += [premise for run in runs for premise in run.unmet_premises]
    oracle = _Oracle(query, runs)
    notes = []
    if graph is not None and (oracle.server or unmet_premises):
        graph = None
    if graph is not None and (objection := contradiction(runs[0], graph, rng.spawn(1)[0])):
        notes.append(f"the exposure graph that the protocol declares is not used: {objection}")
        graph = None
    trouble = "; ".join(dict.fromkeys(unmet_premises)) or (_RANDOM if varied and graph is None else "")
    exposures = []
    for done, node in enumerate(query.asked):
        query.progress(done, len(query.asked), f"searching who exposes node {node}")
        exposures.append(_of_node(query, oracle, graph, node, trouble))
    method = (
        "the exposure graph that the protocol declares, each coalition and each guard confirmed on recorded messages"
        if graph is not None
        else f"unit inputs and unit masks through the protocol itself ({len(runs)} recorded message schedule{'s' * (len(runs) > 1)})"  # noqa: E501
    )
    return _exposure(query, exposures, method, notes)


def _exposure(query: CoalitionQuery, exposures: list[NodeExposure], method: str, notes: list[str]) -> Exposure:
    level, most = ("input", None) if query.equations is None else ("rows", query.equations.most_rows())
    return Exposure(level, most, query.limit, tuple(exposures), method, tuple(notes))  # type: ignore[arg-type]


def _recorded(query: CoalitionQuery, shared: bool, rng: np.random.Generator) -> tuple[list[Recorded], bool]:
    """Record runs that differ, and determine whether the message schedule is random."""
    protocol, network = query.protocol, query.network

    def record(inputs: list[Array], times: int = 1) -> list[Recorded]:
        masks = protocol.draw_masks(inputs[0].shape[0], inputs[0].shape[2], network, rng.spawn(1)[0])
        recorded = []
        for _ in range(times):
            query.progress(0, len(query.asked), "recording what the protocol sends")
            recorded.append(record_messages(protocol, network, inputs, rng.spawn(1)[0], masks=masks))
        return recorded

    # The same data again, so that only the message schedule differs; every iteration, since each may send other
    # messages.
    alike = [inputs for inputs in query.inputs if inputs.shape == query.inputs[0].shape]
    joint = shared and len(alike) > 1
    again = record(alike[:_JOINT] if joint else query.inputs[:1], times=_AGAIN)
    is_random = any(len(run.table) != len(again[0].table) or not _begins(run, again[0]) for run in again)
    runs = again if joint else [*again, *(run for inputs in query.inputs[1:] for run in record([inputs]))]
    distinct: list[Recorded] = []  # of two runs of which one is a prefix of the other, the longer
    for run in sorted(runs, key=lambda run: -len(run.table)):
        if not any(_begins(run, other) for other in distinct):
            distinct.append(run)
    return distinct, is_random or len(distinct) > 1


def _begins(first: Recorded, other: Recorded) -> bool:
    """Check whether ``first`` is a prefix of ``other``."""
    count = len(first.table)
    if first.table.shape[1] != other.table.shape[1] or first.rows.keys() - other.rows.keys():
        return False
    rows = all(np.array_equal(own, other.rows[agent][other.rows[agent] < count]) for agent, own in first.rows.items())
    same = np.array_equal(first.strange, other.strange[:count])
    return rows and same and np.allclose(first.table, other.table[:count], atol=1e-12)


def _of_node(query: CoalitionQuery, oracle: _Oracle, graph: Network | None, node: int, trouble: str) -> NodeExposure:
    players = query.players(node, server=oracle.server)
    ask = oracle.exposes(node, True)
    searched = _by_graph(query, oracle, graph, node, players) if graph is not None else None
    by = "searched on the exposure graph; every guard and the coalition confirmed on the messages"
    if searched is None:
        searched, by = search(players, ask, query.limit), "searched on the messages themselves"
    colluders = _least(query, oracle, node, searched, players, True, trouble, by)
    if not query.taps:
        return NodeExposure(node, colluders)
    lines = query.lines(oracle.lines)
    listening = oracle.exposes(node, False)
    tapped = search(lines, listening, query.limit)
    taps = _least(query, oracle, node, tapped, lines, False, trouble, "searched on the messages themselves")
    # Guards against colluders that read every line are guards against those that must choose their lines.
    everything = players | lines
    with_all_lines = Searched(None, searched.at_least, searched.guards, searched.stuck)
    if searched.choice is not None and listening(searched.choice):
        with_all_lines = searched
    elif searched.choice is not None or searched.stuck:
        with_all_lines = search(everything, listening, query.limit, searched.guards)
    together = _least(
        query, oracle, node, with_all_lines, everything, False, trouble, "searched on the messages themselves"
    )
    return NodeExposure(node, colluders, taps, together)


def _by_graph(
    query: CoalitionQuery, oracle: _Oracle, graph: Network, node: int, players: dict[Agent, float]
) -> Searched | None:
    """Search on the exposure graph; return None if the messages do not confirm the result."""
    confirm = oracle.exposes(node, True)
    most, rows = _rows(query)

    def exposes(choice: Choice) -> bool | None:
        if not choice:  # the graph does not say what an outsider learns
            return confirm(choice)
        return sum(rows[v] for v in component(graph, node, query.nodes_of(choice))) <= most

    if graph.n > _HITTING:
        searched = _without_guards(query, graph, node, players, outsider=bool(confirm(frozenset())))
    else:
        searched = search(players, exposes, query.limit)
    everybody = frozenset(players)
    confirmed = all(confirm(everybody - guard) is False for guard in searched.guards)
    if searched.choice is not None:
        confirmed = confirmed and confirm(searched.choice) is True
    return searched if confirmed else None


def _rows(query: CoalitionQuery) -> tuple[int, tuple[int, ...]]:
    """Count the rows that a group may have, and those of each node; at level "input" each node counts 1."""
    if query.equations is None:
        return 1, (1,) * query.network.n
    return query.equations.most_rows(), query.counts


def _without_guards(
    query: CoalitionQuery, graph: Network, node: int, players: dict[Agent, float], *, outsider: bool
) -> Searched:
    most, rows = _rows(query)
    if query.owners is not None:
        cheapest = cheapest_choice(
            graph, node, rows, most, players, members=query.members, limit=query.limit, empty_boundary=outsider
        )
        stuck = "" if cheapest.proved else "the integer programme was not solved"
        return Searched(
            cheapest.choice, cheapest.at_least if cheapest.choice is not None else query.limit + 1, (), stuck
        )
    weights = np.array([players.get(v, 1.0) for v in range(graph.n)])
    branched = cheapest_boundaries(
        *arrays(graph), rows, most, limit=query.limit, weights=weights, nodes=np.array([node]), empty_boundary=outsider
    )
    cost, proved = float(branched.cost[0]), bool(branched.proved[0])
    stuck = "" if proved else "the search took too many steps"
    if np.isinf(cost):
        return Searched(None, query.limit + 1 if proved else 0.0, (), stuck)
    return Searched(frozenset(branched.boundaries[0]), cost if proved else 0.0, (), stuck)


def _in_large(query: CoalitionQuery, graph: Network | None, columns: int, rng: np.random.Generator) -> Exposure:
    """Search on a network that is too large to record the protocol on unit inputs and unit masks."""
    large = f"{columns} inputs and masks are more than the {_COLUMNS} on which messages are recorded"
    outsider, objection = False, "the protocol declares no exposure graph"
    if graph is not None:
        outsider, objection = checked_in_small(query.protocol, query.network, query.inputs[0].shape[2], rng)
    exposures = []
    for node in query.asked:
        players = query.players(node, server=False)
        nothing = Least(
            "inconclusive",
            None,
            None,
            0.0,
            reason=f"{large}; {objection or 'lines need recorded messages'}",
        )
        least = nothing
        if graph is not None and not objection:
            searched = _without_guards(query, graph, node, players, outsider=outsider)
            nodes = None if searched.choice is None else query.nodes_of(searched.choice)
            group = frozenset({node}) if nodes is None else component(graph, node, nodes)
            least = _summed(
                query, searched, nodes, frozenset() if nodes is None else group, "",
                "searched on the exposure graph, which is confirmed on a small piece of the network",
            )  # fmt: skip
        exposures.append(NodeExposure(node, least, nothing if query.taps else None, nothing if query.taps else None))
    method = "the exposure graph that the protocol declares, confirmed on a small piece of the network"
    return _exposure(
        query, exposures, method if graph is not None and not objection else large, [objection] if objection else []
    )


def _least(
    query: CoalitionQuery,
    oracle: _Oracle,
    node: int,
    searched: Searched,
    costs: dict[Agent, float],
    eavesdrops: bool,
    trouble: str,
    by: str,
) -> Least:
    choice, stuck = searched.choice, searched.stuck
    if choice is None and stuck:  # an upper bound that may equal the lower one
        choice = _any(oracle, node, costs, eavesdrops, query.limit)
        if choice is not None and total(costs, choice) <= searched.at_least:
            stuck = ""
    group: frozenset[int] = frozenset()
    if choice is not None:
        group = oracle.group(choice, node, eavesdrops) or frozenset()
    nodes = None if choice is None else query.nodes_of(choice)
    at_least = searched.at_least
    guards = searched.guards if stuck or trouble or not searched.guards else fewest(searched.guards, costs, at_least)
    result = Searched(choice, at_least, guards, stuck)
    return _summed(query, result, nodes, group, trouble, by, cost=total(costs, choice or frozenset()))


def _any(oracle: _Oracle, node: int, costs: dict[Agent, float], eavesdrops: bool, limit: float) -> Choice | None:
    """Find some choice within the limit that exposes the node, by removing agents greedily from all of them."""
    ask = oracle.exposes(node, eavesdrops)
    choice = frozenset(costs)
    if not ask(choice):
        return None
    for agent in sorted(costs, key=lambda a: (-costs[a], str(a))):
        if ask(choice - {agent}):
            choice -= {agent}
    return choice if total(costs, choice) <= limit else None


def _summed(
    query: CoalitionQuery,
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
        cost = float(sum(query.costs.get(agent, 1.0) for agent in choice))
    method = "none" if stuck else "guards" if searched.guards else "exhaustive search"
    if not stuck and not searched.guards and query.owners is not None and choice:
        method = "integer programme"
    return Least(
        status,  # type: ignore[arg-type]
        nodes,
        None if choice is None else cost,
        0.0 if trouble else searched.at_least,
        group,
        sum(query.counts[i] for i in group),
        frozenset(a for a in choice or () if isinstance(a, tuple)),
        frozenset(a for a in choice or () if isinstance(a, str)),
        ProofOfLeast(method, searched.guards, by),  # type: ignore[arg-type]
        stuck,
    )
