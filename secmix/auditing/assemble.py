"""The report of an audit from the results of its cells, and the sentence that says its verdict."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from secmix._base import plugins
from secmix._base.naming import label, named
from secmix.auditing import decide
from secmix.auditing.advice import changed_scenario, recommended
from secmix.auditing.cell_parts import NodeSummary, Outcome, Trial, Verdict
from secmix.auditing.evidence.interface import installed
from secmix.auditing.report import Cell, CellResult, Conclusion, Report, covered
from secmix.auditing.setup import ReadyParts
from secmix.errors import SecmixError
from secmix.scenario import Scenario

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "networkx")
_ACTIVE = "nodes that deviate from the protocol, alone or in collusion (Byzantine adversaries)"
_BEYOND = (
    _ACTIVE,
    "colluders who steer the fit so as to single a node out",
    "knowledge of the data from elsewhere: the adversary knows the protocol and the public parameters, no rows",
    "timing, message sizes, and implementation faults outside the protocol's arithmetic",
)
_OUTCOMES: dict[Verdict, Outcome] = {"inconclusive": "open", "violated": "no use"}  # else it helps
_FAR = 10.0
"""Output error from which on it is said first: rules that set messages aside reach 3 in the catalogue."""


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
    cells = [_with_names(cell) for cell in _advised_by_all(audited, numbered, ready_parts)]
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


def verdict_sentence(verdict: Conclusion, policy: Mapping[str, Any], cells: Sequence[Cell]) -> str:
    """Say what the verdict is, of which combinations, and what a reader must know beside it."""
    return _sentence(verdict, cells, _question(policy, cells)) + _known_in_part(policy, cells) + _far_off(cells)


def _question(policy: Mapping[str, Any], cells: Sequence[Cell]) -> str:
    """Name what an audit asks: the policy, a claim of differential privacy, or both."""
    if not any(cell.claim for cell in cells):
        return "policy"
    return "policy with its claim" if policy else "claim"


def _known_in_part(policy: Mapping[str, Any], cells: Sequence[Cell]) -> str:
    """Say of how many nodes a part is known where the policy counts no parts; nothing where it does."""
    if "max_revealed_nodes" not in policy or "max_normalised_leakage" in policy:
        return ""
    known = {
        label(node.node, cell.names)
        for cell in cells
        for node in cell.nodes
        if _leaks_in_part(node) and node.worst >= decide.NEARLY
    }
    if not known:
        return ""
    return (
        f" A part of the data of {len(known)} node{'s' * (len(known) > 1)} is known: max_revealed_nodes "
        "counts a node only where all of it is, max_normalised_leakage limits the parts."
    )


def _leaks_in_part(node: NodeSummary) -> bool:
    return node.standing == "partly leaked"


def _far_off(cells: Sequence[Cell]) -> str:
    """Say that a protocol computes something else than an average, as far as fitted means tell; else nothing."""
    error, protocol = max(((cell.output_error or 0.0, cell.protocol) for cell in cells), default=(0.0, ""))
    if error <= _FAR:
        return ""
    return (
        f" What {protocol} computes is no average: the fitted means are off by {error:.3g} times the largest of "
        "those of all rows together."
    )


def _sentence(verdict: Conclusion, cells: Sequence[Cell], question: str) -> str:
    def count(which: Verdict) -> int:
        return sum(cell.verdict == which for cell in cells)

    total = f"{len(cells)} combination{'s' * (len(cells) != 1)} of protocol and adversary"
    if verdict == "violated":
        bad = [c for c in cells if c.verdict == "violated"]
        listed = bad if len(bad) <= 5 else bad[:4]  # one more is named as well
        named = "; ".join(f"{c.protocol} against {c.adversary}" for c in listed)
        more = f" and {len(bad) - len(listed)} more" if len(listed) < len(bad) else ""
        text = f"The {question} is violated in {len(bad)} of {total}: {named}{more}"
        return (
            f"{text}. Of the rest, {count('inconclusive')} could not be decided."
            if count("inconclusive")
            else f"{text}."
        )
    if verdict == "inconclusive" and not count("inconclusive"):
        nothing = "nothing of these combinations of protocol and adversary: nothing is known to hold."
        return f"The {question} asks {nothing}"
    if verdict == "inconclusive" and any(_leaks_in_part(node) for cell in cells for node in cell.nodes):
        return (
            f"Data leak in part: whether the {question} is violated could not be decided in {count('inconclusive')} of "
            f"{total}. This is not a clearance."
        )
    if verdict == "inconclusive":
        return (
            f"No violation was found in {total}, but for {count('inconclusive')} the evidence does not suffice: this "
            "is not a clearance."
        )
    asked = len(cells) - count("not asked")
    named = total if asked == len(cells) else f"{asked} of {total}; of the others it asks nothing"
    return (
        f"The {question} holds in {named}{covered(cells)}. That is proved, under the assumptions that each combination "
        "names."
    )


@dataclass(frozen=True)
class _Audited:
    scenario: Scenario
    content: dict[str, Any]
    kind: object  # the class of the protocol
    cell: Cell


def _advised_by_all(cells: Sequence[Scenario], results: Sequence[Cell], ready_parts: ReadyParts | None) -> list[Cell]:
    """Return the cells of a report, each advised by the results of all; ``ready_parts`` as in ``build_setup``."""
    pairs = zip(cells, results, strict=True)
    audited = [_Audited(cell, _unlabelled(cell), _kind(cell, ready_parts), result) for cell, result in pairs]
    advised = []
    for own in audited:
        trials = [_judged(trial, list(_cells_after(own, trial, audited))) for trial in own.cell.trials]
        repairs = own.cell.coalitions.repairs if own.cell.coalitions is not None else []
        advised.append(own.cell.model_copy(update={"trials": trials, "advice": recommended(trials, repairs)}))
    return advised


def _cells_after(own: _Audited, trial: Trial, audited: Sequence[_Audited]) -> Iterator[Cell]:
    """Yield the cells of this report that are what the trial would make of ``own``."""
    if not trial.change or trial.outcome == "cannot be run":
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


def _judged(trial: Trial, full_audits: Sequence[Cell]) -> Trial:
    """Return the trial as the full audits of the same change have it; the best of them counts."""
    if not full_audits:
        return trial
    best = min(full_audits, key=lambda cell: decide.ORDER.index(decide.of_leak(cell)))
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


def _kind(cell: Scenario, ready_parts: ReadyParts | None) -> object:
    """Return the class of a cell's protocol."""
    part = (ready_parts or {}).get(("protocol", cell.protocol.name))
    return type(part) if part is not None else _installed({"name": cell.protocol.name})


def _installed(protocol: Any) -> object:
    """Return the class behind an installed name; None for others, which are not loaded to compare them."""
    name = protocol.get("name") if isinstance(protocol, Mapping) else None
    known = plugins.available("protocols")
    return known[name].load() if name in known else None


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
