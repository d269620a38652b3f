"""Compare the robustness of two reports. A search that finds a smaller error has proved nothing."""

from __future__ import annotations

from typing import Literal

from secmix.auditing import worse
from secmix.auditing.report import Cell, Robustness, Verdict
from secmix.reporting import robustness as robust

Direction = Literal["worse", "unclear", "better", "added", "removed"]
Line = tuple[str, str, str, Direction]
"""What, before, after, direction."""


def verdict_way(old: Verdict, new: Verdict) -> Direction:
    """Decide whether one verdict is better than another."""
    if worse.is_worse(old, new):
        return "worse"
    # A leak that is no longer decided is not closed.
    return "unclear" if new == "inconclusive" else "better"


def robustness_changes(old: Cell, new: Cell) -> list[Line]:
    """List the changes in verdict, breakdown, found error and damage."""
    a, b = old.robustness, new.robustness
    if a is None or b is None:
        if a is None and b is None:
            return []
        before, after = ("" if a is None else a.verdict), ("" if b is None else b.verdict)
        return [("robustness", before, after, "added" if a is None else "removed")]
    lines: list[Line] = []
    if a.verdict != b.verdict:
        lines.append(("robustness", a.verdict, b.verdict, verdict_way(a.verdict, b.verdict)))
    if a.colluders != b.colluders:
        was, now = f"{a.colluders} of {old.n_nodes}", f"{b.colluders} of {new.n_nodes}"
        lines.append(("colluders", was, now, "unclear"))
    return [*lines, *_breakdowns(old, a, new, b), *_errors(old, a, new, b), *_damages(a, b)]


def _breakdowns(old: Cell, a: Robustness, new: Cell, b: Robustness) -> list[Line]:
    lines: list[Line] = []
    broke, breaks = (robust.first_unbounded(robustness) is not None for robustness in (a, b))
    if abs(a.breakdown - b.breakdown) > 1e-9 or broke != breaks:
        # After a breakdown, only a theorem that covers as many colluders shows an improvement.
        way: Direction = "unclear"
        if worse.breaks_sooner(a, b):
            way = "worse"
        elif broke and b.breakdown_proven > a.breakdown + 1e-9:
            way = "better"
        lines.append(("breakdown", robust.breaks(old, a), robust.breaks(new, b), way))
    if abs(a.breakdown_proven - b.breakdown_proven) > 1e-9:
        way = "better" if b.breakdown_proven > a.breakdown_proven else "worse"
        lines.append(("proof", robust.proven(old, a), robust.proven(new, b), way))
    return lines


def _errors(old: Cell, a: Robustness, new: Cell, b: Robustness) -> list[Line]:
    if old.n_nodes != new.n_nodes:
        return []  # the same number of colluders is another fraction
    before = {p.colluders: p for p in a.points}
    lines: list[Line] = []
    for point in b.points:
        was = before.get(point.colluders)
        if was is None or not worse.differ(was.found, point.found):
            continue
        rose = worse.as_number(point.found) > worse.as_number(was.found)
        sure = point.proven is not None and point.proven <= worse.as_number(was.found)
        way: Direction = "worse" if rose else "better" if sure else "unclear"
        what = f"error with {point.colluders}"
        lines.append((what, robust.error(was.found), robust.error(point.found), way))
    return lines


def _damages(a: Robustness, b: Robustness) -> list[Line]:
    """Compare the worst errors of the outcome; no theorem bounds them, so that a smaller one is unclear."""
    if not a.damages or not b.damages:
        return []
    was, now = (max(robustness.damages, key=lambda d: worse.as_number(d.model)).model for robustness in (a, b))
    if not worse.differ(was, now):
        return []
    before, after = (f"off by {robust.error(model, robust.NO_FIT)}" for model in (was, now))
    return [("outcome", before, after, "worse" if worse.as_number(now) > worse.as_number(was) else "unclear")]
