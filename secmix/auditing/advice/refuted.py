"""A report must not recommend what it refutes: a change that another of its cells is, is judged by that cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from secmix._base import plugins
from secmix.auditing import decide
from secmix.auditing.advice.measures import changed_scenario
from secmix.auditing.advice.trials import recommended
from secmix.auditing.report import Cell, Outcome, Trial, Verdict
from secmix.auditing.setup import ReadyParts
from secmix.errors import SecmixError
from secmix.scenario import Scenario

_OUTCOMES: dict[Verdict, Outcome] = {"inconclusive": "open", "violated": "no use"}  # else it helps


@dataclass(frozen=True)
class _Audited:
    scenario: Scenario
    content: dict[str, Any]
    kind: object  # the class of the protocol
    cell: Cell


def with_what_the_report_says(
    cells: Sequence[Scenario], results: Sequence[Cell], given: ReadyParts | None
) -> list[Cell]:
    """Return the cells of a report, each advised by what all of them came to; ``given`` as in ``secmix.audit``."""
    pairs = zip(cells, results, strict=True)
    audited = [_Audited(cell, _unlabelled(cell), _kind(cell, given), result) for cell, result in pairs]
    advised = []
    for own in audited:
        trials = [_judged(trial, list(_same(own, trial, audited))) for trial in own.cell.trials]
        repairs = own.cell.coalitions.repairs if own.cell.coalitions is not None else []
        advised.append(own.cell.model_copy(update={"trials": trials, "advice": recommended(trials, repairs)}))
    return advised


def _same(own: _Audited, trial: Trial, audited: Sequence[_Audited]) -> Iterator[Cell]:
    """Yield the cells of this report that are what the trial would make of ``own``."""
    if not trial.change:
        return
    try:
        wanted = _unlabelled(changed_scenario(own.scenario, trial.change))
    except SecmixError:
        return
    swapped = _installed(trial.change["protocol"]) if set(trial.change) == {"protocol"} else None
    for other in audited:
        alike = swapped is not None and other.kind is swapped and _others(other.content) == _others(wanted)
        if other is not own and (alike or other.content == wanted):
            yield other.cell


def _judged(trial: Trial, same: Sequence[Cell]) -> Trial:
    """Return the trial as the full audits of the same change have it; the best of them counts."""
    if not same:
        return trial
    best = min(same, key=lambda cell: decide.ORDER.index(decide.of_leak(cell)))
    verdict = decide.of_leak(best)
    sentence = f"This report audits it in full, as {best.protocol}: {verdict}."
    effect = "closed" if verdict == "holds" else ""
    return trial.model_copy(update={"outcome": _OUTCOMES.get(verdict, "helps"), "effect": effect, "found": sentence})


def _unlabelled(cell: Scenario) -> dict[str, Any]:
    content = {key: value for key, value in cell.to_dict().items() if key not in ("title", "description")}
    for part in ("protocol", "adversary"):
        content[part] = {key: value for key, value in content.get(part, {}).items() if key != "label"}
    return content


def _others(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != "protocol"}


def _kind(cell: Scenario, given: ReadyParts | None) -> object:
    """Return the class of a cell's protocol."""
    part = (given or {}).get(("protocol", cell.protocol.name))
    return type(part) if part is not None else _installed({"name": cell.protocol.name})


def _installed(protocol: Any) -> object:
    """Return the class behind an installed name; None for others, which are not loaded to compare them."""
    name = protocol.get("name") if isinstance(protocol, Mapping) else None
    known = plugins.available("protocols")
    return known[name].load() if name in known else None
