"""What counts for the verdict of a report: all of it, but for what a baseline had already and what somebody accepts.

Cells and nodes keep their own verdicts, and everything stays in the report, marked; only the report's verdict changes.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from datetime import date
from typing import Any

from secmix.auditing import decide
from secmix.auditing.report import FAULTS, Cell, Coalitions, NodeSummary, Report, Robustness, Since, Verdict
from secmix.errors import brief
from secmix.scenario import AcceptedSpec

_log = logging.getLogger("secmix")
_COVERS = {
    "revealed": {"revealed", "partly leaked", "inconclusive", "no more than the output itself reveals"},
    "partly leaked": {"partly leaked", "no more than the output itself reveals"},
    "inconclusive": {"inconclusive"},
}
"""What an acceptance of one standing covers. What is inconclusive may be worse than partly leaked."""

_BENIGN = {"title", "description", "seed", "protocol", "adversary", "sweep", "accepted", "memory_limit"}


def counted(
    report: Report, baseline: Report | None = None, accepted: Sequence[AcceptedSpec] = (), today: date | None = None
) -> Report:
    """``report`` judged by what got worse than in ``baseline`` and is not ``accepted``.

    A node's verdict counts if it is worse than it was, or if its standing or leakage is, by more than a hundredth
    (estimates differ by as much between seeds).

    Parameters
    ----------
    report : Report
    baseline : Report, optional
        Without it everything counts that is not accepted.
    accepted : sequence of AcceptedSpec
    today : date, optional
        Without it nothing has ended.
    """
    if baseline is None and not accepted:
        return report
    in_force = [entry for entry in accepted if today is None or today <= entry.until]
    ended = [entry for entry in accepted if entry not in in_force]
    cells = [_marked(cell, baseline, in_force, ended) for cell in report.cells]
    for entry in accepted:
        if not any(_names(entry, cell) for cell in cells):
            _log.warning("%s", brief(f"an accepted finding is of no combination of this audit: {_who(entry)}"))
    faults = [fault for cell in cells for fault in decide.faults(cell)]
    counting = [fault.verdict for fault in faults if fault.counts]
    accepting = [fault.verdict for fault in faults if fault.accepted is not None]
    known = [fault.verdict for fault in faults if fault.accepted is None and not fault.counts]
    ends = sorted({entry.until for entry in in_force if any(_names(entry, cell) for cell in cells)})
    over = [entry for entry in ended if any(_names(entry, cell) for cell in cells)]
    report = report.model_copy(update={"sentence": report.sentence + _ended(over)})
    said = []
    if baseline is not None:
        said.append(_against_baseline(len(counting), len(known)))
        if differing := different_scenarios(baseline, report):
            said.append(f"the baseline is of another scenario, which differs in {', '.join(differing)}")
    if accepting:
        last = f", the first until {ends[0]}, the last until {ends[-1]}" if len(ends) > 1 else f" until {ends[0]}"
        said.append(f"{_counted(len(accepting), 'finding')} accepted{last}")
    if not said:
        return report.model_copy(update={"cells": cells})
    without = " or ".join(
        ["the baseline"] * (baseline is not None) + [f"what is accepted ({reasons(in_force)})"] * bool(accepting)
    )
    sentence = f"{'; '.join(said)}. Without {without}: {report.sentence}"
    sentence = sentence[0].upper() + sentence[1:]
    update: dict[str, Any] = {"cells": cells, "sentence": sentence}
    update["verdict"] = decide.of_report(cells)
    if update["verdict"] == "no worse":
        update["headline"] = _headline(baseline is not None, known, accepting, ends)
    return report.model_copy(update=update)


def _ended(entries: Sequence[AcceptedSpec]) -> str:
    """Say that acceptances are over, with the days and whom they were of; nothing where there are none."""
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


def _sorted(found: Sequence[Verdict]) -> tuple[str, str]:
    """Count violations apart from what could not be decided, with the verb that follows.

    >>> _sorted(["violated"]), _sorted(["violated", "inconclusive", "violated"])
    (('1 violation', 'is'), ('2 violations and 1 open question', 'are'))
    """
    counts = {"violation": found.count("violated"), "open question": len(found) - found.count("violated")}
    listed = [f"{count} {what}{'s' * (count > 1)}" for what, count in counts.items() if count]
    return " and ".join(listed), "are" if len(found) > 1 else "is"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}s are" if count > 1 else f"{count} {what} is"


def different_scenarios(a: Report, b: Report) -> list[str]:
    """What two reports were audited on differs in, beyond their protocols and adversaries; names of scenario keys."""
    keys = sorted({*a.scenario, *b.scenario} - _BENIGN)
    differing = [key for key in keys if _plain(a.scenario.get(key)) != _plain(b.scenario.get(key))]
    swept = [{key: value for key, value in r.scenario.get("sweep", {}).items() if key not in _BENIGN} for r in (a, b)]
    return differing + (["sweep"] if _plain(swept[0]) != _plain(swept[1]) else [])


def reasons(entries: Sequence[AcceptedSpec]) -> str:
    """Why they are accepted, each reason once."""
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
    old = None
    if baseline is not None:
        old = next((c for c in baseline.cells if (c.protocol, c.adversary) == (cell.protocol, cell.adversary)), None)
    since = baseline is not None
    was = {node.node: node for node in old.nodes} if old else {}
    mine = [entry for entry in in_force if _names(entry, cell)]
    nodes = []
    for node in cell.nodes:
        if node.verdict in FAULTS:
            update: dict[str, Any] = {"accepted": _why(mine, node)}
            if since:
                before = was.get(node.node)
                update["since_baseline"] = _since(before, before is None or _got_worse(before, node))
            node = node.model_copy(update=update)
        nodes.append(node)
    robustness = cell.robustness
    if robustness is not None and robustness.verdict in FAULTS:
        update = {"accepted": _reason([entry for entry in mine if entry.robustness])}
        if since:
            earlier = old.robustness if old else None
            update["since_baseline"] = _since(earlier, _pushed_farther(earlier, robustness))
        robustness = robustness.model_copy(update=update)
    found = cell.coalitions
    if found is not None and since and found.verdict in FAULTS:
        first = old.coalitions if old else None
        found = found.model_copy(update={"since_baseline": _since(first, _fewer_suffice(first, found))})
    notes = [*cell.notes]
    notes += [brief(f"accepted until {entry.until}: {_what(entry)}; {entry.reason}") for entry in mine]
    notes += [
        brief(f"accepted until {entry.until}, which is over: {_what(entry)} counts again; {entry.reason}")
        for entry in ended
        if _names(entry, cell)
    ]
    update = {"nodes": nodes, "robustness": robustness, "coalitions": found, "notes": notes}
    if since:
        update["since_baseline"] = _since(old, old is None or decide.worst([old.verdict, cell.verdict]) != old.verdict)
    return cell.model_copy(update=update)


def _since(old: object, worse: bool) -> Since:
    return "new" if old is None else "worse" if worse else "no worse"


def _names(entry: AcceptedSpec, cell: Cell) -> bool:
    return (entry.protocol, entry.adversary) == (cell.protocol, cell.adversary)


def _why(entries: Sequence[AcceptedSpec], node: NodeSummary) -> str | None:
    return _reason(
        [
            entry
            for entry in entries
            if entry.standing is not None
            and node.standing in _COVERS[entry.standing]
            and (entry.nodes is None or node.node in entry.nodes)
        ]
    )


def _reason(entries: Sequence[AcceptedSpec]) -> str | None:
    return brief(f"{entries[0].reason} (until {entries[0].until})") if entries else None


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


def _got_worse(old: NodeSummary, new: NodeSummary) -> bool:
    return (
        decide.worst([old.verdict, new.verdict]) != old.verdict
        or (new.standing == "revealed" and old.standing != "revealed")
        or new.worst > old.worst + 0.01
    )


def _fewer_suffice(old: Coalitions | None, new: Coalitions) -> bool:
    if old is None or decide.worst([old.verdict, new.verdict]) != old.verdict:
        return True
    return new.least is not None and (old.least is None or new.least < old.least)


def _pushed_farther(old: Robustness | None, new: Robustness) -> bool:
    if old is None or decide.worst([old.verdict, new.verdict]) != old.verdict or new.breakdown < old.breakdown:
        return True
    before = {point.colluders: math.inf if point.found is None else point.found for point in old.points}
    return any(
        (math.inf if point.found is None else point.found) > before.get(point.colluders, 0.0) * 1.01
        for point in new.points
        if point.colluders <= new.colluders and not math.isinf(before.get(point.colluders, 0.0))
    )
