"""Effects of colluders on the result, in words and rows that every format shares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from secmix.adversaries.attacks.attack import installed, named
from secmix.auditing.cell_parts import Damage, Robustness, RobustnessPoint
from secmix.auditing.report import Cell, Report
from secmix.auditing.worse import as_number
from secmix.reporting import words

UNBOUNDED, NO_FIT = "without bound", "no fit"
POLICY = ("min_breakdown", "max_error_ratio")
MARK = "▲"
"""Marks the worst number of a row: bold type alone is lost where text is copied."""

State = Literal["proven", "open", "unbounded"]
MOST_PIPS = 16


def concerns(report: Report) -> bool:
    """Check whether the report contains robustness, or its policy asks about it."""
    return any(cell.robustness for cell in report.cells) or any(key in report.policy for key in POLICY)


def name(attack: str) -> str:
    """Write the name of an attack for running text.

    >>> name("alie"), name("sign_flip"), name("min_max")
    ('ALIE', 'sign flip', 'min-max')
    """
    return (attack in installed() and named(attack).title) or attack.replace("_", " ")


def error(value: float | None, none: str = UNBOUNDED) -> str:
    """Format an error with three digits; rounding errors become "<0.001", and large numbers keep their magnitude.

    >>> error(0.216), error(2e-16), error(61784.4), error(None)
    ('0.216', '<0.001', '6.18×10⁴', 'without bound')
    """
    if value is None or math.isinf(value):
        return none
    if 0 < value < 1:
        return "<0.001" if value < 5e-4 else f"{value:.3f}"
    if 1e3 <= value < 1e5:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}×10{words.superscript(int(exponent))}"
    return words.number(value)


def fraction(value: float) -> str:
    """Format a fraction of the nodes with two decimals.

    >>> fraction(2 / 9), fraction(0.0)
    ('0.22', '0')
    """
    return f"{value:.2f}" if value else "0"


def quartiles(damage: Damage) -> str:
    """Format the quartiles of the error of the outcome; empty if they equal the median."""
    ends = [error(end, NO_FIT) for end in (damage.model_low, damage.model_high)]
    return "" if set(ends) == {error(damage.model, NO_FIT)} else " to ".join(ends)


def first_unbounded(robustness: Robustness) -> RobustnessPoint | None:
    """Find the point with the fewest colluders that push the result without bound, or None."""
    return min((p for p in robustness.points if p.found is None), key=lambda p: p.colluders, default=None)


def breaks(cell: Cell, robustness: Robustness) -> str:
    """Say with how many colluders the result breaks down."""
    if first := first_unbounded(robustness):
        return f"with {first.colluders} of {cell.n_nodes} ({fraction(first.fraction)})"
    if not robustness.points:
        return "not searched"
    last = max(robustness.points, key=lambda p: p.colluders)
    return f"not found up to {last.colluders} of {cell.n_nodes} ({fraction(last.fraction)})"


def proven(cell: Cell, robustness: Robustness) -> str:
    """Say up to how many colluders a theorem bounds the error."""
    least = round(robustness.breakdown_proven * cell.n_nodes)
    if least == 0:
        return "proven for none"
    return f"proven up to {least} of {cell.n_nodes} ({fraction(robustness.breakdown_proven)})"


def headline(cell: Cell) -> str:
    """Say in a few words where the result breaks down, for a tile; empty without robustness."""
    if cell.robustness is None:
        return ""
    if first := first_unbounded(cell.robustness):
        return f"{first.colluders} of {cell.n_nodes} push it without bound"
    return f"breakdown {breaks(cell, cell.robustness).partition(' (')[0]}"


def state(point: RobustnessPoint, robustness: Robustness) -> State:
    """Classify what is known with so many colluders; an unbounded error that was found overrides every theorem."""
    if point.found is None:
        return "unbounded"
    return "proven" if point.fraction <= robustness.breakdown_proven + 1e-9 else "open"


def states(robustness: Robustness) -> list[State]:
    """Classify each number of colluders from one upwards; empty if there are too many to show."""
    points = sorted(robustness.points, key=lambda p: p.colluders)
    return [state(point, robustness) for point in points] if len(points) <= MOST_PIPS else []


def largest(robustness: Robustness) -> tuple[str, str]:
    """Find the largest error that the cell's own number of colluders reached, and the search or attack that did."""
    reached = [(p.found, p.found_by) for p in robustness.points if p.colluders == robustness.colluders]
    reached += [(d.aggregate, name(d.attack)) for d in robustness.damages]
    if not reached:
        return "not measured", ""
    value, by = max(reached, key=lambda pair: as_number(pair[0]))
    return error(value), by


def hardest(robustness: Robustness) -> tuple[str, str]:
    """Find the largest median error of the outcome, and the attack that reached it."""
    worst = max(robustness.damages, key=lambda d: as_number(d.model), default=None)
    return ("not measured", "") if worst is None else (error(worst.model, NO_FIT), name(worst.attack))


def marked(values: Iterable[float | None]) -> list[bool]:
    """Mark the largest errors, but none if all are rounding errors. ``None`` is larger than any number."""
    sizes = [as_number(value) for value in values]
    top = max(sizes, default=0.0)
    return [size == top and top >= 5e-4 for size in sizes]


@dataclass(frozen=True)
class Trade:
    """A cell's line in the table of privacy against robustness."""

    k: int
    cell: Cell
    robustness: Robustness
    revealed: str
    leakage: float | None
    doubtful: int
    error: tuple[str, str]
    damage: tuple[str, str]


def trades(report: Report) -> list[Trade]:
    """Collect privacy against robustness, a line for each cell that has both."""
    lines = []
    for k, cell in words.numbered(report):
        if cell.robustness is None:
            continue
        honest = words.honest(cell)
        lines.append(
            Trade(
                k=k,
                cell=cell,
                robustness=cell.robustness,
                revealed=f"{sum(node.standing == 'revealed' for node in honest)} of {len(honest)}",
                leakage=max((node.worst for node in honest), default=None),
                doubtful=sum(node.standing == "inconclusive" for node in honest),
                error=largest(cell.robustness),
                damage=hardest(cell.robustness),
            )
        )
    return lines


@dataclass(frozen=True)
class Field:
    """Protocols × attacks for one adversary; an entry is a text and whether it is the worst of its row."""

    adversary: str
    attacks: list[str]
    outcomes: list[str]  # what the errors measure
    rows: list[tuple[int, Cell, list[tuple[str, bool]]]]


def fields(report: Report) -> list[Field]:
    """Collect rules against attacks, a table for each adversary that several cells share."""
    groups: dict[str, list[tuple[int, Cell]]] = {}
    for k, cell in words.numbered(report):
        if cell.robustness and cell.robustness.damages:
            groups.setdefault(cell.adversary, []).append((k, cell))
    return [_field(adversary, group) for adversary, group in groups.items() if len(group) > 1]


def _field(adversary: str, group: Sequence[tuple[int, Cell]]) -> Field:
    damages = [
        (k, cell, {d.attack: d.model for d in cell.robustness.damages} if cell.robustness else {}) for k, cell in group
    ]
    attacks = list(dict.fromkeys(attack for _, _, models in damages for attack in models))
    rows = []
    for k, cell, models in damages:
        worst = dict(zip(models, marked(models.values()), strict=True))
        entries = [(error(models[a], NO_FIT), worst[a]) if a in models else ("–", False) for a in attacks]
        rows.append((k, cell, entries))
    outcomes = list(dict.fromkeys(cell.robustness.outcome for _, cell in group if cell.robustness))
    return Field(adversary, attacks, outcomes, rows)


def measure(cell: Cell) -> str:
    """Name the error of a cell's figure, with its unit."""
    return (
        "error of the outcome, over that by chance"
        if cell.is_collaboration
        else "error of the aggregate, in honest spreads"
    )


def alt(cell: Cell, robustness: Robustness) -> str:
    """Describe the figure of error against colluders in words."""
    points = sorted(robustness.points, key=lambda p: p.colluders)
    if not points:
        return "Error against the fraction of colluders: no points."
    listed = [
        f"with {p.colluders} of {cell.n_nodes}: found {error(p.found)}"
        + ("" if p.proven is None else f", proven at most {error(p.proven)}")
        for p in points[:8]
    ]
    more = " and so on" if len(points) > 8 else ""
    return (
        f"{measure(cell).capitalize()}, against the fraction of colluders. {'; '.join(listed)}{more}. "
        f"Breakdown {breaks(cell, robustness)}, {proven(cell, robustness)}. The numbers are in the table below."
    )
