"""Level "rows": groups of nodes with so few rows that the known sums are as many numbers as the rows have.

With θ public, T iterations give c q − 1 + (T − 1)(c − 1) q independent numbers about the rows in a sum, where
q = 1 + d + d (d + 1)/2, as long as there are that many unknowns. These numbers cannot determine more rows. Whether they
determine as many or fewer is for inversion to show (``adversaries/inversion/invert.py``). Where rows have few possible
values, such as yes and no, the unknowns are the counts of each possible row, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from secmix._base.checks import integer
from secmix.auditing.exposure.coalitions.knowledge import CoalitionKnowledge
from secmix.mixture import width

_MOST_TIED = 14  # up to so many nodes that several known sums connect, all parts are tried


@dataclass(frozen=True)
class RowEquations:
    """Number of equations that one sum gives over all iterations, and number of unknowns of one row.

    >>> RowEquations.of(features=2, components=2, iterations=1).most_rows()
    5
    """

    numbers: int
    features: int
    counted: int = 0  # number of rows, where a sum gives the count of each possible row

    @classmethod
    def of(
        cls, *, features: int, components: int, iterations: int, extra: int = 0, possible: int = 0, rows: int = 0
    ) -> RowEquations:
        """Count the equations of distributed EM; ``extra`` numbers come from the sums it starts with.

        ``possible`` is the number of different rows that can occur, and ``rows`` the number of rows.
        """
        d, c = integer(features, "features"), integer(components, "components")
        q = width(1, d)
        numbers = c * q - 1 + (integer(iterations, "iterations") - 1) * (c - 1) * q + extra
        return cls(numbers, d, rows if 0 < possible <= numbers else 0)

    def most_rows(self, sums: int = 1) -> int:
        """Compute how many rows ``sums`` independent sums can determine, by count."""
        return max(sums * self.numbers // self.features, self.counted)


def input_group(known: CoalitionKnowledge, node: int) -> frozenset[int] | None:
    """Return the node alone if its own vector, or a change of it, is known (level "input"); otherwise None."""
    return frozenset({node}) if node in known.exposed() else None


def rows_group(
    known: CoalitionKnowledge, node: int, counts: Sequence[int], equations: RowEquations
) -> frozenset[int] | None:
    """Find the smallest group around the node whose rows are few enough for the known sums (level "rows"), or None.

    Raises Undecided if several sums connect too many nodes to try all parts of them.
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
    """Raised when known sums connect too many nodes to try all parts of them."""


def _total(counts: Sequence[int], group: Sequence[int]) -> int:
    return sum(counts[node] for node in group)
