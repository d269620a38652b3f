"""Apply a baseline and accepted findings: what was known before, or is accepted, does not count for a report.

Cells and nodes keep their own verdicts, and everything stays in the report, marked; only the report's verdict changes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, TypeVar

from secmix.auditing import decide, worse
from secmix.auditing.cell_parts import FAULTS, NodeSummary, Since, Verdict
from secmix.auditing.report import Acceptance, Cell, Report
from secmix.errors import brief
from secmix.scenario import AcceptedSpec

F = TypeVar("F", bound=decide.Fault)

_log = logging.getLogger("secmix")
_BOUNDED, _OUTPUT = "bounded by noise", "no more than the output itself reveals"
_COVERS = {
    "revealed": {"revealed", "partly leaked", "inconclusive", _BOUNDED, _OUTPUT},
    "partly leaked": {"partly leaked", _BOUNDED, _OUTPUT},
    "inconclusive": {"inconclusive"},
}
"""Standings that an acceptance of one covers. What is inconclusive may be worse than partly leaked."""

_BENIGN = {"title", "description", "seed", "protocol", "adversary", "sweep", "accepted", "memory_limit"}


def counted(
    report: Report, baseline: Report | None = None, accepted: Sequence[AcceptedSpec] = (), today: date | None = None
) -> Report:
    """Return ``report`` judged by what got worse than in ``baseline`` and is not ``accepted``.

    What is worse is defined in ``secmix.auditing.worse``. Without a baseline everything counts that is not accepted;
    without ``today`` no acceptance has ended.
    """
    in_force = [entry for entry in accepted if today is None or today <= entry.until]
    ended = [entry for entry in accepted if entry not in in_force]
    cells = [_marked(cell, baseline, in_force, ended) for cell in report.cells]
    for entry in accepted:
        if not any(_names(entry, cell) for cell in cells):
            there = "; ".join(f"'{cell.protocol}' against '{cell.adversary}'" for cell in cells)
            unknown = f"an accepted finding is of no combination of this audit: {_who(entry)}; there are {there}"
            _log.warning("%s", brief(unknown))
    faults = [fault for cell in cells for fault in decide.faults(cell)]
    verdicts = [fault.verdict for fault in faults if decide.counts(fault)]
    accepting = [fault.verdict for fault in faults if fault.accepted is not None]
    known = [fault.verdict for fault in faults if fault.accepted is None and not decide.counts(fault)]
    ends = sorted({entry.until for entry in in_force if any(_names(entry, cell) for cell in cells)})
    over = [entry for entry in ended if any(_names(entry, cell) for cell in cells)]
    acceptances = [
        Acceptance(protocol=e.protocol, adversary=e.adversary, what=_what(e), ended=e in ended, **e.words())
        for e in accepted
        if any(_names(e, cell) for cell in cells)
    ]
    report = report.model_copy(update={"sentence": report.sentence + _ended(over), "accepted": acceptances})
    sentences = []
    if baseline is not None:
        sentences.append(_against_baseline(len(verdicts), len(known)))
        if differing := different_scenarios(baseline, report):
            sentences.append(f"the baseline is of another scenario, which differs in {', '.join(differing)}")
    if accepting:
        last = f", the first until {ends[0]}, the last until {ends[-1]}" if len(ends) > 1 else f" until {ends[0]}"
        sentences.append(f"{_counted(len(accepting), 'finding')} accepted{last}")
    if not sentences:
        return report.model_copy(update={"cells": cells})
    without = " or ".join(
        ["the baseline"] * (baseline is not None) + [f"what is accepted ({reasons(in_force)})"] * bool(accepting)
    )
    sentence = f"{'; '.join(sentences)}. Without {without}: {report.sentence}"
    sentence = sentence[0].upper() + sentence[1:]
    update: dict[str, Any] = {"cells": cells, "sentence": sentence}
    update["verdict"] = decide.of_report(cells)
    if update["verdict"] == "no worse":
        update["headline"] = _headline(baseline is not None, known, accepting, ends)
    return report.model_copy(update=update)


def _ended(entries: Sequence[AcceptedSpec]) -> str:
    """List the acceptances that have ended, with the last day of each; empty if none has."""
    if not entries:
        return ""
    which = "; ".join(f"{_who(entry)}, on {entry.until}" for entry in entries)
    return " " + brief(f"{len(entries)} acceptance{'s have' if len(entries) > 1 else ' has'} ended: {which}") + "."


def _headline(against_baseline: bool, known: Sequence[Verdict], accepting: Sequence[Verdict], ends: list[date]) -> str:
    """Say in a few words why nothing counts, ending with the day on which the first acceptance ends."""
    if not against_baseline:
        return f"accepted until {ends[0]}: {_sorted(accepting)[0]}"
    parts = ["no worse than the baseline"]
    if known:
        parts[0] += f": {' '.join(_sorted(known))} known"
    if accepting:
        parts.append(f"{_counted(len(accepting), 'finding')} accepted until {ends[0]}")
    return "; ".join(parts)


def _sorted(verdicts: Sequence[Verdict]) -> tuple[str, str]:
    """Count violations apart from what could not be decided, with the verb that follows.

    >>> _sorted(["violated"]), _sorted(["violated", "inconclusive", "violated"])
    (('1 violation', 'is'), ('2 violations and 1 open question', 'are'))
    """
    counts = {"violation": verdicts.count("violated"), "open question": len(verdicts) - verdicts.count("violated")}
    listed = [f"{count} {what}{'s' * (count > 1)}" for what, count in counts.items() if count]
    return " and ".join(listed), "are" if len(verdicts) > 1 else "is"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}s are" if count > 1 else f"{count} {what} is"


def different_scenarios(a: Report, b: Report) -> list[str]:
    """Name the scenario keys in which two reports differ, beside their protocols and adversaries."""
    keys = sorted({*a.scenario, *b.scenario} - _BENIGN)
    differing = [key for key in keys if _plain(a.scenario.get(key)) != _plain(b.scenario.get(key))]
    swept = [{key: value for key, value in r.scenario.get("sweep", {}).items() if key not in _BENIGN} for r in (a, b)]
    return differing + (["sweep"] if _plain(swept[0]) != _plain(swept[1]) else [])


def reasons(entries: Sequence[AcceptedSpec]) -> str:
    """Say why they are accepted, each reason once."""
    return brief("; ".join(dict.fromkeys(entry.reason for entry in entries)), 200)


def _plain(value: Any) -> Any:
    return {k: _plain(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def _against_baseline(worse: int, known: int) -> str:
    sentence = (
        f"Measured against the baseline, {worse} finding{'s' * (worse != 1)} got worse"
        if worse
        else "Nothing got worse than in the baseline"
    )
    return sentence + (f"; {known} stand{'s' * (known == 1)} no better than there" if known else "")


def _marked(
    cell: Cell, baseline: Report | None, in_force: Sequence[AcceptedSpec], ended: Sequence[AcceptedSpec]
) -> Cell:
    """Return a cell whose faults say how they stand to the baseline, and by which entries they are accepted."""
    old = None
    if baseline is not None:
        old = next((c for c in baseline.cells if (c.protocol, c.adversary) == (cell.protocol, cell.adversary)), None)

    def since(was: F | None, now: F, is_worse: Callable[[F, F], bool]) -> dict[str, Since]:
        if baseline is None:
            return {}
        return {"since_baseline": "new" if was is None else "worse" if is_worse(was, now) else "no worse"}

    was = {node.node: node for node in old.nodes} if old else {}
    entries = [entry for entry in in_force if _names(entry, cell)]
    nodes = [
        node.model_copy(update={"accepted": _why(entries, node), **since(was.get(node.node), node, worse.leaks_more)})
        if node.verdict in FAULTS
        else node
        for node in cell.nodes
    ]
    update: dict[str, Any] = {"nodes": nodes, "notes": [*cell.notes, *_notes(cell, entries, ended)]}
    robustness, coalitions = cell.robustness, cell.coalitions
    if robustness is not None and robustness.verdict in FAULTS:
        accepted = next((entry.why for entry in entries if entry.robustness), None)
        marks = since(old.robustness if old else None, robustness, worse.is_less_robust)
        update["robustness"] = robustness.model_copy(update={"accepted": accepted, **marks})
    if coalitions is not None and coalitions.verdict in FAULTS:
        marks = since(old.coalitions if old else None, coalitions, worse.fewer_suffice)
        update["coalitions"] = coalitions.model_copy(update=marks)
    if cell.claim is not None and cell.claim.verdict in FAULTS:
        marks = since(old.claim if old else None, cell.claim, worse.claims_less)
        update["claim"] = cell.claim.model_copy(update=marks)
    return cell.model_copy(
        update={**update, **since(old, cell, lambda was, now: worse.is_worse(was.verdict, now.verdict))}
    )


def _notes(cell: Cell, in_force: Sequence[AcceptedSpec], ended: Sequence[AcceptedSpec]) -> list[str]:
    """Return notes on the accepted findings of a cell, and on those whose acceptance has ended."""
    notes = [f"accepted until {entry.until}: {_what(entry)}; {entry.reason}" for entry in in_force]
    over = [entry for entry in ended if _names(entry, cell)]
    notes += [f"accepted until {x.until}, which is over: {_what(x)} counts again; {x.reason}" for x in over]
    return list(map(brief, notes))


def _names(entry: AcceptedSpec, cell: Cell) -> bool:
    return (entry.protocol, entry.adversary) == (cell.protocol, cell.adversary)


def _why(entries: Sequence[AcceptedSpec], node: NodeSummary) -> str | None:
    covering = (
        entry.why
        for entry in entries
        if entry.standing is not None
        and node.standing in _COVERS[entry.standing]
        and (entry.nodes is None or node.node in entry.nodes)
    )
    return next(covering, None)


def _what(entry: AcceptedSpec) -> str:
    setup = []
    if entry.standing is not None:
        who = "nodes " + ", ".join(map(str, entry.nodes)) if entry.nodes is not None else "all nodes"
        setup.append(f"{who} up to '{entry.standing}'")
    if entry.robustness:
        setup.append("what colluders can do to the result")
    return " and ".join(setup)


def _who(entry: AcceptedSpec) -> str:
    return f"'{entry.protocol}' against '{entry.adversary}'; {_what(entry)}"
