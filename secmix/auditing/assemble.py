"""The report of an audit from the results of its cells."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from secmix._base.naming import label, named
from secmix.auditing import decide
from secmix.auditing.advice.trials import with_what_the_report_says
from secmix.auditing.evidence.interface import installed
from secmix.auditing.report import Cell, CellResult, Report
from secmix.auditing.setup import ReadyParts
from secmix.auditing.verdict_sentence import verdict_sentence
from secmix.scenario import Scenario

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "networkx")
_ACTIVE = "nodes that deviate from the protocol, alone or in collusion (Byzantine adversaries)"
_BEYOND = (
    _ACTIVE,
    "colluders who steer the fit so as to single a node out",
    "knowledge of the data from elsewhere: the adversary knows the protocol and the public parameters, no rows",
    "timing, message sizes, and implementation faults outside the protocol's arithmetic",
)


def assemble(
    scenario: Scenario,
    results: Sequence[CellResult],
    reproduce: str,
    source: str,
    lines: Sequence[Mapping[str, int]] = (),
    ready_parts: ReadyParts | None = None,
    audited: Sequence[Scenario] | None = None,
    numbers: Sequence[int] | None = None,
) -> Report:
    """Assemble the report of ``scenario`` from the ``results`` of its cells, at ``lines`` of the file ``source``.

    ``audited`` are the cells that the results are of, by default all; ``ready_parts`` are objects that took the place
    of named parts; ``numbers`` are the cells' places in the sweep, counted from 1. Cells against the public come first,
    the others in their order.
    """
    audited = list(scenario.cells()) if audited is None else audited
    numbered = [
        cell.model_copy(update={"number": number})
        for number, (cell, _) in zip(numbers or range(1, len(results) + 1), results, strict=True)
    ]
    cells = [_with_names(cell) for cell in with_what_the_report_says(audited, numbered, ready_parts)]
    findings = [
        finding.model_copy(update={"notes": [named(note, cell.names) for note in finding.notes]})
        if cell.names
        else finding
        for cell, (_, of_cell) in zip(cells, results, strict=True)
        for finding in of_cell
    ]
    order = sorted(range(len(cells)), key=lambda k: not cells[k].public)  # what leaves at the end comes first
    cells, lines = [cells[k] for k in order], [lines[k] for k in order] if lines else []
    verdict = decide.of_report(cells)
    active = all(cell.robustness for cell in cells)
    beyond = [attack for attack in _BEYOND if not (active and attack == _ACTIVE)]
    left_out = [each for each in installed() if each.name not in scenario.measure.evidence]
    skipped = [each.not_tried for each in left_out if each.not_tried]
    policy = scenario.policy.model_dump(exclude_none=True)
    return Report(
        secmix_version=version("secmix"),
        versions={"Python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        title=scenario.title,
        description=scenario.description,
        verdict=verdict,
        sentence=verdict_sentence(verdict, policy, cells),
        policy={key: value if isinstance(value, str) else float(value) for key, value in policy.items()},
        findings=findings,
        cells=cells,
        not_tried=[*skipped, *beyond],
        scenario=scenario.to_dict(),
        seed=scenario.seed,
        source=source,
        lines=[dict(of_cell) for of_cell in lines],
        reproduce=reproduce,
    )


_INPUT = re.compile(r"\bx(\d+)\b")
_WORDS_OF_OTHERS = {"protocol", "adversary", "reproduce", "command", "names", "change"}


def _with_names(cell: Cell) -> Cell:
    """Return the cell with the names of its nodes in every sentence."""
    if not cell.names:
        return cell

    def walk(value: Any) -> Any:  # "x0 + x2" is the basis of what is known
        if isinstance(value, str):
            return named(_INPUT.sub(lambda m: f"x({label(int(m[1]), cell.names)})", value), cell.names)
        if isinstance(value, dict):
            return {key: item if key in _WORDS_OF_OTHERS else walk(item) for key, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, list) else value

    return Cell.model_validate(walk(cell.model_dump(mode="json", by_alias=True)))
