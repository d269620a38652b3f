"""Measures that might mend a cell, the scenario change that each means, and its application.

What a protocol advises about itself is its own ``advise``; what holds for every protocol stands here. Repairs of
coalitions take the same measures. What a report recommends is decided where it is tried
(``secmix.auditing.advice.trials``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from secmix._base import plugins
from secmix.adversaries.against_rules.worst_of_a_rule import NO_NUMBERS
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.cell_parts import UNMASKED, NodeSummary, Robustness, SigmaPoint
from secmix.auditing.setup import CollaborationSetup, Setup, SumSetup, build_network, deep_copy
from secmix.errors import SecmixError
from secmix.network import nodes_in_words
from secmix.protocols.collaboration import CollaborationTraits
from secmix.protocols.interfaces import Advice, Revealed, SumTraits
from secmix.protocols.released import Released
from secmix.scenario import Scenario, from_dict
from secmix.transcript import Origin

T = TypeVar("T")

_TIMES = (2, 3, 4, 6, 8, 12, 16)  # rows a node, in multiples of what there are
_OF_RESULTS = (
    "Release what more rows make, fewer numbers of it, or add noise before it is released: masks and encryption hide "
    "messages on the way, and nothing of the result."
)


def try_in_turn(measures: Iterable[Advice], attempt: Callable[[Advice], T], helps: Callable[[T], bool]) -> list[T]:
    """Return what each attempt gave; of steps of one measure the first that helps is enough, else the last counts."""
    tried: dict[str, T] = {}
    for k, measure in enumerate(measures):
        key = measure.id or f"{k}"
        if key not in tried or not helps(tried[key]):
            tried[key] = attempt(measure)
    return list(tried.values())


def changed_scenario(cell: Scenario, change: Mapping[str, Any]) -> Scenario:
    """Return ``cell`` with these keys changed, and without its protocol's label, which may name what has changed.

    Raises SecmixError if the change does not fit the rest.
    """
    content = cell.to_dict()
    for key, value in change.items():
        table, _, name = key.partition(".")
        if name and not isinstance(content.get(table, {}), Mapping):
            raise SecmixError(f"'{key}' cannot be changed: '{table}' is no table of a scenario, but a value")
        content[table] = {**content.get(table, {}), name: value} if name else value
    content["protocol"] = {key: value for key, value in content["protocol"].items() if key != "label"}
    return from_dict(content)


def changed_setup(cell: Scenario, setup: SumSetup, change: Mapping[str, Any]) -> tuple[Scenario, SumSetup]:
    """Return the changed cell and its parts; those that do not change are the very objects of ``setup``.

    Raises SecmixError if the change does not fit the rest.
    """
    changed = changed_scenario(cell, change)
    network = build_network(changed.network) if "network" in change else setup.network
    settings = {key.partition(".")[2]: value for key, value in change.items() if key.startswith("protocol.")}
    protocol: Any = setup.protocol
    if "protocol" in change:
        protocol = plugins.build("protocols", {"name": changed.protocol.name, **changed.protocol.settings})
    elif settings:
        if not dataclasses.is_dataclass(protocol) or isinstance(protocol, type):
            raise SecmixError("its settings cannot be changed by name")
        protocol = dataclasses.replace(deep_copy(protocol), **settings)
    counts = setup.counts
    if "data.rows_per_node" in change:
        rows = changed.data.rows_per_node or 1
        counts = (rows,) * network.n if isinstance(rows, int) else tuple(rows)
    return changed, dataclasses.replace(setup, network=network, protocol=protocol, counts=counts)


def more_rows(setup: SumSetup) -> Iterator[Advice]:
    """Yield steps of more rows at each node, as far as there are rows."""
    for times in _TIMES:
        counts = [times * count for count in setup.counts]
        if not setup.has_rows(counts):
            return
        rows: int | list[int] = counts[0] if len(set(counts)) == 1 else counts
        amount = f"{rows} rows" if isinstance(rows, int) else f"{times} times the rows"
        plain = "let each of them bring more records"
        yield Advice(f"Give each node {amount}", {"data.rows_per_node": rows}, plain)


def fewer_iterations(cell: Scenario) -> Iterator[Advice]:
    """Yield steps of fewer iterations, down to one."""
    for iterations in range(cell.model.iterations - 1, 0, -1):
        words = f"Run {iterations} iteration{'s' * (iterations > 1)} instead of {cell.model.iterations}"
        yield Advice(words, {"model.iterations": iterations}, "run fewer rounds")


def fresh_masks(protocol: Any) -> Advice:
    """Return the advice to use no masks twice, with the change of a setting where the protocol has that setting."""
    change = {"protocol.masks": "fresh"} if getattr(protocol, "masks", None) == "reused" else {}
    return Advice("Draw fresh masks for every averaging", change, "use new masks in every round")


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


def _is_broken_by_no_number(robustness: Robustness) -> bool:
    """Say whether what is not finite suffices to push the result: the rule does not set it aside."""
    return any(point.found is None and point.found_by in NO_NUMBERS for point in robustness.points)


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
    no_number = robustness is not None and broken and _is_broken_by_no_number(robustness)
    colluders = robustness.colluders if robustness is not None and broken and not no_number else 0
    advised: list[Advice | str] = list(traits.advise(Revealed(revealed, setup.corrupt, setup.network, colluders)))
    if no_number:
        words = (
            "Have the rule set aside messages that are not finite before it combines the others: "
            "messages[np.isfinite(messages).all(axis=1)]."
        )
        advised.append(Advice(words, plain="set aside messages that are no numbers", against="falsehood"))
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
    if not advised and (unmasked := [s.node for s in known if UNMASKED in s.why]):
        words = f"Add a secret mask to what {nodes_in_words(tuple(unmasked))} sends: it is read as it stands."
        advised.append(Advice(words, plain="add a secret mask to what is sent"))
    return advised


def _fewer_equations(cell: Scenario, setup: SumSetup) -> list[Advice | str]:
    """Return two ways to have fewer sums than unknown numbers, step by step; the trial finds how far they must go."""
    why = "fewer known sums than unknown numbers cannot be solved"
    steps = [_because(step, why) for step in (*more_rows(setup), *fewer_iterations(cell))]
    return [*steps] or [f"Give each node more rows: {why}."]


def _because(advice: Advice, why: str) -> Advice:
    return dataclasses.replace(advice, words=f"{advice.words}: {why}.")


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
