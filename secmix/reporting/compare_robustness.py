"""Compare the robustness of two reports. A search that finds a smaller error has proved nothing."""

from __future__ import annotations

import math
from typing import Literal

from secmix.auditing.report import Cell, Robustness
from secmix.reporting import robustness as robust

Direction = Literal["worse", "unclear", "better", "added", "removed"]
Line = tuple[str, str, str, Direction]
"""What, before, after, direction."""
NOISE = 0.05  # relative difference of found errors that the randomness of the search explains


def verdict_way(old: str, new: str) -> Direction:
    """Decide whether one verdict is better than another."""
    if new == "inconclusive":  # a leak that is no longer decided is not closed
        return "unclear" if old == "violated" else "worse"
    return "worse" if new == "violated" else "better"


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
        if breaks and (b.breakdown < a.breakdown - 1e-9 or not broke):
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
        if was is None or not _differ(was.found, point.found):
            continue
        rose = _size(point.found) > _size(was.found)
        sure = point.proven is not None and point.proven <= _size(was.found)
        way: Direction = "worse" if rose else "better" if sure else "unclear"
        what = f"error with {point.colluders}"
        lines.append((what, robust.error(was.found), robust.error(point.found), way))
    return lines


def _damages(a: Robustness, b: Robustness) -> list[Line]:
    """Compare the worst errors of the outcome; no theorem bounds them, so that a smaller one is unclear."""
    if not a.damages or not b.damages:
        return []
    was, now = (max(robustness.damages, key=lambda d: _size(d.model)).model for robustness in (a, b))
    if not _differ(was, now):
        return []
    before, after = (f"off by {robust.error(model, robust.NO_FIT)}" for model in (was, now))
    return [("outcome", before, after, "worse" if _size(now) > _size(was) else "unclear")]


def _differ(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return (a is None) != (b is None)
    return abs(a - b) > NOISE * min(a, b) and abs(a - b) > 1e-3


def _size(value: float | None) -> float:
    return math.inf if value is None else value
