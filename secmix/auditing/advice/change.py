"""Change a scenario as a measure says, and try measures in turn: for advice in an audit and for repairs alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from secmix._base import plugins
from secmix.auditing.setup import SumSetup, build_network
from secmix.auditing.soundness import deep_copy
from secmix.errors import SecmixError
from secmix.protocols.interfaces import Advice
from secmix.scenario import Scenario, from_dict

T = TypeVar("T")

_TIMES = (2, 3, 4, 6, 8, 12, 16)  # rows a node, in multiples of what there are


def try_in_turn(measures: Iterable[Advice], attempt: Callable[[Advice], T], helps: Callable[[T], bool]) -> list[T]:
    """Return what each attempt gave; of steps of one measure the first that helps is enough, else the last counts."""
    tried: dict[str, T] = {}
    for k, measure in enumerate(measures):
        key = measure.id or f"{k}"
        if key not in tried or not helps(tried[key]):
            tried[key] = attempt(measure)
    return list(tried.values())


def changed_scenario(cell: Scenario, change: Mapping[str, Any]) -> Scenario:
    """Return ``cell`` with these keys changed, and without its protocol's label, which may name what has changed."""
    content = cell.to_dict()
    for key, value in change.items():
        table, _, name = key.partition(".")
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
