"""Compare two reports: improvements, regressions, and verdicts that became undecided."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secmix.auditing import worse
from secmix.auditing.cell_parts import NodeSummary, Robustness, Verdict
from secmix.auditing.report import Cell, Report
from secmix.errors import one_line
from secmix.reporting import robustness as robust
from secmix.reporting import words

if TYPE_CHECKING:
    from rich.console import Console

Direction = Literal["worse", "unclear", "better", "added", "removed"]
Line = tuple[str, str, str, Direction]
"""A figure that is compared: its name, before, after, and the direction of the change."""
ORDER: tuple[Direction, ...] = ("worse", "unclear", "added", "removed", "better")

_NAMED = 6  # lines of a network


@dataclass(frozen=True)
class Change:
    """One difference between two reports.

    Attributes
    ----------
    node : int or None
        ``None`` for the cell as a whole.
    before, after : str
        In words; empty if there was or is nothing.
    name : str
        The node's name, if it has one.
    what : str
        If ``node`` is None: "verdict", or the aspect of robustness that changed.
    direction : {"worse", "unclear", "better", "added", "removed"}
        *unclear*: a known result is no longer decided, the node became corrupt or honest, or another seed alone may
        explain the improvement. Never counted as better.
    """

    protocol: str
    adversary: str
    node: int | None
    before: str
    after: str
    direction: Direction
    what: str = "verdict"
    name: str = ""


def compare(a: Report, b: Report, *, tolerance: float = worse.LEAKAGE) -> list[Change]:
    """List what changed from ``a`` to ``b``, the worst first.

    Parameters
    ----------
    a, b : Report
        Before and after; cells are matched by their labels, in order where labels repeat.
    tolerance : float
        Differences in normalised leakage up to this are omitted if standing and verdict are unchanged.

    Returns
    -------
    list of Change
        Empty if nothing changed.
    """
    before, after = _cells(a), _cells(b)
    seed_effect = _SeedEffect.between(a, b)
    changes: list[Change] = []
    for key in dict.fromkeys([*before, *after]):
        changes += _of_cell(before.get(key), after.get(key), tolerance, seed_effect)
    return sorted(changes, key=lambda change: ORDER.index(change.direction))


@dataclass(frozen=True)
class _SeedEffect:
    """True if another seed alone may explain a change."""

    other_seed: bool
    nothing_else: bool  # whether the scenarios differ in the seed only

    @classmethod
    def between(cls, a: Report, b: Report) -> _SeedEffect:
        other = a.seed != b.seed
        plain = [{key: value for key, value in report.scenario.items() if key != "seed"} for report in (a, b)]
        return cls(other, other and plain[0] == plain[1])

    def may_explain(self, old: NodeSummary, new: NodeSummary) -> bool:
        """Tell whether another seed may have moved a node from ``old`` to ``new``: their intervals overlap."""
        apart = new.worst_high < old.worst_low or old.worst_high < new.worst_low
        return self.nothing_else or (self.other_seed and not apart)


def caveats(a: Report, b: Report, differing: Sequence[str]) -> list[str]:
    """List what may explain changes besides the protocols: other scenario keys, ``differing``, or another seed."""
    sentences = []
    if differing:
        keys = one_line(", ".join(differing))
        sentences.append(f"the scenarios of the two reports differ in {keys}; this may explain changes")
    if a.seed != b.seed:
        sentences.append(
            f"the seeds of the two reports differ ({a.seed} and {b.seed}); improvements that chance may explain are "
            "unclear"
        )
    return sentences


def direction(changes: Sequence[Change]) -> Direction | None:
    """Summarise the changes: *worse*, otherwise *unclear*, otherwise *better*; None if nothing relevant changed.

    A cell that only the second report has counts by its verdict; one that only the first has is unclear.
    """
    ways = {change.direction for change in changes} - {"added", "removed"}
    for change in changes:
        if change.direction == "removed" or (change.direction == "added" and "inconclusive" in change.after):
            ways.add("unclear")
        elif change.direction == "added" and change.after.startswith("violated"):
            ways.add("worse")
    order: tuple[Direction, ...] = ("worse", "unclear", "better")
    return next((way for way in order if way in ways), None)


def _cells(report: Report) -> dict[tuple[str, str, int], Cell]:
    cells: dict[tuple[str, str, int], Cell] = {}
    for cell in report.cells:
        repeat = sum(key[:2] == (cell.protocol, cell.adversary) for key in cells)
        cells[cell.protocol, cell.adversary, repeat] = cell
    return cells


def _of_cell(old: Cell | None, new: Cell | None, tolerance: float, seed_effect: _SeedEffect) -> list[Change]:
    if old is None or new is None:
        cell = old or new
        assert cell is not None
        before, after = ("", cell.verdict) if old is None else (cell.verdict, "")
        way: Direction = "added" if old is None else "removed"
        return [Change(cell.protocol, cell.adversary, None, before, after, way)]
    changes = []
    was = {node.node: node for node in old.nodes}
    now = {node.node: node for node in new.nodes}
    for node in sorted({*was, *now}):
        way_of_node = _node_way(was.get(node), now.get(node), tolerance, seed_effect)
        if way_of_node:
            old_words, new_words = _in_words(was.get(node)), _in_words(now.get(node))
            name = new.label(node) if new.names else ""
            changes.append(Change(new.protocol, new.adversary, node, old_words, new_words, way_of_node, name=name))
    if old.n_nodes != new.n_nodes or (old.edges != new.edges and _edges(old) != _edges(new)):
        before, after = _network(old, new), _network(new, old)
        changes.insert(0, Change(new.protocol, new.adversary, None, before, after, "unclear", "network"))
    if old.verdict != new.verdict:
        way = _verdict_way(old.verdict, new.verdict)
        by_chance = seed_effect.nothing_else or (
            seed_effect.other_seed and any(c.direction == "unclear" for c in changes)
        )
        way = "unclear" if way == "better" and by_chance else way
        changes.insert(0, Change(new.protocol, new.adversary, None, old.verdict, new.verdict, way))
    if old.covers != new.covers:
        before, after = (cell.covers or "in every iteration" for cell in (old, new))
        changes.append(Change(new.protocol, new.adversary, None, before, after, "unclear", "what is proved"))
    for what, before, after, way_of_what in [*_robustness_changes(old, new), *_of_claims(old, new)]:
        way = "unclear" if way_of_what == "better" and seed_effect.nothing_else else way_of_what
        changes.append(Change(new.protocol, new.adversary, None, before, after, way, what))
    return changes


def _of_claims(old: Cell, new: Cell) -> list[Line]:
    """List what changed in the verdict on a claim of differential privacy."""
    was, now = ("" if cell.claim is None else cell.claim.verdict for cell in (old, new))
    if was == now:
        return []
    added: Direction = "added" if old.claim is None else "removed"
    way = _verdict_way(old.claim.verdict, new.claim.verdict) if old.claim and new.claim else added
    return [("claim", was, now, way)]


def _edges(cell: Cell) -> set[tuple[int, int]]:
    edges = itertools.combinations(range(cell.n_nodes), 2) if cell.edges is None else cell.edges
    return {(min(edge), max(edge)) for edge in edges}


def _network(cell: Cell, other: Cell) -> str:
    """Describe a network by its size and the lines that another does not have."""
    only = sorted(_edges(cell) - _edges(other))
    named = ", ".join("–".join(map(cell.label, edge)) for edge in only[:_NAMED]) + (
        f" and {len(only) - _NAMED} more" if len(only) > _NAMED else ""
    )
    return f"{cell.n_nodes} nodes, {cell.n_edges} lines" + (f", only here {named}" if only else "")


def _node_way(
    old: NodeSummary | None, new: NodeSummary | None, tolerance: float, seed_effect: _SeedEffect
) -> Direction | None:
    way = _node_way_of(old, new, tolerance)
    if way != "better" or old is None or new is None or not seed_effect.may_explain(old, new):
        return way
    return None if (old.verdict, old.standing) == (new.verdict, new.standing) else "unclear"


def _node_way_of(old: NodeSummary | None, new: NodeSummary | None, tolerance: float) -> Direction | None:
    if old is None or new is None:
        return "added" if old is None else "removed"
    if "corrupt" in (old.standing, new.standing) and old.standing != new.standing:
        return "unclear"
    if worse.leaks_more(old, new, tolerance):
        return "worse"
    if old.verdict != new.verdict:
        return _verdict_way(old.verdict, new.verdict)
    if old.standing != new.standing:
        return "unclear" if "inconclusive" in (old.standing, new.standing) else "better"
    return "better" if new.worst < old.worst - tolerance else None


def _in_words(node: NodeSummary | None) -> str:
    if node is None:
        return ""
    leak = "" if node.standing == "corrupt" else f" ({words.share(node.worst)})"
    return f"{node.verdict}: {node.standing}{leak}"


def print_changes(changes: Sequence[Change], console: Console) -> None:
    """Print the changes, the worst first, under a heading for each cell, or that nothing changed."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if not changes:
        console.print(Text("Nothing changed."))
        return
    style = {"worse": "bold red", "unclear": "bold yellow", "better": "green"}
    counts = ((way, sum(change.direction == way for change in changes)) for way in ORDER)
    console.print(Text(", ".join(f"{count} {way}" for way, count in counts if count), style="bold"))
    groups: dict[tuple[Direction, str], list[Change]] = {}
    for change in changes:
        where = words.clean(" ".join(f"{change.protocol} against {change.adversary}".split()))
        groups.setdefault((change.direction, where), []).append(change)
    for (way, where), group in groups.items():
        console.print()
        console.print(Text.assemble((way.upper(), style.get(way, "bold")), "  ", where))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(overflow="fold", max_width=16)
        for _ in range(2):
            table.add_column(overflow="fold")
        for change in group:
            who = change.what if change.node is None else change.name or f"node {change.node}"
            was, now = (
                words.clean(" ".join(sentence.split())) or "not audited" for sentence in (change.before, change.after)
            )
            table.add_row(Text(words.clean(who)), Text(f"was {was}"), Text(f"is {now}"))
        console.print(Padding(table, (0, 0, 0, 3)))


def _verdict_way(old: Verdict, new: Verdict) -> Direction:
    """Decide whether one verdict is better than another."""
    if worse.is_worse(old, new):
        return "worse"
    # A leak that is no longer decided is not closed.
    return "unclear" if new == "inconclusive" else "better"


def _robustness_changes(old: Cell, new: Cell) -> list[Line]:
    """List the changes in verdict, breakdown, found error and damage."""
    a, b = old.robustness, new.robustness
    if a is None or b is None:
        if a is None and b is None:
            return []
        before, after = ("" if a is None else a.verdict), ("" if b is None else b.verdict)
        return [("robustness", before, after, "added" if a is None else "removed")]
    lines: list[Line] = []
    if a.verdict != b.verdict:
        lines.append(("robustness", a.verdict, b.verdict, _verdict_way(a.verdict, b.verdict)))
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
