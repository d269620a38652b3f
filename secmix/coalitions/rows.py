"""Level "rows": is a node among so few rows that the sums known of them are as many numbers as the rows have?

With θ public, T iterations give c q − 1 + (T − 1)(c − 1) q independent numbers about the rows in a sum, where
q = 1 + d + d (d + 1)/2, as long as there are that many unknowns. More rows cannot follow from them; as many or fewer
may, and whether they do is for inversion to show (``adversaries/inversion/invert.py``). Where rows are made of few
values, such as yes and no, the unknowns are how often each possible row occurs, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from secmix._base.checks import integer
from secmix.coalitions.knowledge import Knowledge

_MOST_TIED = 14  # nodes tied together by several known sums, up to which all parts of them are tried


@dataclass(frozen=True)
class Equations:
    """How many numbers one sum gives over all iterations, about rows of how many numbers each.

    Examples
    --------
    >>> Equations.of(features=2, components=2, iterations=1).most_rows()
    5
    """

    numbers: int
    features: int
    counted: int = 0  # rows there are, where a sum tells how often each possible one occurs

    @classmethod
    def of(
        cls, *, features: int, components: int, iterations: int, extra: int = 0, possible: int = 0, rows: int = 0
    ) -> Equations:
        """Those of distributed EM; ``extra`` numbers come from the sums it starts with.

        ``possible`` is how many different rows there can be, and ``rows`` how many there are.
        """
        d, c = integer(features, "features"), integer(components, "components")
        q = 1 + d + d * (d + 1) // 2
        numbers = c * q - 1 + (integer(iterations, "iterations") - 1) * (c - 1) * q + extra
        return cls(numbers, d, rows if 0 < possible <= numbers else 0)

    def most_rows(self, sums: int = 1) -> int:
        """How many rows ``sums`` independent sums can determine, by count."""
        return max(sums * self.numbers // self.features, self.counted)


def input_group(known: Knowledge, node: int) -> frozenset[int] | None:
    """Level "input": the node alone, where its own vector (or how it changes) is known."""
    return frozenset({node}) if node in known.exposed() else None


def rows_group(known: Knowledge, node: int, counts: Sequence[int], equations: Equations) -> frozenset[int] | None:
    """Level "rows": the smallest group with few enough rows that known sums tie the node to; None where there is none.

    Raises
    ------
    Undecided
        If too many nodes are tied together by several sums to try all parts of them.
    """
    if node in known.outright:
        return frozenset({node}) if counts[node] <= equations.most_rows() else None
    tied = next(((group, rank) for group, rank in known.groups() if node in group), None)
    if tied is None or not tied[1]:
        return None
    group, rank = tied
    if rank == 1:
        return frozenset(group) if _total(counts, group) <= equations.most_rows() else None
    fits = frozenset(group) if _total(counts, group) <= equations.most_rows(rank) else None
    if len(group) > _MOST_TIED:
        if fits is None:
            raise Undecided
        return fits
    others = [other for other in group if other != node]
    for size in range(len(group)):
        for part in combinations(others, size):
            inside = (node, *part)
            sums = known.within(group, inside)
            if sums > known.within(group, part) and _total(counts, inside) <= equations.most_rows(sums):
                return frozenset(inside)
    return None


class Undecided(Exception):
    """Too many nodes are tied together to say."""


def _total(counts: Sequence[int], group: Sequence[int]) -> int:
    return sum(counts[node] for node in group)
