"""A report must not recommend what it refutes: a change that another of its cells is, is judged by that cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from secmix._base import plugins
from secmix.auditing import decide
from secmix.auditing.advice.change import changed_scenario
from secmix.auditing.advice.trials import recommended
from secmix.auditing.report import Cell, Outcome, Trial, Verdict
from secmix.auditing.setup import Given
from secmix.errors import SecmixError
from secmix.scenario import Scenario

_OUTCOMES: dict[Verdict, Outcome] = {
    "holds": "helps",
    "not asked": "helps",
    "inconclusive": "open",
    "violated": "no use",
}


def with_what_the_report_says(cells: Sequence[Scenario], found: Sequence[Cell], given: Given | None) -> list[Cell]:
    """Return the cells of a report, each advised by what all of them found.

    Parameters
    ----------
    cells : sequence of Scenario
    found : sequence of Cell
        In the same order.
    given : mapping, optional
        Ready-made parts, as in ``secmix.audit``.
    """
    contents = [_unlabelled(cell) for cell in cells]
    kinds = [_kind(cell, given) for cell in cells]
    judged = []
    for k, cell in enumerate(found):
        trials = [_judged(trial, list(_same(k, trial, cells, contents, kinds, found))) for trial in cell.trials]
        repairs = cell.coalitions.repairs if cell.coalitions is not None else []
        judged.append(cell.model_copy(update={"trials": trials, "advice": recommended(trials, repairs)}))
    return judged


def _same(
    k: int,
    trial: Trial,
    cells: Sequence[Scenario],
    contents: Sequence[dict[str, Any]],
    kinds: Sequence[object],
    found: Sequence[Cell],
) -> Iterator[Cell]:
    """Yield the cells of this report that are what the trial would make of cell ``k``."""
    if not trial.change:
        return
    try:
        wanted = _unlabelled(changed_scenario(cells[k], trial.change))
    except SecmixError:
        return
    swapped = _installed(trial.change["protocol"]) if set(trial.change) == {"protocol"} else None
    for j, content in enumerate(contents):
        if j == k:
            continue
        if content == wanted or (swapped is not None and kinds[j] is swapped and _others(content) == _others(wanted)):
            yield found[j]


def _judged(trial: Trial, same: Sequence[Cell]) -> Trial:
    """Return the trial as the full audits of the same change have it; the best of them counts."""
    if not same:
        return trial
    best = min(same, key=lambda cell: decide.ORDER.index(_verdict(cell)))
    verdict = _verdict(best)
    said = f"This report audits it in full, as {best.protocol}: {verdict}."
    effect = "closed" if verdict == "holds" else ""
    return trial.model_copy(update={"outcome": _OUTCOMES[verdict], "effect": effect, "found": said})


def _verdict(cell: Cell) -> Verdict:
    """Return the verdict on its nodes, whatever colluders do to the result: that is another question."""
    if not cell.nodes:
        return cell.verdict
    revealed = any(node.standing == "revealed" for node in cell.nodes)
    return "violated" if revealed else decide.worst(node.verdict for node in cell.nodes)


def _unlabelled(cell: Scenario) -> dict[str, Any]:
    content = cell.to_dict()
    return {
        key: {name: each for name, each in value.items() if name != "label"}
        if key in ("protocol", "adversary")
        else value
        for key, value in content.items()
        if key not in ("title", "description")
    }


def _others(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != "protocol"}


def _kind(cell: Scenario, given: Given | None) -> object:
    """Return the class of a cell's protocol."""
    part = (given or {}).get(("protocol", cell.protocol.name))
    return type(part) if part is not None else _installed({"name": cell.protocol.name})


def _installed(protocol: Any) -> object:
    """Return the class behind an installed name; None for others, which are not loaded to compare them."""
    name = protocol.get("name") if isinstance(protocol, Mapping) else None
    known = plugins.available("protocols")
    return known[name].load() if name in known else None
